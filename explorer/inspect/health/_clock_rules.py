"""What the times of commits tell about a log's health (spec: In-Commit Timestamps).

No I/O: facts in, findings out.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import ge, gt
from typing import Final

from explorer.inspect.health._log_facts import LogFacts
from explorer.inspect.health.findings import Finding, Severity
from explorer.log.commits.commit_info import in_commit_ms
from explorer.protocol.filenames import render_commit_name
from explorer.table.counts import count
from explorer.table.retention import DAY_MS
from explorer.table.times import CLOCK_TOLERANCE_MS, InCommitTimes, shown_millisecond, shown_time

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
            f"The commit of version {ahead[-1][0]} has the time {shown_time(ahead[-1][1])}, which "
            "is in the future.",
            "The writer's clock was wrong, or this one is. Ages are unknown, so nothing is "
            "deleted.",
            ahead[-1][0],
        )
    if facts.active is None or facts.active.since_version > 0:
        until = None if facts.active is None else facts.active.since_version
        plain = [pair for pair in known if until is None or pair[0] < until]
        copied = _copied(facts, dict(plain))
        yield from _of_a_copy(dict(plain), copied)
        # when a file was copied says nothing of the order of commits
        yield from _out_of_order([pair for pair in plain if pair[0] not in copied])
    if facts.active is not None:
        yield from _in_commit(facts, facts.active)


def _out_of_order(times: Sequence[tuple[int, int]]) -> Iterator[Finding]:
    """The fewest commits without which the times of files never go back."""
    odd = _misplaced([time for _, time in times], bisect_right)
    if not odd:
        return
    yield _odd_time(
        "times go back",
        _named(times, odd, "out of order in time", gt),
        "The time of a commit is that of its file, or a millisecond after the commit before "
        "where times go back. Time travel by timestamp relies on these times.",
        times[odd[0]][0],
    )


def _named(
    times: Sequence[tuple[int, int]],
    odd: Sequence[int],
    what: str,
    is_too_late: Callable[[int, int], bool],
) -> str:
    """How many commits are out of order, and each of those at the positions `odd` of `times`
    beside one in order that shows it: one before it that `is_too_late`, or one after it."""
    kept = sorted({*range(len(times))} - {*odd})
    named = []
    for at in odd[:_NAMED]:
        version, time = times[at]
        # one that was set back is older than one before it, one that was set on newer than one
        # after it
        place = bisect_right(kept, at)
        is_set_back = place > 0 and is_too_late(times[kept[place - 1]][1], time)
        other, since = times[kept[place - 1 if is_set_back else place]]
        shown = (shown_time(time), shown_time(since))
        if shown[0] == shown[1]:
            shown = (shown_millisecond(time), shown_millisecond(since))
        named.append(f"version {version} is of {shown[0]}, version {other} of {shown[1]}")
    more = f"; and {len(odd) - _NAMED:,} more" if len(odd) > _NAMED else ""
    verb = "is" if len(odd) == 1 else "are"
    return f"{count(len(odd), 'commit')} {verb} {what}: {'; '.join(named)}{more}."


def _misplaced(times: Sequence[int], find: Callable[[list[int], int], int]) -> list[int]:
    """The positions outside of a longest run of times that never go back, with `bisect_right`
    to `find` in it, or that always go on, with `bisect_left`; of two that contradict each other
    the later one."""
    ends: list[int] = []  # backwards: the newest time with which a run of each length may begin
    at_end: list[int] = []
    before = [-1] * len(times)
    for at in range(len(times) - 1, -1, -1):
        length = find(ends, -times[at])
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


def _copied(facts: LogFacts, times: Mapping[int, int]) -> dict[int, int]:
    """The commits, with the times that they tell, of a log that was copied: those whose files
    were modified at quite another time. They are most of all, or all up to one."""
    told = {
        version: body["timestamp"]
        for version, body in facts.provenance.items()
        if type(body.get("timestamp")) is int and version in times
    }
    off = {version: at for version, at in told.items() if abs(times[version] - at) > DAY_MS}
    is_most = len(off) * 2 >= len(told)
    is_first = [*off] == [*told][: len(off)]
    return off if len(off) > 1 and (is_most or is_first) else {}


def _of_a_copy(times: Mapping[int, int], copied: Mapping[int, int]) -> Iterator[Finding]:
    """One note, whatever the times are: nothing is wrong with a copy."""
    if not copied:
        return
    first = next(iter(copied))
    yield _odd_time(
        "times of a copy",
        f"The modification times of {count(len(copied), 'commit file')} differ by more than a day "
        f"from the times that the commits record: version {first} has {shown_time(times[first])} "
        f"and records {shown_time(copied[first])}.",
        "The log was copied without its times. Time travel by timestamp, and every retention that "
        "counts from them, starts at the copy.",
        first,
        "note",
    )


def _in_commit(facts: LogFacts, active: InCommitTimes) -> Iterator[Finding]:
    """Commits without the timestamp that they have to carry, and those whose timestamp is not
    later than the one before."""
    found = [
        (version, in_commit_ms(body))
        for version, body in facts.provenance.items()
        if version >= active.since_version
    ]
    missing = [version for version, time in found if time is None]
    if missing:
        shown = ", ".join(map(str, missing[:_NAMED]))
        more = f" and {len(missing) - _NAMED:,} more" if len(missing) > _NAMED else ""
        have = "has" if len(missing) == 1 else "have"
        yield _odd_time(
            "no in-commit timestamp",
            f"Version{'' if len(missing) == 1 else 's'} {shown}{more} {have} no in-commit "
            "timestamp, although they are enabled.",
            "The writer does not support the feature; the time of the commit is unknown.",
            missing[0],
            "error",
        )
    times = [(version, time) for version, time in found if time is not None]
    odd = _misplaced([time for _, time in times], bisect_left)
    if odd:
        yield _odd_time(
            "in-commit timestamps go back",
            _named(times, odd, "out of order by their in-commit timestamps", ge),
            "Each must be later than the one before; time travel by timestamp is unreliable here.",
            times[odd[0]][0],
            "error",
        )


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
        remedy="Travel by version, and report it to the writer's developers."
        if severity == "error"
        else "Travel by version; in-commit timestamps (delta.enableInCommitTimestamps) make the "
        "times of later commits certain.",
    )
