"""The step that commits (spec: Delta Log Entries, Commit Provenance Information).

A commit is told by the transaction id that the plan gives it: one that was made before the
process was killed is found again, and not made twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import pyarrow as pa

from explorer.maintenance.plan.guards import judge_rules
from explorer.maintenance.plan.newer_commits import find_own_commit
from explorer.maintenance.plan.plan import Plan, Step, Verdict
from explorer.maintenance.steps.commit_files import FileBatches, batches_of
from explorer.maintenance.steps.context import Run, Tally
from explorer.maintenance.steps.files_coming_back import check_files_come_back
from explorer.maintenance.steps.gone_files import check_still_gone
from explorer.protocol.actions import (
    DomainMetadata,
    Metadata,
    Protocol,
    parse_domain,
    parse_metadata,
    parse_protocol,
)
from explorer.protocol.features.registry import is_active
from explorer.protocol.known_properties import CHECKPOINT_PROTECTION_VERSION
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table
from explorer.transaction.commit import Committed, commit
from explorer.transaction.live_files import EarlierVersion, FilesOf
from explorer.transaction.read_set import NOTHING, WHOLE_TABLE, ReadSet
from explorer.transaction.read_version import read_version_of
from explorer.transaction.requirements import validate_commit
from explorer.transaction.staged import (
    IsolationLevel,
    Promises,
    Provenance,
    StagedCommit,
    ValidatedRule,
)

_DISTRIBUTION = "delta-explorer"

FILES_OF_THE_TABLE: Final = Promises(holds_partition_columns=True)
"""What holds of files that stand in the log and are added again: they have what those who
wrote them gave them. Only a rewrite brings new ones."""

_READS: Mapping[str, ReadSet] = {
    "nothing": ReadSet(metadata=False),
    "metadata": NOTHING,
    "every row": WHOLE_TABLE,
}
"""What a commit depends on, by the word that its step has; `every row` also where it changes
no file itself: no row may have come or gone unseen."""


def commit_step(  # noqa: PLR0913  # the fields of commitInfo
    operation: str,
    *,
    reason: str,
    transaction_id: str,
    parameters: Mapping[str, Any],
    metrics: Mapping[str, str],
    reads: str = "nothing",
    actions: Sequence[Mapping[str, Any]] = (),
    files: Mapping[str, Any] | None = None,
    counts_step: int | None = None,
    num_files: int = 0,
    upon_step: int | None = None,
    validated: Sequence[ValidatedRule] = (),
    dropped_feature: str | None = None,
    unused_features: Sequence[str] = (),
    protects_history: bool = False,
) -> Step:
    """A step that commits `actions` (lines of a commit) and the file actions that `files`
    describes. With `counts_step` the number of deleted files is that of an earlier step.

    With `upon_step` it builds upon the version that an earlier step looked at, and rests on
    what was found there: that all rows keep to the rules of `validated`, or that nothing of
    `dropped_feature` is left. Of `unused_features`, which the protocol no longer has, no
    version ever made use. With `protects_history` its metadata say that the checkpoints
    before it are protected.
    """
    resting = {
        "upon_step": upon_step,
        "validated": [{"key": rule.key, "expression": rule.expression} for rule in validated],
        "dropped_feature": dropped_feature,
        "unused_features": list(unused_features),
        "protects_history": protects_history or None,
    }
    return Step(
        kind="commit",
        reason=reason,
        num_files=num_files,
        arguments={
            "operation": operation,
            "transaction_id": transaction_id,
            "parameters": dict(parameters),
            "metrics": dict(metrics),
            "reads": reads,
            "actions": [dict(action) for action in actions],
            "files": None if files is None else dict(files),
            "counts_step": counts_step,
            **{name: value for name, value in resting.items() if value not in (None, [])},
        },
    )


def carry_out_commit(
    run: Run, step: Step, index: int, tally: Tally, noted: Mapping[str, Any]
) -> None:
    """Commit, unless that was done before; raises `ConflictError` where another commit stands
    in the way, and `UnsupportedError` where the table's features forbid it."""
    del index, noted
    arguments = step.arguments
    tally.planned = step.num_files
    transaction_id = str(arguments["transaction_id"])
    if (made := find_own_commit(run.store, run.plan.anchor.version, transaction_id)) is not None:
        tally.result = {"version": made, "was_there": True}
        tally.done = step.num_files
        return
    upon = arguments.get("upon_step")
    staged = stage(
        Table(run.store),
        run.plan,
        step,
        _metrics(run, arguments),
        run.clock(),
        version=None if upon is None else int(run.results[int(upon)]["version"]),
        by=run.by,
    )
    if staged.promises.recommits:
        check_files_come_back(run.store, staged, run.clock())
    if "paths" in (arguments["files"] or {}):
        check_still_gone(run.store, staged)
    found = commit(run.store, staged, clock=run.clock, cancel=run.watch.cancel)
    if not isinstance(found, Committed):
        raise found.as_error()
    tally.result = {"version": found.version, "was_there": False}
    tally.done = step.num_files


