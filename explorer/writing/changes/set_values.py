"""The new values of an update: what SET says, made ready for one statement.

A value is SQL over the columns of the row as it was, which passes the gate of a table's own values
(`check_table_expression`), or something of Spark's that the caller has made. `DEFAULT` is the
column's default. A struct that was null and gets a field has nulls beside it. Numbers of identity
columns stay. How names are read: `set_tree`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import pyarrow as pa

from explorer.errors import DeltaError, InvalidArgumentError, UnsupportedError
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.schema import (
    BINARY,
    VARIANT,
    VOID,
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    parse_schema,
)
from explorer.protocol.schema_walk import render_path, walk_types
from explorer.scan.predicate.calculations import Calculation, parse_calculation
from explorer.scan.sql.table_expressions import StatementTime, check_table_expression
from explorer.transaction.rules.change import Described
from explorer.writing.changes.set_tree import SetNames, is_column, is_identity, kept_columns
from explorer.writing.gate.arrow_gate import row_values
from explorer.writing.gate.calculated_values import NotCalculatedError, calculate
from explorer.writing.gate.plan import TableExpression
from explorer.writing.gate.refusals import not_computed


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What one field gets. `text` is what Spark may be given, None for a `value` of Spark's own;
    `calculation` is the same for Arrow, None where only Spark can evaluate it."""

    path: tuple[str, ...]
    written: str
    text: str | None = None
    value: Any = field(default=None, compare=False)
    calculation: Calculation | None = None

    @property
    def expression(self) -> TableExpression:
        """The value as an expression of a table, for messages."""
        return TableExpression(written=self.written, text=self.text or "", columns=(self.path[0],))


SetTree: TypeAlias = dict[str, "Assignment | SetTree"]
"""Assignments by the names that lead to them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatePlan:
    """What an update makes of a row. `kept` are the columns that go into the gate, in order, each
    as it was or by `tree`; others of the table are computed there."""

    kept: tuple[StructField, ...]
    tree: SetTree
    identities: frozenset[str]

    @property
    def assignments(self) -> tuple[Assignment, ...]:
        """All of them."""
        return tuple(_leaves(self.tree))

    @property
    def needs_spark(self) -> str | None:
        """Why only Spark can compute the values; None where not."""
        for item in self.assignments:
            if item.calculation is None:
                name = render_path(item.path)[:120]
                return f"`{name}` is set to {item.written[:120]}."
        return None

    def given(self) -> StructType:
        """The columns that the gate is given, where all values are calculated here."""
        return StructType(fields=tuple(_given(item, self.tree) for item in self.kept))

    def apply(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The columns of `given` for rows with the table's columns.

        Raises `InvalidArgumentError` of kind `rows_refused` for a row without a value.
        """
        arrays = []
        for item in self.kept:
            held = rows.column(item.name)
            at = self.tree.get(item.name)
            arrays.append(held if at is None else _computed(at, held, rows))
        names = [item.name for item in self.kept]
        return pa.RecordBatch.from_arrays(arrays, names=names)


def plan_update(
    protocol: Protocol, metadata: Metadata, values: Mapping[str, Any], time: StatementTime
) -> UpdatePlan:
    """Read what SET says; raises `InvalidArgumentError` for names and values that cannot be meant,
    and `UnsupportedError` for columns that no update may set."""
    if not isinstance(values, Mapping) or not values:
        raise InvalidArgumentError(
            "An update sets no column.",
            reason="Its values are given by the names of columns.",
            remedy='Give for example set={"price": "price * 1.1"}.',
        )
    schema = parse_schema(metadata.schema_string)
    table = Described(protocol=protocol, metadata=metadata)
    tree, defaults = SetNames(schema=schema).read(
        values, lambda path, value: _assignment(path, value, schema, time)
    )
    identities = frozenset(item.name for item in schema.fields if is_identity(table, item))
    if taken := sorted(identities & {*tree, *defaults}):
        raise UnsupportedError(
            f"The identity column `{taken[0][:120]}` cannot be updated.",
            reason="Its numbers are given once, and tell rows apart.",
            remedy="Leave it out, or delete the row and write it again.",
            spec="Identity Columns",
        )
    kept = kept_columns(table, schema.fields, tree, defaults)
    return UpdatePlan(kept=kept, tree=tree, identities=identities)


