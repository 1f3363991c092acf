"""Tables that are kept convertible to Iceberg, created by us or by delta-spark and written by both
in turn: the same rows for both, and files of one form whoever wrote them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import pipeline
from explorer.maintenance import Approval, execute, plan_optimize
from tests.conformance.written import Written, ids_in_file
from tests.interop.twins import sql

pytestmark = pytest.mark.spark

_COLUMNS = {
    1: "id BIGINT, p STRING, t timestamp, s STRUCT<x: INT>",
    2: "id BIGINT, p STRING, t timestamp, l ARRAY<STRUCT<m: MAP<STRING, ARRAY<INT>>>>",
}
_NESTED: dict[int, tuple[str, Any, str]] = {
    1: ("s", pa.array([{"x": 7}], pa.struct([("x", pa.int32())])), "named_struct('x', 7)"),
    2: (
        "l",
        pa.array(
            [[{"m": [("k", [1, None])]}]],
            pa.list_(pa.struct([("m", pa.map_(pa.string(), pa.list_(pa.int32())))])),
        ),
        "array(named_struct('m', map('k', array(1, null))))",
    ),
}


def _rows(version: int, number: int, partition: str | None) -> pa.Table:
    name, nested, _ = _NESTED[version]
    plain = {"id": [number], "p": pa.array([partition], pa.string())}
    return pa.table({**plain, name: nested})


def _ours(place: Path, version: int) -> None:
    enabled = {f"delta.enableIcebergCompatV{version}": "true"}
    pipeline.create(place, _COLUMNS[version], partition_by="p", properties=enabled)


def _theirs(spark: SparkSession) -> Callable[[Path, int], None]:
    def create(place: Path, version: int) -> None:
        enabled = f"'delta.enableIcebergCompatV{version}' = 'true'"
        text = f"create table T ({_COLUMNS[version]}) using delta partitioned by (p)"
        sql(spark, place, f"{text} tblproperties ({enabled})")

    return create


@pytest.mark.rule("iceberg-v2-nested-ids-in-parquet", "iceberg-v2-materialize-partitions")
@pytest.mark.rule("iceberg-v1-materialize-partitions")
@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("creator", ["ours", "theirs"])
def test_both_write_files_of_one_form_into_one_table(
    spark: SparkSession, tmp_path: Path, version: int, creator: str
) -> None:
    place = tmp_path / "table"
    (_ours if creator == "ours" else _theirs(spark))(place, version)
    nested = _NESTED[version][2]
    pipeline.write(_rows(version, 1, "a"), place)
    sql(spark, place, f"insert into T values (2, 'a', timestamp'2026-03-01 12:00:00', {nested})")
    pipeline.write(_rows(version, 3, None), place)
    sql(spark, place, "update T set id = id + 10 where id = 1")  # a file of ours, written by them
    plan = plan_optimize(explorer.open_table(place))
    receipt = execute(plan, Approval(plan.digest), state_dir=tmp_path / "state")
    assert receipt.status == "completed", receipt.problem
    pipeline.write(_rows(version, 4, None), place, mode="overwrite", partition_overwrite="dynamic")
    sql(spark, place, f"insert into T values (5, 'b', null, {nested})")

    found = sql(spark, place, "select id, p from T order by id").collect()
    assert [tuple(row) for row in found] == [(2, "a"), (4, None), (5, "b"), (11, "a")]
    ours = explorer.read_rows(explorer.open_table(place).snapshot())
    assert sorted(zip(ours["id"].to_pylist(), ours["p"].to_pylist(), strict=True), key=str) == [
        (11, "a"),
        (2, "a"),
        (4, None),
        (5, "b"),
    ]
    written = Written(place)
    engines = set()
    forms = set()
    for commit in written.commits:
        for line in commit:
            if "add" in line:
                file = written.parquet(line["add"])
                engines.add(commit[0]["commitInfo"]["engineInfo"].partition("/")[0])
                forms.add((tuple(file.schema_arrow.names), frozenset(ids_in_file(file).items())))
                tags = {} if version == 1 else {"ICEBERG_COMPAT_VERSION": "2"}
                assert line["add"].get("tags", {}) == tags
    assert engines == {"delta-explorer", "Apache-Spark"}
    assert len(forms) == 1, forms
