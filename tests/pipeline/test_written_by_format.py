"""`df.write` and `df.writeStream` of the format `delta_explorer`, read back by the reference."""

from __future__ import annotations

import shutil
from pathlib import Path
from uuid import UUID

import orjson
import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, IllegalArgumentException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession, datasource
from pyspark.sql import functions as fn

import explorer
from explorer import pipeline
from explorer.errors import DeltaError, InvalidArgumentError, UnsupportedError
from explorer.pipeline.source._write_options import PROFILE, storage_options, write_options

pytestmark = pytest.mark.spark

FORMAT = "delta_explorer"


@pytest.fixture(autouse=True)
def registered(spark: SparkSession) -> None:
    pipeline.register(spark)


def ids(spark: SparkSession, place: Path) -> list[int]:
    """By the reference, and by ours, which agree."""
    theirs = spark.read.format("delta").load(str(place)).select("id").toArrow()
    mine = explorer.read_rows(explorer.open_table(place).snapshot(), columns=["id"])
    found: list[int] = sorted(mine.column("id").to_pylist())
    assert found == sorted(theirs.column("id").to_pylist())
    return found


def save(frame: DataFrame, place: Path, mode: str = "append", **options: str) -> None:
    with pipeline.clear_errors("Writing"):
        frame.write.format(FORMAT).mode(mode).options(**options).save(str(place))


