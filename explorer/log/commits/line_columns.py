"""The file actions of a large log file, or of many small ones, as columns, without an object
for each (spec: Actions).

Arrow's reader of JSON is several times faster than one line after the other, and takes less:
an unknown field, one name twice, a number or a word of another type, and whatever is
no JSON make it give up. Then, and wherever it could have understood something else than a
reader of lines does, there is no answer here, and the file is to be read line by line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.json as pj

from explorer.errors import CorruptLogError
from explorer.log.actions.action_structs import FileActions, columns_of_structs
from explorer.log.actions.columns import VECTOR_FIELDS
from explorer.log.actions.fields import FIELDS, FieldKind, FileAction
from explorer.log.commits.commit_file import DeviatingLine, parse_action
from explorer.log.plain_arrays import Flags, Numbers, in_one_piece

_ACTIONS: Final[tuple[FileAction, ...]] = ("add", "remove")
_BEGINNINGS: Final[Mapping[FileAction, bytes]] = {
    action: f'{{"{action}":{{'.encode() for action in _ACTIONS
}

# bytes: enough that what a call costs does not count, few enough that two threads share a file
_PIECE: Final = 2**21

# bytes; a line of a checkpoint's size is not an action of a file
_LARGEST_PIECE: Final = 2**26

# bytes; a piece of shorter lines on the whole is not a list of files, and they would be many
_SHORTEST_LINES: Final = 32

# lines of a piece that say nothing of files, beyond so many for each one that does: small
# commits of a stream have a `commitInfo` and a `txn` with each file
_MOST_OTHERS: Final = 1000
_OTHERS_PER_FILE: Final = 3

# lines of a piece and an action whose fields and names are expected in all of them
_SAMPLES: Final = 12

# of partition columns or tags: each is a column, in all rows
_MOST_NAMES: Final = 100

_THREADS: Final = 2

_NEWLINE: Final = ord("\n")

_FIXED_NAMES: Final = {
    *(name for fields in FIELDS.values() for name, _ in fields.values()),
    *VECTOR_FIELDS,
}
"""What may have a null of its own outside of the maps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineColumns:
    """What the lines of one log file say.

    `files` are its adds and its removes in the order of the lines, `others` all other
    lines that hold something, with their number (1-based).
    """

    files: Mapping[FileAction, Sequence[FileActions]]
    others: Sequence[tuple[int, bytes]]

    def other_actions(
        self, name: str, odd: list[DeviatingLine] | None = None
    ) -> list[tuple[int, Mapping[str, Any]]] | None:
        """The actions on the `others` of the log file `name`, with the numbers of their lines,
        and what is `odd` as in `parse_action`; None where one speaks of a file after all, or
        cannot be read: of several such lines the reader of lines tells the right one."""
        try:
            found = [
                (number, parse_action(line, name, number, odd)) for number, line in self.others
            ]
        except CorruptLogError:
            return None
        return None if any(kind in action for _, action in found for kind in _ACTIONS) else found


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedColumns:
    """What the lines of several log files say that were joined, oldest first.

    `files` are the adds and the removes in the order of the lines, `lines` the numbers of
    these, `others` all other lines that hold something, with theirs, and `first_lines` those
    of the first line of each file; all count from 0.
    """

    files: Mapping[FileAction, FileActions]
    lines: Mapping[FileAction, Numbers]
    others: Sequence[tuple[int, bytes]]
    first_lines: Numbers

    def files_of(self, lines: Numbers) -> Numbers:
        """The number of the file of each line; the oldest has the number 0."""
        return np.searchsorted(self.first_lines, lines, side="right") - 1


