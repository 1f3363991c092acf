"""What the footers of our files claim costs no reader a row: delta-spark, DuckDB and Polars count,
for conditions on every type, what they count on the same rows without any statistics.

    export DELTA_EXPLORER_EVERYTHING=1 DELTA_EXPLORER_FOOTERS=5000
    ./run tests tests/interop/test_footer_peers.py

asks that many conditions of each form of table; CI asks 60 of one form, another each day. One in
twenty of them goes to delta-spark, which needs as long for one as the others for hundreds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import unquote

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import maintenance
from explorer.protocol.vectors.deletion_vectors import build_inline_descriptor, render_descriptor
from explorer.storage.parquet.writer import ParquetOutput, WriterSettings
from tests.data_tables import DataTable, array, field, map_of, struct
from tests.interop.conditions import (
    KINDS,
    NAN,
    NESTED,
    PLACES,
    Condition,
    compare,
    random_condition,
    random_rows,
)
from tests.interop.disagreements.numbers import COUNTS
from tests.interop.maintained import carry_out
from tests.sampling import SEED, sample

pytestmark = pytest.mark.spark

_CONDITIONS = int(os.environ.get("DELTA_EXPLORER_FOOTERS", "60"))
_PARTS = 10
_DELTA = struct(
    *(field(name, kind.delta) for name, kind in KINDS.items()),
    field("nested", struct(*(field(path[1], kind.delta) for path, kind in NESTED.items()))),
    field("listed", array("double")),
    field("mapped", map_of("string", "double")),
    field("part", "integer"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A table and its data files."""

    root: Path
    files: tuple[Path, ...]

    @classmethod
    def at(cls, root: Path) -> Written:
        """The newest version of a table."""
        paths = explorer.open_table(root).snapshot().files(["path"])["path"].to_pylist()
        return cls(root=root, files=tuple(root / unquote(path) for path in sorted(paths)))


def place(root: Path, features: Sequence[str] = ()) -> DataTable:
    return DataTable(root, _DELTA, features=("timestampNtz", *features), partitionColumns=["part"])


def put(table: DataTable, path: str, rows: pa.Table, **fields: Any) -> None:
    """A data file without any statistics."""
    target = table.root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, target, write_statistics=False)
    values = {"part": path.partition("/")[0].removeprefix("part=")}
    table.add(path, size=target.stat().st_size, partitionValues=values, **fields)


def source(root: Path, random: Random, hidden: Sequence[int] = ()) -> Path:
    """A table of small files, each with few values in a column; `hidden` are the positions that
    deletion vectors hide in each."""
    table = place(root, ("deletionVectors",))
    fields: dict[str, Any] = {}
    if hidden:
        fields["deletionVector"] = render_descriptor(build_inline_descriptor(hidden))
        fields["stats"] = '{"numRecords":8}'
    for part in range(_PARTS):
        rows = random_rows(random, 16)
        for number in range(2):
            path = f"part={part}/{number}.parquet"
            put(table, path, rows.slice(8 * number, 8), **fields)
    return table.write()


def optimized(root: Path, *, spark: SparkSession | None, state: Path, **wishes: Any) -> Written:
    plan = maintenance.plan_optimize(explorer.open_table(root), **wishes)
    receipt = carry_out(plan, state, spark=spark)
    assert receipt.status == "completed", receipt.problem
    written = Written.at(root)
    assert not {file.name for file in written.files} & {"0.parquet", "1.parquet"}
    return written


def packed_on_spark(root: Path, random: Random, spark: SparkSession, state: Path) -> Written:
    return optimized(source(root, random), spark=spark, state=state)


def packed_here(root: Path, random: Random, _: SparkSession, state: Path) -> Written:
    return optimized(source(root, random), spark=None, state=state)


def purged(root: Path, random: Random, _: SparkSession, state: Path) -> Written:
    return optimized(source(root, random, [0, 3]), spark=None, state=state, purge=True)


def ordered(root: Path, random: Random, _: SparkSession, state: Path) -> Written:
    wishes = {"zorder_by": ["double"], "target_size": 6000}
    return optimized(source(root, random), spark=None, state=state, **wishes)


def row_groups(root: Path, random: Random, *_: Any) -> Written:
    """One file of many row groups."""
    table, path = place(root), "part=0/groups.parquet"
    target = root / path
    target.parent.mkdir(parents=True)
    groups = [random_rows(random, 12) for _ in range(_PARTS)]
    settings = WriterSettings(decimals_as_integers=True, page_version="2.0")
    with ParquetOutput(target, groups[0].schema, settings) as file:
        for rows in groups:
            file.write(rows)
    table.add(path, size=target.stat().st_size, partitionValues={"part": "0"})
    return Written.at(table.write())


def without_statistics(written: Written, root: Path) -> Written:
    """The same rows in files and row groups of the same kind, which say nothing of them."""
    table = place(root)
    for file in written.files:
        path = file.relative_to(written.root)
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        rows = pq.ParquetFile(file)
        with pq.ParquetWriter(root / path, rows.schema_arrow, write_statistics=False) as copy:
            for group in range(rows.num_row_groups):
                copy.write_table(rows.read_row_group(group))
        values = {"part": path.parts[0].removeprefix("part=")}
        table.add(str(path), size=(root / path).stat().st_size, partitionValues=values)
    return Written.at(table.write())


