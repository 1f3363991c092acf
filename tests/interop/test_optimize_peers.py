"""After an optimize four readers say what they said before: rows, row ids, changes, older
versions. And what the peers do to a table that we have optimized, we read."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import maintenance
from explorer.maintenance import Plan
from tests.corpus import TABLES, table_name
from tests.interop.maintained import (
    Readers,
    carry_out,
    changed_facts,
    in_each_others_words,
    rows_of,
    write_tracked,
)
from tests.interop.reading import DEMO, LARGE, Case
from tests.interop.test_maintenance_peers import place
from tests.row_values import counted_rows

pytestmark = pytest.mark.spark

_PACKED = {
    "deltars-cdf-table",
    "golden-kernel-timestamp-int96",
    "golden-data-reader-timestamp_ntz-id-mode",
    "kernel-unshredded-variant",
    "kernel-void-column",
    "spark44-cdf-all-operations",
    "spark44-dv-random-prefix",
    "spark44-mapping-id-mode",
    "spark44-row-tracking-backfill",
    "spark44-type-widening",
    "spark44-in-commit-timestamps-later",
    "spark44-v2-checkpoint-sidecars",
    "spark44-variant-plain",
}
_PURGED = {"kernel-with-short-dv", "spark-table-with-dv-large", "spark44-dv-inline"}
# by columns of the table, into several files
_ORDERED = {
    "dat-all_primitive_types": ["utf8", "int32"],
    "golden-type-widening": ["int_long"],
    "spark44-row-tracking": ["id"],
}
_DEMO = {"name": DEMO, "expect": "ok", "num_rows_live": LARGE}
_ALL = {table_name(table): table for table in TABLES} | {DEMO: _DEMO}
_CASES = [
    *((name, {}) for name in [DEMO, *sorted(_PACKED)]),
    *((name, {"purge": True}) for name in sorted(_PURGED)),
    *((name, {"zorder_by": columns}) for name, columns in sorted(_ORDERED.items())),
]


@pytest.mark.sampled(one_in=16)
@pytest.mark.parametrize(
    ("name", "wishes"),
    [case for case in _CASES if case[0] in _ALL],
    ids=[f"{name} {' '.join(wishes)}".strip() for name, wishes in _CASES if name in _ALL],
)
def test_four_readers_say_the_same_after_an_optimize(
    name: str, wishes: dict[str, Any], spark: SparkSession, tmp_path: Path
) -> None:
    case = place(_ALL[name], tmp_path)
    if "zorder_by" in wishes:
        size = explorer.open_table(case.place).snapshot().size_in_bytes
        wishes = {**wishes, "target_size": max(1, size // 3)}
    plan = maintenance.plan_optimize(explorer.open_table(case.place), **wishes)
    assert not plan.refusals
    assert plan.steps
    readers = Readers(spark=spark)
    before = readers.read(case)
    receipt = carry_out(plan, tmp_path / "state", spark=spark)
    assert receipt.status == "completed", receipt.problem
    after = readers.read(case)
    assert changed_facts(before, after) == {}
    assert in_each_others_words(after) == {}
    again = maintenance.plan_optimize(explorer.open_table(case.place), **wishes)
    assert again.steps == ()


@pytest.fixture(scope="module")
def tracked(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("written") / "table"
    write_tracked(spark, found, **{"delta.columnMapping.mode": "name"})
    return found


def plan_of(place: Path, **wishes: Any) -> Plan:
    return maintenance.plan_optimize(explorer.open_table(place), **wishes)


@pytest.mark.sampled(one_in=6)
@pytest.mark.parametrize(
    "wishes",
    [{}, {"purge": True}, {"zorder_by": ["v", "id"], "target_size": 3000}],
    ids=["packed", "purged", "ordered"],
)
def test_rows_of_delta_spark_keep_their_ids_and_its_feed_shows_no_change(
    spark: SparkSession, tracked: Path, tmp_path: Path, wishes: dict[str, Any]
) -> None:
    place = Path(shutil.copytree(tracked, tmp_path / "table"))
    latest = explorer.open_table(place).latest_version()
    expected = {
        "name": "tracked",
        "num_rows_live": None,
        "history": [{"version": version} for version in range(latest + 1)],
        "change_feed": {"from_version": 1, "to_version": latest},
    }
    case, readers = Case(place=place, expected=expected), Readers(spark=spark)
    before = readers.read(case)
    plan = plan_of(place, **wishes)
    assert plan.steps
    receipt = carry_out(plan, tmp_path / "state", spark=spark)
    assert receipt.status == "completed", receipt.problem
    after = readers.read(case)
    assert changed_facts(before, after) == {}
    assert in_each_others_words(after) == {}
    if "target_size" not in wishes:
        assert explorer.open_table(place).snapshot().num_deletion_vectors == 0
    changes = spark.sql(f"select * from table_changes_by_path('{place}', {latest + 1})").toArrow()
    assert changes.num_rows == 0
    options = {"readChangeFeed": "true", "startingVersion": 1}
    feed = spark.read.format("delta").options(**options).load(str(place))
    assert feed.where(f"_commit_version > {latest}").count() == 0


def test_what_delta_spark_does_after_us_is_read_by_us(
    spark: SparkSession, tracked: Path, tmp_path: Path
) -> None:
    place = Path(shutil.copytree(tracked, tmp_path / "table"))
    state = tmp_path / "state"
    assert carry_out(plan_of(place), state, spark=spark).status == "completed"
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    steps = [
        f"insert into delta.`{place}` values (100, 'ä b', 'after'), (101, 'new', 'after')",
        f"delete from delta.`{place}` where id in (100, 3)",
        f"update delta.`{place}` set v = 'again' where id = 4",
        f"optimize delta.`{place}`",
        f"reorg table delta.`{place}` apply (purge)",
    ]
    for step in steps:
        spark.sql(step).collect()
        _agree(spark, place)
    spark.sql(f"insert into delta.`{place}` values (200, 'new', 'last')")
    assert carry_out(plan_of(place), state, spark=spark).status == "completed"
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    _agree(spark, place)


def _agree(spark: SparkSession, place: Path) -> None:
    theirs = spark.read.format("delta").load(str(place))
    with_ids = theirs.selectExpr("*", "_metadata.row_id as _row_id").toArrow()
    ours = explorer.read_rows(explorer.open_table(place).snapshot(), metadata_columns=["_row_id"])
    assert counted_rows(ours) == counted_rows(with_ids)


@pytest.mark.rule("clustering-provider")
def test_delta_spark_skips_by_our_statistics_and_goes_on_clustering(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = tmp_path / "table"
    spark.sql(
        f"create table delta.`{place}` (id long, s struct<d: date>, name string) using delta "
        "cluster by (id, s.d)"
    )
    for seed in range(4):
        spark.sql(
            f"insert into delta.`{place}` select /*+ coalesce(1) */ hash(id, {seed}) % 1000, "
            "named_struct('d', date_add(date'2024-01-01', cast(abs(hash(id, 7)) % 300 as int))), "
            "concat('n', id) from range(500)"
        )
    before = rows_of(place)
    plan = plan_of(place, target_size=4000)
    assert plan.parameters["names"] == ["id", "s.d"]
    receipt = carry_out(plan, tmp_path / "state", spark=spark)
    assert receipt.status == "completed", receipt.problem
    assert rows_of(place) == before
    snapshot = explorer.open_table(place).snapshot()
    assert snapshot.num_files > 4
    assert set(snapshot.files(["clustering_provider"]).column(0).to_pylist()) == {"delta-explorer"}
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    theirs = spark.read.format("delta").load(str(place))
    for where in ("id between 5 and 40", "s.d = date'2024-03-01'"):
        found = theirs.where(where)
        ours = explorer.read_rows(snapshot, where=where.replace("date'", "'"))
        assert counted_rows(ours) == counted_rows(found.toArrow()), where
        assert len(found.inputFiles()) < snapshot.num_files, where
    spark.sql(f"insert into delta.`{place}` select id, null, 'late' from range(100)")
    spark.sql(f"optimize delta.`{place}`").collect()
    spark.sql(f"insert into delta.`{place}` select id, null, 'later' from range(10)")
    expected = counted_rows(spark.read.format("delta").load(str(place)).toArrow())
    assert rows_of(place) == expected
