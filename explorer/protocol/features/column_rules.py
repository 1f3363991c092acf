"""What columns ask of writers (spec: Column Invariants, Generated Columns, Default Columns,
Identity Columns; `nullable` in Schema Serialization Format), and the lengths that Spark keeps.

None of it concerns readers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, Literal

import orjson

from explorer.protocol.character_types import character_types
from explorer.protocol.schema import CHARACTER_TYPE_KEY, StructField, StructType
from explorer.protocol.schema_walk import FieldPlace, render_path, walk_fields
from explorer.records import record

GENERATION_KEY: Final = "delta.generationExpression"
INVARIANTS_KEY: Final = "delta.invariants"
DEFAULT_KEY: Final = "CURRENT_DEFAULT"
IDENTITY_KEYS: Final = "delta.identity."
_HIGH_WATER_MARK: Final = re.compile(r'("delta\.identity\.highWaterMark"\s*:\s*)-?\d+')

ColumnRuleKind = Literal["not null", "length", "invariant", "generated", "default", "identity"]


@record
class ColumnRule:
    """One rule; `path` is the logical field path as text, `key` where the rule stands in
    the field: a key of its metadata, a family of keys, or `nullable`.

    `expression` is SQL, None for rules that have none. That of a length is the type, such as
    `varchar(5)`, None where the metadata cannot be read; its path leads to the value, into
    arrays and maps too.
    """

    kind: ColumnRuleKind
    path: str
    key: str
    expression: str | None = None
    identity: IdentityColumn | None = None


@record
class IdentityColumn:
    """How the numbers of a column are made; None for what the schema does not say.

    `high_water_mark` is the last number given out: the largest with a positive
    `step`, the smallest with a negative one; None before the first.
    """

    start: int | None
    step: int | None
    high_water_mark: int | None
    allow_explicit_insert: bool | None


def without_high_water_marks(schema_string: str) -> str:
    """A schema with the same high-water mark in all identity columns: every write moves these
    numbers, and they say nothing of what the columns are."""
    return _HIGH_WATER_MARK.sub(r"\g<1>0", schema_string)


def column_rules(schema: StructType) -> Iterator[ColumnRule]:
    """Every rule of every field, nested ones too, in the order of the schema."""
    for place in walk_fields(schema):
        field, path = place.field, place.path
        if not field.nullable:
            yield ColumnRule(kind="not null", path=path, key="nullable")
        yield from _lengths(place)
        if (text := _text(field, INVARIANTS_KEY)) is not None:
            expression = parse_invariant(text)
            yield ColumnRule(kind="invariant", path=path, key=INVARIANTS_KEY, expression=expression)
        if (text := _text(field, GENERATION_KEY)) is not None:
            yield ColumnRule(kind="generated", path=path, key=GENERATION_KEY, expression=text)
        if (text := _text(field, DEFAULT_KEY)) is not None:
            yield ColumnRule(kind="default", path=path, key=DEFAULT_KEY, expression=text)
        if any(key.startswith(IDENTITY_KEYS) for key in field.metadata):
            identity = identity_column(field)
            yield ColumnRule(kind="identity", path=path, key=f"{IDENTITY_KEYS}*", identity=identity)


def _lengths(place: FieldPlace) -> Iterator[ColumnRule]:
    found = character_types(place.field)
    if found is None:
        yield ColumnRule(kind="length", path=place.path, key=CHARACTER_TYPE_KEY)
        return
    for way, kind in found.items():
        path = render_path((*place.names, *way))
        yield ColumnRule(kind="length", path=path, key=CHARACTER_TYPE_KEY, expression=kind.text)


def parse_invariant(text: str) -> str:
    """The SQL expression of an invariant: JSON with `expression.expression`, or, as an older
    revision has it, the bare expression. `{"expression":{"expression":"x > 3"}}` is `x > 3`."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    inner = value.get("expression") if isinstance(value, dict) else None
    found = inner.get("expression") if isinstance(inner, dict) else None
    return found if isinstance(found, str) else text


def identity_column(field: StructField) -> IdentityColumn:
    """What a field says of its numbers."""
    explicit = field.metadata.get(f"{IDENTITY_KEYS}allowExplicitInsert")
    return IdentityColumn(
        start=_long(field, f"{IDENTITY_KEYS}start"),
        step=_long(field, f"{IDENTITY_KEYS}step"),
        high_water_mark=_long(field, f"{IDENTITY_KEYS}highWaterMark"),
        allow_explicit_insert=explicit if isinstance(explicit, bool) else None,
    )


def describe_identity(identity: IdentityColumn) -> str:
    """In words: `start 1, step 1, given out up to 4, values may be given`."""
    explicit = {True: "values may be given", False: "values may not be given", None: ""}
    numbers = (f"start {identity.start}", f"step {identity.step}")
    mark = (
        "none given out yet"
        if identity.high_water_mark is None
        else f"given out up to {identity.high_water_mark}"
    )
    parts = (*numbers, mark, explicit[identity.allow_explicit_insert])
    return ", ".join(part for part in parts if part)


def _text(field: StructField, key: str) -> str | None:
    value: Any = field.metadata.get(key)
    return value if isinstance(value, str) else None


def _long(field: StructField, key: str) -> int | None:
    value: Any = field.metadata.get(key)
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and -(2**63) <= value < 2**63 else None
