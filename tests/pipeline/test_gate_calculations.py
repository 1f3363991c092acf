# ruff: noqa: E501  # long lists of expressions are read across
"""What defaults and generated columns calculate: the same in this process as on Spark, of the same
type."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

import pyarrow as pa
from pyspark.sql import SparkSession

from explorer.pipeline.writing.spark_gate import given_schema_of
from explorer.protocol.schema import StructField, StructType, parse_type_name, render_type
from explorer.scan.predicate.calculations import parse_calculation
from explorer.scan.predicate.predicate import Constant
from explorer.scan.sql.table_expressions import StatementTime, check_table_expression
from explorer.writing.gate.calculated_values import calculate
from tests.pipeline.test_gate_casts import array_of, plain, values_of
from tests.sampling import SEED

SCHEMA = {
    "b": "byte",
    "h": "short",
    "i": "integer",
    "l": "long",
    "f": "float",
    "x": "double",
    "p": "decimal(10,2)",
    "q": "decimal(5,5)",
    "d": "date",
    "ts": "timestamp",
    "n": "timestamp_ntz",
    "s": "string",
}
EXPRESSIONS = [
    "b + h", "i - b", "h * b", "l + i - 7", "i * 3", "3 - i", "l + 1L",
    "x + 1", "x * 1.1", "x - i", "x / 3", "i / 7", "l / 1e3", "x / 0.5D", "f * f", "f + f", "f - x", "x + p",
    "p * 1.1", "p + q", "p - 5", "i + p", "q * q", "p * b - 0.25", "l - q",
    "CAST(ts AS DATE)", "DATE(n)", "TO_DATE(d)", "YEAR(ts)", "MONTH(d)", "DAY(n)", "DAYOFMONTH(d)", "YEAR(CAST(ts AS DATE))",
    "CAST(s AS VARCHAR(1))", "CAST(s AS CHAR(40))", "TRY_CAST(s AS STRING)", "CAST('a text' AS VARCHAR(3))",
    "'a text'", "-5", "1.50", "1e3", "NULL", "true", "X'00FF'", "DATE '2026-01-31'", "TIMESTAMP '2026-01-31 01:02:03.5+02:00'",
]  # fmt: skip


def rows() -> pa.Table:
    """Values at random and, of days and times, the extremes; sums of whole numbers fit."""
    random = Random(SEED)
    count = 300
    columns = {}
    for name, kind in SCHEMA.items():
        data_type = parse_type_name(kind)
        bits = {"b": 3, "h": 3, "i": 12, "l": 40}.get(name)
        if bits is not None:
            values = [random.randrange(-(1 << bits), 1 << bits) for _ in range(count - 1)]
        else:
            extremes = values_of(data_type)
            values = [random.choice(extremes) for _ in range(count - 1)]
        columns[name] = array_of(values, data_type)
    return pa.table(columns)


def test_arrow_and_spark_calculate_the_same(spark: SparkSession) -> None:
    given = rows()
    schema = StructType(
        fields=tuple(StructField(name=name, data_type=parse_type_name(kind)) for name, kind in SCHEMA.items())
    )  # fmt: skip
    frame = spark.createDataFrame(given).selectExpr(
        *(f"{text} as `{at}`" for at, text in enumerate(EXPRESSIONS))
    )
    theirs, types = frame.toArrow(), given_schema_of(frame)
    (batch,) = given.combine_chunks().to_batches()
    for at, text in enumerate(EXPRESSIONS):
        calculation = parse_calculation(text, schema)
        field = types.field(str(at))
        assert field is not None
        assert render_type(calculation.data_type) == render_type(field.data_type), text
        nobody = [False] * len(batch)
        ours = list(plain(calculate(calculation, batch), nobody))
        said = list(plain(theirs.column(str(at)).combine_chunks(), nobody))
        differ = [both for both in zip(ours, said, strict=True) if both[0] != both[1]]
        assert differ[:3] == [], text
        assert isinstance(calculation, Constant) or len(set(ours)) > 1


def test_lengths_in_the_types_of_a_cast_cut_nothing_off_and_fill_nothing_up(
    spark: SparkSession,
) -> None:
    """Inside arrays, maps and structs too: what Spark is given means what the table says."""
    texts = [
        "cast(s AS VARCHAR(2))",
        "cast(array(s) AS ARRAY<VARCHAR(2)>)",
        "cast(map(s, array(s)) AS MAP<CHAR(9), ARRAY<CHARACTER(2)>>)",
        "cast(named_struct('x', 1, 'y', s) AS STRUCT<x: BIGINT, y:VARCHAR(2)>)",
        "try_cast(array(named_struct('y', s)) AS ARRAY<STRUCT<y CHAR(9)>>)",
    ]
    schema = StructType(fields=(StructField(name="s", data_type=parse_type_name("string")),))
    time = StatementTime(moment=datetime(2026, 1, 1, tzinfo=UTC))
    given = [check_table_expression(text, schema, "rule", time).text for text in texts]
    rows = spark.createDataFrame(pa.table({"s": ["abc", "ü", None]})).filter("s is not null")
    written, settled = rows.selectExpr(*texts).toArrow(), rows.selectExpr(*given).toArrow()
    assert written.rename_columns(settled.column_names) == settled
    assert settled.column(0).to_pylist() == ["abc", "ü"]
    setting = "spark.sql.preserveCharVarcharTypeInfo"
    spark.conf.set(setting, "true")
    try:
        assert rows.selectExpr(*given).toArrow() == settled
    finally:
        spark.conf.unset(setting)
