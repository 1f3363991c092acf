"""Statistics that files lack: planning to read these files, and adding them again with what
they hold (spec: Per-file Statistics, Add File and Remove File).

No row changes: path, deletion vector, row ids and tags stay, and only `stats` is another.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any, Final
from uuid import UUID, uuid5

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.columns import ADD_COLUMNS
from explorer.log.state import FileColumns
from explorer.log.statistics_columns import indexed_places
from explorer.maintenance.after_commit import with_checksum_and_checkpoint
from explorer.maintenance.commit_step import engine_info
from explorer.maintenance.file_list import build_files, of_action
from explorer.maintenance.newer_commits import find_own_commit, stale
from explorer.maintenance.plan import Plan, Step, Verdict
from explorer.maintenance.planning import Look, count, size_in_words
from explorer.maintenance.run import Run, Tally
from explorer.maintenance.staged_files import as_they_are
from explorer.pipeline import measure_files
from explorer.protocol.features.column_mapping import column_mapping_mode, physical_path
from explorer.rows.data_file import FILE_COLUMNS
from explorer.scan.column_statistics import StatisticsColumn, read_facts
from explorer.table.frames import sum_of
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table
from explorer.transaction.commit import Committed, commit
from explorer.transaction.read_set import read_files
from explorer.transaction.read_version import read_version_of
from explorer.transaction.requirements import validate_commit
from explorer.transaction.staged import Provenance, StagedCommit

_AT_ONCE: Final = 65_536
_OPERATION: Final = "COMPUTE STATS"


def statistics_repair(look: Look, seed: UUID) -> tuple[str, tuple[Step, ...], list[pa.Table]]:
    """What is done, in a sentence; the steps; and the files that are added again."""
    snapshot = look.snapshot
    lacking = _lacking(snapshot)
    if not lacking.num_rows:
        return "Every file says how many rows and nulls it has.", (), []
    size = sum_of(lacking.column("size"))
    step = Step(
        kind="repair_statistics",
        reason="Queries read files that they could skip, and nobody knows how many rows there are.",
        num_files=lacking.num_rows,
        num_bytes=size,
        arguments={"transaction_id": str(uuid5(seed, "statistics"))},
    )
    text = (
        f"Reads {count(lacking.num_rows, 'file')} ({size_in_words(size)}) that say too little of "
        "their rows, and adds them again with their statistics; no row changes, and nothing is "
        "lost."
    )
    files = build_files(
        lacking.column("path"),
        action="add",
        reason="its statistics are missing, or not whole",
        bytes=lacking.column("size"),
    )
    configuration = snapshot.metadata.configuration
    return text, with_checksum_and_checkpoint(step, 0, configuration, seed), [files]


def judge_statistics(plan: Plan, table: Table, step: Step) -> Verdict:
    """Whether the table's features allow a commit at all, before a file is read."""
    snapshot = table.snapshot(version=plan.anchor.version)
    problems = validate_commit(_staged(snapshot, step, ()))
    if not problems:
        return Verdict(guard="commit", outcome="allow", message="The features allow the commit.")
    return Verdict(
        guard="commit",
        outcome="refuse",
        message=" ".join(problem.problem for problem in problems[:10]),
        remedy=" ".join(dict.fromkeys(problem.remedy for problem in problems[:10])),
    )


def repair_statistics_step(
    run: Run, step: Step, index: int, tally: Tally, noted: Mapping[str, Any]
) -> None:
    """Read the planned files and commit them with their statistics, unless that was done
    before; raises `ConflictError` where another commit touched one of them."""
    del index, noted
    tally.planned = step.num_files
    transaction_id = str(step.arguments["transaction_id"])
    made = find_own_commit(run.store, run.plan.anchor.version, transaction_id)
    if made is not None:
        tally.result = {"version": made, "was_there": True}
        tally.done = step.num_files
        return
    snapshot = run.table.snapshot(version=run.plan.anchor.version)
    adds = _with_statistics(run, snapshot)
    staged = _staged(snapshot, step, tuple(adds.to_batches()))
    found = commit(run.store, staged, clock=run.clock, cancel=run.watch.cancel)
    if not isinstance(found, Committed):
        raise found.as_error()
    tally.result = {"version": found.version, "was_there": False}
    tally.done = step.num_files


def _with_statistics(run: Run, snapshot: Snapshot) -> pa.Table:
    planned = of_action(run.plan.files, "add").column("path")
    live = snapshot.physical_files("add", list(ADD_COLUMNS))
    adds = live.filter(pc.is_in(live.column("path"), value_set=planned.combine_chunks()))
    # how columns are read goes by logical names of partitions, as `Snapshot.files` has them
    wanted = snapshot.with_logical_names(adds.select(list(FILE_COLUMNS)))
    found = measure_files(snapshot, wanted, run.spark, watch=run.watch)
    at = pc.index_in(adds.column("path"), value_set=found.column("path").combine_chunks())
    if adds.num_rows != planned.length() or at.null_count:
        raise stale("The version that it was made on no longer holds the files that it lists.")
    stats = found.column("stats").take(at)
    changed = adds.set_column(adds.schema.get_field_index("stats"), "stats", stats)
    return as_they_are(changed)


def _staged(snapshot: Snapshot, step: Step, adds: tuple[pa.RecordBatch, ...]) -> StagedCommit:
    paths = [batch.column("path") for batch in adds]
    return StagedCommit(
        base=read_version_of(snapshot),
        reads=read_files(pa.chunked_array(paths, pa.string())),
        provenance=Provenance(
            operation=_OPERATION,
            transaction_id=str(step.arguments["transaction_id"]),
            engine_info=engine_info(),
            parameters={"predicate": "[]"},
            metrics={"numFiles": str(step.num_files)},
        ),
        adds=adds,
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