def test_a_frame_creates_appends_and_overwrites(spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "t"
    frame = spark.range(0, 6, 1, 2).selectExpr("id", "id % 2 = 0 as even")
    save(frame, place, partitionBy="even", userMetadata="first", **{"delta.appendOnly": "false"})
    save(frame.withColumn("id", frame.id + 10), place, txnAppId="load", txnVersion="1")
    save(frame, place, txnAppId="load", txnVersion="1")  # it is there already
    assert ids(spark, place) == [0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15]
    table = explorer.open_table(place)
    metadata = table.snapshot().metadata
    assert metadata.partition_columns == ("even",)
    assert metadata.configuration == {"delta.appendOnly": "false"}
    assert table.latest_version() == 1
    save(frame.where("even"), place, "overwrite", partitionOverwriteMode="dynamic")
    assert ids(spark, place) == [0, 1, 2, 3, 4, 5, 11, 13, 15]
    save(frame, place, "overwrite")
    assert ids(spark, place) == [0, 1, 2, 3, 4, 5]
    first = orjson.loads((place / "_delta_log" / f"{0:020}.json").read_bytes().splitlines()[0])
    assert first["commitInfo"]["userMetadata"] == "first"


def test_what_does_not_fit_writes_nothing_and_is_our_own_error(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = tmp_path / "t"
    pipeline.create(place, "id BIGINT NOT NULL, name VARCHAR(3)")
    wrong = {
        "rows_refused": "if(id = 1, null, id) as id",
        "schema_mismatch": "id as other",
        "invalid_argument": "id",
    }
    for kind, column in wrong.items():
        options = {"mergeShema": "true"} if kind == "invalid_argument" else {}
        with pytest.raises(DeltaError) as error:
            save(spark.range(0, 4, 1, 2).selectExpr(column), place, **options)
        assert error.value.kind == kind
    assert "Did you mean mergeSchema?" in str(error.value)
    assert explorer.open_table(place).latest_version() == 0
    assert not list(place.glob("*.parquet"))


def test_tables_whose_rules_tasks_cannot_keep_are_refused_before_a_row(
    spark: SparkSession, tmp_path: Path
) -> None:
    for name, column in {
        "numbered": "k BIGINT GENERATED ALWAYS AS IDENTITY",
        "computed": "k STRING GENERATED ALWAYS AS (upper(cast(id as string)))",
    }.items():
        pipeline.create(tmp_path / name, f"id BIGINT, {column}")
        with pytest.raises(DeltaError, match=r"pipeline\.write"):
            save(spark.range(3), tmp_path / name)


def test_what_spark_itself_refuses_has_an_option_that_does_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Spark refuses before ours is asked; a test that fails here says that it has changed."""
    frame = spark.range(3)
    with pytest.raises(AnalysisException, match='"Append" or "Overwrite" mode instead'):
        frame.write.format(FORMAT).save(str(tmp_path / "t"))
    with pytest.raises(IllegalArgumentException, match="do not match the existing table's"):
        frame.write.format(FORMAT).mode("append").partitionBy("id").save(str(tmp_path / "t"))
    assert not (tmp_path / "t").exists()


def test_an_older_pyspark_is_told_what_the_format_needs(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DataSourceArrowWriter", "DataSourceStreamArrowWriter"):
        with monkeypatch.context() as patched:
            patched.delattr(datasource, name)
            with pytest.raises(UnsupportedError, match=name) as refused:
                pipeline.register(spark)
        assert refused.value.kind == "missing_dependency"
        assert "pyspark>=4.2" in refused.value.remedy


class Stream:
    """A query over files that come one after the other."""

    def __init__(self, spark: SparkSession, scratch: Path) -> None:
        self.spark, self.source = spark, scratch / "source"
        self.place, self.kept = scratch / "t", scratch / "checkpoint"
        self.source.mkdir()

    def bring(self, first: int) -> None:
        rows = self.spark.range(first, first + 5, 1, 1)
        rows.write.mode("append").parquet(str(self.source))

    @property
    def frame(self) -> DataFrame:
        read = self.spark.readStream.schema("id long").option("maxFilesPerTrigger", 1)
        return read.parquet(str(self.source))

    def run(self, frame: DataFrame | None = None, mode: str = "append") -> None:
        writer = (frame or self.frame).writeStream.format(FORMAT).outputMode(mode)
        writer = writer.option("checkpointLocation", str(self.kept)).trigger(availableNow=True)
        writer.start(str(self.place)).awaitTermination()


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Stream:
    return Stream(spark, tmp_path)


def test_each_batch_of_a_stream_is_written_once_though_its_query_forgets(stream: Stream) -> None:
    stream.bring(0)
    stream.bring(5)
    stream.run()
    assert ids(stream.spark, stream.place) == list(range(10))
    # files of a batch share a part of their names, made of its number, and no other batch has it
    made = {UUID(path.name[11:47]) for path in stream.place.glob("*.parquet")}
    assert [name.version for name in made] == [5, 5]
    # the driver was lost after the commit of the table, and before it noted that of the query
    for name in ("commits/1", "commits/.1.crc"):
        (stream.kept / name).unlink(missing_ok=True)
    before = sorted(stream.place.glob("*.parquet"))
    stream.run()
    assert ids(stream.spark, stream.place) == list(range(10))
    assert sorted(stream.place.glob("*.parquet")) == before
    stream.bring(10)
    stream.run()
    assert ids(stream.spark, stream.place) == list(range(15))
    info = orjson.loads(
        (stream.place / "_delta_log" / f"{3:020}.json").read_bytes().split(b"\n")[0]
    )
    assert info["commitInfo"]["operation"] == "STREAMING UPDATE"
    assert info["commitInfo"]["operationParameters"]["epochId"] == "2"
    # another query has numbers of its own
    shutil.rmtree(stream.kept)
    stream.run()
    assert ids(stream.spark, stream.place) == sorted([*range(15), *range(15)])


def test_a_table_that_a_stream_cannot_be_written_to_is_our_own_error(stream: Stream) -> None:
    pipeline.create(stream.place, "id BIGINT, k BIGINT GENERATED ALWAYS AS IDENTITY")
    stream.bring(0)
    with (
        pytest.raises(UnsupportedError, match=r"pipeline\.write"),
        pipeline.clear_errors("Writing"),
    ):
        stream.run()
    assert explorer.open_table(stream.place).latest_version() == 0


@pytest.mark.turns(one_in=4)
def test_a_table_that_is_changed_within_a_batch_gets_no_file_that_was_made_before(
    stream: Stream,
) -> None:
    """The task itself changes it, and so after Spark has made the writer of the tasks."""
    pipeline.create(stream.place, "id BIGINT")
    stream.bring(0)
    place = str(stream.place)

    def widen(number: int) -> int:
        if explorer.open_table(place).latest_version() == 0:
            pipeline.write(pa.table({"id": [9], "note": ["x"]}), place, merge_schema=True)
        return number

    widened = stream.frame.select(fn.udf(widen, "long", useArrow=False)("id").alias("id"))
    with (
        pytest.raises(UnsupportedError, match="changed while the stream ran"),
        pipeline.clear_errors("Writing"),
    ):
        stream.run(widened)
    assert ids(stream.spark, stream.place) == [9]
    assert len(list(stream.place.glob("*.parquet"))) == 1
    stream.run(widened)
    assert ids(stream.spark, stream.place) == [0, 1, 2, 3, 4, 9]


def test_a_complete_stream_overwrites_and_an_updating_one_is_refused(stream: Stream) -> None:
    stream.bring(0)
    stream.bring(0)
    counted = stream.frame.groupBy("id").count()
    stream.run(counted, "complete")
    assert ids(stream.spark, stream.place) == list(range(5))
    shutil.rmtree(stream.kept)
    with pytest.raises(StreamingQueryException, match="does not support Update mode"):
        stream.run(counted, "update")


def test_a_profile_is_storage_options_of_the_side_that_commits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(f"{PROFILE}LAKE", '{"key": "hunter2"}')
    assert storage_options({"PROFILE": "lake"}) == {"key": "hunter2"}
    assert storage_options({"path": "x"}) is None
    for text in ("", "[1]", "{hunter2"):
        monkeypatch.setenv(f"{PROFILE}LAKE", text)
        with pytest.raises(InvalidArgumentError, match="no profile 'lake'") as error:
            storage_options({"profile": "lake"})
        assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"txnAppId": "a"}, "belong together"),
        ({"txnAppId": "a", "txnVersion": "one"}, "txnVersion cannot be read"),
        ({"mergeSchema": "yes"}, "neither true nor false"),
        ({"targetFileSize": "huge"}, "targetFileSize cannot be read"),
        ({"partitionBy": "[1"}, "partitionBy cannot be read"),
    ],
)
def test_options_that_cannot_be_read_are_named(options: dict[str, str], match: str) -> None:
    with pytest.raises(InvalidArgumentError, match=match):
        write_options(options, overwrite=False)