def _assignment(
    path: tuple[str, ...], value: Any, schema: StructType, time: StatementTime
) -> Assignment:
    if not isinstance(value, str):
        if is_column(value):
            return Assignment(path=path, written="a column of Spark", value=value)
        raise InvalidArgumentError(
            f"`{render_path(path)[:120]}` cannot be set to a {type(value).__name__[:60]}.",
            reason="A value is the text of a SQL expression, or a Column of Spark.",
            remedy='Write for example "\'x\'" for a text, "1" for a number, or "NULL".',
        )
    checked = check_table_expression(value, schema, "value", time)
    try:
        calculation = parse_calculation(checked.text, schema)
    except DeltaError:
        calculation = None
        _check_no_variants(value, checked.columns, schema)
    return Assignment(path=path, written=value, text=checked.text, calculation=calculation)


def _check_no_variants(text: str, columns: tuple[str, ...], schema: StructType) -> None:
    fields = tuple(item for item in schema.fields if item.name in columns)
    if VARIANT in walk_types(StructType(fields=fields)):
        raise UnsupportedError(
            f"The value {text[:120]} speaks of a variant column.",
            reason="Rows are changed with variants as they are stored, which Spark does not read.",
            remedy="Say it of other columns, or set a variant to another column as it is.",
            spec="Variant Data Type",
        )


def _leaves(tree: SetTree) -> Iterator[Assignment]:
    for item in tree.values():
        if isinstance(item, Assignment):
            yield item
        else:
            yield from _leaves(item)


def _given(item: StructField, tree: SetTree) -> StructField:
    at = tree.get(item.name)
    if isinstance(at, Assignment):
        assert at.calculation is not None
        return replace(item, data_type=_as_stored(at.calculation.data_type))
    if at is None or not isinstance(item.data_type, StructType):
        return replace(item, data_type=_as_stored(item.data_type))
    inner = tuple(_given(one, at) for one in item.data_type.fields if one.data_type != VOID)
    return replace(item, data_type=StructType(fields=inner))


_STORED_VARIANT = StructType(
    fields=tuple(
        StructField(name=name, data_type=BINARY, nullable=False, metadata={})
        for name in ("metadata", "value")
    )
)


def _as_stored(kind: DataType) -> DataType:
    """The type as rows have it that are to be changed: variants as they are stored."""
    match kind:
        case StructType(fields=fields):
            inner = (replace(item, data_type=_as_stored(item.data_type)) for item in fields)
            return StructType(fields=tuple(item for item in inner if item.data_type != VOID))
        case ArrayType():
            return replace(kind, element_type=_as_stored(kind.element_type))
        case MapType():
            return replace(
                kind, key_type=_as_stored(kind.key_type), value_type=_as_stored(kind.value_type)
            )
    return _STORED_VARIANT if kind == VARIANT else kind


def _computed(at: Assignment | SetTree, held: pa.Array, rows: pa.RecordBatch) -> pa.Array:
    if isinstance(at, Assignment):
        assert at.calculation is not None
        try:
            return calculate(at.calculation, rows)
        except NotCalculatedError as error:
            refusal = not_computed(render_path(at.path), at.expression, error.why)
            raise replace(refusal, spec=None).error(row_values(rows, error.row)) from None
    # flatten, unlike field access, makes a field null where its struct is
    inner = dict(zip(held.type.names, held.flatten(), strict=True))
    for name, below in at.items():
        inner[name] = _computed(below, inner[name], rows)
    if not len(held):
        kinds = [pa.field(name, values.type) for name, values in inner.items()]
        return pa.array([], pa.struct(kinds))
    return pa.StructArray.from_arrays(list(inner.values()), names=list(inner))
