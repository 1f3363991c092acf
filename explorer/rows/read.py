"""The rows of a snapshot: file by file, all at once, or the first for a look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from explorer.errors import InvalidArgumentError
from explorer.progress import UNWATCHED, Cancel, ProgressCallback, Watch
from explorer.rows.data_file.data_file import FILE_COLUMNS, data_file_batches
from explorer.rows.data_file.deletion_vectors import VectorFiles
from explorer.rows.data_file.parquet_file import BATCH_ROWS
from explorer.rows.data_file.prefetched_files import MOST_PREFETCHED, Opening, prefetch_files
from explorer.rows.data_file.read_file import FileRows, open_rows
from explorer.rows.data_file.unrelated_file import unrelated_problem
from explorer.rows.layout import layout_of
from explorer.rows.request import RowRequest, build_request, first_rows
from explorer.scan.plan import plan_scan
from explorer.scan.predicate.parse import parse_predicate
from explorer.table.snapshot import Snapshot

PREVIEW_ROWS = 1000
_SMALL_BATCH = 1024
"""Rows that are worth one step, however few are wanted: most may be hidden."""
_ONE_AT_FIRST = 1
"""Files of which the first may have rows enough."""
_LABEL = "Reading rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowScan:
    """What `plan_rows` found must be read: `files` has the columns `FILE_COLUMNS`."""

    snapshot: Snapshot
    request: RowRequest
    files: pa.Table

    @property
    def schema(self) -> pa.Schema:
        """The schema of every batch."""
        return self.request.schema

    def batches(
        self, *, limit: int | None = None, watch: Watch = UNWATCHED
    ) -> Iterator[pa.RecordBatch]:
        """The rows, at most `limit`, file by file; of one file a row group's needed
        bytes and a batch are held at a time, and none is opened that is not needed; where
        requests take long, the first bytes of the next files too (see `prefetch_files`).

        Raises `CancelledError` between two batches.
        """
        return first_rows(self._every_batch(limit, watch), limit)

    def _every_batch(self, limit: int | None, watch: Watch) -> Iterator[pa.RecordBatch]:
        total = self.files.num_rows
        whole = limit is None or self.request.predicate is not None
        size = BATCH_ROWS if whole else min(max(limit or 0, _SMALL_BATCH), BATCH_ROWS)
        for done, rows in enumerate(self.open_files(limit)):
            watch.step(done, total, _LABEL)
            for batch in rows.batches(size):
                if watch.cancel is not None:
                    watch.cancel.check()
                yield batch
        watch.step(total, total, _LABEL)

    def _told(self, files: Iterator[FileRows]) -> Iterator[FileRows]:
        """The same files; those that have no column of the table are told by the snapshot's
        `problems` afterwards."""
        unrelated: list[str] = []
        count = 0
        try:
            for rows in files:
                if rows.is_unrelated:
                    unrelated = unrelated or [rows.opened.file.path]
                    count += 1
                yield rows
        finally:
            if unrelated:
                version = self.snapshot.version
                self.snapshot.tell(unrelated_problem(version, unrelated[0], count))

    def open_files(self, limit: int | None) -> Iterator[FileRows]:
        """The rows of each file, open until the next are asked for; few files at first where
        few rows are wanted."""
        first = _ONE_AT_FIRST if limit else MOST_PREFETCHED
        yield from self._told(prefetch_files(self.snapshot.store, self._ways_to_open(), first))

    def _ways_to_open(self) -> Iterator[Opening]:
        store = self.snapshot.store
        for some in data_file_batches(self.files):
            described = (file.deletion_vector for file in some)
            vectors = VectorFiles(store, (found for found in described if found is not None))
            for file in some:
                rows = open_rows(store, file, self.request, vectors)
                yield Opening(size=file.size, rows=rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The first rows of a table; `is_cut` says that the table has more of them."""

    rows: pa.Table
    is_cut: bool


def plan_rows(
    snapshot: Snapshot,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    metadata_columns: Sequence[str] = (),
) -> RowScan:
    """Check what is asked for and choose the files, as `read_rows` does; no data file is
    opened."""
    predicate = None if where is None else parse_predicate(where, snapshot.schema)
    request = build_request(layout_of(snapshot), columns, metadata_columns, predicate)
    files = snapshot.files(FILE_COLUMNS) if where is None else plan_scan(snapshot, predicate).kept
    return RowScan(snapshot=snapshot, request=request, files=files)


def read_rows(  # noqa: PLR0913  # what is asked for, and who looks on
    snapshot: Snapshot,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    limit: int | None = None,
    metadata_columns: Sequence[str] = (),
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> pa.Table:
    """The rows of a snapshot in memory, at most `limit` of them, in no certain order.

    `columns` are names of the schema, None means all of them; `where` is a SQL
    predicate. `metadata_columns` may name `_row_id`, `_row_commit_version`,
    `_file_path` (as in the log) and `_row_index` (the physical position in the
    file, from 0); they come last.

    Types are those of `snapshot.arrow_schema`, except that every value may be
    null, and that a variant is its JSON text. Timestamps have microseconds, finer
    ones are cut. Columns that a file lacks are null; a file that lacks every one, and
    has no other column of the table, is told by `snapshot.problems` from then on.

    Raises `InvalidArgumentError` for names, conditions and limits that cannot be
    meant, `NotFoundError` where a data file is gone, `CorruptDataError` where one
    does not fit the log, and `UnsupportedError` for what must not be guessed.
    """
    check_limit(limit)
    scan = plan_rows(snapshot, columns, where, metadata_columns)
    watch = Watch(progress=progress, cancel=cancel)
    return pa.Table.from_batches(list(scan.batches(limit=limit, watch=watch)), scan.schema)


def preview(  # as above
    snapshot: Snapshot,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    limit: int = PREVIEW_ROWS,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> Preview:
    """The first `limit` rows for looking, and whether there are more.

    Columns, types and errors are those of `read_rows`. Files are opened until there
    are enough rows, and one more.
    """
    check_limit(limit)
    found = read_rows(snapshot, columns, where, limit + 1, progress=progress, cancel=cancel)
    is_cut = found.num_rows > limit
    return Preview(rows=found.slice(0, limit) if is_cut else found, is_cut=is_cut)


def check_limit(limit: int | None) -> None:
    """Raise `InvalidArgumentError` for what is not a number of rows."""
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
        raise InvalidArgumentError(
            f"{str(limit)[:40]} is not a valid limit.",
            reason="A limit is a number of rows.",
            remedy="Give a whole number from 0 on, or None for all rows.",
        )
