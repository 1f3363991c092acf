"""Answers that are kept, because schedules open the same few checkpoints again and again.

Each is the answer to the very same bytes or rows, and rests on nothing else: what is decoded
of a Parquet file or a line of a commit, what a hint to a checkpoint says, which files they are.
The engine still asks its store for what it reads, each time, and writes what it writes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from explorer.files import events as file_events
from explorer.log.actions import columns
from explorer.log.checkpoint import parquet_part
from explorer.log.checkpoint import read as checkpoint
from explorer.log.checkpoint._unusable_file import unusable_if_unreadable
from explorer.log.checkpoint.parquet_part import ParquetPart
from explorer.log.commits.commit_file import parse_action
from explorer.log.folder import last_checkpoint as hint
from explorer.log.folder import listing
from explorer.log.reconcile import key_columns, replay
from explorer.log.state import reconciled_files as state
from explorer.log.statistics import statistics_text
from explorer.protocol.filenames import parse_log_file_name
from explorer.protocol.last_checkpoint import parse_last_checkpoint
from explorer.storage.parquet import file_bytes as parquet_bytes
from explorer.storage.parquet._page_headers import read_claims
from explorer.storage.parquet.file_bytes import ParquetBytes, ParquetSource
from explorer.storage.parquet.reader import ParquetReader
from explorer.storage.ports import ReadStore
from explorer.writing.commits import provenance

_MOST_FILES = 1000
"""Of some ten thousand bytes each; those of all pasts are among them."""

_MOST_LINES = 10_000
"""Of commits."""


class _Decoded:
    """A file and what was read of it. The bytes are held, so that their place is theirs."""

    def __init__(self, data: pa.Buffer) -> None:
        self.data = data
        self._answers: dict[tuple[Any, ...], Any] = {}

    def once(self, asked: tuple[Any, ...], ask: Callable[[], Any]) -> Any:
        """The answer to a question, asked of pyarrow once."""
        if asked not in self._answers:
            self._answers[asked] = ask()
        return self._answers[asked]


_known: OrderedDict[tuple[int, int], _Decoded] = OrderedDict()


def _decoded(source: pa.NativeFile) -> _Decoded:
    source.seek(0)
    data = source.read_buffer()
    place = (data.address, data.size)
    found = _known.get(place)
    if found is None:
        found = _known[place] = _Decoded(data)
        if len(_known) > _MOST_FILES:
            _known.popitem(last=False)
    _known.move_to_end(place)
    return found


class _KnownReader:
    """As much of `ParquetReader` as is asked of one in a log."""

    def __init__(
        self, source: ParquetSource, metadata: Any = None, *, buffered: bool = False
    ) -> None:
        del metadata, buffered  # it is that of these bytes, all of which are there
        self.held = _decoded(source.file)
        self.file = self.held.once(("file",), self._open)
        self.metadata = self.file.metadata
        self.schema = self.held.once(("schema",), lambda: self.file.schema)

    def _open(self) -> ParquetReader:
        known = pa.BufferReader(self.held.data)
        # footer and pages are looked at by others
        return ParquetReader(ParquetSource(file=known, stored=None))  # type: ignore[arg-type]

    def read_group(self, group: int, leaves: list[int], *, use_threads: bool) -> pa.Table:
        """Columns of a row group."""
        del use_threads
        return self.file.read_group(group, leaves, use_threads=False)

    def read_groups(
        self, groups: Sequence[int], leaves: list[int], *, use_threads: bool
    ) -> pa.Table:
        """The same of some of them."""
        del use_threads
        return self.file.read_groups(groups, leaves, use_threads=False)

    def stream_group(
        self, group: int, leaves: list[int], rows: int, *, use_threads: bool
    ) -> Iterator[pa.RecordBatch]:
        """The same in pieces."""
        del use_threads
        return self.file.stream_group(group, leaves, rows, use_threads=False)


def _opened_once(open_it: Callable[..., ParquetPart]) -> Callable[..., ParquetPart]:
    """What the footer of the same bytes says; they are asked of the store each time."""

    def open_once(
        store: ReadStore, path: str, size: int | None = None, listed: int | None = None
    ) -> ParquetPart:
        stored = ParquetBytes(store, path, listed if size is None else size)
        with unusable_if_unreadable(path), stored.open() as source:
            held = _decoded(source.file)
        at_hand = cast("ReadStore", _AtHand(held.data))
        part = held.once(("part", path, size), lambda: open_it(at_hand, path, size, listed))
        return replace(part, stored=stored)

    return open_once


@dataclass(frozen=True)
class _AtHand:
    """A store of one file."""

    data: pa.Buffer

    def open_input(self, path: str) -> pa.NativeFile:
        """All of it."""
        del path
        return pa.BufferReader(self.data)


def _of_objects(ask: Callable[..., Any], *, most: int = 3000) -> Callable[..., Any]:
    """Of the very same objects, which are held so that no other takes their place."""
    known: OrderedDict[tuple[int, ...], tuple[Any, Any]] = OrderedDict()

    def ask_once(*asked: Any) -> Any:
        key = tuple(map(id, asked))
        if key not in known:
            known[key] = (asked, ask(*asked))
            if len(known) > most:
                known.popitem(last=False)
        return known[key][1]

    return ask_once


def _tables_once(build: Callable[..., pa.Table]) -> Callable[..., pa.Table]:
    """Of the very same actions."""
    known: OrderedDict[tuple[Any, ...], Any] = OrderedDict()

    def build_once(action: str, batches: Sequence[Any], older: Sequence[Any]) -> pa.Table:
        asked = (action, len(batches), *map(id, batches), *map(id, older))
        held = [*batches, *older]
        return _once(known, asked, lambda: (held, build(action, batches, older)))[1]

    return build_once


def _of_source(ask: Callable[[pa.NativeFile], Any]) -> Callable[[pa.NativeFile], Any]:
    """What a file's bytes say."""

    def ask_once(source: pa.NativeFile) -> Any:
        return _decoded(source).once((ask.__name__,), lambda: ask(source))

    return ask_once


