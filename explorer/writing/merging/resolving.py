"""The values of a merge, column by column, and what the table is to become (spec: Change Metadata).

As in the reference: `*` sets the columns of the table, all of which the source has to have; with
`merge_schema` those of the source, and others stay or are null. An update computes generated
columns unless they are set, and leaves identity columns alone. Of an insert the gate of rows
fills what is not given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias
from uuid import UUID, uuid4

from explorer.protocol.schema import (
    VOID,
    DataType,
    StructField,
    StructType,
)
from explorer.protocol.schema_walk import render_path
from explorer.scan.predicate.names import column_of_name
from explorer.transaction.read_version import ReadVersion
from explorer.transaction.rules.change import Described
from explorer.writing.changes.set_tree import (
    SetNames,
    is_generated,
    is_identity,
    kept_columns,
)
from explorer.writing.gate.refusals import mismatch
from explorer.writing.gate.whole_structs import check_whole
from explorer.writing.merging.clauses import MergeClause, MergeRequest
from explorer.writing.merging.names import Names, Side
from explorer.writing.schema.schema_change import SchemaChange, merge_schema

_SIDES: Final[Mapping[str, tuple[Side, ...]]] = {
    "matched": ("target", "source"),
    "not matched": ("source",),
    "not matched by source": ("target",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """What a SQL text says, which passed guard 14, or a Column of Spark."""

    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceColumn:
    """The source's column of this name, or the field that `path` leads to below it."""

    name: str
    data_type: DataType
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What the row has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """A struct field by field, in the table's order. `given` is the source's struct that fields are
    taken from: where both it and the row's own are null, so is the new one."""

    fields: Mapping[str, Assignment]
    given: SourceColumn | None = None


Assignment: TypeAlias = Expression | SourceColumn | Kept | Fields


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedClause:
    """A clause whose names are those of the table. `where` is what Spark may be given, `columns`
    are the columns that it gives to the gate of rows, in the table's order: none of a delete."""

    clause: MergeClause
    where: str | None
    columns: Mapping[str, Assignment]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedMerge:
    """A merge upon one version. `on` is what Spark may be given, `change` what becomes of the
    table, None where it stays as it is, and `schema` its columns afterwards."""

    request: MergeRequest
    names: Names
    on: str
    clauses: tuple[ResolvedClause, ...]
    change: SchemaChange | None
    schema: StructType

    def spoken_columns(self) -> frozenset[str] | None:
        """The table's columns that its conditions speak of; None where that cannot be told."""
        texts = [self.on, *(item.where for item in self.clauses if item.where is not None)]
        spoken = [self.names.spoken(text) for text in texts]
        known = [found for found in spoken if found is not None]
        return frozenset[str]().union(*known) if len(known) == len(spoken) else None


def resolve_merge(
    base: ReadVersion,
    request: MergeRequest,
    names: Names,
    *,
    ids: Callable[[], UUID] = uuid4,
) -> ResolvedMerge:
    """The merge upon a version, whose columns are `names.target`.

    Raises `InvalidArgumentError` for texts that do not pass guard 14, of kind `schema_mismatch`
    for columns that there are not, and what `merge_schema` raises for those that are to be new.
    """
    assert base.protocol is not None
    assert base.metadata is not None
    change = None
    if request.merge_schema and (incoming := _incoming(request, names)).fields:
        change = merge_schema(base, incoming, ids=ids)
    schema = names.target if change is None else change.schema
    metadata = base.metadata if change is None else change.metadata
    protocol = base.protocol if change is None else change.protocol
    table = Described(protocol=protocol, metadata=metadata)
    resolver = _Resolver(request=request, names=names, schema=schema, table=table)
    return ResolvedMerge(
        request=request,
        names=names,
        on=names.check(request.on, "condition", "target", "source"),
        clauses=tuple(map(resolver.clause, request.clauses)),
        change=change,
        schema=schema,
    )


