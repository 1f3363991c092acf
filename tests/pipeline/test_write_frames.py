"""DataFrames written to tables, read back by the reference and by ours."""

from __future__ import annotations

import itertools
import threading
import time
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession

import explorer
from explorer import pipeline
from explorer.errors import CancelledError, DeltaError, InvalidArgumentError
from explorer.pipeline.native.pushdown import quoted
from explorer.pipeline.writing import arrow_frame
from explorer.progress import Cancel, Progress

pytestmark = pytest.mark.spark

EVERY_TYPE = (
    "id",
    "cast(-id as byte) as b",
    "cast(id - 4000 as short) as sh",
    "cast(id as int) as i",
    "if(id = 1, cast('NaN' as float), cast(id as float)) as f",
    "if(id = 0, cast('-0.0' as double), cast('Infinity' as double)) as d",
    "cast('99999999999999999999999999999999999999' as decimal(38, 0)) as wide",
    "cast(id / 1000 as decimal(7, 3)) as narrow",
    "id = 1 as flag",
    "cast('x' as binary) as bytes",
    r"concat('ä\\0', id) as text",
    "date'-0044-03-15' as early",
    "date'+200000-01-01' as late",
    "timestamp'+200000-01-01 00:00:00.000001Z' as far",
    "timestamp'0001-01-01 00:00:00Z' as first",
    "timestamp'1582-10-10 12:00:00Z' as gone",
    "timestamp_ntz'1500-02-28 00:00:00' as wall",
    "array(null, 1) as list",
    "array(array(id)) as lists",
    "map('k', named_struct('v', cast(null as int), 'w', map(id, array('z')))) as map",
    "named_struct('t', array(timestamp'2020-01-01 00:00:00Z'), 'n', named_struct('x', id)) as deep",
    """parse_json('{"a":[1,2.5,null,"x"]}') as v""",
    "array(parse_json('1'), null) as vs",
    """named_struct('v', parse_json('"x"')) as in_struct""",
    "map('k', parse_json('true')) as in_map",
    "cast(null as string) as nothing",
)

_VARIANTS = {"v", "vs", "in_struct", "in_map"}


def theirs(spark: SparkSession, place: Path) -> DataFrame:
    return spark.read.format("delta").load(str(place))


def shown(frame: DataFrame) -> list[str]:
    """Every row as text: what Python has no values for, Spark writes down."""
    found = frame.selectExpr(*(_as_text(item) for item in frame.schema.fields))
    return sorted(map(str, found.collect()))


def _as_text(item: Any) -> str:
    if "variant" in item.dataType.simpleString():
        return f"to_json(named_struct('v', {quoted(item.name)}))"
    return f"cast({quoted(item.name)} as string)"


def data_files(place: Path) -> set[str]:
    every = (found.relative_to(place).as_posix() for found in place.rglob("*") if found.is_file())
    return {path for path in every if not path.startswith("_delta_log/")}


def live_files(place: Path) -> set[str]:
    return {add["path"] for add in adds_of(place)}


def adds_of(place: Path, version: int | None = None) -> list[dict[str, Any]]:
    """What commits added; of one version, or of all, where none was removed."""
    name = "*" if version is None else f"{version:020}"
    texts = [path.read_bytes() for path in (place / "_delta_log").glob(f"{name}.json")]
    lines = (orjson.loads(line) for text in texts for line in text.splitlines())
    return [line["add"] for line in lines if "add" in line]


def numbers(spark: SparkSession, *parts: int) -> DataFrame:
    """A column `id` from 0 on, in as many parts as there are numbers of rows."""
    frames = [spark.range(sum(parts[:at]), sum(parts[: at + 1]), 1, 1) for at in range(len(parts))]
    found = frames[0]
    for frame in frames[1:]:
        found = found.union(frame)
    return found


def test_every_type_is_the_same_for_the_reference_and_both_write_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = tmp_path / "t"
    frame = spark.range(0, 4, 1, 2).selectExpr(*EVERY_TYPE)
    result = pipeline.write(frame, place)
    assert (result.version, result.metrics["numOutputRows"]) == (0, 4)
    assert shown(theirs(spark, place)) == shown(frame)
    frame.write.format("delta").mode("append").save(str(place))
    assert pipeline.write(frame, place).version == 2
    assert shown(theirs(spark, place)) == shown(frame.union(frame).union(frame))
    ours = pipeline.read(explorer.open_table(place).snapshot(), spark)
    plain = [name for name in frame.columns if name not in _VARIANTS]  # those are read as text
    assert shown(ours.select(*plain)) == shown(frame.union(frame).union(frame).select(*plain))


