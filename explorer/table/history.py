"""The commits of a table as a table (spec: Commit Provenance Information)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

import pyarrow as pa

from explorer.log.actions.columns import (
    TIME,
    bool_column,
    int64_column,
    string_column,
    time_column,
)
from explorer.log.commits.commit_info import monotonic
from explorer.log.commits.info_bodies import INFO_SCHEMA
from explorer.log.commits.recorded_infos import RecordedInfos, read_recorded
from explorer.log.folder.listing import LogListing
from explorer.storage.ports import ReadStore
from explorer.table.times import counting, modification_times

_IN_COMMIT = "in_commit_ms"
_FIRST_PIECE: Final = 512

HISTORY_SCHEMA = pa.schema(
    [
        pa.field("version", pa.int64()),
        pa.field("timestamp", TIME),
        *(field for field in INFO_SCHEMA if field.name != _IN_COMMIT),
        pa.field("is_checkpoint", pa.bool_()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFilter:
    """Which commits are asked for; what a commit does not record is not what was asked.

    - `operations`: whose operation is one of these or begins with it as a word, in any case:
      `vacuum` is VACUUM START and VACUUM END, `update` is not STREAMING UPDATE
    - `user`: whose user name has this text in it, in any case
    - `since_ms`: which were committed at this time or later
    """

    operations: tuple[str, ...] = ()
    user: str | None = None
    since_ms: int | None = None

    def select(self, history: pa.Table) -> pa.Table:
        """Those rows of a history that are asked for."""
        import pyarrow.compute as pc  # noqa: PLC0415  # 9 MiB that no other history needs

        found = history
        if self.operations:
            named = pc.utf8_lower(found.column("operation"))
            words = [name.strip().lower() for name in self.operations]
            whole = pc.is_in(named, string_column(words))
            begun = (pc.starts_with(named, f"{word} ") for word in words)
            found = found.filter(reduce(pc.or_, begun, whole))
        if self.user is not None:
            text = found.column("user_name")
            found = found.filter(pc.match_substring(text, self.user, ignore_case=True))
        if self.since_ms is not None:
            since = time_column([self.since_ms])[0]
            found = found.filter(pc.greater_equal(found.column("timestamp"), since))
        return found


def read_history(
    store: ReadStore,
    listing: LogListing,
    limit: int | None,
    in_commit_since: Callable[[], int | None],
    wanted: CommitFilter | None = None,
) -> pa.Table:
    """The newest `limit` commits (all where None), newest first, as `HISTORY_SCHEMA`; of those
    that are `wanted` where that is given.

    What a commit does not record, or records as another type, is null. A
    commit's time is its in-commit timestamp from the version on that `in_commit_since`
    names (none where it answers None; asked only where a commit records one), else its
    file's modification time.
    """
    if limit is not None and limit <= 0:
        return _read(store, listing, (), in_commit_since)
    if wanted is None or wanted == CommitFilter():
        newest = listing.commits if limit is None else listing.commits[-limit:]
        return _read(store, listing, newest[::-1], in_commit_since)
    pieces: list[pa.Table] = []
    for versions in _pieces(listing.commits[::-1]):
        piece = _read(store, listing, versions, in_commit_since)
        pieces.append(wanted.select(piece))
        if limit is not None and sum(found.num_rows for found in pieces) >= limit:
            break
        if wanted.since_ms is not None and _are_older(
            listing, piece, wanted.since_ms, in_commit_since()
        ):
            break
    found = pa.concat_tables(pieces) if pieces else HISTORY_SCHEMA.empty_table()
    return found if limit is None else found.slice(0, limit)


def _pieces(newest_first: Sequence[int]) -> Iterator[Sequence[int]]:
    """Few commits first, since the newest ones are often enough; then more at a time."""
    start, size = 0, _FIRST_PIECE
    while start < len(newest_first):
        yield newest_first[start : start + size]
        start, size = start + size, size * 4


def _are_older(
    listing: LogListing, piece: pa.Table, since_ms: int, in_commit_since: int | None
) -> bool:
    """Whether all commits before the last one of a piece are from before `since_ms`. Where that
    one has an in-commit timestamp and others have the times of their files, it cannot tell."""
    oldest = piece.slice(piece.num_rows - 1)
    (version,) = oldest.column("version").to_pylist()
    (time_ms,) = oldest.column("timestamp").cast(pa.int64()).to_pylist()
    first = listing.commits[0]
    has_one_clock = in_commit_since is None or not first < in_commit_since <= version
    return bool(has_one_clock and time_ms < since_ms)


def _read(
    store: ReadStore,
    listing: LogListing,
    versions: Sequence[int],
    in_commit_since: Callable[[], int | None],
) -> pa.Table:
    """These commits, newest first, in this order."""
    infos = list(read_recorded(store, versions))
    recorded = pa.Table.from_batches([info.columns for info in infos], INFO_SCHEMA)
    times = _times(
        recorded.column(_IN_COMMIT),
        versions,
        in_commit_since,
        lambda: _file_times(store, listing, versions, infos),
    )
    checkpoints = {found.version for found in listing.checkpoints}
    columns = {
        "version": int64_column(versions),
        "timestamp": time_column(times),
        **dict(zip(INFO_SCHEMA.names, recorded.columns, strict=True)),
        "is_checkpoint": bool_column([version in checkpoints for version in versions]),
    }
    return pa.Table.from_arrays(
        [columns[name] for name in HISTORY_SCHEMA.names], schema=HISTORY_SCHEMA
    )


def _times(
    in_commit: pa.ChunkedArray,
    versions: Sequence[int],
    in_commit_since: Callable[[], int | None],
    file_times: Callable[[], list[int]],
) -> Sequence[int | None]:
    if in_commit.null_count == len(in_commit):
        return file_times()
    times = counting(in_commit.to_pylist(), versions, in_commit_since())
    if None not in times:
        return times
    return [at if time is None else time for time, at in zip(times, file_times(), strict=True)]


def _file_times(
    store: ReadStore,
    listing: LogListing,
    newest_first: Sequence[int],
    infos: Iterable[RecordedInfos],
) -> list[int]:
    """Modification times, made monotonic; `infos` have those that reading told."""
    known = [at for info in infos for at in info.modified_ms if at is not None]
    oldest_first = known[::-1]
    if len(known) < len(newest_first):
        oldest_first = modification_times(store, listing, newest_first[::-1])
    return monotonic(oldest_first)[::-1]
