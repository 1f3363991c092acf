"""Rows that were found leave their files: whole files go, vectors hide the rows of others, or the
rows that stay are copied (spec: Deletion Vectors, Row Tracking)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal
from uuid import uuid5

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import CorruptDataError
from explorer.log.actions.columns import ADD_COLUMNS, int32_column, string_column
from explorer.log.reconcile.key_columns import keys_of
from explorer.pipeline.removing._record_tasks import RecordRows
from explorer.pipeline.removing.workplace import Workplace
from explorer.pipeline.rewrite.rewrite import Rewrite, rewrite_groups
from explorer.pipeline.rewrite.write_files import GROUP, NUM_TARGETS, STATS, TARGET
from explorer.pipeline.tasks.file_tasks import NUM_RECORDS
from explorer.rows.data_file.data_file import FILE_COLUMNS
from explorer.rows.stored_rows import rows_to_change
from explorer.table.counts import count
from explorer.table.frames import sum_of
from explorer.table.snapshot import Snapshot
from explorer.writing.changes.candidates import Candidates, live_rows
from explorer.writing.changes.found_rows import POSITIONS
from explorer.writing.changes.hidden_rows import hide_rows, inline_vectors, only_these
from explorer.writing.changes.row_changes import (
    NO_FILES,
    NOTHING_WRITTEN,
    RowChanges,
    files_of,
    needs_change_data,
    takes_vectors,
)
from explorer.writing.files.folders import folder_of
from explorer.writing.files.row_files import WRITTEN_ROWS, change_data_form
from explorer.writing.statements.change_statement import ChangeStatement

_COPYING: Final = "Copying the rows that stay"
_MOST_COPIED_AROUND: Final = 1024
"""Rows of one file that may leave it while pages without them are copied as they are."""

_RECORDING: Final = "Writing change data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """The files that rows leave. `whole` go without being looked into, as candidates have them;
    `found` are rows of others (`FOUND`), of the live files `live`, in the same order."""

    snapshot: Snapshot
    whole: pa.Table
    found: pa.Table
    live: pa.Table

    @property
    def num_rows(self) -> int | None:
        """How many rows leave; None where the log does not say it of a file that goes."""
        held = live_rows(self.whole)
        return None if held is None else held + sum_of(self.found.column("num_found"))

    @property
    def _is_empty(self) -> pa.ChunkedArray:
        return pc.equal(self.found.column("num_found"), self.found.column("num_live"))

    @property
    def emptied(self) -> pa.Table:
        """The live files without a row left, by `found`."""
        return self.live.filter(self._is_empty)

    @property
    def kept(self) -> tuple[pa.Table, pa.Table]:
        """Of the live files with rows left, what was found, and the files."""
        stays = pc.invert(self._is_empty)
        return self.found.filter(stays), self.live.filter(stays)

    @property
    def copies(self) -> bool:
        """Whether rows have to be copied, because the table takes no new vectors."""
        snapshot = self.snapshot
        if takes_vectors(snapshot.protocol, snapshot.metadata):
            return False
        return bool(self.emptied.num_rows < self.found.num_rows)

    def files_with(self, *, whole: bool) -> pa.Table:
        """The files that hold the rows which leave, as `ReadFiles` reads exactly these rows: those
        of `found`, and with `whole` those of files that go unread."""
        counts = self.found.column("num_physical").to_pylist()
        only = only_these(self.live, self.found.column(POSITIONS).to_pylist(), counts)
        named = self.snapshot.with_logical_names(only).select(list(FILE_COLUMNS))
        files = named.append_column(NUM_RECORDS, self.found.column("num_physical"))
        if not whole:
            return files
        return pa.concat_tables([files, self.whole.select(files.schema.names)])


def check_updated(found: int, written: int) -> None:
    """Raise `CorruptDataError` unless each row that leaves a file has come into another one."""
    if found != written:
        raise CorruptDataError(
            "Not every row that was found was updated.",
            reason=f"Found were {count(found, 'row')}, and written {count(written, 'row')}.",
            remedy="Nothing was committed. Check the statistics of the table's files, and report "
            "this.",
            spec="Per-file Statistics",
        )


def find_leaving(candidates: Candidates, found: pa.Table) -> Leaving:
    """The files that go as a whole, and those of rows that were found."""
    snapshot, asked = candidates.snapshot, candidates.asked
    live = NO_FILES
    if found.num_rows:
        touched = asked.filter(pc.is_in(asked.column("path"), value_set=found.column("path")))
        live = files_of(snapshot.among(keys_of(touched), list(ADD_COLUMNS)), found.column("path"))
    return Leaving(snapshot=snapshot, whole=candidates.whole, found=found, live=live)


def let_leave(
    statement: ChangeStatement, place: Workplace, leaving: Leaving, *, records: bool = False
) -> RowChanges:
    """Take the rows out of their files. With `records` their change data are written too, each as a
    deleted row.

    Raises what reading and writing files raise; then new files may be left, for `remove_files_of`.
    """
    snapshot = leaving.snapshot
    gone = [leaving.emptied]
    if leaving.whole.num_rows:
        gone.insert(0, snapshot.among(keys_of(leaving.whole), list(ADD_COLUMNS)))
    feed = NOTHING_WRITTEN
    if records:
        feed = record_rows(statement, place, leaving.files_with(whole=True), "delete")
    found, live = leaving.kept
    if not live.num_rows:
        return RowChanges(removed=pa.concat_tables(gone), feed=feed)
    positions = found.column(POSITIONS).to_pylist()
    if leaving.copies:
        copied = _copy(statement, place, found, live)
        return RowChanges(removed=pa.concat_tables([*gone, live]), copied=copied, feed=feed)
    counts = found.column("num_physical").to_pylist()
    store = statement.target.store
    hidden = hide_rows(store, snapshot, live, positions, counts, statement.id)
    return RowChanges(removed=pa.concat_tables(gone), hidden=hidden, feed=feed)


def records_deletes(leaving: Leaving) -> bool:
    """Whether a delete of these rows writes change data."""
    snapshot = leaving.snapshot
    return needs_change_data(
        snapshot.protocol, snapshot.metadata, updates=False, copies=leaving.copies
    )


def record_rows(
    statement: ChangeStatement,
    place: Workplace,
    files: pa.Table,
    change_type: Literal["insert", "delete"],
) -> pa.Table:
    """Write all rows of some files as change data: new files, with the schema `WRITTEN_ROWS`."""
    task = RecordRows(
        store=statement.target.store,
        request=rows_to_change(statement.described),
        form=change_data_form(statement.protocol, statement.metadata),
        statement=statement.id,
        change_type=change_type,
    )
    return place.retries.hear(place.work(files, task, WRITTEN_ROWS, _RECORDING))


def _copy(
    statement: ChangeStatement, place: Workplace, found: pa.Table, live: pa.Table
) -> pa.Table:
    """New files with the rows of `live` files that were not found, one for each file."""
    snapshot, count = statement.snapshot, live.num_rows
    # where rows are hidden already, statistics are of others too
    is_exact = pc.and_(
        pc.is_null(live.column("deletion_vector")),
        pc.less_equal(found.column("num_found"), _MOST_COPIED_AROUND),
    )
    stats = pc.if_else(is_exact, live.column("stats"), pa.scalar(None, pa.string()))
    live = inline_vectors(snapshot, live, found.column(POSITIONS).to_pylist())
    values = live.column("partition_values").to_pylist()
    targets = []
    for number, pairs in enumerate(values):
        unique = uuid5(statement.id, f"copy/{number}")
        folder = folder_of(snapshot.protocol, snapshot.metadata, dict(pairs or ()), unique)
        targets.append(f"{folder}copy-{number:05}-{statement.id}")
    files = live.select(list(FILE_COLUMNS))
    groups = int32_column(list(range(count)))
    for name, column in (
        (NUM_RECORDS, found.column("num_physical")),
        (GROUP, groups),
        (TARGET, string_column(targets)),
        (NUM_TARGETS, int32_column([1] * count)),
        (STATS, stats),
    ):
        files = files.append_column(name, column)
    wanted = Rewrite(snapshot=snapshot, files=files)
    written = rewrite_groups(
        statement.target.store, wanted, place.session, watch=place.watch, label=_COPYING
    )
    written = place.retries.hear(written)
    at = written.column("group").combine_chunks()
    held = live.column("partition_values").combine_chunks().take(at)
    return written.append_column("partition_values", held).select(WRITTEN_ROWS.names)
