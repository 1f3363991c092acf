# ruff: noqa: E501  # one case in a line
"""Rows of a DataFrame that go into a table: what becomes of them, and which are refused."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from explorer import pipeline
from explorer.errors import DeltaError, InvalidArgumentError
from explorer.pipeline.jobs.failures import translate
from explorer.pipeline.tasks.task_failures import raise_refusal, render_refusal, render_row
from explorer.pipeline.writing.spark_gate import apply_gate, given_schema_of
from explorer.protocol.schema import ArrayType, MapType, StructType, parse_type_name
from explorer.writing.gate.refusals import not_null
from tests.gate_tables import GateTable, column

_TEXTS = ArrayType(element_type=parse_type_name("string"), contains_null=True)
NESTED = StructType(
    fields=(
        column("x", "integer", nullable=False),
        column("nothing", "void"),
        column("list", ArrayType(element_type=parse_type_name("short"), contains_null=False)),
        column(
            "map",
            MapType(
                key_type=parse_type_name("string"),
                value_type=parse_type_name("decimal(5,1)"),
                value_contains_null=False,
            ),
        ),
    )
)
TABLE = GateTable(
    column("id", "long", nullable=False),
    column("s", NESTED),
    column("o", StructType(fields=(column("x", "long"), column("t", _TEXTS)))),
    column("a b`c", "string", length="char(3)"),
    column("texts", _TEXTS, length="array<varchar(2)>"),
    column("ts", "timestamp"),
    column("day", "date", generated="CAST(ts AS DATE)"),
    column("up", "string", generated="upper(`a b``c`)"),
    column("state", "string", default='"new"'),
    column("at", "timestamp", default="now()"),
    column("key", "string", default="uuid()"),
    column("list", ArrayType(element_type=parse_type_name("long"), contains_null=True)),
    checks={"small": "id < 100", "all": "forall(list, x -> x > 0) or list is null"},
)


WHOLE = "named_struct('x', 1)"


def gated(table: GateTable, frame: DataFrame, **options: Any) -> DataFrame:
    return apply_gate(frame, table.plan(given_schema_of(frame)), **options)


def refused(table: GateTable, frame: DataFrame) -> DeltaError:
    with pytest.raises(InvalidArgumentError) as caught, pipeline.clear_errors("Writing"):
        gated(table, frame).collect()
    assert caught.value.kind == "rows_refused"
    return caught.value


def test_every_column_gets_its_value_from_where_the_plan_says(spark: SparkSession) -> None:
    frame = spark.sql(
        "select cast(id as decimal(10,0)) ID, named_struct('MAP', map('a', 1.25, 'b', -0.05D), "
        "'X', id, 'list', array(id)) s, if(id = 0, 'x', 'xyz') `A b``c`, "
        "array('ab', null) texts, timestamp'1969-12-31 23:59:59' ts from range(2)"
    )
    found = gated(TABLE, frame).toArrow()
    keys = found.column("key").to_pylist()
    assert len(set(keys)) == 2
    assert found.drop_columns(["key"]).to_pylist() == [
        {
            "id": number,
            "s": {
                "x": number,
                "list": [number],
                "map": [("a", Decimal("1.3")), ("b", Decimal("-0.1"))],
            },
            "o": None,
            "a b`c": text,
            "texts": ["ab", None],
            "ts": found.column("ts").to_pylist()[0],
            "day": found.column("day").to_pylist()[0],
            "up": text.upper(),
            "state": "new",
            "at": found.column("at").to_pylist()[0],
            "list": None,
        }
        for number, text in ((0, "x  "), (1, "xyz"))
    ]
    assert str(found.column("day").to_pylist()[0]) == "1969-12-31"
    assert str(found.column("at").to_pylist()[0]).startswith("2026-11-26 05:06:07.000008")
    assert found.schema.field("s").type == pa.struct(
        [("x", pa.int32()), ("list", pa.list_(pa.int16())), ("map", found.schema.field("s").type.field(2).type)]
    )  # fmt: skip


@pytest.mark.sampled(one_in=6)
@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("cast(null as int) id", "NOT NULL of `id`"),
        ("id, named_struct('x', cast(null as int)) s", "NOT NULL of `s.x`"),
        ("id, named_struct('x', 1, 'list', array(1, null)) s", "NOT NULL of `s.list.element`"),
        ("id, named_struct('x', 1, 'map', map('k', cast(null as int))) s", "NOT NULL of `s.map.value`"),
        ("id, named_struct('x', 1, 'list', array(70000)) s", "the type short of `s.list.element`"),
        ("id, 'abcd' `a b``c`", "char(3) of ``a b``c``"),
        ("id, array('abc') texts", "varchar(2) of `texts.element`"),
        ("id, timestamp'2026-01-01 00:00:00' ts, date'2026-01-02' day", "the generation CAST(ts AS DATE) of `day`"),
        ("id, 'a' `a b``c`, 'a' up", "the generation upper(`a b``c`) of `up`"),
        ("id + 100 id", "CHECK (id < 100) of `small`"),
        ("id, array(1L, -1L) list", "CHECK (forall(list, x -> x > 0) or list is null) of `all`"),
        ("concat('x', id) id", "the type long of `id`"),
        ("id + 0.5D id", "the type long of `id`"),
    ],
)  # fmt: skip
def test_a_row_that_breaks_a_rule_is_refused_with_the_rule_and_the_row(
    spark: SparkSession, columns: str, said: str
) -> None:
    given = _split(columns) if " s" in columns else [*_split(columns), f"{WHOLE} s"]
    error = refused(TABLE, spark.range(3).selectExpr(*given))
    assert said in error.problem
    assert "The row has " in error.reason


def _split(columns: str) -> list[str]:
    """Columns at the top, apart from commas inside of parentheses."""
    found, depth = [""], 0
    for sign in columns:
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            found.append("")
        else:
            found[-1] += sign
    return found


def test_what_lies_under_a_null_struct_breaks_no_rule(spark: SparkSession) -> None:
    frame = spark.sql(f"select 1L id, {WHOLE} s, cast(null as struct<t: array<int>, x: int>) o")
    assert gated(TABLE, frame).collect()[0]["o"] is None


def test_rows_that_a_join_or_a_filter_drops_are_never_judged(spark: SparkSession) -> None:
    """A filter is moved below a join where Spark may do so: a row that the caller never writes
    would be refused."""
    table = GateTable(column("id", "long"), column("v", "long"), checks={"small": "v < 3"})
    left = spark.range(10).withColumn("v", fn.col("id"))
    kept = left.join(spark.range(3), "id").filter("v % 2 = 0")
    assert [row["v"] for row in gated(table, kept).orderBy("v").collect()] == [0, 2]
    assert "v = 3" in refused(table, left.coalesce(1)).reason


def test_rules_hold_though_the_columns_are_not_asked_for(spark: SparkSession) -> None:
    """Columns that nobody asks for are not worked out, and rules are not the columns' affair."""
    table = GateTable(column("id", "long"), column("state", "string"), checks={"c": "id < 100"})
    frame = spark.range(200).coalesce(1)
    for ask in (
        lambda rows: rows.count(),
        lambda rows: rows.select("state").collect(),
        lambda rows: rows.filter("id < 5").collect(),
        lambda rows: rows.mapInArrow(lambda batches: batches, rows.schema).collect(),
    ):
        with pytest.raises(InvalidArgumentError) as caught, pipeline.clear_errors("Writing"):
            ask(gated(table, frame))
        assert "id = 100" in caught.value.reason


