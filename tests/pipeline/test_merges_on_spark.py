"""Merges by tasks of Spark, held against the model that judges those in one process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

import explorer
from explorer import pipeline
from explorer.errors import ConflictError, DeltaError, InvalidArgumentError
from explorer.pipeline.merging import _spark_merge
from tests import merge_model
from tests.changed_tables import FORMS, counted
from tests.merge_model import SCHEMA, TwiceError, draw, judge, make_table
from tests.sampling import sample

pytestmark = pytest.mark.spark

SEEDS = sample(range(1_000, 1_200), 50, "merges on Spark")
ALL = {
    "delta.enableDeletionVectors": "true",
    "delta.enableChangeDataFeed": "true",
    "delta.enableRowTracking": "true",
}


def rows_of(place: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = explorer.read_rows(
        explorer.open_table(place).snapshot()
    ).to_pylist()
    return found


def feed_of(place: Path, version: int) -> list[dict[str, Any]]:
    found = explorer.read_changes(explorer.open_table(place), version, version).to_pylist()
    dropped = {"_commit_version", "_commit_timestamp"}
    return [{name: row[name] for name in row if name not in dropped} for row in found]


def files_of(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_merge_makes_what_the_model_says(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    place, drawn = tmp_path / "t", draw(seed, plain=False)
    make_table(place, drawn)
    version = explorer.open_table(place).latest_version()
    source = pa.Table.from_pylist(list(drawn.source), SCHEMA)
    given = source if seed % 3 else spark.createDataFrame(source)
    before = files_of(place)
    try:
        wanted = judge(drawn)
    except TwiceError:
        with pytest.raises(InvalidArgumentError, match="partners in the source") as caught:
            merge_model.merge(place, drawn, given, engine="spark", spark=spark)
        assert caught.value.kind == "rows_refused"
        assert files_of(place) == before
        return
    result = merge_model.merge(place, drawn, given, engine="spark", spark=spark)
    assert counted(rows_of(place)) == counted(wanted.rows)
    names = {"source": "numSourceRows"}
    for name, number in wanted.counts.items():
        assert result.metrics[names.get(name, f"numTargetRows{name.capitalize()}")] == number
    if not wanted.feed:
        assert result.version is None
        assert files_of(place) == before
        return
    assert result.version == version + 1
    if "delta.enableChangeDataFeed" in FORMS[drawn.form][0]:
        assert counted(feed_of(place, version + 1)) == counted(wanted.feed)


@pytest.mark.parametrize("seed", sample(range(1_200, 1_260), 30, "merges of small frames"))
def test_few_rows_of_a_frame_are_merged_in_this_process(
    spark: SparkSession, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("Spark was asked for pairs")

    place, drawn = tmp_path / "t", draw(seed, plain=True)
    make_table(place, drawn)
    source = spark.createDataFrame(pa.Table.from_pylist(list(drawn.source), SCHEMA))
    monkeypatch.setattr(_spark_merge, "pair_rows", refuse)
    try:
        wanted = judge(drawn)
    except TwiceError:
        with pytest.raises(InvalidArgumentError, match="partners in the source"):
            merge_model.merge(place, drawn, source)
        return
    merge_model.merge(place, drawn, source)
    assert counted(rows_of(place)) == counted(wanted.rows)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    found = tmp_path / "t"
    pipeline.create(found, "id BIGINT, v DOUBLE", properties=ALL)
    for first in (0, 10):
        ids = list(range(first, first + 10))
        pipeline.write(pa.table({"id": ids, "v": [float(key) for key in ids]}), found)
    return found


def frame(spark: SparkSession, text: str = "select id, 100D + id v from range(8, 12)") -> DataFrame:
    return spark.sql(text)


def test_a_source_is_read_once_and_its_rows_are_dropped(
    spark: SparkSession, place: Path, tmp_path: Path
) -> None:
    """Each evaluation leaves a line and gives other values."""
    notes = tmp_path / "notes"

    def read(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for batch in batches:
            with notes.open("a") as file:
                file.write("read\n")
            times = len(notes.read_text().splitlines())
            yield batch.assign(v=float(times))

    source = (
        spark.range(8, 22, 1, 1).selectExpr("id", "0D v").mapInPandas(read, "id long, v double")
    )
    held = len(spark.sparkContext._jsc.getPersistentRDDs())
    merging = pipeline.merge(place, source, "target.id = source.id", engine="spark")
    merging.when_matched_update_all().when_not_matched_insert_all().execute()
    assert notes.read_text().splitlines() == ["read"]
    assert {row["v"] for row in rows_of(place) if row["id"] >= 8} == {1.0}
    assert len(spark.sparkContext._jsc.getPersistentRDDs()) == held


def test_a_part_of_the_source_that_is_lost_is_an_error(
    spark: SparkSession, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = _spark_merge.find_leaving

    def lose(*given: Any) -> Any:
        for rdd in spark.sparkContext._jsc.getPersistentRDDs().values():
            rdd.unpersist(True)
        return real(*given)

    monkeypatch.setattr(_spark_merge, "find_leaving", lose)
    before = files_of(place)
    merging = pipeline.merge(place, frame(spark), "target.id = source.id", engine="spark")
    with pytest.raises(DeltaError):
        merging.when_matched_update_all().when_not_matched_insert_all().execute()
    assert files_of(place) == before
    monkeypatch.undo()
    merging.when_matched_update_all().when_not_matched_insert_all().execute()
    assert len(rows_of(place)) == 20


def test_a_table_may_be_merged_into_itself(spark: SparkSession, place: Path) -> None:
    source = pipeline.read(explorer.open_table(place).snapshot(), spark)
    source = source.selectExpr("id + 5 as id", "v * 2 as v")
    merging = pipeline.merge(place, source, "target.id = source.id", engine="spark")
    merging.when_matched_update_all().when_not_matched_insert_all().execute()
    found = {row["id"]: row["v"] for row in rows_of(place)}
    wanted = {key: float(key) for key in range(20)} | {key + 5: key * 2.0 for key in range(20)}
    assert found == wanted


def test_a_merge_into_itself_does_not_run_again(
    spark: SparkSession, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it read is of the version before the one that won."""
    meanwhile(monkeypatch, place, [1])
    source = pipeline.read(explorer.open_table(place).snapshot(), spark)
    with pytest.raises(ConflictError):
        pipeline.merge(
            place, source, "target.id = source.id", engine="spark"
        ).when_matched_delete().execute()


