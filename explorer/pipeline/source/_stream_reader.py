"""What Spark calls for `spark.readStream.format("delta_explorer")`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import (  # noqa: TID253  # imported where the format is registered
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (  # noqa: TID253  # as above
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType  # noqa: TID253  # as above

from explorer.errors import InvalidArgumentError
from explorer.pipeline.source._stream_limits import Budget
from explorer.pipeline.source._stream_offset import parse_offset
from explorer.pipeline.source._stream_options import StreamOptions
from explorer.pipeline.source._table_stream import TableStream
from explorer.pipeline.source._write_options import place_of, storage_options
from explorer.pipeline.tasks.file_tasks import ReadGroup
from explorer.pipeline.tasks.spark_types import spark_schema
from explorer.pipeline.tasks.task_failures import ErrorMark
from explorer.pipeline.tasks.task_groups import group_files, unpack_files
from explorer.table.table import open_table

_SLOTS: Final = 16
"""Tasks that a batch is cut into, unless it is small."""


class StreamPart(InputPartition):
    """The files of one task, and what reads them: tasks do not open the table."""

    def __init__(self, read: ReadGroup, group: bytes) -> None:
        super().__init__(group)
        self.read = read


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a table batch by batch. One of these plans the batches, for as long as the query
    runs; others, of which Spark makes as many as it likes, read rows and open no table."""

    def __init__(
        self,
        given: Mapping[str, str],
        options: StreamOptions,
        version: int | None,
        schema: StructType,
        mark: ErrorMark,
    ) -> None:
        self._given, self._options = dict(given), options
        self._version, self._schema = version, schema
        self._mark = mark

    def __getstate__(self) -> dict[str, Any]:
        """A table does not travel, nor do credentials."""
        return {name: value for name, value in self.__dict__.items() if name != "_stream"}

    @cached_property
    def _stream(self) -> TableStream:
        table = open_table(place_of(self._given), storage_options(self._given))
        known = table.snapshot(version=self._version)
        stream = TableStream(table=table, known=known, options=self._options)
        if (own := spark_schema(stream.schema)) != self._schema:
            raise InvalidArgumentError(
                "A stream of a table has the table's own columns.",
                reason=f"Asked for is {self._schema.simpleString()[:300]}, and the table has "
                f"{own.simpleString()[:300]}.",
                remedy="Leave out .schema(…), and select or cast what you need from the frame.",
                kind="schema_mismatch",
            )
        return stream

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  # Spark's own
        """Read what is there now, and no more."""
        with self._mark.marked():
            self._stream.stop_here()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  # as above
        """Spark hands one limit back; where both are set, the other one counts as well."""
        files, size = self._options.max_files, self._options.max_bytes
        if files is not None:
            return ReadMaxFiles(files)
        return ReadAllAvailable() if size is None else ReadMaxBytes(size)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802  # as above
        """Where a query begins that has no offset yet."""
        with self._mark.marked():
            return self._stream.begin.as_dict()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802  # as above
        """How far the next batch goes; `start` where there is nothing new."""
        with self._mark.marked():
            is_free = isinstance(limit, ReadAllAvailable)
            budget = Budget(
                files=None if is_free else self._options.max_files,
                size=None if is_free else self._options.max_bytes,
            )
            return self._stream.end_of_batch(parse_offset(start), budget).as_dict()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802  # as above
        """What is shown as the newest in the progress of the query."""
        newest = self._stream.newest
        return None if newest is None else {"version": newest + 1, "files": 0}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The tasks of one batch."""
        with self._mark.marked():
            first, last = parse_offset(start), parse_offset(end)
            groups = group_files(self._stream.files_between(first, last), _SLOTS)
            read = self._stream.reader(first, last)
            return [StreamPart(read, group) for group in groups]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        if not isinstance(partition, StreamPart):
            raise AssertionError("a task reads what was planned for it")
        with self._mark.marked():
            for batch in partition.read(unpack_files(partition.value)):
                if batch.num_rows:
                    yield batch
