"""A write of files that is looked at before it is approved: which rows would be written, and what
of the table would change.

The plan is not stored. It follows from the files, the options and the table, and is made again
when it is carried out: where any of these is another, so is its digest, and the plan is stale.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from typing import Any

from explorer.errors import InvalidArgumentError
from explorer.pipeline.planned_writes._column_words import describe_column
from explorer.pipeline.planned_writes._file_inputs import (
    InputFile,
    OpenInput,
    open_inputs,
    rows_of_files,
)
from explorer.pipeline.planned_writes._plan_digest import check_digest, digest_of, table_document
from explorer.pipeline.writing.places import open_place
from explorer.pipeline.writing.write import write_to
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.actions import Metadata
from explorer.protocol.features.registry import supported_features
from explorer.protocol.schema import parse_schema
from explorer.storage.location import parse_location
from explorer.writing.statements.begin import begin_write
from explorer.writing.statements.options import WriteOptions, WriteResult, check_options
from explorer.writing.statements.row_statement import RowStatement, Target, open_target

Paths = Sequence[str | os.PathLike[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChange:
    """A column that the write adds, removes or changes: its type and its rules, before and
    after."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePlan:
    """What a write would do.

    `version` is the one that it was made from, None where the table would be created.
    `removed_files` and `removed_bytes` are what is removed where it overwrites, None where that
    follows from the rows (dynamic partition overwrite). `needs_spark` says why this process cannot
    write the rows, None where it can. `nothing` says why nothing would be committed, None where
    something would.
    """

    uri: str
    version: int | None
    mode: str
    files: tuple[InputFile, ...]
    num_rows: int
    removed_files: int | None
    removed_bytes: int | None
    column_changes: tuple[ColumnChange, ...]
    partition_columns: tuple[str, ...]
    partition_columns_before: tuple[str, ...] | None
    clustering_columns: tuple[str, ...]
    enabled_features: tuple[str, ...]
    needs_spark: str | None
    nothing: str | None
    digest: str

    @property
    def num_bytes(self) -> int:
        """Bytes of the input files."""
        return sum(item.size for item in self.files)

    @property
    def document(self) -> dict[str, Any]:
        """The plan as JSON."""
        return {"format": 1, "digest": self.digest, **_facts(self), "files": _files(self.files)}


def plan_write(
    files: Paths,
    uri: str | os.PathLike[str],
    options: WriteOptions,
    *,
    storage_options: Mapping[str, Any] | None = None,
    watch: Watch = UNWATCHED,
) -> WritePlan:
    """The plan; nothing is written. Raises what `write` raises before it reads a row, and what
    `open_inputs` raises for a file."""
    store = open_place(uri, storage_options)
    options = check_options(options)
    with _inputs(files, uri, watch) as inputs:
        rows = rows_of_files(inputs)
        target = open_target(store)
        return _plan(target, begin_write(target, options, rows.schema), options, inputs)


def carry_out_write(  # noqa: PLR0913  # what was planned, and how it is carried out
    files: Paths,
    uri: str | os.PathLike[str],
    options: WriteOptions,
    digest: str,
    *,
    storage_options: Mapping[str, Any] | None = None,
    spark: Any = None,
    watch: Watch = UNWATCHED,
) -> WriteResult:
    """Write the rows of the files as planned; raises `ConflictError` of the kind `plan_stale`
    where files, options or table are not those of the plan any more, `commit_conflict` where
    another commit is in the way meanwhile, and what `write` raises. Then nothing is changed."""
    store = open_place(uri, storage_options)
    options = check_options(options)
    with _inputs(files, uri, watch) as inputs:
        rows = rows_of_files(inputs)

        # asked of the very statement that is carried out: the table may have moved since
        def approve(target: Target, found: RowStatement | WriteResult) -> None:
            check_digest(digest, _plan(target, found, options, inputs).digest)

        return write_to(store, rows, options, spark=spark, watch=watch, approve=approve)


