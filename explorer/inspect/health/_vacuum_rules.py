"""What the log says about vacuums, checked against the commits and the folder (spec: Add File and
Remove File).

A vacuum commits `VACUUM START` before it deletes and `VACUUM END` afterwards, each with a number of
files. Several may be at work; an end is that of the newest start before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import CorruptLogError
from explorer.files.events import REMOVE, FileEvents, read_events
from explorer.files.kept import is_kept, kept_files, names_through_links
from explorer.files.listed import ListedFiles, is_hidden, lie_below
from explorer.files.store_paths import file_of_each
from explorer.files.unkept import partition_names
from explorer.inspect.health._log_facts import LogFacts
from explorer.inspect.health.findings import Finding
from explorer.log.actions.columns import string_column
from explorer.log.commits.commit_info import in_commit_ms
from explorer.log.plain_arrays import (
    build_array,
    in_one_piece,
    read_flags,
    read_numbers,
    read_values,
)
from explorer.progress import Watch
from explorer.protocol.filenames import render_commit_name
from explorer.protocol.values.utc_times import render_minute
from explorer.table.counts import count
from explorer.table.retention import milliseconds, retention_floor
from explorer.table.snapshot import Snapshot
from explorer.table.times import utc_time

_AT_WORK: Final = milliseconds(timedelta(days=1))
"""A vacuum that began longer ago is not at work any more."""
_OURS: Final = "delta-explorer"
_SPEC: Final = "Add File and Remove File"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vacuum:
    """A vacuum as its commits tell of it: the versions of its start and its end (None: not
    ended), when these were, in milliseconds, how many files it was to delete and says that it
    deleted (None: not said), for how long it kept removed files (None: not said), and whether it
    goes by removals alone, as ours do, and not by modification times too."""

    start: int
    began_ms: int
    planned: int | None
    retention_ms: int | None
    is_ours: bool
    end: int | None = None
    ended_ms: int = 0
    deleted: int | None = None
    status: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether it says that it did what it had to do."""
        return self.end is not None and self.status != "FAILED"


def recorded_vacuums(facts: LogFacts) -> list[Vacuum]:
    """The vacuums whose start is among the commits that were read, in the order of their
    starts."""
    found: list[Vacuum] = []
    under_way: list[int] = []
    for version, body in sorted(facts.provenance.items()):
        operation = body.get("operation")
        parameters, metrics = (
            _fields(body, "operationParameters"),
            _fields(body, "operationMetrics"),
        )
        if operation == "VACUUM START":
            under_way.append(len(found))
            found.append(
                Vacuum(
                    start=version,
                    began_ms=_time(facts, version, body),
                    planned=_number(metrics.get("numFilesToDelete")),
                    retention_ms=_retention(parameters),
                    is_ours=_OURS in str(body.get("engineInfo")),
                )
            )
        elif operation == "VACUUM END" and under_way:
            at = under_way.pop()
            found[at] = _ended(facts, found[at], version, body)
    return found


def judge_vacuums(facts: LogFacts) -> Iterator[Finding]:
    """What the commits of vacuums say by themselves; what a later vacuum made good is not
    told."""
    every = recorded_vacuums(facts)
    done = max((found.start for found in every if found.is_complete), default=-1)
    for found in every:
        if found.start < done or found.is_complete:
            continue
        planned = "" if found.planned is None else f": {count(found.planned, 'file')} to delete"
        if found.end is not None:
            yield Finding(
                severity="warning",
                finding="vacuum that failed",
                problem=f"The vacuum that started in version {found.start} recorded in version "
                f"{found.end} that it failed{planned}.",
                reason="Some of the files may be deleted, and others not.",
                evidence=render_commit_name(found.end),
                spec=_SPEC,
                remedy="Vacuum again: the plan lists what is left.",
                repair="vacuum",
            )
            continue
        is_young = facts.now_ms - found.began_ms < _AT_WORK
        yield Finding(
            severity="note" if is_young else "warning",
            finding="vacuum without an end",
            problem=f"A vacuum started in version {found.start} ({_shown(found.began_ms)}), and no "
            f"version records its end{planned}.",
            reason="It is still running, or it was interrupted: some of the files may be "
            "deleted, and others not."
            if is_young
            else "It was interrupted: some of the files may be deleted, and others not.",
            evidence=render_commit_name(found.start),
            spec=_SPEC,
            remedy="Wait until it has ended; a restore waits for a day."
            if is_young
            else "Vacuum again: the plan lists what is left.",
            repair=None if is_young else "vacuum",
        )


