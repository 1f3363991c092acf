"""Progress of jobs, and their end on request."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql import SparkSession

import explorer
from explorer import pipeline
from explorer.errors import CancelledError
from explorer.progress import Cancel, Progress
from explorer.storage.local import LocalStore
from tests.change_feeds import Feed
from tests.data_tables import DataTable, field, struct
from tests.tables import add, remove

_SLOW = 60


@pytest.fixture
def snapshot(tmp_path: Path) -> explorer.Snapshot:
    table = DataTable(tmp_path / "t", struct(field("id", "long")))
    for at in range(4):
        table.add(f"{at}.parquet", pa.table({"id": [at]}), size=2**30)
    return explorer.open_table(table.write()).snapshot()


def slowly(spark: SparkSession) -> None:
    """A job that takes a minute, in Python where a worker has to be stopped."""

    def sleep(batches):  # type: ignore[no-untyped-def]  # as Spark calls it
        for batch in batches:
            time.sleep(_SLOW)
            yield batch

    spark.range(0, 4, 1, 4).mapInArrow(sleep, "id bigint").collect()


class SlowStore(LocalStore):
    """A local folder whose data files take a minute to open for a task."""

    def open_input(self, path: str) -> pa.NativeFile:
        """The file, after a minute; whoever plans looks at its footer at once."""
        if TaskContext.get() is not None and not path.startswith("_delta_log"):
            time.sleep(_SLOW)
        return super().open_input(path)


class ClosedStore(LocalStore):
    """A local folder whose data files open when somebody lets them."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.asked, self.gate = threading.Event(), threading.Event()

    def open_input(self, path: str) -> pa.NativeFile:
        """The file, once the gate is open."""
        if not path.startswith("_delta_log"):
            self.asked.set()
            self.gate.wait(_SLOW)
        return super().open_input(path)


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> explorer.Table:
    """Two versions of two files each, in a store that is slow; with a change feed."""
    feed = Feed(tmp_path_factory.mktemp("slow") / "t")
    for name in "abc":
        feed.file(name, id=[1, 2])
    stats = {"stats": '{"numRecords":2}'}
    feed.commit(add("a", **stats), add("b", **stats))
    feed.commit(remove("a"), add("c", **stats))
    return explorer.Table(SlowStore(str(feed.folder.root)))


Call = Callable[[explorer.Table, SparkSession, Cancel], Any]


def _read(table: explorer.Table, spark: SparkSession, cancel: Cancel) -> None:
    with pipeline.watching(spark, cancel=cancel):
        pipeline.read(table.snapshot(), spark, route="files").collect()


def _changes(table: explorer.Table, spark: SparkSession, cancel: Cancel) -> None:
    with pipeline.watching(spark, cancel=cancel):
        pipeline.read_changes(table, 1, spark=spark).collect()


_CALLS: dict[str, Call] = {
    "read": _read,
    "read_changes": _changes,
    "diff_rows": lambda table, spark, cancel: pipeline.diff_rows(
        table.snapshot(version=1), table.snapshot(), ["id"], spark, cancel=cancel
    ),
    "profile": lambda table, spark, cancel: pipeline.profile(
        table.snapshot(), ["id"], spark, cancel=cancel
    ),
}


def running(spark: SparkSession) -> list[int]:
    return list(spark.sparkContext.statusTracker().getActiveJobsIds())


def test_progress_reaches_the_number_of_tasks(
    spark: SparkSession, snapshot: explorer.Snapshot
) -> None:
    seen: list[Progress] = []
    with pipeline.watching(spark, progress=seen.append, label="Counting"):
        assert pipeline.read(snapshot, spark, route="files").count() == 4
    assert seen[-1].done == seen[-1].total
    assert {report.label for report in seen} == {"Counting"}
    assert all(report.done <= (report.total or 0) for report in seen)


def test_a_cancel_stops_the_job_within_two_seconds(spark: SparkSession) -> None:
    cancel = Cancel()

    def press() -> None:
        deadline = time.monotonic() + 30
        while not running(spark) and time.monotonic() < deadline:
            time.sleep(0.05)
        pressed.append(time.monotonic())
        cancel.cancel()

    pressed: list[float] = []
    thread = threading.Thread(target=press)
    thread.start()
    with pytest.raises(CancelledError), pipeline.watching(spark, cancel=cancel):
        slowly(spark)
    stopped = time.monotonic()
    thread.join()
    assert stopped - pressed[0] < 2
    assert running(spark) == []


@pytest.mark.parametrize("call", _CALLS.values(), ids=_CALLS)
def test_each_call_is_stopped_at_its_files(
    spark: SparkSession, slow: explorer.Table, call: Call
) -> None:
    cancel, pressed = Cancel(), list[float]()

    def press() -> None:
        deadline = time.monotonic() + 60
        while not running(spark) and time.monotonic() < deadline:
            time.sleep(0.05)
        pressed.append(time.monotonic())
        cancel.cancel()

    thread = threading.Thread(target=press)
    thread.start()
    with pytest.raises(CancelledError):
        call(slow, spark, cancel)
    assert time.monotonic() - pressed[0] < _SLOW / 2  # long before the first file was open
    thread.join()
    assert running(spark) == []


def test_a_cancel_that_came_before_starts_no_job(
    spark: SparkSession, snapshot: explorer.Snapshot
) -> None:
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(CancelledError):
        pipeline.profile(snapshot, spark=spark, cancel=cancel)
    with pytest.raises(CancelledError), pipeline.watching(spark, cancel=cancel):
        pytest.fail("the block was entered")


def test_the_jobs_of_the_caller_keep_their_group(spark: SparkSession) -> None:
    context = spark.sparkContext
    context.setJobGroup("of-the-caller", "what they do")
    try:
        with pipeline.watching(spark, cancel=Cancel()):
            spark.range(2).count()
        assert context.getLocalProperty("spark.jobGroup.id") == "of-the-caller"
        assert context.getLocalProperty("spark.job.description") == "what they do"
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
        context.setLocalProperty("spark.job.description", None)


def test_diff_and_profile_report_their_tasks(
    spark: SparkSession, snapshot: explorer.Snapshot
) -> None:
    seen: list[Progress] = []
    pipeline.profile(snapshot, ["id"], spark, progress=seen.append)
    assert seen
    assert seen[-1].done == seen[-1].total


def _watched_read(snapshot: explorer.Snapshot, spark: SparkSession, cancel: Cancel) -> None:
    with pipeline.watching(spark, cancel=cancel):
        pipeline.read(snapshot, spark)


_LOOKS: dict[str, Callable[[explorer.Snapshot, SparkSession, Cancel], object]] = {
    "profile": lambda snapshot, spark, cancel: pipeline.profile(
        snapshot, ["id"], spark, cancel=cancel
    ),
    "read": _watched_read,
}


@pytest.mark.parametrize("name", _LOOKS)
def test_a_look_at_footers_before_the_job_is_stopped(
    name: str, spark: SparkSession, slow: explorer.Table
) -> None:
    store, cancel = ClosedStore(slow.uri), Cancel()
    snapshot = explorer.Table(store).snapshot()
    stopper = threading.Thread(target=lambda: store.asked.wait(_SLOW) and cancel.cancel())
    stopper.start()
    began = time.monotonic()
    try:
        with pytest.raises(CancelledError):
            _LOOKS[name](snapshot, spark, cancel)
        assert store.asked.is_set()
        assert time.monotonic() - began < _SLOW / 2
    finally:
        store.gate.set()
        stopper.join()
