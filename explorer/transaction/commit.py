"""The commit loop (spec: Creation of New Log Entries, In-Commit Timestamps).

A commit is one file, created only where none is. The loser of a race looks at
what the concurrent commits did and either follows them or reports the conflict as a value.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from explorer.errors import (
    ConflictError,
    CorruptLogError,
    DeltaError,
    NotFoundError,
    Problem,
    StorageError,
    UntouchedError,
)
from explorer.log.commits.commit_info import read_commit_info
from explorer.log.folder.listing import build_listing
from explorer.progress import Cancel
from explorer.protocol.file_actions import RemoveFile
from explorer.protocol.filenames import LOG_FOLDER, render_commit_path
from explorer.protocol.values.utc_times import render_second
from explorer.storage.ports import PutOutcome, ReadStore, WriteStore
from explorer.table.times import CLOCK_TOLERANCE_MS, Clock, has_in_commit_timestamps, utc_time
from explorer.transaction.attempt import (
    Attempt,
    build_attempt,
    enables_in_commit_timestamps,
)
from explorer.transaction.concurrent_commit import (
    ConcurrentCommit,
    newest_version,
    read_concurrent_commits,
    version_after,
)
from explorer.transaction.conflicts import (
    Conflict,
    commit_gone,
    find_conflict,
    version_replaced,
)
from explorer.transaction.read_version import NO_TABLE
from explorer.transaction.requirements import check_commit
from explorer.transaction.staged import StagedCommit

# how often an outcome that stays unknown is looked into before giving up
_UNKNOWN_LIMIT = 5

_YOUNG_MS = 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """The version that a staged commit became, its timestamp in milliseconds, and what a person
    ought to hear of it: that the time lies far ahead of this clock."""

    version: int
    timestamp: int
    warnings: tuple[Problem, ...] = ()


@dataclass(slots=True, kw_only=True)
class Doubt:
    """What is not known of a commit while, and after, the store is asked to create it: `version`
    may be there, and be ours; None where nothing was asked for, or the answer is known."""

    version: int | None = None


_FIRST_SECONDS = 0.002
_LONGEST_SECONDS = 0.5


def back_off(number: int) -> None:
    """Wait before try `number` (from 1): any time up to twice as long as before, so that
    writers who meet do not meet again."""
    most = min(_LONGEST_SECONDS, _FIRST_SECONDS * 2.0 ** min(number, 30))
    time.sleep(random.random() * most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """At most `limit` tries, with `pause` (which gets their number) before each but the
    first. Each lost race is another writer's commit, so that the limit is rarely met."""

    limit: int = 1000
    pause: Callable[[int], None] = field(default=back_off)


DEFAULT_RETRIES = Retries()


def commit(
    store: WriteStore,
    staged: StagedCommit,
    *,
    clock: Clock,
    retries: Retries = DEFAULT_RETRIES,
    cancel: Cancel | None = None,
    doubt: Doubt | None = None,
) -> Committed | Conflict:
    """Make `staged` the next version of the table.

    With in-commit timestamps each is later than the one before it, by a millisecond where that
    one lies ahead of `clock`; far ahead, the outcome carries a warning. Files that
    the actions name must be in the store already; after a conflict or an error
    they are there still, and no version knows them; after an error `doubt` says whether a
    version may. Raises `UnsupportedError` for what
    the table's features forbid, `ConflictError` after too many lost races, and
    `StorageError` where the outcome stays unknown.
    """
    doubt = doubt or Doubt()
    if (gone := _gone(store, staged)) is not None:
        return gone
    if staged.base.root is None:
        staged = replace(staged, base=replace(staged.base, root=store.uri))
    for number in range(1, retries.limit + 1):
        if cancel is not None:
            cancel.check()
        check_commit(staged)
        now = clock()
        attempt = build_attempt(staged, now)
        doubt.version = attempt.version
        is_created = _create(store, staged, attempt, retries, doubt)
        doubt.version = None
        if is_created:
            if _is_stranded(store, staged, clock()):
                return commit_gone(staged, attempt.version)
            return Committed(
                version=attempt.version,
                timestamp=attempt.timestamp,
                warnings=_warnings(attempt, now),
            )
        followed = _follow_concurrent_commits(store, staged)
        if isinstance(followed, Conflict):
            return followed
        staged = followed
        if number < retries.limit:
            retries.pause(number)
    raise ConflictError(
        f"The commit was overtaken {retries.limit} times.",
        reason="Other writers commit faster than this one can follow them.",
        remedy="Try again when there are fewer of them; nothing was changed.",
    )


