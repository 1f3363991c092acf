"""Which transactions the newest commits are in the way of, kind by kind
(spec: Concurrency; the rules are those of `explorer.transaction.conflicts`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import pyarrow as pa

from explorer.errors import DeltaError, InvalidArgumentError
from explorer.inspect.conflicts.conflict_check import COLUMNS, conflict_row, with_times
from explorer.inspect.frames import Column, build_frame
from explorer.log.actions.columns import int64_column, string_column
from explorer.log.folder.listing import info_of
from explorer.progress import Cancel, ProgressCallback, Watch, while_working
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.features.column_mapping import column_mapping_mode, physical_name
from explorer.protocol.filenames import render_commit_name
from explorer.scan.facts import question_of
from explorer.scan.predicate.parse import parse_predicate
from explorer.scan.predicate.partition_conditions import partition_condition
from explorer.table.counts import count
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table
from explorer.transaction.concurrent_commit import ConcurrentCommit, read_concurrent_commits
from explorer.transaction.conflicts import Conflict, commit_gone, find_conflict
from explorer.transaction.later_commits import transaction_upon
from explorer.transaction.read_set import NOTHING, ReadPredicate, ReadSet, read_set_of
from explorer.transaction.staged import StagedCommit

MOST_COMMITS: Final = 100
"""Commits that are looked at, the newest ones."""
MOST_BYTES: Final = 32 * 2**20
"""How large these may be together; the newest one is looked at whatever its size."""

_FILES_ASKED: Final = 1_000
"""Files of a commit whose partitions are counted."""

Kind = Literal["append", "change", "change in partition", "compaction", "metadata"]

OUTLOOK_COLUMNS: Final[dict[str, Column]] = {
    "transaction": (string_column, pa.string()),
    "where": (string_column, pa.string()),
    "safe_from": (int64_column, pa.int64()),
    "num_conflicting": (int64_column, pa.int64()),
    **COLUMNS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What one kind of transaction meets among the newest commits.

    An `append` reads no rows. A `change` is a DELETE, UPDATE or MERGE that reads every row, and
    one `in partition` reads those that `where` says. A `compaction` rewrites files that a commit
    removed or changed, where one did. `metadata` changes the schema or the properties.

    `conflict` is with the newest commit that stands in its way, None where none does;
    `num_conflicting` counts these commits, each held against a transaction that read the version
    just before it; they need not be in the way of one and the same, as a compaction rewrites files
    that were there when it began. Whoever read version `safe_from`, or a newer one, meets no
    conflict.
    """

    transaction: Kind
    where: str | None = None
    safe_from: int
    num_conflicting: int = 0
    conflict: Conflict | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentConflicts:
    """The outlook of each kind of transaction on the `num_commits` commits up to version
    `newest_version`, at the table's isolation level."""

    newest_version: int
    num_commits: int
    isolation_level: str
    outlooks: tuple[Outlook, ...]

    @property
    def sentence(self) -> str:
        """From which version on a change of rows is safe, and which kinds are whatever they
        read."""
        return _sentence(self)

    @property
    def frame(self) -> pa.Table:
        """A row per kind of transaction: `transaction`, `where`, `safe_from`, `num_conflicting`,
        and of the newest conflict what a row of `ConflictCheck.frame` has; null without one."""
        return build_frame(OUTLOOK_COLUMNS, [_row(one) for one in self.outlooks])


