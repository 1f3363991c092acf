# ruff: noqa: E501  # one case in a line
"""The gate against the reference: the same rows into the same table, by delta-spark's own INSERT
and through our gate, on Spark and in this process."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import explorer
from explorer import pipeline
from explorer.errors import InvalidArgumentError
from explorer.pipeline.writing.spark_gate import apply_gate, given_schema_of
from explorer.writing.gate.arrow_gate import ArrowGate, given_schema
from explorer.writing.gate.plan import GatePlan
from explorer.writing.gate.planning import plan_gate

WHOLE = {"s": "named_struct('x', 1, 'y', 'a')"}
CASES = {
    "what is not given": {"id": "1"},
    "an explicit null": {"id": "2", "amount": "cast(null as decimal(10,2))"},
    "spaces at the end": {"id": "3", "name": "'abc '"},
    "a short code": {"id": "4", "name": "'ab '", "code": "'x'"},
    "a text that is too long": {"id": "5", "name": "'abcd'"},
    "a code that is too long": {"id": "6", "code": "'abcd'"},
    "null in a NOT NULL column": {"id": "cast(null as bigint)"},
    "null in a NOT NULL field": {"id": "7", "s": "named_struct('x', cast(null as int), 'y', 'a')"},
    "a null struct": {"id": "8", "s": "cast(null as struct<x: int, y: string>)"},
    "a false condition": {"id": "-9"},
    "a null condition": {"id": "10", "amount": "2.5", "n": "cast(null as int)"},
    "a true condition": {"id": "11", "amount": "2.5", "n": "1"},
    "a generated value": {"id": "12", "ts": "timestamp'2026-01-02 03:04:05'"},
    "its own value": {"id": "13", "ts": "timestamp'2026-01-02 03:04:05'", "day": "date'2026-01-02'"},
    "another value": {"id": "14", "ts": "timestamp'2026-01-02 03:04:05'", "day": "date'2026-01-03'"},
    "a rounded decimal": {"id": "15", "amount": "cast(1.005 as decimal(10,3))"},
    "a decimal that does not fit": {"id": "16", "amount": "cast(1e9 as decimal(20,2))"},
    "a number that does not fit": {"id": "17", "n": "3000000000"},
    "a text as a number": {"id": "' 18 '"},
    "a text that is none": {"id": "19", "n": "'x'"},
    "a whole double": {"id": "20D"},
    "a day as a time": {"id": "21", "ts": "date'2026-01-02'"},
    "a number as a text": {"id": "22", "name": "22"},
    "a narrow struct": {"id": "23", "s": "named_struct('x', 1L, 'y', 'b')"},
}  # fmt: skip


@pytest.fixture(scope="module")
def place(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of the reference with every kind of rule."""
    folder = tmp_path_factory.mktemp("gate") / "t"
    spark.sql(
        f"create table delta.`{folder}` (id bigint not null, name varchar(3), code char(3), "
        "amount decimal(10,2) default 1.5, n int default 3, ts timestamp, "
        "day date generated always as (cast(ts as date)), f float, d date, t string, s struct<x: int not null, y: string>) "
        "using delta tblproperties ('delta.feature.allowColumnDefaults' = 'supported')"
    )
    spark.sql(f"alter table delta.`{folder}` add constraint positive check (id > 0)")
    spark.sql(f"alter table delta.`{folder}` add constraint small check (n < 1000)")
    return folder


def by_the_reference(spark: SparkSession, place: Path, columns: dict[str, str]) -> Any:
    """The row that its INSERT has written; None where it refuses."""
    names, values = ", ".join(columns), ", ".join(columns.values())
    before = len(rows_of(place))
    try:
        spark.sql(f"insert into delta.`{place}` ({names}) select {values}")
    except (PySparkException, Py4JError):
        return None
    rows = rows_of(place)
    assert len(rows) == before + 1
    (found,) = rows_of(place, newest=True)
    if found["code"] is not None:
        found["code"] = found["code"].ljust(3)  # as its own readers do
    return found


def rows_of(place: Path, *, newest: bool = False) -> list[dict[str, Any]]:
    """The rows of the table, or those of its newest commit."""
    table = explorer.open_table(place)
    if not newest:
        return explorer.read_rows(table.snapshot()).to_pylist()
    version = table.latest_version()
    older = explorer.read_rows(table.snapshot(version=version - 1)).to_pylist()
    return [row for row in rows_of(place) if row not in older]


def plan_for(place: Path, given: Any) -> GatePlan:
    snapshot = explorer.open_table(place).snapshot()
    time = datetime(2026, 11, 26, tzinfo=UTC)
    return plan_gate(snapshot.protocol, snapshot.metadata, given, statement_time=time)


def on_spark(spark: SparkSession, place: Path, columns: dict[str, str]) -> Any:
    frame = spark.sql("select " + ", ".join(f"{text} {name}" for name, text in columns.items()))
    try:
        with pipeline.clear_errors("Writing"):
            gated = apply_gate(frame, plan_for(place, given_schema_of(frame)))
            (found,) = gated.toArrow().to_pylist()
    except InvalidArgumentError as error:
        return _refused(error)
    return found


def in_this_process(spark: SparkSession, place: Path, columns: dict[str, str]) -> Any:
    frame = spark.sql("select " + ", ".join(f"{text} {name}" for name, text in columns.items()))
    rows: pa.Table = frame.toArrow()
    try:
        gate = ArrowGate(plan_for(place, given_schema(rows.schema)))
        (found,) = gate.apply(rows).to_pylist()
    except InvalidArgumentError as error:
        return _refused(error)
    return found


def _refused(error: InvalidArgumentError) -> None:
    if error.kind not in {"rows_refused", "schema_mismatch"}:
        raise error


@pytest.mark.sampled(one_in=8)
@pytest.mark.parametrize("case", CASES)
def test_both_write_the_same_row_or_refuse_it(spark: SparkSession, place: Path, case: str) -> None:
    columns = WHOLE | CASES[case]
    wanted = by_the_reference(spark, place, columns)
    assert on_spark(spark, place, columns) == wanted
    assert in_this_process(spark, place, columns) == wanted


STRICTER = {
    "a fraction": ("n", "cast(1.5 as double)", 1),
    "a fraction of a decimal": ("n", "2.75", 2),
    "a double beyond floats": ("f", "1e39D", float("inf")),
    "a number beyond floats": ("f", "'1e999'", float("inf")),
    "a time of day": ("d", "timestamp'2026-01-31 12:00:00'", date(2026, 1, 31)),
}


def test_values_that_the_reference_changes_without_a_word_are_refused(
    spark: SparkSession, place: Path
) -> None:
    for number, (name, text, stored) in enumerate(STRICTER.values(), 100):
        columns = WHOLE | {"id": str(number), name: text}
        assert by_the_reference(spark, place, columns)[name] == stored
        assert in_this_process(spark, place, columns) is None
