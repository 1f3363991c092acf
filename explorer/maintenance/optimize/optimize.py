"""Planning an optimize: small files become few, deleted rows go for good, and rows lie in the
order by which they are looked for. No row of the table changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID, uuid4, uuid5

import pyarrow as pa
import pyarrow.compute as pc

from explorer.files.store_paths import file_of_each
from explorer.log.actions.columns import TIME, int32_column, int64_scalar
from explorer.maintenance.optimize._aim import build_aim, why_order
from explorer.maintenance.optimize._groups import (
    DELETED,
    HIDDEN,
    MOST_DELETED,
    PARTLY,
    SMALL,
    UNORDERED,
    Groups,
    choose_groups,
    count_targets,
    digest_groups,
)
from explorer.maintenance.optimize._optimize_guards import (
    judge_first_files,
    judge_order,
    judge_rewrite,
)
from explorer.maintenance.optimize.optimize_step import commit_parameters
from explorer.maintenance.plan.after_commit import with_checksum_and_checkpoint
from explorer.maintenance.plan.file_list import build_files, join_files, words
from explorer.maintenance.plan.newest_times import judge_committing
from explorer.maintenance.plan.plan import Plan, Promise, Verdict
from explorer.maintenance.plan.planning_context import PlanningContext, read_planning_context
from explorer.maintenance.plan.step_types import Aim, RewriteFiles, Step
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.table_properties.byte_sizes import render_byte_size
from explorer.table.counts import count
from explorer.table.frames import sum_of
from explorer.table.table import Table
from explorer.table.times import Clock, system_clock

BATCH_SIZE: Final = 64 * 2**30
"""Bytes that one commit writes again, so that a run that ends early has not been for nothing."""


def plan_optimize(  # noqa: PLR0913  # what is to be reached, who looks on, what makes it repeatable
    table: Table,
    *,
    where: str | None = None,
    target_size: int | str | None = None,
    zorder_by: Sequence[str] = (),
    purge: bool = False,
    batch_size: int = BATCH_SIZE,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
    clock: Clock = system_clock,
    seed: UUID | None = None,
) -> Plan:
    """Write files again where it pays: small ones together, up to `target_size` bytes or text
    like `128mb` (by default as the table says, else 1 GiB), and those with many deleted rows.

    `where` keeps it to files that may hold a matching row. With `zorder_by`, or on a table
    that names clustering columns, rows are brought into their order instead. `purge` writes
    every file again that has a deletion vector, and no other. Each `batch_size` bytes are a
    commit of their own.

    Raises what `Table.snapshot` raises, and `InvalidArgumentError` for a condition, a size or
    columns that cannot be meant.
    """
    context = read_planning_context(table, clock, Watch(progress=progress, cancel=cancel))
    aim = build_aim(
        context.snapshot,
        where=where,
        target_size=target_size,
        zorder_by=[zorder_by] if isinstance(zorder_by, str) else zorder_by,
        purge=purge,
        batch_size=max(1, batch_size),
    )
    verdicts: tuple[Verdict, ...] = (
        *judge_committing(context),
        judge_rewrite(context.snapshot),
        judge_order(context.snapshot, aim),
    )
    groups = choose_groups(context.snapshot, aim, context.watch)
    plan = replace(_plan(context, aim, groups, seed or uuid4()), verdicts=verdicts)
    if not plan.steps or plan.refusals:
        return plan
    return replace(
        plan, verdicts=(*verdicts, judge_first_files(context.snapshot, aim, groups.files))
    )


def _plan(context: PlanningContext, aim: Aim, groups: Groups, seed: UUID) -> Plan:
    newest, files = context.snapshot, groups.files
    new_files = int(count_targets(files, aim).sum())
    return Plan(
        operation="optimize",
        subject=context.subject,
        anchor=context.anchor,
        planned_at=context.now_ms,
        summary=_summary(aim, groups, new_files, newest.version),
        parameters=aim.parameters,
        effect={
            "files_looked_at": groups.num_looked_at,
            "files_removed": files.num_rows,
            "bytes_removed": sum_of(files.column("size")),
            "files_added_about": new_files,
            "files_of_other_implementations": groups.num_foreign,
            "rows_deleted_for_good": _hidden_rows(files),
            "order": why_order(aim) if aim.columns else None,
            "undo": f"restore to version {newest.version}",
        },
        verdicts=(),
        steps=_steps(context, aim, groups, seed),
        rests_on=("protocol", "metadata", "files"),
        promise=Promise(versions={str(newest.version): newest.num_files}),
        files=join_files([_listed(context, aim, files)]),
        table=context.table,
    )


def _steps(context: PlanningContext, aim: Aim, groups: Groups, seed: UUID) -> tuple[Step, ...]:
    steps: list[Step] = []
    for batch in range(groups.num_batches):
        files = groups.of_batch(batch)
        step = RewriteFiles(
            id=f"batch {batch + 1}",
            reason=_reason(aim, files),
            num_files=files.num_rows,
            num_bytes=sum_of(files.column("size")),
            transaction_id=str(uuid5(seed, f"optimize {batch}")),
            parameters=commit_parameters(aim),
            aim=aim,
            batch=batch,
            num_groups=len(pc.unique(files.column("group"))),
            groups_sha256=digest_groups(files),
            seed=uuid5(seed, f"names {batch}"),
        )
        configuration = context.snapshot.metadata.configuration
        checkpoint = uuid5(seed, f"checkpoint {batch}")
        version = context.snapshot.version + 1 + batch
        steps += with_checksum_and_checkpoint(step, configuration, checkpoint, version)
    return tuple(steps)


def _reason(aim: Aim, files: pa.Table) -> str:
    groups = count(len(pc.unique(files.column("group"))), "group")
    if aim.purge:
        return f"{groups} of files without their deleted rows; one commit."
    if aim.columns:
        return f"{groups} of rows ordered {why_order(aim)}; one commit."
    return f"{groups} of small files, or of such with many deleted rows; one commit."


def _listed(context: PlanningContext, aim: Aim, files: pa.Table) -> pa.Table:
    """The files as the plan shows them; the reason names the group that each goes into."""
    paths = pc.coalesce(file_of_each(files, context.table.uri)[0], files.column("path"))
    size = render_byte_size(aim.target_size)
    texts = {
        SMALL: f"smaller than {size}",
        DELETED: f"more than {MOST_DELETED:.0%} of its rows are deleted",
        HIDDEN: "it has deleted rows",
        UNORDERED: "its rows are in no order, or in another one",
        PARTLY: "in the right order and small, it takes in further rows",
    }
    codes = pc.add(
        pc.multiply(files.column("group"), int64_scalar(len(texts))), files.column("why")
    )
    coded = pc.dictionary_encode(codes.combine_chunks())
    reasons = [
        f"group {code // len(texts)}: {texts[code % len(texts)]}"
        for code in coded.dictionary.to_pylist()
    ]
    return build_files(
        paths,
        action="remove",
        reason=words(reasons, coded.indices) if reasons else words([], int32_column([])),
        bytes=files.column("size"),
        deletable_from=pa.nulls(files.num_rows, TIME),
    )


def _hidden_rows(files: pa.Table) -> int:
    return sum_of(pc.struct_field(files.column("deletion_vector"), "cardinality"))


def _summary(aim: Aim, groups: Groups, new_files: int, version: int) -> str:
    files = groups.files
    if not files.num_rows:
        return f"{_nothing(aim, groups)} There is nothing to do."
    what = (
        f"Rewrites {count(files.num_rows, 'file')} "
        f"({render_byte_size(sum_of(files.column('size')))})"
    )
    hidden = _hidden_rows(files)
    gone = f", without {count(hidden, 'soft-deleted row')}," if hidden else ""
    order = f", ordered by {', '.join(aim.names)}" if aim.columns else ""
    return (
        f"{what} as about {count(new_files, 'file')}{order}{gone} in "
        f"{count(groups.num_batches, 'commit')}. No {'live ' if hidden else ''}row changes, and "
        f"nothing is lost until vacuum deletes the old files: version {version} stays readable."
    )


def _nothing(aim: Aim, groups: Groups) -> str:
    if not groups.num_looked_at:
        return "The table has no file." if aim.where is None else "No file may hold a matching row."
    is_one = groups.num_looked_at == 1
    none = f"{'The only file' if is_one else f'None of {groups.num_looked_at:,} files'}"
    if aim.purge:
        return f"{none} has {'no' if is_one else 'a'} deletion vector."
    is_worth = "is not worth" if is_one else "is worth"
    if aim.columns:
        foreign = ""
        if groups.num_foreign:
            verb = "is" if is_one else "are"
            number = f"{groups.num_foreign:,}"
            foreign = f", or {verb} clustered by another implementation ({number})"
        why = "it is in order, or too small" if is_one else "they are in order, or too small"
        return f"{none} {is_worth} ordering: {why}{foreign}."
    return f"{none} {is_worth} writing again."
