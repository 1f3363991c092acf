"""Making the plan of the gate from what a table says and what a caller gives."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from explorer.errors import DeltaError, InvalidArgumentError, UnsupportedError
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.character_types import CharacterType, Way
from explorer.protocol.features.column_rules import (
    DEFAULT_KEY,
    GENERATION_KEY,
    IDENTITY_KEYS,
    identity_column,
)
from explorer.protocol.schema import (
    BINARY,
    STRING,
    VOID,
    DataType,
    StructField,
    StructType,
    render_type,
)
from explorer.protocol.schema_walk import render_path, walk_types
from explorer.rows.row_checks import RowChecks, build_checks
from explorer.scan.predicate.calculations import Calculation, parse_calculation
from explorer.scan.predicate.domains import domain_of
from explorer.scan.predicate.parse import parse_condition
from explorer.scan.predicate.predicate import Condition
from explorer.scan.sql.table_expressions import StatementTime, check_table_expression
from explorer.scan.sql.uses import ExpressionUse
from explorer.transaction.rules.change import Described
from explorer.transaction.rules.row_rules import rules_for_rows
from explorer.transaction.staged import ValidatedRule
from explorer.writing.gate._assignment import (
    is_never_null,
    lengths_of,
    match_fields,
    missing,
    only_stored,
    plan_cast,
    spark_alone_casts,
    walk_casts,
    walk_checks,
    with_whole_structs,
)
from explorer.writing.gate.plan import (
    ComputedValue,
    GateColumn,
    GatePlan,
    GivenValue,
    IdentityValue,
    NullValue,
    RowRule,
    Source,
    TableExpression,
    ValueCast,
)
from explorer.writing.gate.refusals import mismatch

_DEFAULTS: Final = "allowColumnDefaults"
_GENERATED: Final = "generatedColumns"
_IDENTITY: Final = "identityColumns"
_CONSTRAINTS: Final = "delta.constraints."


def plan_gate(
    protocol: Protocol,
    metadata: Metadata,
    given: StructType,
    *,
    statement_time: datetime,
    kept: Collection[str] = (),
    conditions: Mapping[str, str] | None = None,
) -> GatePlan:
    """The gate for rows with the columns `given`, into the table that protocol and metadata
    describe: those of the version that is to be.

    `statement_time` has a zone, which is the session's; `current_timestamp()` is this moment in
    every row. `kept` are columns of the table whose values come from its
    own rows, as in an update: numbers of identity columns among them are taken as they are.
    `conditions` are what the statement itself asks of every row, by their names.

    Raises `InvalidArgumentError` of kind `schema_mismatch` where no row with these columns can be
    written, and `UnsupportedError` for a rule of the table whose expression Spark is not given.
    """
    table = Described(protocol=protocol, metadata=metadata)
    time = StatementTime(moment=statement_time)
    return _Planner(
        table=table,
        given=given,
        time=time,
        kept=frozenset(kept),
        conditions=dict(conditions or {}),
    ).plan()


def plan_computed(column: GateColumn, source: ComputedValue, data_type: DataType) -> ValueCast:
    """How a computed value, of the type that Spark found for its expression, becomes one of the
    column; raises `InvalidArgumentError` of kind `schema_mismatch` where it cannot."""
    if source.cast is not None and source.cast.source == data_type:
        return source.cast
    field = column.field
    lengths = lengths_of(build_checks(StructType(fields=(field,))))
    return plan_cast((field.name,), data_type, field.data_type, lengths)


def plan_value(path: Way, source: DataType, target: DataType) -> ValueCast:
    """How a value that met every rule when it was written becomes one of the type that its column
    has now; raises `InvalidArgumentError` of kind `schema_mismatch` where it cannot."""
    return plan_cast(path, source, target, {})


def check_default_type(field: StructField, text: str) -> None:
    """Raise `InvalidArgumentError` of kind `schema_mismatch` where the default of a column is of a
    type that the column does not store, as far as the type is known without Spark."""
    found = _calculation(text, StructType(fields=()))
    if found is None:
        return
    if found.data_type == STRING != field.data_type:
        # a write would take the text of a row; of a default other engines do not
        raise mismatch(
            f"The default of `{field.name[:120]}` is text.",
            f"The column is a {render_type(field.data_type)[:60]}.",
            "Write the default as a value of that type.",
        )
    plan_cast((field.name,), found.data_type, field.data_type, {})


@dataclass(frozen=True, kw_only=True)
class _Planner:
    table: Described
    given: StructType
    time: StatementTime
    kept: frozenset[str]
    conditions: Mapping[str, str]

    def plan(self) -> GatePlan:
        fields = self.table.schema.fields
        stored = StructType(fields=tuple(map(only_stored, _not_void(fields))))
        for item in stored.fields:
            if StructType() in walk_types(item.data_type):
                raise _holds_nothing(item.name)
        values = with_whole_structs(build_checks(stored))
        found = match_fields((), self.given, fields)
        lengths = lengths_of(values)
        for item in fields:
            if item.data_type == VOID and item.name in found:
                plan_cast((item.name,), found[item.name].data_type, VOID, {})
        partitions = self.table.metadata.partition_columns
        whole = {item.name: item.data_type for item in fields}
        columns = tuple(
            GateColumn(
                field=item,
                source=self._source(item, found.get(item.name), lengths, whole[item.name]),
                empty_is_null=item.name in partitions and item.data_type in {STRING, BINARY},
            )
            for item in stored.fields
        )
        rules = tuple(self._row_rules(columns))
        return GatePlan(
            given=self.given,
            schema=stored,
            columns=columns,
            values=values,
            row_rules=rules,
            validated=frozenset(self._validated(columns, values, rules)),
            needs_spark=_needs_spark(columns, rules),
            time=self.time,
        )

    def _source(
        self,
        item: StructField,
        given: StructField | None,
        lengths: dict[Way, CharacterType],
        whole: DataType,
    ) -> Source:
        """Where the values of a column come from; `whole` is its type with void fields."""
        path = (item.name,)
        if given is not None:
            if self._is_identity(item):
                self._check_explicit(item)
            cast = plan_cast(path, given.data_type, whole, lengths)
            return GivenValue(name=given.name, cast=cast)
        if self._is_identity(item):
            return IdentityValue(identity=identity_column(item))
        if (text := self._expression_of(item, GENERATION_KEY, _GENERATED)) is not None:
            expression = self._read(text, "rule", item.name)
            return self._computed("generated", item, expression, lengths)
        if (text := self._expression_of(item, DEFAULT_KEY, _DEFAULTS)) is not None:
            expression = self._read(text, "value", item.name)
            if expression.columns:
                raise _speaks_of_columns(item.name, text)
            return self._computed("default", item, expression, lengths)
        if is_never_null(item):
            raise missing(path, item.data_type)
        return NullValue()

    def _computed(
        self,
        kind: str,
        item: StructField,
        expression: TableExpression,
        lengths: dict[Way, CharacterType],
    ) -> ComputedValue:
        cast = None
        if expression.calculation is not None:
            source = expression.calculation.data_type
            cast = plan_cast((item.name,), source, item.data_type, lengths)
        is_default = kind == "default"
        return ComputedValue(
            kind="default" if is_default else "generated", expression=expression, cast=cast
        )

    def _is_identity(self, item: StructField) -> bool:
        return self.table.supports(_IDENTITY) and any(
            key.startswith(IDENTITY_KEYS) for key in item.metadata
        )

    def _check_explicit(self, item: StructField) -> None:
        if item.name in self.kept or identity_column(item).allow_explicit_insert:
            return
        raise mismatch(
            f"The column `{item.name[:200]}` must not be given.",
            "It is filled with numbers of its own, and was created GENERATED ALWAYS AS IDENTITY.",
            "Leave the column out.",
        )

    def _expression_of(self, item: StructField, key: str, feature: str) -> str | None:
        text = item.metadata.get(key)
        return text if isinstance(text, str) and self.table.supports(feature) else None

    def _row_rules(self, columns: tuple[GateColumn, ...]) -> Iterator[RowRule]:
        by_path = {render_path((item.field.name,)): item for item in columns}
        for rule, kind in rules_for_rows(self.table):
            path = rule.key.rpartition(" ")[0]
            if kind == "check":
                name = rule.key.removeprefix(_CONSTRAINTS)
                expression = self._read(rule.expression, "rule", name)
                yield RowRule(kind="check", name=name, expression=expression)
            elif kind == "invariant":
                expression = self._read(rule.expression, "rule", path)
                yield RowRule(kind="invariant", name=path, expression=expression)
            elif kind == "generated":
                column = by_path.get(path)
                if column is None:
                    raise _nested(path)
                if isinstance(column.source, GivenValue):
                    expression = self._read(rule.expression, "rule", path)
                    name = column.field.name
                    yield RowRule(kind="generated", name=path, expression=expression, column=name)

        for name, text in self.conditions.items():
            yield RowRule(kind="statement", name=name, expression=self._read(text, "rule", name))

    def _validated(
        self, columns: tuple[GateColumn, ...], values: RowChecks, rules: tuple[RowRule, ...]
    ) -> Iterator[ValidatedRule]:
        """The rules of the table that this plan holds rows to."""
        checks = [check for _, root in values.columns for check in walk_checks(root)]
        held = {
            "not null": {render_path(check.path) for check in checks if check.not_null},
            "length": {render_path(check.path) for check in checks if check.characters},
            "check": {f"{_CONSTRAINTS}{rule.name}" for rule in rules if rule.kind == "check"},
            "invariant": {rule.name for rule in rules if rule.kind == "invariant"},
            "generated": {
                render_path((item.field.name,))
                for item in columns
                if isinstance(item.source, GivenValue)
                or (isinstance(item.source, ComputedValue) and item.source.kind == "generated")
            },
            "identity": {render_path((item.field.name,)) for item in columns},
        }
        for rule, kind in rules_for_rows(self.table):
            name = rule.key if kind == "check" else rule.key.rpartition(" ")[0]
            if name in held[kind]:
                yield rule

    def _read(self, text: str, use: ExpressionUse, place: str) -> TableExpression:
        schema = self.table.schema
        try:
            checked = check_table_expression(text, schema, use, self.time)
        except InvalidArgumentError as error:
            raise UnsupportedError(
                f"Rows cannot be written: `{place[:200]}` has an expression that is not run.",
                reason=f"It is {text[:200]}. {error.problem} {error.reason}",
                remedy="Write with the engine that made the table, or drop the rule.",
                spec=error.spec,
            ) from error
        return TableExpression(
            written=text,
            text=checked.text,
            columns=checked.columns,
            condition=_condition(checked.text, schema),
            calculation=_calculation(checked.text, schema),
        )


def _holds_nothing(name: str) -> DeltaError:
    return UnsupportedError(
        f"`{name[:120]}` holds a struct without a field that files have.",
        reason="Its fields are of type void, or there are none, and Parquet has no such struct.",
        remedy="Give the struct a field of another type, or drop the column.",
        spec="Void Type",
    )


def _not_void(fields: Iterable[StructField]) -> Iterator[StructField]:
    return (item for item in fields if item.data_type != VOID)


def _condition(text: str, schema: StructType) -> Condition | None:
    try:
        return parse_condition(text, schema)
    except DeltaError:
        return None


def _calculation(text: str, schema: StructType) -> Calculation | None:
    try:
        return parse_calculation(text, schema)
    except DeltaError:
        return None


def _nested(path: str) -> UnsupportedError:
    return UnsupportedError(
        f"Rows cannot be written: `{path[:200]}` is generated.",
        reason="It is a field inside another column, and only columns of the table are generated.",
        remedy="Write with the engine that made the table.",
        spec="Generated Columns",
    )


def _speaks_of_columns(name: str, text: str) -> UnsupportedError:
    return UnsupportedError(
        f"Rows cannot be written: the default of `{name[:200]}` speaks of other columns.",
        reason=f"It is {text[:200]}, and a default is the same for every row.",
        remedy="Give the column, or set another default.",
        spec="Default Columns",
    )


def _needs_spark(columns: tuple[GateColumn, ...], rules: tuple[RowRule, ...]) -> str | None:
    """Why Arrow cannot carry a plan out, by the first reason there is."""
    for item in columns:
        name = item.field.name[:200]
        match item.source:
            case ComputedValue(cast=None, expression=expression):
                return f"`{name}` is computed as {expression.written[:200]}."
            case ComputedValue(cast=cast) | GivenValue(cast=cast):
                if (found := _cast_for_spark(cast)) is not None:
                    return found
    compared = {item.field.name for item in columns if domain_of(item.field.data_type) is not None}
    for rule in rules:
        expression = rule.expression
        known = expression.condition is not None
        if rule.kind == "generated":
            known = expression.calculation is not None and rule.column in compared
        if not known:
            return f"`{rule.name[:200]}` asks for {expression.written[:200]}."
    return None


def _cast_for_spark(cast: ValueCast | None) -> str | None:
    for one in () if cast is None else walk_casts(cast):
        if spark_alone_casts(one.source, one.target):
            return f"`{render_path(one.path)[:200]}` is cast as only Spark does."
    return None
