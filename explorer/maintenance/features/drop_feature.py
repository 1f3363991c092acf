"""Planning to drop a feature (spec: Table Features, Protocol Evolution; Checkpoint
Protection, proposed).

A feature for writers alone goes in one commit. One that readers must support goes in two
steps: first nobody uses it any more, then the protocol no longer asks for it. Old versions
still need it, and there are two ways to keep readers that do not support it away from these:
checkpoints that nobody may remove alone, or waiting until those versions are gone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID, uuid4, uuid5

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import InvalidArgumentError
from explorer.maintenance.features._drop_history import Trace, find_newest_trace
from explorer.maintenance.features.drop_rules import (
    DROP_RULES,
    Obstacle,
    check_droppable,
    switched_off,
)
from explorer.maintenance.plan.after_commit import checksum_of, with_checksum_and_checkpoint
from explorer.maintenance.plan.file_list import build_files, join_files
from explorer.maintenance.plan.guards import in_words
from explorer.maintenance.plan.newest_times import judge_committing, judge_following
from explorer.maintenance.plan.plan import Plan, Promise, Verdict
from explorer.maintenance.plan.planning_context import PlanningContext, read_planning_context
from explorer.maintenance.plan.step_types import (
    Commit,
    CommitBasis,
    CommitRecord,
    Step,
    TakenRowIds,
    ValidateTraces,
    VectorTombstones,
    WriteCheckpoint,
)
from explorer.maintenance.steps.commit_files import vector_tombstones
from explorer.maintenance.steps.commit_step import judge_commit
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.actions import DomainMetadata, Metadata, Protocol
from explorer.protocol.features.evolution import dependents, with_features, without_feature
from explorer.protocol.features.registry import is_supported
from explorer.protocol.table_properties.known_properties import DROP_FEATURE_RETENTION
from explorer.table.counts import count
from explorer.table.table import Table
from explorer.table.times import Clock, system_clock

_BARRIERS: Final = 3
"""Checkpoints before the protocol changes: delta-spark tries so many older ones where it
cannot read the newest."""

_PROTECTION: Final = "checkpointProtection"


def plan_drop_feature(  # noqa: PLR0913  # what goes, who looks on, what makes it repeatable
    table: Table,
    feature: str,
    *,
    truncate_history: bool = False,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
    clock: Clock = system_clock,
    seed: UUID | None = None,
) -> Plan:
    """Drop a feature, or begin to: the plan says which of its two steps it is.

    Without `truncate_history` old versions stay, and the feature checkpointProtection keeps
    them from readers who would need the dropped one; with it the feature is only dropped
    once no log file speaks of it any more, and the plan is refused until then.

    Raises `InvalidArgumentError` for a feature that the table does not have, that others
    rest on, or that is not dropped here, with the reason.
    """
    name = check_droppable(feature)
    context = read_planning_context(table, clock, Watch(progress=progress, cancel=cancel))
    _check(context, name, truncate_history=truncate_history)
    drop = _Drop(
        context=context, name=name, truncate_history=truncate_history, seed=seed or uuid4()
    )
    plan = drop.plan()
    commits = (step for step in plan.steps if isinstance(step, Commit))
    commit = next((step for step in commits if step.actions), None)
    if plan.refusals or commit is None:
        return plan
    return replace(plan, verdicts=(*plan.verdicts, judge_commit(plan, table, commit)))


def _check(context: PlanningContext, name: str, *, truncate_history: bool) -> None:
    protocol = context.snapshot.protocol
    if not is_supported(protocol, name):
        raise _refused(f"The table does not have the feature {name}.", "There is nothing to drop.")
    if others := dependents(protocol, name):
        raise _refused(
            f"{name} cannot be dropped while the table has {', '.join(others)}.",
            "It rests on it; drop that feature first, where it can be dropped.",
        )
    if truncate_history and not DROP_RULES[name].protects_history:
        raise _refused(
            f"The history need not be cut for {name}.",
            "Readers need not support it, so old versions stay as they are.",
        )


def _refused(problem: str, reason: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        problem,
        reason=reason,
        remedy="Look at the table's features, and at what drop-feature does with each.",
        spec="Table Features",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drop:
    """One feature of one table, about to go."""

    context: PlanningContext
    name: str
    truncate_history: bool
    seed: UUID

    def plan(self) -> Plan:
        """The step that comes next."""
        snapshot = self.context.snapshot
        rule = DROP_RULES[self.name]
        off = rule.switched_off(snapshot.metadata.configuration)
        obstacles = list(rule.obstacles(snapshot))
        if not rule.protects_history:
            return self._at_once(obstacles)
        if off and not obstacles:
            return self._first_step()
        trace = find_newest_trace(self.context, self.name) if self.truncate_history else None
        if trace is not None:
            configuration = snapshot.metadata.configuration
            least = in_words(DROP_FEATURE_RETENTION.value_of(configuration))
            if (unread := DROP_FEATURE_RETENTION.unread_in(configuration)) is not None:
                least = f"a time that is unknown ({unread})"
            obstacles.append(
                Obstacle(
                    message=f"The history still uses {self.name}: of version {trace.version} "
                    f"{trace.what}.",
                    remedy=f"Clean the log up to a version after {trace.version} with clean-log, "
                    f"when its retention has passed, or by --retention after {least} at the "
                    "least. Or drop the feature without cutting the history.",
                )
            )
        return self._second_step(obstacles, trace)

    def _at_once(self, obstacles: list[Obstacle]) -> Plan:
        """A feature for writers alone: one commit, with everything that goes with it."""
        snapshot = self.context.snapshot
        rule = DROP_RULES[self.name]
        off = rule.switched_off(snapshot.metadata.configuration)
        files = self._files_with_row_ids()
        actions: list[Protocol | Metadata | DomainMetadata] = [
            without_feature(snapshot.protocol, self.name)
        ]
        if off:
            actions.append(switched_off(snapshot.metadata, off))
        # domains are written while there is their feature, and not together with its end
        cleanup = self._without_domains() if self.name == "domainMetadata" else None
        validation = self._validation
        before: tuple[Step, ...] = () if cleanup is None else (cleanup, validation)
        if cleanup is None:
            actions += rule.domains(snapshot)
        commit = Commit(
            id="commit",
            reason=f"Writers need not support {self.name} any more.",
            num_files=files.num_rows,
            record=self._record,
            basis=CommitBasis(
                reads="every row" if self.name == "rowTracking" else "metadata",
                upon=None if cleanup is None else validation,
                dropped_feature=self.name,
            ),
            actions=tuple(actions),
            files=TakenRowIds() if files.num_rows else None,
        )
        text = f"Drops {self.name}: writers that do not support it can write the table again."
        lost = {
            "rowTracking": " Rows permanently lose their ids.",
            "domainMetadata": f" {count(len(snapshot.domains), 'configuration')} in the log "
            f"{'is' if len(snapshot.domains) == 1 else 'are'} removed too.",
            "inCommitTimestamp": " Later versions have the times of their files.",
        }.get(self.name, "")
        configuration = snapshot.metadata.configuration
        version = snapshot.version + (1 if cleanup is None else 2)
        after = with_checksum_and_checkpoint(commit, configuration, self.seed, version)
        plan = self._plan(f"{text}{lost}", (*before, *after), obstacles)
        if not files.num_rows:
            return plan
        reason = "its rows lose their ids; the file stays as it is"
        listed = build_files(files["path"], action="add", reason=reason, bytes=files["size"])
        grounds = (*plan.rests_on, "every file")
        return replace(plan, files=join_files([listed]), rests_on=grounds)

    def _first_step(self) -> Plan:
        """Nobody uses the feature from now on."""
        snapshot = self.context.snapshot
        off = DROP_RULES[self.name].switched_off(snapshot.metadata.configuration)
        metadata = switched_off(snapshot.metadata, off)
        told = {item: value for item, value in off.items() if value is not None}
        parameters: dict[str, str | bool] = {
            "properties": orjson.dumps(told or sorted(off), option=orjson.OPT_SORT_KEYS).decode()
        }
        if not told:
            parameters["ifExists"] = True
        commit = Commit(
            id="commit",
            reason=f"No new use of {self.name}.",
            record=CommitRecord(
                operation="SET TBLPROPERTIES" if told else "UNSET TBLPROPERTIES",
                transaction_id=str(uuid5(self.seed, "off")),
                parameters=parameters,
            ),
            basis=CommitBasis(reads="metadata"),
            actions=(metadata,),
        )
        left = snapshot.num_deletion_vectors if self.name == "deletionVectors" else 0
        then = "optimize --purge, then drop-feature again" if left else "drop-feature again"
        summary = (
            f"First of two steps: switches {self.name} off. Nothing is lost, and the table "
            f"requires the feature until the second step. Afterwards: {then}. The second step has "
            "two ways: keep the history and protect it, which requires writers to support "
            "checkpointProtection; or, with --truncate-history, drop the feature once all history "
            "that uses it was cleaned up."
        )
        steps = (commit, checksum_of(commit), self._checkpoint(commit))
        return self._plan(summary, steps, [])

    def _second_step(self, obstacles: list[Obstacle], trace: Trace | None) -> Plan:
        """The protocol no longer asks for the feature."""
        snapshot = self.context.snapshot
        protects = not self.truncate_history
        before: list[Step] = []
        if protects:
            before += self._tombstones()
            for number in range(_BARRIERS):
                barrier = self._barrier(number)
                before += [barrier, self._checkpoint(barrier)]
        protocol = without_feature(snapshot.protocol, self.name)
        if protects:
            protocol = with_features(protocol, [_PROTECTION])
        validation = self._validation
        commit = Commit(
            id="commit",
            reason=f"Readers and writers need not support {self.name} any more.",
            record=self._record,
            basis=CommitBasis(reads="every row", upon=validation, dropped_feature=self.name),
            actions=(protocol, snapshot.metadata) if protects else (protocol,),
            protects_history=protects,
        )
        after = (commit, checksum_of(commit), self._checkpoint(commit))
        steps = (*before, validation, *after)
        summary = (
            f"Second of two steps: drops {self.name}. Readers and writers that do not support it "
            f"can use the table again. {self._history(trace)}"
        )
        return self._plan(summary, steps, obstacles)

    def _history(self, trace: Trace | None) -> str:
        """What becomes of the history, of which `trace` is what still speaks of the feature."""
        if not self.truncate_history:
            return (
                "The history stays: writers must support checkpointProtection instead, and the "
                "log before that version can only be cleaned up as a whole."
            )
        if trace is None:
            return "No log file uses it any more, so the history needs no protection."
        return (
            f"That has to wait: version {trace.version} of the history still uses it, and has to "
            "be cleaned up first. Without --truncate-history there is no wait."
        )

    def _without_domains(self) -> Commit | None:
        domains = DROP_RULES[self.name].domains(self.context.snapshot)
        if not domains:
            return None
        return Commit(
            id="domains",
            reason="Its configuration in the log is not allowed without the feature.",
            record=CommitRecord(
                operation="DOMAIN METADATA CLEANUP",
                transaction_id=str(uuid5(self.seed, "domains")),
                parameters={"domainMetadataRemovedCount": len(domains)},
            ),
            basis=CommitBasis(reads="metadata"),
            actions=tuple(domains),
        )

    @property
    def _validation(self) -> ValidateTraces:
        return ValidateTraces(
            id="validation",
            reason=f"Nothing of {self.name} may be left in the newest version.",
            feature=self.name,
        )

    @property
    def _record(self) -> CommitRecord:
        return CommitRecord(
            operation="DROP FEATURE",
            transaction_id=str(uuid5(self.seed, "drop")),
            parameters={"featureName": self.name, "truncateHistory": self.truncate_history},
        )

    def _tombstones(self) -> list[Step]:
        if self.name != "deletionVectors":
            return []
        number = vector_tombstones(self.context.snapshot, self.context.now_ms).num_rows
        if not number:
            return []
        return [
            Commit(
                id="tombstones",
                reason="Who does not know vectors would take their files for strays, and old "
                "versions need them.",
                num_files=number,
                record=CommitRecord(
                    operation="Deletion Vector Tombstones",
                    transaction_id=str(uuid5(self.seed, "tombstones")),
                ),
                basis=CommitBasis(reads="metadata"),
                files=VectorTombstones(),
            )
        ]

    def _barrier(self, number: int) -> Commit:
        return Commit(
            id=f"barrier {number + 1}",
            reason=f"For checkpoint {number + 1} of {_BARRIERS}, behind which no reader goes back.",
            record=CommitRecord(
                operation="Empty Commit",
                transaction_id=str(uuid5(self.seed, f"barrier {number}")),
            ),
        )

    def _checkpoint(self, of: Commit) -> WriteCheckpoint:
        return WriteCheckpoint(
            id=f"checkpoint of {of.id}",
            reason="Readers begin here, and not at versions that need the feature.",
            num_files=1,
            of=of,
            seed=uuid5(self.seed, f"checkpoint of {of.id}"),
        )

    def _files_with_row_ids(self) -> pa.Table:
        columns = ["path", "size", "base_row_id", "default_row_commit_version"]
        live = self.context.snapshot.physical_files("add", columns)
        if self.name != "rowTracking":
            return live.slice(0, 0)
        held = pc.or_(
            live.column("base_row_id").is_valid(),
            live.column("default_row_commit_version").is_valid(),
        )
        return live.filter(held)

    def _needs_ages(self, steps: tuple[Step, ...]) -> bool:
        """Whether files begin an age, or commits no longer carry a time of their own that could
        follow the one before."""
        files = (step.files for step in steps if isinstance(step, Commit))
        return (
            any(isinstance(found, VectorTombstones) for found in files)
            or self.name == "inCommitTimestamp"
        )

    def _plan(self, summary: str, steps: tuple[Step, ...], obstacles: list[Obstacle]) -> Plan:
        context = self.context
        refusals = (
            Verdict(guard="traces", outcome="refuse", message=found.message, remedy=found.remedy)
            for found in obstacles
        )
        commits = [step for step in steps if isinstance(step, Commit)]
        return Plan(
            operation="drop-feature",
            subject=context.subject,
            anchor=context.anchor,
            planned_at=context.now_ms,
            summary=summary,
            parameters={"feature": self.name, "truncate_history": self.truncate_history},
            effect={
                "drops": any(step.basis.dropped_feature for step in commits),
                "protects_history": any(step.protects_history for step in commits),
                "undo": f"enable {self.name} again with upgrade, where it can be enabled",
            },
            verdicts=(
                *(judge_committing if self._needs_ages(steps) else judge_following)(context),
                *refusals,
            ),
            steps=steps,
            rests_on=("protocol", "metadata"),
            promise=Promise(versions={str(context.snapshot.version): context.snapshot.num_files}),
            table=context.table,
        )
