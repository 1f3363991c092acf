"""What columns may be when they come into a table (spec: Schema Serialization Format, Column
Mapping, Generated Columns, Default Columns, Identity Columns).

Rules that hold for every commit are those of `explorer.transaction.rules`; here is what the
reference asks of new columns besides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from explorer.errors import InvalidArgumentError
from explorer.log.state.statistics_columns import check_statistics_columns
from explorer.protocol.actions import EPOCH, Metadata
from explorer.protocol.features.column_rules import (
    DEFAULT_KEY,
    GENERATION_KEY,
    IDENTITY_KEYS,
    identity_column,
)
from explorer.protocol.schema import (
    MAX_SCHEMA_DEPTH,
    VOID,
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
)
from explorer.protocol.schema_walk import FieldPlace, validate_schema, walk_fields, walk_types
from explorer.protocol.table_properties.known_properties import (
    COLUMN_MAPPING_MODE,
    STATS_COLUMNS,
    MappingMode,
)
from explorer.protocol.table_properties.properties import check_constraints
from explorer.protocol.values.unicode_text import check_unicode
from explorer.scan.sql.table_expressions import StatementTime, check_table_expression
from explorer.writing.gate.planning import check_default_type
from explorer.writing.schema._data_schema import nullable_type
from explorer.writing.schema.generated_types import (
    check_generated_type,
    check_without_length,
    type_of_expression,
)

_SPECIAL: Final = frozenset(" ,;{}()\n\t=")
"""Characters that no column may have in its name while files hold it under that name."""

_SHOWN: Final = 120
_ANY_TIME: Final = StatementTime(moment=EPOCH)
"""Whether an expression may be evaluated does not depend on when."""


def check_schema(schema: StructType) -> None:
    """Raise `InvalidArgumentError` where two columns have one name but for its case, one has
    none, or a type is unknown or nested too deep."""
    _check_depth(schema)
    for place in walk_fields(schema):
        check_unicode(place.field.name, "The name of a column cannot be read.")
    problems = validate_schema(schema)
    if problems:
        first = problems[0]
        remedy = "Give every column a name and a type of its own."
        raise _refused(first.problem, first.reason, remedy, first.spec)


def _check_depth(schema: StructType) -> None:
    level: list[DataType] = [schema]
    for _ in range(MAX_SCHEMA_DEPTH):
        level = [kind for outer in level for kind in _inside(outer)]
    if any(map(_inside, level)):
        raise _refused(
            f"A column is nested more than {MAX_SCHEMA_DEPTH} types deep.",
            "No reader here would open the table.",
            "Keep what is deeper as JSON, or as a variant.",
            "Schema Serialization Format",
        )


def check_new_columns(places: Iterable[FieldPlace], mode: MappingMode) -> None:
    """Raise `InvalidArgumentError` for a column whose name or type the reference refuses."""
    for place in places:
        path, field = place.path[:_SHOWN], place.field
        if mode == "none" and _SPECIAL & set(field.name):
            raise _refused(
                f"The column {path} has a space or one of ,;{{}}()=, a tab or a line break in its "
                "name.",
                "Data files name their columns, and such names cannot be read everywhere.",
                f"Rename it, or map the columns: {COLUMN_MAPPING_MODE.name} = name.",
                "Column Mapping",
            )
        if StructType() in walk_types(field.data_type):
            raise _refused(
                f"The column {path} has a struct without fields.",
                "Data files cannot hold one.",
                "Leave it out, or give the struct a field.",
                "Schema Serialization Format",
            )
        for part in _parts(field.data_type):
            if VOID in walk_types(part):
                raise _refused(
                    f"The column {path} has values of no type in an array or a map.",
                    "Data files do not hold such values, and the array would lose its length.",
                    "Cast the column to an array or a map of some type.",
                    "Void Type",
                )


def check_nested_nulls(schema: StructType) -> None:
    """Raise `InvalidArgumentError` for a NOT NULL inside the elements of an array or the keys
    or values of a map: the reference refuses a table with one."""
    for place in walk_fields(schema):
        for part in _parts(place.field.data_type):
            if part != nullable_type(part):
                raise _refused(
                    f"{place.path[:_SHOWN]} holds values that may not be null, in an array or a "
                    "map.",
                    "Delta Spark does not keep such rules, and refuses the table.",
                    "Let what is inside of it be null.",
                    "Schema Serialization Format",
                )


def check_filled_columns(schema: StructType, partition_columns: Collection[str]) -> None:
    """Raise `InvalidArgumentError` for generated, default and identity columns that no writer
    could fill."""
    filled = {field.name.lower() for field in schema.fields if GENERATION_KEY in field.metadata}
    for place in walk_fields(schema):
        field, path = place.field, place.path[:_SHOWN]
        ways = list(_ways_to_fill(field))
        if len(ways) > 1:
            raise _filled(f"The column {path} is {' and '.join(ways)}.", "Only one can be.")
        if ways and place.parents:
            raise _filled(
                f"The column {path} is {ways[0]} and lies inside another one.",
                "Only columns of the table itself are filled.",
            )
        if "an identity column" in ways:
            _check_identity(field, path, partition_columns)
        default = field.metadata.get(DEFAULT_KEY)
        if isinstance(default, str):  # it knows no row
            checked = check_table_expression(default, StructType(), "value", _ANY_TIME)
            check_default_type(field, checked.text)
        text = field.metadata.get(GENERATION_KEY)
        if isinstance(text, str):
            checked = check_table_expression(text, schema, "rule", _ANY_TIME)
            used = checked.columns
            if wrong := sorted({name.lower() for name in used} & (filled | {field.name.lower()})):
                raise _filled(
                    f"The generated column {path} is made from {wrong[0][:_SHOWN]}.",
                    "A generated column is made from columns that rows bring.",
                )
            check_without_length(field)
            if (found_type := type_of_expression(checked.text, schema)) is not None:
                check_generated_type(field, text, found_type)


def columns_of_expression(text: str, schema: StructType) -> frozenset[str]:
    """The columns that a rule of the table speaks of; raises what `check_table_expression`
    raises."""
    return frozenset(check_table_expression(text, schema, "rule", _ANY_TIME).columns)


def check_properties_of_columns(metadata: Metadata, columns: StructType) -> None:
    """Raise `InvalidArgumentError` where a CHECK constraint cannot be evaluated, or statistics
    are asked for of a column that there is not."""
    for text in check_constraints(metadata.configuration).values():
        columns_of_expression(text, columns)
    named = metadata.configuration.get(STATS_COLUMNS.name, "")
    check_statistics_columns(metadata, named)


def _check_identity(field: StructField, path: str, partition_columns: Collection[str]) -> None:
    identity = identity_column(field)
    if None in (identity.start, identity.step, identity.allow_explicit_insert):
        raise _filled(
            f"The identity column {path} does not say how its numbers are made.",
            f"It needs {IDENTITY_KEYS}start, .step and .allowExplicitInsert.",
        )
    if field.name in partition_columns:
        raise _filled(
            f"The identity column {path} partitions the table.",
            "Each row would have a partition of its own.",
        )


def _ways_to_fill(field: StructField) -> Iterator[str]:
    if GENERATION_KEY in field.metadata:
        yield "a generated column"
    if DEFAULT_KEY in field.metadata:
        yield "a column with a default"
    if any(key.startswith(IDENTITY_KEYS) for key in field.metadata):
        yield "an identity column"


def _inside(data_type: DataType) -> tuple[DataType, ...]:
    if isinstance(data_type, StructType):
        return tuple(item.data_type for item in data_type.fields)
    return _parts(data_type)


def _parts(data_type: DataType) -> tuple[DataType, ...]:
    match data_type:
        case ArrayType(element_type=element):
            return (element,)
        case MapType(key_type=key, value_type=value):
            return (key, value)
        case _:
            return ()


def _filled(problem: str, reason: str) -> InvalidArgumentError:
    remedy = "Change the column, or let rows bring its values."
    return _refused(problem, reason, remedy, "Generated Columns")


def _refused(problem: str, reason: str, remedy: str, spec: str | None) -> InvalidArgumentError:
    return InvalidArgumentError(problem, reason=reason, remedy=remedy, spec=spec)
