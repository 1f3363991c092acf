"""Times that the actions of a commit say or follow (spec: Transaction Identifiers, In-Commit
Timestamps)."""

from __future__ import annotations

from typing import Final

from explorer.errors import Problem
from explorer.protocol.actions import Transaction
from explorer.protocol.table_properties.known_properties import TRANSACTION_RETENTION
from explorer.table.times import has_in_commit_timestamps
from explorer.transaction.rules.change import Change, Problems, problem

_LATEST: Final = 2**63 - 1


def validate_times(change: Change) -> Problems:
    """A commit with its own time must be later than the one before, whose time is known;
    progress of an application can only expire where it says when it was made."""
    after, base = change.after, change.staged.base
    if has_in_commit_timestamps(after.protocol, after.metadata):
        if base.timestamp is None:
            yield _time(
                f"It is unknown when version {base.version} was committed.",
                "Restore the newest commit file of the log from a backup.",
            )
        elif base.timestamp >= _LATEST:
            yield _time(
                f"Version {base.version} says that it is of the latest time that there is.",
                "Restore an earlier version of the log from a backup, or rewrite the table.",
            )
    if TRANSACTION_RETENTION.value_of(after.metadata.configuration) is None:
        return
    for item in change.staged.of(Transaction):
        if item.last_updated is None:
            yield problem(
                f"The progress of `{item.app_id[:120]}` does not say when it was made.",
                f"`{TRANSACTION_RETENTION.name}` lets it expire, and it never would.",
                spec="Transaction Identifiers",
                remedy="Set `lastUpdated` of the txn action.",
            )


def _time(text: str, remedy: str) -> Problem:
    return problem(
        text,
        "Each commit of this table must be later than the one before it.",
        spec="In-Commit Timestamps",
        remedy=remedy,
    )
