"""A table read as a stream without Spark: what its engine asks of a source and of a sink, in the
same order, with its notes in dictionaries instead of files.

Whatever is given to the engine as `step` is called before each thing that it does, and may raise.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StructType

import explorer
from explorer import DeltaError
from explorer.pipeline.source._data_source import source_for
from explorer.pipeline.source._stream_reader import StreamReader
from explorer.pipeline.tasks.task_failures import ErrorMark, TaskFailure
from tests.change_feeds import Feed
from tests.tables import add

Row = tuple[Any, ...]
MARK = ErrorMark()


class Killed(BaseException):
    """The query's process is gone."""


def open_reader(place: Path, **options: Any) -> StreamReader:
    """The reader of a query as it is loaded now, on its way from one process to another."""
    given = {"path": str(place)} | {name: str(value) for name, value in options.items()}
    source = source_for(MARK)(CaseInsensitiveDict(given))
    schema = source.schema()
    assert isinstance(schema, StructType)
    reader = source.streamReader(schema)
    # Spark makes another one for its tasks
    return cast(StreamReader, pickle.loads(pickle.dumps(reader)))


def own_error(failure: TaskFailure) -> explorer.DeltaError:
    """The error of ours that a source raised."""
    found = MARK.sent(str(failure))
    assert found is not None
    return found


@dataclass
class Engine:
    """What Spark keeps of one query: the ends of its batches, and which of them are done. `sink`
    has the rows that were handed on for each batch."""

    place: Path
    options: dict[str, Any] = field(default_factory=dict)
    offsets: list[str] = field(default_factory=list)
    done: int = 0
    sink: dict[int, list[Row]] = field(default_factory=dict)
    step: Callable[[str], None] = lambda _: None

    def run(self, *, once: bool = False) -> list[list[Row]]:
        """Start the query, and read what is there; the rows of the batches of this run."""
        before = dict(self.sink)
        try:
            self._run(open_reader(self.place, **self.options), once=once)
        except TaskFailure as failure:
            raise own_error(failure) from failure
        return [rows for number, rows in sorted(self.sink.items()) if number not in before]

    def rows(self) -> list[Row]:
        """All rows that the sink has, sorted."""
        return sorted((row for rows in self.sink.values() for row in rows), key=repr)

    def _run(self, reader: StreamReader, *, once: bool) -> None:
        if not once:
            self.step("prepare")
            reader.prepareForTriggerAvailableNow()
        limit = ReadAllAvailable() if once else reader.getDefaultReadLimit()
        if len(self.offsets) > self.done:
            self._batch(reader)
        while True:
            start = self._start(reader)
            self.step("latest")
            end = json.dumps(reader.latestOffset(start, limit))
            if end == json.dumps(start):
                return
            self.step("note the offset")
            self.offsets.append(end)
            if self.done:
                reader.commit(start)
            self._batch(reader)

    def _start(self, reader: StreamReader) -> dict[str, Any]:
        self.step("start")
        if not self.done:
            return cast(dict[str, Any], json.loads(json.dumps(reader.initialOffset())))
        return cast(dict[str, Any], json.loads(self.offsets[self.done - 1]))

    def _batch(self, reader: StreamReader) -> None:
        start, end = self._start(reader), json.loads(self.offsets[self.done])
        self.step("plan")
        parts = reader.partitions(start, end)
        rows: list[Row] = []
        for part in parts:
            self.step("read")
            sent = pickle.loads(pickle.dumps(part))
            for batch in pickle.loads(pickle.dumps(reader)).read(sent):
                rows += [tuple(row.values()) for row in batch.to_pylist()]
        self.step("write")
        # a sink that knows batches by their number keeps the first one
        kept = self.sink.setdefault(self.done, rows)
        assert sorted(kept, key=repr) == sorted(rows, key=repr), "a batch changed its rows"
        self.step("note the commit")
        self.done += 1


def three_files(root: Path) -> Feed:
    """A table whose version 1 adds the file a, 2 the files b and c."""
    feed = Feed(root)
    for name, first in {"a": 0, "b": 10, "c": 20}.items():
        feed.file(name, id=[first, first + 1])
    feed.commit(add("a"))
    feed.commit(add("c"), add("b"))
    return feed


def engine(feed: Feed, **options: Any) -> Engine:
    return Engine(feed.folder.root, options)


def ids(batches: list[list[Any]]) -> list[list[int]]:
    return [sorted(row[0] for row in rows) for rows in batches]


def told(query: Engine) -> DeltaError:
    with pytest.raises(DeltaError) as error:
        query.run()
    return error.value
