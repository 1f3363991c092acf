"""Statistics of data files that are there, made from their rows (spec: Per-file Statistics)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from explorer.log.actions.columns import string_column
from explorer.pipeline.jobs.visibility import check_visible
from explorer.pipeline.jobs.watching_jobs import watched
from explorer.pipeline.session import choose_watched, parallelism
from explorer.pipeline.tasks.file_tasks import Batches, run_groups
from explorer.pipeline.tasks.task_groups import are_few, group_files
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.actions import FieldPath
from explorer.protocol.statistics import RunningStatistics, widen_statistics
from explorer.rows.data_file.data_file import FILE_COLUMNS, DataFile, data_file_batches
from explorer.rows.data_file.read_file import read_file
from explorer.rows.request import RowRequest
from explorer.rows.stored_rows import stored_request
from explorer.storage.ports import ReadStore
from explorer.table.snapshot import Snapshot
from explorer.writing.files.file_form import file_form

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_FEW_BYTES: Final = 256 * 2**20
"""Of files that are read here, without Spark."""

_LABEL: Final = "Reading files for their statistics"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureFiles:
    """Reads every row of files, hidden ones too; `paths` are the physical field paths that
    statistics speak of."""

    store: ReadStore
    request: RowRequest
    paths: tuple[FieldPath, ...]
    string_prefix: int

    def __call__(self, files: pa.Table) -> Batches:
        """One row for each file: `path` as in the log, and `stats`."""
        for some in data_file_batches(files):
            for file in some:
                yield pa.RecordBatch.from_arrays(
                    [string_column([file.path]), string_column([self.measure(file)])],
                    names=["path", "stats"],
                )

    def measure(self, file: DataFile) -> str:
        """The statistics of one file; with a deletion vector their bounds may be wide."""
        running = RunningStatistics(self.paths, self.string_prefix)
        for rows in self._rows(file):
            running.add(rows)
        stats = running.render()
        return stats if file.deletion_vector is None else widen_statistics(stats)

    def _rows(self, file: DataFile) -> Iterator[pa.Table]:
        for batch in read_file(self.store, replace(file, deletion_vector=None), self.request):
            yield pa.Table.from_batches([batch])


def measure_files(
    snapshot: Snapshot, files: pa.Table, spark: Any = None, *, watch: Watch = UNWATCHED
) -> pa.Table:
    """The statistics of `files` (`FILE_COLUMNS`) of a snapshot, as the table asks for them:
    `path` and `stats`, in no order.

    A few are read here, many on Spark. Raises what `explorer.read_rows` raises for a file.
    """
    form, request = file_form(snapshot.protocol, snapshot.metadata), stored_request(snapshot)
    tops = dict.fromkeys(path[0] for path in form.statistics)
    # some column must tell how many rows there are
    columns = tuple(tops) or request.columns[:1]
    # rows are counted as they are, hidden ones too: none is written
    asked = replace(request, columns=columns, metadata_columns=(), checks=None)
    measure = MeasureFiles(
        store=snapshot.store,
        request=asked,
        paths=form.statistics,
        string_prefix=form.string_prefix,
    )
    wanted = files.select(list(FILE_COLUMNS))
    if are_few(wanted, _FEW_BYTES):
        found: list[pa.RecordBatch] = []
        for at in range(wanted.num_rows):
            watch.step(at, wanted.num_rows, _LABEL)
            found.extend(measure(wanted.slice(at, 1)))
        return pa.Table.from_batches(found)
    session = choose_watched(spark, watch)
    check_visible(session, snapshot.store)
    with watched(session, watch, _LABEL):
        groups = group_files(wanted, parallelism(session))
        return run_groups(session, groups, measure, _schema()).toArrow()


def _schema() -> StructType:
    from pyspark.sql import types

    texts = types.StringType()
    return types.StructType([types.StructField("path", texts), types.StructField("stats", texts)])
