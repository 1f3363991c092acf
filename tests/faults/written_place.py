"""Statements that write rows through a store, by each door that needs no JVM, and what must hold of
the table afterwards."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

import explorer
from explorer import pipeline
from explorer.errors import DeltaError, NotFoundError
from explorer.pipeline.source._batch_writer import BatchWriter
from explorer.pipeline.source._stream_writer import StreamWriter
from explorer.pipeline.tasks.task_failures import ErrorMark, TaskFailure
from explorer.pipeline.writing.given_data import rows_given
from explorer.pipeline.writing.write import write_to
from explorer.storage.ports import WriteStore
from explorer.writing.statements.begin import begin_write
from explorer.writing.statements.options import WriteOptions, WriteResult
from explorer.writing.statements.row_statement import open_target
from tests.faults.faulty_store import FaultyStore

OLD = pa.table({"id": list(range(6)), "land": ["DE", "FR"] * 3})
NEW = pa.table({"id": [10, 11, 12], "land": ["DE", "IT", "IT"]})
ONCE = ("nightly load", 1)


@dataclass(frozen=True)
class Statement:
    """A write, and the ids that the table has afterwards."""

    options: WriteOptions
    after: tuple[int, ...]
    begins: bool = True


STATEMENTS = {
    "append": Statement(WriteOptions(transaction=ONCE), (*range(6), 10, 11, 12)),
    "overwrite": Statement(WriteOptions(mode="overwrite", transaction=ONCE), (10, 11, 12)),
    "dynamic": Statement(
        WriteOptions(mode="overwrite", partition_overwrite="dynamic", transaction=ONCE),
        (1, 3, 5, 10, 11, 12),
    ),
    "first": Statement(WriteOptions(transaction=ONCE), (10, 11, 12), begins=False),
    "checkpointed": Statement(WriteOptions(transaction=ONCE), (*range(6), 10, 11, 12)),
}


Door = Callable[[WriteStore, WriteOptions], WriteResult]


def here(store: WriteStore, options: WriteOptions) -> WriteResult:
    """`pipeline.write` in this process."""
    return write_to(store, rows_given(NEW), options)


def by_format(store: WriteStore, options: WriteOptions) -> WriteResult:
    """What Spark calls for `df.write.format(…)`: a task, the commit, and `abort` where either
    fails."""
    with _as_spark_does():
        statement = begin_write(open_target(store), options, rows_given(NEW).schema)
        writer = BatchWriter(statement, ErrorMark())
        _call(writer.write, writer.commit, writer.abort)
    return WriteResult(version=0, operation="WRITE")


def by_stream(store: WriteStore, options: WriteOptions) -> WriteResult:
    """What Spark calls for `df.writeStream.format(…)`: the batch 0 of always the same query."""
    given = rows_given(NEW).schema
    with _as_spark_does():
        # a copy of it, as one travels to the tasks
        writer = copy(StreamWriter(store, given, options, lambda: "query", ErrorMark()))
        _call(
            writer.write,
            lambda messages: writer.commit(messages, 0),
            lambda messages: writer.abort(messages, 0),
        )
    return WriteResult(version=0, operation="WRITE")


DOORS: Final[dict[str, Door]] = {"here": here, "format": by_format, "stream": by_stream}


@contextmanager
def _as_spark_does() -> Iterator[None]:
    """An error reaches the driver as text."""
    try:
        yield
    except TaskFailure as failure:
        error = ErrorMark().sent(str(failure))
        assert error is not None
        raise error from failure


def _call(write: Any, commit: Any, abort: Any) -> None:
    messages: list[Any] = [None]
    try:
        messages = [write(iter(NEW.to_batches(max_chunksize=2)))]
        commit(messages)
    except (DeltaError, TaskFailure):
        abort(messages)
        raise


class Place:
    """A table that is put back to what it was before each try."""

    def __init__(self, scratch: Path, name: str, door: str = "here") -> None:
        self.statement, self._door = STATEMENTS[name], DOORS[door]
        self.root, self._kept = scratch / "orders", scratch / "kept"
        if self.statement.begins:
            pipeline.write(OLD, self._kept, partition_by="land")
            if name == "checkpointed":  # the next version is one that gets a checkpoint
                for _ in range(9):
                    pipeline.write(OLD.slice(0, 0), self._kept)
        else:
            self._kept.mkdir()
        self.before = tuple(range(6)) if self.statement.begins else ()
        self.after = self.statement.after
        self.fresh()

    def fresh(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self._kept, self.root)

    def run(self, store: FaultyStore) -> WriteResult:
        return self._door(store, self.statement.options)

    def rows(self) -> tuple[int, ...]:
        """The ids of the newest version, all of whose files are read; none where there is no
        table."""
        try:
            snapshot = explorer.open_table(self.root).snapshot()
        except NotFoundError:
            return ()
        rows = explorer.read_rows(snapshot, columns=["id"])
        return tuple(sorted(rows.column("id").to_pylist()))
