"""The same rows under other names: data files call columns by their physical names, and so do
they the fields inside of structs (spec: Column Mapping)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def with_schema(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The same arrays as `schema` describes them: its types differ from those of `rows` in
    names, metadata and whether a value may be null, and in nothing else."""
    return pa.record_batch(_Renamed(rows=rows, schema=schema))


def conform(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The columns of `schema`, by name, in its types. What holds them in another way, as large
    strings, dictionaries or another zone, is cast; raises what Arrow raises where a value would
    be lost."""
    arrays = [_cast(rows.column(item.name), item.type) for item in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if _has_required(kind):
        values = _filled(values, kind)
    return values if values.type == kind else values.cast(kind)


@cache
def _has_required(kind: pa.DataType) -> bool:
    """Whether a struct in it has a field that may not be null, as those of a variant."""
    if pa.types.is_struct(kind):
        return any(not item.nullable or _has_required(item.type) for item in kind)
    if pa.types.is_map(kind):
        return _has_required(kind.key_type) or _has_required(kind.item_type)
    return bool(pa.types.is_list(kind)) and _has_required(kind.value_type)


def _filled(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """The same values. Where a struct is null, the fields that may not be null in others are
    empty: nobody sees them, and Parquet does not take a null for a required value."""
    types = pa.types
    if not _has_required(kind) or values.type.id != kind.id:
        return values
    nulls = values.is_null()
    if types.is_struct(kind):
        fields, names = [], values.type.names
        for item in values.type:
            wanted = kind.field(item.name) if item.name in kind.names else item
            inner = _filled(values.field(names.index(item.name)), wanted.type)
            if not wanted.nullable and inner.null_count and types.is_binary(inner.type):
                inner = pc.if_else(nulls, b"", inner)
            fields.append(inner)
        plain = [pa.field(name, inner.type) for name, inner in zip(names, fields, strict=True)]
        return pa.StructArray.from_arrays(fields, fields=plain, mask=nulls)
    # a copy, because those of a slice are not taken together with a mask
    offsets = pa.array(values.offsets.to_numpy())
    if types.is_map(kind):
        items = _filled(values.items, kind.item_type)
        return pa.MapArray.from_arrays(offsets, values.keys, items, mask=nulls)
    inner = _filled(values.values, kind.value_type)
    return pa.ListArray.from_arrays(offsets, inner, mask=nulls)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Renamed:
    """Rows that are handed over by Arrow's C interface, with the schema of somebody else."""

    rows: pa.RecordBatch
    schema: pa.Schema

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        """The capsules of schema and arrays; nothing is cast."""
        _, arrays = self.rows.__arrow_c_array__()
        return self.schema.__arrow_c_schema__(), arrays
