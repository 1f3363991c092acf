"""What Spark calls for `df.write.format("delta_explorer")` (spec: Data Files)."""

from __future__ import annotations

import contextlib
import hashlib
import pickle
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

import orjson
import pyarrow as pa
from pyspark.sql.datasource import (  # noqa: TID253  # imported where the format is registered
    DataSourceArrowWriter,
    WriterCommitMessage,
)

from explorer.errors import UnsupportedError
from explorer.pipeline.jobs.ended_tasks import LONGEST_END
from explorer.pipeline.tasks.attempts import attempt_number, part_number, run_number
from explorer.pipeline.tasks.task_failures import ErrorMark
from explorer.storage.ports import WriteStore
from explorer.writing.files.leftovers import raise_without, remove_files, remove_files_named
from explorer.writing.files.row_files import WRITTEN_ROWS, RowFiles, RowForm, names_of
from explorer.writing.gate.arrow_gate import ArrowGate
from explorer.writing.gate.plan import GatePlan
from explorer.writing.statements.options import WriteResult
from explorer.writing.statements.row_statement import RowStatement

_IDENTITY: Final = (
    "It has an identity column, whose numbers have to be given out by one process, and the tasks "
    "of a data source do not know of each other."
)


@dataclass
class Told(WriterCommitMessage):
    """What a task wrote: a batch with the schema `WRITTEN_ROWS`, as a stream of Arrow. `made_for`
    is the `mark_of_table` of the table that its files were made for, `attempt` which attempt of its
    task tells it: one without a file may follow others that made some. `statement` is part of the
    names of all files of the frame, or of the batch of a stream, and of no others."""

    rows: bytes
    made_for: str = ""
    attempt: int = 0
    statement: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteByTask:
    """What a task does: rows go through the gate and into files. Each run of it has names of its
    own, with `statement` in them, which another batch of a stream does not have."""

    store: WriteStore
    form: RowForm
    gate: GatePlan
    made_for: str
    mark: ErrorMark = field(default_factory=ErrorMark)

    def __call__(self, batches: Iterator[pa.RecordBatch], statement: UUID) -> Told:
        """What was written; raises `rows_refused` for a row that breaks a rule."""
        with self.mark.marked():
            gate, attempt = ArrowGate(self.gate), attempt_number()
            files = RowFiles(
                self.store,
                self.form,
                statement,
                task=part_number(),
                attempt=attempt,
                run=run_number(),
                threads=1,
            )
            with files:
                for batch in batches:
                    for part in gate.take(batch):
                        files.add(part)
            rows = as_bytes(files.written())
            return Told(
                rows=rows, made_for=self.made_for, attempt=attempt, statement=str(statement)
            )


def check_tasks(statement: RowStatement) -> None:
    """Raise `UnsupportedError` for a statement that is more than tasks can do: they cannot hold
    rows to the rules of the table, or would have to read rows of it."""
    reason = statement.gate.needs_spark
    if statement.gate.identity_columns:
        reason = _IDENTITY
    if reason is not None:
        raise UnsupportedError(
            "The table cannot be written to by this format.",
            reason=reason,
            remedy="Use pipeline.write(df, path), which evaluates its rules in the plan of Spark; "
            "in a stream within foreachBatch.",
        )
    if statement.replaces_rows:
        raise no_single_rows()


def no_single_rows() -> UnsupportedError:
    """What is said of a condition of replaceWhere that only rows can answer."""
    return UnsupportedError(
        "This format cannot replace single rows of a table.",
        reason="The condition of replaceWhere speaks of more than partition columns. A file "
        "with rows that match may hold others, which have to stay, and this format does not "
        "read it.",
        remedy='Use pipeline.write(df, path, mode="overwrite", replace_where=…), which keeps '
        "them; in a stream within foreachBatch.",
    )


def build_task(statement: RowStatement, mark: ErrorMark) -> WriteByTask:
    """The work of the tasks of a statement; raises what `check_tasks` raises."""
    check_tasks(statement)
    return WriteByTask(
        store=statement.target.store,
        form=statement.form,
        gate=statement.gate,
        made_for=mark_of_table(statement),
        mark=mark,
    )