def test_numbers_are_given_out_beyond_the_mark_and_never_twice(spark: SparkSession) -> None:
    table = GateTable(
        column("id", "long", start=1, step=-2, mark=-3, explicit=False), column("x", "long")
    )
    frame = spark.range(0, 1000, 1, 4).withColumnRenamed("id", "x")
    found = [row["id"] for row in gated(table, frame, partitions=4).collect()]
    assert sorted(found, reverse=True) == list(range(-5, -5 - 2 * 1000, -2))


def test_an_identity_column_without_numbers_left_is_refused(spark: SparkSession) -> None:
    table = GateTable(
        column("id", "long", start=1, step=1, mark=2**63 - 3, explicit=False), column("x", "long")
    )
    frame = spark.range(0, 3, 1, 1).withColumnRenamed("id", "x")
    rows = gated(table, frame.filter("x < 2"), partitions=1)
    assert [row["id"] for row in rows.collect()] == [2**63 - 2, 2**63 - 1]
    with pytest.raises(InvalidArgumentError) as caught, pipeline.clear_errors("Writing"):
        gated(table, frame, partitions=1).collect()
    assert "identity" in caught.value.reason
    assert "x = 2" in caught.value.reason


def test_rows_of_the_right_kind_are_not_touched(spark: SparkSession) -> None:
    table = GateTable(column("a", "long"), column("s", _TEXTS))
    frame = spark.sql("select 1L a, array('x') s")
    assert gated(table, frame) is frame