def test_a_lost_merge_runs_again_with_the_rows_that_were_read(
    spark: SparkSession, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meanwhile(monkeypatch, place, [21, 22])
    source = frame(spark, "select id, rand() v from range(21, 23)")
    merging = pipeline.merge(place, source, "target.id = source.id", engine="spark")
    result = merging.when_matched_update_all().when_not_matched_insert_all().execute()
    assert result.version == 5
    assert result.metrics["numTargetRowsUpdated"] == 2
    assert len(rows_of(place)) == 22


def meanwhile(monkeypatch: pytest.MonkeyPatch, place: Path, keys: list[int]) -> None:
    """Another commit, with such a key, each time that the rows have been found."""
    real, left = _spark_merge.find_leaving, iter(keys)

    def commit(*given: Any) -> Any:
        if (key := next(left, None)) is not None:
            pipeline.write(pa.table({"id": [key], "v": [0.0]}), place)
        return real(*given)

    monkeypatch.setattr(_spark_merge, "find_leaving", commit)


def test_values_may_be_columns_of_spark(spark: SparkSession, place: Path) -> None:
    merging = pipeline.merge(place, frame(spark), "target.id = source.id", engine="spark")
    merging.when_matched_update({"v": fn.col("target.v") + fn.col("source.v")}).execute()
    assert {row["id"]: row["v"] for row in rows_of(place)}[9] == 118.0


@pytest.mark.rule("column-default-keyword", "column-default-writes-use")
def test_a_value_may_be_the_default_of_its_column(spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "t"
    properties = {"delta.feature.allowColumnDefaults": "supported"}
    pipeline.create(place, "id BIGINT, v DOUBLE DEFAULT 4.5, w INT", properties=properties)
    pipeline.write(pa.table({"id": [8, 9], "v": [1.0, 2.0], "w": [1, 2]}), place)
    merging = pipeline.merge(place, frame(spark), "target.id = source.id", engine="spark")
    merging = merging.when_matched_update({"v": "DEFAULT", "w": " default "}, "target.id = 8")
    merging.when_not_matched_insert({"id": "source.id", "w": "DEFAULT"}).execute()
    found = {row["id"]: (row["v"], row["w"]) for row in rows_of(place)}
    assert found == {8: (4.5, None), 9: (2.0, 2), 10: (4.5, None), 11: (4.5, None)}


def test_columns_with_any_name(spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "t"
    schema = pa.schema([("a.b`c", pa.int64()), ("target", pa.string())])
    pipeline.create(place, schema, properties=ALL | {"delta.columnMapping.mode": "name"})
    rows = pa.table({"a.b`c": [1, 2], "target": ["x", "y"]}, schema)
    pipeline.write(rows, place, engine="spark", spark=spark)
    source = pa.table({"a.b`c": [2, 3], "target": ["z", "w"]}, schema)
    merging = pipeline.merge(
        place, source, "target.`a.b``c` = source.`a.b``c`", engine="spark", spark=spark
    )
    merging.when_matched_update_all().when_not_matched_insert_all().execute()
    assert {row["a.b`c"]: row["target"] for row in rows_of(place)} == {1: "x", 2: "z", 3: "w"}


def test_identity_columns_count_on_over_several_clauses(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = tmp_path / "t"
    pipeline.create(place, "n BIGINT GENERATED ALWAYS AS IDENTITY, id BIGINT, v DOUBLE")
    pipeline.write(pa.table({"id": [0, 1], "v": [0.0, 1.0]}), place)
    merging = pipeline.merge(
        place, frame(spark, "select id, 5D v from range(1, 9)"), "target.id = source.id"
    )
    merging = merging.when_matched_update({"v": "source.v"})
    for where in ("source.id % 2 = 0", None):
        merging = merging.when_not_matched_insert({"id": "source.id", "v": "source.v"}, where)
    merging.execute()
    numbers = [row["n"] for row in rows_of(place)]
    assert len(set(numbers)) == len(numbers) == 9
    pipeline.write(pa.table({"id": [9], "v": [0.0]}), place)
    assert max(row["n"] for row in rows_of(place)) > max(numbers)


def test_files_without_a_partner_are_not_read(spark: SparkSession, place: Path) -> None:
    snapshot = explorer.open_table(place).snapshot()
    rows = explorer.read_rows(snapshot, ["id"], metadata_columns=["_file_path"]).to_pylist()
    (place / next(row["_file_path"] for row in rows if row["id"] == 3)).unlink()
    merging = pipeline.merge(place, frame(spark, "select 15L id, 7D v"), "target.id = source.id")
    result = merging.when_matched_update_all().when_not_matched_insert_all().execute()
    assert result.metrics["numTargetRowsUpdated"] == 1


def test_rows_are_looked_up_by_columns_of_files_and_by_what_lies_in_none(
    spark: SparkSession, tmp_path: Path
) -> None:
    columns = "id BIGINT, small TINYINT, part STRING, v BIGINT"
    properties = {**ALL, "delta.columnMapping.mode": "name"}
    pipeline.create(tmp_path / "t", columns, partition_by="part", properties=properties)
    held = [(number, number, "ab"[number % 2], number) for number in range(8)]
    schema = spark.createDataFrame([], columns).schema
    rows = spark.createDataFrame(held, schema).toArrow()
    pipeline.write(rows, tmp_path / "t", engine="local")
    pipeline.delete(tmp_path / "t", "id = 2", engine="local")
    # a partner; a row that is hidden, one of another partition, another number, no number
    given = [(4, 4, "a", -4), (2, 2, "a", -2), (5, 5, "a", -5), (6, 7, "a", -6), (None, 1, "b", -1)]
    on = "target.id = source.id AND target.small = source.small AND target.part = source.part"
    merging = pipeline.merge(tmp_path / "t", spark.createDataFrame(given, schema), on, spark=spark)
    merging.when_matched_update_all().when_not_matched_insert_all().execute()
    left = [row for row in held if row[0] not in {2, 4}]
    found = [tuple(row.values()) for row in rows_of(tmp_path / "t")]
    assert sorted(found, key=str) == sorted([*left, *given], key=str)


def test_a_condition_passes_the_gate_of_expressions(spark: SparkSession, place: Path) -> None:
    source = frame(spark)
    for text in ("reflect('java.lang.System', 'exit', 1) IS NULL", "target.id IN (SELECT 1)"):
        with pytest.raises(InvalidArgumentError):
            pipeline.merge(place, source, text).when_matched_delete().execute()
        with pytest.raises(InvalidArgumentError):
            pipeline.merge(place, source, "true").when_matched_delete(text).execute()
    with pytest.raises(InvalidArgumentError):
        pipeline.merge(place, source, "target.id + source.id").when_matched_delete().execute()
    assert len(rows_of(place)) == 20
