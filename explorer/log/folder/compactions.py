"""Which log compaction files are read instead of commits (spec: Log Compaction Files).

A compaction file stands for exactly its range of commits: the actions that are
left when they are reconciled. It is used where all of that range is wanted. One
in which two actions reconcile with each other was only strung together, in an
order that nobody states (real tables hold such files), so that no rule says which
of the two counts: the commits decide then.
"""

from __future__ import annotations

from collections.abc import Sequence

from explorer.errors import CorruptLogError, Problem
from explorer.log.folder.listing import Compaction

_SPEC = "Log Compaction Files"

Step = int | Compaction
"""A file to replay: the commit of a version, or a compaction."""


class UnusableCompactionError(CorruptLogError):
    """A log compaction file that cannot replace its commits."""

    def __init__(self, compaction: Compaction, reason: str) -> None:
        super().__init__(
            f"The log compaction file {compaction.name} cannot be used.",
            reason=reason,
            remedy="Nothing is lost: its commits were read instead. Delete it, or write it again.",
            spec=_SPEC,
        )
        self.compaction = compaction

    @property
    def as_problem(self) -> Problem:
        """The error as a `Problem`, told beside the answer that the commits gave."""
        return Problem.of(self, self.compaction.name)


def plan_replay(versions: range, compactions: Sequence[Compaction]) -> Sequence[Step]:
    """What to read for `versions` (ascending), newest first: as few files as possible.

    Only compactions that lie inside of `versions` are used, and no two that overlap.
    """
    ending: dict[int, list[Compaction]] = {}
    for found in compactions:
        if versions.start <= found.first < found.last < versions.stop:
            ending.setdefault(found.last, []).append(found)
    if not ending:
        return versions[::-1]
    chosen = _fewest(versions, ending)
    steps: list[Step] = []
    version = versions.stop - 1
    while version >= versions.start:
        step = chosen.get(version, version)
        steps.append(step)
        version = (step if isinstance(step, int) else step.first) - 1
    return steps


def _fewest(versions: range, ending: dict[int, list[Compaction]]) -> dict[int, Compaction]:
    """By version: the compaction to end there, if one belongs to the shortest way up to it."""
    chosen: dict[int, Compaction] = {}
    files = [0]  # how many lead up to each version, the first entry to none
    for version in versions:
        fewest = files[-1] + 1
        for found in ending.get(version, ()):
            count = files[found.first - versions.start] + 1
            if count < fewest:
                fewest, chosen[version] = count, found
        files.append(fewest)
    return chosen