def mark_of_table(statement: RowStatement) -> str:
    """The same for statements whose files may stand for each other: what they are made for is a
    table with the same columns, layout, properties and protocol. 64 hex digits."""
    held, protocol = statement.metadata, statement.protocol
    features = (protocol.reader_features, protocol.writer_features)
    made_for = [
        held.schema_string,
        held.partition_columns,
        dict(held.configuration),
        [protocol.min_reader_version, protocol.min_writer_version],
        [None if each is None else sorted(each) for each in features],
    ]
    return hashlib.sha256(orjson.dumps(made_for, option=orjson.OPT_SORT_KEYS)).hexdigest()


class BatchWriter(DataSourceArrowWriter):
    """Writes a frame in one commit. The statement is needed where the commit is made alone, and
    travels as bytes: a task does not open the table. `speculates` is that of the session, which
    nobody can ask here."""

    def __init__(
        self, statement: RowStatement | WriteResult, mark: ErrorMark, *, speculates: bool = False
    ) -> None:
        self._mark, self._speculates = mark, speculates
        self._task: WriteByTask | None = None
        if isinstance(statement, RowStatement):
            self._task, self._id = build_task(statement, mark), statement.id
        self._statement = pickle.dumps(statement)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """The rows of one task, in files."""
        if self._task is None:
            return Told(rows=b"")
        return self._task(iterator, self._id)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Make what all tasks wrote the next version."""
        with self._mark.marked():
            if self._task is None:
                return
            written = written_of(messages)
            with removing_uncommitted(self._task.store, written):
                statement: RowStatement = pickle.loads(self._statement)
            remove_other_attempts(
                self._task.store, messages, names_of(written), speculates=self._speculates
            )
            found = statement.commit(written)
            if not isinstance(found, WriteResult):
                raise found.as_error()

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Remove what was written, unless a commit was begun."""
        if self._task is None or was_begun(messages):
            return
        _remove_named(self._task.store, {str(self._id)})


@contextlib.contextmanager
def removing_uncommitted(store: WriteStore, written: pa.Table) -> Iterator[None]:
    """For what is done before a commit: where it fails, surely nothing is committed, and the new
    files are removed. Spark gives them up as it does where the commit itself failed."""
    try:
        yield
    except BaseException as error:
        raise_without(store, names_of(written), error)
        raise


def remove_other_attempts(
    store: WriteStore,
    messages: Sequence[WriterCommitMessage | None],
    keep: Collection[str] = (),
    *,
    speculates: bool = False,
) -> None:
    """Where a task was tried again, or may have run twice at once, the files of those attempts go
    of which nobody heard, but for the paths of `keep`. Before a commit, not after it."""
    told = [message for message in messages if isinstance(message, Told)]
    if speculates or any(message.attempt for message in told):
        _remove_named(store, {message.statement for message in told}, keep)


def _remove_named(
    store: WriteStore, statements: Collection[str], keep: Collection[str] = ()
) -> None:
    # a task that Spark ends meanwhile may still make a file
    time.sleep(LONGEST_END)
    for statement in sorted(filter(None, statements)):
        remove_files_named(store, statement, frozenset(keep))


def was_begun(messages: Sequence[WriterCommitMessage | None]) -> bool:
    """Whether a commit may have been begun, whose outcome may be unknown, where Spark gives a
    statement up: it does so as well where the commit itself failed, and then every task has told
    what it wrote. The commit has removed by itself what surely is not part of a version."""
    return all(isinstance(message, Told) for message in messages)


def abandon(store: WriteStore, messages: Sequence[WriterCommitMessage | None]) -> None:
    """Remove what tasks told of, and what others of their attempts left, unless a commit was
    begun."""
    if was_begun(messages):
        return
    told = [message for message in messages if isinstance(message, Told)]
    remove_files(store, names_of(written_of(told)))
    remove_other_attempts(store, told)


def written_of(messages: Sequence[WriterCommitMessage | None]) -> pa.Table:
    """All new files, with the schema `WRITTEN_ROWS`."""
    parts = [
        pa.ipc.open_stream(message.rows).read_all()
        for message in messages
        if isinstance(message, Told) and message.rows
    ]
    return pa.concat_tables([WRITTEN_ROWS.empty_table(), *parts])


def as_bytes(rows: pa.RecordBatch) -> bytes:
    """A batch as a stream of Arrow."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_batch(rows)
    data: bytes = sink.getvalue().to_pybytes()
    return data
