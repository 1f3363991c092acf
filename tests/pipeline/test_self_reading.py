"""Rows that come from the very table they are written to: no blind append."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

import explorer
from explorer import pipeline
from explorer.errors import ConflictError
from explorer.pipeline.writing.self_reading import reads_table
from explorer.progress import Progress
from explorer.storage.open import open_write_store

pytestmark = pytest.mark.spark

Reading = Callable[[SparkSession, Path], DataFrame]


def _ours(route: str) -> Reading:
    def read(spark: SparkSession, place: Path) -> DataFrame:
        snapshot = explorer.open_table(place).snapshot()
        return pipeline.read(snapshot, spark, route=route)  # type: ignore[arg-type]  # as listed

    return read


def _by_format(name: str) -> Reading:
    return lambda spark, place: spark.read.format(name).load(str(place))


def _by_link(spark: SparkSession, place: Path) -> DataFrame:
    link = place.with_name(f"{place.name}-link")
    link.symlink_to(place)
    return spark.read.format("delta").load(str(link))


def _of_view(spark: SparkSession, place: Path) -> DataFrame:
    _ours("files")(spark, place).createOrReplaceTempView("rows_of_the_table")
    return spark.sql(
        "with c as (select id from rows_of_the_table) select * from range(9)"
        " where id in (select id from c)"
    )


def _cached(spark: SparkSession, place: Path) -> DataFrame:
    frame = _by_format("delta")(spark, place).cache()
    frame.count()
    return frame.groupBy("id").count().select("id")


def _without_v1(spark: SparkSession, place: Path) -> DataFrame:
    name = "spark.sql.sources.useV1SourceList"
    before = spark.conf.get(name)
    spark.conf.set(name, "")
    frame = spark.read.parquet(str(place))
    spark.conf.set(name, before)
    return frame


READINGS: dict[str, Reading] = {
    "native": _ours("parquet"),
    "tasks": _ours("files"),
    "tasks, mapped": lambda spark, place: _ours("files")(spark, place).mapInArrow(
        lambda batches: batches, "id long"
    ),
    "delta-spark": _by_format("delta"),
    "SQL": lambda spark, place: spark.sql(f"select id + 1 as id from delta.`{place}`"),
    "our format": _by_format("delta_explorer"),
    "its files": _by_format("parquet"),
    "its files by another source": _without_v1,
    "one of its files": lambda spark, place: spark.read.parquet(str(next(place.glob("*.parquet")))),
    "a link": _by_link,
    "a view": _of_view,
    "a cached frame": _cached,
}


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pipeline.register(spark)
    place = tmp_path_factory.mktemp("self") / "a %41"  # and no A: it is a plain path
    pipeline.write(spark.range(0, 4, 1, 1), place)
    return place


@pytest.mark.parametrize("name", READINGS)
def test_a_frame_of_the_table_is_known_however_it_reads_it(
    spark: SparkSession, made: Path, name: str
) -> None:
    frame = READINGS[name](spark, made)
    assert reads_table(frame, open_write_store(made))
    assert not reads_table(frame, open_write_store(f"{made}2"))
    assert not reads_table(frame, open_write_store(made / "_delta_log"))


@pytest.mark.parametrize("is_from_table", [True, False])
def test_an_append_of_the_tables_own_rows_is_refused_where_one_was_deleted_meanwhile(
    spark: SparkSession, made: Path, tmp_path: Path, is_from_table: bool
) -> None:
    place = tmp_path / "t"
    shutil.copytree(made, place)
    found = _ours("files")(spark, place if is_from_table else made)

    def delete(report: Progress) -> None:
        if report.total and report.done == report.total:
            DeltaTable(str(place)).delete("id = 0")

    if not is_from_table:
        assert pipeline.write(found, place, progress=delete).version == 2
        return
    with pytest.raises(ConflictError):
        pipeline.write(found, place, progress=delete)
    table = explorer.open_table(place)
    assert table.latest_version() == 1
    assert explorer.read_rows(table.snapshot()).num_rows == 3
    result = pipeline.write(_ours("files")(spark, place), place)
    commit = (place / "_delta_log" / f"{result.version:020}.json").read_bytes().splitlines()[0]
    assert orjson.loads(commit)["commitInfo"]["isBlindAppend"] is False
