"""What the statistics of two versions say of each column (spec: Per-file Statistics)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import int64_column, string_column
from explorer.log.calendar_texts import render_values
from explorer.log.state.file_columns import FileColumns
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.schema import render_type
from explorer.protocol.schema_walk import render_path
from explorer.scan.live_file_reads import reduce_live_files
from explorer.scan.statistics.column_statistics import (
    ColumnFacts,
    StatisticsColumn,
    count_wide,
    parsed_leaves,
    read_facts,
    statistics_columns,
)
from explorer.table.frames import sum_of
from explorer.table.snapshot import Snapshot

_SIDES = ("before", "after")
_FACTS = ("files", "bounded", "counted", "wide", "minimum", "maximum", "null_count")
_TEXTS = frozenset({"minimum", "maximum", "type"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSummary:
    """What the statistics of a version's files say of one column.

    Of `files`, `bounded` have a minimum and a maximum, and `counted` the number of
    nulls; the other figures are over those that do. `wide` are those of either kind whose
    bounds are wide: what they say may be of hidden rows alone. Bounds are those of the log, where
    long strings are cut; None where no file has one.
    """

    column: StatisticsColumn
    files: int
    bounded: int
    counted: int
    wide: int
    minimum: str | None
    maximum: str | None
    null_count: int | None

    @property
    def type(self) -> str:
        """The column's type, as a person reads it."""
        return render_type(self.column.data_type)


def statistics_changes(older: Snapshot, newer: Snapshot, watch: Watch = UNWATCHED) -> pa.Table:
    """One row per column of either schema that can have statistics, in the order of
    the newer one.

    - `path`; `type_before` and `type_after`, null where the version lacks the column
    - `files_*`, `bounded_*`, `counted_*`, `wide_*`, `minimum_*`, `maximum_*`, `null_count_*`
      as in `ColumnSummary`, for `before` and `after`
    """
    before, after = summarise_statistics(older, watch), summarise_statistics(newer, watch)
    names = [*after, *(name for name in before if name not in after)]
    rows = [(before.get(name), after.get(name)) for name in names]
    arrays = {"path": string_column([_path(*row) for row in rows])}
    for fact in ("type", *_FACTS):
        build = string_column if fact in _TEXTS else int64_column
        for at, side in enumerate(_SIDES):
            values = [None if row[at] is None else getattr(row[at], fact) for row in rows]
            arrays[f"{fact}_{side}"] = build(values)
    return pa.Table.from_arrays(list(arrays.values()), list(arrays))


def summarise_statistics(
    snapshot: Snapshot, watch: Watch = UNWATCHED
) -> Mapping[tuple[str, ...], ColumnSummary]:
    """What a version's statistics say, by the physical path of the column."""
    columns = statistics_columns(snapshot)
    if not columns:
        return {}

    def reduce(files: FileColumns) -> _Part:
        facts = read_facts(files, columns)
        return _Part(
            files=files.table.num_rows,
            columns=[_Reduced.of(facts.columns[one.path], facts.is_wide) for one in columns],
        )

    label = f"Reading the statistics of version {snapshot.version:,}"
    parts = reduce_live_files(snapshot, ["stats"], parsed_leaves(columns), reduce, watch, label)
    return {column.physical: _summary(column, parts, at) for at, column in enumerate(columns)}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reduced:
    """One column in some files; `minimum` and `maximum` are arrays of one value."""

    bounded: int
    counted: int
    wide: int
    minimum: pa.Array
    maximum: pa.Array
    null_count: int

    @classmethod
    def of(cls, facts: ColumnFacts, is_wide: pa.Array) -> _Reduced:
        """Reduce what is known of each file."""
        low, high, counts = facts.minimum, facts.maximum, facts.null_count
        both = pc.and_(low.is_valid(), high.is_valid())
        return cls(
            bounded=both.true_count,
            counted=len(counts) - counts.null_count,
            wide=count_wide(facts, is_wide),
            minimum=_extreme(low, "min"),
            maximum=_extreme(high, "max"),
            null_count=sum_of(pa.chunked_array([counts])),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    files: int
    columns: Sequence[_Reduced]


def _summary(column: StatisticsColumn, parts: Sequence[_Part], at: int) -> ColumnSummary:
    found = [part.columns[at] for part in parts]
    counted = sum(part.counted for part in found)
    return ColumnSummary(
        column=column,
        files=sum(part.files for part in parts),
        bounded=sum(part.bounded for part in found),
        counted=counted,
        wide=sum(part.wide for part in found),
        minimum=_text(_typed(part.minimum for part in found), "min"),
        maximum=_text(_typed(part.maximum for part in found), "max"),
        null_count=sum(part.null_count for part in found) if counted else None,
    )


def _typed(bounds: Iterator[pa.Array]) -> list[pa.Array]:
    """Bounds without those of files that have none, which have no type either."""
    return [bound for bound in bounds if bound.null_count == 0]


def _extreme(values: pa.Array, side: str) -> pa.Array:
    """The least or greatest value as an array of one; of no values, one null."""
    kind, present = values.type, values.drop_null()
    if not len(present):
        return pa.nulls(1)
    if pa.types.is_boolean(kind):
        present = pc.cast(present, pa.int8())
    order = "ascending" if side == "min" else "descending"
    table = pa.Table.from_arrays([present], ["value"])
    at = pc.select_k_unstable(table, k=1, sort_keys=[("value", order)])
    return pc.cast(present.take(at), kind)


def _text(bounds: list[pa.Array], side: str) -> str | None:
    if not bounds:
        return None
    found = _extreme(pa.concat_arrays(bounds), side)
    text: str = render_values(found)[0].as_py()
    return text


def _path(before: ColumnSummary | None, after: ColumnSummary | None) -> str:
    shown = after or before
    return "" if shown is None else render_path(shown.column.path)
