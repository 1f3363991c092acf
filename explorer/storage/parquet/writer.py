"""The one way in which this product writes Parquet (Parquet: File Metadata, Statistics).

Readers skip row groups by what a footer claims, so a footer claims nothing that readers
understand in several ways. Which leaf columns get statistics is decided here alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    import pyarrow.parquet as pq

ROWS_PER_GROUP: Final = 1_000_000

_UNORDERED: Final = frozenset({"FLOAT", "DOUBLE", "INT96"})
"""Physical types whose bounds readers understand in several ways. pyarrow leaves NaN out of
bounds, while Spark and DuckDB take it for the greatest number and skip a row group whose
maximum is less; -0.0 and 0.0 are one number to some and two to others; the order of INT96 is
not defined at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterSettings:
    """How a file is written. `codec` and `page_version` are called as by pyarrow; `dictionary`
    says for which leaves values are stored as a dictionary, by their paths where not for all;
    `unbounded` are paths of leaves whose bounds help nobody; `keep_arrow_schema` lets readers
    that know Arrow find its types again."""

    codec: str = "snappy"
    page_version: str = "1.0"
    dictionary: bool | tuple[str, ...] = True
    unbounded: frozenset[str] = frozenset()
    page_checksums: bool = False
    decimals_as_integers: bool = False
    keep_arrow_schema: bool = False


_PLAIN: Final = WriterSettings()


class ParquetOutput:
    """A Parquet file while it is written to `sink`, a path or a binary file; it is whole after
    the block. Raises what pyarrow raises for types that Parquet does not have."""

    def __init__(self, sink: Any, schema: pa.Schema, settings: WriterSettings = _PLAIN) -> None:
        import pyarrow.parquet  # opening a small table does without it

        self._footers: list[pq.FileMetaData] = []
        choice = settings.dictionary
        self._writer = pyarrow.parquet.ParquetWriter(
            sink,
            schema,
            compression=settings.codec,
            data_page_version=settings.page_version,
            use_dictionary=choice if isinstance(choice, bool) else list(choice),
            # in the headers of pages, too
            write_statistics=bounded_leaves(schema, settings.unbounded),
            write_page_index=False,
            write_page_checksum=settings.page_checksums,
            store_decimal_as_integer=settings.decimals_as_integers,
            store_schema=settings.keep_arrow_schema,
            metadata_collector=self._footers,
        )

    def __enter__(self) -> ParquetOutput:
        """The file, open."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write the footer. Where the block failed, a file that cannot be closed says no more than
        that."""
        if error is None:
            self._writer.close()
            return
        with contextlib.suppress(Exception):
            self._writer.close()

    def write(self, rows: pa.Table) -> None:
        """Further rows, in row groups of up to `ROWS_PER_GROUP`."""
        self._writer.write_table(rows, row_group_size=ROWS_PER_GROUP)

    @property
    def num_rows(self) -> int:
        """How many rows the file has by its own footer, after the block."""
        return sum(int(footer.num_rows) for footer in self._footers)


def bounded_leaves(schema: pa.Schema, unbounded: Collection[str] = ()) -> list[str]:
    """The leaf columns that get statistics, by their paths in a Parquet schema, without those
    that are `unbounded`.

    None for floating point numbers, wherever they are nested, because nobody knows that there
    is no NaN before the last row was seen, and pyarrow wants to know before the first one.
    None inside of lists and maps: no reader skips by them. pyarrow joins the names of a path
    by dots, so that a column `a.b` and a field `b` of `a` are one to it: they get statistics
    together or not at all.
    """
    leaves = _parquet_leaves(schema)
    without = {leaf.path for leaf in leaves if not _has_order(leaf)} | set(unbounded)
    return [path for path in dict.fromkeys(leaf.path for leaf in leaves) if path not in without]


def leaf_paths(schema: pa.Schema) -> list[str]:
    """The leaf columns, as `WriterSettings` calls them."""
    return list(dict.fromkeys(leaf.path for leaf in _parquet_leaves(schema)))


def _has_order(leaf: pq.ColumnSchema) -> bool:
    if leaf.max_repetition_level or leaf.physical_type in _UNORDERED:
        return False
    return bool(leaf.logical_type.type != "FLOAT16")


@lru_cache(maxsize=64)
def _parquet_leaves(schema: pa.Schema) -> tuple[pq.ColumnSchema, ...]:
    """The leaves as pyarrow itself writes them: nobody else knows how it names what is in lists,
    maps, and types of its own."""
    import pyarrow.parquet  # as above

    sink = pa.BufferOutputStream()
    pyarrow.parquet.ParquetWriter(sink, schema, store_schema=False).close()
    found = pyarrow.parquet.read_metadata(pa.BufferReader(sink.getvalue())).schema
    return tuple(found.column(at) for at in range(len(found)))
