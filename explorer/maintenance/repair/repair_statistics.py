"""Statistics that files lack: planning to read these files, and adding them again with what
they hold (spec: Per-file Statistics, Add File and Remove File).

No row changes: path, deletion vector, row ids and tags stay, and only `stats` is another. The
files of one commit are read and held at once, so that a run that ends early has not been for
nothing, and a million of them need no more memory than a few thousand.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final
from uuid import UUID, uuid5

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import ADD_COLUMNS, table_of
from explorer.log.state.file_columns import FileColumns
from explorer.log.state.statistics_columns import indexed_places
from explorer.maintenance.plan.after_commit import with_checksum_and_checkpoint
from explorer.maintenance.plan.file_list import build_files, join_files, of_action
from explorer.maintenance.plan.guards import judge_rules
from explorer.maintenance.plan.newer_commits import find_own_commit, stale
from explorer.maintenance.plan.plan import Plan, Verdict
from explorer.maintenance.plan.planning_context import PlanningContext
from explorer.maintenance.plan.step_types import RepairStatistics, Step
from explorer.maintenance.steps.commit_files import as_they_are
from explorer.maintenance.steps.commit_step import FILES_OF_THE_TABLE
from explorer.maintenance.steps.context import Run, Tally
from explorer.pipeline import measure_files
from explorer.protocol.features.column_mapping import column_mapping_mode, physical_path
from explorer.protocol.table_properties.byte_sizes import render_byte_size
from explorer.rows.data_file.data_file import FILE_COLUMNS
from explorer.scan.statistics.column_statistics import StatisticsColumn, read_facts
from explorer.table.counts import count
from explorer.table.frames import sum_of
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table
from explorer.transaction.commit import Committed, commit
from explorer.transaction.live_files import FilesOf
from explorer.transaction.read_set import read_set_of
from explorer.transaction.read_version import read_version_of
from explorer.transaction.requirements import validate_commit
from explorer.transaction.staged import Provenance, StagedCommit
from explorer.writing.commits.provenance import engine_info, tags_of_kept_ids

_NO_FILES: Final = table_of("add", (), ())

BATCH_SIZE: Final = 64 * 2**30
"""Bytes of the files that one commit adds again."""

_MOST_FILES: Final = 20_000
"""Of one commit: their statistics are held in memory."""

_AT_ONCE: Final = 65_536
_OPERATION: Final = "COMPUTE STATS"


def statistics_repair(
    context: PlanningContext, seed: UUID, batch_size: int
) -> tuple[str, tuple[Step, ...], list[pa.Table]]:
    """What is done, in a sentence; the steps; and the files that are added again, each
    `batch_size` bytes of them by a commit of their own."""
    lacking = _lacking(context.snapshot)
    if not lacking.num_rows:
        return "Every file says how many rows and nulls it has.", (), []
    files = join_files(
        [
            build_files(
                lacking.column("path"),
                action="add",
                reason="its statistics are missing or incomplete",
                bytes=lacking.column("size"),
            )
        ]
    )
    batches = _batches(files.column("bytes"), batch_size)
    several = "" if len(batches) == 1 else f" in {count(len(batches), 'commit')}"
    size = render_byte_size(sum_of(files.column("bytes")))
    text = (
        f"Reads {count(files.num_rows, 'file')} ({size}) {_too_little(files.num_rows)}{several}; "
        "no row changes, and nothing is lost."
    )
    return text, _steps(context.snapshot, files, batches, seed), [files]


def _too_little(number: int) -> str:
    if number == 1:
        return "with missing statistics, and adds it again with its statistics"
    return "with missing statistics, and adds them again with their statistics"


def _batches(sizes: pa.ChunkedArray, batch_size: int) -> list[range]:
    """Which rows of the file list go together, in their order."""
    found: list[range] = []
    start = held = 0
    for at, size in enumerate(sizes.to_pylist()):
        known = max(0, size or 0)  # what a log says of a size is a stranger's claim
        if at > start and (held + known > batch_size or at - start == _MOST_FILES):
            found.append(range(start, at))
            start, held = at, 0
        held += known
    return [*found, range(start, len(sizes))]


def _steps(
    snapshot: Snapshot, files: pa.Table, batches: Sequence[range], seed: UUID
) -> tuple[Step, ...]:
    steps: list[Step] = []
    for number, rows in enumerate(batches):
        step = RepairStatistics(
            id=f"batch {number + 1}",
            reason="Queries read files that they could skip, and the number of rows is unknown.",
            num_files=len(rows),
            num_bytes=sum_of(files.column("bytes").slice(rows.start, len(rows))),
            transaction_id=str(uuid5(seed, f"statistics {number}")),
            first=rows.start,
        )
        own = uuid5(seed, f"checkpoint {number}")
        version = snapshot.version + 1 + number
        steps += with_checksum_and_checkpoint(step, snapshot.metadata.configuration, own, version)
    return tuple(steps)


def judge_statistics(plan: Plan, table: Table, step: RepairStatistics) -> Verdict:
    """Whether the table's features allow a commit at all, before a file is read."""
    snapshot = table.snapshot(version=plan.anchor.version)
    return judge_rules(validate_commit(_staged(snapshot, step, ())))