def _inputs(
    files: Paths, uri: str | os.PathLike[str], watch: Watch
) -> AbstractContextManager[tuple[OpenInput, ...]]:
    location = parse_location(uri)
    if location.scheme == "file":
        root = os.path.join(os.path.realpath(location.target), "")
        for path in files:
            if os.path.realpath(path).startswith(root):
                raise InvalidArgumentError(
                    f"{os.fspath(path)[:200]} lies in the table's own folder.",
                    reason="What it holds are rows of the table already, deleted ones perhaps, "
                    "and columns under other names.",
                    remedy="Read the rows of the table and write these, or copy the file "
                    "elsewhere if it is none of the table's.",
                )
    return open_inputs(files, watch)


def _plan(
    target: Target,
    found: RowStatement | WriteResult,
    options: WriteOptions,
    inputs: Sequence[OpenInput],
) -> WritePlan:
    snapshot = target.snapshot
    base = None if snapshot is None else snapshot.metadata
    statement = found if isinstance(found, RowStatement) else None
    removed: tuple[int | None, int | None] = (0, 0)
    if statement is not None:
        removed = (None, None) if statement.is_dynamic else statement.files_that_go()
    after = base if statement is None else statement.metadata
    plan = WritePlan(
        uri=target.store.uri,
        version=None if snapshot is None else snapshot.version,
        mode=options.mode,
        files=tuple(item.facts for item in inputs),
        num_rows=sum(item.facts.num_rows for item in inputs),
        removed_files=removed[0],
        removed_bytes=removed[1],
        column_changes=_changes(base, after),
        partition_columns=() if after is None else after.partition_columns,
        partition_columns_before=None if base is None else base.partition_columns,
        clustering_columns=options.cluster_by,
        enabled_features=_enabled(statement),
        needs_spark=None if statement is None else statement.gate.needs_spark,
        nothing=_why_nothing(found, options),
        digest="",
    )
    return replace(plan, digest=_digest(plan, options, target))


def _why_nothing(found: RowStatement | WriteResult, options: WriteOptions) -> str | None:
    if isinstance(found, RowStatement):
        return None
    if found.is_repeated and options.transaction is not None:
        name, version = options.transaction
        return (
            f"The table has version {version} of the transactions of {name[:120]}, or a later one."
        )
    return "There is a table, and the mode is ignore."


def _facts(plan: WritePlan) -> dict[str, Any]:
    """The plan without its files and its digest."""
    names = [name for name in plan.__dataclass_fields__ if name not in {"files", "digest"}]
    found = {name: getattr(plan, name) for name in names}
    return {**found, "column_changes": [asdict(item) for item in plan.column_changes]}


def _files(files: Sequence[InputFile]) -> list[dict[str, Any]]:
    return [
        {"path": item.path, "size": item.size, "sha256": item.sha256, "num_rows": item.num_rows}
        for item in files
    ]


def _digest(plan: WritePlan, options: WriteOptions, target: Target) -> str:
    """An append may follow other appends; what overwrites depends on the very version."""
    facts = _facts(plan)
    if options.mode == "append":
        del facts["version"]
    return digest_of(
        {
            "verb": "write",
            "plan": facts,
            "table": table_document(target.snapshot),
            "files": _files(plan.files),
            "options": asdict(options),
        }
    )


def _changes(before: Metadata | None, after: Metadata | None) -> tuple[ColumnChange, ...]:
    held, wanted = _described(before), _described(after)
    names = dict.fromkeys([*held, *wanted])
    return tuple(
        ColumnChange(name=name, before=held.get(name), after=wanted.get(name))
        for name in names
        if held.get(name) != wanted.get(name)
    )


def _described(metadata: Metadata | None) -> dict[str, str]:
    if metadata is None:
        return {}
    fields = parse_schema(metadata.schema_string).fields
    return {item.name: describe_column(item) for item in fields}


def _enabled(statement: RowStatement | None) -> tuple[str, ...]:
    """The features that the commit adds to the table's protocol."""
    if statement is None:
        return ()
    snapshot = statement.target.snapshot
    held = () if snapshot is None else supported_features(snapshot.protocol)
    return tuple(sorted({*supported_features(statement.protocol)} - {*held}))
