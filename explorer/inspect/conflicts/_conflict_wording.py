"""What stands in the way of a transaction, as a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.table.counts import count

if TYPE_CHECKING:
    from explorer.inspect.conflicts.conflict_check import ConflictCheck
    from explorer.transaction.conflicts import Conflict


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
    return (
        f"{winner_in_words(found.found[0])} {count(total, 'conflict')} with the {commits}, {level}."
    )


def winner_in_words(conflict: Conflict) -> str:
    """Which commit won, by which rule, and why."""
    who = f" ({conflict.commit.operation[:60]})" if conflict.commit.operation else ""
    return f"Version {conflict.version}{who} won: {conflict.rule}. {conflict.reason}"