def repair_statistics(run: Run, step: RepairStatistics, tally: Tally) -> None:
    """Read the files of one batch and commit them with their statistics, unless that was done
    before; raises `ConflictError` where another commit touched one of them."""
    tally.planned = step.num_files
    made = find_own_commit(run.store, run.plan.anchor.version, step.transaction_id)
    if made is not None:
        tally.result = {"version": made, "was_there": True}
        tally.done = step.num_files
        return
    snapshot = run.table.snapshot(version=run.plan.anchor.version)
    planned = of_action(run.plan.files, "add").slice(step.first, step.num_files)
    adds = _with_statistics(run, snapshot, planned.column("path"))
    staged = _staged(snapshot, step, tuple(adds.to_batches()), by=run.by)
    found = commit(run.store, staged, clock=run.clock, cancel=run.watch.cancel)
    if not isinstance(found, Committed):
        raise found.as_error()
    tally.result = {"version": found.version, "was_there": False}
    tally.done = step.num_files
    tally.num_bytes = step.num_bytes or 0


def _with_statistics(run: Run, snapshot: Snapshot, planned: pa.ChunkedArray) -> pa.Table:
    adds = _live_files(snapshot, planned.combine_chunks())
    # how columns are read goes by logical names of partitions, as `Snapshot.files` has them
    wanted = snapshot.with_logical_names(adds.select(list(FILE_COLUMNS)))
    found = measure_files(snapshot, wanted, run.spark, watch=run.watch)
    at = pc.index_in(adds.column("path"), value_set=found.column("path").combine_chunks())
    if adds.num_rows != len(planned) or at.null_count:
        raise stale("The version of the plan no longer has the files that it lists.")
    stats = found.column("stats").take(at)
    changed = adds.set_column(adds.schema.get_field_index("stats"), "stats", stats)
    return as_they_are(changed)


def _live_files(snapshot: Snapshot, paths: pa.Array) -> pa.Table:
    """Those of the live files, with every column of an add; no others are held meanwhile."""

    def among(files: FileColumns) -> pa.Table:
        return files.table.filter(pc.is_in(files.table.column("path"), value_set=paths))

    columns = list(ADD_COLUMNS)
    pieces = snapshot.over_files(lambda state: list(state.reduce_files(columns, (), among)))
    return pa.concat_tables([_NO_FILES, *pieces])


def _staged(
    snapshot: Snapshot,
    step: RepairStatistics,
    adds: tuple[pa.RecordBatch, ...],
    by: str | None = None,
) -> StagedCommit:
    paths = [batch.column("path") for batch in adds]
    return StagedCommit(
        base=read_version_of(snapshot),
        reads=read_set_of(pa.chunked_array(paths, pa.string())),
        provenance=Provenance(
            operation=_OPERATION,
            transaction_id=step.transaction_id,
            engine_info=engine_info(),
            user_name=by,
            parameters={"predicate": "[]"},
            metrics={"numFiles": str(step.num_files)},
            tags=tags_of_kept_ids(snapshot, added_again=adds),
        ),
        adds=adds,
        promises=FILES_OF_THE_TABLE,
        live=FilesOf(snapshot=snapshot),
    )


def _lacking(snapshot: Snapshot) -> pa.Table:
    """The `path` and `size` of files that do not say how many rows they have, or how many
    nulls a column that the table asks about."""
    mode = column_mapping_mode(snapshot.protocol, snapshot.metadata.configuration)
    columns = [
        StatisticsColumn(
            path=place.names,
            physical=physical_path(place, mode),
            data_type=place.field.data_type,
        )
        for place in indexed_places(snapshot.metadata)
    ]
    live = snapshot.physical_files("add", ["path", "size", "stats"])
    parts = []
    for start in range(0, live.num_rows, _AT_ONCE):
        part = live.slice(start, _AT_ONCE).combine_chunks()
        facts = read_facts(FileColumns(table=part, leaves={}), columns)
        unknown = [facts.num_records.is_null()]
        unknown += [facts.columns[column.path].null_count.is_null() for column in columns]
        parts.append(part.filter(reduce(pc.or_, unknown)).select(["path", "size"]))
    return pa.concat_tables(parts) if parts else live.select(["path", "size"])
