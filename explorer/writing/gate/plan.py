"""What becomes of a caller's rows on their way into a table, as plain data.

A plan is made once for each statement (`explorer.writing.gate.planning`), and carried out by
Arrow or by Spark. It says for each column of the table where its value comes from, and what every
row has to keep (spec: Schema Serialization Format, CHECK Constraints, Column Invariants, Generated
Columns, Default Columns, Identity Columns).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from explorer.protocol.character_types import CharacterType, Way
from explorer.protocol.features.column_rules import IdentityColumn
from explorer.protocol.schema import DataType, StructField, StructType
from explorer.rows.row_checks import RowChecks
from explorer.scan.predicate.calculations import Calculation
from explorer.scan.predicate.predicate import Condition
from explorer.scan.sql.table_expressions import StatementTime
from explorer.transaction.staged import ValidatedRule


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueCast:
    """How a value of type `source` becomes one of type `target`; `path` leads to it by the table's
    names, with `element`, `key` and `value` where it leads into those.

    Structs go field by field, in the table's order; arrays and maps by what is in them; every
    other value by store assignment (`explorer.writing.gate._assignment`). Text of `char(n)` is
    padded with spaces to its length.
    """

    path: Way
    source: DataType
    target: DataType
    characters: CharacterType | None = None
    fields: tuple[FieldCast, ...] = ()
    element: ValueCast | None = None
    key: ValueCast | None = None
    value: ValueCast | None = None

    @property
    def inner(self) -> tuple[ValueCast, ...]:
        """The casts of values inside."""
        every = (*(item.cast for item in self.fields), self.element, self.key, self.value)
        return tuple(cast for cast in every if cast is not None)

    @property
    def changes_nothing(self) -> bool:
        """Whether every value stays as it is."""
        same_names = all(item.given == item.field.name for item in self.fields)
        same = self.source == self.target or bool(self.inner)
        ordered = not isinstance(self.source, StructType) or (
            self.source.names == tuple(item.field.name for item in self.fields)
        )
        return (
            same
            and same_names
            and ordered
            and (self.characters is None or self.characters.name == "varchar")
            and all(item.changes_nothing for item in self.inner)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldCast:
    """A field of a struct of the table, and the given field that it comes from; null where
    `given` and `cast` are None."""

    field: StructField
    given: str | None = None
    cast: ValueCast | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableExpression:
    """An expression of the table.

    `written` is what the table says, `text` what Spark may be given in this statement
    (`explorer.scan.sql.table_expressions`), `columns` the table's columns that it speaks of.
    `condition` and `calculation` are the same for Arrow, None where only Spark can evaluate it.
    """

    written: str
    text: str
    columns: tuple[str, ...]
    condition: Condition | None = None
    calculation: Calculation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenValue:
    """A column of the caller's rows, by its name there."""

    name: str
    cast: ValueCast


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedValue:
    """A default, which speaks of no column, or a generated column, which speaks of others of the
    table. `cast` takes its value into the column; None where only Spark knows its type."""

    kind: Literal["default", "generated"]
    expression: TableExpression
    cast: ValueCast | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityValue:
    """The next numbers of an identity column (`explorer.writing.gate.identity`)."""

    identity: IdentityColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class NullValue:
    """Null: nothing was given, and nothing is said of what is missing."""


Source: TypeAlias = GivenValue | ComputedValue | IdentityValue | NullValue


@dataclass(frozen=True, slots=True, kw_only=True)
class GateColumn:
    """A column of the table, and where its values come from. Those of a partition column are
    texts in the log, where an empty one is a null: `empty_is_null` says that it becomes one here,
    before any rule is asked (spec: Partition Value Serialization)."""

    field: StructField
    source: Source
    empty_is_null: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRule:
    """A condition of every row, over the table's columns: false and null break it.

    `name` is that of a CHECK constraint, or the path of the column with the invariant, or of the
    generated `column`, whose given value must be what its expression says (`<=>`).
    """

    kind: Literal["check", "invariant", "generated", "statement"]
    name: str
    expression: TableExpression
    column: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GatePlan:
    """What becomes of a caller's rows.

    - `given`: the caller's columns, as types of the table
    - `schema`: the table's columns in order, void ones left out, for no file holds them
    - `columns`: one for each of these
    - `values`: NOT NULL and the lengths of texts, also inside structs, arrays and maps
    - `row_rules`: what is asked of whole rows, after every column has its value
    - `validated`: the rules of the table that rows have kept when they are through
    - `needs_spark`: why Arrow cannot carry this plan out; None where it can
    """

    given: StructType
    schema: StructType
    columns: tuple[GateColumn, ...]
    values: RowChecks
    row_rules: tuple[RowRule, ...]
    validated: frozenset[ValidatedRule]
    needs_spark: str | None
    time: StatementTime

    def rules(self) -> frozenset[ValidatedRule]:
        """What a commit of the rows may promise, as `Promises.validated`."""
        return self.validated

    @property
    def identity_columns(self) -> tuple[GateColumn, ...]:
        """The columns that get numbers."""
        return tuple(item for item in self.columns if isinstance(item.source, IdentityValue))

    @property
    def is_unchanged(self) -> bool:
        """Whether rows that keep the rules go on as they are."""
        same_order = self.given.names == self.schema.names
        return same_order and all(
            isinstance(item.source, GivenValue)
            and item.source.cast.changes_nothing
            and not item.empty_is_null
            for item in self.columns
        )
