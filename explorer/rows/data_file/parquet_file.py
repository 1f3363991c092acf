"""The bytes of one data file as batches of its own columns (spec: Data Files).

A file is a stranger's claim: page checksums are verified, rows are counted against
the footer, columns are looked at before they are decoded, and whatever pyarrow says of a
file that it cannot read becomes `CorruptDataError`. pyarrow itself refuses column chunks that
exceed the file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from explorer.errors import CorruptDataError, DeltaError, NotFoundError
from explorer.rows.data_file.data_file import DataFile, store_path
from explorer.storage.parquet.file_bytes import ParquetBytes, ParquetSource
from explorer.storage.parquet.reader import ParquetReader
from explorer.storage.ports import ReadStore

BATCH_ROWS = 65_536
_BATCH_BYTES = 64 * 2**20
# readers count the rows of a group in 32 bits
_MAX_ROWS = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetDataFile:
    """An open data file of `size` bytes; `version` is the table's, for messages."""

    file: DataFile
    version: int
    source: ParquetSource
    size: int
    reader: ParquetReader

    @property
    def schema(self) -> pa.Schema:
        """The file's own columns, with field ids as metadata of the fields."""
        return self.reader.schema

    @property
    def num_rows(self) -> int:
        """How many rows the footer claims, hidden ones included."""
        footer = self.reader.metadata
        return sum(int(footer.row_group(at).num_rows) for at in range(footer.num_row_groups))

    def batches(
        self, columns: Sequence[int], batch_rows: int = BATCH_ROWS
    ) -> Iterator[tuple[int, int, list[pa.Array]]]:
        """Batch by batch: the physical position of its first row, how many rows it has,
        and its `columns` in order, which are positions in `schema`.

        One row group's needed bytes and one batch are held at a time. Raises
        `CorruptDataError` where a row group holds fewer rows than it claims.
        """
        names, picks = self._wanted(columns)
        footer, start = self.reader.metadata, 0
        for group in range(footer.num_row_groups):
            end = start + footer.row_group(group).num_rows
            size = min(batch_rows, self._fitting_rows(group))
            with reading(self.file, self.version):
                leaves = self.source.stored.leaves(footer.schema, names)
                self.source.expect_from(group, leaves)
                self.source.check_pages([group], leaves)
            for batch in self._read(group, leaves, size):
                yield start, batch.num_rows, [batch.column(pick) for pick in picks]
                start += batch.num_rows
            if start != end:
                raise corrupt(self.file, self.version, "it holds fewer rows than its footer says")

    def expect(self, columns: Sequence[int]) -> None:
        """Ask for what `batches` reads first, where requests take long."""
        with reading(self.file, self.version):
            names, _ = self._wanted(columns)
            self.source.expect_from(
                0, self.source.stored.leaves(self.reader.metadata.schema, names)
            )

    def _wanted(self, columns: Sequence[int]) -> tuple[list[str] | None, list[str] | list[int]]:
        """The names to ask pyarrow for, None for all, and how to pick `columns` from what
        it answers: a name with a dot is also a path into a struct, which then comes too."""
        own = self.schema.names
        if len(set(own)) != len(own):
            return None, list(columns)
        wanted = [own[at] for at in columns]
        # without any, one is read all the same: only then it is known how many rows there are
        return wanted or self._cheapest(), wanted

    def _cheapest(self) -> list[str] | None:
        """A column of the smallest type; by the schema alone, because pyarrow ends the
        process where what a footer says of a column chunk is broken."""
        leaves = self.reader.metadata.schema
        types = {
            leaf.path: leaf.physical_type
            for leaf in (leaves.column(at) for at in range(len(leaves)))
            if leaf.path in self.schema.names
        }
        return [min(types, key=lambda name: _by_size(types[name]))] if types else None

    def _fitting_rows(self, group: int) -> int:
        """How many rows a batch may have to stay small, if the footer can be believed."""
        claims = self.reader.metadata.row_group(group)
        claimed = min(max(claims.total_byte_size, 1), 64 * self.size)
        return max(1, int(_BATCH_BYTES * max(claims.num_rows, 1) // claimed))

    def _read(self, group: int, leaves: list[int], size: int) -> Iterator[pa.RecordBatch]:
        with reading(self.file, self.version):
            batches = self.reader.stream_group(group, leaves, size, use_threads=True)
        while True:
            with reading(self.file, self.version):
                batch = next(batches, None)
            if batch is None:
                return
            yield batch


def _by_size(physical_type: str) -> int:
    order = ("BOOLEAN", "INT32", "FLOAT", "INT64", "DOUBLE")
    return order.index(physical_type) if physical_type in order else len(order)


@contextlib.contextmanager
def open_data_file(store: ReadStore, file: DataFile, version: int) -> Iterator[ParquetDataFile]:
    """The file with its footer read.

    Raises `NotFoundError` of kind `data_missing` where it is gone, `CorruptDataError`
    where it is not a Parquet file that can be believed.
    """
    with contextlib.ExitStack() as stack:
        source = _open(store, file, version, stack)
        with reading(file, version):
            source.check_footer()
            reader = ParquetReader(source)
            footer = reader.metadata
            for group in range(footer.num_row_groups):
                if not 0 <= footer.row_group(group).num_rows < _MAX_ROWS:
                    raise corrupt(file, version, "its footer claims an impossible number of rows")
        yield ParquetDataFile(
            file=file, version=version, source=source, size=source.file.size(), reader=reader
        )


def corrupt(file: DataFile, version: int, what: str) -> CorruptDataError:
    """The error for a file that cannot be read, or not be believed."""
    return CorruptDataError(
        f"The data file {file.shown} of version {version} cannot be read.",
        reason=f"As a Parquet file it is damaged or foreign: {what}.",
        remedy="Restore the file from a backup, or restore the table to a version without it.",
        spec="Data Files",
    )


@contextlib.contextmanager
def reading(file: DataFile, version: int) -> Iterator[None]:
    """Speaks of the file and the version in whatever goes wrong inside."""
    try:
        yield
    except NotFoundError as error:  # some stores look for a file only when it is read
        raise _missing(file, version) from error
    except DeltaError:
        raise
    # what pyarrow raises for broken files; ArrowInvalid is a ValueError
    except (
        pa.ArrowException,
        OSError,
        ValueError,
        KeyError,
        TypeError,
        OverflowError,
        MemoryError,
    ) as error:
        first_line = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise corrupt(file, version, first_line.rstrip(".")) from error


def _open(
    store: ReadStore, file: DataFile, version: int, stack: contextlib.ExitStack
) -> ParquetSource:
    try:
        stored = ParquetBytes(store, store_path(store, file.path), file.size)
        return stack.enter_context(stored.open())
    except NotFoundError as error:
        raise _missing(file, version) from error


def _missing(file: DataFile, version: int) -> NotFoundError:
    return NotFoundError(
        f"The data file {file.shown} of version {version} does not exist.",
        reason="The log names it, and the store has no such file: a vacuum may have "
        "removed it, or the table was copied without it.",
        remedy="Read another version, restore the file from a backup, or leave its rows out with "
        "a condition.",
        kind="data_missing",
        spec="Data Files",
    )
