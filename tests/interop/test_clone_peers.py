"""A shallow clone of ours and one of delta-spark of the same table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from pyspark.sql import SparkSession

import explorer
from explorer import pipeline
from tests.interop.twins import agrees, asked, last_commit, sql

_SOURCE = (
    "create table T (id long not null, c string) using delta partitioned by (c) comment 'why' "
    "tblproperties ('delta.enableDeletionVectors' = 'true', 'delta.enableRowTracking' = 'true', "
    "'delta.enableChangeDataFeed' = 'true', 'delta.constraints.least' = 'id >= 0')"
)
_OWN = {"owner": "me", "delta.enableTypeWidening": "true", "delta.enableChangeDataFeed": "false"}
_NAMES = ("materializedRowIdColumnName", "materializedRowCommitVersionColumnName")


def _first(place: Path) -> dict[str, Any]:
    """The first commit by action; adds by path, without the ids that files get in any order."""
    lines = (place / "_delta_log" / f"{0:020}.json").read_text().splitlines()
    found: dict[str, Any] = {"add": {}}
    for line in map(json.loads, lines):
        [(name, body)] = ((key, value) for key, value in line.items())
        if name == "add":
            body["ids"] = (body.pop("baseRowId") >= 0, body.pop("defaultRowCommitVersion"))
            found["add"][body["path"]] = body
        elif name != "domainMetadata":
            found[name] = body
    return found


@pytest.mark.spark
@pytest.mark.turns(one_in=3)
def test_a_clone_of_ours_is_that_of_the_reference_which_goes_on_with_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = tmp_path / "the source"
    sql(spark, source, _SOURCE)
    sql(spark, source, "insert into T select id, if(id < 900, 'x y', 'z%') from range(1000)")
    sql(spark, source, "delete from T where id % 3 = 0 and id < 700")
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    told = ", ".join(f"'{name}' = '{value}'" for name, value in _OWN.items())
    spark.sql(
        f"create table delta.`{theirs}` shallow clone delta.`{source}` tblproperties ({told})"
    )
    pipeline.clone(source, ours, properties=_OWN)
    mine, peer = _first(ours), _first(theirs)
    assert mine["add"] == peer["add"]
    assert all(add["ids"] == (True, 0) for add in mine["add"].values())
    assert any(add.get("deletionVector") for add in mine["add"].values())
    told, other = mine["commitInfo"], peer["commitInfo"]
    for name in ("operation", "operationParameters", "operationMetrics", "isBlindAppend"):
        assert told[name] == other[name], name
    facts = [asked(place) for place in (ours, theirs)]
    for each in facts:
        for name in _NAMES:
            assert each["properties"].pop(f"delta.rowTracking.{name}")
    assert facts[0] == facts[1]
    for name in ("schemaString", "partitionColumns", "createdTime", "description", "name"):
        assert mine["metaData"].get(name) == peer["metaData"].get(name), name

    held = {place for place in source.rglob("*") if place.is_file()}
    agrees(spark, ours)
    sql(spark, ours, "insert into T values (2000, 'new')")
    sql(spark, ours, "delete from T where id in (1, 901, 2000)")
    agrees(spark, ours)
    pipeline.delete(ours, "id = 4 OR id > 950")
    sql(spark, ours, "update T set id = id + 5000 where id < 50")
    agrees(spark, ours)
    assert last_commit(ours)["operation"] == "UPDATE"
    assert {place for place in source.rglob("*") if place.is_file()} == held
    agrees(spark, source)


def test_deltalake_reads_a_clone_by_sql_and_appends_to_it(tmp_path: Path) -> None:
    source, place = tmp_path / "the source", tmp_path / "clone"
    rows = pa.table({"id": [1, 2, 3], "c": ["x y", "z", "z"]})
    pipeline.write(rows, source, partition_by="c")
    pipeline.clone(source, place)
    write_deltalake(place, pa.table({"id": [4], "c": ["z"]}), mode="append")
    found = QueryBuilder().register("t", DeltaTable(place)).execute("select id from t").read_all()
    assert sorted(pa.table(found).column("id").to_pylist()) == [1, 2, 3, 4]
    mine = explorer.read_rows(explorer.open_table(place).snapshot()).column("id")
    assert sorted(mine.to_pylist()) == [1, 2, 3, 4]
    # as docs/writing.md tells: the frame looks for whole paths below the clone's own folder
    with pytest.raises(FileNotFoundError):
        DeltaTable(place).to_pyarrow_table()
