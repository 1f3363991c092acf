"""The rule of reconciliation: actions are read newest first, and what counts is handed on
(spec: Action Reconciliation).

The key of a file is its path and the unique id of its deletion vector. The
newest action of a key decides. A commit must not hold two actions of one key; where
one does, the last line decides, as in delta-spark, and a `Problem` says so. Nor must it
add or remove one path with two vectors (spec: Add File and Remove File): these are two
keys, so that both count, and a `Problem` says that too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from explorer.cycle_collector import without_collector
from explorer.errors import CorruptLogError, Problem
from explorer.log.actions.action_rows import wrong_field
from explorer.log.actions.fields import FileAction
from explorer.log.actions.keys import file_key
from explorer.log.commits.commit_file import DeviatingLine, lines_reversed, parse_action
from explorer.log.commits.prefetched_columns import LARGE_FILE
from explorer.log.folder.compactions import UnusableCompactionError
from explorer.log.folder.listing import Compaction
from explorer.log.reconcile.small_actions import SmallActions, SmallKey, keys_of_small

if TYPE_CHECKING:
    import pyarrow as pa

    from explorer.log.actions.action_structs import FileActions
    from explorer.log.commits.line_columns import JoinedColumns, LineColumns
    from explorer.log.reconcile._deviations import Deviations


class _Twice(NamedTuple):
    """The first pair of actions, from the top of a file, that reconcile with each other."""

    what: str
    line: int
    more: int


Decider: TypeAlias = tuple[str, str]
"""The kind of action and the log file that decided a key. A plain tuple, which Python stops
looking at for cycles: a long log has one for every commit."""


class DecidedKeys:
    """Keys of files (see `keys.file_key`), each with what decided it.

    A large log speaks of most files once. So the keys of files that were read into columns are
    not kept as texts: their hashes tell that none of them came before. As soon as one seems to
    come again, the texts are made of the columns, and decide; then those of the files that
    follow are kept too, for a log that removes what it added speaks of most files twice.
    """

    def __init__(self) -> None:
        self._held: dict[str, Decider] = {}
        # columns whose texts are not in `_held`, and the hashes of all these
        self._columns: list[tuple[pa.Array, Decider]] = []
        self._hashes: set[int] = set()
        self._holds_all = False

    def get(self, key: str) -> Decider | None:
        """What decided a key, if anything did."""
        if self._hashes and hash(key) in self._hashes:
            self._hold_all()
        return self._held.get(key)

    def add(self, key: str, decider: Decider) -> None:
        """Take a key that nothing has decided."""
        self._held[key] = decider

    def add_all(
        self, keys: Sequence[str], decider: Decider, column: pa.Array | None
    ) -> Sequence[bool] | None:
        """Take those of the keys, each of which is there once, that nothing has decided, and
        tell which they are: None for all of them. `column` has the same texts, if one does."""
        hashes = [] if self._holds_all else list(map(hash, keys))
        if not self._hashes.isdisjoint(hashes):
            self._hold_all()
        held = self._held
        if held.keys().isdisjoint(keys):
            if column is None or self._holds_all:
                held.update(dict.fromkeys(keys, decider))
            else:
                self._columns.append((column, decider))
                self._hashes.update(hashes)
            return None
        news = [key not in held for key in keys]
        held.update((key, decider) for key, is_news in zip(keys, news, strict=True) if is_news)
        return news

    def _hold_all(self) -> None:
        for column, decider in self._columns:
            self._held.update(dict.fromkeys(column.to_pylist(), decider))
        self._columns.clear()
        self._hashes.clear()
        self._holds_all = True


class ActionTaker(Protocol):
    """What becomes of the file actions that count, newest first."""

    def add(self, body: Mapping[str, Any], file: str, line: int, size: int) -> None:
        """Take the body on one line, of `size` bytes, of a log file."""
        ...

    def settle(self) -> None:
        """Raise `CorruptLogError` where something that was taken cannot be used."""
        ...


class Replay:
    """The rule itself: files are read into it newest first, and what counts is handed on:
    one by one, or, where `take_rows` is given, the rows of a file that was read into columns.
    """

    def __init__(
        self,
        adds: ActionTaker,
        removes: ActionTaker,
        take_rows: Callable[[FileAction, pa.RecordBatch], None] | None = None,
    ) -> None:
        self._decided = DecidedKeys()  # gone when the replay is
        # of the file being read: kind and path -> the lines that have them with a vector
        self._vectored: dict[tuple[str, str], list[int]] = {}
        # kind and log file -> a path that it has with several vectors
        self._paths_twice: dict[tuple[str, str], _Twice] = {}
        # log file -> what it says twice; one entry a file, however often it does
        self._twice: dict[str, _Twice] = {}
        self._adds = adds
        self._removes = removes
        self._take_rows = take_rows
        self.small = SmallActions()
        self._sidecars: list[Any] = []
        self._checkpoint_versions: list[Any] = []
        self._problems: list[Problem] = []
        self._deviations: Deviations | None = None

    def read_compaction(
        self, data: bytes, compaction: Compaction, columns: LineColumns | None = None
    ) -> None:
        """Take the actions of a compaction; raises `UnusableCompactionError` where it
        is none, and the builder is of no more use then."""
        name, problems = compaction.name, len(self._problems)
        # what is wrong with the values of a newer file is told before this one is read
        self._settle()
        try:
            self.read(data, name, columns)
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
            reason = "It creates the table, but has no protocol or no metadata."
            raise UnusableCompactionError(compaction, reason)

    def read_commit(self, data: bytes, name: str, columns: LineColumns | None = None) -> None:
        """Take the actions of a commit.

        Compactions and checkpoints may have one path with several vectors: those of
        its tombstones.
        """
        self.read(data, name, columns)
        for (kind, path), lines in self._vectored.items():
            without_vector = self._decided.get(path) == (kind, name)
            if len(lines) > 1 or without_vector:
                held = self._paths_twice.get((kind, name))
                more = 0 if held is None else held.more + 1
                self._paths_twice[kind, name] = _Twice(_shown(path), lines[-1], more)

    def read_commits(
        self, data: Sequence[bytes], names: Sequence[str], columns: JoinedColumns | None
    ) -> None:
        """Take the actions of several commits, newest first; from the `columns` of them all
        where they were read into some, and each commit says each thing once."""
        if self._take_rows is not None and columns is not None:
            self._vectored = {}
            if self._read_joined(columns, names[::-1], self._take_rows):
                return
        for text, name in zip(data, names, strict=True):
            self.read_commit(text, name)

    def _settle(self) -> None:
        self._adds.settle()
        self._removes.settle()

    def read(self, data: bytes, name: str, columns: LineColumns | None = None) -> None:
        """Take the actions of one file, last line first; from its `columns` where it was
        read into some, and they say each thing once."""
        if self._take_rows is not None and columns is not None:
            self._vectored = {}
            if self._read_columns(columns, name, self._take_rows):
                return
        with without_collector() if len(data) > LARGE_FILE else contextlib.nullcontext():
            self._read(data, name)

    def _read(self, data: bytes, name: str) -> None:
        empty = True
        small_keys: set[SmallKey] = set()
        self._vectored = {}
        add, remove = ("add", name), ("remove", name)
        odd: list[DeviatingLine] = []
        for number, line in lines_reversed(data):
            empty = False
            action = parse_action(line, name, number, odd)
            if odd:
                self._take_odd(odd)
                odd = []
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

    def _read_columns(
        self,
        columns: LineColumns,
        name: str,
        take_rows: Callable[[FileAction, pa.RecordBatch], None],
    ) -> bool:
        """Whether the columns tell all that the lines of a file do; nothing of it has been
        taken where they do not."""
        odd: list[DeviatingLine] = []
        others = columns.other_actions(name, odd)
        if others is None:
            return False
        if _says_twice(columns.files):
            return False
        self._take_odd(odd)
        for action, parts in columns.files.items():
            for part in reversed(parts):
                rows = self._decide(part, (action, name))
                if rows.num_rows:
                    take_rows(action, rows)
        small_keys: set[SmallKey] = set()
        for number, body in reversed(others):
            self._take_small(body, name, number, small_keys)
        if not others and not any(columns.files.values()):
            self._problems.append(_empty_file(name))
        return True

    def _read_joined(
        self,
        columns: JoinedColumns,
        names: Sequence[str],
        take_rows: Callable[[FileAction, pa.RecordBatch], None],
    ) -> bool:
        """As `_read_columns`, of several commits, whose `names` are oldest first."""
        # with Arrow, which a small table opens without
        from explorer.log.reconcile._joined_commits import (  # noqa: PLC0415  # see above
            newest_actions,
            small_actions,
        )

        others, newest = small_actions(columns), newest_actions(columns)
        if others is None or newest is None:
            return False
        for action, part in newest.items():
            rows = self._decide(part, (action, names[0]))
            if rows.num_rows:
                take_rows(action, rows)
        seen: dict[int, set[SmallKey]] = {}
        for commit, number, body in reversed(others):
            self._take_small(body, names[commit], number, seen.setdefault(commit, set()))
        return True

    def _decide(self, part: FileActions, decider: Decider) -> pa.RecordBatch:
        """The rows whose files nothing newer has decided; each key stands once in its file."""
        column = part.rows.column("path") if part.keys_are_paths else None
        news = self._decided.add_all(part.keys, decider, column)
        return part.rows if news is None else part.only(news).rows

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

    def _is_news(self, decider: Decider, body: Any, number: int) -> bool:
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
            self._decided.add(key, decider)
            if vector is not None:
                self._vectored.setdefault((kind, key.partition("\0")[0]), []).append(number)
            return True
        if decided_by[1] is name:
            what = f"the file {_shown(path)}, its deletion vector included"
            self._note_twice(what, name, number)
        return False

    def _take_odd(self, lines: Sequence[DeviatingLine]) -> None:
        if lines and self._deviations is None:
            from explorer.log.reconcile._deviations import Deviations  # noqa: PLC0415  # it is rare

            self._deviations = Deviations()
        if self._deviations is not None:
            self._deviations.take(lines)

    def _note_twice(self, what: str, name: str, line: int) -> None:
        held = self._twice.get(name)
        more = 0 if held is None else held.more + 1
        self._twice[name] = _Twice(what, line, more)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Problems of the log files that did not prevent reading them."""
        twice = [_told_twice(found, name) for name, found in self._twice.items()]
        for (kind, name), found in self._paths_twice.items():
            twice.append(_told_path_twice(found, kind, name))
        odd = () if self._deviations is None else self._deviations.problems
        return (*self._problems, *odd, *twice)


