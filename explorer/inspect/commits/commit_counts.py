"""How many commits lie between two versions, and what they did, as their writers say
(spec: Commit Provenance Information)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from explorer.log.commits.commit_info import read_provenance
from explorer.table.counts import count
from explorer.table.table import Table

MOST_READ: Final = 1_000
"""Commits whose provenance is read, the newest ones: that takes well below a second."""
_SHOWN: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitsBetween:
    """The `num_commits` after version `older` up to version `newer` that the log still has.

    `operations` counts the operations of the newest `num_read` of them, the most frequent
    first, with None for those that name none.
    """

    older: int
    newer: int
    num_commits: int
    num_read: int
    operations: tuple[tuple[str | None, int], ...]

    @property
    def sentence(self) -> str:
        """`50 commits after version 50, up to version 100: 48 WRITE, 2 OPTIMIZE.`"""
        if not self.num_commits:
            return f"No commits remain after version {self.older}, up to version {self.newer}."
        many = count(self.num_commits, "commit")
        start = f"{many} after version {self.older}, up to version {self.newer}"
        newest = f"; of the newest {self.num_read:,}"
        told = [
            f"{number:,} {'of no named operation' if name is None else name[:60]}"
            for name, number in self.operations[:_SHOWN]
        ]
        if others := sum(number for _, number in self.operations[_SHOWN:]):
            told.append(f"{others:,} other{'' if others == 1 else 's'}")
        return f"{start}{newest if self.num_read < self.num_commits else ''}: {', '.join(told)}."


def commits_between(table: Table, older: int, newer: int) -> CommitsBetween:
    """The commits of the log after the version that comes first, up to the other one; their
    heads are read, and no file."""
    first, last = sorted((older, newer))
    versions = [version for version in table.listing().commits if first < version <= last]
    read = versions[-MOST_READ:]
    names = [body.get("operation") for body, _ in read_provenance(table.store, read)]
    counts = Counter(name if isinstance(name, str) else None for name in names)
    return CommitsBetween(
        older=first,
        newer=last,
        num_commits=len(versions),
        num_read=len(read),
        operations=tuple(counts.most_common()),
    )
