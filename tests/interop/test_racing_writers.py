"""Writers of three kinds that append to one table side by side, beside maintenance and a reader:
no row is lost and none is there twice, and each reader sees all of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError as TheirError

import explorer
from explorer import maintenance, pipeline
from explorer.errors import ConflictError, DeltaError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STATEMENTS = 4
"""Of each writer."""

ROWS = 5
"""Of each statement."""


def rows_of(writer: int, statement: int) -> pa.Table:
    first = (writer * STATEMENTS + statement) * ROWS
    ids = list(range(first, first + ROWS))
    return pa.table({"id": pa.array(ids, pa.int64()), "writer": pa.array([writer] * ROWS)})


def ours(place: Path, rows: pa.Table, spark: SparkSession) -> None:
    pipeline.write(rows, place)


def ours_on_spark(place: Path, rows: pa.Table, spark: SparkSession) -> None:
    pipeline.write(spark.createDataFrame(rows), place)


def theirs(place: Path, rows: pa.Table, spark: SparkSession) -> None:
    for _ in range(50):
        with suppress(TheirError):  # it says that it lost, and wrote nothing
            write_deltalake(str(place), rows, mode="append")
            return
    raise AssertionError("it lost every time")


def the_reference(place: Path, rows: pa.Table, spark: SparkSession) -> None:
    spark.createDataFrame(rows).write.format("delta").mode("append").save(str(place))


WRITERS: tuple[Callable[[Path, pa.Table, SparkSession], None], ...] = (
    ours,
    ours,
    ours,
    ours_on_spark,
    theirs,
    theirs,
    the_reference,
    the_reference,
)


@pytest.fixture
def maintained(tmp_path: Path) -> Iterator[Path]:
    """A table that is compacted, checkpointed and read all the while."""
    place = tmp_path / "orders"
    pipeline.write(rows_of(0, 0).slice(0, 0), place, properties={"delta.checkpointInterval": "5"})
    stop, failures = threading.Event(), []

    def keep() -> None:
        state = tmp_path / "state"
        for number in count():
            if stop.is_set():
                return
            table = explorer.open_table(place)
            try:
                plan = (
                    maintenance.plan_optimize(table)
                    if number % 2
                    else maintenance.plan_checkpoint(table)
                )
                if not plan.refusals:
                    approval = maintenance.Approval(plan.digest, by="keeper", reason="a test")
                    maintenance.execute(plan, approval, table=table, state_dir=state)
                explorer.read_rows(table.snapshot())
            except (ConflictError, AssertionError):
                pass
            except Exception as error:  # noqa: BLE001  # told by the test
                failures.append(error)
                return

    thread = threading.Thread(target=keep)
    thread.start()
    yield place
    stop.set()
    thread.join()
    assert not failures, failures


def test_of_eight_writers_no_row_is_lost_and_none_is_doubled(
    maintained: Path, spark: SparkSession
) -> None:
    def write(number: int) -> None:
        for statement in range(STATEMENTS):
            WRITERS[number](maintained, rows_of(number, statement), spark)

    with ThreadPoolExecutor(len(WRITERS)) as pool:
        list(pool.map(write, range(len(WRITERS))))
    wanted = list(range(len(WRITERS) * STATEMENTS * ROWS))

    def ids(found: Any) -> list[int]:
        return sorted(found.column("id").to_pylist())

    snapshot = explorer.open_table(maintained).snapshot()
    assert ids(explorer.read_rows(snapshot, columns=["id"])) == wanted
    assert ids(DeltaTable(str(maintained)).to_pyarrow_table(columns=["id"])) == wanted
    reference = spark.read.format("delta").load(str(maintained)).select("id").toArrow()
    assert ids(reference) == wanted


def test_a_write_that_loses_to_an_overwrite_of_another_says_so_or_follows(tmp_path: Path) -> None:
    """An append follows an overwrite; an overwrite that met an append takes that away too."""
    place = tmp_path / "orders"
    pipeline.write(rows_of(0, 0), place)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in rows_of(0, 1).to_batches():
            write_deltalake(str(place), rows_of(0, 2), mode="append")
            yield batch

    reader = pa.RecordBatchReader.from_batches(rows_of(0, 1).schema, batches())
    pipeline.write(reader, place, mode="overwrite")
    snapshot = explorer.open_table(place).snapshot()
    found = explorer.read_rows(snapshot, columns=["id"]).column("id").to_pylist()
    assert sorted(found) == rows_of(0, 1).column("id").to_pylist()


def test_a_write_is_a_conflict_where_another_changed_the_columns(tmp_path: Path) -> None:
    place = tmp_path / "orders"
    pipeline.write(rows_of(0, 0), place)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in rows_of(0, 1).to_batches():
            wider = rows_of(0, 2).append_column("note", pa.array(["x"] * ROWS))
            write_deltalake(str(place), wider, mode="append", schema_mode="merge")
            yield batch

    reader = pa.RecordBatchReader.from_batches(rows_of(0, 1).schema, batches())
    with pytest.raises(DeltaError) as error:
        pipeline.write(reader, place)
    assert error.value.kind == "commit_conflict"
    # rows that can be read again are written upon the newer version instead
    assert pipeline.write(rows_of(0, 1), place).version == 2