def _says_twice(files: Mapping[FileAction, Sequence[FileActions]]) -> bool:
    """Whether a key stands twice, or a path twice in actions of one kind, which is a problem
    that names lines."""
    keys = [key for parts in files.values() for part in parts for key in part.keys]
    if len(set(keys)) < len(keys):
        return True
    for parts in files.values():
        if any(part.has_vectors for part in parts):
            paths = [key.partition("\0")[0] for key in chain(*(part.keys for part in parts))]
            if len(set(paths)) < len(paths):
                return True
    return False


def _shown(path: str) -> str:
    return repr(path if len(path) <= 100 else path[:97] + "...")


def _is_vector(value: Any) -> bool:
    return (
        type(value) is dict
        and type(value.get("storageType")) is str
        and type(value.get("pathOrInlineDv")) is str
    )


def _empty_file(name: str) -> Problem:
    return Problem(
        kind="log_corrupt",
        problem=f"{name} holds no action.",
        reason="The file is empty: its writer was interrupted, or its store does not write "
        "atomically.",
        remedy="Check with the writer whether something was lost in this version.",
        place=name,
        spec="Delta Log Entries",
    )


def _told_twice(found: _Twice, name: str) -> Problem:
    also = f", and {found.more} more pairs" if found.more else ""
    return Problem(
        kind="log_corrupt",
        problem=f"{name} holds two actions about one thing.",
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
