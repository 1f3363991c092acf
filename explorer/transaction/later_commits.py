"""The conflicts of a transaction with the commits since the version that it read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from explorer.errors import InvalidArgumentError
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.table_properties.known_properties import ISOLATION_LEVEL
from explorer.storage.ports import ReadStore
from explorer.transaction.concurrent_commit import (
    ConcurrentCommit,
    read_concurrent_commits,
    version_after,
)
from explorer.transaction.conflicts import Conflict, commit_gone, find_conflicts
from explorer.transaction.read_set import WHOLE_TABLE, read_set_where
from explorer.transaction.read_version import read_version_of
from explorer.transaction.staged import IsolationLevel, Provenance, StagedCommit

if TYPE_CHECKING:
    from explorer.table.snapshot import Snapshot


def transaction_upon(
    snapshot: Snapshot,
    where: str | None = None,
    isolation_level: str | None = None,
    watch: Watch = UNWATCHED,
) -> StagedCommit:
    """A transaction that read `snapshot`: all its rows, or those that match a SQL predicate,
    at the isolation level of the table if none is named. It writes nothing.

    Raises `InvalidArgumentError` for a predicate or a level that cannot be understood.
    """
    level = isolation_level or ISOLATION_LEVEL.value_of(snapshot.metadata.configuration)
    try:
        level = ISOLATION_LEVEL.parse(level)
    except ValueError as error:
        raise InvalidArgumentError(
            f"{level[:60]!r} is not a valid isolation level.",
            reason=f"Of a level, {error}.",
            remedy="Leave it out to take the table's own.",
        ) from error
    return StagedCommit(
        base=read_version_of(snapshot),
        reads=WHOLE_TABLE if where is None else read_set_where(snapshot, where, watch),
        provenance=Provenance(
            operation="",
            transaction_id="",
            engine_info="",
            isolation_level=cast("IsolationLevel", level),
        ),
    )


def conflicts_since(
    store: ReadStore, staged: Sequence[StagedCommit], newest: int, watch: Watch = UNWATCHED
) -> Iterator[tuple[int, Conflict]]:
    """Every conflict of transactions upon one base with the commits after it, up to version
    `newest`, with the position of the transaction that meets it: what a writer meets first
    comes first. A commit is read once for all of them."""
    base = staged[0].base.version
    if newest <= base:
        return
    held = list(staged)
    for concurrent in read_concurrent_commits(store, base + 1, watch):
        for at, one in enumerate(held):
            if not isinstance(concurrent, ConcurrentCommit):
                yield at, commit_gone(one, concurrent)
                continue
            for conflict in find_conflicts(one, concurrent):
                yield at, conflict
            held[at] = one.upon(version_after(one.base, concurrent, concurrent.in_commit_timestamp))
        if not isinstance(concurrent, ConcurrentCommit):
            return
