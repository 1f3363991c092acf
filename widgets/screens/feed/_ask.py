"""The change data feed of a range of versions: counts, and rows for a look."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

import explorer.inspect as look
from explorer.errors import Problem
from explorer.progress import Watch
from explorer.rows.changes.feed import CHANGE_TYPES, plan_feed
from explorer.rows.request import first_rows
from explorer.table.frames import sum_of
from widgets.screens.rows.ask import PREVIEW_ROWS, Rows, plain_rows
from widgets.session.tables import TableService

NEW_VERSIONS = 10
"""Versions that are counted where the address names no range: that takes a moment."""


def count_changes(service: TableService, first: int, last: int, watch: Watch) -> look.ChangeTotals:
    """Rows by version and type of change. Raises as `explorer.read_changes`."""
    return look.change_totals(
        service.table, first, last, progress=watch.progress, cancel=watch.cancel
    )


KINDS = {
    "insert": ("insert",),
    "update": ("update_preimage", "update_postimage"),
    "delete": ("delete",),
}
"""What happened to a row, as people choose it, with its types of change."""


def read_changed_rows(
    service: TableService, first: int, last: int, kind: str, watch: Watch
) -> Rows:
    """The first changed rows of the range, what happened to them first; of one of `KINDS`, of any
    where that is empty. Raises as `explorer.read_changes`."""
    problems: list[Problem] = []
    feed = plan_feed(service.table, first, last, watch)
    batches = _of_kind(feed.batches(watch=watch, tell=problems.append), kind)
    found = pa.Table.from_batches(list(first_rows(batches, PREVIEW_ROWS + 1)), feed.schema)
    names = found.column_names
    shown = found.select([*names[-3:], *names[:-3]]).slice(0, PREVIEW_ROWS)
    rows = plain_rows(shown, is_cut=found.num_rows > PREVIEW_ROWS)
    return replace(rows, problems=tuple(problems))


def _of_kind(batches: Iterator[pa.RecordBatch], kind: str) -> Iterator[pa.RecordBatch]:
    if not kind:
        return batches
    wanted = pa.array(KINDS[kind])
    return (batch.filter(pc.is_in(batch.column("_change_type"), wanted)) for batch in batches)


def count_kinds(totals: look.ChangeTotals) -> dict[str, int]:
    """How many rows of each of `KINDS` changed, both sides of an update as one, and of any kind
    at all under an empty name."""
    sums = {name: sum_of(totals.versions.column(name)) for name in (*CHANGE_TYPES, "other")}
    found = {kind: max(sums[name] for name in types) for kind, types in KINDS.items()}
    return {"": sum(found.values()) + sums["other"], **found}
