"""Partition values by the names that people know (spec: Column Mapping)."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.columns import string_column


def with_logical_names(values: pa.ChunkedArray, names: Mapping[str, str]) -> pa.ChunkedArray:
    """Maps of partition values with their keys, physical names, replaced by `names`;
    a key that `names` lacks stays as it is."""
    return pa.chunked_array([_renamed(chunk, names) for chunk in values.chunks], values.type)


def _renamed(values: pa.MapArray, names: Mapping[str, str]) -> pa.Array:
    entries = values.buffers()
    # a map's children are not sliced with it, so its own offsets stay right
    keys = pc.dictionary_encode(values.keys)
    logical = [names.get(key, key) for key in keys.dictionary.to_pylist()]
    renamed = string_column(logical).take(keys.indices)
    items = values.items
    pairs = pa.StructArray.from_arrays(
        [renamed, items],
        fields=[
            pa.field("key", pa.string(), nullable=False),
            pa.field("value", pa.string()),
        ],
    )
    return pa.Array.from_buffers(
        values.type,
        len(values),
        entries[:2],
        null_count=values.null_count,
        offset=values.offset,
        children=[pairs],
    )
