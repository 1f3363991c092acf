"""What every plan that changes columns is made of: one commit, what has to hold of all rows first,
and who can no longer use the table (spec: Change Metadata, Protocol Evolution)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from uuid import UUID, uuid4, uuid5

from explorer.errors import Problem
from explorer.maintenance.features.upgrade_rules import pointing_to_upgrade
from explorer.maintenance.features.waking_rules import conditions_of, judge_waking, waking_rules
from explorer.maintenance.plan.after_commit import with_checksum_and_checkpoint
from explorer.maintenance.plan.newest_times import judge_following
from explorer.maintenance.plan.plan import Plan, Promise, Verdict
from explorer.maintenance.plan.planning_context import PlanningContext
from explorer.maintenance.plan.step_types import (
    Commit,
    CommitBasis,
    CommitParameters,
    CommitRecord,
    Step,
    ValidateRows,
)
from explorer.maintenance.steps.commit_step import judge_commit
from explorer.protocol.actions import DomainMetadata, Metadata, Protocol
from explorer.protocol.commit_json import render_action
from explorer.protocol.features.registry import supported_features
from explorer.transaction.rules.change import Described
from explorer.transaction.staged import ValidatedRule

Asked = tuple[Protocol, Metadata]
Losers = Callable[[Asked, Asked], str]
"""From what a table asks before and after to a sentence about who can no longer use it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRule:
    """A rule that no row was held against so far: `condition` is SQL that is true for each row
    that keeps to it, None where it was found to hold while planning, and none may come unseen."""

    rule: ValidatedRule
    name: str
    condition: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaPlan:
    """What a plan does: the table after it, and how the history tells of it."""

    kind: Literal["column", "cluster-by"]
    before: Described
    after: Described
    domains: tuple[DomainMetadata, ...] = ()
    operation: str
    commit_parameters: CommitParameters
    reason: str
    summary: str
    parameters: Mapping[str, Any]
    effect: Mapping[str, Any]
    warnings: tuple[Verdict, ...] = ()
    rules: tuple[RowRule, ...] = field(default=())


def build_plan(
    context: PlanningContext, wanted: SchemaPlan, *, seed: UUID | None, losers: Losers | None
) -> Plan:
    """The plan of one commit; one without steps where nothing would change."""
    made_with = seed or uuid4()
    before, after = wanted.before, wanted.after
    metadata_changes = after.metadata != before.metadata
    actions: list[Protocol | Metadata | DomainMetadata] = []
    if metadata_changes:
        actions.append(after.metadata)
    if after.protocol != before.protocol:
        actions.append(after.protocol)
    actions += wanted.domains
    steps: tuple[Step, ...] = ()
    commit: Commit | None = None
    if actions:
        commit, first = _commit(context, wanted, actions, made_with)
        after_it = with_checksum_and_checkpoint(
            commit, after.metadata.configuration, made_with, context.snapshot.version + 1
        )
        steps = (*first, *after_it)
    sees_all = commit is not None and commit.basis.reads == "every row"
    plan = Plan(
        operation=wanted.kind,
        subject=context.subject,
        anchor=context.anchor,
        planned_at=context.now_ms,
        summary=_summary(wanted, losers) if commit else "Nothing would change.",
        parameters=wanted.parameters,
        effect={
            **wanted.effect,
            "features": _added_features(before, after),
            "protocol": render_action(after.protocol)["protocol"],
        },
        verdicts=(
            *judge_following(context, after.metadata),
            *judge_waking(before, after, guard="columns"),
            *wanted.warnings,
        ),
        steps=steps,
        rests_on=("protocol", "metadata", "every file")
        if sees_all and commit is not None and commit.basis.upon is None
        else ("protocol", "metadata"),
        promise=Promise(versions={str(context.snapshot.version): context.snapshot.num_files}),
        table=context.table,
    )
    if commit is None or plan.refusals:
        return plan
    verdict = pointing_to_upgrade(judge_commit(plan, context.table, commit), after)
    return replace(plan, verdicts=(*plan.verdicts, verdict))


def changes_engines(before: Described, after: Described) -> bool:
    """Whether engines that do not know a feature lose the table."""
    return bool(_added_features(before, after))


def refusal(guard: str, problem: Problem) -> Verdict:
    """A problem as what refuses a plan."""
    return Verdict(
        guard=guard,
        outcome="refuse",
        message=f"{problem.problem} {problem.reason}",
        remedy=problem.remedy,
    )


def _commit(
    context: PlanningContext,
    wanted: SchemaPlan,
    actions: list[Protocol | Metadata | DomainMetadata],
    seed: UUID,
) -> tuple[Commit, tuple[Step, ...]]:
    waking = waking_rules(wanted.before, wanted.after)
    conditions = {item.name: item.condition for item in wanted.rules if item.condition}
    expressions = {**conditions, **conditions_of(waking)}
    validated = (
        *(item.rule for item in wanted.rules),
        *(found.rule for found in waking if found.condition is not None),
    )
    validation: ValidateRows | None = None
    if expressions:
        validation = ValidateRows(
            id="validation",
            reason="What holds from then on has to hold for the rows that are there, too.",
            num_files=context.snapshot.num_files,
            num_bytes=context.snapshot.size_in_bytes,
            expressions=expressions,
        )
    commit = Commit(
        id="commit",
        reason=wanted.reason,
        record=CommitRecord(
            operation=wanted.operation,
            transaction_id=str(uuid5(seed, "columns")),
            parameters=wanted.commit_parameters,
        ),
        basis=CommitBasis(
            reads="every row" if validated else "metadata",
            upon=validation,
            validated=validated,
        ),
        actions=tuple(actions),
    )
    return commit, () if validation is None else (validation,)


def _summary(wanted: SchemaPlan, losers: Losers | None) -> str:
    parts = [wanted.summary]
    added = _added_features(wanted.before, wanted.after)
    if added:
        parts.append(f"Enables {', '.join(added)}.")
        if losers is not None:
            before, after = wanted.before, wanted.after
            parts.append(
                losers((before.protocol, before.metadata), (after.protocol, after.metadata))
            )
    if any(item.condition for item in wanted.rules):
        parts.append("All rows are checked first; one that breaks it refuses the change.")
    return " ".join(parts)


def _added_features(before: Described, after: Described) -> list[str]:
    held = supported_features(before.protocol)
    return [name for name in supported_features(after.protocol) if name not in held]