def vacuums_against_folder(
    facts: LogFacts, snapshot: Snapshot, listed: ListedFiles, watch: Watch
) -> Iterator[Finding]:
    """Vacuums that say that they deleted files, and left some that they had to delete. Nothing
    where the commits that are left cannot be replayed: others tell that."""
    every = [found for found in recorded_vacuums(facts) if found.is_complete and found.deleted]
    if not every:
        return
    floor_ms = milliseconds(retention_floor(facts.configuration))
    cutoffs = [found.began_ms - (found.retention_ms or floor_ms) for found in every]
    try:
        folder = _Folder(snapshot, facts, listed, watch)
    except CorruptLogError:
        return
    earlier_ms = -(2**62)
    for found, cutoff_ms in zip(every, cutoffs, strict=True):
        left = folder.left_by(found, cutoff_ms, earlier_ms)
        earlier_ms = max(earlier_ms, cutoff_ms)
        if not left:
            continue
        verb = "is" if len(left) == 1 else "are"
        yield Finding(
            severity="warning",
            finding="vacuum that left files",
            problem=f"According to version {found.end} a vacuum deleted "
            f"{count(found.deleted or 0, 'file')}, but {count(len(left), 'file')} that it had to "
            f"delete {verb} still there.",
            reason=f"The table removed {'it' if len(left) == 1 else 'them'} before "
            f"{_shown(cutoff_ms)}, such as {left[0][:200]!r}: the vacuum ended early, or somebody "
            f"put {'it' if len(left) == 1 else 'them'} back.",
            evidence=render_commit_name(found.end or 0),
            spec=_SPEC,
            remedy="Vacuum again: the plan lists what is left.",
            repair="vacuum",
        )


class _Folder:
    """What the table removed for good, and which of these files are there."""

    def __init__(
        self, snapshot: Snapshot, facts: LogFacts, listed: ListedFiles, watch: Watch
    ) -> None:
        live = kept_files(snapshot, 2**62).live

        def keep(events: pa.Table) -> pa.Table:
            """What may have been removed for good: a live file may have lost its vector."""
            lives = _is_in(file_of_each(events, snapshot.uri)[0], live.inside)
            has_vector = events.column("deletion_vector").is_valid()
            return events.filter(pc.or_(pc.invert(lives), has_vector))

        events = read_events(snapshot.store, facts.listing, watch, keep)
        self._names, self._versions, self._times = _removals(events)
        paths = listed.paths
        live = live.joined(names_through_links(snapshot.store, listed.others, live.names))
        there = read_flags(_is_in(paths, self._names)) & ~read_flags(is_kept(paths, live))
        there &= ~read_flags(is_hidden(paths, partition_names(snapshot)))
        there &= ~read_flags(lie_below(paths, listed.tables))
        found = listed.select(pa.chunked_array([build_array(there)]), snapshot.store)
        self._there, self._modified = found.column("path"), read_numbers(found.column("modified"))
        self._is_listed = read_flags(_is_in(self._names, paths))
        # a file may be removed under several vectors
        at = pc.index_in(self._names, value_set=in_one_piece(self._there))
        is_one = read_flags(at.is_valid())
        rows = read_values(at.drop_null())
        self._removed_ms = np.zeros(len(self._there), np.int64)
        self._removed_by = np.zeros(len(self._there), np.int64)
        np.maximum.at(self._removed_ms, rows, self._times[is_one])
        np.maximum.at(self._removed_by, rows, self._versions[is_one])

    def left_by(self, vacuum: Vacuum, cutoff_ms: int, earlier_ms: int) -> list[str]:
        """The files that a vacuum had to delete and that are there; those removed at or before
        `earlier_ms` were an earlier one's. One that was modified since may have been copied
        then, or put back: it counts only where the vacuum claims more than what is gone."""
        left = (self._removed_ms <= cutoff_ms) & (self._removed_ms > earlier_ms)
        left &= self._removed_by < vacuum.start
        sure = left & ((self._modified <= cutoff_ms) | vacuum.is_ours)
        asked = (self._times <= cutoff_ms) & (self._times > earlier_ms)
        asked &= ~self._is_listed & (self._versions < vacuum.start)
        gone = pc.count_distinct(self._names.filter(build_array(asked))).as_py()
        if (vacuum.deleted or 0) > gone:
            sure |= left & (self._modified > vacuum.ended_ms)
        found: list[str] = self._there.filter(build_array(sure)).to_pylist()
        return found


