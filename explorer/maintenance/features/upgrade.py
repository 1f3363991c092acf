"""Planning upgrades of what a table asks of its readers and writers (spec: Protocol
Evolution, Table Features).

What a plan does is one commit, so that nobody ever reads half of it. Row tracking needs
ids for the rows that are there: all files are added again with theirs in that same commit.
Rules that stand in the metadata and bind from then on, every row is held against before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final
from uuid import UUID, uuid4, uuid5

import orjson
import pyarrow as pa

from explorer.errors import InvalidArgumentError
from explorer.maintenance.features.upgrade_rules import (
    RULES,
    Enabling,
    check_enabled_here,
    pointing_to_upgrade,
)
from explorer.maintenance.features.waking_rules import (
    WakingRule,
    conditions_of,
    judge_row_ids,
    judge_waking,
    shown_rules,
    waking_features,
    waking_rules,
)
from explorer.maintenance.plan.after_commit import with_checksum_and_checkpoint
from explorer.maintenance.plan.file_list import build_files, join_files
from explorer.maintenance.plan.newest_times import judge_following
from explorer.maintenance.plan.plan import Plan, Promise, Verdict
from explorer.maintenance.plan.planning_context import PlanningContext, read_planning_context
from explorer.maintenance.plan.step_types import (
    Commit,
    CommitBasis,
    CommitRecord,
    GivenRowIds,
    Step,
    ValidateRows,
)
from explorer.maintenance.plan.used_features import unused_features
from explorer.maintenance.steps.commit_step import judge_commit
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.commit_json import render_action
from explorer.protocol.features.evolution import (
    implied_features,
    with_features,
    with_versions,
    without_unused,
)
from explorer.protocol.features.registry import (
    READER_FEATURES_VERSION,
    WRITER_FEATURES_VERSION,
    supported_features,
)
from explorer.protocol.schema import parse_schema
from explorer.protocol.table_properties.known_properties import ROW_TRACKING
from explorer.table.counts import count
from explorer.table.table import Table
from explorer.table.times import Clock, system_clock
from explorer.transaction.rules.change import Described
from explorer.transaction.staged import ValidatedRule

_MOST_FILES: Final = 200_000
"""Files that get row ids in one commit: some hundred MB of it."""

Asked = tuple[Protocol, Metadata]
Losers = Callable[[Asked, Asked], str]
"""From what a table asks before and after to a sentence about who can no longer use it."""


@dataclass(frozen=True, kw_only=True)
class _Upgrade:
    """What the table becomes."""

    names: tuple[str, ...]
    before: Asked
    after: Asked
    obstacles: tuple[str, ...]
    left_out: tuple[str, ...]
    without_ids: pa.Table
    id_verdicts: tuple[Verdict, ...]

    @property
    def protocol(self) -> Protocol:
        return self.after[0]

    @property
    def metadata(self) -> Metadata:
        return self.after[1]

    @property
    def changed(self) -> dict[str, str]:
        """The properties that become another value."""
        held = self.before[1].configuration
        found = self.metadata.configuration
        return {name: value for name, value in found.items() if held.get(name) != value}

    @property
    def described(self) -> tuple[Described, Described]:
        """The table before and after."""
        held, found = (
            Described(protocol=protocol, metadata=metadata)
            for protocol, metadata in (self.before, self.after)
        )
        return held, found

    @property
    def begins_row_ids(self) -> bool:
        """Whether ids of rows may be relied on from then on, and could not before."""
        before, after = self.described
        return after.has_active("rowTracking") and not before.has_active("rowTracking")

    @cached_property
    def waking(self) -> tuple[WakingRule, ...]:
        """The rules for rows that have had no effect so far."""
        return waking_rules(*self.described)

    @property
    def added(self) -> list[str]:
        held = supported_features(self.before[0])
        return [name for name in supported_features(self.protocol) if name not in held]


def plan_upgrade(  # noqa: PLR0913  # what is enabled, who looks on, what makes it repeatable
    table: Table,
    *,
    features: Collection[str] = (),
    reader_version: int | None = None,
    writer_version: int | None = None,
    only_used: bool = False,
    losers: Losers | None = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
    clock: Clock = system_clock,
    seed: UUID | None = None,
) -> Plan:
    """Enable features, with what they need, or raise the versions of the protocol.

    Where a property switches a feature on, the plan sets it; appendOnly is supported and
    stays off, because it forbids what people do. `losers` says in a sentence which engines
    can no longer read or write the table; it begins the summary.

    Where a protocol begins to list features by name, those that came with its number are
    listed too, as the reference does it; with `only_used` those alone that a version which can
    still be read has used, so that fewer engines are kept away. All commits are looked through.
    One that the table's properties or columns ask for may not be missing from the list: the
    plan is refused, and says with which features together it would not be.

    Raises `InvalidArgumentError` for a feature that is not enabled here, with the reason,
    and for a version that does not exist.
    """
    names = tuple(dict.fromkeys(check_enabled_here(name) for name in features))
    _check_versions(names, reader_version, writer_version)
    context = read_planning_context(table, clock, Watch(progress=progress, cancel=cancel))
    made_with = seed or uuid4()
    upgrade = _build_upgrade(context, names, (reader_version, writer_version), made_with)
    if only_used:
        upgrade = _with_used_alone(context, upgrade)
    plan = _plan(context, upgrade, made_with, losers)
    plan = replace(
        plan,
        parameters={
            "features": list(names),
            "reader_version": reader_version,
            "writer_version": writer_version,
            "only_used": only_used,
        },
    )
    commit = next((step for step in plan.steps if isinstance(step, Commit)), None)
    if plan.refusals or commit is None:
        return plan
    asking = Described(protocol=upgrade.protocol, metadata=upgrade.metadata)
    verdict = pointing_to_upgrade(judge_commit(plan, table, commit), asking, names)
    return replace(plan, verdicts=(*plan.verdicts, verdict))


def _check_versions(names: Collection[str], reader: int | None, writer: int | None) -> None:
    if not names and reader is None and writer is None:
        raise InvalidArgumentError(
            "No feature is named, and no version.",
            reason="There is nothing to enable.",
            remedy="Name features, or a reader or writer version.",
            spec="Table Features",
        )
    for version, highest in (
        (reader, READER_FEATURES_VERSION),
        (writer, WRITER_FEATURES_VERSION),
    ):
        if version is not None and not 1 <= version <= highest:
            raise InvalidArgumentError(
                f"There is no version {version}.",
                reason=f"Reader versions go to {READER_FEATURES_VERSION}, writer versions to "
                f"{WRITER_FEATURES_VERSION}.",
                remedy="Name one of them.",
                spec="Protocol Evolution",
            )


def _build_upgrade(
    context: PlanningContext,
    names: tuple[str, ...],
    versions: tuple[int | None, int | None],
    seed: UUID,
) -> _Upgrade:
    snapshot = context.snapshot
    protocol, metadata = snapshot.protocol, snapshot.metadata
    after = with_versions(protocol, versions[0] or 1, versions[1] or 1)
    after = with_features(after, names)
    obstacles: list[str] = []
    for name in names:
        rule = RULES[name]
        enabling = Enabling(
            metadata=metadata, schema=parse_schema(metadata.schema_string), seed=seed
        )
        obstacles.extend(rule.obstacles(enabling))
        metadata = rule.describe(enabling)
        configuration = {**metadata.configuration, **rule.switch}
        metadata = replace(metadata, configuration=configuration)
    columns = ["path", "size", "num_records", "base_row_id"]
    files = snapshot.physical_files("add", columns if "rowTracking" in names else columns[:1])
    without, id_verdicts = files.slice(0, 0), list[Verdict]()
    if "rowTracking" in names:
        without = files.filter(files.column("base_row_id").is_null())
        held = Described(protocol=protocol, metadata=snapshot.metadata)
        id_verdicts.extend(judge_row_ids(held, files, snapshot.row_id_high_water_mark))
    return _Upgrade(
        names=names,
        before=(protocol, snapshot.metadata),
        after=(after, metadata),
        obstacles=tuple(obstacles),
        left_out=(),
        without_ids=without,
        id_verdicts=tuple(id_verdicts),
    )


def _with_used_alone(context: PlanningContext, upgrade: _Upgrade) -> _Upgrade:
    """The same upgrade, which lists no feature that nobody asked for and no version used."""
    before, after = upgrade.before[0], upgrade.protocol
    asked = with_features(Protocol(min_reader_version=1, min_writer_version=1), upgrade.names)
    wanted = supported_features(asked)
    names = [name for name in implied_features(before, after) if name not in wanted]
    unused = unused_features(context, names)
    return replace(
        upgrade,
        after=(without_unused(after, unused) if unused else after, upgrade.metadata),
        left_out=tuple(name for name in names if name in unused),
    )


def _plan(context: PlanningContext, upgrade: _Upgrade, seed: UUID, losers: Losers | None) -> Plan:
    steps: tuple[Step, ...] = ()
    if upgrade.before != upgrade.after or upgrade.without_ids.num_rows:
        configuration = upgrade.metadata.configuration
        commit = _commit(context, upgrade, seed)
        before = () if commit.basis.upon is None else (commit.basis.upon,)
        steps = (
            *before,
            *with_checksum_and_checkpoint(
                commit, configuration, seed, context.snapshot.version + 1
            ),
        )
    files = []
    if upgrade.without_ids.num_rows:
        listed = upgrade.without_ids
        reason = "its rows get ids; the file stays as it is"
        files = [build_files(listed["path"], action="add", reason=reason, bytes=listed["size"])]
    return Plan(
        operation="upgrade",
        subject=context.subject,
        anchor=context.anchor,
        planned_at=context.now_ms,
        summary=_summary(upgrade, losers, has_steps=bool(steps)),
        parameters={},
        effect={
            "features": upgrade.added,
            "features_left_out": list(upgrade.left_out),
            "protocol": render_action(upgrade.protocol)["protocol"],
            "properties": upgrade.changed,
            "rules_that_wake": {found.rule.key: found.rule.expression for found in upgrade.waking},
            "files_with_new_row_ids": upgrade.without_ids.num_rows,
            "undo": "drop the features again with drop-feature, where they can be dropped",
        },
        verdicts=(
            *judge_following(context, upgrade.metadata),
            *_judge(upgrade),
        ),
        steps=steps,
        rests_on=("protocol", "metadata", "every file") if files else ("protocol", "metadata"),
        promise=Promise(versions={str(context.snapshot.version): context.snapshot.num_files}),
        files=join_files(files),
        table=context.table,
    )


def _validation(context: PlanningContext, upgrade: _Upgrade) -> ValidateRows | None:
    """The look at every row, where there are rules that nobody held rows against."""
    expressions = conditions_of(upgrade.waking)
    if not expressions:
        return None
    return ValidateRows(
        id="validation",
        reason="Rules that have had no effect so far hold for the rows that are there, too.",
        num_files=context.snapshot.num_files,
        num_bytes=context.snapshot.size_in_bytes,
        expressions=expressions,
    )


def _commit(context: PlanningContext, upgrade: _Upgrade, seed: UUID) -> Commit:
    changes_protocol = upgrade.protocol != upgrade.before[0]
    actions: list[Protocol | Metadata] = [upgrade.protocol] if changes_protocol else []
    if upgrade.metadata != upgrade.before[1]:
        actions.append(upgrade.metadata)
    told: Mapping[str, Any] = upgrade.changed
    if changes_protocol:
        told = render_action(upgrade.protocol)["protocol"]
    text = orjson.dumps(told, option=orjson.OPT_SORT_KEYS).decode()
    validated = [found.rule for found in upgrade.waking if found.condition is not None]
    if upgrade.begins_row_ids:
        # no file is without ids after this commit, and none may come unseen
        validated.append(ValidatedRule(key=ROW_TRACKING.name, expression=""))
    number = upgrade.without_ids.num_rows
    return Commit(
        id="commit",
        reason=f"Enables {', '.join(upgrade.names) or 'what the versions stand for'}.",
        num_files=number,
        record=CommitRecord(
            operation="UPGRADE PROTOCOL" if changes_protocol else "SET TBLPROPERTIES",
            transaction_id=str(uuid5(seed, "upgrade")),
            parameters={"newProtocol" if changes_protocol else "properties": text},
        ),
        basis=CommitBasis(
            reads="every row" if validated or number else "metadata",
            upon=_validation(context, upgrade),
            validated=tuple(validated),
            unused_features=upgrade.left_out,
        ),
        actions=tuple(actions),
        files=GivenRowIds() if number else None,
    )


def _judge(upgrade: _Upgrade) -> list[Verdict]:
    found = [
        Verdict(
            guard="upgrade",
            outcome="refuse",
            message=text,
            remedy="Change that first, or leave the feature out.",
        )
        for text in upgrade.obstacles
    ]
    found.extend(judge_waking(*upgrade.described))
    found.extend(upgrade.id_verdicts)
    if not upgrade.without_ids.num_rows:
        return found
    if unknown := upgrade.without_ids.column("num_records").null_count:
        found.append(
            Verdict(
                guard="upgrade",
                outcome="refuse",
                message=f"rowTracking: {count(unknown, 'file')} "
                f"{'does' if unknown == 1 else 'do'} not say how many rows "
                f"{'it has' if unknown == 1 else 'they have'}, so that no ids can be given to "
                "these.",
                remedy="Repair the statistics first.",
            )
        )
    if upgrade.without_ids.num_rows > _MOST_FILES:
        found.append(
            Verdict(
                guard="upgrade",
                outcome="refuse",
                message=f"rowTracking: {count(upgrade.without_ids.num_rows, 'file')} would get "
                f"ids in one commit, and {_MOST_FILES:,} may.",
                remedy="Optimize the table first, so that it has fewer files.",
            )
        )
    return found


def _summary(upgrade: _Upgrade, losers: Losers | None, *, has_steps: bool) -> str:
    if not has_steps:
        return "The table has what was asked for already; there is nothing to do."
    parts = [_demands(upgrade)]
    if losers is not None and upgrade.before[0] != upgrade.protocol:
        parts.insert(0, losers(upgrade.before, upgrade.after))
    switched = [name for name in upgrade.names if name in RULES and _is_switched(upgrade, name)]
    if switched:
        parts.append(f"Switches on {', '.join(switched)}.")
    parts.extend(_woken(upgrade))
    if upgrade.left_out:
        parts.append(
            f"Leaves out {', '.join(upgrade.left_out)}, which came with the version's number and "
            "which no version that can be read has used."
        )
    if number := upgrade.without_ids.num_rows:
        parts.append(f"The rows of {count(number, 'file')} get ids; no row is written.")
    return " ".join(part for part in parts if part)


def _woken(upgrade: _Upgrade) -> Iterator[str]:
    """What had no effect so far and has one from then on."""
    if names := waking_features(*upgrade.described):
        yield (
            f"The table's metadata ask for {', '.join(names)} already, without effect so far; "
            "from then on they have it."
        )
    if checked := [found for found in upgrade.waking if found.condition is not None]:
        yield (
            f"No row was held against {shown_rules(checked)}: all rows are checked first, and "
            f"one that breaks {'it' if len(checked) == 1 else 'one of them'} refuses the change."
        )


def _is_switched(upgrade: _Upgrade, name: str) -> bool:
    rule = RULES[name]
    if rule.switch:
        return any(item in upgrade.changed for item in rule.switch)
    return bool(upgrade.changed) and name in {"columnMapping", "rowTracking"}


def _demands(upgrade: _Upgrade) -> str:
    before, after = upgrade.before[0], upgrade.protocol
    if before == after:
        return "Changes only properties; no engine loses access."
    readers = sorted({*(after.reader_features or ())} - {*(before.reader_features or ())})
    reads = f"Readers must support {', '.join(readers)}" if readers else "Readers need nothing new"
    if not readers and after.min_reader_version != before.min_reader_version:
        reads = f"Readers must support reader version {after.min_reader_version}"
    writes = ", ".join(upgrade.added) or f"writer version {after.min_writer_version}"
    return f"{reads}; writers must support {writes}."
