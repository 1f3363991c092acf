"""Stores that Spark reaches by another name, or not at all."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import pipeline
from explorer.errors import InvalidArgumentError, UnsupportedError
from explorer.pipeline.native._hadoop_schemes import SCHEMES, USUAL, parse_schemes
from tests.data_tables import DataTable, field, struct
from tests.pipeline.rows import same_rows, set_to


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small table."""
    table = DataTable(tmp_path_factory.mktemp("stores") / "t", struct(field("id", "long")))
    for at in range(3):
        table.add(f"{at}.parquet", pa.table({"id": [at]}))
    return table.write()


@pytest.fixture(scope="module")
def elsewhere(place: Path) -> explorer.Table:
    """The same under the same path of a store in memory, of which Spark knows nothing."""
    memory = fsspec.filesystem("memory")
    for file in place.rglob("*"):
        if file.is_file():
            memory.pipe(str(file), file.read_bytes())
    return explorer.open_table(f"memory://{place}")


def test_the_setting_names_schemes_as_hadoop_has_them() -> None:
    assert parse_schemes("s3=s3a, ABFS = abfss") == {"s3": "s3a", "abfs": "abfss"}
    assert parse_schemes("usual") == USUAL
    assert parse_schemes(" ") == {}
    for wrong in ("s3", "s3=s3a;gs", "=s3a", "s3=s3a,,gs=gs"):
        with pytest.raises(InvalidArgumentError, match="how Hadoop calls"):
            parse_schemes(wrong)


def test_a_store_that_the_setting_names_is_read_by_sparks_own_reader(
    spark: SparkSession, elsewhere: explorer.Table
) -> None:
    snapshot = elsewhere.snapshot()
    plan = pipeline.plan_read(snapshot, spark)
    assert (plan.route, plan.reason) == (
        "files",
        "Spark is not told how to reach the table's store",
    )
    with set_to(spark, **{SCHEMES.replace(".", "__"): "memory=file"}):
        plan = pipeline.plan_read(snapshot, spark)
        assert plan.route == "parquet"
        assert plan.paths is not None
        assert all(path.startswith("file:///") for path in plan.paths.paths)
        # the same bytes lie there under that name
        same_rows(plan.frame().toArrow(), explorer.read_rows(snapshot))


def test_a_store_without_a_connector_is_told_before_a_job(
    spark: SparkSession, elsewhere: explorer.Table
) -> None:
    with set_to(spark, **{SCHEMES.replace(".", "__"): "memory=nosuch"}):
        with pytest.raises(UnsupportedError, match="nothing that reads nosuch") as refusal:
            pipeline.read(elsewhere.snapshot(), spark)
        assert refusal.value.kind == "store_unsupported"


def test_a_table_that_may_lead_nowhere_else_is_read_in_tasks_too(
    spark: SparkSession, place: Path
) -> None:
    snapshot = explorer.open_table(place, within=[]).snapshot()
    frame = pipeline.read(snapshot, spark, route="files")
    same_rows(frame.toArrow(), explorer.read_rows(snapshot))
