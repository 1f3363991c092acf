"""The batches of a stream written through a store that fails, and by a driver that is killed: each
row is there once when the query has been started again.

Spark itself has no part in this: what it asks of a sink is asked here, in the same order.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer import DeltaError, pipeline
from explorer.pipeline.source._stream_writer import StreamWriter, ready_for_stream
from explorer.pipeline.tasks.task_failures import ErrorMark, TaskFailure
from explorer.protocol.schema import StructType, parse_schema
from explorer.storage.ports import WriteStore
from explorer.writing.statements.options import WriteOptions
from tests.faults.fault_sweep import (
    StoreFault,
    check_left_files_are_told,
    faults_of,
    recover,
    unknown_files,
)
from tests.faults.faulty_store import Fault, FaultyStore, KilledStore
from tests.sampling import sample

GIVEN: StructType = parse_schema(
    '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}'
)
BATCHES = [[[0, 1], [2]], [[3], [4, 5]], [[6, 7, 8], []]]
"""The ids of each task of each batch."""
OPTIONS = {
    "append": WriteOptions(),
    "complete": WriteOptions(mode="overwrite"),
    "first": WriteOptions(properties={"delta.checkpointInterval": "2"}, cluster_by=("id",)),
}
MARK = ErrorMark()


class Query:
    """A query with its checkpoint location: how many batches are done in Spark's own notes."""

    def __init__(self, root: Path, options: WriteOptions) -> None:
        self.root, self.options, self.done = root, options, 0
        self.abort_error: DeltaError | TaskFailure | None = None

    def start(self, store: WriteStore) -> StreamWriter:
        """What a driver makes when it starts or restarts the query."""
        # a copy of it, as one travels to the tasks
        return copy(StreamWriter(store, GIVEN, self.options, lambda: "one", MARK))

    def write(self, writer: StreamWriter, number: int) -> list[Any]:
        """What the tasks of a batch tell the driver."""
        return list(self._told(writer, number))

    def _told(self, writer: StreamWriter, number: int) -> Iterator[Any]:
        for ids in BATCHES[number]:
            yield writer.write(iter([pa.record_batch({"id": pa.array(ids, pa.int64())})]))

    def run(self, store: WriteStore) -> None:
        """All batches that are not done, as Spark runs them: where one fails, it gives the batch
        up and the query ends."""
        writer = self.start(store)
        while self.done < len(BATCHES):
            messages: list[Any] = [None] * len(BATCHES[self.done])
            try:
                for task, told in enumerate(self._told(writer, self.done)):
                    messages[task] = told
                writer.commit(messages, self.done)
            except Exception:
                try:
                    writer.abort(messages, self.done)
                except (DeltaError, TaskFailure) as error:
                    self.abort_error = error  # Spark logs it, and tells the first one
                raise
            self.done += 1

    def ids(self) -> list[int]:
        rows = explorer.read_rows(explorer.open_table(self.root).snapshot())
        return sorted(rows.column("id").to_pylist())

    def expected(self) -> list[int]:
        """With `complete` each batch is the whole result."""
        batches = BATCHES[-1:] if self.options.mode == "overwrite" else BATCHES
        return sorted(number for batch in batches for task in batch for number in task)


@pytest.fixture(params=OPTIONS)
def query(request: pytest.FixtureRequest, tmp_path: Path) -> Query:
    return fresh(tmp_path, request.param)


def fresh(scratch: Path, name: str) -> Query:
    root = scratch / "t"
    shutil.rmtree(root, ignore_errors=True)
    if name == "first":
        root.mkdir()
        return Query(root, OPTIONS[name])
    pipeline.create(root, f'{{"type":"struct","fields":[{FIELD}]}}')
    return Query(root, OPTIONS[name])


FIELD = '{"name":"id","type":"long","nullable":true,"metadata":{}}'


def finish(query: Query) -> None:
    """The query is started again upon a sound store, until Spark has noted every batch."""
    query.run(FaultyStore(str(query.root)))
    assert query.ids() == query.expected()


def operations_of(query: Query) -> list[str]:
    store = FaultyStore(str(query.root))
    query.run(store)
    assert query.ids() == query.expected()
    assert unknown_files(query.root) == set()
    return store.operations