def _removals(
    events: FileEvents,
) -> tuple[pa.ChunkedArray, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Each file of a logical file whose last event is a removal: its name as a listing has it,
    the version, and when that says that it was, in milliseconds."""
    last = events.newest
    removed = last.filter(build_array(read_values(last.column("kind")) == REMOVE))
    names: list[pa.Array] = []
    versions: list[npt.NDArray[np.int64]] = [np.zeros(0, np.int64)]
    times: list[npt.NDArray[np.int64]] = [np.zeros(0, np.int64)]
    for each in file_of_each(removed, events.root):
        if each is not None:
            known = each.is_valid()
            names += each.filter(known).chunks
            rows = removed.filter(known)
            versions.append(read_values(rows.column("version")))
            times.append(read_numbers(rows.column("time")))
    return pa.chunked_array(names, pa.string()), np.concatenate(versions), np.concatenate(times)


def _is_in(names: pa.ChunkedArray, others: pa.ChunkedArray) -> pa.ChunkedArray:
    if not others.num_chunks:
        others = pa.chunked_array([string_column([])])
    return pc.is_in(names, value_set=others)


def _ended(facts: LogFacts, begun: Vacuum, version: int, body: Mapping[str, Any]) -> Vacuum:
    return Vacuum(
        start=begun.start,
        began_ms=begun.began_ms,
        planned=begun.planned,
        retention_ms=begun.retention_ms,
        is_ours=begun.is_ours,
        end=version,
        ended_ms=_time(facts, version, body),
        deleted=_number(_fields(body, "operationMetrics").get("numDeletedFiles")),
        status=str(_fields(body, "operationParameters").get("status")).upper(),
    )


def _fields(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = body.get(name)
    return found if isinstance(found, Mapping) else {}


def _number(value: Any) -> int | None:
    text = str(value)
    return int(text) if type(value) in {int, str} and text.isdecimal() and len(text) < 19 else None


def _retention(parameters: Mapping[str, Any]) -> int | None:
    """The longest that it may have kept files for: newer releases of the reference say what
    was asked of them, and go by the table's own unless that is 0."""
    asked = _number(parameters.get("specifiedRetentionMillis"))
    usual = _number(parameters.get("defaultRetentionMillis"))
    if asked == 0:
        return 0
    known: Iterable[int] = [value for value in (asked, usual) if value is not None]
    return max(known, default=None)


def _time(facts: LogFacts, version: int, body: Mapping[str, Any]) -> int:
    """When a commit was made, as its writer says; else as its file does."""
    said = body.get("timestamp")
    if type(said) is int and abs(said) < 2**62:
        return said
    return in_commit_ms(body) or facts.time_of(version) or facts.now_ms


def _shown(milliseconds_: int) -> str:
    return render_minute(utc_time(milliseconds_))
