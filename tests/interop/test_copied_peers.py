"""Files of Spark's own writer that lose rows while most of their bytes are copied: delta-spark
finds the other rows in them, and no more, by either of its readers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import pipeline
from explorer.writing.files import copied_file
from tests.interop.twins import expressions

_ROWS = 30_000
_COLUMNS = """
    id, cast(id % 7 as int) few, if(id % 3 = 0, null, concat('note ', id % 500)) note,
    cast(id as string) text, id % 2 = 0 yes, if(id % 5 = 0, double('NaN'), id / 7) real,
    cast(id as decimal(12, 2)) price, cast(id as decimal(30, 2)) large,
    date_add(date'2020-01-01', cast(id % 900 as int)) day,
    if(id % 11 = 0, null, named_struct('a', id % 9, 'b', concat('b', id % 9))) s
"""
_GONE = ("id = 17", "id IN (0, 29999, 15000)", "few = 3 AND id > 20000 AND id < 20100", "id = 1")


def test_delta_spark_reads_the_rows_that_stay(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies: list[bool] = []
    copy = copied_file.copy_without

    def seen(*given: Any, **named: Any) -> Any:
        written = copy(*given, **named)
        copies.append(written is not None)
        return written

    monkeypatch.setattr(copied_file, "LEAST_BYTES", 0)
    monkeypatch.setattr(copied_file, "_SHARE", 1)
    monkeypatch.setattr("explorer.pipeline.rewrite.write_files.copy_without", seen)
    place = tmp_path / "t"
    rows = spark.range(0, _ROWS, 1, 1).selectExpr(*expressions(_COLUMNS))
    options = {"parquet.block.size": "400000", "parquet.page.size": "8192"}
    rows.write.format("delta").options(**options).save(str(place))
    kept = rows
    for where in _GONE:
        pipeline.delete(place, where, engine="local")
        kept = kept.filter(f"not ({where})")
    wanted = sorted(map(repr, kept.collect()))
    for vectorized in ("true", "false"):
        spark.conf.set("spark.sql.parquet.enableVectorizedReader", vectorized)
        try:
            frame = spark.read.format("delta").load(str(place))
            assert sorted(map(repr, frame.collect())) == wanted
            assert frame.filter("few = 3").count() == kept.filter("few = 3").count()
            assert frame.filter("text = '17'").count() == 0
        finally:
            spark.conf.unset("spark.sql.parquet.enableVectorizedReader")
    assert explorer.open_table(place).snapshot().num_rows == len(wanted)
    assert copies
    assert all(copies)
