"""Which commits a transaction would have met, had it read a version; of the newest version, what
each kind of transaction would have met in the commits before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import explorer.inspect as look
from explorer.inspect.commits.commit_counts import commits_between
from explorer.inspect.conflicts.conflict_check import check_every_operation
from explorer.progress import Watch
from explorer.scan.predicate.parse import parse_predicate
from widgets.session.tables import TableService


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictAnswers:
    """What an operation would meet that changes the rows it read, and one that only adds."""

    change: look.ConflictCheck
    append: look.ConflictCheck


def read_conflicts(
    service: TableService, version: int, where: str, watch: Watch, tell: Callable[[str], None]
) -> ConflictAnswers | look.RecentConflicts:
    """Hold every commit after `version` against both. `tell` hears which commits these are, and
    then of the first one that a change conflicts with. After the newest version there is none:
    then the newest commits are held against each kind of transaction. Raises
    `InvalidArgumentError` for a condition that cannot be understood."""
    newest = service.table.latest_version()
    if version >= newest:
        snapshot = service.snapshot(version, watch)
        if where:
            parse_predicate(where, snapshot.schema)
        return look.recent_conflicts(
            service.table, snapshot, progress=watch.progress, cancel=watch.cancel
        )
    tell(commits_between(service.table, version, newest).sentence)
    found = check_every_operation(
        service.table,
        service.snapshot(version, watch),
        where or None,
        met=tell,
        progress=watch.progress,
        cancel=watch.cancel,
    )
    return ConflictAnswers(change=found["change"], append=found["append"])
