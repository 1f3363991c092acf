"""What Spark's Parquet reader is not told of conditions, so that no route loses a row.

    DELTA_EXPLORER_ROUTE_TABLES=200 ./run tests tests/pipeline/test_pushdown.py -k fuzz

tries the tables of 200 seeds; each has a file of every style of `foreign_files`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from decimal import Decimal
from functools import reduce
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession, functions

import explorer
from explorer import pipeline
from tests.data_tables import DataTable, field, struct
from tests.pipeline.foreign_files import foreign_table
from tests.pipeline.rows import set_to
from tests.properties.predicates import leaves, predicates
from tests.sampling import unless_asked

_TABLES = int(os.environ.get("DELTA_EXPLORER_ROUTE_TABLES", "8"))
_CONDITIONS = 32  # of which the files of a table are asked the first
_BY_FILES = 8
_ROWS = 8
_NUMBER = re.compile(r"(?<![\w'.-])-?\d+(?:\.\d+)?(?![\w'.])")

# what Spark makes of one row where NaN is greater than every number and equals itself
_NAN = ["{} >= 1", "{} > 5", "{} = CAST('NaN' AS DOUBLE)", "NOT ({} < 1)", "{} <> 0.1D"]


@pytest.mark.sampled(one_in=unless_asked("DELTA_EXPLORER_ROUTE_TABLES", 8))
@pytest.mark.parametrize("seed", range(_TABLES))
def test_fuzz_both_routes_and_the_engine_give_the_same_rows(
    spark: SparkSession, seed: int, tmp_path: Path
) -> None:
    random = Random(f"routes {seed}")
    snapshot = explorer.open_table(foreign_table(tmp_path / "t", random, _ROWS)).snapshot()
    rows = explorer.read_rows(snapshot)
    known = leaves(snapshot.schema, rows, random)
    texts = list(dict.fromkeys(predicates(known, random, _CONDITIONS)))
    wanted = [_ids(explorer.read_rows(snapshot, ["id"], text)) for text in texts]
    # to compile the code of some dozen small plans takes ten times as long as to run them
    with set_to(spark, spark__sql__codegen__wholeStage="false"):
        whole = pipeline.read(snapshot, spark, route="parquet")
        # rows of which no file says anything; a cache would, and Spark's own loses NaN by it
        alone = spark.createDataFrame(rows, whole.schema)
        alike = [text for text in texts if _is_same_to_spark(text)]
        answers = alone.select("id", *map(functions.expr, alike)).collect()
        asked = texts[:_BY_FILES]
        frames = {
            "where": [pipeline.read(snapshot, spark, ["id"], text) for text in asked],
            "filter": [
                whole.filter(text).select("id") for text in asked if _is_same_to_spark(text)
            ],
            # all at once: a task of Python for each file and condition costs more
            "files": [
                pipeline.read(snapshot, spark, ["id"], _any_of(texts), route="files"),
                pipeline.read(snapshot, spark, ["id"], asked[0], route="files"),
            ],
        }
        found = {way: list(_ids_of_each(each)) for way, each in frames.items()}
    right = dict(zip(texts, wanted, strict=True))
    for at, text in enumerate(alike):
        assert sorted(row["id"] for row in answers if row[at + 1]) == right[text], (seed, text)
    for text, ids in zip(asked, found["where"], strict=True):
        assert ids == right[text], (seed, "where", text)
    for text, ids in zip(filter(_is_same_to_spark, asked), found["filter"], strict=True):
        assert ids == right[text], (seed, "filter", text)
    assert found["files"] == [sorted({id_ for ids in wanted for id_ in ids}), wanted[0]], seed
    native = [pipeline.plan_read(snapshot, spark, ["id"], text).route for text in asked]
    assert native.count("parquet") > len(asked) / 4


def _is_same_to_spark(text: str) -> bool:
    """Whether Spark means the same by a condition as SQL does: a comparison of a long with a
    number beyond 64 bits is true or false to its analyzer, also where the long is null."""
    numbers = map(Decimal, _NUMBER.findall(text))
    return not any(abs(number) < 10**20 and not -(2**63) <= number < 2**63 for number in numbers)


def _any_of(texts: Iterable[str]) -> str:
    return " OR ".join(f"({text})" for text in texts)


def _ids(rows: pa.Table) -> list[int]:
    return sorted(rows["id"].to_pylist())


def _ids_of_each(frames: list[DataFrame]) -> Iterable[list[int]]:
    """The ids that each frame has; in few jobs, because one costs more than its rows."""
    found: list[list[int]] = [[] for _ in frames]
    told = [frame.withColumn("at", functions.lit(at)) for at, frame in enumerate(frames)]
    for start in range(0, len(told), 12):
        for row in reduce(DataFrame.union, told[start : start + 12]).collect():
            found[row["at"]].append(row["id"])
    return map(sorted, found)


def test_a_number_beyond_64_bits_is_no_answer_for_a_null(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = DataTable(tmp_path / "t", struct(field("id", "long"), field("k", "long")))
    table.add("a.parquet", pa.table({"id": [0, 1], "k": [None, 1]}))
    snapshot = explorer.open_table(table.write()).snapshot()
    texts = [f"k < {2**63}", f"k > -{2**63}.5", f"NOT (k > {2**63})"]
    assert not any(map(_is_same_to_spark, texts))
    assert [_ids(explorer.read_rows(snapshot, where=text)) for text in texts] == [[1]] * 3
    frames = [pipeline.read(snapshot, spark, where=text, route="parquet") for text in texts]
    assert list(_ids_of_each(frames)) == [[1]] * 3
    # Spark's own text of it, which docs/pipeline.md tells
    whole = pipeline.read(snapshot, spark, route="parquet")
    assert list(_ids_of_each([whole.filter(text) for text in texts])) == [[0, 1]] * 3


@pytest.fixture
def nan_table(tmp_path: Path) -> explorer.Snapshot:
    """Two rows, of which the second is NaN; footers say that every value is 0.1."""
    inner = struct(
        field("x", "long"), field("d", "double"), field("i", struct(field("f", "float")))
    )
    columns = (field("id", "long"), field("d", "double"), field("f", "float"), field("s", inner))
    table = DataTable(tmp_path / "t", struct(*columns))
    held = [0.1, float("nan")]
    nested = [{"x": at, "d": value, "i": {"f": value}} for at, value in enumerate(held)]
    kind = pa.struct(
        [("x", pa.int64()), ("d", pa.float64()), ("i", pa.struct([("f", pa.float32())]))]
    )
    place = table.add(
        "a.parquet",
        pa.table(
            {
                "id": [0, 1],
                "d": held,
                "f": pa.array(held, pa.float32()),
                "s": pa.array(nested, kind),
            }
        ),
    )
    footer = pq.read_metadata(place).row_group(0)
    assert all(footer.column(at).statistics.max == pytest.approx(0.1) for at in (1, 2, 4, 5))
    return explorer.open_table(table.write()).snapshot()


def test_nan_is_found_whatever_a_footer_says(
    spark: SparkSession, nan_table: explorer.Snapshot
) -> None:
    whole = pipeline.read(nan_table, spark, route="parquet")
    texts = [text.format("d") for text in _NAN]
    texts += [text.format("s.i.f") for text in _NAN if "0.1D" not in text]
    texts += [_NAN[0].format(name) for name in ("f", "s.d")]
    frames = [whole.filter(text).select("id") for text in texts]
    wheres = [text.replace("0.1D", "0.1") for text in texts]
    frames += [pipeline.read(nan_table, spark, ["id"], text, route="parquet") for text in wheres]
    for text, found in zip([*texts, *wheres], _ids_of_each(frames), strict=True):
        assert found == [1], text
    for where in wheres:
        assert _ids(explorer.read_rows(nan_table, where=where)) == [1], where
    # all at once: a job of this route costs more
    every = pipeline.read(nan_table, spark, ["id"], " AND ".join(wheres), route="files")
    assert list(_ids_of_each([every])) == [[1]]


@pytest.mark.parametrize("text", ["z = 0", "z >= 0", "z IN (0, 5)", "NOT (z < 0)"])
def test_minus_zero_equals_zero_whatever_a_dictionary_holds(
    spark: SparkSession, text: str, tmp_path: Path
) -> None:
    table = DataTable(tmp_path / "t", struct(field("z", "double")))
    table.add("a.parquet", pa.table({"z": [-0.0, -0.0]}))
    snapshot = explorer.open_table(table.write()).snapshot()
    assert pipeline.read(snapshot, spark, where=text, route="parquet").count() == 2
    assert pipeline.read(snapshot, spark, route="parquet").filter(text).count() == 2


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
@pytest.mark.parametrize("operator", ["<", "<>", "<=", "="])
def test_times_in_milliseconds_are_compared_with_the_whole_literal(
    spark: SparkSession, kind: str, operator: str, tmp_path: Path
) -> None:
    table = DataTable(tmp_path / "t", struct(field("t", kind)), features=("timestampNtz",))
    zone = "UTC" if kind == "timestamp" else None
    table.add("a.parquet", pa.table({"t": pa.array([5, 5], pa.timestamp("ms", zone))}))
    snapshot = explorer.open_table(table.write()).snapshot()
    text = f"t {operator} {kind.upper()} '1970-01-01 00:00:00.005500'"
    wanted = 0 if operator == "=" else 2
    assert explorer.read_rows(snapshot, where=text).num_rows == wanted
    assert pipeline.read(snapshot, spark, where=text, route="parquet").count() == wanted
    assert pipeline.read(snapshot, spark, route="parquet").filter(text).count() == wanted


def _scan(frame: DataFrame) -> dict[str, str]:
    """What Spark's reader is told: by `PushedFilters` and `ReadSchema`."""
    metadata: Any = frame._jdf.queryExecution().executedPlan()
    leaf = next(
        item
        for item in map(metadata.collectLeaves().apply, range(metadata.collectLeaves().size()))
        if item.nodeName().startswith("Scan parquet")
    )
    told = leaf.metadata()
    return {name: str(told.apply(name)) for name in ("PushedFilters", "ReadSchema")}


def test_filters_on_other_columns_still_reach_the_files(
    spark: SparkSession, tmp_path: Path
) -> None:
    inner = struct(field("x", "long"), field("d", "double"))
    columns = (field("k", "long"), field("d", "double"), field("t", "timestamp"), field("s", inner))
    table = DataTable(tmp_path / "t", struct(*columns))
    table.add("a.parquet", pa.table({"k": [1]}))
    snapshot = explorer.open_table(table.write()).snapshot()
    whole = pipeline.read(snapshot, spark, route="parquet")
    told = _scan(whole.filter("k > 1 AND s.x > 2 AND d > 3 AND s.d > 4 AND t > current_date()"))
    for pushed in ("GreaterThan(k,1)", "GreaterThan(s.x,2)"):
        assert pushed in told["PushedFilters"]
    for held_back in ("(d,", "(s.d,", "(t,"):
        assert held_back not in told["PushedFilters"]
    # and of a struct only what is asked for is read
    assert "s:struct<x:bigint>" in _scan(whole.select("s.x"))["ReadSchema"]
    assert "s:struct<d:double>" in _scan(whole.select("s.d"))["ReadSchema"]