def test_each_mode_does_what_its_name_says(spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "t"
    pipeline.write(numbers(spark, 3), place, mode="error")
    with pytest.raises(InvalidArgumentError, match="already"):
        pipeline.write(numbers(spark, 3), place, mode="error")
    assert pipeline.write(numbers(spark, 3), place, mode="ignore").version is None
    pipeline.write(numbers(spark, 2), place)
    assert theirs(spark, place).count() == 5
    result = pipeline.write(numbers(spark, 7), place, mode="overwrite")
    assert (result.metrics["numRemovedFiles"], result.metrics["numOutputRows"]) == (2, 7)
    assert theirs(spark, place).count() == 7


def test_a_task_without_rows_makes_no_file_and_a_frame_without_rows_a_version(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = tmp_path / "t"
    assert pipeline.write(spark.range(0), place).metrics["numFiles"] == 0
    assert theirs(spark, place).columns == ["id"]
    pipeline.write(numbers(spark, 2, 0, 0, 3), place)
    assert len(adds_of(place)) == len(data_files(place)) == 2
    pipeline.write(spark.range(5).filter("id < 0"), place, mode="overwrite")
    assert theirs(spark, place).count() == 0


def test_columns_are_matched_by_name_and_new_ones_come_with_merge_schema(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = tmp_path / "t"
    pipeline.write(spark.sql("select 1L as id, 'a' as name"), place)
    pipeline.write(spark.sql("select 'b' as name, 2 as ID"), place)
    more = spark.sql("select 3L as id, named_struct('x', 1) as s")
    with pytest.raises(InvalidArgumentError) as refused:
        pipeline.write(more, place)
    assert refused.value.kind == "schema_mismatch"
    pipeline.write(more, place, merge_schema=True)
    rows = theirs(spark, place).selectExpr("id", "name", "s.x").collect()
    assert sorted(map(tuple, rows)) == [(1, "a", None), (2, "b", None), (3, None, 1)]
    assert data_files(place) == live_files(place)
    pipeline.write(more, place, mode="overwrite", overwrite_schema=True)
    assert theirs(spark, place).columns == ["id", "s"]


def test_partitions_of_every_name_hold_their_rows_and_dynamic_overwrite_takes_theirs(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = tmp_path / "t"
    odd = ["a b", "x/y=z", "ü%41", "", "null", "..", "_h", "#{}[]", "'\"\\"]
    frame = spark.createDataFrame(
        [(number, odd[number % len(odd)], number % 3) for number in range(90)],
        "id long, p string, q int",
    )
    pipeline.write(frame, place, partition_by=["p", "q"])
    empty_is_null = frame.selectExpr("id", "nullif(p, '') as p", "q")
    assert shown(theirs(spark, place)) == shown(empty_is_null)
    part = frame.filter("p = 'a b' and q = 0").limit(1)
    result = pipeline.write(part, place, mode="overwrite", partition_overwrite="dynamic")
    assert result.metrics["numRemovedFiles"] >= 1
    left = empty_is_null.filter("not (p <=> 'a b' and q = 0)").unionByName(part)
    assert shown(theirs(spark, place)) == shown(left)


def test_rows_of_many_partitions_in_no_order_make_one_file_each(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = tmp_path / "t"
    frame = spark.range(0, 6000, 1, 2).selectExpr("id", "xxhash64(id) % 300 as p")
    result = pipeline.write(frame, place, partition_by="p")
    keys = frame.selectExpr("spark_partition_id()", "p").distinct().count()
    assert keys > 400
    assert result.metrics["numFiles"] == keys
    assert shown(theirs(spark, place)) == shown(frame)


def test_the_order_of_rows_within_a_partition_of_the_table_stays(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = tmp_path / "t"
    frame = spark.range(0, 3000, 1, 1).selectExpr("xxhash64(id) as x", "id % 3 as p")
    pipeline.write(frame.sortWithinPartitions("p", "x"), place, partition_by="p")
    files = [place / add["path"] for add in adds_of(place)]
    assert len(files) == 3
    for file in files:
        values = spark.read.parquet(str(file)).toArrow().column("x").to_pylist()
        assert values == sorted(values)


@pytest.mark.parametrize("is_new", [True, False], ids=["new table", "old table"])
def test_a_job_that_fails_half_way_leaves_no_file_and_no_version(
    spark: SparkSession, tmp_path: Path, is_new: bool
) -> None:
    place = tmp_path / "t"
    if not is_new:
        pipeline.write(numbers(spark, 3), place)
    before = data_files(place)
    failing = spark.range(0, 400_000, 1, 4).selectExpr(
        "if(id = 350000, raise_error('far too late'), id) as id", "id % 5 as p", "uuid() as text"
    )
    with pytest.raises(DeltaError, match="far too late"):
        pipeline.write(
            failing if is_new else failing.select("id"),
            place,
            partition_by="p" if is_new else (),
            target_file_size=2**16,
        )
    assert data_files(place) == before
    if is_new:
        assert not (place / "_delta_log").exists()
    else:
        assert explorer.open_table(place).latest_version() == 0


def test_a_write_that_is_cancelled_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    place, cancel, begun = tmp_path / "t", Cancel(), threading.Event()

    def look(report: Progress) -> None:
        if report.total:
            begun.set()
            cancel.cancel()

    slow = spark.range(0, 10, 1, 10).mapInArrow(_slowly, "id long")
    with pytest.raises(CancelledError):
        pipeline.write(slow, place, progress=look, cancel=cancel)
    assert begun.is_set()
    assert data_files(place) == set()


def _slowly(batches: Any) -> Any:
    for batch in batches:
        time.sleep(1)
        yield batch


_VARIANT = {"metadata": b"\x01\x00\x00", "value": b"\x0c\x05"}
_AS_STRUCT = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
_NESTED = pa.struct([("a", pa.list_(_AS_STRUCT)), ("m", pa.map_(pa.string(), _AS_STRUCT))])
_COLUMNS_OF_ARROW = (
    "id int, text string, large string, `view` binary, at timestamp, fixed array<tinyint>, "
    "price decimal(38,0), runs bigint, views array<smallint>, `v``.x` variant, "
    "vs struct<a: array<variant>, m: map<string, variant>>"
)


@pytest.mark.parametrize("sent", [2**25, 0], ids=["in the function", "through the store"])
def test_rows_of_arrow_reach_spark_whatever_their_layout(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: int
) -> None:
    monkeypatch.setattr(arrow_frame, "_MOST_SENT", sent)
    monkeypatch.setattr(arrow_frame, "_PIECE_BYTES", 100)
    monkeypatch.setattr(arrow_frame, "_LEAST_TASK_BYTES", 300)
    rows = pa.table(
        {
            "id": pa.array(range(100), pa.int32()),
            "text": pa.array([f"t{n % 3}" for n in range(100)]).dictionary_encode(),
            "large": pa.array(["x"] * 100, pa.large_string()),
            "view": pa.array([b"y"] * 100, pa.binary_view()),
            "at": pa.array([n * 1000 for n in range(100)], pa.timestamp("ns", "Europe/Berlin")),
            "fixed": pa.array([[n, None] for n in range(100)], pa.list_(pa.int8(), 2)),
            "price": pa.array([None] * 100, pa.decimal128(38, 0)),
            "runs": pc.run_end_encode(pa.array([n // 10 for n in range(100)])),
            "views": pa.array([[n] for n in range(100)], pa.list_view(pa.int16())),
            "v`.x": pa.array([_VARIANT, None] * 50),
            "vs": pa.array([{"a": [_VARIANT, None], "m": [("k", _VARIANT)]}] * 100, _NESTED),
        }
    )
    here, there = tmp_path / "here", tmp_path / "there"
    for place in (here, there):
        pipeline.create(place, _COLUMNS_OF_ARROW)
    pipeline.write(rows, here, engine="local")
    reader = pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches(max_chunksize=7))
    pipeline.write(reader, there, engine="spark", spark=spark)
    assert shown(theirs(spark, there)) == shown(theirs(spark, here))
    assert (
        explorer.open_table(there).snapshot().schema == explorer.open_table(here).snapshot().schema
    )
    assert data_files(there) == live_files(there)
    assert 1 < len(live_files(there)) < 20
    with pytest.raises(InvalidArgumentError) as refused:
        pipeline.write(
            pa.table({"at": pa.array([1], pa.timestamp("ns"))}),
            tmp_path / "x",
            engine="spark",
            spark=spark,
        )
    assert refused.value.kind == "rows_refused"
    assert data_files(tmp_path / "x") == set()


NUMBERED = (
    "id BIGINT, number BIGINT GENERATED BY DEFAULT AS IDENTITY (START WITH {0} INCREMENT BY {1})"
)


@pytest.mark.parametrize(("start", "step"), [(5, 3), (-1, -2)])
def test_numbers_of_an_identity_column_are_given_once_and_go_on(
    start: int, step: int, spark: SparkSession, tmp_path: Path
) -> None:
    """By tasks of one frame, by the next one, by this process and by the reference."""
    place = tmp_path / "t"
    pipeline.create(place, NUMBERED.format(start, step))
    pipeline.write(spark.range(0, 100, 1, 4), place)
    pipeline.write(spark.range(100, 150, 1, 3), place)
    pipeline.write(pa.table({"id": [150, 151]}), place)
    spark.range(152, 160, 1, 2).write.format("delta").mode("append").save(str(place))
    rows = theirs(spark, place).collect()
    numbers = [row["number"] for row in sorted(rows, key=lambda row: row["id"])]
    assert len(rows) == len(set(numbers)) == 160
    assert all((number - start) % step == 0 for number in numbers)
    # four tasks with as many rows each leave no gap
    assert {(number - start) // step for number in numbers[:100]} == {*range(100)}
    ends = [0, 100, 150, 152, 160]
    groups = [numbers[first:last] for first, last in itertools.pairwise(ends)]
    for earlier, later in itertools.pairwise(groups):  # beyond all that were given before
        assert max(step * number for number in earlier) < min(step * number for number in later)
    field = orjson.loads(
        explorer.open_table(place).snapshot(version=3).metadata.schema_string or ""
    )
    mark = field["fields"][1]["metadata"]["delta.identity.highWaterMark"]
    assert step * mark == max(step * number for number in numbers[:152])