def test_a_driver_that_is_killed_before_any_step_of_a_commit_leaves_each_row_once(
    query: Query, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    name = request.node.callspec.params["query"]
    count = len(operations_of(query))
    for number in sample(range(count), 24, request.node.name):
        again = fresh(tmp_path, name)
        with pytest.raises(KilledStore.Killed):
            again.run(KilledStore(str(again.root), number))
        finish(again)


def test_a_store_that_fails_at_any_operation_leaves_each_row_once(
    query: Query, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    name = request.node.callspec.params["query"]
    failed = 0
    for fault in faults_of(operations_of(query), 24, request.node.name):
        again = fresh(tmp_path, name)
        store = fault.store(again.root)
        failure: DeltaError | TaskFailure | None = None
        try:
            again.run(store)
        except (DeltaError, TaskFailure) as error:
            failure = error
            failed += 1
        recover(store)  # what was under way when the query ended takes effect
        check_what_is_left(again, failure, fault)
        finish(again)
    assert failed


def check_what_is_left(
    query: Query, failure: DeltaError | TaskFailure | None, fault: StoreFault
) -> None:
    """The batch that failed left no file, but for one that its error names, or that nobody could
    delete or list."""
    if fault.down:
        return
    assert query.abort_error is None, fault
    if failure is None:
        assert unknown_files(query.root) == set()
        return
    error = MARK.sent(str(failure)) if isinstance(failure, TaskFailure) else failure
    assert error is not None
    if error.kind != "outcome_unknown":
        check_left_files_are_told(query.root, error)


def test_what_a_killed_driver_commits_too_late_is_skipped(tmp_path: Path) -> None:
    """A driver that was taken for dead, and another one with the same checkpoint location."""
    query = fresh(tmp_path, "append")
    store = FaultyStore(str(query.root))
    zombie, heir = query.start(store), query.start(store)
    told = query.write(zombie, 0)
    heir.commit(query.write(heir, 0), 0)
    heir.commit(query.write(heir, 1), 1)
    zombie.commit(told, 0)
    zombie.commit(query.write(zombie, 1), 1)
    assert query.ids() == [0, 1, 2, 3, 4, 5]
    assert explorer.open_table(query.root).latest_version() == 2
    assert unknown_files(query.root) == set()


def test_two_drivers_that_commit_one_batch_at_once_leave_it_once(tmp_path: Path) -> None:
    """The zombie has looked for its batch, and not found it, when the other one commits it."""
    query = fresh(tmp_path, "append")
    heir_store = FaultyStore(str(query.root))
    heir = query.start(heir_store)

    class Slow(FaultyStore):
        raced = False

        def _begin(self, what: str) -> Fault | None:
            if what.startswith("put") and not self.raced:
                self.raced = True
                heir.commit(query.write(heir, 0), 0)
            return super()._begin(what)

    slow = Slow(str(query.root))
    zombie = query.start(slow)
    zombie.commit(query.write(zombie, 0), 0)
    assert slow.raced
    assert query.ids() == [0, 1, 2]
    assert unknown_files(query.root) == set()


def test_after_an_unknown_outcome_spark_gives_the_batch_up_and_nothing_is_deleted(
    tmp_path: Path,
) -> None:
    query = fresh(tmp_path, "append")
    puts = [number for number, what in enumerate(operations_of(query)) if what.startswith("put")]
    query = fresh(tmp_path, "append")
    store = FaultyStore(str(query.root), puts[0], when="after", down=True)
    with pytest.raises(TaskFailure) as failure:
        query.run(store)
    error = MARK.sent(str(failure.value))
    assert error is not None
    assert error.kind == "outcome_unknown"
    assert query.ids() == [0, 1, 2]
    finish(query)
    assert unknown_files(query.root) == set()


def test_a_batch_whose_tasks_failed_leaves_no_file(tmp_path: Path) -> None:
    query = fresh(tmp_path, "append")
    writer = query.start(FaultyStore(str(query.root)))
    messages = query.write(writer, 0)
    writer.abort([*messages, None], 0)
    assert not list(query.root.glob("*.parquet"))
    assert query.ids() == []


def test_a_table_that_changed_while_the_query_ran_stops_it_and_is_written_after_a_start(
    tmp_path: Path,
) -> None:
    query = fresh(tmp_path, "append")
    store = FaultyStore(str(query.root))
    writer = query.start(store)
    pipeline.write(pa.table({"id": [9], "note": ["x"]}), query.root, merge_schema=True)
    with pytest.raises(TaskFailure, match="The table was changed while the stream ran"):
        writer.commit(query.write(writer, 0), 0)
    assert unknown_files(query.root) == set()
    query.run(store)
    assert query.ids() == [*range(9), 9]


def test_a_complete_stream_overwrites_the_schema_together_with_the_rows(tmp_path: Path) -> None:
    root = tmp_path / "t"
    pipeline.write(pa.table({"id": ["a"], "other": [1]}), root)
    options = WriteOptions(mode="overwrite", overwrite_schema=True)
    query = Query(root, options)
    store = FaultyStore(str(root))
    writer = query.start(store)
    assert explorer.open_table(root).latest_version() == 0  # nothing is lost before there are rows
    writer.commit(query.write(writer, 0), 0)
    assert query.ids() == [0, 1, 2]
    query.done = 1
    query.run(store)
    assert query.ids() == query.expected()
    assert unknown_files(query.root) == set()
    mapped = tmp_path / "mapped"
    properties = {"delta.columnMapping.mode": "name"}
    pipeline.write(pa.table({"id": ["a"]}), mapped, properties=properties)
    with pytest.raises(DeltaError, match="cannot overwrite the schema of this table"):
        ready_for_stream(FaultyStore(str(mapped)), options, GIVEN)
