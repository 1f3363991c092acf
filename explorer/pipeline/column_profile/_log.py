"""Figures of columns that the log itself holds: no row is read for them
(spec: Per-file Statistics, Partition Value Serialization)."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pyarrow as pa

from explorer.pipeline.column_profile._sums import partition_texts, statistics_facts
from explorer.pipeline.column_profile._values import bin_of, number_of
from explorer.pipeline.column_profile.facts import (
    ColumnProfile,
    ProfileRequest,
    bins_of,
    most_frequent,
    ranks_of,
)
from explorer.protocol.arrow_types import row_schema
from explorer.protocol.schema import StructField, StructType
from explorer.rows.data_file.partition_columns import constant_column, partition_scalar
from explorer.rows.python_values import ordinal_of, python_values
from explorer.table.snapshot import Snapshot


def profile_partition_column(
    snapshot: Snapshot, item: StructField, request: ProfileRequest
) -> ColumnProfile | None:
    """All figures of a partition column; None where a file does not say how many rows it
    has. Raises `CorruptLogError` for a value that is none of its type."""
    texts = partition_texts(snapshot, item)
    if texts is None:
        return None
    target = row_schema(StructType(fields=(item,))).field(0).type
    counts: Counter[Any] = Counter()
    for text, count in texts.items():
        if count:
            (value,) = python_values(constant_column(partition_scalar(text, item, target), 1))
            counts[value] += count
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
    found = statistics_facts(snapshot, item, extremes=request.wants("extremes"))
    if found.nulls is None or not found.are_bounds_known:
        return None
    return ColumnProfile(
        column=item.name,
        rows=rows,
        nulls=found.nulls,
        minimum=found.low,
        maximum=found.high,
        source="log",
    )


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
    return value.encode() if isinstance(value, str) else ordinal_of(value)


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
