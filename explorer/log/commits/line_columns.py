"""The file actions of a large log file as columns, without an object for each (spec: Actions).

Arrow's reader of JSON is several times faster than one line after the other, and takes less:
an unknown field, one name twice, a number or a word of another type, and whatever is
no JSON make it give up. Then, and wherever it could have understood something else than a
reader of lines does, there is no answer here, and the file is to be read line by line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.json as pj

from explorer.errors import CorruptLogError
from explorer.log.actions.action_structs import FileActions, columns_of_structs
from explorer.log.actions.columns import (
    VECTOR_FIELDS,
)
from explorer.log.actions.fields import FIELDS, FieldKind, FileAction
from explorer.log.commits.commit_file import DeviatingLine, parse_action
from explorer.log.plain_arrays import Flags, in_one_piece

_Places: TypeAlias = npt.NDArray[np.int64]

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

# lines of a piece that say nothing of files, beyond as many as do
_MOST_OTHERS: Final = 1000

# of partition columns or tags: each is a column, in all rows
_MOST_NAMES: Final = 100

_THREADS: Final = 2

_NEWLINE: Final = ord("\n")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """What some lines say; the numbers of `others` count from the first of them, at 1."""

    num_lines: int
    files: Mapping[FileAction, FileActions]
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
    size = end - start
    most_lines = _MOST_OTHERS + size // _SHORTEST_LINES
    if size > _LARGEST_PIECE or data.count(b"\n", start, end) > most_lines:
        return None
    lines = _Lines.of(data, start, end)
    begun = {action: lines.beginning_with(mark) for action, mark in _BEGINNINGS.items()}
    is_file = begun["add"] | begun["remove"]
    numbers = np.flatnonzero(~is_file).tolist()
    if len(numbers) > _MOST_OTHERS + int(is_file.sum()):
        return None
    files: dict[FileAction, FileActions] | None = {}
    if is_file.any():
        try:
            files = _read_files(lines, begun)
        except (pa.ArrowException, orjson.JSONDecodeError):
            return None
    if files is None:
        return None
    others = [(number + 1, lines.line(number)) for number in numbers]
    return _Piece(
        num_lines=len(lines.starts),
        files=files,
        others=[(number, line) for number, line in others if line and not line.isspace()],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lines:
    """Where the lines of a part of a file stand in it, newlines left out."""

    data: bytes
    starts: _Places
    ends: _Places

    @classmethod
    def of(cls, data: bytes, start: int, end: int) -> _Lines:
        """The lines between two places."""
        held = np.frombuffer(data, np.uint8, end - start, start)
        newlines = np.flatnonzero(held == _NEWLINE) + start
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

    def only(self, wanted: Flags) -> pa.Buffer:
        """The text of some lines, one at least."""
        numbers = np.flatnonzero(wanted)
        first, last = int(numbers[0]), int(numbers[-1])
        if last - first + 1 == len(numbers):
            return pa.py_buffer(memoryview(self.data)[self.starts[first] : self.ends[last]])
        return pa.py_buffer(b"\n".join(map(self.line, numbers.tolist())))


def _read_files(
    lines: _Lines, begun: Mapping[FileAction, Flags]
) -> dict[FileAction, FileActions] | None:
    """The adds and removes on the lines that begin with one."""
    numbers = {action: np.flatnonzero(flags) for action, flags in begun.items()}
    wanted = {action: found for action, found in numbers.items() if len(found)}
    text = lines.only(begun["add"] | begun["remove"])
    samples = {
        action: [orjson.loads(lines.line(int(found[at])))[action] for at in (0, -1)]
        for action, found in wanted.items()
    }
    if not all(map(_is_usual, samples.values())):
        return None
    try:
        table = _parse(text, samples, as_samples=True)
    except pa.ArrowInvalid:
        table = _parse(text, samples, as_samples=False)
    table.validate(full=True)  # texts may not be UTF-8
    structs = {action: in_one_piece(table.column(action)) for action in wanted}
    # each line begins one action, so that then each row is one line and has one action
    held = sum(len(rows) - rows.null_count for rows in structs.values())
    if not table.num_rows == held == sum(map(len, wanted.values())):
        return None
    files: dict[FileAction, FileActions] = {}
    for action, rows in structs.items():
        if (found := columns_of_structs(action, rows)) is None:
            return None
        files[action] = found
    return files


def _is_usual(bodies: Sequence[Any]) -> bool:
    """Whether actions are objects, and those in them have few names."""
    if not all(type(body) is dict for body in bodies):
        return False
    objects = [value for body in bodies for value in body.values() if type(value) is dict]
    return sum(map(len, objects)) <= _MOST_NAMES


def _parse(
    text: pa.Buffer, samples: Mapping[FileAction, Sequence[Mapping[str, Any]]], *, as_samples: bool
) -> pa.Table:
    """A row for each action; fields that the samples lack are not expected `as_samples`.

    Raises `ArrowInvalid` where something else is found.
    """
    fields = [
        (action, _struct_of(action, bodies, as_samples=as_samples))
        for action, bodies in samples.items()
    ]
    return pj.read_json(
        pa.BufferReader(text),
        parse_options=pj.ParseOptions(
            explicit_schema=pa.schema(fields), unexpected_field_behavior="error"
        ),
        # one block: what a line holds is never cut
        read_options=pj.ReadOptions(use_threads=False, block_size=text.size + 1),
        # around many small columns Arrow's own pools keep a third more than these hold
        memory_pool=pa.system_memory_pool(),
    )


def _struct_of(
    action: FileAction, bodies: Sequence[Mapping[str, Any]], *, as_samples: bool
) -> pa.DataType:
    """The type of an action, its maps having the names of the samples."""
    fields = []
    for log_name, kind in FIELDS[action].values():
        if as_samples and not any(log_name in body for body in bodies):
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
