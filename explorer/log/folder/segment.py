"""Which files of a log make up one version (spec: Action Reconciliation, Checkpoints).

No I/O: a listing in, a `LogSegment` out.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from explorer.errors import (
    CorruptLogError,
    DeltaError,
    NotFoundError,
    UnusableCheckpointError,
)
from explorer.log.folder.listing import CheckpointFiles, LogListing
from explorer.records import record


@record
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
    Raises `NotFoundError` for a version that is not in the log,
    `CorruptLogError` where commits that it needs are missing.
    """
    latest = listing.latest_version
    if latest is None:
        raise _empty_log(listing)
    if version is None and newest_named(listing) != latest:
        raise _incomplete(listing, newest_named(listing))
    wanted = latest if version is None else version
    if not _speaks_of(listing, wanted):
        if any(found.version == wanted for found in listing.incomplete_checkpoints):
            raise _incomplete(listing, wanted)
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


def newest_named(listing: LogListing) -> int:
    """The newest version that a commit or a checkpoint names, one that lacks parts too; the log
    is not empty."""
    newest = -1 if listing.latest_version is None else listing.latest_version
    return max(newest, *(found.version for found in listing.incomplete_checkpoints), -1)


def in_words(segment: LogSegment) -> str:
    """What a version is read from: `the checkpoint of version 10 and 5 commits`."""
    number = len(segment.commits)
    commits = "1 commit" if number == 1 else f"{number:,} commits"
    if segment.checkpoint is None:
        return commits
    checkpoint = f"the checkpoint of version {segment.checkpoint.version}"
    return f"{checkpoint} and {commits}" if number else checkpoint


def needed_commits(listing: LogListing, version: int) -> list[range]:
    """The commits that are missing between `version` and the newest checkpoint in the listing
    that is not newer, or the beginning."""
    starts = (found.version for found in listing.checkpoints if found.version <= version)
    return missing_versions(listing.commits, max(starts, default=-1) + 1, version)


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


def _incomplete(listing: LogListing, version: int) -> CorruptLogError:
    missing = gaps_in_words(needed_commits(listing, version))
    return CorruptLogError(
        f"Version {version} cannot be reconstructed, because its checkpoint lacks parts.",
        reason=f"The commits that would replace it are missing ({missing}).",
        remedy=_restore(listing),
        kind="log_gap",
        spec="Multi-part checkpoint",
    )


def _empty_log(listing: LogListing) -> NotFoundError | CorruptLogError:
    if listing.incomplete_checkpoints:
        return _incomplete(listing, newest_named(listing))
    held = "only files that are not part of a log" if listing.foreign else "no commit"
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


def gaps_in_words(missing: Sequence[range]) -> str:
    """`3, 5 to 9`; the first few of many."""
    shown = [str(gap[0]) if len(gap) == 1 else f"{gap[0]} to {gap[-1]}" for gap in missing[:5]]
    return ", ".join(shown)


def _restore(listing: LogListing) -> str:
    """The way out where what is left in the `listing` does not lead to a version."""
    if not listing.checkpoints and listing.commits[:1] != (0,):
        return "Restore the missing files from a backup: without them no version can be opened."
    return (
        "Restore the missing files from a backup, or ask for an older version by its number; "
        "`inspect` shows the newest that can be read."
    )


def no_other_way(
    failed: UnusableCheckpointError, listing: LogListing, version: int, cause: DeltaError
) -> UnusableCheckpointError:
    """The error for a version whose checkpoint `failed`, and that what else is in the `listing`
    does not lead to either: `cause` says why. That a store fails stays its own error."""
    if failed.kind != UnusableCheckpointError.default_kind:
        return failed
    if missing := needed_commits(listing, version):
        other = f"The commits that would replace it are missing ({gaps_in_words(missing)})."
    else:
        other = f"The commits do not help: {cause.problem} {cause.reason}"
    return UnusableCheckpointError(
        f"Version {version} cannot be reconstructed, because its checkpoint cannot be used.",
        reason=f"{failed.problem} {failed.reason} {other}",
        remedy=_restore(listing),
        spec=failed.spec,
    )


def _gap(listing: LogListing, wanted: int, missing: list[range]) -> CorruptLogError:
    shown = gaps_in_words(missing)
    verb = "is" if len(missing) == 1 and len(missing[0]) == 1 else "are"
    also = " and no usable checkpoint covers them" if listing.checkpoints else ""
    return CorruptLogError(
        f"Version {wanted} can no longer be reconstructed.",
        reason=f"The log has non-contiguous versions ({shown} {verb} missing){also}.",
        remedy=_restore(listing),
        kind="log_gap",
        spec="Delta Log Entries",
    )
