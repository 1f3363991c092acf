"""pyarrow's decoder of one Parquet file.

`pyarrow.parquet.ParquetFile` is this with names instead of leaves; it leaves no choice of
the memory that columns are decoded into.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from explorer.storage.parquet._mended_footer import read_mended
from explorer.storage.parquet.decoding_memory import decoding_pool

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from explorer.storage.parquet.file_bytes import ParquetSource

# bytes of a column that are read at a time: to have all of it in memory before it is decoded
# takes longer, by what new memory costs
_BUFFER = 2**16


class ParquetReader:
    """The columns of an open file, whose footer was followed before: see
    `ParquetSource.check_footer`. `metadata` saves reading it again; `buffered` where of a
    local file little is kept of what is read.

    Everything raises what pyarrow raises for files that it cannot read.
    """

    def __init__(
        self,
        source: ParquetSource,
        metadata: pq.FileMetaData | None = None,
        *,
        buffered: bool = False,
    ) -> None:
        # what came by requests is in memory already
        self._buffered = buffered and source.ranged is None
        try:
            self._reader = self._open(source, metadata)
        except OSError:  # what pyarrow raises for a schema that it does not take
            if metadata is not None or (mended := read_mended(source.file)) is None:
                raise
            self._reader = self._open(source, mended)
        self.metadata: pq.FileMetaData = self._reader.metadata

    def _open(self, source: ParquetSource, metadata: pq.FileMetaData | None) -> pq.ParquetReader:
        reader = _import_reader()(decoding_pool())
        reader.open(
            source.file,
            metadata=metadata,
            # without it a flipped bit becomes another path or another size, unseen
            page_checksum_verification=True,
            # in nanoseconds the year 9999 would come out as another year, unseen
            coerce_int96_timestamp_unit="us",
            arrow_extensions_enabled=True,
            pre_buffer=not self._buffered,
            buffer_size=_BUFFER if self._buffered else 0,
        )
        return reader

    @property
    def schema(self) -> pa.Schema:
        """All columns as Arrow has them."""
        return self._reader.schema_arrow

    def read_group(self, group: int, leaves: Sequence[int], *, use_threads: bool) -> pa.Table:
        """All rows of a row group; `leaves` are places in the file's schema."""
        return self._reader.read_row_group(group, column_indices=leaves, use_threads=use_threads)

    def stream_group(
        self, group: int, leaves: Sequence[int], rows: int, *, use_threads: bool
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a row group in batches of up to so many `rows`."""
        # a reader remembers that it was to use threads
        self._reader.set_use_threads(use_threads)
        batches: Iterator[pa.RecordBatch] = self._reader.iter_batches(
            rows, row_groups=[group], column_indices=leaves, use_threads=use_threads
        )
        return batches


def _import_reader() -> Any:
    """What `pyarrow.parquet` calls by this name. That module imports pyarrow's object stores, and
    TLS with them, which takes 11 ms."""
    try:
        from pyarrow._parquet import ParquetReader as Reader  # noqa: PLC0415
    except ImportError:  # another release may keep it elsewhere
        from pyarrow.parquet import ParquetReader as Reader
    return Reader
