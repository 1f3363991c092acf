"""When a version was committed, and which version a moment belongs to
(spec: In-Commit Timestamps, Time Travel).

Where in-commit timestamps are active they are the truth; before that it is the
modification time of the commit file, made monotonic.
"""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from explorer.errors import CorruptLogError, InvalidArgumentError, NotFoundError, brief
from explorer.log.commits.commit_info import (
    in_commit_ms,
    monotonic,
    read_commit_info,
    read_provenance,
)
from explorer.log.folder.listing import LogListing
from explorer.protocol.actions import EPOCH, Metadata, Protocol
from explorer.protocol.features.registry import is_active
from explorer.protocol.filenames import (
    LOG_FOLDER,
    parse_commit_version,
    render_commit_name,
    render_commit_path,
)
from explorer.protocol.table_properties import known_properties as known
from explorer.protocol.values.utc_times import iso_time, render_second
from explorer.records import record
from explorer.storage.ports import ReadStore

CLOCK_TOLERANCE_MS = 5 * 60_000
"""How far a time may lie ahead of this clock before it is odd, and all ages are in doubt."""

# what a datetime can hold; a log may claim more
_FIRST_MS = (datetime.min.replace(tzinfo=UTC) - EPOCH) // timedelta(milliseconds=1)
_LAST_MS = (datetime.max.replace(tzinfo=UTC) - EPOCH) // timedelta(milliseconds=1)

IN_COMMIT_FEATURES = ("inCommitTimestamp", "inCommitTimestamp-preview")

Clock = Callable[[], int]
"""Tells the time in milliseconds since the epoch."""


def system_clock() -> int:
    """The time by this machine, in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def parse_now(now: str | datetime | None) -> int:
    """The time to judge ages by, in milliseconds since the epoch: this machine's where none is
    given; raises what `parse_timestamp` raises."""
    return system_clock() if now is None else parse_timestamp(now)


@record
class InCommitTimes:
    """From which version on in-commit timestamps count; `since_ms` is that
    version's own, None where they count from the first version."""

    since_version: int
    since_ms: int | None


def has_in_commit_timestamps(protocol: Protocol | None, metadata: Metadata | None) -> bool:
    """Whether every commit of such a table carries its own time (spec: In-Commit Timestamps)."""
    if protocol is None or metadata is None:
        return False
    return any(is_active(name, protocol, metadata, None) for name in IN_COMMIT_FEATURES)


def in_commit_times(protocol: Protocol, metadata: Metadata) -> InCommitTimes | None:
    """Whether, and from where, in-commit timestamps are active; None where they are not."""
    if not has_in_commit_timestamps(protocol, metadata):
        return None
    configuration = metadata.configuration
    version = known.IN_COMMIT_TIMESTAMP_VERSION.text_in(configuration)
    since = known.IN_COMMIT_TIMESTAMP_TIME.text_in(configuration)
    if version is None or since is None:
        return InCommitTimes(since_version=0, since_ms=None)
    try:
        return InCommitTimes(since_version=int(version), since_ms=int(since))
    except ValueError as error:
        raise CorruptLogError(
            "It is unknown when in-commit timestamps were enabled.",
            reason="`delta.inCommitTimestampEnablementVersion` or `…Timestamp` is not a number.",
            remedy="Ask for a version instead of a time, and correct the table's properties.",
            spec="In-Commit Timestamps",
        ) from error


def counting(
    recorded: Sequence[int | None], versions: Sequence[int], since: int | None
) -> list[int | None]:
    """Those in-commit timestamps that count: of `versions` from `since` on, none where that
    is None. A writer may record them without the feature, and then they mean nothing."""
    return [
        time if since is not None and version >= since else None
        for time, version in zip(recorded, versions, strict=True)
    ]


