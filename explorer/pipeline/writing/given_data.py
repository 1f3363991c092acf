"""The rows that a caller gives, whatever they are: a frame of Spark, Arrow's or pandas'."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from explorer.errors import InvalidArgumentError, Problem
from explorer.protocol.schema import StructType, parse_schema
from explorer.writing.gate.arrow_gate import given_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrowRows:
    """Rows in this process: `batches` goes through them, and again where `is_rereadable`.
    `num_rows` is None where nobody knows before the end."""

    schema: StructType
    arrow_schema: pa.Schema
    batches: Callable[[], Iterator[pa.RecordBatch]]
    is_rereadable: bool
    num_rows: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkRows:
    """Rows of a frame, classic or Connect."""

    schema: StructType
    frame: DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What became of the rows: new files, with the schema `WRITTEN_ROWS`, the last numbers that
    identity columns got, and what nobody needs and is left all the same."""

    files: pa.Table
    marks: Mapping[str, int]
    problems: tuple[Problem, ...] = ()


def rows_given(data: Any) -> ArrowRows | SparkRows:
    """The rows of a DataFrame of Spark, a table, batch or reader of Arrow, or a frame of pandas;
    whatever has Arrow's stream protocol, as a frame of Polars or DuckDB's relation, is one.

    Raises `InvalidArgumentError` for anything else, and for types that no table has.
    """
    kinds = {f"{kind.__module__}.{kind.__qualname__}" for kind in type(data).__mro__}
    if any(name.startswith("pyspark.") and name.endswith(".DataFrame") for name in kinds):
        return SparkRows(schema=parse_schema(data.schema.json()), frame=data)
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    elif "pandas.core.frame.DataFrame" in kinds or "pandas.DataFrame" in kinds:
        data = _from_pandas(data)
    if isinstance(data, pa.Table):
        table = data
        return ArrowRows(
            schema=given_schema(table.schema),
            arrow_schema=table.schema,
            batches=lambda: iter(table.to_batches()),
            is_rereadable=True,
            num_rows=table.num_rows,
        )
    if not isinstance(data, pa.RecordBatchReader) and hasattr(data, "__arrow_c_stream__"):
        data = pa.RecordBatchReader.from_stream(data)
    if isinstance(data, pa.RecordBatchReader):
        reader = data
        return ArrowRows(
            schema=given_schema(reader.schema),
            arrow_schema=reader.schema,
            batches=lambda: iter(reader),
            is_rereadable=False,
            num_rows=None,
        )
    raise InvalidArgumentError(
        f"A {type(data).__name__} cannot be written.",
        reason="Its rows are neither Spark's, nor Arrow's, nor pandas'.",
        remedy="Give a DataFrame of Spark or pandas, a pyarrow.Table or a RecordBatchReader.",
    )


def _from_pandas(frame: Any) -> pa.Table:
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InvalidArgumentError(
            "A column of the pandas frame has values of several types.",
            reason=str(error)[:300],
            remedy="Convert the column to one type first.",
        ) from error
