"""From what was asked for to a statement that is ready for its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

from explorer.errors import InvalidArgumentError
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.commit_json import Action
from explorer.protocol.schema import StructType
from explorer.protocol.table_properties.byte_sizes import parse_byte_size
from explorer.protocol.table_properties.known_properties import TARGET_FILE_SIZE
from explorer.table.snapshot import Snapshot
from explorer.table.times import Clock, system_clock, utc_time
from explorer.transaction.read_set import NOTHING, ReadSet
from explorer.transaction.read_version import read_version_of
from explorer.writing.files.row_files import DEFAULT_FILE_BYTES, row_form
from explorer.writing.gate.planning import plan_gate
from explorer.writing.schema.new_table import build_table_of_rows
from explorer.writing.schema.schema_change import SchemaChange, merge_schema, overwrite_schema
from explorer.writing.statements.new_place import check_new_place
from explorer.writing.statements.options import WriteOptions, WriteResult, check_options
from explorer.writing.statements.row_statement import (
    RowStatement,
    Target,
    has_transaction,
    repeated,
)

NewIds = Callable[[], UUID]


def begin_write(
    target: Target,
    options: WriteOptions,
    given: StructType,
    *,
    reads: ReadSet = NOTHING,
    clock: Clock = system_clock,
    ids: NewIds = uuid4,
) -> RowStatement | WriteResult:
    """The statement that writes rows with the columns `given`, or the result where nothing has
    to be written: the table is there and the mode is `ignore`, or it has this transaction.

    `reads` is what the rows depend on: everything where they come from this very table. Raises
    `InvalidArgumentError` for what cannot be meant, of kind `schema_mismatch` where the columns do
    not fit, and `UnsupportedError` where the table's rules forbid the write whatever its rows are.
    """
    options = check_options(options)
    snapshot = target.snapshot
    if snapshot is not None:
        if options.mode == "ignore":
            return WriteResult(version=None, operation="WRITE")
        if options.mode == "error":
            raise _is_there(snapshot)
        if has_transaction(snapshot, options.transaction):
            return repeated()
    else:
        check_new_place(target.store)
    to_be = (
        _new(options, given, clock, ids)
        if snapshot is None
        else _changed(snapshot, options, given, ids)
    )
    statement = RowStatement(
        target=target,
        options=options,
        id=ids(),
        protocol=to_be.protocol,
        metadata=to_be.metadata,
        changes=to_be.actions,
        kept_domains=to_be.kept_domains,
        gate=plan_gate(
            to_be.protocol,
            to_be.metadata,
            given,
            statement_time=utc_time(clock()),
            conditions=_conditions(options),
        ),
        form=row_form(
            to_be.protocol,
            to_be.metadata,
            target_bytes=_target_bytes(options, to_be.metadata),
        ),
        reads=reads,
        clock=clock,
        ids=ids,
    )
    statement.check()
    return statement


@dataclass(frozen=True, slots=True, kw_only=True)
class _ToBe:
    """What the version is to be, and the actions that make it so."""

    protocol: Protocol
    metadata: Metadata
    actions: tuple[Action, ...] = ()
    kept_domains: frozenset[str] = frozenset()


def _new(options: WriteOptions, given: StructType, clock: Clock, ids: NewIds) -> _ToBe:
    table = build_table_of_rows(
        given,
        now_ms=clock(),
        partition_by=options.partition_by,
        cluster_by=options.cluster_by,
        properties=options.properties,
        ids=ids,
    )
    return _ToBe(
        protocol=table.protocol,
        metadata=table.metadata,
        actions=table.actions,
        kept_domains=table.promises.kept_domains,
    )


def _changed(snapshot: Snapshot, options: WriteOptions, given: StructType, ids: NewIds) -> _ToBe:
    if options.properties:
        raise InvalidArgumentError(
            "The properties of a table that is there are not changed by a write.",
            reason=f"{snapshot.uri} has version {snapshot.version}.",
            remedy="Leave properties out, or set them by `delta-explorer set-properties`.",
        )
    base = read_version_of(snapshot)
    change: SchemaChange | None = None
    if options.overwrite_schema:
        change = overwrite_schema(
            base,
            given,
            partition_by=options.partition_by or None,
            cluster_by=options.cluster_by or None,
            ids=ids,
        )
    else:
        _check_layout(snapshot, options)
        if options.merge_schema:
            change = merge_schema(base, given, ids=ids)
    if change is None:
        return _ToBe(protocol=snapshot.protocol, metadata=snapshot.metadata)
    return _ToBe(
        protocol=change.protocol,
        metadata=change.metadata,
        actions=change.actions,
        kept_domains=change.kept_domains,
    )


def _conditions(options: WriteOptions) -> dict[str, str]:
    return {} if options.replace_where is None else {"replace_where": options.replace_where}


def _check_layout(snapshot: Snapshot, options: WriteOptions) -> None:
    """A layout that is named must be the table's own."""
    held = snapshot.metadata.partition_columns
    asked = options.partition_by
    if asked and [name.lower() for name in asked] != [name.lower() for name in held]:
        raise _other_layout("partitioned", asked, held)
    if options.cluster_by:
        raise InvalidArgumentError(
            "cluster_by counts where a table is created or its schema is overwritten.",
            reason=f"{snapshot.uri} has version {snapshot.version}.",
            remedy="Leave it out: rows are written to a clustered table without it.",
        )


def _other_layout(what: str, asked: Sequence[str], held: Sequence[str]) -> InvalidArgumentError:
    names = ", ".join(f"`{name[:60]}`" for name in asked)
    theirs = ", ".join(f"`{name[:60]}`" for name in held) or "no column"
    return InvalidArgumentError(
        f"The table is not {what} by {names}.",
        reason=f"It is {what} by {theirs}.",
        remedy="Leave partition_by out, or overwrite the table with overwrite_schema=True.",
        kind="schema_mismatch",
    )


def _target_bytes(options: WriteOptions, metadata: Metadata) -> int:
    if options.target_file_size is not None:
        return options.target_file_size
    asked = TARGET_FILE_SIZE.value_of(metadata.configuration)
    return DEFAULT_FILE_BYTES if asked is None else parse_byte_size(asked)


def _is_there(snapshot: Snapshot) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"There is a table at {snapshot.uri} already.",
        reason=f"Its newest version is {snapshot.version}, and the mode is error.",
        remedy='Write with mode="append" or mode="overwrite", or to another place.',
        kind="already_exists",
    )
