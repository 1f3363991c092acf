"""One row per commit, from the commits themselves (spec: Delta Log Entries)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from typing import Any

import pyarrow as pa

from explorer.errors import DeltaError
from explorer.inspect.commits._commit_summary import CommitSummary, parse_summary
from explorer.inspect.commits.commit_lines import read_commits
from explorer.inspect.frames import Column, build_batch, schema_of
from explorer.log.actions.columns import TIME, bool_column, int64_column, string_column, time_column
from explorer.log.commits.timed_listing import TimedListing
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.filenames import render_commit_name
from explorer.table.table import Table
from explorer.table.times import counting

COLUMNS: dict[str, Column] = {
    "version": (int64_column, pa.int64()),
    "timestamp": (time_column, TIME),
    "operation": (string_column, pa.string()),
    "user_name": (string_column, pa.string()),
    "engine_info": (string_column, pa.string()),
    "predicate": (string_column, pa.string()),
    "message": (string_column, pa.string()),
    "files_added": (int64_column, pa.int64()),
    "files_removed": (int64_column, pa.int64()),
    "bytes_added": (int64_column, pa.int64()),
    "bytes_removed": (int64_column, pa.int64()),
    "rows_added": (int64_column, pa.int64()),
    "rows_removed": (int64_column, pa.int64()),
    "deletion_vectors_added": (int64_column, pa.int64()),
    "has_protocol": (bool_column, pa.bool_()),
    "has_metadata": (bool_column, pa.bool_()),
    "schema_fingerprint": (string_column, pa.string()),
    "has_cdc": (bool_column, pa.bool_()),
    "problem": (string_column, pa.string()),
    "log_file": (string_column, pa.string()),
    "is_checkpoint": (bool_column, pa.bool_()),
}

_BATCH_ROWS = 4096
_PROGRESS_EVERY = 256
_PROGRESS_BYTES = 4 * 2**20
"""Few commits may be long ones."""


def timeline(  # noqa: PLR0913 - one name for each thing that can be set
    table: Table,
    *,
    first: int | None = None,
    last: int | None = None,
    only: Collection[int] | None = None,
    listed: TimedListing | None = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> pa.Table:
    """One row per commit file of the versions `first` to `last`, newest first; of these
    versions only those in `only`, where that is given. Who reads a long history part by part
    gives what was `listed` of it (`Table.listed_times`), which takes long by itself.

    What a commit does not record is null, never 0; how files, bytes and rows are
    counted stands in `explorer.inspect.commits._commit_summary`. `timestamp` is the
    in-commit timestamp where that counts, else the file's modification time, made
    monotonic over the whole log. `predicate` is the condition that the writer recorded, and
    `message` its `userMetadata`, both cut at `LONGEST_TEXT` characters. `is_checkpoint` says
    that a complete checkpoint of the version is there. `schema_fingerprint` tells the schemas
    of commits with metadata apart. A commit that cannot be read has a row whose `problem` says
    why.
    """
    found = table.listed_times.list_log(table.store) if listed is None else listed
    versions = [
        version
        for version in reversed(found.listing.commits)
        if (first is None or version >= first)
        and (last is None or version <= last)
        and (only is None or version in only)
    ]
    batches = list(_batches(table, found, versions, progress, cancel))
    return pa.Table.from_batches(batches, schema_of(COLUMNS))


def _batches(
    table: Table,
    found: TimedListing,
    versions: Sequence[int],
    progress: ProgressCallback | None,
    cancel: Cancel | None,
) -> Iterator[pa.RecordBatch]:
    checkpoints = {checkpoint.version for checkpoint in found.listing.checkpoints}
    # asked only where a commit records such a time
    in_commit_since = cache(table.in_commit_since)
    rows: list[tuple[Any, ...]] = []
    watch, untold = Watch(progress=progress, cancel=cancel), 0
    for done, (version, data) in enumerate(
        zip(versions, read_commits(table.store, versions), strict=True)
    ):
        if done % _PROGRESS_EVERY == 0 or untold >= _PROGRESS_BYTES:
            watch.step(done, len(versions), "Reading commits")
            untold = 0
        untold += 0 if isinstance(data, DeltaError) else len(data)
        row = _row(version, data, found.file_times[version], in_commit_since)
        rows.append((*row, version in checkpoints))
        if len(rows) == _BATCH_ROWS:
            yield build_batch(COLUMNS, rows)
            rows = []
    if rows:
        yield build_batch(COLUMNS, rows)


def _row(
    version: int,
    data: bytes | DeltaError,
    file_time: int,
    in_commit_since: Callable[[], int | None],
) -> tuple[Any, ...]:
    name = render_commit_name(version)
    if isinstance(data, DeltaError):
        summary = CommitSummary(problem=f"{data.problem} {data.reason}")
    else:
        summary = parse_summary(data, name)
    time = summary.in_commit_timestamp
    if time is not None:
        (time,) = counting([time], [version], in_commit_since())
    return (
        version,
        file_time if time is None else time,
        summary.operation,
        summary.user_name,
        summary.engine_info,
        summary.predicate,
        summary.message,
        summary.files_added,
        summary.files_removed,
        summary.bytes_added,
        summary.bytes_removed,
        summary.rows_added,
        summary.rows_removed,
        summary.deletion_vectors_added,
        summary.has_protocol,
        summary.has_metadata,
        summary.schema_fingerprint,
        summary.has_cdc,
        summary.problem,
        name,
    )