def parse_timestamp(value: str | datetime) -> int:
    """Milliseconds since the epoch; raises `InvalidArgumentError` for a time without a zone."""
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    except (ValueError, TypeError) as error:
        raise InvalidArgumentError(
            f"{brief(value)} is not a valid time.",
            reason="It is not written as ISO 8601.",
            remedy=f"Write {_without_zone(value) or 'it like 2026-11-01T00:00:00'}Z.",
        ) from error
    if moment.tzinfo is None:
        raise InvalidArgumentError(
            f"{value} has no time zone.",
            reason="Without a time zone the time is ambiguous.",
            remedy=f"Write {moment.isoformat()}Z for UTC, or an offset such as +02:00 behind it.",
        )
    return (moment - EPOCH) // timedelta(milliseconds=1)


def _without_zone(value: object) -> str | None:
    """The time of a text that is none only because of its last letter, as `2026-11-01Z`."""
    try:
        found = datetime.fromisoformat(str(value).strip().removesuffix("Z").removesuffix("z"))
    except ValueError:
        return None
    return None if found.tzinfo is not None else found.isoformat()


def utc_time(milliseconds: int) -> datetime:
    """Milliseconds since the epoch as an aware UTC time; the nearest representable one
    where the log claims more."""
    return EPOCH + timedelta(milliseconds=min(max(milliseconds, _FIRST_MS), _LAST_MS))


def shown_time(milliseconds: int) -> str:
    """`2026-11-01 10:22:03 UTC`."""
    return render_second(utc_time(milliseconds))


def shown_millisecond(milliseconds: int) -> str:
    """`2026-11-01 10:22:03.007 UTC`, where the second does not tell two times apart."""
    return f"{shown_time(milliseconds)[:-4]}.{milliseconds % 1000:03} UTC"


def modification_times(
    store: ReadStore,
    listing: LogListing,
    versions: Sequence[int],
    read_modified: Callable[[], Mapping[int, int]] | None = None,
) -> list[int]:
    """Modification times of commit files of `listing` as they are, in milliseconds; of many by
    `read_modified`, which need not know them all, where that is given."""
    if listing.stored:
        return [listing.stored[render_commit_name(version)].modified_ms for version in versions]
    if len(versions) <= 64:
        return [store.stat(render_commit_path(version)).modified_ms for version in versions]
    listed = _list_modified(store) if read_modified is None else read_modified()
    missing = {
        version: store.stat(render_commit_path(version)).modified_ms
        for version in versions
        if version not in listed
    }
    return [missing[version] if version in missing else listed[version] for version in versions]


def _list_modified(store: ReadStore) -> dict[int, int]:
    return {
        version: info.modified_ms
        for info in store.list_folder(LOG_FOLDER)
        if (version := parse_commit_version(info.name)) is not None
    }


def commit_time(
    store: ReadStore,
    listing: LogListing,
    commits: Sequence[int],
    version: int,
    active: InCommitTimes | None,
    read_modified: Callable[[], Mapping[int, int]] | None = None,
) -> int:
    """The time of one version, in milliseconds; `commits` is the contiguous run that ends there
    or later and begins with the oldest that counts, `read_modified` as in `modification_times`."""
    if active is not None and version >= active.since_version:
        return _in_commit_ms(store, version)
    chain = [number for number in commits if number <= version]
    return monotonic(modification_times(store, listing, chain, read_modified))[-1]


def commit_times(
    store: ReadStore, listing: LogListing, run: Sequence[int], active: InCommitTimes | None
) -> list[int]:
    """The times of `run`, ascending commits without a gap, in milliseconds: of those with
    in-commit timestamps these, of the others the modification times, made monotonic. A commit
    that lacks its timestamp counts by its file, and never as older than one before it."""
    times = monotonic(modification_times(store, listing, run))
    if active is None:
        return times
    recorded = [version for version in run if version >= active.since_version]
    first = len(run) - len(recorded)
    for at, (body, _) in enumerate(read_provenance(store, recorded), start=first):
        found = in_commit_ms(body)
        times[at] = times[at] if found is None else found
    return times


