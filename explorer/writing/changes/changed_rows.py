"""New and updated rows on their way into files, and what the feed is told of them (spec: Add CDC
File, Change Data Files, Writer Requirements for Row Tracking).

An updated row keeps its id, and has no commit version of its own: it gets that of the file, the
version that is made. New rows have neither. Rows of change data have none at all.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Final
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import bool_column, string_column, string_scalar
from explorer.protocol.actions import Metadata, Protocol
from explorer.storage.ports import WriteStore
from explorer.writing.files.row_files import (
    CHANGE_TYPE,
    DEFAULT_FILE_BYTES,
    WRITTEN_ROWS,
    RowFiles,
    RowForm,
    change_data_form,
    row_form,
)
from explorer.writing.gate.arrow_gate import one_batch

KIND: Final = "delta_explorer.kind"
"""What becomes of a row: one of the three below."""

BEFORE: Final = "delta_explorer.before"
"""An updated or deleted row as it was, a struct with the table's columns; null for a new one."""

ROW_ID: Final = "delta_explorer.row_id"

UPDATE: Final = "update"
INSERT: Final = "insert"
DELETE: Final = "delete"

IS_CHANGE_DATA: Final = "is_change_data"
TOLD_CHANGES: Final = WRITTEN_ROWS.append(pa.field(IS_CHANGE_DATA, pa.bool_()))
"""What is told of new files, and whether each is one of change data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeForm:
    """How changed rows become files; `feed` is None where no change data are written."""

    rows: RowForm
    feed: RowForm | None = None

    @property
    def keeps_ids(self) -> bool:
        """Whether rows have to bring `ROW_ID`."""
        return bool(self.rows.ids)

    @property
    def carried(self) -> tuple[str, ...]:
        """What rows have beside the table's columns."""
        ids = (ROW_ID,) if self.keeps_ids else ()
        return (KIND, *ids, *(() if self.feed is None else (BEFORE,)))


def change_form(
    protocol: Protocol,
    metadata: Metadata,
    *,
    with_feed: bool,
    target_bytes: int = DEFAULT_FILE_BYTES,
) -> ChangeForm:
    """The form of changed rows of a table with this protocol and metadata: those of the version
    that is to be."""
    return ChangeForm(
        rows=row_form(
            protocol,
            metadata,
            target_bytes=target_bytes,
            with_ids=True,
        ),
        feed=change_data_form(protocol, metadata) if with_feed else None,
    )


class ChangedRowFiles:
    """The new files of one attempt of one task, as `RowFiles`: of rows, and of change data.

    Batches have the table's columns, as the gate gives them, and those of `ChangeForm.carried`.
    """

    def __init__(  # noqa: PLR0913  # which task, which run of it
        self,
        store: WriteStore,
        form: ChangeForm,
        statement: UUID,
        *,
        task: int = 0,
        attempt: int = 0,
        run: int = 0,
        threads: int | None = None,
    ) -> None:
        self._form = form
        files = partial(RowFiles, store, task=task, attempt=attempt, run=run, threads=threads)
        self._rows = files(form=form.rows, statement=statement)
        self._feed: RowFiles | None = None
        if form.feed is not None:
            self._feed = files(form=form.feed, statement=statement)
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> ChangedRowFiles:
        """Nothing is written before there are rows."""
        self._stack.enter_context(self._rows)
        if self._feed is not None:
            self._stack.enter_context(self._feed)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """All files whole, or those that are left are the statement's to remove."""
        self._stack.__exit__(kind, error, trace)

    def add(self, rows: pa.RecordBatch) -> None:
        """Further rows."""
        kinds = rows.column(KIND)
        stays = pc.not_equal(kinds, string_scalar(DELETE))
        if pc.any(stays).as_py():
            self._rows.add(self._with_ids(rows.filter(stays)))
        if self._feed is not None:
            for changes in _change_data(rows, self._feed_names()):
                self._feed.add(changes)

    def written(self) -> pa.RecordBatch:
        """What became of it, after the block, with the schema `TOLD_CHANGES`."""
        told = [(self._rows.written(), False)]
        if self._feed is not None:
            told.append((self._feed.written(), True))
        batches = [
            pa.RecordBatch.from_arrays(
                [*batch.columns, bool_column([is_feed] * batch.num_rows)], schema=TOLD_CHANGES
            )
            for batch, is_feed in told
        ]
        return (
            one_batch(pa.Table.from_batches(batches))
            if any(batch.num_rows for batch in batches)
            else batches[0]
        )

    def _with_ids(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        if not self._form.keeps_ids:
            return rows
        ids, versions = self._form.rows.ids
        count = rows.num_rows
        added = {ids: rows.column(ROW_ID), versions: pa.nulls(count, pa.int64())}
        names = [*rows.schema.names, *added]
        return pa.RecordBatch.from_arrays([*rows.columns, *added.values()], names=names)

    def _feed_names(self) -> list[str]:
        assert self._form.feed is not None
        return [name for name in self._form.feed.rows.names if name != CHANGE_TYPE]


def _change_data(rows: pa.RecordBatch, names: list[str]) -> Iterator[pa.RecordBatch]:
    """Rows as the feed has them: an update twice, before and after it."""
    kinds = rows.column(KIND)
    for kind, change_type, is_before in (
        (UPDATE, "update_preimage", True),
        (UPDATE, "update_postimage", False),
        (DELETE, "delete", True),
        (INSERT, "insert", False),
    ):
        some = rows.filter(pc.equal(kinds, string_scalar(kind)))
        if not some.num_rows:
            continue
        if is_before:
            before = some.column(BEFORE)
            arrays = dict(zip(before.type.names, before.flatten(), strict=True))
            columns = [arrays[name] for name in names]
        else:
            columns = [some.column(name) for name in names]
        label = string_column([change_type] * some.num_rows)
        yield pa.RecordBatch.from_arrays([*columns, label], names=[*names, CHANGE_TYPE])


def split_told(told: pa.Table) -> tuple[pa.Table, pa.Table]:
    """New files of rows, and of change data, both with the schema `WRITTEN_ROWS`."""
    is_feed = told.column(IS_CHANGE_DATA)
    files = told.select(WRITTEN_ROWS.names)
    return files.filter(pc.invert(is_feed)), files.filter(is_feed)
