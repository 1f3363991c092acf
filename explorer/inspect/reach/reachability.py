"""How far time travel and the change data feed go, version by version
(spec: Metadata Cleanup, Add CDC File, Reader Requirements for AddCDCFile).

The log alone tells which versions can be reconstructed, and whose files are within
retention. Whether the others still have their files only a listing tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import CorruptLogError, DeltaError, UnsupportedError
from explorer.files.events import CHANGE, FileEvents, read_events
from explorer.files.listed import ListedFiles, list_files
from explorer.files.reachable import (
    FOREVER,
    Ends,
    Reach,
    build_ends,
    build_reach,
    lacking_files,
)
from explorer.files.store_paths import file_of_each
from explorer.inspect.answer import LIMIT, Answer, Document, Parameter
from explorer.inspect.frame_rows import plain_rows
from explorer.inspect.reach._commit_facts import (
    NO_COMMIT_FACTS,
    READ_AT_ONCE,
    CommitFacts,
    read_commit_facts,
    why_refused,
)
from explorer.inspect.reach._frames import (
    DATA_GONE,
    GONE,
    LOG_GONE,
    LOG_UNREADABLE,
    NOT_ENABLED,
    NOT_READ,
    PROMISED,
    READABLE,
    READABLE_UNPROTECTED,
    REFUSED,
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
from explorer.inspect.reach._most_versions import flag_commits
from explorer.inspect.reach._retention_windows import Windows, build_windows
from explorer.inspect.reach.wording import (
    joined_ranges,
    reach_headline,
    reach_sentence,
    versions_in_words,
)
from explorer.log.actions.columns import string_column
from explorer.log.folder.listing import LogListing
from explorer.log.plain_arrays import (
    FALSE,
    Flags,
    Numbers,
    build_array,
    in_one_piece,
    read_numbers,
    read_values,
)
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.actions import Protocol
from explorer.storage.ports import ReadStore
from explorer.table.readable import READ_WHOLE, is_of_the_log, newest_readable, open_whole
from explorer.table.table import Table
from explorer.table.times import (
    InCommitTimes,
    commit_times,
    in_commit_times,
    parse_now,
    utc_time,
)


@dataclass(frozen=True, kw_only=True)
class Reachability:
    """What can still be read of versions 0 to `version`, the latest.

    - `versions`, a row each: `version`; `timestamp`, null where its commit is gone;
      `travel` and `feed`, one of `STATES`; `travel_until` and `feed_until`: it stays at
      least until then, where that has passed until the next vacuum if it is unprotected, else
      until the next cleanup of the log; null where nothing limits it, or it is gone;
      `spark_refuses`: Delta Spark 4.1 and newer does not travel there, whatever is left; null
      where the table's retention cannot be read
    - `ranges`: versions with the same answers: `what` (time travel, change feed), `first`,
      `last`, `state`, the first and last `until` among them, all of which have passed at
      `now`, or none, and `spark_refuses`, null too of the change feed and where nothing is left
    - `windows`: see `explorer.inspect.reach._retention_windows`
    - `has_listed`: whether the files were looked at; `files_outside`: how many actions name
      files beyond the table's root, at which nobody looked; `problem`: why the files of some
      versions, which are promised or unprotected then, could not be looked at, though that was
      asked for; `refusal`: why the newest of the versions that are refused is
    - `notes`: what is odd about the two retentions, in sentences
    """

    uri: str
    version: int
    versions: pa.Table
    ranges: pa.Table
    windows: pa.Table
    has_listed: bool
    now: datetime
    files_outside: int = 0
    problem: str | None = None
    refusal: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def spark_from(self) -> int | None:
        """The version back to which Delta Spark 4.1 and newer travels, where nothing but the
        retention keeps it from an older one; else None."""
        refuses = self.versions.column("spark_refuses").fill_null(FALSE)
        states = pc.cast(self.versions.column("travel"), pa.string())
        gone = pc.is_in(states, value_set=string_column(list(GONE)))
        if not pc.any(pc.and_not(refuses, gone)).as_py():
            return None
        left = pc.indices_nonzero(pc.invert(pc.or_(refuses, gone)))
        return int(left[0].as_py()) if len(left) else None

    def versions_that_are(self, state: str) -> list[tuple[int, int]]:
        """First and last of the ranges of versions whose `travel` is `state`."""
        rows = self.ranges.select(["what", "first", "last", "state"]).to_pylist()
        return joined_ranges(
            (row["first"], row["last"])
            for row in rows
            if (row["what"], row["state"]) == ("time travel", state)
        )

    @property
    def headline(self) -> str:
        """How far time travel reaches, and how far in Delta Spark, in one short sentence."""
        return reach_headline(self.ranges, self.version, has_listed=self.has_listed)

    @property
    def sentence(self) -> str:
        """The answer in a few sentences."""
        text = reach_sentence(
            self.ranges,
            self.windows,
            self.version,
            has_listed=self.has_listed,
        )
        parts = (text, self.refusal, *self.notes, self.problem)
        return " ".join(part for part in parts if part)


def reach_by_log(
    table: Table,
    *,
    now: datetime | str | None = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> Reachability:
    """What the log alone can say; for 100,000 versions it takes a second or two.

    Since when the change feed is enabled, and which files left the table, is read from the commits
    where they are no more than `READ_AT_ONCE`; in a longer log every version counts as if the
    next one had removed a file of it. A table whose snapshot is refused answers too. `now` is
    an aware time, this clock's by default.
    """
    watch = Watch(progress=progress, cancel=cancel)
    known, told = _look_at_commits(table, now, watch)
    return _answer(known, told, ends=_ends_by_log(table, known, watch))


def reach_of_commits(table: Table, watch: Watch) -> Reachability:
    """The same for whoever asks only which versions can be reconstructed: what left the table is
    not read."""
    return _answer(*_look_at_commits(table, None, watch))


def _look_at_commits(
    table: Table, now: datetime | str | None, watch: Watch
) -> tuple[_Known, CommitFacts]:
    known = _look(table, now, watch, READ_WHOLE)
    if len(known.listing.commits) > READ_AT_ONCE and not why_refused(known.protocol):
        return known, NO_COMMIT_FACTS
    told = read_commit_facts(table, known.listing, known.opens, watch)
    return known.without(told.unreadable), told


def reach_by_files(
    table: Table,
    *,
    now: datetime | str | None = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> Reachability:
    """The same with every commit read and everything below the table's root listed."""
    watch = Watch(progress=progress, cancel=cancel)
    known = _look(table, now, watch, None)
    told = read_commit_facts(table, known.listing, known.opens, watch)
    known = known.without(told.unreadable)
    seen, problems = _look_at_files(table, known, watch)
    return _answer(known, told, seen, " ".join(problems) or None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What a listing says, and opening the newest version: by version, when it was committed (0:
    unknown), whether its commit is there, whether it can be reconstructed (`opens`) and whether it
    could by the names in the log (`is_named`); `protocol` is that of the newest version that can,
    None where none can."""

    uri: str
    listing: LogListing
    windows: Windows
    now_ms: int
    times: Numbers
    has_commit: Flags
    opens: Flags
    is_named: Flags
    protocol: Protocol | None

    def without(self, unreadable: Sequence[int]) -> _Known:
        """The same where these commits, which are there, cannot be read."""
        if not unreadable:
            return self
        has_commit = self.has_commit.copy()
        has_commit[list(unreadable)] = False
        left = tuple(found for found in self.listing.commits if has_commit[found])
        listing = replace(self.listing, commits=left)
        return replace(self, listing=listing, opens=self.opens & _opens(listing, len(has_commit)))

    def open_before(self, version: int) -> int | None:
        """The newest version before this one that can be reconstructed."""
        found = np.flatnonzero(self.opens[:version])
        return int(found[-1]) if len(found) else None

    def open_since(self, version: int) -> int:
        """The oldest version from which on each up to this one can be reconstructed."""
        closed = np.flatnonzero(~self.opens[:version])
        return int(closed[-1]) + 1 if len(closed) else 0

    def listing_until(self, version: int) -> LogListing:
        """The log as it was when this version was the latest."""
        listing = self.listing
        if version == listing.latest_version:
            return listing
        return replace(
            listing,
            commits=tuple(found for found in listing.commits if found <= version),
            checkpoints=tuple(found for found in listing.checkpoints if found.version <= version),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What the log says of versions `first` to `last`; `ends` is when the files that they need
    left the table for good, `written` when the first of their change files was written, in
    milliseconds, 0 without one or where nobody looked."""

    first: int
    last: int
    ends: Ends
    written: Numbers

    @property
    def versions(self) -> slice:
        """Where they stand among all."""
        return slice(self.first, self.last + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen(_Told):
    """And what a listing of the files says of them."""

    data: Reach
    vectors: Reach
    outside: int


def _ends_by_log(table: Table, known: _Known, watch: Watch) -> list[_Told]:
    """What commits that were read already say of files that left; nothing where a checkpoint
    stands before them, which may take long to read."""
    commits = known.listing.commits
    is_long = len(commits) > READ_AT_ONCE
    if is_long or not commits or commits[0] > 0 or not known.opens[-1]:
        return []
    try:
        events = read_events(table.store_at(known.listing), known.listing, watch)
        if events.num_base:
            return []
        ends = build_ends(events)
    except CorruptLogError:  # such as a vector whose file cannot be named
        return []
    count = events.last - events.first + 1
    written = np.zeros(count, np.int64)
    return [_Told(first=events.first, last=events.last, ends=ends, written=written)]


def _look_at_files(table: Table, known: _Known, watch: Watch) -> tuple[list[_Seen], list[str]]:
    """What the files say of each stretch of versions that can be replayed in one, the newest
    first, and why of others nothing."""
    seen: list[_Seen] = []
    problems: list[str] = []
    listed: ListedFiles | None = None
    last = known.open_before(len(known.opens))
    if last is None:
        last = len(known.opens) - 1  # to be told why
    until: int | None = last
    while until is not None:
        try:
            listing = known.listing_until(until)
            events = read_events(table.store_at(listing), listing, watch)
        except CorruptLogError as error:
            problems.append(
                f"The files of {versions_in_words([(known.open_since(until), until)])} were not "
                f"checked. {error.problem} {error.reason}"
            )
            until = known.open_before(known.open_since(until))
            continue
        listed = list_files(table.store, watch) if listed is None else listed
        data, vectors = lacking_files(events, listed.paths)
        seen.append(
            _Seen(
                first=events.first,
                last=events.last,
                data=build_reach(events, data),
                vectors=build_reach(events, vectors),
                ends=build_ends(events),
                written=_change_files_written(events, listed, table.store),
                outside=events.files[0].null_count,
            )
        )
        until = known.open_before(events.first)
    return seen, problems


def _look(table: Table, now: datetime | str | None, watch: Watch, limit: int | None) -> _Known:
    now_ms = parse_now(now)
    listing = table.listing()
    latest = listing.latest_version
    if latest is None:
        latest = table.latest_version()  # says that the log is empty
    has_commit = flag_commits(listing, latest)
    is_named = _opens(listing, latest + 1)
    opens = is_named.copy()
    protocol, active, configuration = _in_force(table, opens, watch, limit)
    times = np.zeros(latest + 1, np.int64)
    times[has_commit] = commit_times(table.store, listing, listing.commits, active)
    return _Known(
        uri=table.uri,
        listing=listing,
        windows=build_windows(configuration, now_ms),
        now_ms=now_ms,
        times=times,
        has_commit=has_commit,
        opens=opens,
        is_named=is_named,
        protocol=protocol,
    )


def _in_force(
    table: Table, opens: Flags, watch: Watch, limit: int | None
) -> tuple[Protocol | None, InCommitTimes | None, Mapping[str, str]]:
    """The protocol, since when in-commit timestamps count, and the properties, of the newest
    version that can be reconstructed; nothing where none can."""
    last = np.flatnonzero(opens)
    if not len(last):
        return None, None, {}
    newest = None if last[-1] == len(opens) - 1 else int(last[-1])
    try:
        if newest is None:
            with suppress(UnsupportedError):  # its protocol is told all the same
                open_whole(table, watch, limit)
        protocol, metadata = table.protocol(newest), table.metadata(newest)
    except DeltaError as error:
        readable = newest_readable(table, watch) if is_of_the_log(error.kind) else None
        if readable is None:
            raise
        protocol, metadata = readable.protocol, readable.metadata
        # what the names promise beyond it was tried
        opens[readable.version + 1 :] = False
    return protocol, in_commit_times(protocol, metadata), metadata.configuration


def _opens(listing: LogListing, count: int) -> Flags:
    """Which of so many versions can be reconstructed."""
    found: Flags = np.zeros(count, np.bool_)
    found[openable_versions(listing)] = True
    return found


def openable_versions(listing: LogListing) -> list[int]:
    """The versions that the log can still put together, ascending: from the newest complete
    checkpoint that is not newer, or from the first commit, every commit is there."""
    commits = np.asarray(listing.commits, np.int64)
    checkpoints = np.asarray([found.version for found in listing.checkpoints], np.int64)
    versions = np.union1d(commits, checkpoints)
    places = np.arange(len(versions))
    follows = np.isin(versions, commits) & (np.diff(versions, prepend=-2) == 1)
    run = np.maximum.accumulate(np.where(follows, 0, places))
    begins = np.isin(versions, checkpoints) | (versions == 0)
    begun = np.maximum.accumulate(np.where(begins, places, -1))
    found: list[int] = versions[begun >= run].tolist()
    return found


def _change_files_written(events: FileEvents, listed: ListedFiles, store: ReadStore) -> Numbers:
    found = np.full(events.last - events.first + 1, FOREVER, np.int64)
    changes = events.table.filter(build_array(read_values(events.table.column("kind")) == CHANGE))
    names = file_of_each(changes, events.root)[0]
    if len(names) and len(listed.paths):
        files = listed.select(pc.is_in(listed.paths, value_set=names), store)
        at = pc.index_in(names, value_set=in_one_piece(files.column("path")))
        versions = read_values(changes.column("version").filter(at.is_valid())) - events.first
        times = read_numbers(files.column("modified"))[read_values(at.drop_null())]
        np.minimum.at(found, versions, times)
    return np.where(found == FOREVER, 0, found)


def _answer(
    known: _Known,
    told: CommitFacts,
    seen: Sequence[_Seen] = (),
    problem: str | None = None,
    ends: Sequence[_Told] = (),
) -> Reachability:
    feeds = told.feeds
    latest = len(known.times) - 1
    files_until, log_until, feed_until = _untils(known, seen or ends)
    until = np.minimum(files_until, log_until)
    travel = np.where(files_until > known.now_ms, code_of(PROMISED), code_of(UNPROTECTED))
    change = np.where(feed_until > known.now_ms, code_of(PROMISED), code_of(UNPROTECTED))
    for piece in seen:
        travel, change = _with_files(travel, change, piece)
    travel[~known.opens] = code_of(LOG_GONE)
    travel[known.is_named & ~known.opens] = code_of(LOG_UNREADABLE)
    if feeds is None:
        change[:] = code_of(NOT_READ)
    else:
        change[~feeds] = code_of(NOT_ENABLED)
    if told.silent is not None:
        change[told.silent] = code_of(LOG_UNREADABLE)
    if told.refused is not None:
        travel[told.refused & ~is_gone(travel)] = code_of(REFUSED)
        change[told.refused & ~is_gone(change)] = code_of(REFUSED)
    change[~known.has_commit] = code_of(LOG_GONE)
    # one whose time is unknown is older than the next
    by = np.where(known.times > 0, known.times, _next_times(known.times))
    refused = (by <= known.windows.files_cutoff_ms) & known.opens
    refused[latest] = False
    untold = (known.times == 0) & ~refused & known.opens
    untold[latest] = False
    feed_until = np.minimum(feed_until, log_until)
    versions = pa.Table.from_arrays(
        [
            build_array(np.arange(latest + 1)),
            time_or_null(known.times, known.times == 0),
            state_words(travel),
            time_or_null(until, ends_never(until) | is_gone(travel)),
            state_words(change),
            time_or_null(feed_until, ends_never(feed_until) | is_gone(change)),
            build_array(refused, untold | known.windows.is_unread),
        ],
        schema=VERSIONS,
    )
    return Reachability(
        uri=known.uri,
        version=latest,
        versions=versions,
        ranges=pa.concat_tables(
            [
                state_runs(
                    "time travel",
                    travel,
                    until,
                    known.now_ms,
                    None if known.windows.is_unread else refused,
                ),
                state_runs("change feed", change, feed_until, known.now_ms),
            ]
        ),
        windows=known.windows.frame(known.times),
        has_listed=bool(seen),
        now=utc_time(known.now_ms),
        files_outside=sum(piece.outside for piece in seen),
        problem=problem,
        refusal=told.refusal,
        notes=tuple(known.windows.notes()),
    )


def _untils(known: _Known, told: Sequence[_Told]) -> tuple[Numbers, Numbers, Numbers]:
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
    for piece in told:
        if piece.last == len(replaced) - 1:  # what left after an older stretch nobody knows
            at = piece.versions
            files[at] = _later(piece.ends.files, windows.files_ms)
            # change data goes by its modification too: one that was copied is younger
            written = _later(np.maximum(known.times[at], piece.written), windows.files_ms)
            by_files = _later(piece.ends.changes, windows.files_ms)
            changes[at] = np.where(piece.ends.has_change_files, written, by_files)
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
        part = states[seen.versions]
        part[part == code_of(PROMISED)] = code_of(READABLE)
        part[part == code_of(UNPROTECTED)] = code_of(READABLE_UNPROTECTED)
    for reach, gone in ((seen.vectors, VECTOR_GONE), (seen.data, DATA_GONE)):
        travel[seen.versions][~reach.readable] = code_of(gone)
        change[seen.versions][~reach.changes] = code_of(gone)
    return travel, change


def _later(times: Numbers, duration: int) -> Numbers:
    """Times moved on; those that never come stay so."""
    return np.where(times >= FOREVER - duration, FOREVER, times + duration)


def _ask(table: Table, progress: ProgressCallback | None, *, files: bool = False) -> Reachability:
    return (reach_by_files if files else reach_by_log)(table, progress=progress)


def _documents(found: Reachability, limit: int | None) -> Iterator[Document]:
    yield {
        "uri": found.uri,
        "version": found.version,
        "headline": found.headline,
        "sentence": found.sentence,
        "has_listed": found.has_listed,
        "files_outside": found.files_outside,
        "problem": found.problem,
        "notes": list(found.notes),
        "refusal": found.refusal,
        "windows": list(plain_rows(found.windows)),
        "num_ranges": found.ranges.num_rows,
        "ranges": list(plain_rows(found.ranges, limit)),
    }


REACH: Final = Answer(
    name="reach",
    parameters=(Parameter(name="files", kind="flag", reads="files"), LIMIT),
    ask=_ask,
    documents=_documents,
)
