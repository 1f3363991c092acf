"""The first rows that a delete or an update is about, as they are and as they would be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final

import pyarrow as pa
from pyroaring import BitMap64

from explorer.log.actions.columns import bool_column
from explorer.pipeline.changing._change_tasks import ReadRowsToChange
from explorer.pipeline.changing.beginning import BegunChange
from explorer.pipeline.removing.leaving import find_leaving
from explorer.pipeline.removing.workplace import Workplace
from explorer.pipeline.tasks.file_tasks import NUM_RECORDS, open_group
from explorer.protocol.schema import VARIANT
from explorer.protocol.schema_walk import walk_types
from explorer.rows.data_file.data_file import FILE_COLUMNS
from explorer.rows.layout import layout_of
from explorer.rows.request import build_request
from explorer.rows.row_values import row_objects
from explorer.rows.stored_rows import rows_to_change
from explorer.table.frames import sum_of
from explorer.writing.changes.candidates import WHOLE, Candidates
from explorer.writing.changes.changed_rows import BEFORE, ROW_ID
from explorer.writing.changes.found_rows import POSITIONS, found_table, parse_positions

MOST_ROWS: Final = 10
"""Rows that a plan shows."""

_INDEX: Final = "_row_index"


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstRows:
    """`before` has rows of the table as they are, `after` the same ones, in the same order, with
    their new values: None for a delete, and where nobody computed them. Variants are left out."""

    before: pa.Table = field(repr=False)
    after: pa.Table | None = field(default=None, repr=False)

    @property
    def document(self) -> dict[str, Any]:
        """As JSON."""
        after = None if self.after is None else list(row_objects(self.after))
        return {"before": list(row_objects(self.before)), "after": after}


def first_rows(place: Workplace, begun: BegunChange, found: pa.Table) -> FirstRows:
    """At most `MOST_ROWS` of the rows that a statement is about; `found` are those that were looked
    for. No more than so many files are read. Raises what reading rows raises, and what the rules of
    the table say against a new value."""
    candidates = begun.candidates
    first = found_table([*_first_found(found), *_first_whole(place, candidates, found)])
    # what goes as a whole is looked into here
    none = bool_column([False] * candidates.files.num_rows)
    at = candidates.files.schema.get_field_index(WHOLE)
    asked = replace(candidates, files=candidates.files.set_column(at, WHOLE, none))
    files = find_leaving(asked, first).files_with(whole=False)
    if begun.values_after is not None and files.num_rows:
        changed = begun.values_after(place, files)
        if changed is not None:
            held = changed.column(BEFORE).combine_chunks()
            before = pa.Table.from_arrays(held.flatten(), names=held.type.names)
            names = [name for name in before.column_names if name in changed.column_names]
            shown = _shown(candidates, names)
            return FirstRows(before=before.select(shown), after=changed.select(shown))
    read = ReadRowsToChange(store=place.store, request=rows_to_change(candidates.snapshot))
    rows = pa.Table.from_batches(read(files) if files.num_rows else [], read.schema)
    names = [name for name in rows.column_names if name != ROW_ID]
    return FirstRows(before=rows.select(_shown(candidates, names)))


def _shown(candidates: Candidates, names: list[str]) -> list[str]:
    fields = candidates.snapshot.schema.fields
    hidden = {item.name for item in fields if VARIANT in set(walk_types(item.data_type))}
    return [name for name in names if name not in hidden]


def _first_found(found: pa.Table) -> Iterator[tuple[str, BitMap64, int, int]]:
    left = MOST_ROWS
    for row in found.slice(0, MOST_ROWS).to_pylist():
        positions = BitMap64(islice(parse_positions(row[POSITIONS]), left))
        if positions:
            yield row["path"], positions, row["num_live"], row["num_physical"]
        left -= len(positions)


def _first_whole(
    place: Workplace, candidates: Candidates, found: pa.Table
) -> Iterator[tuple[str, BitMap64, int, int]]:
    left = MOST_ROWS - min(MOST_ROWS, sum_of(found.column("num_found")))
    files = candidates.whole.slice(0, left).select([*FILE_COLUMNS, NUM_RECORDS])
    if not files.num_rows:
        return
    request = build_request(layout_of(candidates.snapshot), (), (_INDEX,), None)
    for opened in open_group(place.store, request, files):
        positions = BitMap64()
        for batch in opened.batches():
            positions |= BitMap64(batch.column(_INDEX).to_pylist()[: left - len(positions)])
            if len(positions) == left:
                break
        physical = opened.opened.num_rows
        if positions:
            live = physical - len(opened.vector or ())
            yield opened.opened.file.path, positions, live, physical
        left -= len(positions)
        if not left:
            return
