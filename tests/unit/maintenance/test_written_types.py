"""How each type of a table stands in the Parquet files that an optimize writes."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.maintenance import Approval, execute, plan_optimize
from tests.data_tables import DataTable, array, field, map_of, struct


def written(scratch: Path, kind: Any, values: list[Any], stored: pa.DataType) -> Path:
    """The one file that an optimize makes of two, each with these values."""
    features = ("timestampNtz",) if kind == "timestamp_ntz" else ()
    table = DataTable(scratch / "t", struct(field("a", kind)), features=features)
    for name in ("x", "y"):
        table.add(name, pa.table({"a": pa.array(values, stored)}))
    place = table.write()
    plan = plan_optimize(explorer.open_table(place))
    receipt = execute(plan, Approval(plan.digest), state_dir=scratch / "state")
    assert receipt.status == "completed", receipt.problem
    (path,) = explorer.open_table(place).snapshot().files(["path"])["path"].to_pylist()
    return place / str(path)


def logical(column: pq.ColumnSchema) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(column.logical_type.to_json())
    return found


CASES: list[tuple[str, list[Any], pa.DataType, str, dict[str, Any]]] = [
    ("string", ["", "ä☃"], pa.large_string(), "BYTE_ARRAY", {"Type": "String"}),
    ("long", [-(2**63), 2**63 - 1], pa.int64(), "INT64", {"Type": "None"}),
    ("integer", [-(2**31), 2**31 - 1], pa.int32(), "INT32", {"Type": "None"}),
    ("short", [-(2**15), 2**15 - 1], pa.int16(), "INT32", {"Type": "Int", "bitWidth": 16}),
    ("byte", [-128, 127], pa.int8(), "INT32", {"Type": "Int", "bitWidth": 8, "isSigned": True}),
    ("float", [1.5, -0.0], pa.float32(), "FLOAT", {"Type": "None"}),
    ("double", [1e300, -0.0], pa.float64(), "DOUBLE", {"Type": "None"}),
    (
        "decimal(38,18)",
        [Decimal("99999999999999999999.999999999999999999"), Decimal(0)],
        pa.decimal128(38, 18),
        "FIXED_LEN_BYTE_ARRAY",
        {"Type": "Decimal", "precision": 38, "scale": 18},
    ),
    (
        "decimal(9,2)",
        [Decimal("1234567.89"), Decimal("-0.01")],
        pa.decimal128(9, 2),
        "INT32",
        {"Type": "Decimal", "precision": 9, "scale": 2},
    ),
    ("boolean", [True, False], pa.bool_(), "BOOLEAN", {"Type": "None"}),
    ("binary", [b"", b"\x00\xff"], pa.large_binary(), "BYTE_ARRAY", {"Type": "None"}),
    ("date", [date(1, 1, 1), date(9999, 12, 31)], pa.date32(), "INT32", {"Type": "Date"}),
    (
        "timestamp",
        [datetime(1969, 12, 31, 23, 59, 59, 999000, UTC), datetime(9999, 1, 1, tzinfo=UTC)],
        pa.timestamp("ms", "Europe/Berlin"),
        "INT64",
        {"Type": "Timestamp", "isAdjustedToUTC": True, "timeUnit": "microseconds"},
    ),
    (
        "timestamp_ntz",
        [datetime(1970, 1, 1, 0, 0, 0, 1)],  # noqa: DTZ001  # has no time zone
        pa.timestamp("us"),
        "INT64",
        {"Type": "Timestamp", "isAdjustedToUTC": False, "timeUnit": "microseconds"},
    ),
]


@pytest.mark.rule("schema-type-binary", "schema-type-boolean", "schema-type-byte")
@pytest.mark.rule("schema-type-date", "schema-type-decimal", "schema-type-double")
@pytest.mark.rule("schema-type-float", "schema-type-integer", "schema-type-long")
@pytest.mark.rule("schema-type-ntz", "schema-type-ntz-adjusted", "schema-type-short")
@pytest.mark.rule("schema-type-string", "schema-type-timestamp", "schema-type-timestamp-adjusted")
@pytest.mark.parametrize(
    ("kind", "values", "stored", "physical", "said"), CASES, ids=[case[0] for case in CASES]
)
def test_each_type_has_its_parquet_type(
    tmp_path: Path,
    kind: str,
    values: list[Any],
    stored: pa.DataType,
    physical: str,
    said: dict[str, Any],
) -> None:
    values = [*values, None]
    path = written(tmp_path, kind, values, stored)
    column = pq.ParquetFile(path).schema.column(0)
    assert column.physical_type == physical
    assert {name: logical(column)[name] for name in said} == said
    assert pq.read_table(path).column("a").to_pylist() == values * 2


def test_what_is_nested_has_the_standard_names(tmp_path: Path) -> None:
    kind = struct(field("x", array("long")), field("y", map_of("string", "short")))
    stored = pa.struct([("x", pa.list_(pa.int64())), ("y", pa.map_(pa.string(), pa.int16()))])
    values = [{"x": [1, None], "y": [("k", None)]}, {"x": [], "y": None}, None]
    path = written(tmp_path, kind, values, stored)
    leaves = pq.ParquetFile(path).schema
    assert {leaves.column(at).path for at in range(len(leaves))} == {
        "a.x.list.element",
        "a.y.key_value.key",
        "a.y.key_value.value",
    }
    assert pq.read_table(path).column("a").to_pylist() == values * 2
