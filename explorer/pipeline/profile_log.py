"""Figures of columns that the log itself holds: no row is read for them
(spec: Per-file Statistics, Partition Value Serialization)."""

from __future__ import annotations

import math
from collections import Counter
from datetime import date
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.pipeline.profile_facts import (
    ColumnProfile,
    ProfileRequest,
    bins_of,
    most_frequent,
    ranks_of,
)
from explorer.pipeline.profile_values import bin_of, number_of
from explorer.protocol.arrow_types import row_schema
from explorer.protocol.schema import PrimitiveType, StructField, StructType
from explorer.protocol.schema_walk import render_path
from explorer.rows.partition_columns import partition_scalar
from explorer.scan.statistics import parsed_statistics
from explorer.table.snapshot import Snapshot

# of other types some writers cut bounds, or round them
_EXACT_TYPES: Final = frozenset(
    PrimitiveType(name=name) for name in ("byte", "short", "integer", "long", "date")
)
_ORDERED_SINCE: Final = date(1600, 1, 1)
"""Days before it stand in some statistics by another calendar."""


def profile_partition_column(
    snapshot: Snapshot, item: StructField, request: ProfileRequest
) -> ColumnProfile | None:
    """All figures of a partition column; None where a file does not say how many rows it
    has. Raises `CorruptLogError` for a value that is none of its type."""
    files = snapshot.files(["partition_values", "num_records", "deletion_vector"])
    hidden = pc.struct_field(files.column("deletion_vector"), "cardinality")
    live = pc.subtract(files.column("num_records"), pc.fill_null(hidden, 0))
    if live.null_count:
        return None
    target = row_schema(StructType(fields=(item,))).field(0).type
    counts: Counter[Any] = Counter()
    texts: Counter[str | None] = Counter()
    for pairs, count in zip(
        files.column("partition_values").to_pylist(), live.to_pylist(), strict=True
    ):
        texts[dict(pairs or ()).get(item.name)] += count
    for text, count in texts.items():
        if count:
            counts[partition_scalar(text, item, target).as_py()] += count
    return _of_counts(item.name, counts, target, request)


def profile_by_statistics(
    snapshot: Snapshot, item: StructField, request: ProfileRequest
) -> ColumnProfile | None:
    """The figures wanted of a column, where statistics of all files say them exactly."""
    rows = snapshot.num_rows
    if rows is None or request.wants("distinct", "quantiles", "histogram", "top"):
        return None
    if not request.wants("nulls", "extremes"):
        return ColumnProfile(column=item.name, rows=rows, source="log")
    # statistics speak of hidden rows too
    if snapshot.num_deletion_vectors or isinstance(item.data_type, StructType):
        return None
    path = render_path((item.name,))
    facts = parsed_statistics(snapshot, [path])
    nulls = facts.column(f"null_count.{path}")
    bounds: tuple[Any, Any] | None = (None, None)
    if request.wants("extremes"):
        bounds = _bounds(facts, path) if item.data_type in _EXACT_TYPES else None
    if nulls.null_count or bounds is None:
        return None
    return ColumnProfile(
        column=item.name,
        rows=rows,
        nulls=int(pc.sum(nulls).as_py() or 0),
        minimum=bounds[0],
        maximum=bounds[1],
        source="log",
    )


def _bounds(facts: pa.Table, path: str) -> tuple[Any, Any] | None:
    """The extremes of all files, None where those of one that has values are not known."""
    low, high = facts.column(f"min.{path}"), facts.column(f"max.{path}")
    valued = pc.greater(facts.column("num_records"), facts.column(f"null_count.{path}"))
    known = pc.and_(low.is_valid(), high.is_valid())
    if pc.any(pc.and_not(valued, known)).as_py():
        return None
    found = pc.min(low).as_py(), pc.max(high).as_py()
    return None if isinstance(found[0], date) and found[0] < _ORDERED_SINCE else found


def _of_counts(
    name: str, counts: Counter[Any], kind: pa.DataType, request: ProfileRequest
) -> ColumnProfile:
    """All figures from how often each value occurs; there are as many as partitions."""
    nulls = counts.pop(None, 0)
    ordered = sorted(counts.items(), key=lambda pair: _sort_key(pair[0]))
    return ColumnProfile(
        column=name,
        rows=counts.total() + nulls,
        nulls=nulls,
        distinct=len(counts),
        minimum=ordered[0][0] if ordered else None,
        maximum=ordered[-1][0] if ordered else None,
        quantiles=_quantiles(ordered, counts.total()),
        histogram=_histogram(ordered, kind, request.bins),
        top=most_frequent(ordered, request.top),
        source="log",
    )


def _sort_key(value: Any) -> Any:
    # NaN is above all other numbers, and text goes by its bytes
    if isinstance(value, float):
        return (math.isnan(value), value)
    return value.encode() if isinstance(value, str) else value


def _quantiles(ordered: list[tuple[Any, int]], total: int) -> tuple[tuple[float, Any], ...]:
    if not total:
        return ()
    found: list[tuple[float, Any]] = []
    for rank, parts in ranks_of(total).items():
        passed = 0
        for value, count in ordered:
            passed += count
            if passed >= rank:
                found.extend((part, value) for part in parts)
                break
    return tuple(found)


def _histogram(ordered: list[tuple[Any, int]], kind: pa.DataType, bins: int) -> Any:
    numbers = [(number_of(value, kind), count) for value, count in ordered]
    finite = [(number, count) for number, count in numbers if number is not None]
    if not finite:
        return None
    low, high = finite[0][0], finite[-1][0]
    found: Counter[int] = Counter()
    for number, count in finite:
        found[bin_of(number, low, high, bins)] += count
    return bins_of(found, low, high, bins)