def _pages_once(check: Callable[..., None]) -> Callable[..., None]:
    """What is wrong with pages is wrong each time; of most nothing is."""

    def check_once(source: ParquetSource, groups: Iterable[int], leaves: Sequence[int]) -> None:
        which = tuple(groups)
        asked = ("pages", which, *leaves)
        _decoded(source.file).once(asked, lambda: check(source, which, leaves))

    return check_once


def _leaves_once(find: Callable[..., list[int]]) -> Callable[..., list[int]]:
    """Of the same footer, which is held so that its place is its own."""
    known: OrderedDict[int, tuple[Any, dict[Any, list[int]]]] = OrderedDict()

    def find_once(stored: ParquetBytes, schema: Any, names: Sequence[str] | None) -> list[int]:
        _, answers = known.setdefault(id(schema), (schema, {}))
        if len(known) > _MOST_FILES:
            known.popitem(last=False)
        asked = None if names is None else tuple(names)
        if asked not in answers:
            answers[asked] = find(stored, schema, names)
        return answers[asked]

    return find_once


def _of_group(
    name: str, read: Callable[..., Any], answer: Callable[[Any], Any] = lambda found: found
) -> Callable[..., Any]:
    """What is asked of some columns of a row group; `answer` makes of what was kept what is
    answered."""

    def read_once(part: Any, file: _KnownReader, group: int, asked: Any, *more: Any) -> Any:
        key = (name, group, *([asked] if isinstance(asked, str) else asked), *more)
        return answer(file.held.once(key, lambda: _kept(read(part, file, group, asked, *more))))

    return read_once


def _rows_once(read: Callable[..., pa.Table]) -> Callable[..., pa.Table]:
    def read_once(
        part: Any, file: _KnownReader, group: int, columns: list[str], *, use_threads: bool = False
    ) -> pa.Table:
        del use_threads
        return file.held.once(("rows", group, *columns), lambda: read(part, file, group, columns))

    return read_once


def _lines_once(parse: Callable[..., Any]) -> Callable[..., Any]:
    @lru_cache(maxsize=_MOST_LINES)
    def known(line: bytes, name: str, number: int) -> tuple[Any, list[Any]]:
        odd: list[Any] = []
        return parse(line, name, number, odd), odd

    def parse_once(line: bytes, name: str, number: int, odd: list[Any]) -> Any:
        action, found = known(line, name, number)
        odd += found
        return action

    return parse_once


