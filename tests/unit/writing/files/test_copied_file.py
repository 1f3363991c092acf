"""A file that loses few rows is copied but for some pages: it is the one that rewriting makes."""

from __future__ import annotations

import datetime
import json
import random
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import explorer
from explorer import pipeline
from explorer.writing.files import copied_file
from tests.changed_tables import counted, rows_of

FORMS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "plain": ({}, ()),
    "partitioned": ({"delta.dataSkippingStringPrefixLength": "3"}, ("part",)),
    "mapped": ({"delta.columnMapping.mode": "name"}, ()),
    "feed": ({"delta.enableChangeDataFeed": "true", "delta.parquet.format.version": "2.12.0"}, ()),
}
DAY = datetime.datetime(2026, 11, 27, tzinfo=datetime.UTC)


def _rows(draw: random.Random, count: int) -> pa.Table:
    def some(values: Any) -> list[Any]:
        nulls = draw.choice([0.0, 0.0, 0.5, 0.99])
        return [None if draw.random() < nulls else values() for _ in range(count)]

    return pa.table(
        {
            "key": range(count),
            "part": pa.array([draw.randrange(2) for _ in range(count)], pa.int32()),
            "n": pa.array(some(lambda: draw.randrange(1000)), pa.int16()),
            "x": pa.array(some(lambda: draw.choice([0.0, -0.0, 1.5, draw.random()])), pa.float64()),
            "t": pa.array(some(lambda: draw.choice("abz\U0010ffff") * draw.randrange(50))),
            "d": pa.array(
                some(lambda: Decimal(draw.randrange(10**6)).scaleb(-2)), pa.decimal128(9, 2)
            ),
            "at": pa.array(
                some(lambda: DAY + datetime.timedelta(microseconds=draw.randrange(10**7))),
                pa.timestamp("us", "UTC"),
            ),
            "on": pa.array(some(DAY.date), pa.date32()),
            "yes": pa.array(some(lambda: draw.random() < 0.5), pa.bool_()),
            "raw": pa.array(some(lambda: draw.randbytes(2)), pa.binary()),
            "s": pa.array(
                some(lambda: {"a": draw.randrange(9), "b.c": draw.choice([None, "q"])}),
                pa.struct([("a", pa.int64()), ("b.c", pa.string())]),
            ),
        }
    )


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each file was copied; small ones may be, too."""
    found: list[bool] = []
    copy = copied_file.copy_without

    def seen(*given: Any, **named: Any) -> Any:
        written = copy(*given, **named)
        found.append(written is not None)
        return written

    monkeypatch.setattr(copied_file, "LEAST_BYTES", 0)
    monkeypatch.setattr(copied_file, "_SHARE", 1)
    monkeypatch.setattr("explorer.pipeline.rewrite.write_files.copy_without", seen)
    return found


def _stats(place: Path) -> list[Any]:
    """Of the files that the newest commit added."""
    lines = max((place / "_delta_log").glob("*.json")).read_text("utf-8").splitlines()
    adds = [body["add"] for body in map(json.loads, lines) if "add" in body]
    return sorted((json.loads(add["stats"]) for add in adds), key=json.dumps)


@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(3))
def test_copied_file_is_the_one_that_rewriting_makes(
    form: str, seed: int, tmp_path: Path, copies: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(f"{form} {seed}")
    count = draw.randrange(300, 3000)
    properties, partitions = FORMS[form]
    place, other = tmp_path / "t", tmp_path / "u"
    pipeline.write(_rows(draw, count), place, properties=properties, partition_by=partitions)
    shutil.copytree(place, other)
    expected = {row["key"]: row for row in rows_of(place)}
    for _ in range(3):
        some = draw.sample(sorted(expected), draw.choice([1, 1, 20]))
        where = f"key IN ({', '.join(map(str, some))})"
        expected = {key: row for key, row in expected.items() if key not in some}
        pipeline.delete(place, where, engine="local")
        with monkeypatch.context() as rewritten:
            rewritten.setattr(copied_file, "LEAST_BYTES", 2**60)
            pipeline.delete(other, where, engine="local")
        assert counted(rows_of(place)) == counted(list(expected.values()))
        assert counted(rows_of(other)) == counted(list(expected.values()))
        assert _stats(place) == _stats(other)
    assert any(copies)


@pytest.mark.parametrize(
    ("schema", "is_copied"),
    [
        pytest.param("key BIGINT NOT NULL, t STRING", True, id="not-null"),
        pytest.param("key BIGINT, t VARCHAR(9)", False, id="lengths"),
        pytest.param("key BIGINT, t ARRAY<STRING>", False, id="arrays"),
    ],
)
def test_rules_of_columns_say_what_is_copied(
    schema: str, is_copied: bool, tmp_path: Path, copies: list[bool]
) -> None:
    pipeline.create(tmp_path / "t", schema)
    texts = [["x"]] * 99 if "ARRAY" in schema else ["x"] * 99
    pipeline.write(pa.table({"key": range(99), "t": texts}), tmp_path / "t")
    pipeline.delete(tmp_path / "t", "key = 5", engine="local")
    assert copies == [is_copied]
    assert explorer.open_table(tmp_path / "t").snapshot().num_rows == 98


def test_rows_that_keep_their_ids_are_not_copied(tmp_path: Path, copies: list[bool]) -> None:
    place = tmp_path / "t"
    properties = {"delta.enableRowTracking": "true"}
    pipeline.write(pa.table({"key": range(99)}), place, properties=properties)
    pipeline.delete(place, "key = 5", engine="local")
    assert copies == [False]


def test_file_with_a_null_where_none_may_be_is_not_copied(
    tmp_path: Path, copies: list[bool]
) -> None:
    place = tmp_path / "t"
    pipeline.create(place, "key BIGINT, t STRING NOT NULL")
    pipeline.write(pa.table({"key": range(99), "t": ["x"] * 99}), place)
    (file,) = place.glob("*.parquet")
    rows = pq.read_table(file)
    texts = pc.if_else(pc.equal(rows["key"], 7), None, rows["t"])
    pq.write_table(rows.set_column(1, "t", texts), file)
    with pytest.raises(explorer.DeltaError, match="not allowed"):
        pipeline.delete(place, "key = 5", engine="local")
    assert copies == [False]
