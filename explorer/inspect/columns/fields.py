"""The columns of a table, nested ones too (spec: Schema Serialization Format)."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from explorer.inspect.answer import LIMIT, VERSION, Answer
from explorer.inspect.frame_rows import plain_rows
from explorer.inspect.frames import Column, build_frame
from explorer.log.actions.columns import bool_column, int64_column, string_column
from explorer.protocol.features.column_mapping import FIELD_ID_KEY, PHYSICAL_NAME_KEY
from explorer.protocol.features.column_rules import (
    ColumnRule,
    column_rules,
    describe_identity,
)
from explorer.protocol.features.type_widening import (
    TypeChange,
    is_widening,
    type_changes_of,
)
from explorer.protocol.schema import parse_schema, render_type
from explorer.protocol.schema_walk import FieldPlace, render_path, walk_fields
from explorer.table.table import Table

COLUMNS: dict[str, Column] = {
    "path": (string_column, pa.string()),
    "name": (string_column, pa.string()),
    "type": (string_column, pa.string()),
    "nullable": (bool_column, pa.bool_()),
    "is_partition": (bool_column, pa.bool_()),
    "physical_name": (string_column, pa.string()),
    "field_id": (int64_column, pa.int64()),
    "comment": (string_column, pa.string()),
    "rules": (string_column, pa.string()),
    "type_changes": (string_column, pa.string()),
    "metadata": (string_column, pa.string()),
    "depth": (int64_column, pa.int64()),
}


def schema(table: Table, version: int | None = None) -> pa.Table:
    """One row per field in the order of the schema, each before those inside it.

    - `path`: the way to the field, as in ``address.`zip code` ``; `name`, `type`
      (like `array<long>`), `nullable`, `is_partition`
    - `physical_name` and `field_id` of column mapping, `comment`: null without
    - `rules`: what the column asks of writers in words, such as `generated as a + 1` or
      `varchar(5)`, and for values inside it `element: varchar(5)`;
      null without (`explorer.inspect.writer_rules` has them one by one)
    - `type_changes`: how its type was widened since, such as `integer to long`, with the way
      to an inner value, oldest first; null without. Old files still hold the former type
    - `metadata`: all metadata of the field as JSON
    - `depth`: how many fields enclose it

    A table that a snapshot refuses still has one; a schema that cannot be read
    raises `CorruptLogError` (schema_invalid).
    """
    metadata = table.metadata(version)
    partitions = set(metadata.partition_columns)
    parsed = parse_schema(metadata.schema_string)
    rules: defaultdict[str, list[str]] = defaultdict(list)
    paths = {place.path for place in walk_fields(parsed)}
    for rule in column_rules(parsed):
        if rule.kind != "not null":  # `nullable` says it
            path, way = _nearest(rule.path, paths)
            rules[path].append(f"{way}: {_in_words(rule)}" if way else _in_words(rule))
    widened = {
        place.path: _widened(place) for place in walk_fields(parsed) if type_changes_of(place)
    }
    facts = _Facts(partitions=partitions, rules=rules, widened=widened)
    return build_frame(COLUMNS, [_row(place, facts) for place in walk_fields(parsed)])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """What is known of fields beside their own type; rules and changes by path."""

    partitions: set[str]
    rules: Mapping[str, list[str]]
    widened: Mapping[str, str]


def _widened(place: FieldPlace) -> str:
    """`integer to long; element: short to long, which no reader can convert`."""
    return "; ".join(_change_in_words(place, change) for change in type_changes_of(place))


def _change_in_words(place: FieldPlace, change: TypeChange) -> str:
    way = render_path(change.path[len(place.names) :])
    sides = (change.from_type, change.to_type)
    before, after = ("unknown" if side is None else render_type(side) for side in sides)
    text = f"{way}: {before} to {after}" if way else f"{before} to {after}"
    can = None not in sides and is_widening(*sides)  # type: ignore[arg-type]
    return text if can else f"{text}, which no reader can convert"


def _nearest(path: str, paths: Set[str]) -> tuple[str, str]:
    """The field that a path leads to or into, and the way on: `a`, `element` for `a.element`."""
    field = path
    while field not in paths:
        field = field.rpartition(".")[0]
    return field, path[len(field) + 1 :]


def _in_words(rule: ColumnRule) -> str:
    if rule.identity is not None:
        return f"identity: {describe_identity(rule.identity)}"
    if rule.kind == "length":
        return rule.expression or "a length that cannot be read"
    words = {"generated": "generated as", "default": "default", "invariant": "always"}
    return f"{words[rule.kind]} {rule.expression}"


def _row(place: FieldPlace, facts: _Facts) -> tuple[Any, ...]:
    field = place.field
    metadata = field.metadata
    return (
        place.path,
        field.name,
        render_type(field.data_type),
        field.nullable,
        place.depth == 0 and field.name in facts.partitions,
        _string(metadata, PHYSICAL_NAME_KEY),
        _identifier(metadata),
        _string(metadata, "comment"),
        "; ".join(facts.rules[place.path]) if place.path in facts.rules else None,
        facts.widened.get(place.path),
        json.dumps(dict(metadata), ensure_ascii=False),
        place.depth,
    )


def _string(metadata: Mapping[str, Any], key: str) -> str | None:
    value = metadata.get(key)
    return value if isinstance(value, str) else None


def _identifier(metadata: Mapping[str, Any]) -> int | None:
    value = metadata.get(FIELD_ID_KEY)
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    return value if whole else None


SCHEMA: Final = Answer(
    name="schema",
    parameters=(VERSION, LIMIT),
    ask=lambda table, _, version=None: schema(table, version),
    documents=plain_rows,
    is_list=True,
)