def version_at(
    store: ReadStore,
    listing: LogListing,
    run: Sequence[int],
    first: int,
    wanted_ms: int,
    active: InCommitTimes | None,
) -> int:
    """The newest version committed at or before `wanted_ms`.

    `run` are the commits without a gap that are left; versions from `first` on can
    be travelled to, and times are made monotonic over all of the run. Raises `NotFoundError`
    before the first and after the last of them, as the reference does. Where
    in-commit timestamps were switched on later, a moment is looked up only on its
    own side of the switch.
    """
    commits = run[bisect_left(run, first) :]
    chosen, time_of = _side_of(store, listing, run, commits, wanted_ms, active)
    if wanted_ms < (earliest := time_of(chosen[0])):
        raise _out_of_range(wanted_ms, "before", chosen[0], earliest)
    # a version beyond the switch exists, so that no moment before it is too late
    if chosen[-1] == commits[-1] and wanted_ms > (latest := time_of(chosen[-1])):
        raise _out_of_range(wanted_ms, "after", chosen[-1], latest)
    return chosen[bisect_right(chosen, wanted_ms, key=time_of) - 1]


def version_from(
    store: ReadStore,
    listing: LogListing,
    run: Sequence[int],
    wanted_ms: int,
    active: InCommitTimes | None,
) -> int:
    """The oldest version of `run` committed at or after `wanted_ms`, by the times of
    `version_at`; raises `NotFoundError` where all of them are older."""
    chosen, time_of = _side_of(store, listing, run, run, wanted_ms, active)
    at = bisect_left(chosen, wanted_ms, key=time_of)
    if at < len(chosen):
        return chosen[at]
    if chosen[-1] < run[-1]:  # the first version beyond the switch is newer
        return chosen[-1] + 1
    raise _out_of_range(wanted_ms, "after", chosen[-1], time_of(chosen[-1]))


def _side_of(  # where times are, and which are asked for
    store: ReadStore,
    listing: LogListing,
    run: Sequence[int],
    commits: Sequence[int],
    wanted_ms: int,
    active: InCommitTimes | None,
) -> tuple[Sequence[int], Callable[[int], int]]:
    """Those of `commits`, the last of `run`, that are on the moment's side of the switch to
    in-commit timestamps, and what tells their times."""
    first_new = len(commits) if active is None else bisect_left(commits, active.since_version)
    old, new = commits[:first_new], commits[first_new:]
    since_ms = None if active is None else active.since_ms
    if new and (not old or since_ms is None or wanted_ms >= since_ms):
        return new, _in_commit_lookup(store)
    return old, _file_lookup(store, listing, run[: bisect_right(run, old[-1])])


def _in_commit_lookup(store: ReadStore) -> Callable[[int], int]:
    return lambda version: _in_commit_ms(store, version)


def _file_lookup(
    store: ReadStore, listing: LogListing, commits: Sequence[int]
) -> Callable[[int], int]:
    times = monotonic(modification_times(store, listing, commits))
    return dict(zip(commits, times, strict=True)).__getitem__


def _in_commit_ms(store: ReadStore, version: int) -> int:
    found = read_commit_info(store, version)
    if found.in_commit_ms is None:
        raise CorruptLogError(
            f"Version {version} has no in-commit timestamp.",
            reason="The table's properties say that every commit since they were enabled has one.",
            remedy="Ask for a version instead of a time.",
            spec="In-Commit Timestamps",
        )
    return found.in_commit_ms


def _out_of_range(wanted_ms: int, side: str, version: int, at_ms: int) -> NotFoundError:
    wanted, at = iso_time(utc_time(wanted_ms)), iso_time(utc_time(at_ms))
    which = "earliest" if side == "before" else "latest"
    return NotFoundError(
        f"This table has no version for {wanted}.",
        reason=f"The {which} version that can be read, {version}, was committed at {at}.",
        remedy=f"Ask for a time not {side} {at}, or for version {version}.",
        kind="timestamp_out_of_range",
        spec="In-Commit Timestamps",
    )
