"""Rows that are written again keep their ids and commit versions (spec: Row Tracking)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import explorer
from explorer.maintenance import plan_optimize
from tests.data_tables import DataTable, field, struct
from tests.pipeline.optimized import Run, actions, live_files, opened
from tests.row_values import counted_rows

pytestmark = pytest.mark.spark

ID, VERSION = "_row-id-col-1", "_row-commit-version-col-1"
ENABLED = {
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": ID,
    "delta.rowTracking.materializedRowCommitVersionColumnName": VERSION,
}
TRACKED = ["_row_id", "_row_commit_version"]


def tracked(place: Path, configuration: dict[str, str]) -> Path:
    """A file with default ids 0 to 2, and one whose rows brought ids from elsewhere."""
    made = DataTable(
        place,
        struct(field("id", "long")),
        features=("rowTracking", "domainMetadata"),
        configuration=configuration,
    )
    stats = '{"numRecords":3}'
    first = {"baseRowId": 0, "defaultRowCommitVersion": 0, "stats": stats}
    made.add("a", pa.table({"id": [1, 2, 3]}), **first)
    rows = {"id": [4, 5, 6], ID: [100, None, 102], VERSION: [7, None, None]}
    types = {"id": pa.int64(), ID: pa.int64(), VERSION: pa.int64()}
    brought = pa.table({name: pa.array(values, types[name]) for name, values in rows.items()})
    made.add("b", brought, **{**first, "baseRowId": 10})
    made.write()
    log = place / "_delta_log" / f"{1:020}.json"
    mark = {"domain": "delta.rowTracking", "configuration": '{"rowIdHighWaterMark":200}'}
    log.write_text(json.dumps({"domainMetadata": {**mark, "removed": False}}) + "\n")
    return place


def with_ids(place: Path, version: int | None = None) -> Any:
    rows = explorer.read_rows(opened(place).snapshot(version=version), metadata_columns=TRACKED)
    return counted_rows(rows)


@pytest.mark.rule(
    "row-enabled-preserve",
    "row-write-materialized-column",
    "row-write-materialized-commit-version-column",
    "row-write-preserve-commit-version",
    "row-write-preserve-ids",
    "row-write-preserved-commit-version-same",
    "row-write-preserved-same",
    "row-write-preserved-tag",
    "row-write-stable-assign",
    "row-write-stable-commit-version-assign",
    "row-write-stable-unique",
)
@pytest.mark.parametrize("zorder", [(), ("id",)], ids=["packed", "ordered"])
def test_rows_keep_their_ids_and_files_get_fresh_ones(
    run: Run, tmp_path: Path, zorder: tuple[str, ...]
) -> None:
    configuration = {**ENABLED, "delta.dataSkippingNumIndexedCols": "1"}
    place = tracked(tmp_path / "t", configuration)
    before = with_ids(place)
    assert before == {
        (1, 0, 0): 1,
        (2, 1, 0): 1,
        (3, 2, 0): 1,
        (4, 100, 7): 1,
        (5, 11, 0): 1,
        (6, 102, 0): 1,
    }
    receipt = run(plan_optimize(opened(place), zorder_by=zorder))
    assert receipt.status == "completed", receipt.problem
    assert with_ids(place) == before == with_ids(place, 1)
    info, *others = actions(place, 2)
    assert info["commitInfo"]["tags"] == {"delta.rowTracking.preserved": "true"}
    (add,) = (action["add"] for action in others if "add" in action)
    assert (add["baseRowId"], add["defaultRowCommitVersion"]) == (201, 2)
    (domain,) = (action["domainMetadata"] for action in others if "domainMetadata" in action)
    assert json.loads(domain["configuration"]) == {"rowIdHighWaterMark": 206}
    removes = {a["remove"]["path"]: a["remove"]["baseRowId"] for a in others if "remove" in a}
    assert removes == {"a": 0, "b": 10}
    (path,) = live_files(place)
    stored = pq.read_table(place / path)
    assert stored.column_names == ["id", ID, VERSION]
    assert sorted(stored[ID].to_pylist()) == [0, 1, 2, 11, 100, 102]
    assert set(json.loads(add["stats"])["nullCount"]) == {"id"}


@pytest.mark.rule("row-supported-cannot-preserve")
def test_where_tracking_is_only_supported_rows_get_fresh_ids(run: Run, tmp_path: Path) -> None:
    place = tracked(tmp_path / "t", {})
    assert run(plan_optimize(opened(place))).status == "completed"
    (path,) = live_files(place)
    assert pq.read_schema(place / path).names == ["id"]
    (add,) = (action["add"] for action in actions(place, 2) if "add" in action)
    assert add["baseRowId"] == 201
    assert "tags" not in actions(place, 2)[0]["commitInfo"]


@pytest.mark.parametrize("mode", ["name", "id"])
def test_delta_spark_sees_the_same_ids_where_columns_are_mapped(
    run: Run, spark: SparkSession, tmp_path: Path, mode: str
) -> None:
    place = tmp_path / "t"
    spark.sql(
        f"create table delta.`{place}` (id long, s struct<x: string>) using delta tblproperties ("
        f"'delta.columnMapping.mode'='{mode}', 'delta.enableRowTracking'='true', "
        "'delta.enableDeletionVectors'='true')"
    )
    for start in (0, 10, 20):
        spark.sql(
            f"insert into delta.`{place}` select /*+ coalesce(1) */ id + {start}, "
            "named_struct('x', cast(id as string)) from range(10)"
        )
    spark.sql(f"update delta.`{place}` set s = null where id % 3 = 0")
    spark.sql(f"alter table delta.`{place}` rename column id to number")

    def theirs() -> Any:
        spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
        frame = spark.read.format("delta").load(str(place))
        ids = ("_metadata.row_id as _row_id", "_metadata.row_commit_version as _v")
        return counted_rows(frame.selectExpr("*", *ids).toArrow())

    before = theirs()
    receipt = run(plan_optimize(opened(place)))
    assert receipt.status == "completed", receipt.problem
    assert theirs() == before == with_ids(place)
