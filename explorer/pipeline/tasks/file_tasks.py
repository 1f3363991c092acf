"""What a task of Spark does: the rows of some files, through the table's own door.

All of this runs where Spark runs Python, which may be another machine: it takes a store
and plain values, and the steps of `explorer.rows` that work on one file alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from explorer.errors import CorruptDataError
from explorer.pipeline.tasks.spark_types import spark_schema
from explorer.pipeline.tasks.task_failures import ErrorMark
from explorer.pipeline.tasks.task_groups import unpack_files
from explorer.progress import Watch
from explorer.rows.data_file.data_file import DataFile, data_file_batches
from explorer.rows.data_file.deletion_vectors import VectorFiles
from explorer.rows.data_file.prefetched_files import MOST_PREFETCHED, Opening, prefetch_files
from explorer.rows.data_file.read_file import FileRows, open_rows
from explorer.rows.data_file.unrelated_file import untold_error
from explorer.rows.request import RowRequest
from explorer.storage.ports import ReadStore
from explorer.table.counts import count as counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

Batches: TypeAlias = Iterator[pa.RecordBatch]
ReadGroup: TypeAlias = Callable[[pa.Table], Batches]
"""From the files of one group to their rows."""
GroupWork: TypeAlias = Callable[[tuple[bytes, ...], ReadGroup, pa.Schema], pa.Table]
"""What is made of each group, with exactly that schema, wherever it is worked on."""

NUM_RECORDS = "num_records"
"""The column of a group that has the physical rows of each file, null where unknown."""


def run_groups(
    spark: SparkSession,
    groups: tuple[bytes, ...],
    read: ReadGroup,
    schema: StructType,
    most_tasks: int | None = None,
) -> DataFrame:
    """What `read` makes of each group, with exactly `schema`: a task for each, or so many tasks at
    most, of which each has groups from everywhere in their order."""
    mark = ErrorMark()
    count = max(1, min(len(groups), most_tasks or len(groups)))
    groups = tuple(group for first in range(count) for group in groups[first::count])

    def run(batches: Batches) -> Batches:
        for batch in batches:
            for at in batch.column(0).to_pylist():
                with mark.marked():
                    yield from (rows for rows in read(unpack_files(groups[at])) if rows.num_rows)

    # its parts are the same wherever it is worked on, and of one number or nearly so
    return spark.range(0, len(groups), 1, count).mapInArrow(run, schema)


def on_spark(spark: SparkSession, most_tasks: int | None = None) -> GroupWork:
    """Work that is done by the tasks of a session, a task for each group or so many at most."""

    def work(groups: tuple[bytes, ...], read: ReadGroup, schema: pa.Schema) -> pa.Table:
        made = run_groups(spark, groups, read, spark_schema(schema), most_tasks)
        return made.toArrow().cast(schema)

    return work


def in_this_process(watch: Watch, label: str) -> GroupWork:
    """Work that is done here, one group after the other, for where there are few files."""

    def work(groups: tuple[bytes, ...], read: ReadGroup, schema: pa.Schema) -> pa.Table:
        found: list[pa.RecordBatch] = []
        for number, group in enumerate(groups):
            watch.step(number, len(groups), label)
            found.extend(read(unpack_files(group)))
        watch.step(len(groups), len(groups), label)
        return pa.Table.from_batches(found, schema)

    return work


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFiles:
    """Reads the live rows of files with the columns `FILE_COLUMNS` and `NUM_RECORDS`.

    `told` are paths of files that have no column in common with the table, and of which
    somebody was told: their rows are NULL. A task cannot tell of another one, which is an error.
    """

    store: ReadStore
    request: RowRequest
    told: frozenset[str] = frozenset()

    def __call__(self, files: pa.Table) -> Batches:
        """The rows, file by file; raises as `explorer.rows.data_file.read_file.read_file`,
        where a file has more or fewer rows than its statistics say, and where it has no column
        in common with the table and nobody was told."""
        for rows in open_group(self.store, self.request, files, self.told):
            yield from rows.batches()


def open_group(
    store: ReadStore, request: RowRequest, files: pa.Table, told: frozenset[str] = frozenset()
) -> Iterator[FileRows]:
    """The rows of each of some files, as `ReadFiles` has them; open until the next are asked
    for."""
    counts = files.column(NUM_RECORDS).to_pylist()
    every = prefetch_files(store, _ways_to_open(store, request, files), MOST_PREFETCHED)
    for rows, count in zip(every, counts, strict=True):
        _check_count(rows, count)
        file = rows.opened.file
        if rows.is_unrelated and file.path not in told:
            raise untold_error(file, request.layout.version)
        yield rows


def _ways_to_open(store: ReadStore, request: RowRequest, files: pa.Table) -> Iterator[Opening]:
    for some in data_file_batches(files):
        described = (file.deletion_vector for file in some)
        vectors = VectorFiles(store, (found for found in described if found is not None))
        for file in some:
            yield Opening(size=file.size, rows=open_rows(store, file, request, vectors))


def _check_count(rows: FileRows, count: int | None) -> None:
    if count is not None and rows.opened.num_rows != count:
        raise wrong_count(rows.opened.file, rows.request.layout.version, count)


def wrong_count(file: DataFile, version: int, number: int) -> CorruptDataError:
    """The error for a file whose rows are not as many as the log says."""
    return CorruptDataError(
        f"The data file {file.shown} of version {version} does not hold what the log says.",
        reason=f"By the log it has {counted(number, 'row')}, but it has another number.",
        remedy="Restore the file from a backup, or restore the table to a version without it.",
        spec="Per-file Statistics",
    )
