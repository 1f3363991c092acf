"""Tables and rows drawn by seeds, written by us: our reader, deltalake and delta-spark, and DuckDB
and Polars on the files, find just the rows that a plain list of them says; statistics are true.

`DELTA_EXPLORER_WRITES` says how many seeds, `DELTA_EXPLORER_FIRST_WRITE` which is the first: the
day has 500 of its own otherwise. A failure names its seed.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError as TheirError
from pyspark.sql import SparkSession

import explorer
from tests.interop.random_values import told_rows
from tests.interop.random_writes import RandomTable
from tests.interop.reading_spark import rows_of_frame
from tests.interop.written_files import WrittenFiles
from tests.sampling import SEED

_COUNT = int(os.environ.get("DELTA_EXPLORER_WRITES", "300"))
_FIRST = int(os.environ.get("DELTA_EXPLORER_FIRST_WRITE", str(SEED * 300)))
_IN_EACH = 50
_PARTS = [
    range(first, min(first + _IN_EACH, _FIRST + _COUNT))
    for first in range(_FIRST, _FIRST + _COUNT, _IN_EACH)
]
_ON_SPARK = 20
"""Of so many seeds delta-spark reads one table, as it takes a second for each."""

_WRITTEN_ON_SPARK = 3
"""Of so many of these one is written by Spark."""

_NOT_THEIRS = (
    "[TypeWidening]",
    "Failed to parse value",
    "unexpected 'U' whilst parsing object",
)
"""What deltalake refuses: a feature; partitions of days before the year -262144 or after 262143;
and checkpoints without statistics in JSON, of which it makes some that it cannot read."""


def _by_ours(table: RandomTable, place: Path) -> Counter[Any]:
    rows = explorer.read_rows(explorer.open_table(place).snapshot())
    if table.numbered is not None:
        numbers = rows.column(table.numbered).to_pylist()
        assert len(numbers) == len(set(numbers))
        assert all((number - table.start) % table.step == 0 for number in numbers)
        assert all((number - table.start) // table.step >= 0 for number in numbers)
    return told_rows(rows, table.compared)


def _by_deltalake(table: RandomTable, place: Path) -> Counter[Any] | None:
    try:
        builder = QueryBuilder().register("t", DeltaTable(str(place)))
        rows = pa.table(builder.execute("select * from t").read_all())
    except TheirError as error:
        if any(text in str(error) for text in _NOT_THEIRS):
            return None
        raise
    return told_rows(rows, _stored(table))


def _stored(table: RandomTable) -> list[Any]:
    return [item for item in table.compared if item["type"] != "void"]


def _differences(found: Counter[Any], wanted: Counter[Any]) -> str:
    if found == wanted:
        return ""
    return f"lacks {list(wanted - found)[:2]}, has {list(found - wanted)[:2]}"


def _check(what: Callable[[], str], seed: int) -> None:
    try:
        told = what()
    except Exception as error:
        raise AssertionError(f"seed {seed}") from error
    assert not told, f"seed {seed}: {told}"


def _judged(seed: int, place: Path, **engine: Any) -> str:
    """What is wrong with a table, as those say who need no JVM."""
    table = RandomTable(seed=seed)
    table.write(place, **engine)
    files = WrittenFiles.of_newest(place)
    files.check_statistics()
    in_files = [item for item in _stored(table) if item["name"] not in table.partition_by]
    names = [item["name"] for item in in_files]
    told = {
        "ours": _differences(_by_ours(table, place), table.rows_after(table.compared)),
        **{
            engine: _differences(files.rows_by(engine, names), table.rows_after(in_files))
            for engine in ("duckdb", "polars")
        },
    }
    theirs = _by_deltalake(table, place)
    if theirs is not None:
        told["deltalake"] = _differences(theirs, table.rows_after(_stored(table)))
    return "; ".join(f"{reader} {text}" for reader, text in told.items() if text)


@pytest.mark.parametrize("part", range(len(_PARTS)))
def test_every_reader_finds_the_rows_that_were_written(part: int, tmp_path: Path) -> None:
    for seed in _PARTS[part]:
        place = tmp_path / str(seed)

        def judge(seed: int = seed, place: Path = place) -> str:
            return _judged(seed, place, engine="local")

        _check(judge, seed)
        shutil.rmtree(place)


@pytest.mark.daily
@pytest.mark.parametrize("part", range(len(_PARTS)))
def test_delta_spark_finds_them_too_whoever_wrote_them(
    part: int, spark: SparkSession, tmp_path: Path
) -> None:
    def judge(number: int, seed: int) -> str:
        place = tmp_path / str(seed)
        if number % _WRITTEN_ON_SPARK == part % _WRITTEN_ON_SPARK:
            told = _judged(seed, place, engine="spark", spark=spark)
        else:
            RandomTable(seed=seed).write(place, engine="local")
            told = ""
        table = RandomTable(seed=seed)
        frame = spark.read.format("delta").load(str(place))
        found = told_rows(rows_of_frame(frame), _stored(table))
        theirs = _differences(found, table.rows_after(_stored(table)))
        return f"{told} {theirs and 'delta-spark '}{theirs}".strip()

    def checked(entry: tuple[int, int]) -> None:
        _check(lambda: judge(*entry), entry[1])

    # much of its time is spent on waiting
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(checked, enumerate(_PARTS[part][::_ON_SPARK])))
