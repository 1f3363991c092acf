"""Which commits a transaction would conflict with, and by which rule
(spec: Concurrency; the rules are those of `explorer.transaction.conflicts`)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import pyarrow as pa

from explorer.inspect.frames import Column, build_frame
from explorer.log.actions.columns import TIME, int64_column, string_column, time_column
from explorer.progress import Cancel, ProgressCallback, Watch, while_working
from explorer.protocol.filenames import render_commit_name
from explorer.table.counts import count
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table
from explorer.transaction.conflicts import Conflict
from explorer.transaction.later_commits import conflicts_since, transaction_upon
from explorer.transaction.read_set import NOTHING
from explorer.transaction.staged import StagedCommit

Operation = Literal["change", "append"]
OPERATIONS: Final[tuple[Operation, ...]] = ("change", "append")
"""An operation that changes the rows that it read, as DELETE, UPDATE and MERGE do, or one
that adds rows and reads none."""

MOST_CONFLICTS: Final = 10_000
"""Conflicts that are told; how many there are is counted all the same."""

COLUMNS: dict[str, Column] = {
    "version": (int64_column, pa.int64()),
    "timestamp": (time_column, TIME),
    "rule": (string_column, pa.string()),
    "reason": (string_column, pa.string()),
    "overlap_kind": (string_column, pa.string()),
    "overlap": (string_column, pa.string()),
    "num_overlaps": (int64_column, pa.int64()),
    "operation": (string_column, pa.string()),
    "user_name": (string_column, pa.string()),
    "engine_info": (string_column, pa.string()),
    "log_file": (string_column, pa.string()),
    "spec": (string_column, pa.string()),
}
_LEAST_MS, _MOST_MS = 0, 253_402_300_799_999


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictCheck:
    """What a transaction that read version `read_version` would meet until `newest_version`.

    `found` are the first `MOST_CONFLICTS` of `num_conflicts`, what a writer meets first
    first. `where` is None where it read all rows, or none.
    """

    read_version: int
    newest_version: int
    operation: Operation
    where: str | None
    isolation_level: str
    num_conflicts: int
    found: tuple[Conflict, ...]

    @property
    def sentence(self) -> str:
        """Which commit conflicts, and why, or that there is no conflict."""
        return conflict_sentence(self)

    @property
    def frame(self) -> pa.Table:
        """A row per conflict: version, timestamp; rule, reason; what both touch
        (`overlap_kind`, the first values of it in `overlap`, and `num_overlaps`); operation,
        user_name and engine_info of the concurrent commit; log_file; spec, null where the rule
        is one of isolation levels."""
        return build_frame(COLUMNS, [conflict_row(conflict) for conflict in self.found])


def check_conflicts(  # noqa: PLR0913  # what was read, how, and who looks on
    table: Table,
    read_version: int,
    *,
    operation: Operation = "change",
    where: str | None = None,
    isolation_level: str | None = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> ConflictCheck:
    """Hold every commit after `read_version` against a transaction that read it.

    `where` says which rows a change read, all of them where it is None; an append reads none,
    whatever it says. Raises what `Table.snapshot` raises, and `InvalidArgumentError` for a
    condition or an isolation level that cannot be understood.
    """
    watch = Watch(progress=progress, cancel=cancel)
    snapshot = table.snapshot(version=read_version, progress=progress, cancel=cancel)
    staged = _stage(snapshot, where, isolation_level, watch)
    return _check(table, {operation: staged[operation]}, where, watch, _unheard)[operation]


def check_every_operation(
    table: Table,
    snapshot: Snapshot,
    where: str | None = None,
    *,
    met: Callable[[str], None] | None = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> dict[Operation, ConflictCheck]:
    """The answers of `check_conflicts` for each of the `OPERATIONS` upon a snapshot, with every
    commit read once. `met` hears of the first conflict of a change as soon as it is found."""
    watch = Watch(progress=progress, cancel=cancel)
    return _check(table, _stage(snapshot, where, None, watch), where, watch, met or _unheard)


def _unheard(_: str) -> None:
    """Nobody waits for the first conflict."""


def _stage(
    snapshot: Snapshot, where: str | None, isolation_level: str | None, watch: Watch
) -> dict[Operation, StagedCommit]:
    """A transaction that changes what it read, and one that reads nothing."""
    change = transaction_upon(snapshot, where, isolation_level, watch)
    return {"change": change, "append": replace(change, reads=NOTHING)}


def _check(
    table: Table,
    staged: Mapping[Operation, StagedCommit],
    where: str | None,
    watch: Watch,
    met: Callable[[str], None],
) -> dict[Operation, ConflictCheck]:
    names, newest = list(staged), table.latest_version()
    found: dict[Operation, list[Conflict]] = {name: [] for name in names}
    totals = dict.fromkeys(names, 0)
    for at, conflict in conflicts_since(table.store, list(staged.values()), newest, watch):
        name = names[at]
        totals[name] += 1
        if len(found[name]) < MOST_CONFLICTS:
            found[name].append(conflict)
        if name == "change" and totals[name] == 1:
            met(conflicting_commit_in_words(conflict))
    every = [one for name in names for one in found[name]]
    times = iter(
        while_working(lambda: with_times(table, every), watch, "Asking when they were made")
    )
    return {
        name: ConflictCheck(
            read_version=one.base.version,
            newest_version=newest,
            operation=name,
            where=where if name == "change" else None,
            isolation_level=one.provenance.isolation_level,
            num_conflicts=totals[name],
            found=tuple(itertools.islice(times, len(found[name]))),
        )
        for name, one in staged.items()
    }


def _times_of(table: Table, found: Sequence[Conflict]) -> dict[int, int | None]:
    """The time that counts for each commit that was met, as the history has it: what a writer
    calls its time means nothing without in-commit timestamps."""
    if not found:
        return {}
    since = table.in_commit_since()
    times = table.listed_times.list_log(table.store).file_times
    told = {one.version: one.commit.timestamp for one in found}
    return {
        version: time if since is not None and version >= since else times.get(version)
        for version, time in told.items()
    }


def with_times(table: Table, found: Sequence[Conflict]) -> list[Conflict]:
    """The conflicts, each commit with the time that counts for it."""
    times = _times_of(table, found)
    return [replace(one, commit=replace(one.commit, timestamp=times[one.version])) for one in found]


def conflict_row(conflict: Conflict) -> tuple[Any, ...]:
    """The values of `COLUMNS`."""
    commit, overlap = conflict.commit, conflict.overlap
    stamp = commit.timestamp
    return (
        conflict.version,
        None if stamp is None else min(max(stamp, _LEAST_MS), _MOST_MS),
        conflict.rule,
        conflict.reason,
        overlap.kind,
        ", ".join(overlap.values),
        overlap.total,
        commit.operation,
        commit.user_name,
        commit.engine_info,
        render_commit_name(conflict.version),
        conflict.spec,
    )


def conflict_sentence(found: ConflictCheck) -> str:
    """Which commit won and by which rule, or that nothing conflicts."""
    read, number = found.read_version, found.newest_version - found.read_version
    level = f"at the isolation level {found.isolation_level}"
    if number <= 0:
        return f"Version {read} is the newest: there is nothing to conflict with."
    commits = f"{count(number, 'commit')} since version {read}"
    if not found.num_conflicts:
        return f"No conflict with the {commits}, {level}."
    total = found.num_conflicts
    first = conflicting_commit_in_words(found.found[0])
    each = ", one for each commit and rule" if total > 1 else ""
    return f"{first} {count(total, 'conflict')} with the {commits}{each}, {level}."


def conflicting_commit_in_words(conflict: Conflict) -> str:
    """Which commit won, by which rule, and why."""
    who = f" ({conflict.commit.operation[:60]})" if conflict.commit.operation else ""
    return f"Conflict with version {conflict.version}{who}: {conflict.rule}. {conflict.reason}"
