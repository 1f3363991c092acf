"""Delta tables as a data source of Spark, made of its Python Data Source API.

Imported where it is registered: its classes are made of pyspark's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import (  # noqa: TID253  # see above
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
)
from pyspark.sql.types import StructType  # noqa: TID253  # as above

from explorer.errors import InvalidArgumentError
from explorer.pipeline.source._batch_writer import BatchWriter
from explorer.pipeline.source._stream_options import stream_options
from explorer.pipeline.source._stream_reader import StreamReader
from explorer.pipeline.source._stream_writer import StreamWriter, query_id
from explorer.pipeline.source._write_options import place_of, storage_options, write_options
from explorer.pipeline.tasks.change_tasks import ReadChanges, build_change_tasks, spark_feed_schema
from explorer.pipeline.tasks.file_tasks import NUM_RECORDS, ReadFiles, ReadGroup
from explorer.pipeline.tasks.spark_types import spark_schema
from explorer.pipeline.tasks.task_failures import ErrorMark
from explorer.pipeline.tasks.task_groups import group_files, unpack_files
from explorer.pipeline.writing.places import open_place
from explorer.protocol.schema import parse_schema
from explorer.rows.changes.feed import ChangeFeed, plan_feed
from explorer.rows.data_file.data_file import FILE_COLUMNS
from explorer.rows.layout import layout_of
from explorer.rows.request import RowRequest, build_request
from explorer.storage.ports import WriteStore
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table, open_table
from explorer.writing.statements.begin import begin_write
from explorer.writing.statements.row_statement import open_target

FORMAT: Final = "delta_explorer"
_HELD: Final = ("_table", "_asked", "_request")
_SLOTS: Final = 16
"""Tasks that a table is cut into, unless it is small: how many run at once is not told here."""


class DeltaSource(DataSource):
    """`spark.read.format("delta_explorer").load(path)`.

    Options: `versionAsOf`, `timestampAsOf`, or `readChangeFeed` with `startingVersion` and,
    if wanted, `endingVersion`. All columns are read whatever is selected: `pipeline.read`
    reads fewer. `spark.readStream` has the options of `_stream_options`.
    """

    mark: ErrorMark
    """Of the process that registered the format: `source_for` sets it."""

    speculates: bool = False
    """Whether the session runs slow tasks twice at once: `source_for` sets it."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return FORMAT

    def __getstate__(self) -> dict[str, Any]:
        """Spark asks for the schema in one process and for the groups in another; both must
        speak of one version, and a table does not travel."""
        kept = {name: self.__dict__[name] for name in self.__dict__ if name not in _HELD}
        found = self.__dict__.get("_asked")
        if found is not None:
            kept["_version"] = found.version
        return kept

    @cached_property
    def _table(self) -> Table:
        return open_table(place_of(self.options), storage_options(self.options))

    @cached_property
    def _asked(self) -> Snapshot:
        """The version whose columns the rows have; of changes, the last one."""
        options: Mapping[str, str] = self.options
        if (seen := self.__dict__.get("_version")) is not None:
            return self._table.snapshot(version=seen)
        name = "endingVersion" if self._is_feed else "versionAsOf"
        version = options.get(name)
        return self._table.snapshot(
            version=None if version is None else _number(version, name),
            timestamp=None if self._is_feed else options.get("timestampAsOf"),
        )

    @property
    def _is_feed(self) -> bool:
        return str(self.options.get("readChangeFeed", "false")).lower() == "true"

    @cached_property
    def _request(self) -> RowRequest:
        return build_request(layout_of(self._asked))

    def schema(self) -> StructType:
        """The columns; no data file is opened."""
        with self.mark.marked():
            rows = spark_feed_schema(self._request) if self._is_feed else self._request.schema
            return spark_schema(rows)

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002  # it is ours
        """What reads the table's groups of files."""
        with self.mark.marked():
            asked, request = self._asked, self._request
            if self._is_feed:
                feed = _feed(self._table, self.options, asked.version)
                tasks = build_change_tasks(feed.commit(item) for item in feed.range.versions)
                changes = ReadChanges(
                    store=asked.store, request=feed.request, former=feed.former_layouts
                )
                return DeltaReader(group_files(tasks, _SLOTS), changes, self.mark)
            groups = group_files(asked.files([*FILE_COLUMNS, NUM_RECORDS]), _SLOTS)
            files = ReadFiles(store=asked.store, request=request)
            return DeltaReader(groups, files, self.mark)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  # Spark's own
        """What reads the table batch by batch."""
        with self.mark.marked():
            options = stream_options(self.options)
            version = self._asked.version if "_asked" in self.__dict__ else None
            seen = self.__dict__.get("_version", version)
            return StreamReader(self.options, options, seen, schema, self.mark)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001  # Spark's own
        """What writes a frame: `mode("append")` or `mode("overwrite")`."""
        with self.mark.marked():
            options = write_options(self.options, overwrite=overwrite)
            given = parse_schema(schema.json())
            statement = begin_write(open_target(self._store()), options, given)
            return BatchWriter(statement, self.mark, speculates=self.speculates)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: FBT001, N802  # Spark's own
        """What writes the batches of a stream; `complete` overwrites by each."""
        with self.mark.marked():
            options = write_options(self.options, overwrite=overwrite)
            given, kept = parse_schema(schema.json()), dict(self.options)
            return StreamWriter(self._store(), given, options, lambda: query_id(kept), self.mark)

    def _store(self) -> WriteStore:
        return open_place(place_of(self.options), storage_options(self.options))


class DeltaReader(DataSourceReader):
    """Reads groups of files, one a partition."""

    def __init__(self, groups: tuple[bytes, ...], read: ReadGroup, mark: ErrorMark) -> None:
        self._groups = groups
        self._read = read
        self._mark = mark

    def partitions(self) -> list[InputPartition]:
        """The groups."""
        return [InputPartition(group) for group in self._groups]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one group."""
        with self._mark.marked():
            for batch in self._read(unpack_files(partition.value)):
                if batch.num_rows:
                    yield batch


def source_for(sender: ErrorMark, *, twice: bool = False) -> type[DataSource]:
    """The format, whose errors carry the mark of `sender`; `twice` says whether the session
    speculates. The class is one of this function, so that it travels to where Spark makes use of it
    together with these."""

    class Marked(DeltaSource):
        mark = sender
        speculates = twice

    return Marked


def _feed(table: Table, options: Mapping[str, str], end: int) -> ChangeFeed:
    first = options.get("startingVersion")
    if first is None:
        raise InvalidArgumentError(
            "The changes to read are not named.",
            reason="readChangeFeed needs the version from which on they are wanted.",
            remedy='Add .option("startingVersion", 0).',
        )
    return plan_feed(table, _number(first, "startingVersion"), end)


def _number(text: Any, name: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise InvalidArgumentError(
            f"{str(text)[:40]!r} is not a valid version.",
            reason=f"{name} is a whole number.",
            remedy="Give a number such as 12.",
        ) from error
