"""Rules of the table that statistics show to be broken (spec: Per-file Statistics;
`nullable` in Schema Serialization Format; Identity Columns).

A file whose statistics say nothing of a column passes: what only rows show is checked where
rows are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.plain_arrays import ZERO
from explorer.log.state.file_columns import FileColumns
from explorer.protocol.features.column_mapping import physical_path
from explorer.protocol.features.column_rules import identity_column
from explorer.protocol.schema import LONG
from explorer.protocol.schema_walk import FieldPlace, leaf_fields, render_path
from explorer.scan.statistics.column_statistics import FileFacts, StatisticsColumn, read_facts
from explorer.scan.statistics.required_columns import counted_for, nulls_beyond, required_columns
from explorer.table.counts import have
from explorer.transaction.rules.change import Change, Described, Problems, problem, shown

_AT_ONCE: Final = 8192


def validate_recorded_nulls(change: Change) -> Problems:
    """No new file counts a null in a column that may have none, also inside structs. A field of
    a struct that is null itself counts as null, so that where the struct may be, a field has as
    many nulls as the struct has: no more than any other field of it."""
    files = change.new_files
    spoken_of = list(_spoken_of(change.after)) if files.num_rows else []
    required = list(required_columns(spoken_of))
    if not required:
        return
    columns = [_column(place, change.after) for place in counted_for(required, spoken_of)]
    names: dict[str, list[str]] = {}
    for part, facts in _facts(files, columns):
        counts = {path: found.null_count for path, found in facts.columns.items()}
        for rule in required:
            wrong = part.filter(pc.greater(nulls_beyond(rule, counts), ZERO))
            if wrong.num_rows:
                found = names.setdefault(render_path(rule.path), [])
                found += wrong.column("path").to_pylist()
    for name, paths in names.items():
        yield problem(
            f"`{name[:120]}` may not be null, and {have(len(paths), 'new file')} nulls in it: "
            f"{shown(paths)}.",
            "Engines read such a column as one without nulls, and get values that nobody wrote "
            "or fail.",
            spec="Schema Serialization Format",
            remedy="Give these rows a value, or leave them out.",
        )


def validate_recorded_numbers(change: Change) -> Problems:
    """No new row has a number of an identity column beyond the last one given out, unless
    values may be given; rows that are only written again may."""
    counting = list(_counting(change.after)) if change.files_of_new_rows.num_rows else []
    if not counting:
        return
    columns = [item.column for item in counting]
    written = [facts for _, facts in _facts(change.files_of_new_rows, columns)]
    gone = [facts for _, facts in _facts(change.removed_data, columns)]
    for item in counting:
        last = item.furthest(written)
        known = [number for number in (item.mark, item.furthest(gone)) if number is not None]
        allowed = item.beyond(known)
        if last is not None and (allowed is None or item.beyond([allowed, last]) != allowed):
            yield problem(
                f"`{render_path(item.column.path)[:120]}` has the number {last} in a new file, "
                f"and the last one given out is {item.mark}.",
                "The next rows would get numbers that are there already.",
                spec="Identity Columns",
                remedy="Write the last number given out (delta.identity.highWaterMark) in the same "
                "commit; where others left it behind, ALTER TABLE ... ALTER COLUMN ... SYNC "
                "IDENTITY of delta-spark sets it.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counting:
    """A column that only the table fills, with the last number given out."""

    column: StatisticsColumn
    step: int
    mark: int | None

    def beyond(self, numbers: Sequence[int]) -> int | None:
        """The furthest of some numbers in the direction in which is counted."""
        return (max if self.step > 0 else min)(numbers, default=None)

    def furthest(self, facts: Sequence[FileFacts]) -> int | None:
        """The furthest that statistics speak of; None where they speak of none."""
        bounds = [part.columns[self.column.path] for part in facts]
        ends = [
            pc.max(part.maximum).as_py() if self.step > 0 else pc.min(part.minimum).as_py()
            for part in bounds
        ]
        return self.beyond([end for end in ends if end is not None])


def _counting(table: Described) -> Iterator[_Counting]:
    if not table.supports("identityColumns"):
        return
    for place in _spoken_of(table):
        identity = identity_column(place.field)
        if identity.step and place.field.data_type == LONG and not identity.allow_explicit_insert:
            yield _Counting(
                column=_column(place, table), step=identity.step, mark=identity.high_water_mark
            )


def _spoken_of(table: Described) -> Iterator[FieldPlace]:
    """The columns that statistics may speak of."""
    partitions = set(table.metadata.partition_columns)
    for place in leaf_fields(table.schema):
        if place.depth or place.field.name not in partitions:
            yield place


def _column(place: FieldPlace, table: Described) -> StatisticsColumn:
    return StatisticsColumn(
        path=place.names,
        physical=physical_path(place, table.mode),
        data_type=place.field.data_type,
    )


def _facts(
    files: pa.Table, columns: Sequence[StatisticsColumn]
) -> Iterator[tuple[pa.Table, FileFacts]]:
    """What some thousand files at a time say of the columns."""
    if files.column("stats").null_count == files.num_rows:
        return
    for start in range(0, files.num_rows, _AT_ONCE):
        part = files.slice(start, _AT_ONCE).select(["path", "stats"]).combine_chunks()
        yield part, read_facts(FileColumns(table=part, leaves={}), columns)
