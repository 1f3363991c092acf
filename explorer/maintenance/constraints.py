"""Planning to add and drop CHECK constraints (spec: CHECK Constraints).

A constraint is SQL that every later writer runs. So it passes the gates of
`explorer.scan.sql.expressions` before it is planned, and every row is held against it before
it is committed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID, uuid4, uuid5

from explorer.errors import InvalidArgumentError
from explorer.maintenance.features.waking_rules import (
    WakingRule,
    conditions_of,
    judge_waking,
    shown_rules,
    waking_rules,
)
from explorer.maintenance.plan.after_commit import with_checksum_and_checkpoint
from explorer.maintenance.plan.newest_times import judge_following
from explorer.maintenance.plan.plan import Plan, Promise, Verdict
from explorer.maintenance.plan.planning_context import PlanningContext, read_planning_context
from explorer.maintenance.plan.step_types import (
    Commit,
    CommitBasis,
    CommitRecord,
    ValidateRows,
)
from explorer.maintenance.steps.commit_step import judge_commit
from explorer.pipeline import find_violations
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.commit_json import render_action
from explorer.protocol.features.evolution import with_features
from explorer.protocol.table_properties.properties import check_constraints
from explorer.protocol.values.unicode_text import check_unicode
from explorer.scan.sql.expressions import check_expression
from explorer.table.counts import count
from explorer.table.table import Table
from explorer.table.times import Clock, system_clock
from explorer.transaction.rules.change import Described
from explorer.transaction.staged import ValidatedRule

_FEATURE: Final = "checkConstraints"
_PREFIX: Final = "delta.constraints."
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,127}", re.ASCII)
_RESERVED: Final = "__char_varchar_string_length_check__"


def plan_add_constraint(  # noqa: PLR0913  # what is added, who looks on, what makes it repeatable
    table: Table,
    name: str,
    expression: str,
    *,
    spark: Any = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
    clock: Clock = system_clock,
    seed: UUID | None = None,
) -> Plan:
    """Add a CHECK constraint, which every row is held against on Spark before the commit.

    With `spark` the rows are looked at while planning too, and those that break it refuse
    the plan; without it the execution tells. Raises `InvalidArgumentError` for a name that
    is taken or cannot be one, and what `check_expression` raises.
    """
    context = read_planning_context(table, clock, Watch(progress=progress, cancel=cancel))
    metadata, protocol = context.snapshot.metadata, context.snapshot.protocol
    _check_name(name, metadata.configuration)
    check_expression(expression, context.snapshot.schema)
    key = f"{_PREFIX}{name.lower()}"
    configuration = {**metadata.configuration, key: expression}
    after = with_features(protocol, [_FEATURE])
    changed = replace(metadata, configuration=configuration)
    actions = (changed,) if after == protocol else (changed, after)
    made_with = seed or uuid4()
    described = (
        Described(protocol=protocol, metadata=metadata),
        Described(protocol=after, metadata=changed),
    )
    # the protocol may bring others to bear that stood in the metadata without effect
    waking = waking_rules(*described)
    validation = ValidateRows(
        id="validation",
        reason="A constraint applies to existing rows too.",
        num_files=context.snapshot.num_files,
        num_bytes=context.snapshot.size_in_bytes,
        expressions={name: expression, **conditions_of(waking)},
    )
    commit = Commit(
        id="commit",
        reason=f"Every later row has to satisfy {name}.",
        record=CommitRecord(
            operation="ADD CONSTRAINT",
            transaction_id=str(uuid5(made_with, "constraint")),
            parameters={"name": name, "expr": expression},
        ),
        basis=CommitBasis(
            reads="every row",
            upon=validation,
            validated=(
                ValidatedRule(key=key, expression=expression),
                *(found.rule for found in waking if found.condition is not None),
            ),
        ),
        actions=actions,
    )
    steps = (
        validation,
        *with_checksum_and_checkpoint(
            commit, configuration, made_with, context.snapshot.version + 1
        ),
    )
    summary = _added(name, expression, context, waking, changes_protocol=after != protocol)
    effect = {
        "before": None,
        "after": expression,
        "protocol": render_action(after)["protocol"],
        "undo": f"drop the constraint {name}",
    }
    plan = _plan(
        context, {"action": "add", "name": name, "expression": expression}, summary, effect
    )
    verdicts = (*plan.verdicts, *judge_waking(*described, guard="constraint"))
    plan = replace(plan, steps=steps, verdicts=verdicts)
    if plan.refusals:
        return plan
    verdicts = (*plan.verdicts, judge_commit(plan, table, commit))
    return replace(plan, verdicts=(*verdicts, *_judge_rows(context, name, expression, spark)))


def plan_drop_constraint(  # noqa: PLR0913  # what goes, who looks on, what makes it repeatable
    table: Table,
    name: str,
    if_exists: bool = False,  # noqa: FBT001, FBT002  # the words of SQL
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
    clock: Clock = system_clock,
    seed: UUID | None = None,
) -> Plan:
    """Drop a CHECK constraint; nothing is done where there is none and `if_exists` says that
    this may be. Raises `InvalidArgumentError` else, and for a name that fits several."""
    check_unicode(name, "The name of the constraint cannot be read.")
    context = read_planning_context(table, clock, Watch(progress=progress, cancel=cancel))
    metadata = context.snapshot.metadata
    held = check_constraints(metadata.configuration)
    found = _find(name, held)
    parameters = {"action": "drop", "name": name, "if_exists": if_exists}
    if found is None:
        if not if_exists:
            raise _no_such(name, held)
        return _plan(context, parameters, f"The table has no constraint {name[:120]}.", {})
    text = held[found]
    configuration = {
        key: value
        for key, value in metadata.configuration.items()
        if key[: len(_PREFIX)].lower() != _PREFIX or key[len(_PREFIX) :] != found
    }
    made_with = seed or uuid4()
    commit = Commit(
        id="commit",
        reason=f"Later rows need not satisfy {found[:120]}.",
        record=CommitRecord(
            operation="DROP CONSTRAINT",
            transaction_id=str(uuid5(made_with, "constraint")),
            parameters={"name": found, "expr": text, "existed": "true"},
        ),
        basis=CommitBasis(reads="metadata"),
        actions=(replace(metadata, configuration=configuration),),
    )
    summary = (
        f"Drops the constraint {found[:120]}: rows where {text[:200]} is false or null can be "
        "written from then on."
    )
    effect = {"before": text, "after": None, "undo": f"add the constraint {found[:120]} again"}
    plan = replace(
        _plan(context, parameters, summary, effect),
        steps=with_checksum_and_checkpoint(
            commit, configuration, made_with, context.snapshot.version + 1
        ),
    )
    if plan.refusals:
        return plan
    return replace(plan, verdicts=(*plan.verdicts, judge_commit(plan, table, commit)))


def _plan(
    context: PlanningContext, parameters: Mapping[str, Any], summary: str, effect: Mapping[str, Any]
) -> Plan:
    return Plan(
        operation="constraint",
        subject=context.subject,
        anchor=context.anchor,
        planned_at=context.now_ms,
        summary=summary,
        parameters=parameters,
        effect=effect,
        verdicts=judge_following(context),
        steps=(),
        rests_on=("protocol", "metadata"),
        promise=Promise(versions={str(context.snapshot.version): context.snapshot.num_files}),
        table=context.table,
    )


def _check_name(name: str, configuration: Mapping[str, str]) -> None:
    if _NAME.fullmatch(name) is None or name.lower() == _RESERVED:
        raise InvalidArgumentError(
            f"{name[:120]!r} cannot be the name of a constraint.",
            reason="It becomes part of a property name: at most 128 ASCII letters, digits, "
            "underscores and hyphens, and no name that engines reserve.",
            remedy="Choose a name such as amount_is_positive.",
            spec="CHECK Constraints",
        )
    held = check_constraints(configuration)
    for other, text in held.items():
        if other.lower() == name.lower():
            raise InvalidArgumentError(
                f"The table has a constraint {other[:120]} already.",
                reason=f"It is {text[:200]}; names of constraints must differ in more than case.",
                remedy="Choose another name, or drop that one first.",
                kind="already_exists",
                spec="CHECK Constraints",
            )


def _find(name: str, held: Mapping[str, str]) -> str | None:
    """The constraint of that name: in its very spelling, or in any case where only one is."""
    if name in held:
        return name
    found = [other for other in held if other.lower() == name.lower()]
    if len(found) > 1:
        raise InvalidArgumentError(
            f"{name[:120]} is ambiguous.",
            reason=f"The table has {', '.join(other[:60] for other in found[:5])}.",
            remedy="Write the name as in the table.",
            spec="CHECK Constraints",
        )
    return found[0] if found else None


def _no_such(name: str, held: Mapping[str, str]) -> InvalidArgumentError:
    known = ", ".join(other[:60] for other in sorted(held)[:12])
    return InvalidArgumentError(
        f"The table has no constraint {name[:120]}.",
        reason=f"It has {known}." if known else "It has no constraints.",
        remedy="See the names in the table's properties.",
        spec="CHECK Constraints",
    )


def _added(
    name: str,
    expression: str,
    context: PlanningContext,
    waking: Sequence[WakingRule],
    *,
    changes_protocol: bool,
) -> str:
    first = (
        "Engines that do not support checkConstraints can no longer write the table. "
        if changes_protocol
        else ""
    )
    return (
        f"{first}Adds the constraint {name}: rows where {expression[:200]} is false or null can no "
        f"longer be written. First the rows of {count(context.snapshot.num_files, 'file')} are "
        "checked; a violation refuses the change."
        + (
            f" They are also checked for {shown_rules(waking)}, which had no effect so far and has "
            "one from then on."
            if waking
            else ""
        )
    )


def _judge_rows(
    context: PlanningContext, name: str, expression: str, spark: Any
) -> tuple[Verdict, ...]:
    if spark is None:
        return ()
    found = find_violations(context.snapshot, expression, spark, watch=context.watch)
    if not found.count:
        return (Verdict(guard="rows", outcome="allow", message=f"Every row satisfies {name}."),)
    return (
        Verdict(
            guard="rows",
            outcome="refuse",
            message=f"{count(found.count, 'row')} of version {context.snapshot.version} would "
            f"violate {name}.",
            remedy="Correct or delete these rows first, or write a condition that allows them.",
        ),
    )
