"""The same rows under other names: data files call columns by their physical names, and so do
they the fields inside of structs (spec: Column Mapping)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa


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
    return values if values.type == kind else values.cast(kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Renamed:
    """Rows that are handed over by Arrow's C interface, with the schema of somebody else."""

    rows: pa.RecordBatch
    schema: pa.Schema

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        """The capsules of schema and arrays; nothing is cast."""
        _, arrays = self.rows.__arrow_c_array__()
        return self.schema.__arrow_c_schema__(), arrays
