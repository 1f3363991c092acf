"""Planning by which columns rows are kept together (spec: Clustered Table)."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from explorer.maintenance.columns._schema_plan import Losers, RowRule, SchemaPlan, build_plan
from explorer.maintenance.plan.plan import Plan, Verdict
from explorer.maintenance.plan.planning_context import PlanningContext, read_planning_context
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.features.clustering import clustering_columns, clustering_in
from explorer.protocol.features.column_mapping import physical_path
from explorer.protocol.schema_walk import leaf_fields
from explorer.table.counts import have
from explorer.table.table import Table
from explorer.table.times import Clock, system_clock
from explorer.transaction.read_version import read_version_of
from explorer.transaction.rules.change import Described
from explorer.transaction.rules.clustering_rules import (
    known_columns,
    statistics_found,
    without_statistics,
)
from explorer.writing.schema.schema_change import SchemaChange, change_clustering


def plan_cluster_by(  # noqa: PLR0913  # by what, who looks on, what makes it repeatable
    table: Table,
    columns: Sequence[str],
    *,
    losers: Losers | None = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
    clock: Clock = system_clock,
    seed: UUID | None = None,
) -> Plan:
    """Let rows be clustered by these columns, by none without any. Files stay as they are until
    `plan_optimize` rewrites them.

    Raises `InvalidArgumentError` where the table is partitioned, and for columns that are missing,
    named twice, of a type without bounds, without statistics, or more than four.
    """
    context = read_planning_context(table, clock, Watch(progress=progress, cancel=cancel))
    base = read_version_of(context.snapshot)
    before = Described(protocol=context.snapshot.protocol, metadata=context.snapshot.metadata)
    change = change_clustering(base, columns)
    old = _names(before, clustering_in(base.domains))
    after, new = before, list(columns)
    rules: tuple[RowRule, ...] = ()
    warnings: tuple[Verdict, ...] = ()
    if change is not None:
        after = Described(protocol=change.protocol, metadata=change.metadata)
        rules, warnings = _judge_statistics(context, after, change)
        new = _names(after, clustering_columns(change.domains[0].configuration) or ())
    shown = ", ".join(name[:60] for name in new)
    wanted = SchemaPlan(
        kind="cluster-by",
        before=before,
        after=after,
        domains=() if change is None else change.domains,
        operation="CLUSTER BY",
        commit_parameters={
            "oldClusteringColumns": ",".join(old),
            "newClusteringColumns": ",".join(new),
        },
        reason=f"Clusters the table by {shown}." if new else "The table is no longer clustered.",
        summary=f"Clusters the table by {shown}. Files stay as they are until optimize."
        if new
        else "Rows are clustered by no column any more. Files stay as they are.",
        parameters={"columns": list(columns)},
        effect={
            "clustered_by_before": old,
            "clustered_by_after": new,
            "undo": f"cluster by {', '.join(old)[:300]} again" if old else "cluster by none",
        },
        warnings=warnings,
        rules=rules,
    )
    return build_plan(context, wanted, seed=seed, losers=losers)


def _judge_statistics(
    context: PlanningContext, after: Described, change: SchemaChange
) -> tuple[tuple[RowRule, ...], tuple[Verdict, ...]]:
    """Whether every live file has statistics of the columns; no file may come unseen then."""
    domain = change.domains[0]
    known = known_columns(after, clustering_columns(domain.configuration) or ())
    if not known:
        return (), ()
    files = context.snapshot.physical_files("add", ["path", "stats"])
    lacking = without_statistics(files, known)
    if not lacking:
        rule = RowRule(rule=statistics_found(domain), name="statistics", condition=None)
        return (rule,), ()
    name, number = next(iter(lacking.items()))
    verdict = Verdict(
        guard="columns",
        outcome="refuse",
        message=f"{have(number, 'file')} no statistics of {name[:120]}: files of a clustered table "
        "are found by them.",
        remedy="Complete them first: repair statistics.",
    )
    return (), (verdict,)


def _names(table: Described, paths: Sequence[tuple[str, ...]]) -> list[str]:
    known = {physical_path(place, table.mode): place.path for place in leaf_fields(table.schema)}
    return [known.get(path, ".".join(path)) for path in paths]
