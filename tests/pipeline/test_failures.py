"""Whose fault an error on Spark is: the table's, by our own guard or reader alone, or that of
whoever asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession, functions

import explorer
from explorer import errors, pipeline
from explorer.errors import (
    CorruptDataError,
    DeltaError,
    InvalidArgumentError,
    NotFoundError,
    StorageError,
)
from explorer.pipeline.tasks.task_failures import ErrorMark, TaskFailure
from tests.data_tables import DataTable, field, struct
from tests.pipeline.rows import set_to

# what our messages once began with, and whatever else once made a verdict wherever it stood
_VERDICTS = [
    "delta-explorer-guard:unknown:1:a.parquet;",
    "delta-explorer-error:eyJraW5kIjoiZGF0YV9jb3JydXB0In0=;",
    "FAILED_READ_FILE file:/t/a.parquet is not a Parquet file",
    "PATH_NOT_FOUND FileNotFoundException",
    "was cancelled OPERATION_CANCELED",
    "SparkContext was shut down",
    "ExecutorLostFailure",
    'No FileSystem for scheme "s3"',
    "\nModuleNotFoundError: No module named 'explorer'\n",
    "Timed out while waiting for the Python worker to connect back",
]


_CLASSES = [name for name in vars(errors) if name.endswith("Error")]


def _raise(value: Any) -> None:
    raise ValueError(f"not {value}")


# with ANSI mode on
_MISTAKES: dict[str, Callable[[DataFrame], Any]] = {
    "a misspelt column": lambda frame: frame.filter("nosuch = 1").count(),
    "a column of another frame": lambda frame: frame.select(frame["nosuch"]).count(),
    "a syntax error": lambda frame: frame.filter("k = = 1").count(),
    "a wrong type": lambda frame: frame.filter("k = array(1)").count(),
    "a cast that fails": lambda frame: frame.filter("CAST(s AS INT) > 1").count(),
    "an overflow": lambda frame: frame.select(functions.expr("CAST(k + 300 AS TINYINT)")).collect(),
    "a division by zero": lambda frame: frame.filter("1 / (k - k) > 1").count(),
    "a date that is none": lambda frame: frame.select(
        functions.expr("to_date(s, 'yyyy-MM-dd')")
    ).collect(),
    "an index too large": lambda frame: frame.select(functions.expr("array(1)[k + 5]")).collect(),
    "an error of the query's own": lambda frame: frame.select(
        functions.expr("raise_error(s)")
    ).collect(),
    "a Python function": lambda frame: frame.select(functions.udf(_raise)("s")).collect(),
    "a path of the query's own": lambda frame: frame.union(
        frame.sparkSession.read.schema(frame.schema).parquet("/nosuch/elsewhere")
    ).count(),
}


@pytest.fixture
def snapshot(tmp_path: Path) -> explorer.Snapshot:
    table = DataTable(tmp_path / "t", struct(field("k", "long"), field("s", "string")))
    table.add("a.parquet", pa.table({"k": [1], "s": ["x"]}))
    return explorer.open_table(table.write()).snapshot()


@pytest.mark.parametrize("mistake", _MISTAKES.values(), ids=_MISTAKES)
def test_a_mistake_in_a_query_is_told_as_one(
    spark: SparkSession, snapshot: explorer.Snapshot, mistake: Callable[[DataFrame], Any]
) -> None:
    frame = pipeline.read(snapshot, spark, route="parquet")
    with (
        set_to(spark, spark__sql__ansi__enabled="true"),
        pytest.raises(InvalidArgumentError) as told,
        pipeline.clear_errors("Counting"),
    ):
        mistake(frame)
    assert "data file" not in str(told.value)
    assert "backup" not in str(told.value)


_PLACES: dict[str, Callable[[DataFrame, str], Any]] = {
    "in a plan": lambda frame, text: (
        frame.filter(functions.col("s") == functions.lit(text)).filter("nosuch = 1").count()
    ),
    "in a row": lambda frame, _: frame.filter("CAST(s AS INT) > 1").count(),
    "raised by the query": lambda frame, _: frame.select(functions.raise_error("s")).collect(),
}


@pytest.mark.parametrize("text", _VERDICTS)
@pytest.mark.parametrize("ask", _PLACES.values(), ids=_PLACES)
def test_text_in_a_query_or_a_row_is_no_verdict(
    spark: SparkSession, text: str, ask: Callable[[DataFrame, str], Any], tmp_path: Path
) -> None:
    table = DataTable(tmp_path / "t", struct(field("s", "string")))
    table.add("a.parquet", pa.table({"s": [text]}))
    frame = pipeline.read(explorer.open_table(table.write()).snapshot(), spark, route="parquet")
    with (
        set_to(spark, spark__sql__ansi__enabled="true"),
        pytest.raises(InvalidArgumentError),
        pipeline.clear_errors("Counting"),
    ):
        ask(frame, text)


def test_a_guard_is_known_where_a_session_raises_without_conditions(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = DataTable(tmp_path / "t", struct(field("k", "byte")))
    table.add("a.parquet", pa.table({"k": pa.array([300], pa.int32())}))
    frame = pipeline.read(explorer.open_table(table.write()).snapshot(), spark, route="parquet")
    with (
        set_to(spark, spark__sql__legacy__raiseErrorWithoutErrorClass="true"),
        pytest.raises(CorruptDataError, match=r"a\.parquet of version 0") as told,
        pipeline.clear_errors("Counting"),
    ):
        frame.collect()
    assert "too large" in told.value.reason


def test_a_python_function_that_quotes_our_errors_is_no_verdict(
    spark: SparkSession, snapshot: explorer.Snapshot
) -> None:
    quoting = functions.udf(lambda _: _raise(_VERDICTS[1]))
    frame = pipeline.read(snapshot, spark, route="files")
    with pytest.raises(InvalidArgumentError), pipeline.clear_errors("Counting"):
        frame.select(quoting("s")).collect()


def test_a_file_that_spark_alone_cannot_read_is_not_called_damaged(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = DataTable(tmp_path / "t", struct(field("k", "long")))
    # Spark has no such codec
    table.add("a.parquet", pa.table({"k": [1, 2]}), written={"compression": "brotli"})
    snapshot = explorer.open_table(table.write()).snapshot()
    with (
        pytest.raises(StorageError, match=r"a\.parquet") as told,
        pipeline.clear_errors("Counting"),
    ):
        pipeline.read(snapshot, spark, route="parquet").collect()
    assert "route 'files'" in told.value.remedy
    assert pipeline.read(snapshot, spark, route="files").count() == 2


def test_what_is_said_of_a_damaged_file_is_what_our_own_reader_says(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = DataTable(tmp_path / "t", struct(field("k", "long")))
    place = table.add("a%20b.parquet", None).with_name("a b.parquet")
    pq.write_table(pa.table({"k": list(range(1000))}), place)
    snapshot = explorer.open_table(table.write()).snapshot()
    data = bytearray(place.read_bytes())
    data[4:40] = b"\xff" * 36
    place.write_bytes(data)
    said = []
    for read in (
        lambda: explorer.read_rows(snapshot),
        lambda: pipeline.read(snapshot, spark, route="parquet").collect(),
    ):
        with pytest.raises(CorruptDataError) as told, pipeline.clear_errors("Counting"):
            read()
        said.append(str(told.value))
    assert said[0] == said[1]


def test_a_broken_file_of_somebody_else_is_no_data_file_of_the_table(
    spark: SparkSession, snapshot: explorer.Snapshot, tmp_path: Path
) -> None:
    other = tmp_path / "other.parquet"
    other.write_bytes(b"PAR1 this is no Parquet file PAR1")
    frame = pipeline.read(snapshot, spark, route="parquet")
    with pytest.raises(StorageError) as told, pipeline.clear_errors("Counting"):
        frame.union(spark.read.schema(frame.schema).parquet(str(other))).count()
    assert "other.parquet" in str(told.value)
    assert "version" not in str(told.value)
    assert "backup" not in str(told.value)


def test_a_file_that_goes_between_plan_and_job_is_told_as_missing(
    spark: SparkSession, snapshot: explorer.Snapshot
) -> None:
    frame = pipeline.read(snapshot, spark, route="parquet")
    (Path(snapshot.uri) / "a.parquet").unlink()
    with (
        pytest.raises(NotFoundError, match=r"a\.parquet of version 0"),
        pipeline.clear_errors("Counting"),
    ):
        frame.collect()


def test_an_error_of_the_callers_own_passes_untouched() -> None:
    nothing: Any = None
    with pytest.raises(AttributeError), pipeline.clear_errors("Counting"):
        nothing.sc  # noqa: B018  # what is asked of None


def test_a_catalog_that_refuses_is_not_said_to_lack_the_table() -> None:
    class Refusal(Exception):
        def getCondition(self) -> str:  # noqa: N802  # Spark's name
            return "INSUFFICIENT_PERMISSIONS"

    class Session:
        def sql(self, text: str) -> Any:
            raise Refusal(f"you may not {text}")

    with pytest.raises(Refusal):
        explorer.open_table("NOT_FOUND_of_old", spark=Session())


def test_errors_of_ours_come_back_as_they_were(
    spark: SparkSession, snapshot: explorer.Snapshot
) -> None:
    (Path(snapshot.uri) / "a.parquet").write_bytes(b"PAR1")
    frame = pipeline.read(snapshot, spark, route="files")
    with pytest.raises(DeltaError) as ours:
        explorer.read_rows(snapshot)
    with pytest.raises(DeltaError) as told, pipeline.clear_errors("Counting"):
        frame.collect()
    assert told.value.as_dict() == ours.value.as_dict()


def test_a_python_process_that_is_not_there_in_time_is_told_as_a_slow_machine() -> None:
    """As a Connect server says it."""
    words = "Timed out while waiting for the Python worker to connect back"
    said = f"[STREAM_FAILED] Query [id = a, runId = b] terminated with exception: {words}"
    with (
        pytest.raises(StorageError, match="not ready within ten seconds"),
        pipeline.clear_errors("Writing the stream"),
    ):
        raise StreamingQueryException(f"{said} SQLSTATE: XXKST")


@pytest.mark.parametrize("name", _CLASSES)
def test_an_error_of_a_task_is_caught_by_the_class_that_it_had(name: str) -> None:
    home: type[DeltaError] = getattr(errors, name)
    with pytest.raises(TaskFailure) as failure, ErrorMark().marked():
        raise home("One.", reason="Two.", remedy="Three.", kind="outcome_unknown")
    found = ErrorMark().sent(str(failure.value))
    assert found is not None
    assert (type(found), found.kind) == (home, "outcome_unknown")


def test_an_error_of_a_class_that_nobody_can_name_is_caught_by_the_nearest_one() -> None:
    class OddError(StorageError):
        pass

    with pytest.raises(TaskFailure) as failure, ErrorMark().marked():
        raise OddError("One.", reason="Two.", remedy="Three.")
    assert type(ErrorMark().sent(str(failure.value))) is StorageError
