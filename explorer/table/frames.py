"""What `Snapshot` computes from tables of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa

import explorer.compute_functions as pc
from explorer.log.actions.columns import int64_scalar, string_column
from explorer.log.plain_arrays import Numbers, read_numbers

_LARGEST_CLAIM: Final = 2**40
"""Bytes that a file is believed to have."""


def rows_of(files: pa.Table, path: str, columns: Sequence[str]) -> pa.Table:
    """The rows of one path, with just these columns."""
    found = pc.is_in(files.column("path"), value_set=string_column([path]))
    return pc.filter(files, found).select(list(columns))


def sum_of(numbers: pa.ChunkedArray) -> int:
    """The sum of 64-bit integers, nulls left out; Arrow's own wraps around."""
    if abs(pc.sum(pc.cast(numbers, pa.float64(), safe=False)).as_py() or 0) < 2**62:
        return pc.sum(numbers).as_py() or 0
    return sum(number or 0 for number in numbers.to_pylist())


def believed_sizes(files: pa.Table) -> Numbers:
    """The sizes of files as far as they can be true: a log may claim anything."""
    return np.clip(read_numbers(files.column("size")), 0, _LARGEST_CLAIM)


def count_by_size(vectors: pa.ChunkedArray, starts: Sequence[int]) -> list[int]:
    """Files by the rows that their deletion vectors hide: one count for each class, the
    first below `starts[0]`, the others from one of the ascending `starts` on."""
    cardinality = pc.struct_field(vectors, "cardinality")
    reached = [
        pc.sum(pc.greater_equal(cardinality, int64_scalar(start))).as_py() or 0 for start in starts
    ]
    return [more - fewer for more, fewer in pairwise([len(vectors), *reached, 0])]


def with_logical_names(files: pa.Table, names: Mapping[str, str]) -> pa.Table:
    """Files with the keys of their partition values, physical names, replaced by
    `names` (spec: Column Mapping); a key that `names` lacks stays as it is."""
    at = files.schema.get_field_index("partition_values")
    if at < 0:
        return files
    values = files.column(at)
    renamed = pa.chunked_array([_renamed(chunk, names) for chunk in values.chunks], values.type)
    return files.set_column(at, "partition_values", renamed)


def _renamed(values: pa.MapArray, names: Mapping[str, str]) -> pa.Array:
    # a map's children are not sliced with it, so its own offsets stay right
    keys = pc.dictionary_encode(values.keys)
    logical = [names.get(key, key) for key in keys.dictionary.to_pylist()]
    pairs = pa.StructArray.from_arrays(
        [string_column(logical).take(keys.indices), values.items],
        fields=[pa.field("key", pa.string(), nullable=False), pa.field("value", pa.string())],
    )
    return pa.Array.from_buffers(
        values.type,
        len(values),
        values.buffers()[:2],
        null_count=values.null_count,
        offset=values.offset,
        children=[pairs],
    )
