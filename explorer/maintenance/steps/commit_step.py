"""The step that commits (spec: Delta Log Entries, Commit Provenance Information).

A commit is told by the transaction id that the plan gives it: one that was made before the
process was killed is found again, and not made twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from explorer.maintenance.plan.guards import judge_rules
from explorer.maintenance.plan.newer_commits import find_own_commit
from explorer.maintenance.plan.plan import Plan, Verdict
from explorer.maintenance.plan.step_types import Commit, MissingFiles, Reads, RestoredFiles
from explorer.maintenance.steps.commit_files import FileBatches, batches_of
from explorer.maintenance.steps.context import Run, Tally
from explorer.maintenance.steps.files_coming_back import check_files_come_back
from explorer.maintenance.steps.gone_files import check_still_gone
from explorer.protocol.actions import DomainMetadata, Metadata, Protocol
from explorer.protocol.table_properties.known_properties import CHECKPOINT_PROTECTION_VERSION
from explorer.table.table import Table
from explorer.transaction.commit import Committed, commit
from explorer.transaction.live_files import EarlierVersion, FilesOf
from explorer.transaction.read_set import NOTHING, WHOLE_TABLE, ReadSet
from explorer.transaction.read_version import read_version_of
from explorer.transaction.requirements import validate_commit
from explorer.transaction.staged import IsolationLevel, Promises, Provenance, StagedCommit
from explorer.writing.commits.provenance import engine_info, tags_of_kept_ids

FILES_OF_THE_TABLE: Final = Promises(holds_partition_columns=True)
"""What holds of files that stand in the log and are added again: they have what those who
wrote them gave them. Only a rewrite brings new ones."""

_READS: Mapping[Reads, ReadSet] = {
    "nothing": ReadSet(metadata=False),
    "metadata": NOTHING,
    "every row": WHOLE_TABLE,
}


def carry_out_commit(run: Run, step: Commit, tally: Tally) -> None:
    """Commit, unless that was done before; raises `ConflictError` where another commit stands
    in the way, and `UnsupportedError` where the table's features forbid it."""
    tally.planned = step.num_files
    made = find_own_commit(run.store, run.plan.anchor.version, step.transaction_id)
    if made is not None:
        tally.result = {"version": made, "was_there": True}
        tally.done = step.num_files
        return
    upon = step.basis.upon
    staged = stage(
        Table(run.store),
        run.plan,
        _with_true_counts(run, step),
        run.clock(),
        version=None if upon is None else run.version_of(upon),
        by=run.by,
    )
    if staged.promises.recommits:
        check_files_come_back(run.store, staged, run.clock())
    if isinstance(step.files, MissingFiles):
        check_still_gone(run.store, staged)
    found = commit(run.store, staged, clock=run.clock, cancel=run.watch.cancel)
    if not isinstance(found, Committed):
        raise found.as_error()
    tally.result = {"version": found.version, "was_there": False}
    tally.done = step.num_files


def stage(  # noqa: PLR0913  # what, when, by whom, upon which version, and of which files
    table: Table,
    plan: Plan,
    step: Commit,
    now: int,
    *,
    version: int | None = None,
    files: FileBatches | None = None,
    by: str | None = None,
) -> StagedCommit:
    """What a step commits at `now`, in milliseconds; what depends on the table is made upon
    `version`, by default the plan's. `files` are those that the step describes, where
    somebody has them already, and `by` is who is named in the commit."""
    record, reads = step.record, _READS[step.basis.reads]
    if version is None and step.basis.reads != "nothing":
        version = plan.anchor.version
    snapshot = table.snapshot(version=version)
    if files is None and step.files is not None:
        files = batches_of(table, plan, step.files, step.num_files, now)
    files = files or FileBatches()
    # as the reference: what changes no row need not be kept apart from those that do
    changes_nothing = files.is_empty and not reads.whole_table
    isolation: IsolationLevel = "SnapshotIsolation" if changes_nothing else "Serializable"
    actions = _actions(step, snapshot.version + 1)
    return StagedCommit(
        base=read_version_of(snapshot),
        reads=reads,
        provenance=Provenance(
            operation=record.operation,
            transaction_id=record.transaction_id,
            engine_info=engine_info(),
            user_name=by,
            parameters=record.parameters,
            metrics=record.metrics,
            tags=tags_of_kept_ids(snapshot, actions, files.adds),
            isolation_level=isolation,
        ),
        actions=actions,
        adds=files.adds,
        removes=files.removes,
        promises=_promises(step, files),
        live=FilesOf(snapshot=snapshot),
        restored_version=_earlier_version(table, step),
    )


def _earlier_version(table: Table, step: Commit) -> EarlierVersion | None:
    """The version that a restore goes back to, where its metadata come back."""
    changes_metadata = any(isinstance(action, Metadata) for action in step.actions)
    if not isinstance(step.files, RestoredFiles) or not changes_metadata:
        return None
    target = table.snapshot(version=step.files.version)
    return EarlierVersion(metadata=target.metadata, files=FilesOf(snapshot=target))


def _promises(step: Commit, files: FileBatches) -> Promises:
    dropped = frozenset(step.basis.unused_features)
    if step.basis.dropped_feature is not None:
        dropped |= {step.basis.dropped_feature}
    # what a plan says of a domain its operation made, and no user
    domains = (action for action in step.actions if isinstance(action, DomainMetadata))
    return Promises(
        validated=frozenset(step.basis.validated),
        recommits=files.recommits,
        holds_partition_columns=FILES_OF_THE_TABLE.holds_partition_columns,
        dropped_features=dropped,
        kept_domains=frozenset(action.domain for action in domains),
    )


def judge_commit(
    plan: Plan, table: Table, step: Commit, files: FileBatches | None = None
) -> Verdict:
    """Whether the table's features allow the commit, every rule asked before anything is
    done (spec: Writer Version Requirements). `files` as in `stage`."""
    return judge_rules(validate_commit(stage(table, plan, step, plan.planned_at, files=files)))


def _with_true_counts(run: Run, step: Commit) -> Commit:
    """The commit with the number of files that were deleted in the place of the planned one."""
    if step.counts is None:
        return step
    metrics = {**step.record.metrics, "numDeletedFiles": str(run.num_deleted(step.counts))}
    return replace(step, record=replace(step.record, metrics=metrics))


def _actions(step: Commit, version: int) -> tuple[Protocol | Metadata | DomainMetadata, ...]:
    """The actions of a commit that is to be `version`."""
    if not step.protects_history:
        return step.actions
    mark = {CHECKPOINT_PROTECTION_VERSION.name: str(version)}
    return tuple(
        replace(item, configuration={**item.configuration, **mark})
        if isinstance(item, Metadata)
        else item
        for item in step.actions
    )
