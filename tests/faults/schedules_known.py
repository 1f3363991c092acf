"""Answers that are kept, because schedules open the same few checkpoints again and again.

Each is the answer to the very same bytes or rows, and rests on nothing else: what is decoded
of a Parquet file, what a hint to a checkpoint says, how rows are encoded. The engine still asks
its store for what it reads, each time, and writes what it writes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pytest

from explorer.log import checkpoint_encoding, hint, hint_writer, joined_parquet, parquet_part
from explorer.log.parquet_part import ParquetPart
from explorer.maintenance import commit_step
from explorer.protocol.last_checkpoint import parse_last_checkpoint
from explorer.storage import page_headers, parquet_bytes
from explorer.storage.column_chunks import ColumnChunk, follow_chunks
from explorer.storage.page_headers import check_first_pages
from explorer.storage.parquet_bytes import ParquetSource
from explorer.storage.parquet_reader import ParquetReader

_MOST_FILES = 300
"""Of some ten thousand bytes each; those of all pasts are among them."""


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
_encoded: OrderedDict[tuple[str, bytes, str], Any] = OrderedDict()


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

        def read() -> pa.Table:
            return self.file.read_group(group, leaves, use_threads=False)

        return self.held.once((group, *leaves), read)

    def stream_group(
        self, group: int, leaves: list[int], rows: int, *, use_threads: bool
    ) -> Iterator[pa.RecordBatch]:
        """The same in pieces."""
        del use_threads

        def read() -> list[pa.RecordBatch]:
            return list(self.file.stream_group(group, leaves, rows, use_threads=False))

        return iter(self.held.once(("stream", rows, group, *leaves), read))


def _pages_once(check: Callable[..., None]) -> Callable[..., None]:
    """What is wrong with pages is wrong each time; of most nothing is."""

    def check_once(source: pa.NativeFile, columns: Iterable[ColumnChunk]) -> None:
        chunks = tuple(columns)
        _decoded(source).once(("pages", chunks), lambda: check(source, chunks))

    return check_once


def _small_actions_once(read: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    def read_once(part: Any, file: _KnownReader, group: int, leaves: Mapping[str, str]) -> Any:
        asked = ("small", group, *leaves)
        return iter(file.held.once(asked, lambda: list(read(part, file, group, leaves))))

    return read_once


def _encoded_once(encode: Callable[..., Any]) -> Callable[..., Any]:
    """The same for the same rows, or for the same schema."""

    def encode_once(rows: pa.Table | pa.Schema, settings: Mapping[str, Any]) -> Any:
        asked = (encode.__name__, _bytes_of(rows), repr(settings))
        if asked not in _encoded:
            _encoded[asked] = encode(rows, settings)
            if len(_encoded) > _MOST_FILES:
                _encoded.popitem(last=False)
        _encoded.move_to_end(asked)
        return _encoded[asked]

    return encode_once


def _bytes_of(rows: pa.Table | pa.Schema) -> bytes:
    if isinstance(rows, pa.Schema):
        return rows.serialize().to_pybytes()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return sink.getvalue().to_pybytes()


@contextmanager
def answers_kept() -> Iterator[None]:
    """Meanwhile what is the same each time is worked out once."""
    parse_hint = lru_cache(maxsize=_MOST_FILES)(parse_last_checkpoint)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_part, "ParquetReader", _KnownReader)
        patch.setattr(ParquetPart, "_read_small", _small_actions_once(ParquetPart._read_small))
        patch.setattr(hint, "parse_last_checkpoint", parse_hint)
        patch.setattr(hint_writer, "parse_last_checkpoint", parse_hint)
        patch.setattr(
            checkpoint_encoding, "encode_chunks", _encoded_once(joined_parquet.encode_chunks)
        )
        patch.setattr(joined_parquet, "_empty_footer", _encoded_once(joined_parquet._empty_footer))
        # what the footer and the pages of a checkpoint claim
        patch.setattr(parquet_bytes, "check_first_pages", _pages_once(check_first_pages))
        patch.setattr(page_headers, "follow_chunks", lru_cache(_MOST_FILES)(follow_chunks))
        patch.setattr(commit_step, "version", lru_cache(commit_step.version))
        yield
