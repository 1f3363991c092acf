"""Partition values of many files as columns (spec: Partition Value Serialization).

A table has few distinct values: each is parsed once and then looked up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import DeltaError, InvalidArgumentError, Problem
from explorer.log.actions.columns import bool_column, string_scalar
from explorer.log.partition_arrays import partition_array
from explorer.log.plain_arrays import EMPTY, FALSE
from explorer.protocol.arrow_types import arrow_type
from explorer.protocol.schema import DataType, render_type
from explorer.protocol.values.partition_values import PartitionValue, parse_partition_value
from explorer.scan.predicate.domains import domain_of
from explorer.scan.statistics.bounds import ColumnRange, range_of_values


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionColumn:
    """A column that partitions the table, under its logical and physical names."""

    path: tuple[str, ...]
    physical: str
    data_type: DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFacts:
    """The strings of the log (null and the empty one mean null), and what they mean."""

    texts: pa.Array
    range: ColumnRange
    problems: tuple[Problem, ...]


def read_partition(values: pa.Array, column: PartitionColumn) -> PartitionFacts:
    """One column of a map array with the physical names of the log; a value that
    cannot be read is a `Problem`, and nothing is known of its files."""
    return facts_of_texts(look_up_values(values, column.physical), column)


def facts_of_texts(texts: pa.Array, column: PartitionColumn) -> PartitionFacts:
    """What the strings of one column say; one that cannot be read is a `Problem`."""
    if domain_of(column.data_type) is None:  # there is no rule for its values
        nothing, unknown = pa.nulls(len(texts)), bool_column([True] * len(texts))
        return PartitionFacts(texts=texts, range=range_of_values(nothing, unknown), problems=())
    encoded = pc.dictionary_encode(texts)
    kind = arrow_type(column.data_type)
    known: list[PartitionValue] = []
    broken: list[bool] = []
    problems: list[Problem] = []
    for text in encoded.dictionary.to_pylist():
        try:
            known.append(parse_partition_value(text, render_type(column.data_type)))
            broken.append(False)
        except DeltaError as error:
            known.append(None)
            broken.append(True)
            problems.append(Problem.of(error))
    if not known:
        parsed, unreadable = pa.nulls(len(texts), kind), bool_column([False] * len(texts))
    else:
        parsed = partition_array(known, kind).take(encoded.indices)
        unreadable = pc.coalesce(bool_column(broken).take(encoded.indices), FALSE)
    return PartitionFacts(
        texts=texts, range=range_of_values(parsed, unreadable), problems=tuple(problems)
    )


def check_partition(columns: Sequence[str], values: Mapping[str, str | None]) -> None:
    """Raise `InvalidArgumentError` where `values` are not of a table's partition columns, all of
    them and no other."""
    if columns and values.keys() == set(columns):
        return
    named = ", ".join(name[:60] for name in list(columns)[:12])
    raise InvalidArgumentError(
        "These values name no partition of the table.",
        reason=f"It is partitioned by {named}." if named else "It has no partition columns.",
        remedy="Give one value for each partition column."
        if named
        else "Leave the values of a partition out.",
        spec="Partition Value Serialization",
    )


def is_in_partition(maps: pa.MapArray, values: Mapping[str, str | None]) -> pa.BooleanArray:
    """Which of the files with these partition values are in the partition of `values`, by the
    same names; null and the empty string are the same value."""
    found = bool_column([True] * len(maps)) if not values else None
    for name, value in values.items():
        texts = pc.coalesce(look_up_values(maps, name), EMPTY)
        same = pc.equal(texts, string_scalar(value or ""))
        found = same if found is None else pc.and_(found, same)
    return found


def look_up_values(maps: pa.MapArray, name: str) -> pa.Array:
    """The value of one key. Writers put the keys of every file in one order, and then
    the values are taken where the first file has its own: many times faster."""
    key = string_scalar(name)
    names = [pair[0] for pair in maps[0].as_py() or ()] if len(maps) else []
    if name in names and not maps.null_count:
        offsets = np.frombuffer(maps.buffers()[1], np.int32)[maps.offset :][: len(maps) + 1]
        if (np.diff(offsets) == len(names)).all():
            starts = offsets[:-1] + np.int32(names.index(name))
            places = pa.Array.from_buffers(pa.int32(), len(maps), [None, pa.py_buffer(starts)])
            if pc.all(pc.equal(maps.keys.take(places), key)).as_py():
                return maps.items.take(places)
    return pc.map_lookup(maps, key, "first")
