"""The bytes of one Parquet file: its end in one request, its columns at once.

Local files are simply opened. Where requests take long, the end of a file, which is
the whole of a small one, is fetched once and kept, and the columns that will be read
are fetched before pyarrow asks for one after the other.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from explorer.errors import NotFoundError, StorageError
from explorer.records import record
from explorer.storage.parquet._column_chunks import ColumnChunk, parse_chunks, ranges_of
from explorer.storage.parquet._page_headers import check_first_pages, leaves_among, read_claims
from explorer.storage.ports import RangeStore, ReadStore, offers
from explorer.storage.ranged_file import RangedFile

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_MAGIC = b"PAR1"

# twice what pyarrow reads at first; most footers, and most small files, are in it
_TAIL = 2**17

# a tenth of a second, for what may turn out not to be needed
_RUN = 2**22

# a larger one is left to pyarrow
_LARGEST_FOOTER = 2**24


class ParquetBytes:
    """Where the bytes of the Parquet file at `path` come from; safe to share between threads.

    `size` in bytes, where a log or a listing says so, saves asking for it: it is believed
    where the file of that size ends like one of Parquet.
    """

    def __init__(self, store: ReadStore, path: str, size: int | None = None) -> None:
        self._store = store
        self._path = path
        self._claimed = size
        self._end: _End | None = None
        self._claims: list[list[ColumnChunk]] | None = None
        self._paths: list[str] = []
        # files are asked for the same few columns again and again
        self._leaves: dict[tuple[str, ...], list[int]] = {}

    @contextlib.contextmanager
    def open(self) -> Iterator[ParquetSource]:
        """The file for random access."""
        if not offers(self._store, RangeStore):
            with self._store.open_input(self._path) as source:
                yield ParquetSource(file=source, stored=self)
            return
        import pyarrow as pa  # noqa: PLC0415  # opening a table does without it

        if self._end is None:
            self._end = _read_end(self._store, self._path, self._claimed)
        ranged = RangedFile(self._store, self._path, self._end.size)
        ranged.keep(self._end.start, self._end.data)
        with pa.PythonFile(ranged, mode="r") as source:
            yield ParquetSource(file=source, stored=self, ranged=ranged, chunks=self._end.chunks)

    def claims(self, source: pa.NativeFile) -> list[list[ColumnChunk]]:
        """What the footer says of the columns of each row group; read once."""
        if self._claims is None:
            self._claims = (self._end and self._end.chunks) or read_claims(source)
        return self._claims

    def leaves(self, schema: pq.ParquetSchema, names: Sequence[str] | None) -> list[int]:
        """The places in the file's schema of the leaves that pyarrow reads for these names,
        None for all."""
        if names is None:
            return list(range(len(schema)))
        asked = tuple(names)
        if asked not in self._leaves:
            if not self._paths:
                self._paths = [schema.column(at).path for at in range(len(schema))]
            self._leaves[asked] = leaves_among(self._paths, names)
        return self._leaves[asked]


@record
class ParquetSource:
    """An open file; `file` is for pyarrow."""

    file: pa.NativeFile
    stored: ParquetBytes
    ranged: RangedFile | None = None
    chunks: list[list[ColumnChunk]] | None = None

    def check_footer(self) -> None:
        """Raise `ValueError` where the footer cannot be followed. To be called before pyarrow
        opens it, which makes room for as many columns as a list says that it has."""
        self.stored.claims(self.file)

    def expect(self, groups: Iterable[int], leaves: Sequence[int]) -> None:
        """Fetch these columns of some row groups, if it helps; what was expected before is
        let go."""
        if self.ranged is not None and self.chunks is not None:
            self.ranged.expect(ranges_of(self.chunks, groups, leaves))

    def check_pages(self, groups: Iterable[int], leaves: Sequence[int]) -> None:
        """Raise `ValueError` where the first pages of these columns of some row groups claim
        what they cannot hold. Where requests take long, only what is held already is looked
        at."""
        claims = self.stored.claims(self.file)
        for group in groups:
            chunks = claims[group] if group < len(claims) else []
            held = (chunks[leaf] for leaf in leaves if leaf < len(chunks))
            check_first_pages(self.file, (chunk for chunk in held if self._has(chunk)))

    def _has(self, chunk: ColumnChunk) -> bool:
        return self.ranged is None or self.ranged.holds([(chunk.start, chunk.end)])

    def expect_from(self, group: int, leaves: Sequence[int]) -> None:
        """`expect` of one row group, unless it is held, and of those after it as long as all
        are small: for reading one after the other."""
        if self.ranged is None or self.chunks is None:
            return
        if self.ranged.holds(ranges_of(self.chunks, [group], leaves)):
            return
        size, end = 0, group
        while end < len(self.chunks) and (end == group or size < _RUN):
            size += sum(stop - start for start, stop in ranges_of(self.chunks, [end], leaves))
            end += 1
        self.expect(range(group, end), leaves)


@record
class _End:
    """The last bytes of a file of `size` bytes, from `start` on, and what its footer says."""

    size: int
    start: int
    data: bytes
    chunks: list[list[ColumnChunk]]


def _read_end(store: RangeStore, path: str, claimed: int | None) -> _End:
    if claimed is not None and (found := _as_claimed(store, path, claimed)) is not None:
        return found
    size = store.stat(path).size
    # whatever is wrong with it now, whoever reads it says so
    return _try_end(store, path, size) or _End(size=size, start=size, data=b"", chunks=[])


def _as_claimed(store: RangeStore, path: str, size: int) -> _End | None:
    try:
        return _try_end(store, path, size)
    except NotFoundError:
        raise
    except StorageError:  # the answer to a range beyond the end of an object
        return None


def _try_end(store: RangeStore, path: str, size: int) -> _End | None:
    """The end of a file of that size; None where there is none of it."""
    if size <= 0:
        return None
    start = max(0, size - _TAIL)
    (data,) = store.read_ranges(path, [(start, size)])
    if len(data) != size - start or not data.endswith(_MAGIC):
        return None
    footer = int.from_bytes(data[-8:-4], "little")
    if len(data) < footer + 8 <= min(size, _LARGEST_FOOTER):
        (more,) = store.read_ranges(path, [(size - footer - 8, start)])
        start, data = start - len(more), more + data
    return _End(size=size, start=start, data=data, chunks=parse_chunks(data[-8 - footer : -8]))
