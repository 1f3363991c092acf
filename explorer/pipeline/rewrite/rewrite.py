"""Rows of some files written again into others, on Spark: to fewer files, without deleted
rows, or in the order of a curve. A few small files take no session.

Nothing of it is part of the table before somebody commits the files that are told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import CorruptDataError
from explorer.pipeline.jobs.visibility import check_visible
from explorer.pipeline.jobs.watching_jobs import watched
from explorer.pipeline.rewrite._measure import measure
from explorer.pipeline.rewrite._shuffle import rewrite_by_shuffle
from explorer.pipeline.rewrite.curve import RowOrder
from explorer.pipeline.rewrite.write_files import GROUP, RewriteFiles
from explorer.pipeline.session import choose_watched, parallelism
from explorer.pipeline.tasks.file_tasks import NUM_RECORDS, GroupWork, in_this_process, on_spark
from explorer.pipeline.tasks.task_groups import are_few, pack_files
from explorer.progress import UNWATCHED, Watch
from explorer.rows.stored_rows import stored_request
from explorer.storage.ports import WriteStore
from explorer.table.frames import sum_of
from explorer.table.snapshot import Snapshot
from explorer.writing.files.file_form import file_form
from explorer.writing.files.new_file import WRITTEN

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FEW_BYTES: Final = 64 * 2**20
"""Of files that are written again here, without Spark."""

SORTED_IN_A_TASK = 192 * 2**20
"""Bytes of a group that one task sorts in its memory; more go through a shuffle of Spark."""

_TASK_BYTES: Final = 32 * 2**20
_TASKS_EACH: Final = 6
"""Small groups share tasks: one takes as long to begin as a few MiB to be written. So many bytes,
or fewer, so that each slot of the session has some tasks and none waits long for another."""

_LABEL: Final = "Writing rows again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """What is written again: `files` of `snapshot`, with the columns `FILE_COLUMNS`,
    `NUM_RECORDS`, `GROUP`, `TARGET` (what the names of the group's new files begin with, below
    the table's root) and `NUM_TARGETS` (how many there should be, where rows are ordered); perhaps
    `STATS`.
    """

    snapshot: Snapshot
    files: pa.Table
    order: RowOrder | None = None


def rewrite_files(
    store: WriteStore,
    wanted: Rewrite,
    spark: Any = None,
    *,
    watch: Watch = UNWATCHED,
) -> pa.Table:
    """Write the live rows of each group into new files; what was written, with the schema
    `WRITTEN`. A few small files are written here, unless a session is given.

    Each group's rows are counted where they are read and where they are written. Raises
    `CorruptDataError` where these numbers differ, or differ from what the log says, and what
    `explorer.read_rows` raises for files; then files may be left that no version knows.
    """
    if spark is None and are_few(wanted.files, _FEW_BYTES):
        return rewrite_groups(store, wanted, None, watch=watch)
    session = choose_watched(spark, watch)
    check_visible(session, store)
    return rewrite_groups(store, wanted, session, watch=watch)


def rewrite_groups(
    store: WriteStore,
    wanted: Rewrite,
    session: SparkSession | None,
    *,
    watch: Watch = UNWATCHED,
    label: str = _LABEL,
) -> pa.Table:
    """As `rewrite_files`, by tasks of a session, in this process where there is none."""
    job = RewriteFiles(
        store=store,
        request=stored_request(wanted.snapshot),
        form=file_form(wanted.snapshot.protocol, wanted.snapshot.metadata),
        in_threads=session is None,
    )
    if session is None:
        found = _run(in_this_process(watch, label), None, job, wanted)
    else:
        with watched(session, watch, label):
            size = sum_of(wanted.files.column("size"))
            tasks = max(-(-size // _TASK_BYTES), parallelism(session) * _TASKS_EACH)
            found = _run(on_spark(session, tasks), session, job, wanted)
    _check_counts(wanted, found)
    return found


def _run(
    work: GroupWork, session: SparkSession | None, job: RewriteFiles, wanted: Rewrite
) -> pa.Table:
    groups = _split(wanted.files)
    packed = tuple(pack_files(group) for group in groups)
    if wanted.order is None:
        return work(packed, job, WRITTEN)
    counts = wanted.files.column(NUM_RECORDS)
    total = None if counts.null_count else sum_of(counts)
    measured = measure(work, job.store, job.request, wanted.order, packed, total)
    job = replace(job, order=measured.order)
    fit = all(sum_of(group.column("size")) <= SORTED_IN_A_TASK for group in groups)
    if session is None or fit:
        return work(packed, job, WRITTEN)
    return rewrite_by_shuffle(session, job, groups, measured.num_rows)


def _split(files: pa.Table) -> Sequence[pa.Table]:
    """The files of each group, the largest group first: it takes longest."""
    files = files.sort_by([(GROUP, "ascending")]).combine_chunks()
    numbers = files.column(GROUP).to_numpy()
    cuts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), files.num_rows]
    parts = [files.slice(start, end - start) for start, end in pairwise(cuts)]
    return sorted(parts, key=lambda part: -sum_of(part.column("size")))


def _check_counts(wanted: Rewrite, found: pa.Table) -> None:
    """The rows of each group: read, written, and what the log says of them."""
    files = wanted.files
    hidden = pc.fill_null(pc.struct_field(files.column("deletion_vector"), "cardinality"), 0)
    # a file without statistics says nothing of its group
    said = _sums(files.column(GROUP), pc.subtract(files.column(NUM_RECORDS), hidden), every=True)
    read = _sums(found.column("group"), found.column("num_read"), every=False)
    written = _sums(found.column("group"), found.column("num_rows"), every=True)
    for group, rows in said.items():
        numbers = {read.get(group), written.get(group), *([] if rows is None else [rows])}
        if len(numbers) > 1 or None in numbers:
            raise CorruptDataError(
                f"The rows of {wanted.snapshot.uri} were not rewritten unchanged.",
                reason=f"Of group {group} {read.get(group)} rows were read and "
                f"{written.get(group)} written, and the log says {rows}.",
                remedy="Nothing was committed. Check the files of this group, and report this.",
                spec="Per-file Statistics",
            )


def _sums(
    groups: pa.ChunkedArray, values: pa.ChunkedArray, *, every: bool
) -> dict[int, int | None]:
    """The sum of each group; with `every`, None where one of its values is missing."""
    options = pc.ScalarAggregateOptions(skip_nulls=not every)
    found = pa.table({"group": groups, "value": values}).group_by("group")
    sums = found.aggregate([("value", "sum", options)])
    numbers, totals = (sums.column(name).to_pylist() for name in ("group", "value_sum"))
    return dict(zip(numbers, totals, strict=True))
