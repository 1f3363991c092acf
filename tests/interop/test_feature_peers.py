"""Features, enabled and dropped by us and by delta-spark: both leave the same protocol and the
same properties, and delta-spark goes on with what we made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

import explorer
from explorer import maintenance
from tests.interop.maintained import rows_of
from tests.interop.twins import (
    agrees,
    asked,
    build_twins,
    done,
    last_commit,
    make,
    sql,
)
from tests.row_values import counted_rows

pytestmark = pytest.mark.spark

# --- upgrades

_SWITCHED = {
    "changeDataFeed": "delta.enableChangeDataFeed",
    "deletionVectors": "delta.enableDeletionVectors",
    "inCommitTimestamp": "delta.enableInCommitTimestamps",
    "rowTracking": "delta.enableRowTracking",
    "typeWidening": "delta.enableTypeWidening",
}
_STATEMENTS = {
    **{name: f"'{item}' = 'true'" for name, item in _SWITCHED.items()},
    **{
        name: f"'delta.feature.{name}' = 'supported'"
        for name in (
            "allowColumnDefaults",
            "appendOnly",
            "checkConstraints",
            "domainMetadata",
            "generatedColumns",
            "identityColumns",
            "invariants",
            "timestampNtz",
            "vacuumProtocolCheck",
            "variantType",
        )
    },
    "columnMapping": "'delta.columnMapping.mode' = 'name'",
    "v2Checkpoint": "'delta.checkpointPolicy' = 'v2'",
}
_OWN_NAMES = (
    "delta.inCommitTimestampEnablementVersion",
    "delta.inCommitTimestampEnablementTimestamp",
    "delta.rowTracking.materializedRowIdColumnName",
    "delta.rowTracking.materializedRowCommitVersionColumnName",
)


def without_own_names(found: dict[str, Any]) -> dict[str, Any]:
    """Of properties that each writer chooses, whether they are there."""
    told = found["properties"]
    return {**found, "properties": {**told, **dict.fromkeys(_OWN_NAMES & told.keys(), "")}}


@pytest.mark.sampled(one_in=16)
@pytest.mark.parametrize("name", _STATEMENTS)
def test_upgrade_is_the_same_as_that_of_the_reference_which_goes_on_with_it(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    ours, theirs = build_twins(spark, tmp_path)
    rows = rows_of(ours)
    done(maintenance.plan_upgrade(explorer.open_table(ours), features=[name]), tmp_path)
    sql(spark, theirs, f"alter table T set tblproperties ({_STATEMENTS[name]})")
    assert without_own_names(asked(ours)) == without_own_names(asked(theirs))
    schemas = [explorer.open_table(place).snapshot().schema for place in (ours, theirs)]
    assert schemas[0] == schemas[1]
    assert rows_of(ours) == rows
    agrees(spark, ours)
    sql(spark, ours, "insert into T select 99, 'a', 1D, null")
    sql(spark, ours, "update T set amount = 7D where id = 3")
    sql(spark, ours, "delete from T where id = 4")
    agrees(spark, ours)
    assert sum(rows_of(ours).values()) == 20


@pytest.mark.rule("feature-upgrade-used-only")
def test_reference_goes_on_where_features_that_nobody_used_were_left_out(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = make(spark, tmp_path / "table", 2, 6)
    sql(spark, place, "alter table T add constraint known check (id >= 0)")
    sql(spark, place, "alter table T drop constraint known")
    features = ["deletionVectors"]
    plan = maintenance.plan_upgrade(explorer.open_table(place), features=features, only_used=True)
    done(plan, tmp_path)
    assert asked(place)["writer"] == {"checkConstraints", "deletionVectors"}
    agrees(spark, place)
    sql(spark, place, "insert into T select 99, 'a', 1D, null")
    sql(spark, place, "delete from T where id = 4")
    # what was left out comes back when somebody uses it
    sql(spark, place, "alter table T set tblproperties ('delta.enableChangeDataFeed' = 'true')")
    sql(spark, place, "update T set amount = 7D where id = 3")
    agrees(spark, place)
    assert asked(place)["writer"] == {"changeDataFeed", "checkConstraints", "deletionVectors"}


@pytest.mark.rule("row-write-backfill")
def test_row_ids_that_we_gave_are_those_that_the_reference_goes_on_with(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = make(spark, tmp_path / "table")
    done(maintenance.plan_upgrade(explorer.open_table(place), features=["rowTracking"]), tmp_path)
    read = "select id, _metadata.row_id as r, _metadata.row_commit_version as v from T"
    before = {row["id"]: (row["r"], row["v"]) for row in sql(spark, place, read).collect()}
    assert len({ids for ids, _ in before.values()}) == 20
    assert {version for _, version in before.values()} == {3}
    ours = explorer.read_rows(
        explorer.open_table(place).snapshot(), ["id"], metadata_columns=["_row_id"]
    ).to_pylist()
    assert {row["id"]: row["_row_id"] for row in ours} == {
        key: ids for key, (ids, _) in before.items()
    }
    sql(spark, place, "update T set amount = -1D where id = 3")
    sql(spark, place, "insert into T select 99, 'a', 1D, null")
    after = {row["id"]: row["r"] for row in sql(spark, place, read).collect()}
    fresh = after.pop(99)
    assert after == {key: ids for key, (ids, _) in before.items()}
    assert fresh > max(ids for ids, _ in before.values())


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("name", ["changeDataFeed", "checkConstraints", "vacuumProtocolCheck"])
def test_deltalake_appends_to_what_we_upgraded(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    place = make(spark, tmp_path / "table")
    done(maintenance.plan_upgrade(explorer.open_table(place), features=[name]), tmp_path)
    if name == "vacuumProtocolCheck":  # which deltalake 1.6.6 does not write
        with pytest.raises(Exception, match=r"(?i)vacuumProtocolCheck"):
            write_deltalake(place, pa.table({"id": [99], "part": ["a"]}), mode="append")
        return
    rows = pa.table({"id": [99], "part": ["a"], "amount": [1.0]})
    write_deltalake(place, rows, mode="append", schema_mode="merge")
    assert DeltaTable(place).count() == 21
    agrees(spark, place)


# --- features that go

_GOES_AT_ONCE = {
    "checkConstraints": {},
    "domainMetadata": {"delta.feature.domainMetadata": "supported"},
    "inCommitTimestamp": {"delta.enableInCommitTimestamps": "true"},
    "rowTracking": {"delta.enableRowTracking": "true"},
}
_GOES_IN_TWO_STEPS = {
    "deletionVectors": {"delta.enableDeletionVectors": "true"},
    "typeWidening": {"delta.enableTypeWidening": "true"},
    "v2Checkpoint": {"delta.checkpointPolicy": "v2"},
    "vacuumProtocolCheck": {"delta.feature.vacuumProtocolCheck": "supported"},
}


@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("name", _GOES_AT_ONCE)
def test_feature_of_writers_goes_as_it_does_with_the_reference(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    ours, theirs = build_twins(spark, tmp_path, writer=3, **_GOES_AT_ONCE[name])
    rows = rows_of(ours)
    done(maintenance.plan_drop_feature(explorer.open_table(ours), name), tmp_path)
    sql(spark, theirs, f"alter table T drop feature {name}")
    assert asked(ours) == asked(theirs)
    assert last_commit(ours)["operation"] == last_commit(theirs)["operation"] == "DROP FEATURE"
    assert last_commit(ours)["operationParameters"] == last_commit(theirs)["operationParameters"]
    assert rows_of(ours) == rows
    sql(spark, ours, "insert into T select 99, 'a', 1D, null")
    sql(spark, ours, "delete from T where id = 4")
    agrees(spark, ours)


@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("name", _GOES_IN_TWO_STEPS)
def test_feature_of_readers_goes_as_it_does_with_the_reference_and_its_history_stays(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    ours, theirs = build_twins(spark, tmp_path, **_GOES_IN_TWO_STEPS[name])
    table = explorer.open_table(ours)
    latest = table.latest_version()
    before = {version: rows_at(table, version) for version in range(latest + 1)}
    plan = maintenance.plan_drop_feature(table, name)
    if plan.summary.startswith("First"):
        done(plan, tmp_path)
        plan = maintenance.plan_drop_feature(explorer.open_table(ours), name)
    done(plan, tmp_path)
    sql(spark, theirs, f"alter table T drop feature {name}")
    mark = "delta.requireCheckpointProtectionBeforeVersion"
    found = [asked(place) for place in (ours, theirs)]
    marks = [int(item["properties"].pop(mark)) for item in found]
    assert found[0] == found[1]
    versions = [explorer.open_table(place).latest_version() for place in (ours, theirs)]
    assert marks == versions
    agrees(spark, ours)
    for version, rows in before.items():
        assert rows_at(explorer.open_table(ours), version) == rows
        theirs_then = sql(spark, ours, f"select * from T version as of {version}").toArrow()
        assert counted_rows(theirs_then) == rows
    sql(spark, ours, "insert into T select 99, 'a', 1D, null")
    sql(spark, ours, "delete from T where id = 4")
    agrees(spark, ours)


def rows_at(table: explorer.Table, version: int) -> Any:
    """What we read of a version, by value."""
    return counted_rows(explorer.read_rows(table.snapshot(version=version)))


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("purger", ["we", "delta-spark"])
def test_deletion_vectors_go_after_a_purge_and_old_versions_keep_theirs(
    spark: SparkSession, tmp_path: Path, purger: str
) -> None:
    place = make(spark, tmp_path / "table", **{"delta.enableDeletionVectors": "true"})
    sql(spark, place, "delete from T where id in (3, 12)")
    table = explorer.open_table(place)
    marked = table.latest_version()
    rows = rows_at(table, marked)
    assert table.snapshot().num_deletion_vectors
    done(maintenance.plan_drop_feature(table, "deletionVectors"), tmp_path)
    waiting = maintenance.plan_drop_feature(explorer.open_table(place), "deletionVectors")
    assert [found.guard for found in waiting.refusals] == ["traces"]
    if purger == "we":
        purge = maintenance.plan_optimize(explorer.open_table(place), purge=True)
        done(purge, tmp_path, spark=spark)
    else:
        sql(spark, place, "reorg table T apply (purge)")
    done(maintenance.plan_drop_feature(explorer.open_table(place), "deletionVectors"), tmp_path)
    protocol = explorer.open_table(place).protocol()
    assert (protocol.min_reader_version, protocol.min_writer_version) == (1, 7)
    # who knows no vectors reads the table
    assert DeltaTable(place).count() == 18
    agrees(spark, place)
    assert rows_at(explorer.open_table(place), marked) == rows
    theirs = sql(spark, place, f"select * from T version as of {marked}").toArrow()
    assert counted_rows(theirs) == rows
    tombstones = explorer.open_table(place).snapshot().tombstones(["path"])["path"].to_pylist()
    assert any(name.endswith(".bin") for name in tombstones)
