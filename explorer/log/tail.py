"""Replay of commits, newest first (spec: Action Reconciliation).

The key of a file is its path and the unique id of its deletion vector. The
newest action of a key decides. A commit must not hold two actions of one key; where
one does, the last line decides, as in delta-spark, and a `Problem` says so. Nor must it
add or remove one path with two vectors (spec: Add File and Remove File): these are two
keys, so that both count, and a `Problem` says that too. What has been decided lives in
columns of Arrow; a Python object per action exists only while its commit is being read.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from explorer.errors import CorruptLogError, DeltaError, NotFoundError, Problem
from explorer.log.action_rows import ActionCollector, ActionRows, wrong_field
from explorer.log.commit_file import lines_backwards, parse_action
from explorer.log.compaction import Step, UnusableCompactionError, plan_replay
from explorer.log.keys import file_key
from explorer.log.listing import Compaction
from explorer.log.small_actions import SmallActions, SmallKey, keys_of_small
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.filenames import LOG_FOLDER, render_commit_name, render_commit_path
from explorer.storage.ports import ReadStore

if TYPE_CHECKING:
    import pyarrow as pa

_PROGRESS_EVERY = 256
_PROGRESS_BYTES = 4 * 2**20
"""Few commits may be long ones."""

# bytes; below it there is next to nothing to collect
_LARGE_FILE = 64 * 1024

# each costs a new beginning; a log with more of them is read commit by commit
_MOST_UNUSABLE = 3


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


def replay_commits(
    store: ReadStore,
    versions: range,
    watch: Watch = UNWATCHED,
    compactions: Sequence[Compaction] = (),
) -> Tail:
    """Read the commits of `versions` (ascending) and reconcile them.

    `compactions` are read in the place of the commits for which they stand; one that
    cannot be used is a `Problem`, and its commits are read.

    Raises `CorruptLogError` for a line that cannot be read, naming its place.
    """
    problems: list[Problem] = []
    usable = tuple(compactions) if versions else ()
    while usable:
        try:
            tail = _replay(store, plan_replay(versions, usable), watch)
        except UnusableCompactionError as error:
            if not isinstance(error.__cause__, NotFoundError):  # gone in a cleanup: no harm
                problems.append(error.as_problem)
            failed = error.compaction
            enough = len(problems) >= _MOST_UNUSABLE
            usable = () if enough else tuple(found for found in usable if found != failed)
        else:
            return replace(tail, problems=(*problems, *tail.problems))
    tail = _replay(store, versions[::-1], watch) if versions else EMPTY_TAIL
    return replace(tail, problems=(*problems, *tail.problems))


def _replay(store: ReadStore, newest_first: Sequence[Step], watch: Watch) -> Tail:
    builder = _TailBuilder()
    files = store.read_many(map(_path, newest_first))
    untold = 0
    for done, step in enumerate(newest_first):
        if done % _PROGRESS_EVERY == 0 or untold >= _PROGRESS_BYTES:
            watch.step(done, len(newest_first), "Reading commits")
            untold = 0
        try:
            data = next(files)
        except DeltaError as error:
            if isinstance(step, Compaction):
                raise UnusableCompactionError(step, error.problem) from error
            if isinstance(error, NotFoundError):
                raise _vanished(step) from error
            raise
        untold += len(data)
        if isinstance(step, Compaction):
            builder.read_compaction(data, step)
        else:
            builder.read_commit(data, render_commit_name(step))
    return builder.build()


def _path(step: Step) -> str:
    if isinstance(step, Compaction):
        return f"{LOG_FOLDER}/{step.name}"
    return render_commit_path(step)


def replay_json_checkpoint(data: bytes, name: str) -> Tail:
    """The actions of a V2 checkpoint's JSON file (spec: V2 Checkpoint)."""
    builder = _TailBuilder()
    builder.read(data, name)
    return builder.build()


class _Twice(NamedTuple):
    """The first pair of actions, from the top of a file, that reconcile with each other."""

    what: str
    line: int
    more: int


class ActionTaker(Protocol):
    """What becomes of the file actions that count, newest first."""

    def add(self, body: Mapping[str, Any], file: str, line: int, size: int) -> None:
        """Take the body on one line, of `size` bytes, of a log file."""
        ...

    def settle(self) -> None:
        """Raise `CorruptLogError` where something that was taken cannot be used."""
        ...