class LineReader:
    """Reads log files into columns in threads; to be closed by `with`."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="delta-explorer-lines")

    def __enter__(self) -> LineReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def begin(self, data: bytes) -> PendingColumns:
        """Begin to read the bytes of one log file."""
        pieces = [self._pool.submit(_read_piece, data, *piece) for piece in _pieces(data)]
        return PendingColumns(pieces)

    def begin_joined(self, files: Sequence[bytes]) -> Future[JoinedColumns | None]:
        """Begin to read several small log files, oldest first."""
        return self._pool.submit(read_joined_columns, files)


class PendingColumns:
    """What a log file says, as soon as it has been read."""

    def __init__(self, pieces: Sequence[Future[_Piece | None]]) -> None:
        self._pieces = pieces

    def result(self) -> LineColumns | None:
        """What it says; None where it has to be read line by line."""
        found = (piece.result() for piece in self._pieces)
        try:
            return _join(found)
        finally:
            for piece in self._pieces:
                piece.cancel()


def read_line_columns(data: bytes) -> LineColumns | None:
    """What the bytes of one log file say; None where it has to be read line by line."""
    return _join(_read_piece(data, *piece) for piece in _pieces(data))


def read_joined_columns(files: Sequence[bytes]) -> JoinedColumns | None:
    """What the bytes of several log files, oldest first, say; None where they have to be read
    line by line."""
    ended = [data if data.endswith(b"\n") else data + b"\n" for data in files]
    text = b"".join(ended)
    lines = _Lines.of(text, 0, len(text))
    piece = None if lines is None else _read_lines(lines)
    if lines is None or piece is None:
        return None
    sizes = np.array([*map(len, ended)], np.int64)
    return JoinedColumns(
        files=piece.files,
        lines=piece.lines,
        others=[(number - 1, line) for number, line in piece.others],
        first_lines=np.searchsorted(lines.starts, np.cumsum(sizes) - sizes),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """What some lines say; the numbers of `others` count from the first of them, at 1, those
    of `lines`, which have the actions of `files`, at 0."""

    num_lines: int
    files: Mapping[FileAction, FileActions]
    lines: Mapping[FileAction, Numbers]
    others: Sequence[tuple[int, bytes]]


def _join(pieces: Iterable[_Piece | None]) -> LineColumns | None:
    files: dict[FileAction, list[FileActions]] = {action: [] for action in _ACTIONS}
    others: list[tuple[int, bytes]] = []
    lines = 0
    for piece in pieces:
        if piece is None:
            return None
        for action, found in piece.files.items():
            files[action].append(found)
        others += [(lines + number, line) for number, line in piece.others]
        lines += piece.num_lines
    return LineColumns(files=files, others=others)


def _pieces(data: bytes) -> Iterator[tuple[int, int]]:
    """Where the pieces begin and end, newlines at their ends left out."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + _PIECE)
        end = len(data) if end < 0 else end
        yield start, end
        start = end + 1


def _read_piece(data: bytes, start: int, end: int) -> _Piece | None:
    lines = _Lines.of(data, start, end)
    return None if lines is None else _read_lines(lines)