def _incoming(request: MergeRequest, names: Names) -> StructType:
    """The columns of the source that may be new to the table: all with `*`, else those that a
    clause sets by their own name."""
    if any(clause.is_star for clause in request.clauses):
        return names.source
    known = {name.lower() for name in names.target.names}
    wanted = {
        name.lower().strip("`")
        for clause in request.clauses
        if clause.kind != "not matched by source"
        for name in clause.values or ()
    }
    fields = (
        item
        for item in names.source.fields
        if item.name.lower() in wanted and item.name.lower() not in known
    )
    return StructType(fields=tuple(fields))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Resolver:
    request: MergeRequest
    names: Names
    schema: StructType
    table: Described

    def clause(self, clause: MergeClause) -> ResolvedClause:
        sides = _SIDES[clause.kind]
        where = None
        if clause.where is not None:
            where = self.names.check(clause.where, "condition", *sides)
            if clause.kind == "not matched by source":
                where = self.names.qualify(where, "target")
        columns: dict[str, Assignment] = {}
        defaults: frozenset[str] = frozenset()
        if clause.is_star:
            columns = dict(self._star(clause))
        elif clause.values is not None:
            columns, defaults = self._given(clause, clause.values, sides)
        if clause.action == "update":
            columns = self._with_kept(columns, defaults)
        return ResolvedClause(clause=clause, where=where, columns=columns)

    def _star(self, clause: MergeClause) -> Iterator[tuple[str, Assignment]]:
        for item in self.schema.fields:
            found = column_of_name(item.name, self.names.source)
            if found is not None:
                if not self.request.merge_schema:
                    check_whole((item.name,), found.data_type, item.data_type, merges=True)
                whole = SourceColumn(name=found.name, data_type=found.data_type)
                known = column_of_name(item.name, self.names.target)
                updates = clause.action == "update" and known is not None
                yield item.name, _with_kept_fields(whole, item.data_type) if updates else whole
            elif not (self.request.merge_schema or self._is_computed(item)):
                raise mismatch(
                    f"The source has no column {_shown((item.name,))}.",
                    f"{clause.words} * takes every column of the table from it, and it has "
                    f"{', '.join(name[:60] for name in self.names.source.names[:12])}.",
                    "Name the columns that are set, or merge with merge_schema=True.",
                )

    def _given(
        self, clause: MergeClause, values: Mapping[str, Any], sides: tuple[Side, ...]
    ) -> tuple[dict[str, Assignment], frozenset[str]]:
        """The values of columns, and the columns that get their default, which the gate gives to
        those that are not given."""

        def read(path: tuple[str, ...], value: Any) -> Expression:
            if len(path) > 1 and clause.action == "insert":
                raise mismatch(
                    f"{_shown(path)} is a field, and an insert gives whole columns.",
                    "What its other fields are nobody would say.",
                    "Give the column, as named_struct('city', source.city).",
                )
            is_text = isinstance(value, str)
            return Expression(value=self.names.check(value, "value", *sides) if is_text else value)

        names = SetNames(schema=self.schema, alias=self.names.target_alias, kind="schema_mismatch")
        tree, defaults = names.read(values, read)
        columns = {
            item.name: self._assignment(item, tree[item.name])
            for item in self.schema.fields
            if item.name in tree
        }
        return columns, defaults

    def _assignment(self, item: StructField, node: Any) -> Assignment:
        if isinstance(node, Expression):
            return node
        assert isinstance(item.data_type, StructType)
        return Fields(
            fields={
                inner.name: self._assignment(inner, node[inner.name])
                if inner.name in node
                else Kept()
                for inner in item.data_type.fields
                if inner.data_type != VOID
            }
        )

    def _with_kept(
        self, columns: dict[str, Assignment], defaults: frozenset[str]
    ) -> dict[str, Assignment]:
        """The values of an update: what is not set stays, and generated columns are computed."""
        for item in self.schema.fields:
            is_set = item.name in columns or item.name in defaults
            if is_set and is_identity(self.table, item):
                raise mismatch(
                    f"The identity column {_shown((item.name,))} cannot be updated.",
                    "Its numbers are given out once, and each only once.",
                    "Leave the column out; with `*`, name the columns that are set.",
                )
        known = {name.lower() for name in self.names.target.names}
        return {
            item.name: columns.get(item.name, Kept())
            for item in kept_columns(self.table, self.schema.fields, columns, defaults)
            if item.name in columns or item.name.lower() in known
        }

    def _is_computed(self, item: StructField) -> bool:
        return (
            item.data_type == VOID
            or is_generated(self.table, item)
            or is_identity(self.table, item)
        )


def _with_kept_fields(given: SourceColumn, target: DataType) -> Assignment:
    """What an update sets to the source's: of a struct that lacks fields of the table's, field by
    field, so that these stay."""
    if not (isinstance(given.data_type, StructType) and isinstance(target, StructType)):
        return given
    fields: dict[str, Assignment] = {}
    for item in target.fields:
        found = column_of_name(item.name, given.data_type)
        if found is None:
            if item.data_type != VOID:
                fields[item.name] = Kept()
            continue
        inner = replace(given, data_type=found.data_type, path=(*given.path, found.name))
        fields[item.name] = _with_kept_fields(inner, item.data_type)
    if any(isinstance(inner, Kept | Fields) for inner in fields.values()):
        return Fields(fields=fields, given=given)
    return given


def _shown(path: tuple[str, ...]) -> str:
    return render_path(tuple(name[:60] for name in path[-6:]))
