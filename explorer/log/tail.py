"""Replay of commits, newest first (spec: Action Reconciliation).

The key of a file is its path and the unique id of its deletion vector. The
newest action of a key decides; within one commit the last line does. What has
been decided lives in columns of Arrow; a Python object per action exists only
while its commit is being read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import CorruptLogError, NotFoundError, Problem, brief
from explorer.log.columns import (
    ADD_COLUMNS,
    REMOVE_COLUMNS,
    ColumnRule,
    batch_of,
    empty_table,
    schema_of,
)
from explorer.log.commit_file import lines_backwards, parse_action
from explorer.log.keys import file_key, keys_of
from explorer.log.small_actions import SmallActions
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.filenames import render_commit_name, render_commit_path
from explorer.storage.ports import ReadStore

# a batch is closed at either: enough rows to be worth an Arrow batch, few
# enough bytes that 32-bit offsets never overflow
_BATCH_ROWS = 8192
_BATCH_BYTES = 64 * 2**20

_PROGRESS_EVERY = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """What a run of commits, or the JSON of a checkpoint, decides.

    `adds` and `removes` have the columns of `ADD_COLUMNS` and `REMOVE_COLUMNS`,
    oldest first; no key stands twice. `sidecars`, and `checkpoint_versions` (what
    `checkpointMetadata` says), mean nothing in commits.
    """

    adds: pa.Table
    removes: pa.Table
    small: SmallActions
    problems: tuple[Problem, ...] = ()
    sidecars: tuple[Mapping[str, Any], ...] = ()
    checkpoint_versions: tuple[Any, ...] = ()

    @property
    def decided_keys(self) -> pa.ChunkedArray:
        """The key of every file that it speaks of."""
        return pa.chunked_array(
            [*keys_of(self.adds).chunks, *keys_of(self.removes).chunks], pa.string()
        )

    @property
    def decides_files(self) -> bool:
        """Whether it speaks of any file."""
        return bool(self.adds.num_rows or self.removes.num_rows)


EMPTY_TAIL = Tail(
    adds=empty_table(schema_of(ADD_COLUMNS)),
    removes=empty_table(schema_of(REMOVE_COLUMNS)),
    small=SmallActions(),
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


def extend_tail(newer: Tail, older: Tail) -> Tail:
    """The tail of both runs of commits, `newer` following `older` without a gap."""
    adds, removes = older.adds, older.removes
    if newer.decides_files:
        decided = newer.decided_keys
        adds = adds.filter(pc.invert(pc.is_in(keys_of(adds), value_set=decided)))
        removes = removes.filter(pc.invert(pc.is_in(keys_of(removes), value_set=decided)))
    return Tail(
        adds=pa.concat_tables([adds, newer.adds]),
        removes=pa.concat_tables([removes, newer.removes]),
        small=newer.small.over(older.small),
        problems=older.problems + newer.problems,
    )


class _Collector:
    """Bodies of one kind of action on their way into batches."""

    def __init__(self, name: str, rules: Mapping[str, ColumnRule]) -> None:
        self._name = name
        self._rules = rules
        self._bodies: list[Mapping[str, Any]] = []
        self._places: list[tuple[str, int]] = []
        self._bytes = 0
        self._batches: list[pa.RecordBatch] = []

    def add(self, body: Mapping[str, Any], file: str, line: int, size: int) -> None:
        self._bodies.append(body)
        self._places.append((file, line))
        self._bytes += size
        if len(self._bodies) >= _BATCH_ROWS or self._bytes >= _BATCH_BYTES:
            self._flush()

    def _flush(self) -> None:
        if not self._bodies:
            return
        self._bodies.reverse()
        try:
            self._batches.append(batch_of(self._rules, self._bodies))
        except (TypeError, OverflowError):
            self._places.reverse()
            raise self._wrong_type() from None
        self._bodies, self._places, self._bytes = [], [], 0

    def table(self) -> pa.Table:
        """Everything collected, oldest first, although it came newest first."""
        self._flush()
        return pa.Table.from_batches(self._batches[::-1], schema_of(self._rules))

    def _wrong_type(self) -> CorruptLogError:
        for body, (file, line) in zip(self._bodies, self._places, strict=True):
            for log_name, build, data_type in self._rules.values():
                try:
                    build([body.get(log_name)])
                except (TypeError, OverflowError):
                    return _wrong_field(
                        f"{self._name}.{log_name}", str(data_type), body.get(log_name), file, line
                    )
        return _wrong_field(self._name, "an action", None, *self._places[0])


class _TailBuilder:
    def __init__(self) -> None:
        # key -> the log file that decided it; gone when the replay is
        self._decided: dict[str, str] = {}
        self._adds = _Collector("add", ADD_COLUMNS)
        self._removes = _Collector("remove", REMOVE_COLUMNS)
        self._small = SmallActions()
        self._sidecars: list[Mapping[str, Any]] = []
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
            if type(sidecar := action.get("sidecar")) is dict:
                self._sidecars.append(sidecar)
            if type(body := action.get("checkpointMetadata")) is dict:
                self._checkpoint_versions.append(body.get("version"))
            self._small.offer(action, f"{name}:{number}")
        if empty:
            self._problems.append(_empty_file(name))

    def _is_news(self, kind: str, body: Any, name: str, number: int) -> bool:
        """Whether nothing newer has decided the file of this action."""
        if type(body) is not dict:
            raise _wrong_field(kind, "an object", body, name, number)
        if type(path := body.get("path")) is not str:
            raise _wrong_field(f"{kind}.path", "a string", path, name, number)
        if (vector := body.get("deletionVector")) is not None and not _is_vector(vector):
            wanted = "an object with storageType and pathOrInlineDv"
            raise _wrong_field(f"{kind}.deletionVector", wanted, vector, name, number)
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
            adds=self._adds.table(),
            removes=self._removes.table(),
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


def _wrong_field(name: str, wanted: str, found: Any, file: str, line: int) -> CorruptLogError:
    return CorruptLogError(
        f"The log is not readable at {file}:{line}.",
        reason=f"`{name}` must be of type {wanted}, but is {brief(found)}.",
        remedy="Restore this log file from a backup; versions before it can still be opened.",
        spec="Add File and Remove File",
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
