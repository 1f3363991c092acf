"""Rows into Arrow, for the small frames of this floor.

Built through the columns of `explorer.log.actions.columns`, which do without pandas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

Column = tuple[Callable[[Sequence[Any]], pa.Array], pa.DataType]
"""How a column is built from its values, and its type."""


def schema_of(columns: Mapping[str, Column]) -> pa.Schema:
    """The schema of frames with these columns."""
    return pa.schema([(name, data_type) for name, (_, data_type) in columns.items()])


def build_batch(columns: Mapping[str, Column], rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    """Rows with a value for each column, in the order of `columns`."""
    values: Sequence[Sequence[Any]] = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [build(column) for (build, _), column in zip(columns.values(), values, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema_of(columns))


def build_frame(columns: Mapping[str, Column], rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    """`build_batch` as a table."""
    return pa.Table.from_batches([build_batch(columns, rows)], schema_of(columns))
