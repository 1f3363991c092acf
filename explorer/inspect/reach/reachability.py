"""How far time travel and the change data feed go, version by version
(spec: Metadata Cleanup, Add CDC File, Reader Requirements for AddCDCFile).

The log alone tells which versions can be put together, and whose files are within
retention. Whether the others still have their files only a listing tells.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.errors import CorruptLogError, DeltaError
from explorer.files.events import ADD, REMOVE, FileEvents, read_events
from explorer.files.listed import list_files
from explorer.files.reachable import Reach, build_reach, missing_files
from explorer.inspect.commits.commit_lines import find_lines, read_commits
from explorer.inspect.reach._frames import (
    DATA_GONE,
    FOREVER,
    LOG_GONE,
    NOT_ENABLED,
    NOT_READ,
    PROMISED,
    READABLE,
    READABLE_UNPROTECTED,
    UNPROTECTED,
    VECTOR_GONE,
    VERSIONS,
    code_of,
    ends_never,
    is_gone,
    state_runs,
    state_words,
    time_or_null,
)
from explorer.inspect.reach._retention_windows import Windows, build_windows
from explorer.inspect.reach.wording import reach_sentence
from explorer.log.actions.columns import int64_column
from explorer.log.commits.commit_file import parse_action
from explorer.log.folder.listing import LogListing
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.actions import parse_metadata
from explorer.protocol.filenames import render_commit_name
from explorer.protocol.known_properties import CHANGE_DATA_FEED
from explorer.table.commit_times import commit_times
from explorer.table.readable import is_of_the_log, newest_readable
from explorer.table.table import Table
from explorer.table.times import InCommitTimes, in_commit_times, parse_timestamp

Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]

READ_AT_ONCE: Final = 1_000
"""Commits that are read for when the change feed was enabled; of more, only on request."""


@dataclass(frozen=True, kw_only=True)
class Reachability:
    """What can still be read of versions 0 to `version`, the latest.

    - `versions`, a row each: `version`; `timestamp`, null where its commit is gone;
      `travel` and `feed`, one of `STATES`; `travel_until` and `feed_until`: it stays at
      least until then, null where nothing limits it, or it is gone; `spark_refuses`: Delta
      Spark 4.1 and newer does not travel there, whatever is left; null where the table's
      retention cannot be read
    - `ranges`: versions with the same answers: `what` (time travel, change feed), `first`,
      `last`, `state`, and the first and last `until` among them
    - `windows`: see `explorer.inspect.reach._retention_windows`
    - `has_listed`: whether the files were looked at; `files_outside`: how many actions name
      files beyond the table's root, at which nobody looked; `problem`: why the files could
      not be looked at, though that was asked for
    """

    uri: str
    version: int
    versions: pa.Table
    ranges: pa.Table
    windows: pa.Table
    has_listed: bool
    files_outside: int = 0
    problem: str | None = None

    @property
    def sentence(self) -> str:
        """The answer in a few sentences."""
        text = reach_sentence(self.ranges, self.windows, self.version, has_listed=self.has_listed)
        return text if self.problem is None else f"{text} {self.problem}"


def reach_by_log(
    table: Table,
    *,
    now: datetime | str | None = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> Reachability:
    """What the log alone can say; for 100,000 versions it takes a second or two.

    Since when the change feed is enabled is read from the commits where they are no more than
    `READ_AT_ONCE`. A table whose snapshot is refused answers too. `now` is an aware time,
    this clock's by default.
    """
    watch = Watch(progress=progress, cancel=cancel)
    known = _look(table, now)
    feeds = _feeding(table, known, watch) if len(known.listing.commits) <= READ_AT_ONCE else None
    return _answer(known, feeds)


def reach_by_files(
    table: Table,
    *,
    now: datetime | str | None = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> Reachability:
    """The same with every commit read and everything below the table's root listed."""
    watch = Watch(progress=progress, cancel=cancel)
    known = _look(table, now)
    feeds = _feeding(table, known, watch)
    try:
        events = read_events(table.store, known.listing, watch)
    except CorruptLogError as error:
        return _answer(known, feeds, problem=f"{error.problem} {error.reason}")
    present = list_files(table.store, watch).paths
    data, vectors = missing_files(events, present)
    paths, _ = events.files
    seen = _Seen(
        first=events.first,
        data=build_reach(events, data),
        vectors=build_reach(events, vectors),
        until=_first_removals(events),
        adds_only=_adds_only(events),
        outside=paths.null_count,
    )
    return _answer(known, feeds, seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What a listing says: by version, when it was committed (0: unknown), and whether its
    commit is there, and whether it can be put together."""

    uri: str
    listing: LogListing
    windows: Windows
    now_ms: int
    times: Numbers
    has_commit: Flags
    opens: Flags


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What a listing of the files says of versions from `first` on; `until` is when a file
    that a version needs was first removed later, in milliseconds; `adds_only` are versions
    whose changes are in the files that they added."""

    first: int
    data: Reach
    vectors: Reach
    until: Numbers
    adds_only: Flags
    outside: int


def _look(table: Table, now: datetime | str | None) -> _Known:
    now_ms = time.time_ns() // 1_000_000 if now is None else parse_timestamp(now)
    listing = table.listing()
    latest = listing.latest_version
    if latest is None:
        latest = table.latest_version()  # says that the log is empty
    commits = np.asarray(listing.commits, np.int64)
    has_commit = np.zeros(latest + 1, np.bool_)
    has_commit[commits] = True
    opens = _opens(listing, has_commit)
    active, configuration = _in_force(table, opens)
    times = np.zeros(latest + 1, np.int64)
    times[commits] = commit_times(table.store, listing, listing.commits, active)
    return _Known(
        uri=table.uri,
        listing=listing,
        windows=build_windows(configuration, now_ms),
        now_ms=now_ms,
        times=times,
        has_commit=has_commit,
        opens=opens,
    )


def _in_force(table: Table, opens: Flags) -> tuple[InCommitTimes | None, Mapping[str, str]]:
    """Since when in-commit timestamps count, and the properties, of the newest version that
    can be put together; nothing where none can."""
    last = np.flatnonzero(opens)
    if not len(last):
        return None, {}
    newest = None if last[-1] == len(opens) - 1 else int(last[-1])
    try:
        protocol, metadata = table.protocol(newest), table.metadata(newest)
    except DeltaError as error:
        readable = newest_readable(table) if is_of_the_log(error.kind) else None
        if readable is None:
            raise
        protocol, metadata = readable.protocol, readable.metadata
    return in_commit_times(protocol, metadata), metadata.configuration


def _opens(listing: LogListing, has_commit: Flags) -> Flags:
    """Which versions can be put together: from the newest complete checkpoint that is not
    newer, or from the first commit, every commit is there."""
    count = len(has_commit)
    numbers = np.arange(count)
    start = np.full(count, -1, np.int64)
    for found in listing.checkpoints:
        start[found.version] = found.version
    start = np.maximum.accumulate(start)
    last_gap = np.maximum.accumulate(np.where(has_commit, -1, numbers))
    opens: Flags = (last_gap <= start) & (has_commit | (start == numbers))
    return opens


def openable_versions(listing: LogListing) -> list[int]:
    """The versions that the log can still put together, ascending."""
    latest = listing.latest_version
    if latest is None:
        return []
    has_commit = np.zeros(latest + 1, np.bool_)
    has_commit[np.asarray(listing.commits, np.int64)] = True
    found: list[int] = np.flatnonzero(_opens(listing, has_commit)).tolist()
    return found


def _feeding(table: Table, known: _Known, watch: Watch) -> Flags | None:
    """In which versions the change feed was enabled; None where the log does not tell."""
    commits = known.listing.commits
    flags = np.zeros(len(known.times), np.bool_)
    is_on = False
    if commits and commits[0] > 0:
        try:
            is_on = CHANGE_DATA_FEED.value_of(table.metadata(commits[0]).configuration)
        except DeltaError:
            return None
    for done, (version, data) in enumerate(
        zip(commits, read_commits(table.store, commits), strict=True)
    ):
        watch.step(done, len(commits), "Reading when the change feed was enabled")
        if isinstance(data, DeltaError):
            return None
        name = render_commit_name(version)
        for number, line in find_lines(data, b'"metaData"'):
            body = parse_action(line, name, number).get("metaData")
            if body is not None:
                found = parse_metadata(body, f"{name}:{number}")
                is_on = CHANGE_DATA_FEED.value_of(found.configuration)
        flags[version] = is_on
    return flags


def _first_removals(events: FileEvents) -> Numbers:
    """For each version, when the first file was removed by a later one, in milliseconds. A
    removal that does not say when counts as at the beginning of time."""
    count = events.last - events.first + 1
    removed = events.table.filter(pa.array(events.table.column("kind").to_numpy() == REMOVE))
    at = np.full(count + 1, FOREVER, np.int64)
    versions = removed.column("version").to_numpy() - events.first
    times = removed.column("time").fill_null(_ZERO).to_numpy()
    np.minimum.at(at, versions, times)
    return np.minimum.accumulate(at[::-1])[::-1][1:]


def _adds_only(events: FileEvents) -> Flags:
    found = np.ones(events.last - events.first + 1, np.bool_)
    kinds = events.table.column("kind").to_numpy()
    found[events.table.column("version").to_numpy()[kinds != ADD] - events.first] = False
    return found


def _answer(
    known: _Known, feeds: Flags | None, seen: _Seen | None = None, problem: str | None = None
) -> Reachability:
    latest = len(known.times) - 1
    files_until, log_until, feed_until = _untils(known, seen)
    until = np.minimum(files_until, log_until)
    travel = np.where(files_until > known.now_ms, code_of(PROMISED), code_of(UNPROTECTED))
    change = np.where(feed_until > known.now_ms, code_of(PROMISED), code_of(UNPROTECTED))
    if seen is not None:
        travel, change = _with_files(travel, change, seen)
    travel[~known.opens] = code_of(LOG_GONE)
    if feeds is None:
        change[:] = code_of(NOT_READ)
    else:
        change[~feeds] = code_of(NOT_ENABLED)
    change[~known.has_commit] = code_of(LOG_GONE)
    refused = (known.times <= known.windows.files_cutoff_ms) & (known.times > 0) & known.opens
    refused[latest] = False
    feed_until = np.minimum(feed_until, log_until)
    versions = pa.Table.from_arrays(
        [
            pa.array(np.arange(latest + 1)),
            time_or_null(known.times, known.times == 0),
            state_words(travel),
            time_or_null(until, ends_never(until) | is_gone(travel)),
            state_words(change),
            time_or_null(feed_until, ends_never(feed_until) | is_gone(change)),
            pa.array(refused, mask=np.full(latest + 1, known.windows.is_unread)),
        ],
        schema=VERSIONS,
    )
    return Reachability(
        uri=known.uri,
        version=latest,
        versions=versions,
        ranges=pa.concat_tables(
            [
                state_runs("time travel", travel, until),
                state_runs("change feed", change, feed_until),
            ]
        ),
        windows=known.windows.frame(known.times),
        has_listed=seen is not None,
        files_outside=0 if seen is None else seen.outside,
        problem=problem,
    )


def _untils(known: _Known, seen: _Seen | None) -> tuple[Numbers, Numbers, Numbers]:
    """Until when, in milliseconds, each version has its files, its log, and its changes."""
    windows = known.windows
    # a version is whole until the next one; a tombstone may be as much older than its commit
    # as its writer took, which only the commits tell
    replaced = _next_times(known.times)
    log = np.full(len(replaced), FOREVER, np.int64)
    if windows.log_ms is not None:
        log = _later(replaced, windows.log_ms)
    files = _later(replaced, windows.files_ms)
    changes = _later(known.times, windows.files_ms)
    if seen is not None:
        files[seen.first :] = _later(seen.until, windows.files_ms)
        changes[seen.first :][seen.adds_only] = files[seen.first :][seen.adds_only]
    return files, log, changes


def _next_times(times: Numbers) -> Numbers:
    """For each version, when the next one was committed whose time is known."""
    count = len(times)
    at = np.where(times > 0, np.arange(count), count)
    following = np.append(np.minimum.accumulate(at[::-1])[::-1][1:], count)
    found: Numbers = np.append(times, FOREVER)[following]
    return found


def _with_files(travel: Numbers, change: Numbers, seen: _Seen) -> tuple[Numbers, Numbers]:
    travel, change = travel.copy(), change.copy()
    for states in (travel, change):
        part = states[seen.first :]
        part[part == code_of(PROMISED)] = code_of(READABLE)
        part[part == code_of(UNPROTECTED)] = code_of(READABLE_UNPROTECTED)
    for reach, gone in ((seen.vectors, VECTOR_GONE), (seen.data, DATA_GONE)):
        travel[seen.first :][~reach.readable] = code_of(gone)
        change[seen.first :][~reach.changes] = code_of(gone)
    return travel, change


def _later(times: Numbers, duration: int) -> Numbers:
    """Times moved on; those that never come stay so."""
    return np.where(times >= FOREVER - duration, FOREVER, times + duration)


_ZERO = int64_column([0])[0]
