"""The columns of a table, nested ones too (spec: Schema Serialization Format)."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from explorer.inspect.frames import Column, build_frame
from explorer.log.columns import bool_column, int64_column, string_column
from explorer.protocol.features.column_rules import (
    ColumnRule,
    column_rules,
    describe_identity,
)
from explorer.protocol.schema import parse_schema, render_type
from explorer.protocol.schema_walk import FieldPlace, walk_fields
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
    "metadata": (string_column, pa.string()),
    "depth": (int64_column, pa.int64()),
}

_PHYSICAL_NAME = "delta.columnMapping.physicalName"
_FIELD_ID = "delta.columnMapping.id"


def schema(table: Table, version: int | None = None) -> pa.Table:
    """One row per field in the order of the schema, each before those inside it.

    - `path`: the way to the field, as in ``address.`zip code` ``; `name`, `type`
      (like `array<long>`), `nullable`, `is_partition`
    - `physical_name` and `field_id` of column mapping, `comment`: null without
    - `rules`: what the column asks of writers in words, such as `generated as a + 1`;
      null without (`explorer.inspect.writer_rules` has them one by one)
    - `metadata`: all metadata of the field as JSON
    - `depth`: how many fields enclose it

    A table that a snapshot refuses still has one; a schema that cannot be read
    raises `CorruptLogError` (schema_invalid).
    """
    metadata = table.metadata(version)
    partitions = set(metadata.partition_columns)
    parsed = parse_schema(metadata.schema_string or "")
    rules: defaultdict[str, list[str]] = defaultdict(list)
    for rule in column_rules(parsed):
        if rule.kind != "not null":  # `nullable` says it
            rules[rule.path].append(_in_words(rule))
    return build_frame(COLUMNS, [_row(place, partitions, rules) for place in walk_fields(parsed)])


def _in_words(rule: ColumnRule) -> str:
    if rule.identity is not None:
        return f"identity: {describe_identity(rule.identity)}"
    words = {"generated": "generated as", "default": "default", "invariant": "always"}
    return f"{words[rule.kind]} {rule.expression}"


def _row(
    place: FieldPlace, partitions: set[str], rules: Mapping[str, list[str]]
) -> tuple[Any, ...]:
    field = place.field
    metadata = field.metadata
    return (
        place.path,
        field.name,
        render_type(field.data_type),
        field.nullable,
        place.depth == 0 and field.name in partitions,
        _string(metadata, _PHYSICAL_NAME),
        _identifier(metadata),
        _string(metadata, "comment"),
        "; ".join(rules[place.path]) if place.path in rules else None,
        json.dumps(dict(metadata), ensure_ascii=False),
        place.depth,
    )


def _string(metadata: Mapping[str, Any], key: str) -> str | None:
    value = metadata.get(key)
    return value if isinstance(value, str) else None


def _identifier(metadata: Mapping[str, Any]) -> int | None:
    value = metadata.get(_FIELD_ID)
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    return value if whole else None
