"""What Spark calls for `df.writeStream.format("delta_explorer")`: each batch once
(spec: Transaction Identifiers)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Final
from uuid import uuid4, uuid5

import orjson
import pyarrow as pa
from pyspark.sql.datasource import (  # noqa: TID253  # imported where the format is registered
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from explorer.errors import DeltaError, InvalidArgumentError, UnsupportedError
from explorer.pipeline.source._batch_writer import (
    Told,
    WriteByTask,
    abandon,
    build_task,
    check_tasks,
    mark_of_table,
    no_single_rows,
    remove_other_attempts,
    removing_uncommitted,
    written_of,
)
from explorer.pipeline.source._write_options import given_options, place_of, storage_options
from explorer.pipeline.tasks.attempts import batch_number
from explorer.pipeline.tasks.task_failures import ErrorMark
from explorer.protocol.features.column_mapping import column_mapping_mode
from explorer.protocol.schema import StructType
from explorer.storage.location import canonical_place, parse_location
from explorer.storage.open import open_read_store
from explorer.storage.ports import WriteStore
from explorer.writing.files.leftovers import remove_files
from explorer.writing.files.row_files import WRITTEN_ROWS, names_of
from explorer.writing.statements.begin import begin_write
from explorer.writing.statements.options import WriteOptions, WriteResult
from explorer.writing.statements.row_statement import RowStatement, Target, open_target

APPLICATION: Final = "delta-explorer-stream-"
"""What the application id of a stream begins with; the id of the query follows."""

_OPERATION: Final = "STREAMING UPDATE"


def ready_for_stream(store: WriteStore, options: WriteOptions, given: StructType) -> RowStatement:
    """The statement of a stream's batches, upon a table that is there and has their columns: it is
    created, or gets new columns, by a commit without rows before the first batch. A schema that
    is overwritten comes with the first batch."""
    # its batches have transactions of their own
    options = replace(options, transaction=None)
    target = open_target(store)
    if target.snapshot is not None:
        options = of_batches(options)
    statement = _begun(target, options, given)
    # no version is made for a query that does not begin
    check_tasks(statement)
    if statement.replaces_rows_later:
        raise no_single_rows()
    if not statement.changes:
        return statement
    if target.snapshot is not None and options.overwrite_schema:
        # other columns may come only in the commit that removes every file: the first batch's
        _check_repeatable(statement)
        return statement
    found = replace(statement, options=replace(options, mode="append")).commit(
        WRITTEN_ROWS.empty_table()
    )
    if not isinstance(found, WriteResult):
        raise found.as_error()
    return _begun(open_target(store), of_batches(options), given)


def _check_repeatable(statement: RowStatement) -> None:
    """Files of the first batch are made before the commit that brings its columns."""
    mode = column_mapping_mode(statement.protocol, statement.metadata.configuration)
    if mode != "none":
        raise UnsupportedError(
            "A stream cannot overwrite the schema of this table.",
            reason="Its columns are mapped, and new ones get names in the files that only their "
            "commit knows.",
            remedy="Overwrite the table once by pipeline.write with overwrite_schema=True, and "
            "start the query without overwriteSchema.",
        )


def of_batches(options: WriteOptions) -> WriteOptions:
    """The options of a stream without those that describe a table which it creates: it is started
    again with the same ones, and the table is there then."""
    return replace(options, properties={}, cluster_by=())


def _begun(target: Target, options: WriteOptions, given: StructType) -> RowStatement:
    statement = begin_write(target, options, given)
    if isinstance(statement, WriteResult):
        raise AssertionError("a stream has no mode in which nothing is written")
    return statement


def query_id(options: Mapping[str, str]) -> str:
    """The id of a streaming query, which it keeps when it is started again: from the file
    `metadata` of its checkpoint location. A batch's number alone does not tell whose it is.

    Raises `InvalidArgumentError` where this process cannot read it.
    """
    place = given_options(options).get("checkpointlocation")
    if place is None:
        raise _no_query_id(
            "Spark was told of it by a setting alone, and does not say it to the sink."
        )
    try:
        store = open_read_store(place, _options_of_checkpoint(place, options))
        found = orjson.loads(store.read("metadata", limit=2**16).splitlines()[-1])["id"]
    except DeltaError as error:
        raise _no_query_id(f"{error.problem} {error.reason}") from error
    except (IndexError, KeyError, TypeError, orjson.JSONDecodeError):
        found = None
    if not isinstance(found, str):
        raise _no_query_id(f"{parse_location(place).shown[:200]}/metadata holds no id.")
    return found


def _options_of_checkpoint(place: str, options: Mapping[str, str]) -> dict[str, Any] | None:
    """The storage options of the table where the checkpoint location is in the same store."""
    both = (place, place_of(options))
    schemes = {canonical_place(parse_location(each)).partition("://")[0] for each in both}
    return storage_options(options) if len(schemes) == 1 else None


def _no_query_id(reason: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        "The checkpoint location of the stream cannot be read.",
        reason=f"{reason} The driver's Python looks there for the id of the query, without which "
        "it cannot tell whether a batch was written before.",
        remedy="Give .option('checkpointLocation', …) a place that the driver's Python reads "
        "without the settings of Spark and Hadoop, such as a folder or an fsspec URL.",
    )


class StreamWriter(DataSourceStreamArrowWriter):
    """Writes the batches of one query, each in a commit of its own that names query and batch.

    Spark makes one for the tasks of each batch, which travels to them, and another one for its
    commit or abort. Only the former gets the table ready, or fails where it does not take the
    rows: the latter has files to remove then.
    """

    def __init__(
        self,
        store: WriteStore,
        given: StructType,
        options: WriteOptions,
        query: Callable[[], str],
        mark: ErrorMark,
    ) -> None:
        self._mark, self._query = mark, query
        self._store, self._options, self._given = store, options, given
        self._made = uuid4()

    def __getstate__(self) -> dict[str, Any]:
        """What travels to tasks: the work that they do, made here and once."""
        with self._mark.marked():
            # a query whose id cannot be read stops before it creates the table
            made = {"_id": self._id, "_task": self._task}
        return {name: self.__dict__[name] for name in self.__dict__ if name != "_query"} | made

    @cached_property
    def _id(self) -> str:
        return self._query()

    @cached_property
    def _task(self) -> WriteByTask:
        return build_task(ready_for_stream(self._store, self._options, self._given), self._mark)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """The rows of one task of one batch, in files."""
        # by the batch as well: were a writer ever made for several of them, no file of one would be
        # taken for what a task of another one left
        batch = batch_number()
        statement = uuid4() if batch is None else uuid5(self._made, f"batch/{batch}")
        return self._task(iterator, statement)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Make a batch the next version, unless the table has it already."""
        with self._mark.marked():
            written, store = written_of(messages), self._store
            # Where Spark speculates, a run that lost to the first one of its task may leave a file
            # for vacuum: to list the table after each batch would cost more
            remove_other_attempts(store, messages, names_of(written))
            with removing_uncommitted(store, written):
                transaction = (f"{APPLICATION}{self._id}", batchId)
                options = replace(of_batches(self._options), transaction=transaction)
                statement = begin_write(open_target(store), options, self._given)
                if isinstance(statement, RowStatement):
                    _check_unchanged(statement, messages)
            if isinstance(statement, WriteResult):
                remove_files(store, names_of(written))
                return
            named = replace(
                statement,
                operation=_OPERATION,
                parameters={
                    "outputMode": "Complete" if options.mode == "overwrite" else "Append",
                    "queryId": self._id,
                    "epochId": str(batchId),
                },
            )
            found = named.commit(written)
            if not isinstance(found, WriteResult):
                raise found.as_error()

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803, ARG002
        """Remove what was written, unless a commit was begun."""
        with self._mark.marked():
            abandon(self._store, messages)


def _check_unchanged(
    statement: RowStatement, messages: Sequence[WriterCommitMessage | None]
) -> None:
    """Raise where files were made for another table than the one that they are to be part of. Who
    made them says so: Spark has another writer for each commit, which never saw that table."""
    made_for = {message.made_for for message in messages if isinstance(message, Told)}
    if made_for <= {mark_of_table(statement)}:
        return
    raise UnsupportedError(
        "The table was changed while the stream ran.",
        reason="Its columns, layout, properties or protocol are others than when the tasks of this "
        "batch began, and their files were made for those.",
        remedy="Start the query again with the same checkpoint location: the batch is written "
        "for the table as it is now.",
    )