class Replay:
    """The rule itself: files are read into it newest first, and what counts is handed on."""

    def __init__(self, adds: ActionTaker, removes: ActionTaker) -> None:
        # key -> the kind of action and the log file that decided it; gone when the replay is
        self._decided: dict[str, tuple[str, str]] = {}
        # of the file being read: kind and path -> the lines that have them with a vector
        self._vectored: dict[tuple[str, str], list[int]] = {}
        # kind and log file -> a path that it has with several vectors
        self._paths_twice: dict[tuple[str, str], _Twice] = {}
        # log file -> what it says twice; one entry a file, however often it does
        self._twice: dict[str, _Twice] = {}
        self._adds = adds
        self._removes = removes
        self.small = SmallActions()
        self._sidecars: list[Any] = []
        self._checkpoint_versions: list[Any] = []
        self._problems: list[Problem] = []

    def read_compaction(self, data: bytes, compaction: Compaction) -> None:
        """Take the actions of a compaction; raises `UnusableCompactionError` where it
        is none, and the builder is of no more use then."""
        name, problems = compaction.name, len(self._problems)
        # what is wrong with the values of a newer file is told before this one is read
        self._settle()
        try:
            self.read(data, name)
            self._settle()
        except CorruptLogError as error:
            reason = f"{error.problem} {error.reason}"
            raise UnusableCompactionError(compaction, reason) from error
        if (twice := self._twice.get(name)) is not None:
            reason = f"It has two actions of {twice.what}, the second in line {twice.line}."
            raise UnusableCompactionError(compaction, reason)
        if len(self._problems) > problems:
            raise UnusableCompactionError(compaction, "The file holds no action.")
        small = self.small
        if compaction.first == 0 and (small.protocol is None or small.metadata is None):
            reason = "It begins with the table, and has no protocol or no metadata."
            raise UnusableCompactionError(compaction, reason)

    def read_commit(self, data: bytes, name: str) -> None:
        """Take the actions of a commit.

        Compactions and checkpoints may have one path with several vectors: those of
        its tombstones.
        """
        self.read(data, name)
        for (kind, path), lines in self._vectored.items():
            without_vector = self._decided.get(path) == (kind, name)
            if len(lines) > 1 or without_vector:
                held = self._paths_twice.get((kind, name))
                more = 0 if held is None else held.more + 1
                self._paths_twice[kind, name] = _Twice(_shown(path), lines[-1], more)

    def _settle(self) -> None:
        self._adds.settle()
        self._removes.settle()

    def read(self, data: bytes, name: str) -> None:
        """Take the actions of one file, last line first."""
        with _without_collector() if len(data) > _LARGE_FILE else contextlib.nullcontext():
            self._read(data, name)

    def _read(self, data: bytes, name: str) -> None:
        empty = True
        small_keys: set[SmallKey] = set()
        self._vectored = {}
        add, remove = ("add", name), ("remove", name)
        for number, line in lines_backwards(data):
            empty = False
            action = parse_action(line, name, number)
            is_file = False
            if (body := action.get("add")) is not None:
                is_file = True
                if self._is_news(add, body, number):
                    self._adds.add(body, name, number, len(line))
            if (body := action.get("remove")) is not None:
                is_file = True
                if self._is_news(remove, body, number):
                    self._removes.add(body, name, number, len(line))
            if not is_file:
                self._take_small(action, name, number, small_keys)
        if empty:
            self._problems.append(_empty_file(name))

    def _take_small(
        self, action: Mapping[str, Any], name: str, number: int, seen: set[SmallKey]
    ) -> None:
        if (sidecar := action.get("sidecar")) is not None:
            self._sidecars.append(sidecar)
        if type(body := action.get("checkpointMetadata")) is dict:
            self._checkpoint_versions.append(body.get("version"))
        self.small.offer(action, f"{name}:{number}")
        for key in keys_of_small(action):
            if key in seen:
                self._note_twice(key.in_words, name, number)
            seen.add(key)

    def _is_news(self, decider: tuple[str, str], body: Any, number: int) -> bool:
        """Whether nothing newer has decided the file of this action; its kind and its log
        file are the `decider`."""
        kind, name = decider
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
            self._decided[key] = decider
            if vector is not None:
                self._vectored.setdefault((kind, key.partition("\0")[0]), []).append(number)
            return True
        if decided_by[1] is name:
            what = f"the file {_shown(path)}, its deletion vector included"
            self._note_twice(what, name, number)
        return False

    def _note_twice(self, what: str, name: str, line: int) -> None:
        held = self._twice.get(name)
        more = 0 if held is None else held.more + 1
        self._twice[name] = _Twice(what, line, more)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the files and did not stand in the way."""
        twice = [_told_twice(found, name) for name, found in self._twice.items()]
        for (kind, name), found in self._paths_twice.items():
            twice.append(_told_path_twice(found, kind, name))
        return (*self._problems, *twice)


class _TailBuilder(Replay):
    """A replay whose actions become a `Tail`."""

    def __init__(self) -> None:
        self._add_rows, self._remove_rows = ActionCollector("add"), ActionCollector("remove")
        super().__init__(self._add_rows, self._remove_rows)

    def build(self) -> Tail:
        """What was decided."""
        return Tail(
            add_rows=self._add_rows.rows(),
            remove_rows=self._remove_rows.rows(),
            small=self.small,
            problems=self.problems,
            sidecars=tuple(self._sidecars),
            checkpoint_versions=tuple(self._checkpoint_versions),
        )


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Parsed actions hold no cycles, and looking for some in each thousand takes a fifth
    of the time. One file is read within milliseconds."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _shown(path: str) -> str:
    return repr(path if len(path) <= 100 else path[:97] + "...")


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


def _told_twice(found: _Twice, name: str) -> Problem:
    also = f", and {found.more} more pairs" if found.more else ""
    return Problem(
        kind="log_corrupt",
        problem=f"{name} speaks of one thing twice.",
        reason=f"Two of its actions are about {found.what}{also}; the last line counts.",
        remedy="Report this to the writer of the commit.",
        place=f"{name}:{found.line}",
        spec="Delta Log Entries",
    )


def _told_path_twice(found: _Twice, kind: str, name: str) -> Problem:
    also = f", and so have {found.more} more paths" if found.more else ""
    return Problem(
        kind="log_corrupt",
        problem=f"{name} has one path in several {kind} actions.",
        reason=f"The path {found.what} has different deletion vectors in them{also}; a version may "
        "have it once only, and all of them count.",
        remedy="Report this to the writer of the commit; rows may be in the table twice.",
        place=f"{name}:{found.line}",
        spec="Add File and Remove File",
    )
