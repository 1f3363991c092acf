"""The guards: small rules, each a function from facts to a verdict with its reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from explorer.errors import Problem
from explorer.log.folder.listing import LogListing
from explorer.log.folder.segment import missing_versions
from explorer.maintenance.plan.plan import Verdict
from explorer.protocol.actions import Protocol
from explorer.protocol.features.registry import (
    READER_FEATURES_VERSION,
    WRITER_FEATURES_VERSION,
    find_feature,
    is_catalog_managed,
    is_supported,
)
from explorer.protocol.table_properties.table_property import TableProperty
from explorer.table.counts import count
from explorer.table.times import CLOCK_TOLERANCE_MS, shown_time, utc_time

UNCOMMITTED_AGE = timedelta(hours=24)
"""A file younger than this may belong to a writer that has not yet committed."""

_SHOWN = 10


def judge_features(protocol: Protocol) -> Verdict:
    """Whether every feature that a writer must know is known here (spec: Table Features)."""
    names = {*(protocol.writer_features or ()), *(protocol.reader_features or ())}
    unknown = sorted(name for name in names if find_feature(name) is None)
    newest = protocol.min_writer_version > WRITER_FEATURES_VERSION
    if newest or protocol.min_reader_version > READER_FEATURES_VERSION:
        return _refuse(
            "features",
            f"The table requires writer version {protocol.min_writer_version} and reader version "
            f"{protocol.min_reader_version}, which are not supported here.",
            "Maintain the table with the engine that wrote it.",
        )
    if protocol.min_writer_version == WRITER_FEATURES_VERSION and protocol.writer_features is None:
        return _refuse(
            "features",
            "The protocol has no list of writer features: what the table requires is unknown.",
            "Restore the commit that wrote the protocol.",
        )
    if unknown:
        shown = ", ".join(name[:100] for name in unknown[:_SHOWN])
        return _refuse(
            "features",
            f"The table has features that are not supported here: {shown}.",
            "Maintain the table with the engine that wrote it, or use a newer release.",
        )
    return _allow("features", "Every feature of the table is supported here.")


def judge_catalog(protocol: Protocol) -> Verdict:
    """Whether files alone decide what the table is."""
    if is_catalog_managed(protocol):
        return _refuse(
            "catalog",
            "A catalog decides which commits of this table count; its files may lag behind.",
            "Maintain the table with the catalog's engine.",
        )
    return _allow("catalog", "No catalog manages its commits.")


def judge_vacuum_protocol(protocol: Protocol) -> Verdict:
    """What the feature vacuumProtocolCheck asks: the writer's side is looked at too, which
    `judge_features` does for every table (spec: VACUUM Protocol Check)."""
    asks = is_supported(protocol, "vacuumProtocolCheck")
    text = "The table asks vacuum to check the writer protocol" if asks else "The writer protocol"
    verdict = judge_features(protocol)
    if verdict.outcome == "allow":
        return _allow("vacuum protocol", f"{text}{', which' if asks else ''} was checked.")
    return _refuse("vacuum protocol", f"{text}. {verdict.message}", verdict.remedy)


def judge_log(listing: LogListing) -> Verdict:
    """Whether the commits that are there follow each other without a gap."""
    gaps = gaps_in(listing)
    if gaps:
        shown = ", ".join(_range_in_words(gap) for gap in gaps[:_SHOWN])
        return _refuse(
            "log",
            f"The log has gaps; missing commits: {shown}.",
            "Restore them from a backup; what they did to files is unknown.",
        )
    return _allow("log", "The log has no gaps.")


def gaps_in(listing: LogListing) -> list[range]:
    """The versions whose commits are missing between others."""
    commits = listing.commits
    return missing_versions(commits, commits[0], commits[-1]) if commits else []


def judge_clock(now_ms: int, times: Mapping[str, int | None]) -> Verdict:
    """Whether the newest times, by what they are of, are not ahead of this clock."""
    ahead = {
        what: time
        for what, time in times.items()
        if time is not None and time > now_ms + CLOCK_TOLERANCE_MS
    }
    if not ahead:
        return _allow("clock", "No time in the table is ahead of this clock.")
    what, time = max(ahead.items(), key=lambda item: item[1])
    span = _whole_units(utc_time(time) - utc_time(now_ms))
    mend = f" Where this clock is right, correct the modification time of that {what}'s file."
    return _refuse(
        "clock",
        f"The newest {what}, {shown_time(time)}, is {span} ahead of this clock, so ages are "
        "unknown.",
        "Correct the clock of this machine, or wait until that time has passed."
        f"{mend if what == 'commit' else ''}",
    )


def follow_clock(now_ms: int, newest_ms: int) -> Verdict:
    """The verdict of `judge_clock` on a commit that deletes and removes nothing, where the newest
    in-commit timestamp is ahead of this clock: such a commit needs no ages."""
    span = _whole_units(utc_time(newest_ms) - utc_time(now_ms))
    return Verdict(
        guard="clock",
        outcome="warn",
        message=f"The newest in-commit timestamp, {shown_time(newest_ms)}, is {span} ahead of this "
        "clock. The commit gets a timestamp one millisecond later; until that time has passed, "
        "nothing is deleted from this table.",
        remedy="Correct the clock of this machine if it is behind.",
    )


def judge_retention(
    wanted: timedelta, floor: timedelta, now_ms: int, youngest: Mapping[str, int | None]
) -> Verdict:
    """Whether files may be deleted after the `wanted` time. `youngest` are the newest times of
    untracked files and of commits, in milliseconds since 1970, None where there are none."""
    text = f"Files are kept for {in_words(wanted)} after their removal"
    if wanted >= floor:
        return _allow("retention", f"{text}; the minimum is {in_words(floor)}.")
    if wanted < UNCOMMITTED_AGE:
        limit = now_ms - UNCOMMITTED_AGE // timedelta(milliseconds=1)
        young = {what: time for what, time in youngest.items() if time is not None and time > limit}
        if young:
            what, time = max(young.items(), key=lambda item: item[1])
            return _refuse(
                "retention",
                f"{text}, less than {in_words(UNCOMMITTED_AGE)}, but the newest {what} is of "
                f"{shown_time(time)}: a writer may be at work whose files are not committed yet.",
                f"Wait until nothing was written for {in_words(UNCOMMITTED_AGE)}, or keep files "
                "longer.",
            )
    return Verdict(
        guard="retention",
        outcome="warn",
        message=f"{text}, less than {in_words(floor)}: running queries, and writers that have "
        "not committed yet, may lose files.",
        remedy="Keep files longer, or approve it with the table's name and a reason.",
        asks_for_name=True,
        asks_for_reason=True,
    )


def judge_setting(
    guard: str, known: TableProperty[Any], configuration: Mapping[str, str], example: str
) -> Verdict | None:
    """A refusal where the table asks for something that cannot be read: what it asks for is
    then not known, and a default in its place would take what its owner wanted kept."""
    wrong = known.validate(configuration)
    if wrong is None:
        return None
    return _refuse(
        guard,
        f"What the table requires is unknown. {wrong.problem}",
        f"Set it to the intended value: delta-explorer set TABLE '{known.name}={example}'",
    )


def judge_independent_check(only_first: int, only_second: int, examples: list[str]) -> Verdict:
    """Whether two independent computations of the kept files agree."""
    if not only_first and not only_second:
        return _allow("second route", "A second, independent computation of the kept files agrees.")
    return _refuse(
        "second route",
        f"Two independent computations of the kept files disagree: {only_first} are kept by the "
        f"checkpoint alone, {only_second} by the commits alone, among them "
        f"{_some_of(examples)}.",
        "Do not delete anything. The plan's file list is the evidence; check the checkpoint "
        "first, and write a new one if it is wrong.",
    )


def judge_cut(version: int, number: int, examples: list[str]) -> Verdict:
    """The verdict where the checkpoint at which a log would be cut is not what the commits
    say."""
    return _refuse(
        "second route",
        f"The checkpoint of version {version}, from which the log would start, and the commits up "
        f"to it disagree about {count(number, 'file')}, among them {_some_of(examples)}.",
        "Do not delete the commits: they are the only evidence of what is right. Check the "
        "checkpoint first, and write a new one if it is wrong.",
    )


def _some_of(paths: list[str]) -> str:
    return ", ".join(repr(path[:100]) for path in paths[:3])


def judge_failed_check(reason: str) -> Verdict:
    """The verdict where the kept files could not be computed a second time."""
    return _refuse(
        "second route",
        f"The kept files could not be computed a second time: {reason}",
        "Restore the log files that are missing or broken.",
    )


def judge_rules(
    problems: Sequence[Problem], lacking: Sequence[str] = (), mend: str = ""
) -> Verdict:
    """Whether the rules of the table's features allow a commit: their `problems`, and what is
    `lacking` besides, with its remedy."""
    if not problems and not lacking:
        return _allow("commit", "The features allow the commit.")
    told = problems[:10]
    return _refuse(
        "commit",
        " ".join([*(problem.problem for problem in told), *lacking]),
        " ".join(dict.fromkeys(problem.remedy for problem in told)) or mend,
    )


def in_words(duration: timedelta) -> str:
    """`7 days`, `1 hour`, `90 minutes`."""
    seconds = duration // timedelta(seconds=1)
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size and seconds % size == 0:
            return count(seconds // size, unit)
    return count(seconds, "second")


def _whole_units(span: timedelta) -> str:
    """`in_words` of the largest unit that it has two of, what is over left out."""
    units = (timedelta(days=1), timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1))
    unit = next((unit for unit in units if span >= 2 * unit), units[-1])
    return in_words(span // unit * unit)


def _range_in_words(versions: range) -> str:
    return str(versions[0]) if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"


def _allow(guard: str, message: str) -> Verdict:
    return Verdict(guard=guard, outcome="allow", message=message)


def _refuse(guard: str, message: str, remedy: str) -> Verdict:
    return Verdict(guard=guard, outcome="refuse", message=message, remedy=remedy)


def protocol_fields(protocol: Protocol) -> dict[str, Any]:
    """A protocol as plans hold it."""
    return {
        "min_reader_version": protocol.min_reader_version,
        "min_writer_version": protocol.min_writer_version,
        "reader_features": _listed(protocol.reader_features),
        "writer_features": _listed(protocol.writer_features),
    }


def _listed(names: tuple[str, ...] | None) -> list[str] | None:
    return None if names is None else list(names)
