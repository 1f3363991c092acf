"""Planning maintenance, statistics and skipping of a log whose state is on Spark: the answers
are those of the engine's own state."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import maintenance, pipeline
from explorer.errors import UnsupportedError
from explorer.inspect import files_health
from explorer.inspect.files.statistics import column_statistics
from explorer.pipeline import Limits
from explorer.scan.plan import plan_scan
from explorer.scan.statistics.live_files import parsed_statistics
from tests.pipeline.test_large_logs import build_wide, large
from tests.tables import PROTOCOL, LogFolder, add, metadata

_LIMITS = {
    "commits replayed here": Limits(actions=0),
    "commits reconciled there": Limits(actions=0, commit_bytes=0),
}
_PLANS: dict[str, Callable[[explorer.Table], maintenance.Plan]] = {
    "checkpoint": maintenance.plan_checkpoint,
    "compact-log": maintenance.plan_log_compaction,
    "optimize": maintenance.plan_optimize,
    "optimize where": lambda table: maintenance.plan_optimize(table, where="region = 'a'"),
    "purge": lambda table: maintenance.plan_optimize(table, purge=True),
    "vacuum": maintenance.plan_vacuum,
    "vacuum lite": lambda table: maintenance.plan_vacuum(table, mode="lite"),
    "clean-log": maintenance.plan_log_cleanup,
    "restore": lambda table: maintenance.plan_restore(table, 1),
    "repair files": lambda table: maintenance.plan_repair(table, "files"),
    "repair statistics": lambda table: maintenance.plan_repair(table, "statistics"),
    "constraint": lambda table: maintenance.plan_add_constraint(table, "some", "id >= 0"),
    "drop feature": lambda table: maintenance.plan_drop_feature(table, "deletionVectors"),
}
# of each plan another: names made by chance, and the planner's clock in every spelling
_BY_CHANCE = re.compile(
    r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|\b1[67]\d{11}\b|20\d\d-[^\"]*"
)
_MANY = 3_000
_BYTES = 100_000


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint in three parts with mapped names, and commits with and without vectors."""
    return build_wide(tmp_path_factory.mktemp("plans") / "wide")


def told(plan: maintenance.Plan) -> dict[str, Any]:
    """What a plan says, whenever it is made."""
    text = orjson.dumps([plan.summary, plan.effect, plan.verdicts, plan.steps]).decode()
    return {"document": _BY_CHANCE.sub("", text), "files": plan.files.to_pylist()}


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("limits", _LIMITS.values(), ids=_LIMITS)
def test_every_plan_is_that_of_the_engine(spark: SparkSession, wide: Path, limits: Limits) -> None:
    for what, plan in _PLANS.items():
        here = explorer.open_table(wide)
        there = pipeline.with_spark_state(explorer.open_table(wide), spark, limits)
        assert told(plan(there)) == told(plan(here)), what


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("limits", _LIMITS.values(), ids=_LIMITS)
def test_statistics_and_skipping_are_those_of_the_engine(
    spark: SparkSession, wide: Path, limits: Limits
) -> None:
    here, there = explorer.open_table(wide).snapshot(), large(wide, spark, limits)
    assert column_statistics(there).columns.equals(column_statistics(here).columns)
    wanted = parsed_statistics(here).sort_by("path")
    assert parsed_statistics(there).sort_by("path").equals(wanted)
    planned, asked = (
        plan_scan(there, "id > 12 AND region = 'a'"),
        plan_scan(here, "id > 12 AND region = 'a'"),
    )
    assert planned.reasons().sort_by("path").equals(asked.reasons().sort_by("path"))
    assert 0 < planned.num_skipped < planned.num_files


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("limits", _LIMITS.values(), ids=_LIMITS)
def test_files_that_are_gone_are_those_of_the_engine(
    spark: SparkSession, tmp_path: Path, limits: Limits
) -> None:
    root = build_wide(tmp_path / "wide")
    for name in ("1.parquet", "7.parquet", "13.parquet"):
        (root / name).unlink()
    here, there = (
        files_health(table).missing
        for table in (
            explorer.open_table(root),
            pipeline.with_spark_state(explorer.open_table(root), spark, limits),
        )
    )
    assert here is not None
    assert there is not None
    assert here.num_rows == 3
    assert there.sort_by("path").to_pylist() == here.sort_by("path").to_pylist()


def test_only_files_that_are_written_again_come_to_the_driver(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Of many files few are small: they are planned within a limit that all would exceed."""
    log = LogFolder(tmp_path / "many")
    files = [add(f"{at}.parquet", size=2**30 if at % 300 else 10) for at in range(_MANY)]
    log.checkpoint(0, [PROTOCOL, metadata(), *files], rows_per_group=_MANY // 4)
    log.commit(1, [])
    limits = Limits(actions=0, bytes=_BYTES)
    there = pipeline.with_spark_state(explorer.open_table(log.root), spark, limits)
    found = maintenance.plan_optimize(there)
    assert told(found) == told(maintenance.plan_optimize(explorer.open_table(log.root)))
    assert found.effect["files_removed"] == _MANY // 300
    with pytest.raises(UnsupportedError) as refusal:
        there.snapshot().files()
    assert refusal.value.kind == "limit_exceeded"
