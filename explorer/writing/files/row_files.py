"""Rows of users in new data files: each file of one partition, and of about the size that was
asked for (spec: Data Files, Partition Value Serialization).

A task may be tried again: every attempt has names of its own. Files of an attempt that fails
are removed by it; what a killed one leaves is a stray file, which vacuum takes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Final
from uuid import UUID, uuid5

import pyarrow as pa

from explorer.log.actions.columns import (
    ADD_COLUMNS,
    int32_column,
    int64_column,
    string_column,
    string_map_column,
)
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.arrow_types import arrow_schema, stored_schema
from explorer.protocol.features.column_mapping import column_mapping_mode, physical_name
from explorer.protocol.schema import parse_schema
from explorer.rows.stored_rows import keeps_row_ids, stored_names
from explorer.storage.parquet.threaded_writer import EncodingThreads
from explorer.storage.ports import WriteStore
from explorer.writing.files._partition_keys import PartitionKey, split_by_partition
from explorer.writing.files.file_form import FileForm, file_form
from explorer.writing.files.folders import folder_of
from explorer.writing.files.leftovers import raise_without
from explorer.writing.files.new_file import NewFile, WrittenFile
from explorer.writing.files.renamed_rows import conform, with_schema

DEFAULT_FILE_BYTES: Final = 128 * 2**20

CHANGE_DATA_FOLDER: Final = "_change_data/"
CHANGE_TYPE: Final = "_change_type"
"""The column of a change data file that says what became of a row."""

WRITTEN_ROWS: Final = pa.schema(
    [
        ("path", pa.string()),
        ("size", pa.int64()),
        ("modified", pa.int64()),
        ("num_rows", pa.int64()),
        ("stats", pa.string()),
        ("partition_values", ADD_COLUMNS["partition_values"][2]),
        ("attempt", pa.int32()),
    ]
)
"""What is told of new files: one row each, `path` below the table's root and not yet encoded,
`modified` in milliseconds, partition values by physical names as in the log."""

_MOST_HELD: Final = 256 * 2**20
"""Bytes of rows that all files of one attempt hold in memory together."""

_MOST_ENCODED: Final = 256 * 2**20
"""Bytes of begun files that one attempt holds in memory, where the store takes files whole."""

_MOST_OPEN: Final = 200
"""Files that one attempt writes side by side; an operating system allows some 1,000."""

_PIECE: Final = 16 * 2**20
"""Bytes of rows that are handled at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowForm:
    """How rows of a table become files. `rows` are the table's columns by their logical names,
    without void ones; `names` are those that files hold; `partitions` are the names of partition
    columns, logical and physical; `target_bytes` is when a file is large enough. `ids` are the
    columns among `rows` in which rows that were in the table before bring their id and commit
    version, null for those that get new ones. `folder` is the one below the table's root that all
    files lie in, with a slash behind it, and `label` what their names begin with."""

    file: FileForm
    protocol: Protocol
    metadata: Metadata
    rows: pa.Schema
    names: tuple[str, ...]
    partitions: tuple[tuple[str, str], ...]
    target_bytes: int = DEFAULT_FILE_BYTES
    ids: tuple[str, ...] = ()
    folder: str = ""
    label: str = "part"

    @property
    def holds_partitions(self) -> bool:
        """Whether files hold the partition columns too."""
        return any(name in self.names for name, _ in self.partitions)


def row_form(
    protocol: Protocol,
    metadata: Metadata,
    *,
    target_bytes: int = DEFAULT_FILE_BYTES,
    with_ids: bool = False,
) -> RowForm:
    """The form of new rows of a table with this protocol and metadata; `with_ids` of rows that may
    have been in the table before, and keep their ids where the table says so."""
    mode = column_mapping_mode(protocol, metadata.configuration)
    schema = parse_schema(metadata.schema_string)
    fields = {item.name: item for item in schema.fields}
    partitions = metadata.partition_columns
    rows = arrow_schema(stored_schema(schema, "none"))
    names = [name for name in stored_names(protocol, metadata) if name in rows.names]
    form = file_form(protocol, metadata, new_rows=not with_ids)
    ids: tuple[str, ...] = ()
    if with_ids and keeps_row_ids(protocol, metadata):
        ids = tuple(form.schema.names[-2:])
        for name in ids:
            rows = rows.append(pa.field(name, pa.int64()))
    return RowForm(
        file=form,
        protocol=protocol,
        metadata=metadata,
        rows=rows,
        names=(*names, *ids),
        partitions=tuple((name, physical_name(fields[name], mode)) for name in partitions),
        target_bytes=target_bytes,
        ids=ids,
    )


def change_data_form(protocol: Protocol, metadata: Metadata) -> RowForm:
    """The form of change data files (spec: Change Data Files): the table's columns and the type of
    each change. They have no row ids, and nobody asks them for statistics."""
    form = row_form(protocol, metadata)
    change_type = pa.field(CHANGE_TYPE, pa.string())
    return replace(
        form,
        file=replace(form.file, schema=form.file.schema.append(change_type), statistics=()),
        rows=form.rows.append(change_type),
        names=(*form.names, CHANGE_TYPE),
        folder=CHANGE_DATA_FOLDER,
        label="cdc",
    )


