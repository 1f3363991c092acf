"""What the times of commits tell about a log's health (spec: In-Commit Timestamps).

No I/O: facts in, findings out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from explorer.inspect.health._log_facts import LogFacts
from explorer.inspect.health.findings import Finding, Severity
from explorer.log.commits.commit_info import in_commit_ms
from explorer.protocol.filenames import render_commit_name
from explorer.table.retention import DAY_MS
from explorer.table.times import CLOCK_TOLERANCE_MS, InCommitTimes, shown_time


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
        back = [
            (version, before, time)
            for (_, before), (version, time) in pairwise(plain)
            if time < before
        ]
        if back:
            version, before, time = back[0]
            yield _odd_time(
                "times go back",
                f"{len(back):,} commits are older than the one before, the first of version "
                f"{version}: {shown_time(time)} after {shown_time(before)}.",
                "Times of commits are those of their files, and are counted on by a millisecond "
                "where they go back; travel by time is only as right as these.",
                version,
            )
        yield from _copied(facts, dict(plain))
    if facts.active is not None:
        yield from _in_commit(facts, facts.active)


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
