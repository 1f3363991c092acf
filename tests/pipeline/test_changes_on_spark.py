"""Deletes and updates by tasks of Spark, held against the model that judges those in a process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

import explorer
from explorer import pipeline
from explorer.errors import InvalidArgumentError, UnsupportedError
from tests.changed_tables import (
    FORMS,
    Change,
    changes,
    counted,
    expected,
    feed_of,
    ids_of,
    make_table,
    rows_of,
    run,
)
from tests.sampling import SEED, sample

CHANGES = changes()
# a third of these run in a day, whose turns go by the day as well: other ones every third day
CASES = sample(
    [(form, name) for form in FORMS for name in CHANGES], 24, "changes on Spark", SEED // 3
)


def _beyond(row: dict[str, Any]) -> bool:
    return row["key"] % 5 == 1 and row["land"] == "DE"


BEYOND = {
    "delete": Change("key % 5 = 1 AND upper(land) = 'DE'", _beyond),
    "update": Change(
        "key % 5 = 1 AND upper(land) = 'DE'",
        _beyond,
        {"land": "concat(land, '!')", "s.a": "length(land)"},
        lambda row: row | {"land": "DE!", "s": (row["s"] or {"b.c": None}) | {"a": 2}},
    ),
}
"""What only Spark can evaluate."""


def _judge(place: Path, form: str, change: Change, spark: SparkSession) -> None:
    make_table(place, form)
    before = rows_of(place)
    ids = ids_of(place) if form in {"ids", "ids-vectors", "all"} else {}
    after, feed = expected(before, change)
    result = run(place, change, engine="spark", spark=spark)
    assert counted(rows_of(place)) == counted(after)
    if not feed:
        assert result.version is None
        return
    assert result.version == 4
    matched = {row["key"] for row in feed}
    if "delta.enableChangeDataFeed" in FORMS[form][0]:
        assert counted(feed_of(place, 4)) == counted(feed)
    for key, (row_id, version) in (ids_of(place) if ids else {}).items():
        assert row_id == ids[key][0]
        assert version == (4 if key in matched else ids[key][1])


@pytest.mark.parametrize(("form", "name"), CASES)
def test_tasks_do_what_the_model_says(
    tmp_path: Path, spark: SparkSession, form: str, name: str
) -> None:
    _judge(tmp_path / "t", form, CHANGES[name], spark)


@pytest.mark.parametrize("form", sample(FORMS, 5, "beyond here"))
@pytest.mark.parametrize("what", BEYOND)
def test_spark_evaluates_what_this_process_cannot(
    tmp_path: Path, spark: SparkSession, form: str, what: str
) -> None:
    _judge(tmp_path / "t", form, BEYOND[what], spark)


def test_a_value_may_be_a_column_of_spark(tmp_path: Path, spark: SparkSession) -> None:
    place = tmp_path / "t"
    make_table(place, "vectors")
    values = {"x": fn.col("key") * 2.0, "s.a": fn.lit(7), "n": "n + 1"}
    assert pipeline.update(place, values, "key = 5", spark=spark).version == 4
    (row,) = (row for row in rows_of(place) if row["key"] == 5)
    assert (row["x"], row["s"], row["n"]) == (
        10.0,
        {"a": 7, "b.c": "5\n"} if False else row["s"],
        -1,
    )
    assert row["s"]["a"] == 7


@pytest.mark.parametrize("what", BEYOND)
def test_what_needs_spark_is_said_before_it_starts(tmp_path: Path, what: str) -> None:
    place = tmp_path / "t"
    make_table(place, "plain")
    with pytest.raises(UnsupportedError) as caught:
        run(place, BEYOND[what], engine="local")
    assert caught.value.kind == "missing_dependency"
    assert "key % 5 = 1" in caught.value.reason


def test_a_condition_passes_the_gate_of_expressions(tmp_path: Path, spark: SparkSession) -> None:
    place = tmp_path / "t"
    make_table(place, "plain")
    for text in ("reflect('java.lang.System', 'exit', 1) IS NULL", "key IN (SELECT 1)"):
        with pytest.raises(InvalidArgumentError):
            pipeline.delete(place, text, spark=spark)
        with pytest.raises(InvalidArgumentError):
            pipeline.update(place, {"land": text}, spark=spark)
    with pytest.raises(InvalidArgumentError):
        pipeline.delete(place, "concat(land, 'x')", spark=spark)
    assert len(rows_of(place)) == 36


def test_names_with_dots_are_written_and_changed_on_spark(
    tmp_path: Path, spark: SparkSession
) -> None:
    place = tmp_path / "t"
    rows = pa.table({"a.b": [1, 2], "a`c": ["x", "y"]})
    pipeline.write(rows, place, engine="spark", spark=spark)
    pipeline.update(place, {"`a``c`": "concat(`a``c`, '!')"}, "`a.b` = 2", spark=spark)
    found = explorer.read_rows(explorer.open_table(place).snapshot()).to_pylist()
    assert sorted(map(str, found)) == ["{'a.b': 1, 'a`c': 'x'}", "{'a.b': 2, 'a`c': 'y!'}"]


def test_small_files_that_share_tasks_are_each_written_once(
    tmp_path: Path, spark: SparkSession
) -> None:
    place, count = tmp_path / "t", 60
    rows = pa.table({"key": range(5 * count), "part": [key % count for key in range(5 * count)]})
    pipeline.write(rows, place, partition_by="part", engine="local")
    result = pipeline.delete(place, f"key >= {4 * count}", engine="spark", spark=spark)
    assert result.metrics["numAddedFiles"] == count
    assert [row["key"] for row in rows_of(place)] == list(range(4 * count))