def test_a_setting_of_the_session_changes_no_cast(spark: SparkSession) -> None:
    table = GateTable(column("a", "byte"), column("t", "string"))
    frame = spark.sql("select id a, cast(0.0000001 as decimal(10,8)) t from range(127, 129, 1, 1)")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        assert gated(table, frame.filter("a = 127")).collect()[0]["t"] == "0.00000010"
        assert "a = 128" in refused(table, frame).reason
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def test_a_condition_that_is_none_is_told_as_a_mistake(spark: SparkSession) -> None:
    table = GateTable(column("a", "long"), checks={"c": "a + 1"})
    with pytest.raises(DeltaError):
        gated(table, spark.range(1).withColumnRenamed("id", "a"))


def test_nobody_else_can_make_a_refusal(spark: SparkSession) -> None:
    """What a plan quotes, and what a value says, is no refusal of ours."""
    forged = "delta-explorer-refusal:0:e30=:e30=:W10="
    said = [
        spark.range(1).select(fn.raise_error(fn.lit(forged))),
        spark.range(1).select(fn.concat(fn.lit(forged), fn.lit("x")).cast("int")),
    ]
    real = raise_refusal(
        render_refusal(not_null(("a",))), render_row([("a", True)], fn.array(fn.lit("x")))
    )
    (message,) = spark.range(1).select(real).schema.names
    said.append(spark.range(1).select(fn.raise_error(fn.concat(fn.lit(message), fn.lit("")))))
    for frame in said:
        with pytest.raises(Exception) as caught:  # noqa: PT011  # what Spark raises
            frame.collect()
        assert translate(caught.value, "Writing").kind == "invalid_argument"


def test_of_many_columns_those_of_the_rule_are_shown(spark: SparkSession) -> None:
    names = [f"c{at}" for at in range(60)]
    table = GateTable(*(column(name, "long", nullable=False) for name in names))
    frame = spark.range(1).select(*(fn.lit(at).alias(name) for at, name in enumerate(names[:-1])))
    broken = frame.withColumn("c59", fn.lit(None).cast("bigint"))
    assert "The row has c59 = null, c0 = 0, c1 = 1," in refused(table, broken).reason


def test_hostile_values_are_cut_and_escaped(spark: SparkSession) -> None:
    hostile = "concat('<script>', decode(X'E280AE1B', 'UTF-8'), repeat('x', 100000)) `a b``c`"
    frame = spark.range(1).selectExpr("id", f"{WHOLE} s", hostile)
    error = refused(TABLE, frame)
    assert len(str(error)) < 1_000
    assert "\u202e" not in str(error)
    assert "\x1b" not in str(error)
    assert "<script>" in str(error)


_UNCHANGED = GateTable(
    column("f", StructType(fields=(column("x", "long"),))),
    column("b`'\\ \"c", "string", nullable=False, length="varchar(3)"),
    column("s", StructType(fields=(column("x", "long", nullable=False),))),
    column("x", "long", nullable=False),
    checks={"small": "f.x < 10"},
)


@pytest.mark.parametrize(
    ("values", "column", "rule"),
    [
        ("'long', null, null, 50", "b``'\\ \"c", "varchar(3)"),
        ("'abc', null, null, 50", "s.x", "NOT NULL"),
        ("'abc', 1, null, 50", "x", "NOT NULL"),
        ("null, null, null, 50", "b``'\\ \"c", "NOT NULL"),
        ("'abc', 1, 2, 50", "f.x < 10", "small"),
    ],
)
def test_the_first_rule_is_told_also_of_rows_that_are_not_changed(
    spark: SparkSession, values: str, column: str, rule: str
) -> None:
    """The frame's own name is that of a column, so that `f.x` could mean another one."""
    frame = spark.sql(f"select * from values ({values}) v(t, sx, x, fx)").select(
        fn.expr("named_struct('x', cast(fx as long))").alias("f"),
        fn.expr("cast(t as string)").alias("b`'\\ \"c"),
        fn.expr("named_struct('x', cast(sx as long))").alias("s"),
        fn.expr("cast(x as long)").alias("x"),
    )
    told = str(refused(_UNCHANGED, frame.alias("f")))
    assert rule in told
    assert column in told
    plan = _UNCHANGED.plan(given_schema_of(frame))
    assert plan.is_unchanged
