"""One row per commit, from the commits themselves (spec: Delta Log Entries)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from explorer.errors import DeltaError
from explorer.inspect.commits._commit_summary import CommitSummary, parse_summary
from explorer.inspect.commits.commit_lines import read_commits
from explorer.inspect.frames import Column, build_batch, schema_of
from explorer.log.actions.columns import TIME, bool_column, int64_column, string_column, time_column
from explorer.log.commits.prefetched_columns import LARGE_FILE
from explorer.log.commits.timed_listing import TimedListing
from explorer.log.plain_arrays import build_array, in_one_piece
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.filenames import render_commit_name, render_commit_names
from explorer.storage.ports import HeadStore, ReadStore, offers
from explorer.table.table import Table
from explorer.table.times import counting

if TYPE_CHECKING:
    from explorer.inspect.commits._summary_columns import SummaryRows

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

ENOUGH: Final = 4096
"""Commits; fewer are read one by one before all that is needed for more is imported."""

_PIECE_COMMITS = 4096
_PIECE_BYTES = 2**21

# pieces; their files are held until they have been read
_AHEAD = 2

# after so many pieces in a row of which no commit could be told the next ones are like them
_MOST_MISSES = 3

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
    pieces = _pieces(table.store, versions, Watch(progress=progress, cancel=cancel))
    rows = _Rows(
        found=found,
        checkpoints=frozenset(checkpoint.version for checkpoint in found.listing.checkpoints),
        # asked only where a commit records such a time
        in_commit_since=cache(table.in_commit_since),
    )
    # threads make many small reads slower, and what takes long in others is not reading
    is_worth_it = len(versions) >= ENOUGH and offers(table.store, HeadStore)
    batches = _in_columns(pieces, rows) if is_worth_it else map(rows.of_piece, pieces)
    return pa.Table.from_batches(list(batches), schema_of(COLUMNS))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """Some commits, newest first, and their bytes, or why they cannot be read."""

    versions: Sequence[int]
    files: Sequence[bytes | DeltaError]


def _pieces(store: ReadStore, versions: Sequence[int], watch: Watch) -> Iterator[_Piece]:
    start, files, held, untold = 0, list[bytes | DeltaError](), 0, 0
    for done, data in enumerate(read_commits(store, versions)):
        if done % _PROGRESS_EVERY == 0 or untold >= _PROGRESS_BYTES:
            watch.step(done, len(versions), "Reading commits")
            untold = 0
        size = 0 if isinstance(data, DeltaError) else len(data)
        held, untold = held + size, untold + size
        files.append(data)
        if len(files) == _PIECE_COMMITS or held >= _PIECE_BYTES:
            yield _Piece(versions=versions[start : done + 1], files=files)
            start, files, held = done + 1, [], 0
    if files:
        yield _Piece(versions=versions[start:], files=files)


def _in_columns(pieces: Iterator[_Piece], rows: _Rows) -> Iterator[pa.RecordBatch]:
    """A thread reads commits into columns, mostly outside of Python, while the next ones are
    fetched."""
    # see `explorer.storage.concurrent_reads` for why the first is here; the other brings a parser
    from concurrent.futures import Future, ThreadPoolExecutor  # noqa: PLC0415

    from explorer.inspect.commits._summary_columns import SummaryReader  # noqa: PLC0415

    reader, misses = SummaryReader(), 0
    waiting: deque[tuple[_Piece, Future[SummaryRows | None]]] = deque()

    def finish() -> pa.RecordBatch:
        nonlocal misses
        piece, coming = waiting.popleft()
        told = coming.result()
        misses = 0 if told is not None else misses + 1
        return rows.of_piece(piece) if told is None else rows.of_told(piece, told)

    with ThreadPoolExecutor(1, thread_name_prefix="delta-explorer-lines") as pool:
        try:
            for piece in pieces:
                if misses >= _MOST_MISSES:
                    while waiting:
                        yield finish()
                    yield rows.of_piece(piece)
                    continue
                small = [_small(data) for data in piece.files]
                waiting.append((piece, pool.submit(reader.read, small)))
                if len(waiting) > _AHEAD:
                    yield finish()
            while waiting:
                yield finish()
        finally:
            for _, coming in waiting:
                coming.cancel()


def _small(data: bytes | DeltaError) -> bytes:
    """What is read into columns of a commit; nothing where it is to be read by itself."""
    return b"" if isinstance(data, DeltaError) or len(data) >= LARGE_FILE else data


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """The rows of a timeline, by the bytes of their commits."""

    found: TimedListing
    checkpoints: frozenset[int]
    in_commit_since: Callable[[], int | None]

    def of_piece(self, piece: _Piece) -> pa.RecordBatch:
        """All commits of a piece, one by one."""
        pairs = zip(piece.versions, piece.files, strict=True)
        return build_batch(COLUMNS, [self._row(version, data) for version, data in pairs])

    def of_told(self, piece: _Piece, told: SummaryRows) -> pa.RecordBatch:
        """The same, where some were read into columns."""
        size = len(piece.versions)
        is_left = np.ones(size, np.bool_)
        is_left[told.places] = False
        left = np.flatnonzero(is_left)
        rest = build_batch(
            COLUMNS, [self._row(piece.versions[at], piece.files[at]) for at in left.tolist()]
        )
        versions = [piece.versions[at] for at in told.places.tolist()]
        columns = self._columns(versions, told)
        batch = pa.RecordBatch.from_arrays(
            [in_one_piece(columns[name]) for name in COLUMNS], schema=schema_of(COLUMNS)
        )
        order = np.empty(size, np.int64)
        order[np.concatenate([told.places, left])] = np.arange(size)
        return pa.concat_batches([batch, rest]).take(build_array(order))

    def _columns(
        self, versions: Sequence[int], told: SummaryRows
    ) -> dict[str, pa.Array | pa.ChunkedArray]:
        recorded = told.columns["in_commit_timestamp"]
        times: Sequence[int | None] = [None] * len(versions)
        if recorded.null_count < len(recorded):
            times = counting(recorded.to_pylist(), versions, self.in_commit_since())
        file_times = self.found.file_times
        nothing = pa.nulls(len(versions), pa.string())
        false = build_array(np.zeros(len(versions), np.bool_))
        return {
            **told.columns,
            "version": int64_column(versions),
            "timestamp": time_column(
                [
                    file_times[version] if time is None else time
                    for version, time in zip(versions, times, strict=True)
                ]
            ),
            **dict.fromkeys(("has_protocol", "has_metadata", "has_cdc"), false),
            **dict.fromkeys(("schema_fingerprint", "problem"), nothing),
            "log_file": string_column(render_commit_names(versions)),
            "is_checkpoint": bool_column([version in self.checkpoints for version in versions]),
        }

    def _row(self, version: int, data: bytes | DeltaError) -> tuple[Any, ...]:
        name = render_commit_name(version)
        if isinstance(data, DeltaError):
            summary = CommitSummary(problem=f"{data.problem} {data.reason}")
        else:
            summary = parse_summary(data, name)
        time = summary.in_commit_timestamp
        if time is not None:
            (time,) = counting([time], [version], self.in_commit_since())
        return (
            version,
            self.found.file_times[version] if time is None else time,
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
            version in self.checkpoints,
        )
