"""The rows of one open file of Parquet or Arrow.

The file is a stranger's claim, as data files of a table are: a footer is followed before pyarrow
makes room for what it says, pages are looked at and rows are counted, a stream has to come to its
own end, and every batch is validated before anybody computes with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final

import pyarrow as pa
import pyarrow.ipc

from explorer.storage.open import open_read_store
from explorer.storage.parquet.file_bytes import ParquetBytes, ParquetSource
from explorer.storage.parquet.reader import ParquetReader

BROKEN: Final = (
    pa.ArrowException,
    OSError,
    IndexError,
    ValueError,
    KeyError,
    TypeError,
    OverflowError,
    MemoryError,
)
"""What is raised for a file that cannot be read, or not be believed."""

_PARQUET: Final = b"PAR1"
_ARROW: Final = b"ARROW1"
_BATCH_ROWS: Final = 65_536
_BATCH_BYTES: Final = 64 * 2**20
_MAX_ROWS: Final = 2**31
"""Readers count the rows of a row group in 32 bits."""


class _View:
    """A file that others have open, as pyarrow wants one: with a place of its own, and left open
    where pyarrow closes it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._at = file, 0
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        """The bytes from here on."""
        self._file.seek(self._at)
        data = self._file.read(size)
        self._at += len(data)
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to another place."""
        if whence == 1:
            offset, whence = offset + self._at, 0
        self._at = self._file.seek(offset, whence)
        return self._at

    def tell(self) -> int:
        """The place."""
        return self._at

    def close(self) -> None:
        """Only this view is closed."""
        self.closed = True


def describe_rows(file: BinaryIO) -> tuple[pa.Schema, int]:
    """The columns, and how many rows there are: by the footer of a file of Parquet, by reading
    the rows of one of Arrow. Raises one of `BROKEN`."""
    if _is_parquet(file):
        with pa.PythonFile(_View(file), mode="r") as opened:
            source, reader = _open_parquet(opened)
            return reader.schema, sum(_counts(source, reader))
    with pa.PythonFile(_View(file), mode="r") as opened:
        schema, batches = _read_arrow(opened)
        return schema, sum(batch.num_rows for batch in batches)


def read_rows(file: BinaryIO) -> Iterator[pa.RecordBatch]:
    """The rows, batch by batch. Raises one of `BROKEN`, also where there are not as many as the
    file claims."""
    with pa.PythonFile(_View(file), mode="r") as opened:
        if _is_parquet(file):
            yield from _parquet_rows(opened)
            return
        _, batches = _read_arrow(opened)
        for batch in batches:
            for start in range(0, max(batch.num_rows, 1), _BATCH_ROWS):
                yield batch.slice(start, _BATCH_ROWS)


def _is_parquet(file: BinaryIO) -> bool:
    file.seek(0)
    return file.read(len(_PARQUET)) == _PARQUET


def _open_parquet(opened: pa.NativeFile) -> tuple[ParquetSource, ParquetReader]:
    # the store is there to open the file, which is open
    source = ParquetSource(file=opened, stored=ParquetBytes(open_read_store("/"), "given"))
    source.check_footer()
    return source, ParquetReader(source)


def _counts(source: ParquetSource, reader: ParquetReader) -> list[int]:
    """How many rows each row group claims, where all that the footer says of it agrees: pyarrow
    reads as many rows as the row group says, and drops the values behind them."""
    footer = reader.metadata
    counts = [footer.row_group(at).num_rows for at in range(footer.num_row_groups)]
    if not all(0 <= count < _MAX_ROWS for count in counts):
        raise ValueError("its footer claims an impossible number of rows")
    flat = [
        leaf
        for leaf in range(len(footer.schema))
        if not footer.schema.column(leaf).max_repetition_level
    ]
    chunks = source.stored.claims(source.file)
    agree = all(
        chunks[group][leaf].num_values == count
        for group, count in enumerate(counts)
        for leaf in flat
    )
    if not agree or footer.num_rows != sum(counts):
        raise ValueError("its footer counts its rows in two ways that differ")
    return counts


def _parquet_rows(opened: pa.NativeFile) -> Iterator[pa.RecordBatch]:
    source, reader = _open_parquet(opened)
    footer, size = reader.metadata, max(opened.size(), 1)
    leaves = list(range(len(footer.schema)))
    for group, claimed in enumerate(_counts(source, reader)):
        source.check_pages([group], leaves)
        claimed_bytes = min(max(footer.row_group(group).total_byte_size, 1), 64 * size)
        fitting = max(1, min(_BATCH_ROWS, _BATCH_BYTES * max(claimed, 1) // claimed_bytes))
        found = 0
        for batch in reader.stream_group(group, leaves, fitting, use_threads=True):
            batch.validate(full=True)
            found += batch.num_rows
            yield batch
        if found != claimed:
            raise ValueError(f"it holds {found} rows where its footer says {claimed}")


def _read_arrow(opened: pa.NativeFile) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    is_file = opened.read(len(_ARROW)) == _ARROW
    opened.seek(0)
    if is_file:
        file = pa.ipc.open_file(opened)
        return file.schema, _file_batches(file)
    stream = pa.ipc.open_stream(opened)
    return stream.schema, _stream_batches(stream, opened)


def _file_batches(file: pa.RecordBatchFileReader) -> Iterator[pa.RecordBatch]:
    for number in range(file.num_record_batches):
        batch = file.get_batch(number)
        batch.validate(full=True)
        yield batch


def _stream_batches(
    stream: pa.RecordBatchStreamReader, opened: pa.NativeFile
) -> Iterator[pa.RecordBatch]:
    end = opened.tell()
    for batch in stream:
        batch.validate(full=True)
        end = opened.tell()
        yield batch
    # a stream may lawfully just stop, but so does one that was cut between two batches
    if opened.tell() == end:
        raise ValueError("it stops without the mark that ends a stream, as one does that was cut")
    if opened.tell() != opened.size():
        raise ValueError("there is more behind the end of the stream, such as a second one")
