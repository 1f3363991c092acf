"""Types inside of structs, arrays and maps that become wider by what is written: ours and that of
delta-spark on a copy are the same."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from explorer import pipeline
from tests.interop.twins import expressions

_BEFORE = """id bigint, s struct<x: int, t: struct<y: smallint, z: string>>, a array<int>,
m map<string, float>, l array<struct<x: tinyint>>, k map<int, date>"""
_ROWS = """cast(id as bigint) id,
named_struct('x', cast(id + 5000000000 as bigint),
't', named_struct('y', cast(id as int), 'z', 'q')) s,
array(cast(id as bigint)) a, map('k', cast(id as double)) m,
array(named_struct('x', cast(id as int))) l, map(cast(id as bigint), date'2020-01-01') k"""


def _fields(place: Path) -> list[Any]:
    found: list[Any] = []
    for commit in sorted((place / "_delta_log").glob("*.json")):
        for line in commit.read_text("utf-8").splitlines():
            body = json.loads(line)
            if "metaData" in body:
                found = json.loads(body["metaData"]["schemaString"])["fields"]
    return found


@pytest.mark.sampled(one_in=12)
@pytest.mark.parametrize("statement", ["append", "merge", "insert only"])
def test_nested_types_widen_as_those_of_delta_spark(
    statement: str, spark: SparkSession, tmp_path: Path
) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    spark.sql(
        f"create table delta.`{ours}` ({_BEFORE}) using delta "
        "tblproperties ('delta.enableTypeWidening' = 'true')"
    )
    spark.range(0, 3).selectExpr(
        "id",
        "named_struct('x', cast(id as int), "
        "'t', named_struct('y', cast(id as smallint), 'z', 'q')) s",
        "array(cast(id as int)) a",
        "map('k', cast(id as float)) m",
        "array(named_struct('x', cast(id as tinyint))) l",
        "map(cast(id as int), date'2020-01-01') k",
    ).write.format("delta").mode("append").save(str(ours))
    shutil.copytree(ours, theirs)
    rows = spark.range(2, 6).selectExpr(*expressions(_ROWS))
    if statement == "append":
        pipeline.write(rows, ours, merge_schema=True)
        rows.write.format("delta").mode("append").option("mergeSchema", "true").save(str(theirs))
    else:
        rows.createOrReplaceTempView("wider_rows")
        merging = pipeline.merge(
            ours, rows, "target.id = source.id", merge_schema=True
        ).when_not_matched_insert_all()
        text = "when not matched then insert *"
        if statement == "merge":
            merging, text = (
                merging.when_matched_update_all(),
                f"when matched then update set * {text}",
            )
        merging.execute()
        spark.sql(
            f"merge with schema evolution into delta.`{theirs}` target using wider_rows source "
            f"on target.id = source.id {text}"
        )
    assert _fields(ours) == _fields(theirs)
    found = [
        sorted(map(repr, spark.read.format("delta").load(str(place)).collect()))
        for place in (ours, theirs)
    ]
    assert found[0] == found[1]
