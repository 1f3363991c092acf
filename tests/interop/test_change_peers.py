"""The same statement on two copies of a table that delta-spark wrote, ours on one and its own on
the other: rows, row ids, the feed and what is counted agree, and delta-spark goes on with ours."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import explorer
from explorer import pipeline
from explorer.errors import DeltaError
from tests.interop.maintained import rows_of
from tests.interop.twins import REFUSED, last_commit, sql
from tests.row_values import counted_rows

pytestmark = pytest.mark.spark

FORMS = {
    "plain": {},
    "feed": {"delta.enableChangeDataFeed": "true"},
    "vectors": {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"},
    "ids": {"delta.enableRowTracking": "true", "delta.enableChangeDataFeed": "true"},
    "all": {
        "delta.enableDeletionVectors": "true",
        "delta.enableChangeDataFeed": "true",
        "delta.enableRowTracking": "true",
        "delta.columnMapping.mode": "name",
        "delta.enableInCommitTimestamps": "true",
    },
}


@dataclass(frozen=True)
class Statement:
    """A delete, or an update with what it sets."""

    where: str | None
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """As SQL about the table `T`."""
        end = "" if self.where is None else f" where {self.where}"
        if not self.values:
            return f"delete from T{end}"
        told = ", ".join(f"{name} = {value}" for name, value in self.values.items())
        return f"update T set {told}{end}"

    def run(self, place: Path, **options: Any) -> Any:
        """Ours."""
        if not self.values:
            return pipeline.delete(place, self.where, **options)
        return pipeline.update(place, self.values, self.where, **options)


STATEMENTS = {
    "delete some": Statement("id % 7 = 3"),
    "delete here": Statement("id IN (1, 2, 11) OR x IS NULL"),
    "delete NaN": Statement("x > 100"),
    "delete partition": Statement("part = 'a'"),
    "delete null partition": Statement("part IS NULL"),
    "delete all": Statement(None),
    "update some": Statement("id % 3 = 1", {"x": "x * 2 + id"}),
    "update here": Statement("id < 5 OR id > 27", {"n": "n + 1", "x": "NULL"}),
    "update nested": Statement("id < 25", {"s.a": "n", "s.t.c": "'neu'"}),
    "update partition": Statement("part = 'b' OR part IS NULL", {"part": "'ü/x'"}),
    "update base": Statement("id = 4 OR id = 14", {"n": "n * 10"}),
    "update default": Statement("id < 4", {"d": "DEFAULT"}),
    "update all": Statement(None, {"tags": "array('z')", "c": "'abcd'"}),
    "update by cast": Statement("id < 9", {"n": "'17'", "day": "'2026-01-02'"}),
}


def _make(spark: SparkSession, place: Path, form: str) -> None:
    told = ", ".join(
        f"'{name}' = '{value}'"
        for name, value in {"delta.feature.allowColumnDefaults": "supported", **FORMS[form]}.items()
    )
    sql(
        spark,
        place,
        "create table T (id bigint not null, part string, x double, n int, "
        "s struct<a: int, t: struct<c: string>>, tags array<string>, c char(4), day date, "
        "d int default 42, g bigint generated always as (id * 2 + n)) using delta "
        f"partitioned by (part) tblproperties ({told})",
    )
    for start in (0, 10, 20):
        sql(
            spark,
            place,
            "insert into T (id, part, x, n, s, tags, c, day, d) "
            f"select id + {start}, element_at(array('a', 'b', null), cast(id % 3 + 1 as int)), "
            "case id % 4 when 0 then double('NaN') when 1 then null else id * 1.5D end, "
            "cast(id as int), case when id % 4 = 3 then null else named_struct('a', "
            "cast(id as int), 't', case when id % 4 = 2 then null else named_struct('c', 'x') end) "
            "end, "
            "array('y'), 'kkkk', date'2026-01-01', 1 from range(10)",
        )


Written = Callable[[str], Path]


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Written:
    """A table of each form, made once when it is asked for."""
    folder = tmp_path_factory.mktemp("twins")

    def find(form: str) -> Path:
        place = folder / form
        if not place.exists():
            _make(spark, place, form)
        return place

    return find


@pytest.mark.sampled(one_in=28)
@pytest.mark.parametrize("name", STATEMENTS)
@pytest.mark.parametrize("form", FORMS)
def test_twins_agree(
    form: str, name: str, written: Written, spark: SparkSession, tmp_path: Path
) -> None:
    ours = Path(shutil.copytree(written(form), tmp_path / "ours"))
    theirs = Path(shutil.copytree(written(form), tmp_path / "theirs"))
    statement = STATEMENTS[name]
    result = statement.run(ours, spark=spark)
    sql(spark, theirs, statement.text)

    assert _rows(spark, ours) == _rows(spark, theirs)
    assert rows_of(ours) == rows_of(theirs)
    _compare_commits(ours, theirs)
    if form != "plain":
        assert _feed(spark, ours, result.version) == _feed(spark, theirs, result.version)
        assert _our_feed(ours, result.version) == _our_feed(theirs, result.version)
    if "delta.enableRowTracking" in FORMS[form]:
        assert _ids(spark, ours) == _ids(spark, theirs)
    _goes_on(spark, ours)


def _rows(spark: SparkSession, place: Path) -> Any:
    return counted_rows(sql(spark, place, "select * from T").toArrow())


def _feed(spark: SparkSession, place: Path, version: int) -> Any:
    reader = spark.read.format("delta").option("readChangeFeed", "true")
    frame = reader.option("startingVersion", version).option("endingVersion", version)
    return counted_rows(frame.load(str(place)).drop("_commit_timestamp").toArrow())


def _our_feed(place: Path, version: int) -> Any:
    found = explorer.read_changes(explorer.open_table(place), version, version)
    return counted_rows(found.drop_columns("_commit_timestamp"))


def _ids(spark: SparkSession, place: Path) -> Any:
    """Rows with ids of before and their versions; new versions are the same on both sides."""
    text = "select id, _metadata.row_id, _metadata.row_commit_version from T order by id"
    return [tuple(row) for row in sql(spark, place, text).collect()]


_COUNTED = (
    "numDeletedRows",
    "numUpdatedRows",
    "numDeletionVectorsAdded",
    "numDeletionVectorsRemoved",
    "numDeletionVectorsUpdated",
)


def _compare_commits(ours: Path, theirs: Path) -> None:
    mine, other = last_commit(ours), last_commit(theirs)
    for name in ("operation", "isolationLevel", "isBlindAppend"):
        assert mine[name] == other[name], name
    told, known = mine["operationMetrics"], other["operationMetrics"]
    assert {name: told.get(name) for name in _COUNTED} == {
        name: known.get(name) for name in _COUNTED
    }
    assert known.keys() <= told.keys()
    assert mine["operationParameters"].keys() == other["operationParameters"].keys()
    assert mine.get("tags") == other.get("tags")


def _goes_on(spark: SparkSession, place: Path) -> None:
    before = sql(spark, place, "select count(*) from T").first()[0]
    sql(
        spark,
        place,
        "insert into T (id, part, n, c) values (900, 'a', 1, 'q'), (901, 'ü', 2, 'r')",
    )
    sql(spark, place, "delete from T where id = 901")
    assert sql(spark, place, "select count(*) from T").first()[0] == before + 1
    assert explorer.open_table(place).snapshot().num_rows == before + 1


@pytest.mark.parametrize(
    "statement",
    [
        Statement("id < 5", {"id": "NULL"}),
        Statement("id < 5", {"n": "2147483647 + n"}),
        Statement("id < 5", {"c": "'too long'"}),
        Statement("id < 5", {"n": "'x'"}),
        Statement("id < 5", {"g": "7"}),
        Statement("id < 5", {"n": "1", "N": "2"}),
        Statement("id < 5", {"nobody": "1"}),
        Statement("nobody < 5"),
    ],
    ids=lambda statement: statement.text,
)
def test_both_refuse(
    statement: Statement, written: Written, spark: SparkSession, tmp_path: Path
) -> None:
    place = Path(shutil.copytree(written("vectors"), tmp_path / "t"))
    version = explorer.open_table(place).latest_version()
    with pytest.raises((*REFUSED, PySparkException)):
        sql(spark, place, statement.text)
    for engine in ("auto", "spark"):
        with pytest.raises(DeltaError):
            statement.run(place, engine=engine, spark=spark)
    assert explorer.open_table(place).latest_version() == version
