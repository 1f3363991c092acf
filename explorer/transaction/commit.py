"""The commit loop (spec: Creation of New Log Entries, In-Commit Timestamps).

A commit is one file, created only where none is. The loser of a race looks at
what the winner did and either follows it or reports the conflict as a value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from explorer.errors import NotFoundError, StorageError
from explorer.progress import Cancel
from explorer.protocol.filenames import render_commit_path
from explorer.storage.ports import PutOutcome, WriteStore
from explorer.transaction.conflicts import Conflict, find_conflict, parse_winner
from explorer.transaction.staged import StagedCommit, render_staged

Clock = Callable[[], int]
"""The time in milliseconds since the epoch."""

# how often an outcome that stays unknown is looked into before giving up
_UNKNOWN_LIMIT = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """The version that a staged commit became, and its timestamp in milliseconds."""

    version: int
    timestamp: int


def commit(
    store: WriteStore, staged: StagedCommit, *, clock: Clock, cancel: Cancel | None = None
) -> Committed | Conflict:
    """Make `staged` the next version of the table.

    With in-commit timestamps each is later than the one before it. Files that
    the actions name must be in the store already; after a conflict or an error
    they are there still, and no version knows them.
    """
    version, last_timestamp = staged.read_version + 1, staged.last_timestamp
    while True:
        if cancel is not None:
            cancel.check()
        timestamp = clock() if last_timestamp is None else max(clock(), last_timestamp + 1)
        if _create(store, render_commit_path(version), render_staged(staged, timestamp)):
            return Committed(version=version, timestamp=timestamp)
        winner = parse_winner(version, store.read(render_commit_path(version)))
        if (conflict := find_conflict(staged, winner)) is not None:
            return conflict
        version += 1
        if last_timestamp is not None and winner.timestamp is not None:
            last_timestamp = winner.timestamp


def _create(store: WriteStore, path: str, data: bytes) -> bool:
    """Whether `path` now holds `data` by our doing; False where another was first.

    Each commit holds its own transaction id, so equal bytes are ours.
    """
    outcome = store.put_if_absent(path, data)
    for _ in range(_UNKNOWN_LIMIT):
        if outcome is PutOutcome.CREATED:
            return True
        try:
            return store.read(path) == data
        except NotFoundError:
            # it did not arrive, or has not yet: creating it again is safe either way
            outcome = store.put_if_absent(path, data)
    raise StorageError(
        "The outcome of a commit is unknown.",
        reason=f"The store neither confirms nor shows {path}.",
        remedy="Read the newest version before trying again: the commit may still appear.",
    )
