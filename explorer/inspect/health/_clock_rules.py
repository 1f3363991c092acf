"""What the times of commits tell about a log's health (spec: In-Commit Timestamps).

No I/O: facts in, findings out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from explorer.inspect.health._log_facts import LogFacts
from explorer.inspect.health.findings import Finding, Severity
from explorer.log.commits.commit_info import in_commit_ms
from explorer.protocol.filenames import render_commit_name
from explorer.table.counts import count
from explorer.table.retention import DAY_MS
from explorer.table.times import CLOCK_TOLERANCE_MS, InCommitTimes, shown_time

_NAMED: Final = 10
"""Commits out of order that are named."""


def find_clock_faults(facts: LogFacts) -> Iterator[Finding]:
    """Every finding that the times of commits give."""
    times = [(version, facts.time_of(version)) for version in facts.listing.commits]
    known = [(version, time) for version, time in times if time is not None]
    ahead = [pair for pair in known if pair[1] > facts.now_ms + CLOCK_TOLERANCE_MS]
    if ahead:
        yield _odd_time(
            "time in the future",
            f"The commit of version {ahead[-1][0]} is of {shown_time(ahead[-1][1])}, which is "
            "still to come.",
            "A clock was wrong, or this one is; ages cannot be told, so that nothing is deleted.",
            ahead[-1][0],
        )
    if facts.active is None or facts.active.since_version > 0:
        until = None if facts.active is None else facts.active.since_version
        plain = [pair for pair in known if until is None or pair[0] < until]
        yield from _out_of_order(plain)
        yield from _copied(facts, dict(plain))
    if facts.active is not None:
        yield from _in_commit(facts, facts.active)


def _out_of_order(times: Sequence[tuple[int, int]]) -> Iterator[Finding]:
    """The fewest commits without which the times of files never go back."""
    odd = _misplaced([time for _, time in times])
    if not odd:
        return
    named = []
    for at in odd[:_NAMED]:
        version, time = times[at]
        # one that was set back is older than the one before, one that was set on newer than
        # the one after
        beside = at - 1 if at and times[at - 1][1] > time else at + 1
        other, since = times[beside]
        named.append(
            f"version {version} is of {shown_time(time)}, version {other} of {shown_time(since)}"
        )
    more = f"; and {len(odd) - _NAMED:,} more" if len(odd) > _NAMED else ""
    yield _odd_time(
        "times go back",
        f"{count(len(odd), 'commit')} {'is' if len(odd) == 1 else 'are'} out of order in time: "
        f"{'; '.join(named)}{more}.",
        "Times of commits are those of their files, and are counted on by a millisecond "
        "where they go back; travel by time is only as right as these.",
        times[odd[0]][0],
    )


def _misplaced(times: Sequence[int]) -> list[int]:
    """The positions outside of a longest run of times that never go back; of two that
    contradict each other the later one."""
    ends: list[int] = []  # backwards: the newest time with which a run of each length may begin
    at_end: list[int] = []
    before = [-1] * len(times)
    for at in range(len(times) - 1, -1, -1):
        length = bisect_right(ends, -times[at])
        before[at] = at_end[length - 1] if length else -1
        if length == len(ends):
            ends.append(-times[at])
            at_end.append(at)
        else:
            ends[length], at_end[length] = -times[at], at
    kept = set()
    at = at_end[-1] if at_end else -1
    while at >= 0:
        kept.add(at)
        at = before[at]
    return [at for at in range(len(times)) if at not in kept]


def _copied(facts: LogFacts, times: Mapping[int, int]) -> Iterator[Finding]:
    """Files whose times are not those at which their commits say they were made."""
    told = {
        version: body["timestamp"]
        for version, body in facts.provenance.items()
        if type(body.get("timestamp")) is int and version in times
    }
    off = [version for version, at in told.items() if abs(times[version] - at) > DAY_MS]
    if len(off) < 2 or len(off) * 2 < len(told):
        return
    first = off[0]
    yield _odd_time(
        "times of a copy",
        f"The files of {len(off):,} commits were modified more than a day away from when their "
        f"commits say they were made, that of version {first} on {shown_time(times[first])} "
        f"instead of {shown_time(told[first])}.",
        "The log was copied without its times. Travel by time, and every retention that counts "
        "from them, begins at the copy.",
        first,
    )


def _in_commit(facts: LogFacts, active: InCommitTimes) -> Iterator[Finding]:
    previous: tuple[int, int] | None = None
    for version, body in facts.provenance.items():
        if version < active.since_version:
            continue
        found = in_commit_ms(body)
        if found is None:
            yield _odd_time(
                "no in-commit timestamp",
                f"Version {version} carries no in-commit timestamp, though they are enabled.",
                "Its writer does not know the feature; when it was made is not known.",
                version,
                "error",
            )
            return
        if previous is not None and previous[0] == version - 1 and found <= previous[1]:
            yield _odd_time(
                "in-commit timestamps go back",
                f"Version {version} says {shown_time(found)}, the one before "
                f"{shown_time(previous[1])}.",
                "Each must be later than the one before; travel by time is not certain here.",
                version,
                "error",
            )
            return
        previous = (version, found)


def _odd_time(
    finding: str, problem: str, reason: str, version: int, severity: Severity = "warning"
) -> Finding:
    return Finding(
        severity=severity,
        finding=finding,
        problem=problem,
        reason=reason,
        evidence=render_commit_name(version),
        spec="In-Commit Timestamps",
        remedy="Travel by version, and report it to the makers of the writer."
        if severity == "error"
        else "Travel by version; in-commit timestamps (delta.enableInCommitTimestamps) make the "
        "times of later commits certain.",
    )