class RowFiles:
    """The new files of one attempt of one task, while rows come. `statement` is the same for
    all tasks of a statement, and part of every name; so is `run`, which no other attempt has.
    `threads` encode columns: one is enough where other tasks have the other cores.

    After the block `written` tells them; where the block raises, none is left behind as far as
    the store allows.
    """

    def __init__(  # noqa: PLR0913  # which task, which run of it
        self,
        store: WriteStore,
        form: RowForm,
        statement: UUID,
        *,
        task: int = 0,
        attempt: int = 0,
        run: int = 0,
        threads: int | None = None,
    ) -> None:
        self._store, self._form = store, form
        self._statement, self._task, self._attempt, self._run = statement, task, attempt, run
        self._open: dict[PartitionKey, NewFile] = {}
        self._done: list[tuple[PartitionKey, WrittenFile]] = []
        self._whole: list[str] = []
        self._number = 0
        self._flush_bytes = max(2**16, form.target_bytes)
        self._threads = EncodingThreads(threads)

    def __enter__(self) -> RowFiles:
        """Nothing is written before there are rows."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """All files whole, or none."""
        with contextlib.closing(self._threads):
            if error is not None:
                self._abandon(error)
                return
            try:
                for key in list(self._open):
                    self._close(key)
            except BaseException as failure:
                self._abandon(failure)
                raise

    def add(self, rows: pa.RecordBatch) -> None:
        """Further rows, with at least the columns of `RowForm.rows`, in types that hold the same
        values, as Spark's own kin of them."""
        for piece in _pieces(conform(rows, self._form.rows), min(_PIECE, self._flush_bytes)):
            for key, part in split_by_partition(piece, [name for name, _ in self._form.partitions]):
                # a file whose rows are few waits long, and would keep what they are a part of
                self._add(key, _on_their_own(part) if key else part)
        while sum(file.memory_bytes for file in self._open.values()) > _MOST_HELD:
            max(self._open.values(), key=lambda file: file.memory_bytes).flush()
        while sum(file.encoded_bytes for file in self._open.values()) > _MOST_ENCODED:
            self._close(max(self._open, key=lambda key: self._open[key].encoded_bytes))

    def written(self) -> pa.RecordBatch:
        """What became of it, after the block, with the schema `WRITTEN_ROWS`."""
        physical = [name for _, name in self._form.partitions]
        files = [file for _, file in self._done]
        values = [dict(zip(physical, key, strict=True)) for key, _ in self._done]
        arrays = [
            string_column([file.path for file in files]),
            int64_column([file.size for file in files]),
            int64_column([file.modified_ms for file in files]),
            int64_column([file.num_rows for file in files]),
            string_column([file.stats for file in files]),
            string_map_column(values),
            int32_column([self._attempt] * len(files)),
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=WRITTEN_ROWS)

    def _add(self, key: PartitionKey, rows: pa.RecordBatch) -> None:
        if key not in self._open:
            if len(self._open) >= _MOST_OPEN:
                # the one that has waited longest: rows often come in an order
                self._close(next(iter(self._open)))
            self._open[key] = self._begin(key)
        file = self._open[key] = self._open.pop(key)
        stored = with_schema(rows.select(self._form.names), self._form.file.schema)
        file.add(pa.Table.from_batches([stored]))
        if file.held_bytes >= self._flush_bytes:
            file.flush()
        if file.reaches(self._form.target_bytes):
            self._close(key)

    def _begin(self, key: PartitionKey) -> NewFile:
        physical = [name for _, name in self._form.partitions]
        number, self._number = self._number, self._number + 1
        unique = uuid5(self._statement, f"{self._task}/{self._run}/{number}")
        folder = folder_of(
            self._form.protocol,
            self._form.metadata,
            dict(zip(physical, key, strict=True)),
            unique,
        )
        # so many files of one task would need a fourth digit, which is no fault
        target = f"{self._form.folder}{folder}{self._form.label}-{self._task:05}-{self._statement}"
        path = self._form.file.path(target, self._run, number)
        return NewFile(self._store, path, self._form.file, self._threads)

    def _close(self, key: PartitionKey) -> None:
        file = self._open.pop(key)
        self._whole.append(file.path)  # which it may be, whatever the store says
        file.close()
        self._done.append((key, file.written()))

    def _abandon(self, error: BaseException) -> None:
        for file in self._open.values():
            # why a file could not be given up is less than why they all are
            with contextlib.suppress(Exception):
                file.abandon(error)
        raise_without(self._store, self._whole, error)


def _pieces(rows: pa.RecordBatch, most: int) -> Iterator[pa.RecordBatch]:
    """The rows in parts of at most about so many bytes."""
    count = max(1, rows.num_rows * most // max(rows.nbytes, 1))
    for start in range(0, rows.num_rows, count):
        yield rows.slice(start, count)


def _on_their_own(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows, in memory that holds little else."""
    if rows.get_total_buffer_size() <= 2 * rows.nbytes:
        return rows
    arrays = [pa.concat_arrays([column]) for column in rows.columns]
    return pa.RecordBatch.from_arrays(arrays, schema=rows.schema)


def names_of(written: pa.Table) -> Sequence[str]:
    """The paths of new files."""
    found: list[str] = written.column("path").to_pylist()
    return found
