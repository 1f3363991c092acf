"""Every type of a table in every role, with all its extremes at once, written in this process and
on Spark: each reader has the same values, and statistics say what is true."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import pipeline
from tests.interop.random_values import (
    PRIMITIVES,
    AnyValues,
    arrow_type_of,
    stored_value,
    tell_value,
    told_rows,
)
from tests.interop.reading_spark import rows_of_frame
from tests.interop.written_files import WrittenFiles
from tests.sampling import SEED

_TYPES = (*PRIMITIVES, "variant")
_ROLES = ("column", "struct", "array", "key", "value", "partition", "clustering", "indexed")
_NEVER = {
    ("key", "variant"): "no map has such keys",
    ("partition", "variant"): "no text of the log says one",
    **{
        ("clustering", name): "it has no order that statistics tell"
        for name in ("variant", "binary", "boolean")
    },
}
"""Roles that the specification, or the reference, gives no such type."""

_ALL = [(role, name) for role in _ROLES for name in _TYPES if (role, name) not in _NEVER]
_field = AnyValues.field


def _kind(role: str, name: str) -> Any:
    match role:
        case "struct":
            return {"type": "struct", "fields": [_field("f", name), _field("g.`x", name)]}
        case "array":
            return AnyValues.array(name)
        case "key":
            return AnyValues.map(name, "string")
        case "value":
            return AnyValues.map("string", name)
        case _:
            return name


def _values(role: str, field: Any) -> list[Any]:
    """Enough that every extreme is among them."""
    values = AnyValues(random.Random(field["name"]))
    draw = values.of_partition if role == "partition" else values.of_field
    return [draw(field) for _ in range(30 if role == "partition" else 120)]


def _check(role: str, names: list[str], place: Path, spark: SparkSession | None = None) -> None:
    fields = [_field(f"c{name}", _kind(role, name)) for name in names]
    fields.append(_field("last", "long"))
    properties = {"delta.columnMapping.mode": "name"}
    if role == "indexed":
        told = ",".join(f"`{item['name']}`" for item in fields)
        properties["delta.dataSkippingStatsColumns"] = told
    schema = json.dumps({"type": "struct", "fields": fields})
    layout = {"partition": "partition_by", "clustering": "cluster_by"}.get(role)
    options: dict[str, Any] = {layout: [fields[0]["name"]]} if layout else {}
    pipeline.create(place, schema, properties=properties, **options)
    columns = {item["name"]: _values(role, item) for item in fields}
    rows = pa.table(
        {
            item["name"]: pa.array(columns[item["name"]], arrow_type_of(item["type"]))
            for item in fields
        }
    )
    pipeline.write(rows, place, **({"engine": "spark", "spark": spark} if spark else {}))
    stored = [
        [
            tell_value(stored_value(value, item, is_partition=role == "partition"), item["type"])
            for value in columns[item["name"]]
        ]
        for item in fields
    ]
    wanted = Counter(zip(*stored, strict=True))
    assert told_rows(explorer.read_rows(explorer.open_table(place).snapshot()), fields) == wanted
    files = WrittenFiles.of_newest(place)
    files.check_statistics()
    if role != "partition":
        assert files.rows_by("duckdb", [item["name"] for item in fields]) == wanted
        assert files.rows_by("polars", [item["name"] for item in fields]) == wanted
    if spark is not None:
        frame = spark.read.format("delta").load(str(place))
        assert told_rows(rows_of_frame(frame), fields) == wanted


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(("role", "name"), _ALL)
def test_a_type_keeps_every_value_in_its_role(role: str, name: str, tmp_path: Path) -> None:
    _check(role, [name], tmp_path / "t")


@pytest.mark.sampled(one_in=8)
@pytest.mark.parametrize("role", _ROLES)
def test_types_keep_every_value_on_spark_and_for_delta_spark(
    role: str, spark: SparkSession, tmp_path: Path
) -> None:
    names = [name for each, name in _ALL if each == role]
    if role in {"partition", "clustering"}:
        # one each day: a table has few of these
        names = [random.Random(SEED).choice(names)]
    _check(role, names, tmp_path / "t", spark)
