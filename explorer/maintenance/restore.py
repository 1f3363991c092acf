"""Planning a restore: the table as it was at an earlier version, as a new version.

Data, schema and properties come back, as in the reference; the protocol never gets lower.
In-commit timestamps and row tracking stay as they are now, because versions in between have
them; of the metadata domains, as in the reference, the clustering comes back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID, uuid4, uuid5

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from explorer.comparison.matched_fields import MatchedField, match_schemas
from explorer.errors import InvalidArgumentError
from explorer.maintenance._restore_effect import (
    RestoreEffect,
    differing,
    find_column_effect,
    find_row_effect,
    judge_rows,
    judge_undone,
)
from explorer.maintenance.plan.after_commit import with_checksum_and_checkpoint
from explorer.maintenance.plan.file_list import build_files, join_files
from explorer.maintenance.plan.newest_times import judge_committing, judge_following
from explorer.maintenance.plan.plan import Plan, Promise, Verdict
from explorer.maintenance.plan.planning_context import PlanningContext, read_planning_context
from explorer.maintenance.plan.step_types import (
    Commit,
    CommitBasis,
    CommitRecord,
    RestoredFiles,
    Step,
)
from explorer.maintenance.steps.commit_files import restoring, without_other_ids
from explorer.maintenance.steps.commit_step import judge_commit
from explorer.maintenance.steps.differing_files import differing_files
from explorer.maintenance.steps.files_coming_back import gone_among, vacuum_under_way
from explorer.progress import Cancel, ProgressCallback, Watch, while_working
from explorer.protocol.actions import DomainMetadata, Metadata
from explorer.protocol.features.clustering import CLUSTERING_DOMAIN, clustering_columns
from explorer.protocol.features.column_rules import IDENTITY_KEYS, identity_column
from explorer.protocol.features.registry import supported_features
from explorer.protocol.table_properties.known_properties import (
    CHECKPOINT_PROTECTION_VERSION,
    COLUMN_MAPPING_MAX_ID,
)
from explorer.storage.parquet.decoding_memory import release_memory
from explorer.table.counts import count
from explorer.table.frames import sum_of
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table
from explorer.table.times import Clock, system_clock
from explorer.transaction.rules.change import Described
from explorer.transaction.rules.clustering_rules import (
    known_columns,
    statistics_found,
    without_statistics,
)
from explorer.transaction.rules.row_rules import rules_for_rows, rules_that_wake
from explorer.transaction.staged import ValidatedRule

_LAST_NUMBER = f"{IDENTITY_KEYS}highWaterMark"

# what the plan shows and counts of files that leave, and what the rules of writers ask of a
# remove; the commit reads all of them
_JUDGED = ("path", "size", "data_change", "deletion_vector", "num_records")

# what later versions rest on, and so stays as it is now
_KEPT_PROPERTIES = (
    "delta.enableInCommitTimestamps",
    "delta.inCommitTimestampEnablementVersion",
    "delta.inCommitTimestampEnablementTimestamp",
    "delta.enableRowTracking",
    "delta.rowTrackingSuspended",
    "delta.rowTracking.materializedRowIdColumnName",
    "delta.rowTracking.materializedRowCommitVersionColumnName",
)

# no id is given out twice, also where the table had done without ids in between; and a feature
# that was dropped may still be met in the history
_GROWING_PROPERTIES = (COLUMN_MAPPING_MAX_ID, CHECKPOINT_PROTECTION_VERSION)


def plan_restore(  # noqa: PLR0913  # which version, who looks on, and what makes it repeatable
    table: Table,
    version: int | None = None,
    timestamp: str | datetime | None = None,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
    clock: Clock = system_clock,
    seed: UUID | None = None,
) -> Plan:
    """Plan to restore `version`, or the version at `timestamp`, as the newest one.

    Files that it needs and that are gone refuse the plan. Raises what `Table.snapshot`
    raises, and `InvalidArgumentError` where neither is given.
    """
    if version is None and timestamp is None:
        raise InvalidArgumentError(
            "There is nothing to restore to.",
            reason="Neither a version nor a time was given.",
            remedy="Give one of them.",
        )
    watch = Watch(progress=progress, cancel=cancel)
    context = read_planning_context(table, clock, watch)
    target = table.snapshot(version=version, timestamp=timestamp, progress=progress, cancel=cancel)
    back, gone = differing_files(context.snapshot, target, _JUDGED, watch)
    release_memory()  # the keys of all files, which are done with
    moves = RestoreEffect(
        rows=find_row_effect(context.snapshot, target, differing(back, gone), watch),
        columns=find_column_effect(context.snapshot, target),
    )
    plan = while_working(
        lambda: _plan(context, target, _Files(back=back, gone=gone), moves, seed or uuid4()),
        watch,
        "Putting the plan together",
    )
    verdicts: tuple[Verdict, ...] = (
        # what leaves begins its age
        *(judge_committing(context) if gone.num_rows else judge_following(context)),
        _judge_features_since(context.snapshot, target),
        *_judge_rules_since(context.snapshot, target),
        _judge_files(context, target),
        judge_undone(table, target.version, context.snapshot.version),
        judge_rows(moves.rows, context.snapshot.version),
    )
    commit = next((step for step in plan.steps if isinstance(step, Commit)), None)
    if commit is not None and not any(found.outcome == "refuse" for found in verdicts):
        kept = without_other_ids(back, context.snapshot, target)
        files = restoring(kept, gone, plan.planned_at)
        verdict = while_working(
            lambda: judge_commit(plan, table, commit, files), watch, "Asking the rules of writers"
        )
        verdicts = (*verdicts, verdict)
    return replace(plan, verdicts=verdicts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Files:
    """The files that come back, and those that leave."""

    back: pa.Table
    gone: pa.Table


def _plan(
    context: PlanningContext, target: Snapshot, files: _Files, moves: RestoreEffect, seed: UUID
) -> Plan:
    newest, back, gone = context.snapshot, files.back, files.gone
    actions = _actions(newest, target)
    steps: tuple[Step, ...] = ()
    if back.num_rows or gone.num_rows or actions:
        step = _commit(target, back, gone, actions, str(uuid5(seed, "restore")))
        configuration, version = newest.metadata.configuration, newest.version + 1
        steps = with_checksum_and_checkpoint(step, configuration, seed, version)
    versions: dict[str, int | None] = {
        str(newest.version): newest.num_files,
        str(target.version): target.num_files,
    }
    return Plan(
        operation="restore",
        subject=context.subject,
        anchor=context.anchor,
        planned_at=context.now_ms,
        summary=_summary(newest.version, target.version, files, moves, has_steps=bool(steps)),
        parameters={"version": target.version},
        effect={
            **moves.effect,
            "files_added_again": back.num_rows,
            "bytes_added_again": sum_of(back.column("size")),
            "files_removed": gone.num_rows,
            "bytes_removed": sum_of(gone.column("size")),
            "changes_metadata": any(isinstance(action, Metadata) for action in actions),
            "undo": f"restore to version {newest.version}",
        },
        verdicts=(),
        steps=steps,
        rests_on=("protocol", "metadata", "every file"),
        promise=Promise(versions=versions),
        files=join_files(list(_listed_sides(target.version, back, gone))),
        table=context.table,
    )


def _commit(
    target: Snapshot,
    back: pa.Table,
    gone: pa.Table,
    actions: Sequence[Metadata | DomainMetadata],
    transaction_id: str,
) -> Commit:
    metrics = {
        "tableSizeAfterRestore": target.size_in_bytes,
        "numOfFilesAfterRestore": target.num_files,
        "numRemovedFiles": gone.num_rows,
        "numRestoredFiles": back.num_rows,
        "removedFilesSize": sum_of(gone.column("size")),
        "restoredFilesSize": sum_of(back.column("size")),
    }
    return Commit(
        id="commit",
        reason=f"The table becomes what it was at version {target.version}.",
        num_files=back.num_rows + gone.num_rows,
        record=CommitRecord(
            operation="RESTORE",
            transaction_id=transaction_id,
            parameters={"version": target.version, "timestamp": None},
            metrics={name: str(value) for name, value in metrics.items()},
        ),
        basis=CommitBasis(
            reads="every row",
            validated=(*_clustering_found(target, actions), *_rules_of(target)),
        ),
        actions=tuple(actions),
        files=RestoredFiles(version=target.version),
    )


def _rules_of(target: Snapshot) -> Iterator[ValidatedRule]:
    """The rules that the rows of the version kept to, which are all the rows that there will
    be: whoever wrote them, or added the rule, had to see to it (spec: CHECK Constraints, Column
    Invariants)."""
    described = Described(protocol=target.protocol, metadata=target.metadata)
    for rule, kind in rules_for_rows(described):
        if kind in {"check", "invariant"}:
            yield rule


def _judge_rules_since(newest: Snapshot, target: Snapshot) -> Iterator[Verdict]:
    """What refuses to bring back rows that nobody held against a rule: it stood in the metadata
    of their version, whose protocol did not support it, and that of today does."""
    if not target.num_files:
        return
    then = Described(protocol=target.protocol, metadata=target.metadata)
    now = Described(protocol=newest.protocol, metadata=_metadata(newest, target))
    for rule, kind in rules_that_wake(then, now):
        shown = f": {rule.expression[:200]}" if rule.expression else ""
        yield Verdict(
            guard="rules",
            outcome="refuse",
            message=f"Rows of version {target.version} were never held against "
            f"`{rule.key[:120]}`{shown} ({kind}): its protocol did not support the rule, and that "
            f"of version {newest.version} does.",
            remedy="Restore a later version, whose rows were checked; or read the rows of this "
            "one, and write with your engine those that keep to the rule.",
        )


def _clustering_found(
    target: Snapshot, actions: Sequence[Metadata | DomainMetadata]
) -> tuple[ValidatedRule, ...]:
    """That every file has statistics of the columns that the table is clustered by again,
    where that is so (spec: Writer Requirements for Clustered Table)."""
    domain = target.domains.get(CLUSTERING_DOMAIN)
    if domain is None or not any(isinstance(action, DomainMetadata) for action in actions):
        return ()
    described = Described(protocol=target.protocol, metadata=target.metadata)
    columns = known_columns(described, clustering_columns(domain.configuration) or ())
    files = target.physical_files("add", ["path", "stats"])
    return () if without_statistics(files, columns) else (statistics_found(domain),)


def _actions(newest: Snapshot, target: Snapshot) -> list[Metadata | DomainMetadata]:
    """Metadata and domains that come back."""
    actions: list[Metadata | DomainMetadata] = []
    wanted = _metadata(newest, target)
    if wanted != newest.metadata:
        actions.append(wanted)
    held, old = newest.domains.get(CLUSTERING_DOMAIN), target.domains.get(CLUSTERING_DOMAIN)
    found = old or (None if held is None else replace(held, removed=True))
    if held != old and found is not None:
        actions.append(found)
    return actions


def _metadata(newest: Snapshot, target: Snapshot) -> Metadata:
    held, wanted = newest.metadata.configuration, target.metadata.configuration
    configuration = {name: value for name, value in wanted.items() if name not in _KEPT_PROPERTIES}
    configuration |= {name: held[name] for name in _KEPT_PROPERTIES if name in held}
    for growing in _GROWING_PROPERTIES:
        if numbered := [found for found in (wanted, held) if growing.name in found]:
            most = max(numbered, key=growing.value_of)
            configuration[growing.name] = most[growing.name]
    return replace(
        target.metadata,
        id=newest.metadata.id,
        created_time=newest.metadata.created_time,
        configuration=configuration,
        schema_string=_with_numbers_given_out(newest, target),
    )


def _with_numbers_given_out(newest: Snapshot, target: Snapshot) -> str | None:
    """The schema that comes back, where no identity column gives a number out twice: the
    last one of a column that is there now too stays, also where it had given none out by
    then (spec: Identity Columns)."""
    wanted = target.metadata.schema_string
    if wanted is None or IDENTITY_KEYS not in wanted:
        return wanted
    last = _last_numbers(newest, target)
    schema = orjson.loads(wanted)
    changed = False
    for field in schema["fields"]:
        number, said = last.get(field["name"]), field.get("metadata")
        # a second column of that name may have none
        if number is not None and isinstance(said, dict) and said.get(_LAST_NUMBER) != number:
            said[_LAST_NUMBER] = number
            changed = True
    return orjson.dumps(schema).decode() if changed else wanted


def _last_numbers(newest: Snapshot, target: Snapshot) -> dict[str, int]:
    """The furthest number that each identity column of `target` has given out since, by the
    name that it has there."""
    found: dict[str, int] = {}
    for match in match_schemas(newest, target):
        if not isinstance(match, MatchedField) or match.before is None or match.after is None:
            continue
        now, then = identity_column(match.before), identity_column(match.after)
        marks = [mark for mark in (now.high_water_mark, then.high_water_mark) if mark is not None]
        if then.step is not None and marks and len(match.path_after) == 1:
            found[match.after.name] = min(marks) if then.step < 0 else max(marks)
    return found


def _judge_features_since(newest: Snapshot, target: Snapshot) -> Verdict:
    lost = set(supported_features(target.protocol)) - set(supported_features(newest.protocol))
    if lost:
        return Verdict(
            guard="protocol",
            outcome="refuse",
            message=f"Version {target.version} has features that were dropped since: "
            f"{', '.join(sorted(lost))[:300]}.",
            remedy="Enable them again first, or restore a later version.",
        )
    return Verdict(guard="protocol", outcome="allow", message="The protocol stays as it is.")


def _judge_files(context: PlanningContext, target: Snapshot) -> Verdict:
    """Whether every file of the version exists."""
    if (began := vacuum_under_way(context.table, context.now_ms)) is not None:
        return Verdict(
            guard="files",
            outcome="refuse",
            message=f"The vacuum that started in version {began} has not ended: it may be "
            "deleting files that the restore needs.",
            remedy="Wait until it has ended, or for a day if it was interrupted.",
        )
    files = target.physical_files("add", ["path", "deletion_vector"])
    missing = gone_among(context.store, files, context.watch)
    if len(missing):
        return Verdict(
            guard="files",
            outcome="refuse",
            message=f"{count(len(missing), 'file')} of version {target.version} "
            f"{'is' if len(missing) == 1 else 'are'} gone: {missing[0].as_py()[:200]!r}"
            f"{'' if len(missing) == 1 else ' and others'}.",
            remedy="Restore a later version, or restore the files from a backup.",
        )
    return Verdict(guard="files", outcome="allow", message="No file of the version is missing.")


def _listed_sides(version: int, back: pa.Table, gone: pa.Table) -> Iterator[pa.Table]:
    """The files that come back and that leave; one that does both, with another vector, has
    been there all the time."""
    vectors = [_with_vector(side) for side in (back, gone)]
    for files, others, action, whole in (
        (back, gone, "add", f"it was part of version {version}"),
        (gone, back, "remove", f"it was not part of version {version}"),
    ):
        is_both = pc.is_in(files.column("path"), value_set=others.column("path"))
        yield _listed(files.filter(pc.invert(is_both)), action, whole)
        then, now = (pc.is_in(files.column("path"), value_set=side) for side in vectors)
        for has_then, has_now, words in (
            (pc.invert(then), True, "no deletion vector"),
            (then, pc.invert(now), "a deletion vector"),
            (then, now, "another deletion vector"),
        ):
            some = pc.and_(is_both, pc.and_(has_then, has_now))
            replaced = "replaced: " if action == "remove" else ""
            yield _listed(
                files.filter(some), action, f"{replaced}in version {version} it had {words}"
            )


def _with_vector(files: pa.Table) -> pa.ChunkedArray:
    return files.filter(files.column("deletion_vector").is_valid()).column("path")


def _listed(files: pa.Table, action: str, reason: str) -> pa.Table:
    return build_files(
        files.column("path"), action=action, reason=reason, bytes=files.column("size")
    )


def _summary(
    newest: int, target: int, files: _Files, moves: RestoreEffect, *, has_steps: bool
) -> str:
    if not has_steps:
        return f"The table is the same as at version {target}; there is nothing to do."
    back, gone = files.back.num_rows, files.gone.num_rows
    return (
        f"{moves.sentence} Restores version {target}: {count(back, 'file')} "
        f"{'returns' if back == 1 else 'return'}, {count(gone, 'file')} "
        f"{'is' if gone == 1 else 'are'} removed. Version {newest} can be restored as long as its "
        "files are kept."
    )
