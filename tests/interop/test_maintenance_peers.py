"""After every maintenance operation four readers still say the same as before: we, our Spark
pipeline, deltalake and delta-spark. And what the two peers do to a table that we have
maintained, we read."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

import explorer
from explorer import maintenance
from explorer.maintenance import Plan
from tests.corpus import TABLES, table_name
from tests.interop.maintained import (
    OPERATIONS,
    Readers,
    carry_out,
    changed_facts,
    in_each_others_words,
    promised,
    rows_of,
    writable,
    write_tracked,
)
from tests.interop.reading import DEMO, LARGE, Case, place_case
from tests.row_values import counted_rows

_DAY_MS = 86_400_000
_FIRST_COMMIT_S = 1_767_225_600
_NAMES = {
    # deletion vectors: absolute, prefixed, inline
    "spark-table-with-dv-special-char",
    "spark44-dv-random-prefix",
    "spark44-dv-inline",
    "deltars-table_with_deletion_logs",
    # mapped columns, change data, row ids, times in the log
    "spark44-cdf-all-operations",
    "spark44-mapping-id-mode",
    "deltars-cdc_ict_table",
    "kernel-cdf-table-with-dv",
    "spark44-row-tracking",
    "spark44-row-tracking-backfill",
    "spark44-in-commit-timestamps-later",
    # checkpoints of every kind
    "spark44-v2-checkpoint-sidecars",
    "spark44-multi-part-checkpoint-struct-stats",
    "spark44-log-compaction",
    "deltars-checkpoint-v2-table",
    # names and values
    "spark44-partition-values-odd",
    "golden-data-reader-escaped-chars",
    "golden-data-reader-partition-values",
    "dat-multi_partitioned",
    "spark44-type-widening",
    "spark44-streaming-transactions",
    "spark44-clustering",
}
_DEMO = {"name": DEMO, "expect": "ok", "num_rows_live": LARGE}
_CASES: list[dict[str, Any]] = [
    _DEMO,
    *(table for table in TABLES if table["name"] in _NAMES),
]
_WITH_SPARK = {
    DEMO,
    "spark44-cdf-all-operations",
    "spark44-row-tracking",
    "spark44-v2-checkpoint-sidecars",
    "spark44-partition-values-odd",
    "spark-table-with-dv-special-char",
    "deltars-cdc_ict_table",
}


def place(expected: dict[str, Any], scratch: Path) -> Case:
    """A copy that may be changed."""
    case = place_case(expected, scratch)
    writable(case.place)
    if "commit_timestamps_ms" not in expected:
        # each later than the one before: a cleaned log would not know what to make them later than
        for commit in (case.place / "_delta_log").glob("*.json"):
            if commit.stem.isdigit():
                at = _FIRST_COMMIT_S + 60 * int(commit.stem)
                os.utime(commit, (at, at))
    if expected["name"] == DEMO:
        latest = explorer.open_table(case.place).latest_version()
        history = [{"version": version} for version in (4, latest - 6, latest - 1, latest)]
        case = replace(case, expected={**expected, "history": history})
    return case


def maintain(case: Case, readers: Readers, state: Path) -> tuple[list[str], Case]:
    """Every operation, each looked at by the readers: what was done, and the versions that
    are promised at the end."""
    done: list[str] = []
    for operation in OPERATIONS:
        plan = operation(explorer.open_table(case.place))
        assert not plan.refusals, (operation.__name__, plan.refusals)
        if not plan.steps:
            continue
        case = promised(case, plan)
        before = readers.read(case)
        receipt = carry_out(plan, state)
        assert receipt.status == "completed", (operation.__name__, receipt.problem)
        after = readers.read(case)
        assert changed_facts(before, after) == {}, operation.__name__
        done.append(operation.__name__)
    return done, case


@pytest.mark.sampled(one_in=12)
@pytest.mark.parametrize("expected", _CASES, ids=table_name)
def test_table_says_the_same_after_every_operation(
    expected: dict[str, Any], tmp_path: Path
) -> None:
    case = place(expected, tmp_path)
    done, _ = maintain(case, Readers(), tmp_path / "state")
    assert done


@pytest.mark.sampled(one_in=14)
@pytest.mark.spark
@pytest.mark.parametrize(
    "expected", [case for case in _CASES if case["name"] in _WITH_SPARK], ids=table_name
)
def test_four_readers_say_the_same_after_all_operations(
    expected: dict[str, Any], spark: SparkSession, tmp_path: Path
) -> None:
    case = place(expected, tmp_path)
    readers = Readers(spark=spark)
    state = tmp_path / "state"
    whole = readers.read(case)
    assert in_each_others_words(whole) == {}
    _, case = maintain(case, Readers(), state)
    after = readers.read(case)
    assert in_each_others_words(after) == {}
    kept = {
        reader: {fact: told for fact, told in facts.items() if fact not in _BY_VERSION}
        for reader, facts in whole.items()
    }
    assert changed_facts(kept, after) == {}


# of fewer versions at the end; `test_table_says_the_same_after_every_operation` compares them
_BY_VERSION = {"older rows", "older files", "changes", "change times"}


def _write_with_spark(spark: SparkSession, place: Path) -> None:
    """A table of many features, optimized, and changed once more."""
    write_tracked(spark, place, **{"delta.checkpointPolicy": "v2"})
    spark.sql(f"optimize delta.`{place}`")
    spark.sql(f"delete from delta.`{place}` where id = 5")


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("written") / "table"
    _write_with_spark(spark, place)
    return place


@pytest.mark.turns(one_in=3)
@pytest.mark.spark
def test_four_readers_say_the_same_of_a_table_of_delta_spark_after_each_operation(
    spark: SparkSession, written: Path, tmp_path: Path
) -> None:
    place = Path(shutil.copytree(written, tmp_path / "table"))
    latest = explorer.open_table(place).latest_version()
    expected = {
        "name": "written",
        "num_rows_live": None,
        "history": [{"version": version} for version in range(latest + 1)],
        "change_feed": {"from_version": 1, "to_version": latest},
    }
    case, readers = Case(place=place, expected=expected), Readers(spark=spark)
    later = int(time.time() * 1000) + 40 * _DAY_MS
    operations: list[Callable[[explorer.Table], Plan]] = [
        maintenance.plan_checkpoint,
        lambda table: maintenance.plan_log_compaction(table, 1, latest),
        lambda table: maintenance.plan_vacuum(table, clock=lambda: later),
        lambda table: maintenance.plan_log_cleanup(table, clock=lambda: later),
    ]
    before = readers.read(case)
    assert in_each_others_words(before) == {}
    for operation in operations:
        plan = operation(explorer.open_table(place))
        assert plan.steps, plan.summary
        case = promised(case, plan)
        before = readers.read(case)
        receipt = carry_out(plan, tmp_path / "state", clock=lambda: later)
        assert receipt.status == "completed", receipt.problem
        after = readers.read(case)
        assert changed_facts(before, after) == {}, plan.summary
        assert in_each_others_words(after) == {}


@pytest.mark.turns(one_in=3)
@pytest.mark.spark
def test_what_delta_spark_does_after_us_is_read_by_us(
    spark: SparkSession, written: Path, tmp_path: Path
) -> None:
    place = Path(shutil.copytree(written, tmp_path / "table"))
    table = explorer.open_table(place)
    assert carry_out(maintenance.plan_checkpoint(table), tmp_path / "state").status == "completed"
    log = spark._jvm.org.apache.spark.sql.delta.DeltaLog
    log.clearCache()
    steps = [
        f"insert into delta.`{place}` values (100, 'ä b', 'after'), (101, 'new', 'after')",
        f"delete from delta.`{place}` where id in (100, 3)",
        f"optimize delta.`{place}`",
        f"vacuum delta.`{place}` retain 0 hours",
    ]
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    for step in steps:
        spark.sql(step).collect()
        expected = spark.read.format("delta").load(str(place)).toArrow()
        assert rows_of(place) == counted_rows(expected), step
    plan = maintenance.plan_checkpoint(explorer.open_table(place))
    assert carry_out(plan, tmp_path / "state").status == "completed"
    log.clearCache()
    spark.sql(f"insert into delta.`{place}` values (200, 'new', 'last')")
    assert rows_of(place) == counted_rows(spark.read.format("delta").load(str(place)).toArrow())


@pytest.mark.turns(one_in=3)
@pytest.mark.spark
def test_vacuum_of_a_shallow_clone_leaves_the_files_of_its_source(
    spark: SparkSession, written: Path, tmp_path: Path
) -> None:
    clone = tmp_path / "clone"
    spark.sql(f"create table delta.`{clone}` shallow clone delta.`{written}`")
    spark.sql(f"delete from delta.`{clone}` where id in (9, 10)")
    spark.sql(f"insert into delta.`{clone}` values (300, 'new', 'own')")
    spark.sql(f"delete from delta.`{clone}` where id = 300")
    source = {place for place in written.rglob("*") if place.is_file()}
    expected = {"name": "clone", "num_rows_live": None, "history": [], "change_feed": None}
    case, readers = Case(place=clone, expected=expected), Readers(spark=spark)
    before = readers.read(case)
    assert in_each_others_words(before) == {}
    later = int(time.time() * 1000) + 40 * _DAY_MS
    plan = maintenance.plan_vacuum(explorer.open_table(clone), clock=lambda: later)
    assert plan.steps
    receipt = carry_out(plan, tmp_path / "state", clock=lambda: later)
    assert receipt.status == "completed", receipt.problem
    assert {place for place in written.rglob("*") if place.is_file()} == source
    assert changed_facts(before, readers.read(case)) == {}


def test_what_deltalake_does_after_us_is_read_by_us(tmp_path: Path) -> None:
    place = tmp_path / "table"
    for start in range(0, 60, 20):
        write_deltalake(place, _rows(range(start, start + 20)), mode="append", partition_by=["p"])
    DeltaTable(place).delete("id = 7")
    state = tmp_path / "state"
    for plan_it in (maintenance.plan_log_compaction, maintenance.plan_checkpoint):
        plan = plan_it(explorer.open_table(place))
        assert plan.steps
        assert carry_out(plan, state).status == "completed"
    later = int(time.time() * 1000) + 10 * _DAY_MS
    plan = maintenance.plan_vacuum(explorer.open_table(place), clock=lambda: later)
    assert plan.steps
    assert carry_out(plan, state, clock=lambda: later).status == "completed"

    expected = {*range(60)} - {7}
    write_deltalake(place, _rows(range(60, 80)), mode="append")
    expected |= {*range(60, 80)}
    assert _ids(place) == expected == _their_ids(place)
    DeltaTable(place).delete("id between 10 and 14")
    expected -= {*range(10, 15)}
    assert _ids(place) == expected == _their_ids(place)
    DeltaTable(place).create_checkpoint()
    DeltaTable(place).optimize.compact()
    DeltaTable(place).vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert _ids(place) == expected == _their_ids(place)
    plan = maintenance.plan_checkpoint(explorer.open_table(place))
    assert carry_out(plan, state).status == "completed"
    write_deltalake(place, _rows(range(80, 90)), mode="append")
    assert _ids(place) == expected | {*range(80, 90)} == _their_ids(place)


def _rows(ids: range) -> pa.Table:
    parts = ["ä b" if number % 2 else "50%/" for number in ids]
    return pa.table({"id": pa.array(ids, pa.int64()), "p": parts})


def _ids(place: Path) -> set[int]:
    rows = explorer.read_rows(explorer.open_table(place).snapshot())
    found: list[int] = rows.column("id").to_pylist()
    assert len(found) == len({*found})
    return {*found}


def _their_ids(place: Path) -> set[int]:
    found = pa.table(DeltaTable(place).to_pyarrow_table()).column("id").to_pylist()
    assert len(found) == len({*found})
    return {*found}
