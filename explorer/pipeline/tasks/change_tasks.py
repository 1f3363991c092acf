"""Changes of rows as what tasks of Spark are given, and what these make of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa

from explorer.log.actions.columns import (
    DELETION_VECTOR,
    STRING_MAP,
    TIME,
    int64_scalar,
    string_scalar,
    time_column,
)
from explorer.pipeline.tasks.file_tasks import Batches
from explorer.protocol.vectors.deletion_vectors import DeletionVectorDescriptor
from explorer.rows.changes.change_actions import (
    Change,
    ChangedVector,
    ChangeType,
    RecordedChanges,
    WholeFile,
)
from explorer.rows.changes.change_range import CHANGE_COLUMNS
from explorer.rows.changes.feed import CommitChanges, check_labels, feed_schema, read_change
from explorer.rows.data_file.data_file import DataFile, data_files
from explorer.rows.layout import RowLayout
from explorer.rows.request import RowRequest
from explorer.storage.ports import ReadStore

CHANGE_TASKS: Final = pa.schema(
    [
        ("kind", pa.string()),
        ("path", pa.string()),
        ("size", pa.int64()),
        ("partition_values", STRING_MAP),
        ("deletion_vector", DELETION_VECTOR),
        ("base_row_id", pa.int64()),
        ("default_row_commit_version", pa.int64()),
        ("before", DELETION_VECTOR),
        ("version", pa.int64()),
        ("time", TIME),
    ]
)
"""One row a change. `kind` is ``recorded``, ``insert`` or ``delete`` (whole files), or
``vector``: then `before` and `deletion_vector` are the two between which its rows lie."""

_MICROSECONDS: Final = pa.timestamp("us", "UTC")
_AT_A_TIME: Final = 1024


def build_change_tasks(commits: Iterator[CommitChanges]) -> pa.Table:
    """The changes of commits with the schema `CHANGE_TASKS`, some of them at a time."""
    tables: list[pa.Table] = []
    held: list[dict[str, Any]] = []
    for commit in commits:
        for change in commit.changes:
            held.append(_row(change, commit))
            if len(held) == _AT_A_TIME:
                tables.append(pa.Table.from_pylist(held, CHANGE_TASKS))
                held = []
    tables.append(pa.Table.from_pylist(held, CHANGE_TASKS))
    return pa.concat_tables(tables)


def build_insert_tasks(files: pa.Table, version: int, time_ms: int | None) -> pa.Table:
    """Files with the columns `FILE_COLUMNS`, all live rows of which a version inserts, with the
    schema `CHANGE_TASKS`."""
    count = files.num_rows
    added = {
        "kind": pa.repeat(string_scalar("insert"), count),
        "before": pa.nulls(count, DELETION_VECTOR),
        "version": pa.repeat(int64_scalar(version), count),
        "time": pa.repeat(time_column([time_ms])[0], count),
    }
    arrays = [added[name] if name in added else files[name] for name in CHANGE_TASKS.names]
    return pa.Table.from_arrays(arrays, schema=CHANGE_TASKS)


def spark_feed_schema(request: RowRequest) -> pa.Schema:
    """The schema of the feed with times as Spark has them, in microseconds."""
    found = feed_schema(request)
    at = found.get_field_index(CHANGE_COLUMNS[2])
    return found.set(at, pa.field(CHANGE_COLUMNS[2], _MICROSECONDS))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadChanges:
    """Reads the rows of changes with the schema `CHANGE_TASKS`."""

    store: ReadStore
    request: RowRequest
    only: ChangeType | None = None
    """Of files that were added, removed or got another vector, rows of this type alone."""
    knows_types: bool = False
    """Whether rows of a type that the specification does not name are an error."""
    former: tuple[RowLayout, ...] = ()
    """Layouts beside the request's by which files may have been written: one without any column
    of them all is an error."""

    def __call__(self, tasks: pa.Table) -> Batches:
        """The rows, change by change, with `spark_feed_schema`."""
        schema = spark_feed_schema(self.request)
        for change, commit in _parsed(tasks):
            for batch in self._read(change, commit):
                if self.knows_types:
                    check_labels(batch.column(CHANGE_COLUMNS[0]))
                yield batch.cast(schema)

    def _read(self, change: Change, commit: CommitChanges) -> Batches:
        return read_change(
            self.store, change, commit, self.request, self.only, former=lambda: self.former
        )


def _row(change: Change, commit: CommitChanges) -> dict[str, Any]:
    file = change.file
    vector, before = file.deletion_vector, None
    match change:
        case RecordedChanges():
            kind = "recorded"
        case WholeFile():
            kind = change.change_type
        case ChangedVector():
            kind, before, vector = "vector", change.before, change.after
    return {
        "kind": kind,
        "path": file.path,
        "size": file.size,
        "partition_values": list(file.partition_values.items()),
        "deletion_vector": _fields(vector),
        "base_row_id": file.base_row_id,
        "default_row_commit_version": file.default_row_commit_version,
        "before": _fields(before),
        "version": commit.version,
        "time": commit.time_ms,
    }


def _fields(vector: DeletionVectorDescriptor | None) -> dict[str, Any] | None:
    if vector is None:
        return None
    return {item.name: getattr(vector, item.name) for item in DELETION_VECTOR}


def _parsed(tasks: pa.Table) -> Iterator[tuple[Change, CommitChanges]]:
    times = tasks.column("time").cast(pa.int64()).to_pylist()
    befores = data_files(
        tasks.drop_columns("deletion_vector").rename_columns({"before": "deletion_vector"})
    )
    rows = zip(
        tasks.column("kind").to_pylist(),
        tasks.column("version").to_pylist(),
        times,
        data_files(tasks),
        befores,
        strict=True,
    )
    for kind, version, time_ms, file, before in rows:
        commit = CommitChanges(version=version, time_ms=time_ms)
        yield _change(kind, file, before.deletion_vector), commit


def _change(kind: str, file: DataFile, before: DeletionVectorDescriptor | None) -> Change:
    match kind:
        case "recorded":
            return RecordedChanges(file=file)
        case "insert" | "delete":
            return WholeFile(change_type=kind, file=file)
        case _:
            whole = replace(file, deletion_vector=None)
            return ChangedVector(file=whole, before=before, after=file.deletion_vector)