def _read_lines(lines: _Lines) -> _Piece | None:
    begun = {action: lines.beginning_with(mark) for action, mark in _BEGINNINGS.items()}
    is_file = begun["add"] | begun["remove"]
    numbers = np.flatnonzero(~is_file).tolist()
    if len(numbers) > _MOST_OTHERS + _OTHERS_PER_FILE * int(is_file.sum()):
        return None
    wanted = {action: np.flatnonzero(flags) for action, flags in begun.items() if flags.any()}
    files: dict[FileAction, FileActions] = {}
    for action, places in wanted.items():
        try:
            found = _read_files(action, lines, places)
        except (pa.ArrowException, orjson.JSONDecodeError):
            return None
        if found is None:
            return None
        files[action] = found
    others = [(number + 1, lines.line(number)) for number in numbers]
    return _Piece(
        num_lines=len(lines.starts),
        files=files,
        lines=wanted,
        others=[(number, line) for number, line in others if line and not line.isspace()],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lines:
    """Where the lines of a part of a file stand in it, newlines left out."""

    data: bytes
    starts: Numbers
    ends: Numbers

    @classmethod
    def of(cls, data: bytes, start: int, end: int) -> _Lines | None:
        """The lines between two places; None where these are not a list of files."""
        size = end - start
        if size > _LARGEST_PIECE:
            return None
        is_newline = np.frombuffer(data, np.uint8, size, start) == _NEWLINE
        # not `bytes.count`, for which all other threads wait
        if np.count_nonzero(is_newline) > _MOST_OTHERS + size // _SHORTEST_LINES:
            return None
        newlines = np.flatnonzero(is_newline) + start
        starts = np.concatenate([[start], newlines + 1])
        return cls(data=data, starts=starts, ends=np.append(newlines, end))

    def line(self, number: int) -> bytes:
        """One line; the first has the number 0."""
        return self.data[int(self.starts[number]) : int(self.ends[number])]

    def beginning_with(self, mark: bytes) -> Flags:
        """Which lines do."""
        found = self.ends - self.starts >= len(mark)
        held = np.frombuffer(self.data, np.uint8)
        places = self.starts[found][:, np.newaxis] + np.arange(len(mark))
        found[found] = (held[places] == np.frombuffer(mark, np.uint8)).all(axis=1)
        return found

    def only(self, numbers: Numbers) -> _Text:
        """The text of some lines, one at least, in ascending order."""
        gaps = np.flatnonzero(np.diff(numbers) > 1)
        firsts = self.starts[numbers[np.append(0, gaps + 1)]].tolist()
        ends = self.ends[numbers[np.append(gaps, len(numbers) - 1)]].tolist()
        if len(firsts) == 1:
            return _Text(data=self.data, start=firsts[0], end=ends[0])
        data = b"\n".join([self.data[start:end] for start, end in zip(firsts, ends, strict=True)])
        return _Text(data=data, start=0, end=len(data))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """A part of some bytes."""

    data: bytes
    start: int
    end: int

    @property
    def buffer(self) -> pa.Buffer:
        """The part alone, not copied."""
        return pa.py_buffer(memoryview(self.data)[self.start : self.end])

    def count(self, found: bytes) -> int:
        """How often it has some bytes."""
        return self.data.count(found, self.start, self.end)

    def nulls_written(self, lacking: Mapping[str, int]) -> AbstractSet[str] | None:
        """As `NullsWritten` says, of a text of actions that Arrow could read.

        In such a text `"name":null` is nothing but a name with a null for a value: a quote
        within a string has a backslash before it.
        """
        written: dict[str, int] = {}
        for name, total in lacking.items():
            quoted = json.dumps(name, ensure_ascii=False)
            if name in _FIXED_NAMES or len(quoted) != len(name) + 2:
                return None  # it has nulls elsewhere, or may be spelled in several ways
            if (count := self.count(f"{quoted}:null".encode())) not in {0, total}:
                return None
            if count:
                written[name] = count
        if len(written) < len(lacking) and self._num_nulls() != sum(written.values()):
            return None  # a name may be spelled in another way
        return written.keys()

    def _num_nulls(self) -> int | None:
        """How many nulls it has outside of strings; None where that cannot be told."""
        if any(map(self.count, (b" null", b"\tnull", b"\rnull", b'\\\\":null'))):
            return None
        return self.count(b'":null') - self.count(b'\\":null')


def _read_files(action: FileAction, lines: _Lines, numbers: Numbers) -> FileActions | None:
    """The adds, or the removes, on the lines that begin with one."""
    text = lines.only(numbers)
    most = min(len(numbers), _SAMPLES)
    places = [(len(numbers) - 1) * at // max(most - 1, 1) for at in range(most)]
    samples = [orjson.loads(lines.line(number))[action] for number in numbers[places].tolist()]
    if not _is_usual(samples):
        return None
    try:
        table = _parse(text, action, _struct_of(action, samples, as_samples=True))
    except pa.ArrowInvalid:
        table = _parse(text, action, _struct_of(action, samples, as_samples=False))
    rows = in_one_piece(table.column(action))
    # each line begins one action, so that then each row is one line and has one action
    if rows.null_count or len(rows) != len(numbers):
        return None
    columns = dict(zip((field.name for field in rows.type), rows.flatten(), strict=True))
    for column in columns.values():
        column.validate(full=True)  # texts may not be UTF-8
    return None if not columns else columns_of_structs(action, columns, text.nulls_written)


def _is_usual(bodies: Sequence[Any]) -> bool:
    """Whether actions are objects, and those in them have few names."""
    if not all(type(body) is dict for body in bodies):
        return False
    objects = [value for body in bodies for value in body.values() if type(value) is dict]
    return sum(map(len, objects)) <= _MOST_NAMES


def _parse(text: _Text, action: FileAction, kind: pa.DataType) -> pa.Table:
    """A row for each action; raises `ArrowInvalid` where something else is found."""
    buffer, schema = text.buffer, pa.schema([(action, kind)])
    return pj.read_json(
        pa.BufferReader(buffer),
        parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
        # one block: what a line holds is never cut
        read_options=pj.ReadOptions(use_threads=False, block_size=buffer.size + 1),
        # around many small columns Arrow's own pools keep a third more than these hold
        memory_pool=pa.system_memory_pool(),
    )


def _struct_of(
    action: FileAction, bodies: Sequence[Mapping[str, Any]], *, as_samples: bool
) -> pa.DataType:
    """The type of an action, its maps having the names of the samples; without the fields
    that these lack where all actions are taken to be `as_samples`."""
    fields = []
    known = set[str]().union(*bodies)
    for log_name, kind in FIELDS[action].values():
        if as_samples and log_name not in known:
            continue
        if kind == "string_map":
            maps = [value for body in bodies if type(value := body.get(log_name)) is dict]
            names = dict.fromkeys(name for value in maps for name in value)
            fields.append((log_name, pa.struct([(name, pa.string()) for name in names])))
        else:
            fields.append((log_name, _RAW_TYPES[kind]))
    return pa.struct(fields)


_RAW_TYPES: Final[Mapping[FieldKind, pa.DataType]] = {
    "string": pa.string(),
    "int64": pa.int64(),
    "time": pa.int64(),
    "bool": pa.bool_(),
    "deletion_vector": pa.struct(list(VECTOR_FIELDS.items())),
}
