"""Planning changes of table properties (spec: Table Properties, Change Metadata)."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping
from dataclasses import replace
from uuid import UUID, uuid4, uuid5

import orjson

from explorer.errors import InvalidArgumentError
from explorer.log.state.statistics_columns import check_statistics_columns
from explorer.maintenance._property_words import describe_change
from explorer.maintenance.features.upgrade_rules import pointing_to_upgrade
from explorer.maintenance.plan.after_commit import with_checksum_and_checkpoint
from explorer.maintenance.plan.newest_times import judge_following
from explorer.maintenance.plan.plan import Plan, Promise, Verdict
from explorer.maintenance.plan.planning_context import read_planning_context
from explorer.maintenance.plan.step_types import (
    Commit,
    CommitBasis,
    CommitParameters,
    CommitRecord,
    Step,
)
from explorer.maintenance.steps.commit_step import judge_commit
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.actions import Metadata
from explorer.protocol.table_properties.known_properties import STATS_COLUMNS, UNIVERSAL_FORMATS
from explorer.protocol.table_properties.properties import PROPERTIES
from explorer.protocol.table_properties.property_names import (
    CONSTRAINT_PREFIX,
    DELTA_PREFIX,
    FEATURE_PREFIX,
    KEPT_BY_WRITERS,
    known_name,
    nearest_name,
)
from explorer.protocol.values.unicode_text import check_unicode
from explorer.table.table import Table
from explorer.table.times import Clock, system_clock
from explorer.transaction.rules.change import Described

_SHOWN = 10
_LONGEST_COMMAND = 1000

# families of properties with operations, or checks over all rows, of their own
_ELSEWHERE = {
    CONSTRAINT_PREFIX: (
        "every row has to be checked against a CHECK constraint first",
        "Use constraint add NAME EXPR, or constraint drop NAME.",
    ),
    FEATURE_PREFIX: (
        "enabling a feature changes the protocol",
        "Use upgrade FEATURE, which says who can no longer use the table.",
    ),
    "delta.coordinatedcommits.": (
        "a service would manage the commits, and others could not even read the table",
        "Set it with the engine that runs the service.",
    ),
}
# each needs more than its property: a protocol, names or ids for what is there already
_NEEDS_MORE = {
    "delta.columnMapping.mode": "columnMapping",
    "delta.enableRowTracking": "rowTracking",
}


def plan_set_properties(  # noqa: PLR0913  # what changes, who looks on, what makes it repeatable
    table: Table,
    set: Mapping[str, str] | None = None,  # noqa: A002  # the word of SQL
    unset: Collection[str] = (),
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
    clock: Clock = system_clock,
    seed: UUID | None = None,
) -> Plan:
    """Set and unset properties in one commit.

    Raises `InvalidArgumentError` for a property of Delta that is not known, that cannot have
    the value, or that only an operation of its own may change.
    """
    wanted = dict(set or {})
    _check(wanted, unset)
    context = read_planning_context(table, clock, Watch(progress=progress, cancel=cancel))
    metadata = context.snapshot.metadata
    _check_formats(wanted, metadata)
    check_statistics_columns(metadata, wanted.get(STATS_COLUMNS.name, ""))
    configuration = {
        name: value for name, value in metadata.configuration.items() if name not in unset
    } | wanted
    changed = sorted(
        name
        for name in {*configuration, *metadata.configuration}
        if configuration.get(name) != metadata.configuration.get(name)
    )
    steps: tuple[Step, ...] = ()
    commit: Commit | None = None
    if changed:
        made_with = seed or uuid4()
        commit = Commit(
            id="commit",
            reason=f"Changes {', '.join(changed)[:200]}.",
            record=CommitRecord(
                operation="SET TBLPROPERTIES" if wanted else "UNSET TBLPROPERTIES",
                transaction_id=str(uuid5(made_with, "properties")),
                parameters=_parameters(wanted, unset),
            ),
            basis=CommitBasis(reads="metadata"),
            actions=(replace(metadata, configuration=configuration),),
        )
        steps = with_checksum_and_checkpoint(
            commit, configuration, made_with, context.snapshot.version + 1
        )
    plan = Plan(
        operation="set-properties",
        subject=context.subject,
        anchor=context.anchor,
        planned_at=context.now_ms,
        summary=_summary(changed, wanted, unset, metadata.configuration, configuration),
        parameters={"set": wanted, "unset": sorted(unset)},
        effect={
            "changed": {
                name: {"before": metadata.configuration.get(name), "after": configuration.get(name)}
                for name in changed
            },
            "undo": _way_back(table.uri, changed, metadata.configuration),
        },
        verdicts=(
            *judge_following(context, replace(metadata, configuration=configuration)),
            *_warnings(changed, configuration),
        ),
        steps=steps,
        rests_on=("protocol", "metadata"),
        promise=Promise(versions={str(context.snapshot.version): context.snapshot.num_files}),
        table=table,
    )
    if commit is None or plan.refusals:
        return plan
    # what is set now, and not what the table asked for before
    asking = replace(metadata, configuration=dict(wanted), schema_string=None)
    described = Described(protocol=context.snapshot.protocol, metadata=asking)
    verdict = pointing_to_upgrade(judge_commit(plan, table, commit), described)
    return replace(plan, verdicts=(*plan.verdicts, verdict))


def _check(wanted: Mapping[str, str], unset: Collection[str]) -> None:
    if not wanted and not unset:
        raise _refused("No property is named.", "There is nothing to set or unset.")
    for name in (*wanted, *unset):
        check_unicode(name, f"The name of the property {name[:120]!a} cannot be read.")
    for name, value in wanted.items():
        check_unicode(value, f"The value of the property {name[:120]!r} cannot be read.")
    if both := sorted({*wanted} & {*unset}):
        raise _refused(f"{both[0]} is both set and unset.", "Only one of the two is possible.")
    for name in (*wanted, *unset):
        _check_name(name)
    for item in PROPERTIES.values():
        if (problem := item.validate(wanted)) is not None:
            raise _refused(problem.problem, problem.reason)


def _check_formats(wanted: Mapping[str, str], metadata: Metadata) -> None:
    """No format whose metadata is written beside the table may be added; it may be removed."""
    held, asked = (_formats(each) for each in (metadata.configuration, wanted))
    if asked - held:
        raise _refused(
            f"{UNIVERSAL_FORMATS.name} cannot be set to {', '.join(sorted(asked))[:120]} here.",
            "The table has to follow the rules of that format first, or Delta Spark can no longer "
            "commit.",
            "REORG TABLE ... APPLY (UPGRADE UNIFORM) in an engine that has it does both.",
        )


def _formats(configuration: Mapping[str, str]) -> set[str]:
    names = configuration.get(UNIVERSAL_FORMATS.name, "").split(",")
    return {name.strip().lower() for name in names} - {""}


def _check_name(name: str) -> None:
    for prefix, (reason, remedy) in _ELSEWHERE.items():
        if name.lower().startswith(prefix):
            told = f"It is refused here: {reason}."
            raise _refused(f"{name[:120]} is not a plain property.", told, remedy)
    if name in KEPT_BY_WRITERS:
        raise _refused(f"{name} cannot be set.", "Writers maintain it, and the log depends on it.")
    if name in _NEEDS_MORE:
        raise _refused(
            f"{name} cannot be changed by its property alone.",
            "The protocol and the existing data have to change with it.",
            f"Enable it with upgrade {_NEEDS_MORE[name]}; drop-feature removes it.",
        )
    if name.lower().startswith(DELTA_PREFIX) and not name.startswith(DELTA_PREFIX):
        raise _refused(
            f"{name[:120]} would be a property without effect.",
            "Readers and writers only look for names that start with delta., in lower case.",
            f"Write {DELTA_PREFIX}{name[len(DELTA_PREFIX) :][:120]}.",
        )
    if name.startswith(DELTA_PREFIX) and known_name(name) != name:
        near = known_name(name) or nearest_name(name)
        raise _refused(
            f"{name[:120]} is not a known property.",
            "Names with delta. are reserved for Delta.",
            _NAMES_AND_VALUES if near is None else f"Did you mean {near}?",
        )


def _summary(
    changed: list[str],
    wanted: Mapping[str, str],
    unset: Collection[str],
    before: Mapping[str, str],
    after: Mapping[str, str],
) -> str:
    if changed or wanted:
        return describe_change(changed, before, after)
    names = ", ".join(f"`{name[:60]}`" for name in sorted({*unset})[:_SHOWN])
    return f"The table has no property {names}; there is nothing to do."


def _way_back(uri: str, changed: list[str], before: Mapping[str, str]) -> str:
    """The command that sets the properties back; where it would be too long to be copied, or
    no line, where their values are."""
    words = [f"{name}={before[name]}" for name in changed if name in before]
    for name in changed:
        words += [] if name in before else ["--unset", name]
    text = f"`delta-explorer {shlex.join(['set', uri, *words])}`"
    if words and len(text) <= _LONGEST_COMMAND and text.isprintable():
        return text
    return "set the properties to what the plan's `effect.changed` has under `before`"


def _warnings(changed: list[str], configuration: Mapping[str, str]) -> list[Verdict]:
    found: list[Verdict] = []
    for name in changed:
        if name in {"delta.logRetentionDuration", "delta.deletedFileRetentionDuration"}:
            value = configuration.get(name, "the default")
            found.append(
                Verdict(
                    guard="retention",
                    outcome="warn",
                    message=f"{name} becomes {value}: every writer's cleanup uses it.",
                )
            )
    return found


def _parameters(wanted: Mapping[str, str], unset: Collection[str]) -> CommitParameters:
    """As the reference writes them: JSON inside of a string."""
    if wanted:
        return {"properties": orjson.dumps(wanted, option=orjson.OPT_SORT_KEYS).decode()}
    return {"properties": orjson.dumps(sorted(unset)).decode(), "ifExists": True}


_NAMES_AND_VALUES = "See the table properties in the Delta documentation."


def _refused(problem: str, reason: str, remedy: str = _NAMES_AND_VALUES) -> InvalidArgumentError:
    return InvalidArgumentError(
        problem,
        reason=reason,
        remedy=remedy,
        spec="Table Properties",
    )
