"""The type of a generated column is that of its expression, as far as it is known without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer import pipeline
from explorer.errors import InvalidArgumentError

COLUMNS = "a INT, b BIGINT, d DATE, t TIMESTAMP, e DECIMAL(12,2), st STRUCT<x: INT NOT NULL>"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *(("INT", "a * 2"), ("BIGINT", "a + b"), ("INT", "year(d)"), ("DATE", "CAST(t AS DATE)")),
        *(("BOOLEAN", "a > 1"), ("STRING", "CAST(a AS STRING)"), ("DECIMAL(13,2)", "e + 1")),
        ("STRUCT<x: INT>", "st"),
        # no text is cut off by a length, nor filled up
        *(("STRING", "CAST(a AS VARCHAR(5))"), ("STRING", "CAST(a AS CHAR(5))")),
        # digits of a cast are those of its type, and those of a cast number are not its own
        *(("DECIMAL(4,1)", "CAST('2' AS DECIMAL(4,1))"), ("INT", "CAST(NULL AS INT)")),
        *(("DECIMAL(18,4)", "e * CAST(0.19 AS DECIMAL(5,2))"), ("DECIMAL(16,2)", "e * 5Y")),
        *(("DECIMAL(18,2)", "e * CAST(1 AS SMALLINT)"), ("BIGINT", "a * -1L")),
    ],
)
def test_a_column_of_the_same_type_is_created(tmp_path: Path, kind: str, text: str) -> None:
    columns = f"{COLUMNS}, g {kind} GENERATED ALWAYS AS ({text})"
    assert pipeline.create(tmp_path, columns).version == 0


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *(
            ("BIGINT", "a * 2"),
            ("INT", "b"),
            ("BIGINT", "year(d)"),
            ("TIMESTAMP", "CAST(t AS DATE)"),
        ),
        *(("INT", "a > 1"), ("INT", "CAST(a AS STRING)"), ("DECIMAL(12,2)", "e + 1")),
        ("STRUCT<x: BIGINT>", "st"),
        # a length is a type of its own, which no expression has
        ("VARCHAR(5)", "CAST(a AS VARCHAR(5))"),
        *(("VARCHAR(5)", "CAST(a AS STRING)"), ("CHAR(5)", "upper(CAST(a AS STRING))")),
        ("ARRAY<VARCHAR(5)>", "array(CAST(a AS STRING))"),
    ],
)
def test_a_column_of_another_type_is_refused(tmp_path: Path, kind: str, text: str) -> None:
    columns = f"{COLUMNS}, g {kind} GENERATED ALWAYS AS ({text})"
    with pytest.raises(InvalidArgumentError, match="The generated column g is a") as caught:
        pipeline.create(tmp_path, columns)
    assert caught.value.kind == "schema_mismatch"
    assert not list(tmp_path.iterdir())
