"""A column in words: its type, and what writers have to keep."""

from __future__ import annotations

from collections.abc import Iterator

from explorer.protocol.features.column_rules import ColumnRule, column_rules
from explorer.protocol.schema import StructField, StructType, render_type
from explorer.protocol.schema_walk import render_path


def describe_column(field: StructField) -> str:
    """`long, not null, identity from 1 by 1`; a rule about a value inside of the column
    begins with the path to it."""
    return ", ".join([render_type(field.data_type), *_rules(field)])


def _rules(field: StructField) -> Iterator[str]:
    own = render_path((field.name,))
    for rule in column_rules(StructType(fields=(field,))):
        yield _words(rule) if rule.path == own else f"{rule.path} {_words(rule)}"


def _words(rule: ColumnRule) -> str:
    if (identity := rule.identity) is not None:
        explicit = ", values may be given" if identity.allow_explicit_insert else ""
        return f"identity from {identity.start} by {identity.step}{explicit}"
    match rule.kind:
        case "generated":
            return f"generated as {rule.expression}"
        case "length":
            return rule.expression or "text of a length that cannot be read"
        case "default" | "invariant":
            return f"{rule.kind} {rule.expression}"
        case _:
            return rule.kind
