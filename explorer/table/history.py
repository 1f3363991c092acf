"""The commits of a table as a table (spec: Commit Provenance Information)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa

from explorer.log.actions.columns import TIME, bool_column, int64_column, time_column
from explorer.log.commits.commit_info import monotonic
from explorer.log.commits.info_bodies import INFO_SCHEMA
from explorer.log.commits.recorded_infos import RecordedInfos, read_recorded
from explorer.log.folder.listing import LogListing
from explorer.storage.ports import ReadStore
from explorer.table.times import counting, modification_times

_IN_COMMIT = "in_commit_ms"

HISTORY_SCHEMA = pa.schema(
    [
        pa.field("version", pa.int64()),
        pa.field("timestamp", TIME),
        *(field for field in INFO_SCHEMA if field.name != _IN_COMMIT),
        pa.field("is_checkpoint", pa.bool_()),
    ]
)


def read_history(
    store: ReadStore,
    listing: LogListing,
    limit: int | None,
    in_commit_since: Callable[[], int | None],
) -> pa.Table:
    """The newest `limit` commits (all where None), newest first, as `HISTORY_SCHEMA`.

    What a commit does not record, or records as another type, is null. A
    commit's time is its in-commit timestamp from the version on that `in_commit_since`
    names (none where it answers None; asked only where a commit records one), else its
    file's modification time.
    """
    newest = listing.commits if limit is None else listing.commits[-limit:] if limit > 0 else ()
    versions = newest[::-1]
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
