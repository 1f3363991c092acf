"""Which files of a log make up one version (spec: Action Reconciliation, Checkpoints).

No I/O: a listing in, a `LogSegment` out.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from explorer.errors import CorruptLogError, NotFoundError
from explorer.log.folder.listing import CheckpointFiles, LogListing


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSegment:
    """The checkpoint and the commits that together say what `version` holds.

    Relied on everywhere: `commits` ascends without a gap, ends with `version`,
    and begins right after the checkpoint (at 0 without one). It is empty only
    where the checkpoint itself is of `version`.
    """

    version: int
    checkpoint: CheckpointFiles | None
    commits: range

    def __post_init__(self) -> None:
        first = 0 if self.checkpoint is None else self.checkpoint.version + 1
        if self.commits != range(first, self.version + 1):
            raise AssertionError(
                f"commits {self.commits} do not lead from {first} to {self.version}"
            )


def build_segment(listing: LogListing, version: int | None = None) -> LogSegment:
    """The segment of `version`, or of the latest version where it is None.

    It begins at the newest complete checkpoint that is not newer than `version`.
    Raises `NotFoundError` for a version that the log does not speak of,
    `CorruptLogError` where commits that it needs are missing.
    """
    latest = listing.latest_version
    if latest is None:
        raise _empty_log(listing)
    wanted = latest if version is None else version
    if not _speaks_of(listing, wanted):
        raise _no_such_version(listing, wanted, latest)
    checkpoint = next(
        (found for found in reversed(listing.checkpoints) if found.version <= wanted),
        None,
    )
    first = 0 if checkpoint is None else checkpoint.version + 1
    missing = missing_versions(listing.commits, first, wanted)
    if missing:
        raise _gap(listing, wanted, missing)
    return LogSegment(version=wanted, checkpoint=checkpoint, commits=range(first, wanted + 1))


def missing_versions(commits: tuple[int, ...], first: int, last: int) -> list[range]:
    """The gaps in ascending `commits` between `first` and `last`, both inclusive."""
    inside = commits[bisect_left(commits, first) : bisect_right(commits, last)]
    if len(inside) == max(0, last - first + 1):
        return []
    gaps: list[range] = []
    expected = first
    for version in inside:
        if version > expected:
            gaps.append(range(expected, version))
        expected = version + 1
    if expected <= last:
        gaps.append(range(expected, last + 1))
    return gaps


def _speaks_of(listing: LogListing, version: int) -> bool:
    at = bisect_left(listing.commits, version)
    if at < len(listing.commits) and listing.commits[at] == version:
        return True
    # the commit may be gone from below its checkpoint
    return any(found.version == version for found in listing.checkpoints) or (
        bool(listing.commits) and listing.commits[0] <= version <= listing.commits[-1]
    )


def _empty_log(listing: LogListing) -> NotFoundError:
    held = "only files that are not part of a log" if listing.foreign else "no commit"
    if listing.incomplete_checkpoints:
        held = "an incomplete checkpoint and no commit"
    return NotFoundError(
        "This table's log is empty.",
        reason=f"The folder _delta_log holds {held}.",
        remedy="Wait for the first commit, or check that the log was copied completely.",
        kind="log_empty",
        spec="Delta Log Entries",
    )


def _no_such_version(listing: LogListing, wanted: int, latest: int) -> NotFoundError:
    known = [found.version for found in listing.checkpoints[:1]] + list(listing.commits[:1])
    return NotFoundError(
        f"Version {wanted} is not in this table's log.",
        reason=f"The log has versions {min(known)} to {latest}.",
        remedy=f"Ask for a version between {min(known)} and {latest}.",
        kind="version_not_found",
        spec="Delta Log Entries",
    )


def _gap(listing: LogListing, wanted: int, missing: list[range]) -> CorruptLogError:
    shown = ", ".join(
        str(gap[0]) if len(gap) == 1 else f"{gap[0]} to {gap[-1]}" for gap in missing[:5]
    )
    verb = "is" if len(missing) == 1 and len(missing[0]) == 1 else "are"
    also = " and no usable checkpoint covers them" if listing.checkpoints else ""
    return CorruptLogError(
        f"Version {wanted} can no longer be put together.",
        reason=f"The log has non-contiguous versions ({shown} {verb} missing){also}.",
        remedy="Restore the missing commit files from a backup, or open a version that a "
        "checkpoint covers.",
        kind="log_gap",
        spec="Delta Log Entries",
    )
