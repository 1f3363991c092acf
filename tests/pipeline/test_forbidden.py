"""Conditions that guard 14 refuses, before Spark sees any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import pipeline
from explorer.errors import InvalidArgumentError
from tests.data_tables import DataTable, field, struct

_FORBIDDEN = {
    "reflect": "reflect('java.lang.System', 'getProperty', 'user.home') = 'x'",
    "java_method": "java_method('java.lang.System', 'exit', 1) is null",
    "try_reflect": "try_reflect('java.lang.System', 'getProperty', 'user.home') = 'x'",
    "its name in quotes": "`reflect`('java.lang.System', 'getProperty', 'user.home') = 'x'",
    "inside of another": "id = length(reflect('java.lang.System', 'getProperty', 'user.home'))",
    "subquery": "id in (select id from other)",
    "scalar subquery": "id = (select max(id) from other)",
    "exists": "exists (select 1 from other)",
    "a file": "id in (select id from text.`/etc/passwd`)",
    "rand": "rand() < 0.5",
    "uuid": "uuid() = 'x'",
    "now": "current_timestamp() > timestamp '2020-01-01 00:00:00'",
    "shuffle": "shuffle(array(1, 2))[0] = id",
    "input_file_name": "input_file_name() = 'x'",
    "user": "current_user() = 'x'",
    "function of the session": "mine(id) = 1",
    "window": "row_number() over (order by id) = 1",
    "aggregate": "max(id) = 1",
    "two statements": "id = 1; drop table other",
    "comment": "id = 1 -- and reflect('a', 'b')\n or reflect('java.lang.System', 'x') = 1",
}

Ask = Callable[[explorer.Snapshot, SparkSession, str], Any]
_WAYS: dict[str, Ask] = {
    "read": lambda snapshot, spark, text: pipeline.read(snapshot, spark, where=text),
    "find_violations": lambda snapshot, spark, text: pipeline.find_violations(
        snapshot, text, spark
    ),
}


@pytest.fixture(scope="module")
def snapshot(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A table with a column `id`; the session has another one, and a function of its own."""
    table = DataTable(tmp_path_factory.mktemp("forbidden") / "t", struct(field("id", "long")))
    table.add("a.parquet", pa.table({"id": [1, 2]}))
    spark.range(3).createOrReplaceTempView("other")
    spark.udf.register("mine", lambda number: number, "bigint")
    yield explorer.open_table(Path(table.write())).snapshot()
    spark.catalog.dropTempView("other")


@pytest.mark.parametrize("ask", _WAYS.values(), ids=_WAYS)
@pytest.mark.parametrize("text", _FORBIDDEN.values(), ids=_FORBIDDEN)
def test_what_guard_14_forbids_is_refused(
    spark: SparkSession, snapshot: explorer.Snapshot, text: str, ask: Ask
) -> None:
    tracker = spark.sparkContext.statusTracker()
    before = list(tracker.getJobIdsForGroup(None))
    with pytest.raises(InvalidArgumentError):
        ask(snapshot, spark, text)
    assert list(tracker.getJobIdsForGroup(None)) == before
