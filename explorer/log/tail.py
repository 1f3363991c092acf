"""Replay of commits, newest first (spec: Action Reconciliation).

The key of a file is its path and the unique id of its deletion vector. The
newest action of a key decides; within one commit the last line does. What has
been decided lives in columns of Arrow; a Python object per action exists only
while its commit is being read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from explorer.errors import CorruptLogError, NotFoundError, Problem
from explorer.log.action_rows import ActionCollector, ActionRows, wrong_field
from explorer.log.commit_file import lines_backwards, parse_action
from explorer.log.keys import file_key
from explorer.log.small_actions import SmallActions
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.filenames import render_commit_name, render_commit_path
from explorer.storage.ports import ReadStore

if TYPE_CHECKING:
    import pyarrow as pa

_PROGRESS_EVERY = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """What a run of commits, or the JSON of a checkpoint, decides.

    `adds` and `removes` have the columns of `ADD_COLUMNS` and `REMOVE_COLUMNS`,
    oldest first; no key stands twice. `sidecars`, and `checkpoint_versions` (what
    `checkpointMetadata` says), mean nothing in commits.
    """

    add_rows: ActionRows
    remove_rows: ActionRows
    small: SmallActions
    problems: tuple[Problem, ...] = ()
    sidecars: tuple[Any, ...] = ()
    checkpoint_versions: tuple[Any, ...] = ()

    @property
    def adds(self) -> pa.Table:
        """The live files, as columns."""
        return self.add_rows.table

    @property
    def removes(self) -> pa.Table:
        """The tombstones, as columns."""
        return self.remove_rows.table

    @property
    def decides_files(self) -> bool:
        """Whether it speaks of any file."""
        return bool(self.add_rows.num_rows or self.remove_rows.num_rows)


EMPTY_TAIL = Tail(
    add_rows=ActionRows("add"), remove_rows=ActionRows("remove"), small=SmallActions()
)


def replay_commits(store: ReadStore, versions: range, watch: Watch = UNWATCHED) -> Tail:
    """Read the commits of `versions` (ascending) and reconcile them.

    Raises `CorruptLogError` for a line that cannot be read, naming its place.
    """
    if not versions:
        return EMPTY_TAIL
    builder = _TailBuilder()
    newest_first = versions[::-1]
    files = store.read_many(render_commit_path(version) for version in newest_first)
    for done, version in enumerate(newest_first):
        if done % _PROGRESS_EVERY == 0:
            watch.step(done, len(versions), "Reading commits")
        try:
            data = next(files)
        except NotFoundError as error:
            raise _vanished(version) from error
        builder.read(data, render_commit_name(version))
    return builder.build()


def replay_json_checkpoint(data: bytes, name: str) -> Tail:
    """The actions of a V2 checkpoint's JSON file (spec: V2 Checkpoint)."""
    builder = _TailBuilder()
    builder.read(data, name)
    return builder.build()


class _TailBuilder:
    def __init__(self) -> None:
        # key -> the log file that decided it; gone when the replay is
        self._decided: dict[str, str] = {}
        self._adds = ActionCollector("add")
        self._removes = ActionCollector("remove")
        self._small = SmallActions()
        self._sidecars: list[Any] = []
        self._checkpoint_versions: list[Any] = []
        self._problems: list[Problem] = []

    def read(self, data: bytes, name: str) -> None:
        """Take the actions of one file, last line first."""
        empty = True
        for number, line in lines_backwards(data):
            empty = False
            action = parse_action(line, name, number)
            is_file = False
            if (body := action.get("add")) is not None:
                is_file = True
                if self._is_news("add", body, name, number):
                    self._adds.add(body, name, number, len(line))
            if (body := action.get("remove")) is not None:
                is_file = True
                if self._is_news("remove", body, name, number):
                    self._removes.add(body, name, number, len(line))
            if is_file:
                continue
            if (sidecar := action.get("sidecar")) is not None:
                self._sidecars.append(sidecar)
            if type(body := action.get("checkpointMetadata")) is dict:
                self._checkpoint_versions.append(body.get("version"))
            self._small.offer(action, f"{name}:{number}")
        if empty:
            self._problems.append(_empty_file(name))

    def _is_news(self, kind: str, body: Any, name: str, number: int) -> bool:
        """Whether nothing newer has decided the file of this action."""
        if type(body) is not dict:
            raise wrong_field(kind, "an object", body, name, number)
        if type(path := body.get("path")) is not str:
            raise wrong_field(f"{kind}.path", "a string", path, name, number)
        if "\0" in path:  # it would pass for a path with a deletion vector
            raise wrong_field(f"{kind}.path", "a path, which holds no NUL", path, name, number)
        if (vector := body.get("deletionVector")) is not None and not _is_vector(vector):
            wanted = "an object with storageType and pathOrInlineDv"
            raise wrong_field(f"{kind}.deletionVector", wanted, vector, name, number)
        key = file_key(path, vector)
        decided_by = self._decided.get(key)
        if decided_by is None:
            self._decided[key] = name
            return True
        if decided_by is name:
            self._problems.append(_twice(path, name, number))
        return False

    def build(self) -> Tail:
        """What was decided."""
        return Tail(
            add_rows=self._adds.rows(),
            remove_rows=self._removes.rows(),
            small=self._small,
            problems=tuple(self._problems),
            sidecars=tuple(self._sidecars),
            checkpoint_versions=tuple(self._checkpoint_versions),
        )


def _is_vector(value: Any) -> bool:
    return (
        type(value) is dict
        and type(value.get("storageType")) is str
        and type(value.get("pathOrInlineDv")) is str
    )


def _vanished(version: int) -> CorruptLogError:
    return CorruptLogError(
        f"Commit {version} went away while the log was being read.",
        reason="The listing named it and the store no longer has it: a log cleanup is running.",
        remedy="Open the table again.",
        kind="log_gap",
        spec="Delta Log Entries",
    )


def _empty_file(name: str) -> Problem:
    return Problem(
        kind="log_corrupt",
        problem=f"{name} holds no action.",
        reason="The file is empty: its writer was interrupted, or its store does not write whole.",
        remedy="Check with the writer whether something was lost in this version.",
        place=name,
        spec="Delta Log Entries",
    )


def _twice(path: str, name: str, line: int) -> Problem:
    shown = path if len(path) <= 100 else path[:97] + "..."
    return Problem(
        kind="log_corrupt",
        problem=f"{name} speaks of one file twice.",
        reason=f"Two actions of one commit have the path {shown!r} and the same deletion vector; "
        "the last line counts.",
        remedy="Report this to the writer of the commit.",
        place=f"{name}:{line}",
        spec="Add File and Remove File",
    )
