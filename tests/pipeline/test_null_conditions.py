"""Comparisons with NULL mean the same by every route, whatever type stands beside it."""

from __future__ import annotations

from decimal import Decimal
from functools import reduce
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import explorer
from explorer import pipeline
from tests.data_tables import DataTable, field, struct

_HELD: dict[str, pa.Array] = {
    "byte": pa.array([1, None], pa.int8()),
    "long": pa.array([1, None]),
    "float": pa.array([1, None], pa.float32()),
    "double": pa.array([float("nan"), None]),
    "decimal(9,2)": pa.array([Decimal("1.00"), None], pa.decimal128(9, 2)),
    "string": pa.array(["a", None]),
    "binary": pa.array([b"a", None]),
    "boolean": pa.array([True, None]),
    "date": pa.array([1, None], pa.date32()),
    "timestamp": pa.array([1, None], pa.timestamp("us", "UTC")),
    "timestamp_ntz": pa.array([1, None], pa.timestamp("us")),
}


@pytest.fixture
def snapshot(tmp_path: Path) -> explorer.Snapshot:
    """Row 0 has a value of every type, row 1 has none."""
    names = [f"c{at}" for at in range(len(_HELD))]
    columns = [field(name, kind) for name, kind in zip(names, _HELD, strict=True)]
    table = DataTable(
        tmp_path / "t", struct(field("id", "long"), *columns), features=("timestampNtz",)
    )
    held = dict(zip(names, _HELD.values(), strict=True))
    table.add("a.parquet", pa.table({"id": [0, 1], **held}))
    return explorer.open_table(table.write()).snapshot()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("{} <=> NULL", [1]), ("NOT ({} <=> NULL)", [0]), ("NULL <=> {}", [1]), ("{} = NULL", [])],
)
def test_a_null_beside_a_column_has_its_type(
    spark: SparkSession, snapshot: explorer.Snapshot, text: str, wanted: list[int]
) -> None:
    wheres = [text.format(f"c{at}") for at in range(len(_HELD))]
    for where in wheres:
        assert explorer.read_rows(snapshot, ["id"], where)["id"].to_pylist() == wanted, where
    frames = [pipeline.read(snapshot, spark, ["id"], where, route="parquet") for where in wheres]
    found = [row["id"] for row in reduce(DataFrame.union, frames).collect()]
    assert found == wanted * len(wheres)
    every = pipeline.read(snapshot, spark, ["id"], " AND ".join(wheres), route="files")
    assert [row["id"] for row in every.collect()] == wanted
