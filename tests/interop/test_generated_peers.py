"""The types of generated columns: what delta-spark refuses because its expression has another type
is refused here, without Spark as far as the type is known, else by the session that is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from explorer import pipeline
from explorer.errors import InvalidArgumentError
from tests.interop.twins import REFUSED, sql

pytestmark = pytest.mark.spark

_COLUMNS = (
    "a INT, b BIGINT, d DATE, t timestamp, e DECIMAL(12,2), s STRING, v VARCHAR(5), "
    "st STRUCT<x: INT NOT NULL>"
)
_ASKED = [
    *(("INT", "a * 2"), ("BIGINT", "a * 2"), ("BIGINT", "a + b"), ("STRING", "a"), ("INT", "b")),
    *(("INT", "year(d)"), ("BIGINT", "year(d)"), ("DATE", "CAST(t AS DATE)")),
    *(("timestamp", "CAST(t AS DATE)"), ("BOOLEAN", "a > 1"), ("INT", "a > 1")),
    *(("STRING", "CAST(a AS STRING)"), ("INT", "CAST(a AS STRING)"), ("BIGINT", "5")),
    *(("DECIMAL(12,2)", "e + 1"), ("DECIMAL(13,2)", "e + 1"), ("INT", "a / 2")),
    *(("STRING", "upper(s)"), ("INT", "upper(s)"), ("INT", "length(s)"), ("BIGINT", "length(s)")),
    *(("STRING", "date_format(t, 'yyyy')"), ("INT", "date_format(t, 'yyyy')")),
    *(("STRUCT<x: INT>", "st"), ("STRUCT<x: BIGINT>", "st")),
    *(("VARCHAR(5)", "s"), ("CHAR(5)", "v"), ("ARRAY<VARCHAR(5)>", "array(s)"), ("STRING", "v")),
]


# what no upcast could mend Spark itself refuses, before the reference is asked
_REFUSALS = (
    "DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH",
    "UNSUPPORTED_EXPRESSION_GENERATED_COLUMN",
)


@pytest.mark.sampled(one_in=6)
@pytest.mark.parametrize(("kind", "text"), _ASKED)
def test_a_generated_column_has_the_type_of_its_expression(
    spark: SparkSession, tmp_path: Path, kind: str, text: str
) -> None:
    columns = f"{_COLUMNS}, g {kind} GENERATED ALWAYS AS ({text})"
    refusal = ""
    try:
        sql(spark, tmp_path / "theirs", f"create table T ({columns}) using delta")
    except REFUSED as error:
        refusal = str(error)
    if not refusal:
        assert pipeline.create(tmp_path / "ours", columns).version == 0
        return
    assert any(words in refusal for words in _REFUSALS)
    with pytest.raises(InvalidArgumentError, match="The generated column g is a") as caught:
        pipeline.create(tmp_path / "ours", columns)
    assert caught.value.kind == "schema_mismatch"
