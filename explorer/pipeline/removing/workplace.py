"""Where rows are worked on: in this process, or by tasks of Spark."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

import pyarrow as pa

from explorer.errors import InvalidArgumentError, UnsupportedError
from explorer.pipeline.jobs.visibility import check_visible
from explorer.pipeline.jobs.watching_jobs import watched
from explorer.pipeline.session import choose_watched, parallelism
from explorer.pipeline.tasks.attempts import Retries
from explorer.pipeline.tasks.file_tasks import ReadGroup, in_this_process, on_spark
from explorer.pipeline.tasks.task_groups import group_files
from explorer.progress import Watch
from explorer.protocol.table_properties.byte_sizes import render_byte_size
from explorer.storage.ports import ReadStore
from explorer.table.frames import believed_sizes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Engine: TypeAlias = Literal["auto", "local", "spark"]

MOST_BYTES: Final = 256 * 2**20
"""Bytes of files that are looked into in this process where nobody says where; more go to Spark."""


def check_engine(engine: str) -> None:
    """Raise `InvalidArgumentError` for what is no engine."""
    if engine not in get_args(Engine):
        raise InvalidArgumentError(
            f"There is no engine {str(engine)[:60]!r}.",
            reason="Rows are written in this process or by Spark.",
            remedy="Use auto, local or spark.",
        )


@dataclass(frozen=True, kw_only=True)
class Workplace:
    """Does work on groups of files; without a `session` here, one group after the other."""

    store: ReadStore
    session: SparkSession | None = field(default=None, repr=False)
    watch: Watch
    retries: Retries = field(default_factory=Retries, repr=False, compare=False)
    """Of all tasks that wrote files here."""

    def work(self, files: pa.Table, task: ReadGroup, schema: pa.Schema, label: str) -> pa.Table:
        """What `task` makes of groups of `files`, which have a column `size`."""
        if not files.num_rows:
            return pa.Table.from_batches([], schema)
        session = self.session
        if session is None:
            return in_this_process(self.watch, label)(group_files(files, 1), task, schema)
        groups = group_files(files, parallelism(session))
        with watched(session, self.watch, label):
            return on_spark(session)(groups, task, schema)


def why_spark(files: pa.Table, needed: str | None, engine: Engine) -> str | None:
    """Why work on `files` is for Spark; None where it is done in this process. `needed` says what
    only Spark can do, which with the engine `local` ends in an error."""
    if engine == "local" or needed is not None:
        return needed
    if engine == "spark":
        return "It was asked for."
    size = int(believed_sizes(files).sum())
    return None if size <= MOST_BYTES else f"Files of {render_byte_size(size)} have to be read."


def choose_workplace(
    store: ReadStore,
    files: pa.Table,
    needed: str | None,
    *,
    engine: Engine,
    spark: Any,
    watch: Watch,
) -> Workplace:
    """The place for work on `files`; `needed` says what only Spark can do, None where nothing is.

    Raises `UnsupportedError` where Spark is needed and not allowed, before it is started.
    """
    if engine == "local" and needed is not None:
        raise UnsupportedError(
            "This statement cannot be carried out in this process.",
            reason=needed,
            remedy='Use engine="auto" or engine="spark", which need pyspark and Java.',
            kind="missing_dependency",
        )
    if why_spark(files, needed, engine) is None:
        return Workplace(store=store, watch=watch)
    session = choose_watched(spark, watch)
    check_visible(session, store)
    return Workplace(store=store, session=session, watch=watch)