def _warnings(attempt: Attempt, now: int) -> tuple[Problem, ...]:
    if attempt.timestamp <= now + CLOCK_TOLERANCE_MS:
        return ()
    found = Problem(
        kind="timestamp_out_of_range",
        problem=f"Version {attempt.version} has the time "
        f"{render_second(utc_time(attempt.timestamp))}, which is ahead of this clock.",
        reason="The version before it has a later time than now, and each version must be later "
        "than the one before.",
        remedy="Correct the clock of this machine if it is behind; until that time has passed, "
        "ages are unknown and nothing is deleted.",
        spec="In-Commit Timestamps",
    )
    return (found,)


def _gone(store: ReadStore, staged: StagedCommit) -> Conflict | None:
    """The conflict where the log was cut after the version that was read.

    Its successor is then gone as well, and a commit under that number would be one that
    no reader ever sees. A cleanup removes commits from the oldest on, so that as long as
    the commit of `base` is there, no later one is gone. A log that was removed, put back or
    begun again has no such version, or another one: actions made for one table must not
    become part of another.
    """
    base = staged.base
    version = base.version
    if version != NO_TABLE.version:
        try:
            is_same = _is_still(store, staged)
        except NotFoundError:
            return _without_base(store, staged)
        return None if is_same else version_replaced(staged)
    newest = newest_version(store)
    if newest is None or _is_there(store, 0):
        return None
    return commit_gone(staged, 0)


def _is_still(store: ReadStore, staged: StagedCommit) -> bool:
    """Whether the commit of the version that was read is the one that it was, going by its
    time; raises `NotFoundError` where there is none."""
    base = staged.base
    if has_in_commit_timestamps(base.protocol, base.metadata):
        found = read_commit_info(store, base.version).in_commit_ms
    else:
        found = store.stat(render_commit_path(base.version)).modified_ms
    # of those that were followed since, nobody asked for the time
    return base.timestamp is None or staged.first_read is not None or found == base.timestamp


def _without_base(store: ReadStore, staged: StagedCommit) -> Conflict | None:
    """The conflict, if there is one, where the commit of the version that was read is gone: a
    cleanup may take it once a checkpoint has the version. A newer checkpoint says, as a newer
    commit does, that the version has a successor."""
    version = staged.base.version
    try:
        names = store.list_names(LOG_FOLDER)
    except NotFoundError:
        return version_replaced(staged)
    listing = build_listing(names)
    if (listing.latest_version or 0) > version:
        return None if version + 1 in listing.commits else commit_gone(staged, version + 1)
    held = any(found.version == version for found in listing.checkpoints)
    return None if held else version_replaced(staged)


def _is_stranded(store: WriteStore, staged: StagedCommit, now: int) -> bool:
    """Whether a cleanup went on while the commit was made, so that it lies before the log that
    is left, where no reader sees it; it is taken away then.

    A cleanup keeps the log for a while, so that a commit upon a young version need not ask, nor
    one that has just followed others to the newest.
    """
    base = staged.base
    if staged.first_read is not None:
        return False
    if base.timestamp is not None and now - base.timestamp < _YOUNG_MS:
        return False
    version = base.version + 1
    with contextlib.suppress(DeltaError):  # it was created, whatever happens to the store now
        newest = newest_version(store)
        if newest is None or newest <= version or _is_there(store, version + 1):
            return False
        if not _is_there(store, version):  # others followed it, and a cleanup took them all
            return False
        store.delete(render_commit_path(version))
        return True
    return False


def _is_there(store: ReadStore, version: int) -> bool:
    try:
        store.stat(render_commit_path(version))
    except NotFoundError:
        return False
    return True


