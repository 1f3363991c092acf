"""The types of generated columns: those of their expressions, as the reference asks for
(spec: Generated Columns).

What an expression is of is known here for calculations, conditions and casts; of others Spark can
tell, where a session is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from explorer.errors import DeltaError, InvalidArgumentError
from explorer.protocol.character_types import character_types
from explorer.protocol.features.column_rules import GENERATION_KEY
from explorer.protocol.schema import (
    BOOLEAN,
    DataType,
    DecimalType,
    StructField,
    StructType,
    render_type,
)
from explorer.protocol.schema_walk import walk_fields
from explorer.scan.predicate.calculations import parse_calculation
from explorer.scan.predicate.parse import bare, parse_condition, parse_sql
from explorer.writing.schema._data_schema import nullable_type
from explorer.writing.schema.schema_text import parse_schema_text

_SHOWN = 120


def generated_columns(schema: StructType) -> Iterator[tuple[StructField, str]]:
    """Each generated column, and its expression."""
    for item in schema.fields:
        text = item.metadata.get(GENERATION_KEY)
        if isinstance(text, str):
            yield item, text


def type_of_expression(text: str, schema: StructType) -> DataType | None:
    """The type that Spark has for an expression over the columns of `schema`, which has passed
    `check_table_expression`; None where only Spark can tell."""
    try:
        node = bare(parse_sql(text))
    except DeltaError:
        return None
    if _is_cast(node):
        return _cast_to(node)
    try:
        found = parse_calculation(text, schema).data_type
    except DeltaError:
        pass
    else:
        # `5L` and CAST(5 AS BIGINT) are one here, but not the decimals that Spark makes of them
        has_casts = any(_is_cast(part) for part in node.walk())
        return None if has_casts and isinstance(found, DecimalType) else found
    try:
        parse_condition(text, schema)
    except DeltaError:
        return None
    return BOOLEAN


def check_generated_type(field: StructField, text: str, found: DataType) -> None:
    """Raise `InvalidArgumentError` of kind `schema_mismatch` where the expression of a generated
    column, of the type `found`, has another type than the column; what may be null is no
    difference."""
    if nullable_type(found) == nullable_type(field.data_type):
        return
    theirs, ours = (render_type(kind)[:_SHOWN] for kind in (found, field.data_type))
    raise InvalidArgumentError(
        f"The generated column {field.name[:_SHOWN]} is a {ours}, and its expression a {theirs}.",
        reason=f"Its value is {text[:200]}, which is not cast to the type of the column; "
        "Delta Spark refuses such a column too.",
        remedy=f"Make the column a {theirs}, or cast the expression: CAST(… AS {ours}).",
        kind="schema_mismatch",
        spec="Generated Columns",
    )


def check_without_length(field: StructField) -> None:
    """Raise `InvalidArgumentError` of kind `schema_mismatch` for a generated column that is, or
    holds, a `char(n)` or `varchar(n)`: no expression is of such a type, and Spark refuses one."""
    for place in walk_fields(StructType(fields=(field,))):
        lengths = (character_types(place.field) or {}).values()
        for kind in lengths:
            raise InvalidArgumentError(
                f"The generated column {field.name[:_SHOWN]} is a {kind.text}.",
                reason="Its expression is a string of any length, which is not cast to the type of "
                "the column; Delta Spark refuses such a column too.",
                remedy="Make the column a STRING, and add a CHECK constraint where its length "
                "matters.",
                kind="schema_mismatch",
                spec="Generated Columns",
            )


def _is_cast(node: Any) -> bool:
    return type(node).__name__ in {"Cast", "TryCast"}


def _cast_to(node: Any) -> DataType | None:
    try:
        schema = parse_schema_text(f"c {node.args['to'].sql(dialect='spark')}")
    except DeltaError:
        return None
    return schema.fields[0].data_type