def count_with_spark(
    spark: SparkSession, written: Written, conditions: Sequence[Condition]
) -> list[int]:
    counts: dict[int, int] = {}
    for start in range(0, len(conditions), 20):
        asked = " UNION ALL ".join(
            f"SELECT {at} AS at, count(*) AS found FROM delta.`{written.root}` WHERE {one.spark}"
            for at, one in enumerate(conditions[start : start + 20], start)
        )
        counts |= {row["at"]: row["found"] for row in spark.sql(asked).collect()}
    return [counts[at] for at in range(len(conditions))]


def count_with_duckdb(written: Written, conditions: Sequence[Condition]) -> list[int]:
    counts = []
    files = [str(file) for file in written.files]
    with duckdb.connect(config={"autoinstall_known_extensions": False}) as connection:
        for one in conditions:
            asked = f"SELECT count(*) FROM read_parquet({files}) WHERE {one.duckdb}"
            counts.append(connection.execute(asked, list(one.values)).fetchall()[0][0])
    return counts


def count_with_polars(written: Written, conditions: Sequence[Condition]) -> list[int]:
    rows = pl.scan_parquet(list(written.files), hive_partitioning=False)
    found = [rows.filter(one.polars).select(pl.len()) for one in conditions]
    return [frame.item() for frame in map(pl.LazyFrame.collect, found)]


_FORMS = (packed_on_spark, packed_here, purged, ordered, row_groups)
_LOST = [
    compare(place, operator, value)
    for place, kind in PLACES.items()
    if kind in (KINDS["double"], KINDS["single"])
    for operator, value in ((">", 5.0), (">=", 1.0), ("=", NAN))
]
"""What finds rows that are NaN, at each place where a float can be."""


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("form", _FORMS, ids=lambda form: form.__name__)
def test_three_engines_count_what_they_count_without_statistics(
    form: Callable[..., Written], spark: SparkSession, tmp_path: Path
) -> None:
    random = Random(f"{SEED} {form.__name__}")
    ours = form(tmp_path / "ours", random, spark, tmp_path / "state")
    plain = without_statistics(ours, tmp_path / "plain")
    drawn = [random_condition(random) for _ in range(_CONDITIONS)]
    some = drawn[: -(-_CONDITIONS // 20)]
    on_spark = [*sample(_LOST, 5, form.__name__), *some] if form is packed_on_spark else some
    for engine, count, conditions in (
        ("duckdb", count_with_duckdb, [*_LOST, *drawn]),
        ("polars", count_with_polars, [*_LOST, *drawn]),
        ("delta-spark", partial(count_with_spark, spark), on_spark),
    ):
        found, expected = count(ours, conditions), count(plain, conditions)
        wrong = {
            str(one): (now, then)
            for one, now, then in zip(conditions, found, expected, strict=True)
            if now != then
        }
        assert wrong == {}, f"{engine}, seed {SEED}: ours, and without statistics"
        assert any(expected), engine


def test_the_judges_see_rows_that_bounds_without_nan_hide(tmp_path: Path) -> None:
    rows = pa.table({"double": [0.1, NAN]})
    asked = [compare(("double",), ">", 5.0)]
    counts = {}
    for name, options in (("bounds", {}), ("none", {"write_statistics": False})):
        file = tmp_path / f"{name}.parquet"
        pq.write_table(rows, file, **options)
        counts[name] = count_with_duckdb(Written(root=tmp_path, files=(file,)), asked)
    assert counts == {"bounds": [0], "none": [1]}


def test_each_engine_has_the_idea_of_nan_and_zeros_that_is_noted(
    spark: SparkSession, tmp_path: Path
) -> None:
    nan, zeros = pa.table({"double": [0.1, NAN]}), pa.table({"double": [-0.0, -0.0]})
    greater, equal, zero = (
        compare(("double",), operator, value)
        for operator, value in ((">", 5.0), ("=", NAN), ("=", 0.0))
    )
    cases: list[tuple[pa.Table, dict[str, bool], Condition]] = [
        (nan, {"write_statistics": False}, greater),
        (nan, {"write_statistics": False}, equal),
        (nan, {}, greater),
        (zeros, {"use_dictionary": False}, zero),
        (zeros, {}, zero),
    ]
    counts: dict[str, list[int]] = {engine: [] for engine in COUNTS}
    for number, (rows, options, asked) in enumerate(cases):
        file = tmp_path / f"{number}.parquet"
        pq.write_table(rows, file, **options)
        written = Written(root=tmp_path, files=(file,))
        counts["duckdb"] += count_with_duckdb(written, [asked])
        counts["polars"] += count_with_polars(written, [asked])
        counts["delta-spark"].append(spark.read.parquet(str(file)).where(asked.spark).count())
    assert {engine: tuple(found) for engine, found in counts.items()} == COUNTS
    own = str(tmp_path / "own")
    spark.createDataFrame([(-0.0,), (-0.0,)], "double double").coalesce(1).write.parquet(own)
    assert spark.read.parquet(own).where(zero.spark).count() == COUNTS["delta-spark"][-1]