def _follow_concurrent_commits(store: ReadStore, staged: StagedCommit) -> StagedCommit | Conflict:
    """The same commit upon the newest version, or the first conflict on the way there."""
    for concurrent in read_concurrent_commits(store, staged.base.version + 1):
        if not isinstance(concurrent, ConcurrentCommit):
            return commit_gone(staged, concurrent)
        if (conflict := find_conflict(staged, concurrent)) is not None:
            return conflict
        base = version_after(staged.base, concurrent, _time_of(store, staged, concurrent))
        staged = _with_ids_since(staged.upon(base), concurrent)
    return staged


def _with_ids_since(staged: StagedCommit, concurrent: ConcurrentCommit) -> StagedCommit:
    if not (concurrent.add_rows.num_rows and (staged.removes or staged.of(RemoveFile))):
        return staged
    from explorer.transaction.row_ids import with_ids_since  # noqa: PLC0415  # brings Arrow

    return with_ids_since(staged, concurrent.adds)


def _time_of(store: ReadStore, staged: StagedCommit, concurrent: ConcurrentCommit) -> int | None:
    """The time of the concurrent commit, where this commit has to be later."""
    if concurrent.in_commit_timestamp is not None:
        return concurrent.in_commit_timestamp
    if not has_in_commit_timestamps(staged.protocol, staged.metadata):
        return None
    if not enables_in_commit_timestamps(staged):
        return None  # it had to say so, and readers refuse it
    return store.stat(render_commit_path(concurrent.version)).modified_ms


@dataclass(slots=True)
class _Asking:
    """What a store was asked for: the commit may be there where it was once, and did not fail
    before it changed anything. `failure` is that of the last time."""

    may_be_there: bool = False
    failure: StorageError | None = None

    def put(self, store: WriteStore, path: str, attempt: Attempt) -> PutOutcome:
        """Create the commit; a store that cannot promise to raises `UnsupportedError`."""
        self.failure = None
        outcome = PutOutcome.UNKNOWN
        try:
            outcome = store.put_if_absent(path, attempt.content)
        except UntouchedError as error:
            self.failure = error
            return outcome
        except StorageError as error:  # which need not mean that nothing arrived
            self.failure = error
        self.may_be_there = True
        return outcome


def _create(
    store: WriteStore, staged: StagedCommit, attempt: Attempt, retries: Retries, doubt: Doubt
) -> bool:
    """Whether the version is now `attempt` by our doing; False where another was first."""
    asking = _Asking()
    try:
        return _is_created(store, staged, attempt, retries, asking)
    except DeltaError:
        if not asking.may_be_there:
            doubt.version = None
        raise


def _is_created(
    store: WriteStore, staged: StagedCommit, attempt: Attempt, retries: Retries, asking: _Asking
) -> bool:
    path = render_commit_path(attempt.version)
    for number in range(1, _UNKNOWN_LIMIT + 1):
        if asking.put(store, path, attempt) is PutOutcome.CREATED:
            return True
        try:
            # even where it was there already: a client may have sent its request twice
            return _is_ours(store, path, attempt)
        except NotFoundError:
            if asking.failure is not None and number == 1:
                raise asking.failure from None  # later ones tell nothing of those before them
            if _gone(store, staged) is not None:
                break  # a cleanup took what was there, and it may have been ours
        except StorageError as error:  # what is there cannot be seen: it may be ours
            asking.failure = asking.failure or error
            retries.pause(number)
        # it did not arrive, or has not yet: creating it again is safe either way
    if asking.failure is not None and not asking.may_be_there:
        raise asking.failure
    raise StorageError(
        "The outcome of a commit is unknown.",
        reason=f"The store neither confirms nor shows {path}.",
        remedy="Read the newest version before trying again: the commit may still appear.",
    ) from asking.failure


def _is_ours(store: ReadStore, path: str, attempt: Attempt) -> bool:
    """Whether `path` holds our commit, which its transaction id tells."""
    first = attempt.first_line
    if store.read(path, limit=len(first)) != first:
        return False
    if attempt.is_content_of(store.read(path)):
        return True
    raise CorruptLogError(
        f"The commit at {path} is damaged.",
        reason="It begins as this writer sent it, but continues differently.",
        remedy="Do not write to this table; ask whoever runs the store.",
        spec="Delta Log Entries",
    )
