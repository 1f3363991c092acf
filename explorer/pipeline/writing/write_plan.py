"""A write that is looked at before it is approved: which rows would come, and what of the table
would change.

The plan is not stored. It follows from the files, the options and the table, and is made again
when it is carried out: where any of these is another, so is its digest, and the plan is stale.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from explorer.errors import ConflictError
from explorer.pipeline.writing.file_inputs import InputFile, look_at, rows_of_files
from explorer.pipeline.writing.places import open_place
from explorer.pipeline.writing.write import write_to
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.actions import Metadata
from explorer.protocol.schema import parse_schema, render_type
from explorer.storage.ports import WriteStore
from explorer.writing.statements.begin import begin_write
from explorer.writing.statements.options import WriteOptions, WriteResult
from explorer.writing.statements.row_statement import RowStatement, open_target


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChange:
    """A column that the write adds, removes or gives another type; types as SQL has them."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePlan:
    """What a write would do. `version` is the one that it was made from, None where the table
    would be created; `removed_files` and `removed_bytes` are those that go where it overwrites.
    `needs_spark` says why this process cannot write the rows, None where it can. `nothing` says
    that nothing would be committed."""

    uri: str
    version: int | None
    mode: str
    files: tuple[InputFile, ...]
    num_rows: int
    removed_files: int
    removed_bytes: int
    column_changes: tuple[ColumnChange, ...]
    partition_columns: tuple[str, ...]
    enabled_features: tuple[str, ...]
    needs_spark: str | None
    nothing: bool
    digest: str

    @property
    def document(self) -> dict[str, Any]:
        """The plan as JSON."""
        found = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "files"}
        found["column_changes"] = [asdict(item) for item in self.column_changes]
        found["files"] = [
            {"path": item.path, "size": item.size, "sha256": item.sha256, "num_rows": item.num_rows}
            for item in self.files
        ]
        return found


def plan_write(
    files: Sequence[str | os.PathLike[str]],
    uri: str | os.PathLike[str],
    options: WriteOptions,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> WritePlan:
    """The plan; nothing is written. Raises what `write` raises before it reads a row."""
    return _plan(open_place(uri, storage_options), tuple(map(look_at, files)), options)


def carry_out_write(  # noqa: PLR0913  # what was planned, and how it is carried out
    files: Sequence[str | os.PathLike[str]],
    uri: str | os.PathLike[str],
    options: WriteOptions,
    digest: str,
    *,
    storage_options: Mapping[str, Any] | None = None,
    spark: Any = None,
    watch: Watch = UNWATCHED,
) -> WriteResult:
    """Write the rows of the files as planned; raises `ConflictError` of the kind `plan_stale`
    where files, options or table are not those of the plan any more."""
    store = open_place(uri, storage_options)
    inputs = tuple(map(look_at, files))
    plan = _plan(store, inputs, options)
    if plan.digest != digest and not (len(digest) >= _SHORTEST and plan.digest.startswith(digest)):
        raise ConflictError(
            "The plan is out of date.",
            reason="A file, an option or the table is not what it was when the plan was made.",
            remedy=f"Look at the new plan, {plan.digest[:12]}, and apply that one.",
            kind="plan_stale",
        )
    return write_to(store, rows_of_files(inputs), options, spark=spark, watch=watch)


_SHORTEST = 12
"""Characters of a digest that are enough to name it."""


def _plan(store: WriteStore, inputs: tuple[InputFile, ...], options: WriteOptions) -> WritePlan:
    rows = rows_of_files(inputs)
    target = open_target(store)
    found = begin_write(target, options, rows.schema)
    snapshot = target.snapshot
    base = None if snapshot is None else snapshot.metadata
    statement = found if isinstance(found, RowStatement) else None
    gone = None if statement is None or statement.is_dynamic else statement.files_that_go()
    after = base if statement is None else statement.metadata
    fields: dict[str, Any] = {
        "uri": store.uri,
        "version": None if snapshot is None else snapshot.version,
        "mode": options.mode,
        "num_rows": rows.num_rows,
        "removed_files": 0 if gone is None else gone[0],
        "removed_bytes": 0 if gone is None else gone[1],
        "column_changes": _changes(base, after),
        "partition_columns": () if after is None else after.partition_columns,
        "enabled_features": _enabled(statement),
        "needs_spark": None if statement is None else statement.gate.needs_spark,
        "nothing": statement is None,
    }
    return WritePlan(files=inputs, digest=_digest(fields, inputs, options, base), **fields)


def _changes(before: Metadata | None, after: Metadata | None) -> tuple[ColumnChange, ...]:
    held, wanted = _types(before), _types(after)
    names = dict.fromkeys([*held, *wanted])
    return tuple(
        ColumnChange(name=name, before=held.get(name), after=wanted.get(name))
        for name in names
        if held.get(name) != wanted.get(name)
    )


def _types(metadata: Metadata | None) -> dict[str, str]:
    if metadata is None:
        return {}
    fields = parse_schema(metadata.schema_string).fields
    return {item.name: render_type(item.data_type) for item in fields}


def _enabled(statement: RowStatement | None) -> tuple[str, ...]:
    """The features that the commit adds to the table's protocol."""
    if statement is None:
        return ()
    snapshot = statement.target.snapshot
    held = set() if snapshot is None else set(snapshot.protocol.writer_features or ())
    return tuple(sorted(set(statement.protocol.writer_features or ()) - held))


def _digest(
    fields: Mapping[str, Any],
    inputs: Sequence[InputFile],
    options: WriteOptions,
    base: Metadata | None,
) -> str:
    """An append may follow other appends; what overwrites depends on the very version."""
    said = {name: value for name, value in fields.items() if name != "version"}
    said["column_changes"] = [asdict(item) for item in fields["column_changes"]]
    document = {
        "plan": said,
        "version": None if options.mode == "append" else fields["version"],
        "table": None if base is None else base.id,
        "schema": None if base is None else base.schema_string,
        "inputs": [[item.path, item.size, item.sha256] for item in inputs],
        "options": asdict(options),
    }
    return hashlib.sha256(orjson.dumps(document, option=orjson.OPT_SORT_KEYS)).hexdigest()