def stage(  # noqa: PLR0913  # what, when, upon which version, and of which files
    table: Table,
    plan: Plan,
    step: Step,
    metrics: Mapping[str, str],
    now: int,
    *,
    version: int | None = None,
    files: FileBatches | None = None,
    by: str | None = None,
) -> StagedCommit:
    """What a step commits at `now`, in milliseconds; what depends on the table is made upon
    `version`, by default the plan's. `files` are those that the step describes, where
    somebody has them already, and `by` is who is named in the commit."""
    arguments = step.arguments
    reads = str(arguments["reads"])
    if version is None and reads != "nothing":
        version = plan.anchor.version
    snapshot = table.snapshot(version=version)
    if files is None and arguments["files"] is not None:
        files = batches_of(table, plan, arguments["files"], now)
    files = files or FileBatches()
    # as the reference: what changes no row need not be kept apart from those that do
    changes_nothing = files.is_empty and not _READS[reads].whole_table
    isolation: IsolationLevel = "SnapshotIsolation" if changes_nothing else "Serializable"
    actions = _actions(arguments, snapshot.version + 1)
    return StagedCommit(
        base=read_version_of(snapshot),
        reads=_READS[reads],
        provenance=Provenance(
            operation=str(arguments["operation"]),
            transaction_id=str(arguments["transaction_id"]),
            engine_info=engine_info(),
            user_name=by,
            parameters=arguments["parameters"],
            metrics=metrics,
            tags=tags_of_kept_ids(snapshot, actions, files.adds),
            isolation_level=isolation,
        ),
        actions=actions,
        adds=files.adds,
        removes=files.removes,
        promises=_promises(arguments, files),
        live=FilesOf(snapshot=snapshot),
        goes_back_to=_earlier_version(table, arguments["files"], actions),
    )


def _earlier_version(
    table: Table, files: Mapping[str, Any] | None, actions: Sequence[object]
) -> EarlierVersion | None:
    """The version that a restore goes back to, where its metadata come back."""
    version = (files or {}).get("restore_to")
    if version is None or not any(isinstance(item, Metadata) for item in actions):
        return None
    target = table.snapshot(version=int(version))
    return EarlierVersion(metadata=target.metadata, files=FilesOf(snapshot=target))


def tags_of_kept_ids(
    snapshot: Snapshot,
    actions: Sequence[Protocol | Metadata | DomainMetadata] = (),
    added_again: Sequence[pa.RecordBatch] = (),
) -> dict[str, str]:
    """What `commitInfo` says of a commit upon `snapshot` that writes no row, or gives each the
    id that it had: where ids may be relied on, before it and after, whether all were kept
    (spec: Writer Requirements for Row Tracking). They were not where a file of `added_again`
    is of a version without ids, and gets new ones."""
    protocol = next((item for item in actions if isinstance(item, Protocol)), snapshot.protocol)
    metadata = next((item for item in actions if isinstance(item, Metadata)), snapshot.metadata)
    kept = is_active("rowTracking", snapshot.protocol, snapshot.metadata, None) and is_active(
        "rowTracking", protocol, metadata, None
    )
    if not kept:
        return {}
    anew = any(batch.column("base_row_id").null_count for batch in added_again)
    return {"delta.rowTracking.preserved": "false" if anew else "true"}


def _promises(arguments: Mapping[str, Any], files: FileBatches) -> Promises:
    dropped = frozenset(arguments.get("unused_features", ()))
    if (feature := arguments.get("dropped_feature")) is not None:
        dropped |= {str(feature)}
    # what a plan says of a domain its operation made, and no user
    domains = (line.get("domainMetadata") for line in arguments["actions"])
    return Promises(
        validated=frozenset(ValidatedRule(**rule) for rule in arguments.get("validated", ())),
        recommits=files.recommits,
        holds_partition_columns=FILES_OF_THE_TABLE.holds_partition_columns,
        dropped_features=dropped,
        kept_domains=frozenset(domain["domain"] for domain in domains if domain is not None),
    )


def judge_commit(plan: Plan, table: Table, step: Step, files: FileBatches | None = None) -> Verdict:
    """Whether the table's features allow the commit, every rule asked before anything is
    done (spec: Writer Version Requirements). `files` as in `stage`."""
    metrics = step.arguments["metrics"]
    staged = stage(table, plan, step, metrics, plan.planned_at, files=files)
    return judge_rules(validate_commit(staged))


def _metrics(run: Run, arguments: Mapping[str, Any]) -> dict[str, str]:
    metrics = dict(arguments["metrics"])
    counted = arguments["counts_step"]
    if counted is not None:
        metrics["numDeletedFiles"] = str(run.results.get(counted, {}).get("num_deleted", 0))
    return metrics


def _actions(
    arguments: Mapping[str, Any], version: int
) -> tuple[Protocol | Metadata | DomainMetadata, ...]:
    """The actions of a commit that is to be `version`."""
    actions = tuple(_action(line) for line in arguments["actions"])
    if not arguments.get("protects_history"):
        return actions
    mark = {CHECKPOINT_PROTECTION_VERSION.name: str(version)}
    return tuple(
        replace(item, configuration={**item.configuration, **mark})
        if isinstance(item, Metadata)
        else item
        for item in actions
    )


def _action(line: Mapping[str, Any]) -> Protocol | Metadata | DomainMetadata:
    if "protocol" in line:
        return parse_protocol(line["protocol"], "the plan")
    if "domainMetadata" in line:
        return parse_domain(line["domainMetadata"], "the plan")
    return parse_metadata(line["metaData"], "the plan")


def engine_info() -> str:
    """Who commits, as `commitInfo` says it."""
    try:
        return f"{_DISTRIBUTION}/{version(_DISTRIBUTION)}"
    except PackageNotFoundError:
        return _DISTRIBUTION