def _columns_once(build: Callable[..., pa.Table]) -> Callable[..., pa.Table]:
    """Of the same rows, which are held so that their place is their own."""
    known: OrderedDict[tuple[Any, ...], tuple[pa.Table | None, pa.Table]] = OrderedDict()

    def build_once(part: Any, rows: int, action: str, names: Sequence[str], table: Any) -> Any:
        asked = (id(table), rows, action, *names)
        if table is None:
            return build(part, rows, action, names, table)
        return _once(known, asked, lambda: (table, build(part, rows, action, names, table)))[1]

    return build_once


def _kept(found: Any) -> Any:
    return list(found) if isinstance(found, Iterator) else found


def _events_once(parse: Callable[..., pa.Table]) -> Callable[..., pa.Table]:
    """Of the same commits."""
    known: OrderedDict[tuple[Any, ...], pa.Table] = OrderedDict()

    def parse_once(block: list[bytes], versions: npt.NDArray[np.int64]) -> pa.Table:
        asked = (*block, versions.tobytes())
        return _once(known, asked, lambda: parse(block, versions))

    return parse_once


def _texts_once(read: Callable[..., Any]) -> Callable[..., Any]:
    """Of the same statistics."""
    known: OrderedDict[tuple[Any, ...], Any] = OrderedDict()

    def read_once(texts: pa.Array, start: int, leaves: Mapping[Any, pa.DataType]) -> Any:
        asked = (start, *leaves.items(), *texts.to_pylist())
        return _once(known, asked, lambda: read(texts, start, leaves))

    return read_once


def _once(
    known: OrderedDict[tuple[Any, ...], Any], asked: tuple[Any, ...], ask: Callable[[], Any]
) -> Any:
    if asked not in known:
        known[asked] = ask()
        if len(known) > _MOST_FILES:
            known.popitem(last=False)
    known.move_to_end(asked)
    return known[asked]


@contextmanager
def answers_kept() -> Iterator[None]:
    """Meanwhile what is the same each time is worked out once."""
    parse_hint = lru_cache(maxsize=_MOST_FILES)(parse_last_checkpoint)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_part, "ParquetReader", _KnownReader)
        patch.setattr(ParquetPart, "_read_small", _of_group("small", ParquetPart._read_small, iter))
        patch.setattr(ParquetPart, "_stream", _of_group("pieces", ParquetPart._stream, iter))
        patch.setattr(ParquetPart, "_has_vectors", _of_group("vectors", ParquetPart._has_vectors))
        patch.setattr(ParquetPart, "_columns", _columns_once(ParquetPart._columns))
        patch.setattr(ParquetPart, "_read", _rows_once(ParquetPart._read))
        patch.setattr(ParquetBytes, "leaves", _leaves_once(ParquetBytes.leaves))
        patch.setattr(hint, "parse_last_checkpoint", parse_hint)
        # what the footer and the pages of a checkpoint claim
        patch.setattr(ParquetSource, "check_pages", _pages_once(ParquetSource.check_pages))
        patch.setattr(parquet_bytes, "read_claims", _of_source(read_claims))
        for module in (checkpoint, state):
            patch.setattr(module, "open_part", _opened_once(parquet_part.open_part))
        # what commits and statistics say, and which files these are
        patch.setattr(replay, "parse_action", _lines_once(parse_action))
        patch.setattr(listing, "parse_log_file_name", lru_cache(parse_log_file_name))
        patch.setattr(columns, "table_of", _tables_once(columns.table_of))
        patch.setattr(state, "keys_of_rows", _of_objects(key_columns.keys_of_rows))
        patch.setattr(state, "find_live", _of_objects(state.find_live))
        patch.setattr(key_columns, "keys_of", _of_objects(key_columns.keys_of))
        patch.setattr(file_events, "_parse", _events_once(file_events._parse))
        patch.setattr(statistics_text, "_read", _texts_once(statistics_text._read))
        patch.setattr(provenance, "version", lru_cache(provenance.version))
        yield