def recent_conflicts(
    table: Table,
    snapshot: Snapshot | None = None,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> RecentConflicts:
    """Hold the newest commits against each kind of transaction.

    At most `MOST_COMMITS` are read, and `MOST_BYTES` of them. `snapshot` is of the newest
    version, where the caller has it at hand; its files are not read. Raises what
    `Table.snapshot` raises.
    """
    watch = Watch(progress=progress, cancel=cancel)
    if snapshot is None:
        snapshot = table.snapshot(progress=progress, cancel=cancel)
    newest = snapshot.version
    first = _first_to_read(table, newest)
    commits = [] if first > newest else _read(table, first, newest, watch)
    staged = _stage(snapshot, _partition_condition(snapshot, commits))
    looked: dict[Kind, _Looked] = {kind: _Looked() for kind in staged}
    description = _Description(table, snapshot)
    for concurrent in commits:
        for kind, one in staged.items():
            looked[kind].add(_conflict(kind, one, concurrent, description))
        if isinstance(concurrent, ConcurrentCommit):
            description.follow(concurrent)
    found = [one.newest for one in looked.values() if one.newest is not None]
    told = while_working(lambda: with_times(table, found), watch, "Asking when they were made")
    times = {id(before): after for before, after in zip(found, told, strict=True)}
    return RecentConflicts(
        newest_version=newest,
        num_commits=len(commits),
        isolation_level=staged["change"].provenance.isolation_level,
        outlooks=tuple(
            Outlook(
                transaction=kind,
                where=_where(staged[kind]),
                safe_from=first - 1 if one.newest is None else one.newest.version,
                num_conflicting=one.number,
                conflict=None if one.newest is None else times[id(one.newest)],
            )
            for kind, one in looked.items()
        ),
    )


@dataclass(slots=True)
class _Looked:
    """The newest conflict so far, and with how many commits there is one."""

    newest: Conflict | None = None
    number: int = 0

    def add(self, conflict: Conflict | None) -> None:
        if conflict is not None:
            self.newest, self.number = conflict, self.number + 1


@dataclass(slots=True)
class _Description:
    """Protocol and metadata before each commit, read where a commit changes them."""

    table: Table
    newest: Snapshot
    known: tuple[Protocol | None, Metadata | None] | None = field(default=None)

    def before(self, concurrent: ConcurrentCommit) -> tuple[Protocol | None, Metadata | None]:
        """What a transaction upon the version before it had read; None where that version cannot
        be read any more, which counts as another one."""
        if not (concurrent.changes_protocol or concurrent.changes_metadata):
            return self.newest.protocol, self.newest.metadata
        if self.known is None:
            try:
                older = self.table.snapshot(version=concurrent.version - 1)
            except DeltaError:
                self.known = None, None
            else:
                self.known = older.protocol, older.metadata
        return self.known

    def follow(self, concurrent: ConcurrentCommit) -> None:
        """The next commit comes after it."""
        if self.known is not None:
            protocol, metadata = self.known
            self.known = concurrent.protocol or protocol, concurrent.metadata or metadata


def _first_to_read(table: Table, newest: int) -> int:
    """The oldest commit that is looked at; one beyond the newest where none is. Version 0 is in
    nobody's way."""
    listing = table.listing()
    there, first, size = set(listing.commits), newest + 1, 0
    for version in range(newest, max(newest - MOST_COMMITS, 0), -1):
        info = info_of(table.store, listing, render_commit_name(version))
        size += 0 if info is None else info.size
        if version not in there or (first <= newest and size > MOST_BYTES):
            break
        first = version
    return first


def _read(table: Table, first: int, newest: int, watch: Watch) -> list[ConcurrentCommit | int]:
    commits = []
    for concurrent in read_concurrent_commits(table.store, first, watch):
        version = concurrent.version if isinstance(concurrent, ConcurrentCommit) else concurrent
        if version > newest:
            break  # it was committed meanwhile
        commits.append(concurrent)
    return commits


def _stage(snapshot: Snapshot, where: str | None) -> dict[Kind, StagedCommit]:
    """A transaction of each kind."""
    change = transaction_upon(snapshot)
    append = replace(change, reads=NOTHING)
    staged: dict[Kind, StagedCommit] = {"append": append, "change": change}
    if where is not None and (read := _reads(snapshot, where)) is not None:
        staged["change in partition"] = replace(change, reads=ReadSet(predicates=(read,)))
    staged["compaction"] = append  # reads what each commit removed
    staged["metadata"] = replace(append, actions=(snapshot.metadata,))
    return staged


def _reads(snapshot: Snapshot, where: str) -> ReadPredicate | None:
    try:
        predicate = parse_predicate(where, snapshot.schema)
    except InvalidArgumentError:
        return None  # a value that cannot be asked for
    return ReadPredicate(predicate=predicate, question=question_of(predicate, snapshot))


def _conflict(
    kind: Kind,
    staged: StagedCommit,
    concurrent: ConcurrentCommit | int,
    description: _Description,
) -> Conflict | None:
    if not isinstance(concurrent, ConcurrentCommit):
        return commit_gone(staged, concurrent)
    protocol, metadata = description.before(concurrent)
    base = replace(
        staged.base, version=concurrent.version - 1, protocol=protocol, metadata=metadata
    )
    one = replace(staged, base=base)
    if kind == "compaction" and concurrent.num_removes:
        # the files that are rewritten here and were live before it: as of OPTIMIZE itself
        one = replace(one, reads=read_set_of(concurrent.removes.column("path")))
    return find_conflict(one, concurrent)


def _partition_condition(
    snapshot: Snapshot, commits: Sequence[ConcurrentCommit | int]
) -> str | None:
    """That rows are in the partition of which the newest commit that tells some has most files."""
    names = snapshot.metadata.partition_columns
    if not names:
        return None
    for concurrent in reversed(commits):
        if not isinstance(concurrent, ConcurrentCommit):
            continue
        touched = Counter(_partitions(concurrent))
        if touched:
            most = max(touched, key=lambda one: (touched[one], all(text for _, text in one)))
            return _condition(snapshot, dict(most))
    return None


def _partitions(concurrent: ConcurrentCommit) -> Iterator[tuple[tuple[str, str | None], ...]]:
    for files in (concurrent.adds, concurrent.removes):
        for values in files.column("partition_values").slice(0, _FILES_ASKED).to_pylist():
            if values:
                yield tuple(sorted(values))


def _condition(snapshot: Snapshot, values: dict[str, str | None]) -> str | None:
    mode = column_mapping_mode(snapshot.protocol, snapshot.metadata.configuration)
    fields = snapshot.schema.fields
    logical = {column.name: values.get(physical_name(column, mode)) for column in fields}
    return partition_condition(snapshot.schema, snapshot.metadata.partition_columns, logical)


def _where(staged: StagedCommit) -> str | None:
    texts = [read.predicate.text for read in staged.reads.predicates]
    return texts[0] if texts else None


def _row(one: Outlook) -> tuple[Any, ...]:
    rest = (None,) * len(COLUMNS) if one.conflict is None else conflict_row(one.conflict)
    return (one.transaction, one.where, one.safe_from, one.num_conflicting, *rest)


IN_WORDS: Final[dict[Kind, str]] = {
    "append": "An append",
    "change": "A DELETE, UPDATE or MERGE that reads all rows",
    "change in partition": "A DELETE, UPDATE or MERGE in one partition",
    "compaction": "A compaction",
    "metadata": "A change of the schema or properties",
}


def _sentence(found: RecentConflicts) -> str:
    number, newest = found.num_commits, found.newest_version
    if not number:
        return f"No commit led to version {newest} in this log: nothing to conflict with."
    level = f"at the isolation level {found.isolation_level}"
    commits = "the newest commit" if number == 1 else f"the newest {count(number, 'commit')}"
    met = [one for one in found.outlooks if one.conflict is not None]
    if not met:
        return f"No transaction conflicts with {commits}, {level}."
    first = next((one for one in met if one.transaction == "change"), met[0])
    assert first.conflict is not None  # of those that met one
    operation = first.conflict.commit.operation
    said = (
        f"{IN_WORDS[first.transaction]} conflicts with version {first.safe_from}"
        f"{f' ({operation[:60]})' if operation else ''} where it read version "
        f"{first.safe_from - 1} or an older one, {level}."
    )
    if any(one.transaction == "append" for one in met):
        return said
    return f"{said} An append does not conflict with {commits}."
