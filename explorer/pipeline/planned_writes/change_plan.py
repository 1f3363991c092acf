"""A delete or an update that is looked at before it is approved: which files and how many rows it
is about, and how these change.

The plan is not stored. It is made again when it is carried out, and stands for the rows of one
version: after any other commit it is stale.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from explorer.errors import ConflictError
from explorer.pipeline.changing.beginning import BegunChange, spark_to_find
from explorer.pipeline.changing.delete import begin_delete, delete_from
from explorer.pipeline.changing.first_rows import FirstRows, first_rows
from explorer.pipeline.changing.update import begin_update, update_in
from explorer.pipeline.planned_writes._plan_digest import check_digest, digest_of, table_document
from explorer.pipeline.removing.finding import find_rows
from explorer.pipeline.removing.workplace import (
    Engine,
    check_engine,
    choose_workplace,
    why_spark,
)
from explorer.pipeline.writing.places import open_place
from explorer.progress import UNWATCHED, Watch
from explorer.storage.ports import WriteStore
from explorer.table.frames import sum_of
from explorer.writing.changes.candidates import NUM_RECORDS, WHOLE, Candidates, live_rows
from explorer.writing.changes.row_changes import needs_change_data, takes_vectors
from explorer.writing.statements.change_statement import ChangeOptions
from explorer.writing.statements.options import WriteResult

Way: TypeAlias = Literal["log alone", "deletion vectors", "copies"]
"""How rows leave their files: whole files by the log alone, hidden by deletion vectors, or by
copying those that stay."""

_SHOWN = ["path", "size", NUM_RECORDS, WHOLE]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRequest:
    """A delete, or with `values`, texts of SQL by the names of columns, an update: of the rows that
    `where` is true for, or of all."""

    where: str | None = None
    values: Mapping[str, str] | None = None
    options: ChangeOptions = field(default_factory=ChangeOptions)
    engine: Engine = "auto"

    @property
    def operation(self) -> Literal["DELETE", "UPDATE"]:
        """As the history will call it."""
        return "DELETE" if self.values is None else "UPDATE"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePlan:
    """What a delete or an update would do to `version` of a table.

    Of its `num_live_files`, rows of `num_files` (`num_bytes`) may match, and surely all rows of
    `num_whole`. `least_rows` and `most_rows` are what partition values and statistics say of how
    many match, None where these do not tell; `num_rows` is how many do, None unless somebody looked
    into the files. `is_everything` says that a delete takes every row, and `table_name` is what has
    to be typed then. `needs_spark` says why Spark would carry it out, None where this process
    does. `files` has `path` as in the log, `size`, `num_records` and `whole` for each file.
    `first_rows` are the first rows that match, before and after, where somebody looked.
    """

    uri: str
    version: int
    operation: str
    where: str | None
    values: Mapping[str, str] | None
    num_live_files: int
    num_files: int
    num_bytes: int
    num_whole: int
    least_rows: int | None
    most_rows: int | None
    num_rows: int | None
    way: Way
    writes_change_data: bool
    needs_spark: str | None
    is_everything: bool
    table_name: str
    digest: str
    files: pa.Table = field(repr=False, compare=False)
    first_rows: FirstRows | None = field(default=None, repr=False, compare=False)

    @property
    def document(self) -> dict[str, Any]:
        """The plan as JSON, without its files."""
        shown = None if self.first_rows is None else self.first_rows.document
        return {"format": 1, "digest": self.digest, **self._facts(), "first_rows": shown}

    def _facts(self) -> dict[str, Any]:
        others = {"files", "digest", "first_rows"}
        names = [name for name in self.__dataclass_fields__ if name not in others]
        return {name: getattr(self, name) for name in names}


def plan_change(
    uri: str | os.PathLike[str],
    request: ChangeRequest,
    *,
    looks: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    spark: Any = None,
    watch: Watch = UNWATCHED,
) -> ChangePlan:
    """The plan; nothing is written. With `looks` the files are read, so that it says how many rows
    match, and has the first of them. New values that only Spark computes are there where Spark was
    asked for, or is given by `spark`, or looks for the rows. Raises what `delete` and `update`
    raise before they write."""
    check_engine(request.engine)
    store = open_place(uri, storage_options)
    found = _begin(store, request, watch)
    assert isinstance(found, BegunChange), "without a transaction it cannot be done already"
    plan = _plan(found, request)
    return _look(plan, store, request, found, spark, watch) if looks else plan


def carry_out_change(  # noqa: PLR0913  # what was planned, and how it is carried out
    uri: str | os.PathLike[str],
    request: ChangeRequest,
    digest: str,
    *,
    confirm: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    spark: Any = None,
    watch: Watch = UNWATCHED,
) -> WriteResult:
    """Delete or update as planned. `confirm` is the table's name, which a delete of every row asks
    for. Raises `ConflictError`: of the kind `plan_stale` where the table has moved since, or what
    was asked for is not that of the plan, `plan_refused` without the name; and what `delete` and
    `update` raise. Then nothing is changed."""
    store = open_place(uri, storage_options)

    # asked each time that the statement runs: one that lost finds another version
    def approve(begun: BegunChange) -> None:
        plan = _plan(begun, request)
        check_digest(digest, plan.digest)
        if plan.is_everything and confirm != plan.table_name:
            raise _name_is_needed(plan)

    how: dict[str, Any] = {"engine": request.engine, "spark": spark, "watch": watch}
    if request.values is None:
        return delete_from(store, request.where, request.options, **how, approve=approve)
    return update_in(store, request.values, request.where, request.options, **how, approve=approve)


def _begin(store: WriteStore, request: ChangeRequest, watch: Watch) -> BegunChange | WriteResult:
    if request.values is None:
        return begin_delete(store, request.where, request.options, watch)
    return begin_update(store, request.values, request.where, request.options, watch)


def _look(  # what was planned, and how it is looked at
    plan: ChangePlan,
    store: WriteStore,
    request: ChangeRequest,
    begun: BegunChange,
    spark: Any,
    watch: Watch,
) -> ChangePlan:
    """The plan with how many rows match, None where a file that goes unread does not say how many
    it has, and the first of them."""
    candidates = begun.candidates
    needed = spark_to_find(candidates)
    if needed is None and spark is not None:
        needed = begun.needs_spark
    place = choose_workplace(
        store,
        candidates.asked,
        needed,
        engine=request.engine,
        spark=spark,
        watch=watch,
    )
    found = find_rows(place, candidates, begun.where)
    held = live_rows(candidates.whole)
    number = None if held is None else held + sum_of(found.column("num_found"))
    return replace(plan, num_rows=number, first_rows=first_rows(place, begun, found))


def _plan(begun: BegunChange, request: ChangeRequest) -> ChangePlan:
    statement, candidates = begun.statement, begun.candidates
    snapshot, protocol, metadata = statement.snapshot, statement.protocol, statement.metadata
    files, whole = candidates.files, candidates.whole
    updates = request.values is not None
    way = _way(candidates, is_vectored=takes_vectors(protocol, metadata))
    facts: dict[str, Any] = {
        "uri": statement.target.store.uri,
        "version": snapshot.version,
        "operation": request.operation,
        "where": request.where,
        "values": None if request.values is None else dict(request.values),
        "num_live_files": snapshot.num_files,
        "num_files": files.num_rows,
        "num_bytes": sum_of(files.column("size")),
        "num_whole": whole.num_rows,
        "least_rows": live_rows(whole),
        "most_rows": live_rows(files),
        "way": way,
        "writes_change_data": bool(files.num_rows)
        and needs_change_data(protocol, metadata, updates=updates, copies=way == "copies"),
        "needs_spark": _why_spark(begun, request),
        "is_everything": not updates and 0 < whole.num_rows == snapshot.num_files,
        "table_name": metadata.name or statement.target.store.uri.rpartition("/")[2],
    }
    digest = digest_of(
        {
            "verb": "change",
            "plan": facts,
            "table": table_document(snapshot),
            "options": asdict(request.options),
        }
    )
    return ChangePlan(**facts, num_rows=None, digest=digest, files=files.select(_SHOWN))


def _why_spark(begun: BegunChange, request: ChangeRequest) -> str | None:
    """Why Spark would do it; None where this process does."""
    candidates = begun.candidates
    files = candidates.asked if request.values is None else candidates.files
    return why_spark(files, begun.needs_spark, request.engine)


def _way(candidates: Candidates, *, is_vectored: bool) -> Way:
    if not candidates.asked.num_rows:
        return "log alone"
    return "deletion vectors" if is_vectored else "copies"


def _name_is_needed(plan: ChangePlan) -> ConflictError:
    return ConflictError(
        f"Every row of {plan.uri} would be deleted.",
        reason=f"That asks a person to type the table's name, {plan.table_name[:300]}.",
        remedy=f"Add `--confirm {shlex.quote(plan.table_name[:300])}` on the command line.",
        kind="plan_refused",
    )
