"""What changed in a schema, field by field (spec: Schema Serialization Format)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import orjson

from explorer.comparison.matched_fields import (
    Described,
    MatchedField,
    MatchedType,
    match_schemas,
)
from explorer.protocol.features.column_mapping import field_id
from explorer.protocol.features.column_rules import (
    DEFAULT_KEY,
    GENERATION_KEY,
    IDENTITY_KEYS,
    INVARIANTS_KEY,
)
from explorer.protocol.features.type_widening import TYPE_CHANGES_KEY, is_widening
from explorer.protocol.schema import (
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    render_type,
)
from explorer.protocol.schema_walk import render_path

SchemaChangeKind = Literal[
    "added",
    "dropped",
    "renamed",
    "moved",
    "widened",
    "type",
    "nullability",
    "comment",
    "default",
    "generation",
    "identity",
    "invariant",
    "column mapping",
    "metadata",
    "partitioning",
]

_COMMENT: Final = "comment"
_COLUMN_MAPPING: Final = "delta.columnMapping."

_MEANINGS: Final[Mapping[str, str]] = {
    "added": "Files written before lack it: their rows have null there.",
    "added as required": "It is NOT NULL, but rows of files written before have null there.",
    "dropped": "Readers no longer see it; the data files keep its values until they are rewritten.",
    "renamed": "Column mapping: the name in the data files stays, and none is rewritten.",
    "renamed in files": "Without column mapping readers look for the new name: values under the "
    "old one are found only where case is ignored.",
    "moved": "Only the displayed order changes; files keep theirs.",
    "widened": "Files written before keep the narrower type: a reader must know type widening "
    "and convert their values.",
    "type": "No reader may convert the old values: files written before must have been replaced.",
    "relaxed": "Nulls may be written from now on.",
    "tightened": "Writers refuse nulls from now on.",
    "default": "Writers fill it in where a new row does not name the column; old rows stay.",
    "generation": "Writers compute the column with it; old rows stay.",
    "identity": "Writers continue from it; old rows stay.",
    "invariant": "Writers check new rows against it; old rows stay.",
    "partitioning": "Files are partitioned by these columns; only replacing all data changes that.",
}


_OF_TABLES: Final[Mapping[SchemaChangeKind, str]] = {
    "added": "Only the second table has the column.",
    "dropped": "Only the first table has the column.",
}
"""Of two tables neither was before the other, and nothing follows for files of either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaChange:
    """One difference of one field.

    `path` is the field's as the newer schema has it, as the older one had it where it
    was dropped; `path_before` is None for what is new. `before` and `after` are what
    differs, as text; `meaning` says what it is to readers and writers, and is empty where
    it is nothing. `field_id` is the column's id in data files, where it has one.
    """

    kind: SchemaChangeKind
    path: str
    path_before: str | None
    before: str | None
    after: str | None
    meaning: str = ""
    field_id: int | None = None


def schema_changes(older: Described, newer: Described) -> tuple[SchemaChange, ...]:
    """Every difference, in the order of the newer schema, partitioning last.

    Raises `CorruptLogError` of kind `schema_invalid` where one cannot be read.
    """
    return (*_changes(older, newer), *_partitioning(older, newer))


def schema_differences(one: Described, other: Described) -> tuple[SchemaChange, ...]:
    """Every difference between two tables, of which neither is older."""
    return tuple(
        replace(change, meaning=_OF_TABLES.get(change.kind, ""))
        for change in schema_changes(one, other)
    )


def _changes(older: Described, newer: Described) -> Iterator[SchemaChange]:
    for match in match_schemas(older, newer):
        if isinstance(match, MatchedField):
            yield from _field_changes(match)
        else:
            yield from _type_changes(match)


def _field_changes(match: MatchedField) -> Iterator[SchemaChange]:
    before, after = match.before, match.after
    if before is None and after is not None:
        meaning = "added" if after.nullable else "added as required"
        yield _change(match, "added", None, _described(after), meaning)
    elif before is not None and after is None:
        yield _change(match, "dropped", _described(before), None, "dropped")
    elif before is not None and after is not None:
        if before.name != after.name:
            mapped = field_id(before) is not None or field_id(after) is not None
            meaning = "renamed" if mapped else "renamed in files"
            yield _change(match, "renamed", before.name, after.name, meaning)
        if match.is_moved:
            yield _change(match, "moved", None, None, "moved")
        if before.nullable != after.nullable:
            yield _nullability(match, before.nullable, after.nullable)
        yield from _metadata_changes(match, before.metadata, after.metadata)


def _type_changes(match: MatchedType) -> Iterator[SchemaChange]:
    before, after = match.before, match.after
    if match.null_before is not None and match.null_before != match.null_after:
        yield _nullability(match, match.null_before, bool(match.null_after))
    if before != after and not _is_told_inside(before, after):
        kind: SchemaChangeKind = "widened" if is_widening(before, after) else "type"
        yield _change(match, kind, render_type(before), render_type(after), kind)


def _is_told_inside(before: DataType, after: DataType) -> bool:
    return type(before) is type(after) and isinstance(before, StructType | ArrayType | MapType)


def _nullability(match: MatchedField | MatchedType, before: bool, after: bool) -> SchemaChange:  # noqa: FBT001  # what the schema says
    words = {True: "nullable", False: "not null"}
    meaning = "relaxed" if after else "tightened"
    return _change(match, "nullability", words[before], words[after], meaning)


def _metadata_changes(
    match: MatchedField, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[SchemaChange]:
    same_type = match.before and match.after and match.before.data_type == match.after.data_type
    groups: dict[tuple[SchemaChangeKind, str], None] = {}
    for key in sorted(before.keys() | after.keys()):
        if before.get(key) != after.get(key) and (key != TYPE_CHANGES_KEY or same_type):
            groups[_group_of(key)] = None
    for kind, prefix in groups:
        was, now = _rendered(before, kind, prefix), _rendered(after, kind, prefix)
        yield _change(match, kind, was, now, kind)


def _group_of(key: str) -> tuple[SchemaChangeKind, str]:
    """What a key of a field's metadata is about, and the keys that belong to it."""
    if key.startswith(_COLUMN_MAPPING):
        return "column mapping", _COLUMN_MAPPING
    if key.startswith(IDENTITY_KEYS):
        return "identity", IDENTITY_KEYS
    return _KINDS.get(key, "metadata"), key


_KINDS: Final[Mapping[str, SchemaChangeKind]] = {
    _COMMENT: "comment",
    DEFAULT_KEY: "default",
    GENERATION_KEY: "generation",
    INVARIANTS_KEY: "invariant",
}


def _rendered(metadata: Mapping[str, Any], kind: SchemaChangeKind, prefix: str) -> str | None:
    """A value as it stands; several keys, or one that needs its name, as `name: value`."""
    if kind in _KINDS.values():
        return None if prefix not in metadata else _text(metadata[prefix])
    named = [
        f"{key.removeprefix(prefix) or key}: {_text(metadata[key])}"
        for key in sorted(metadata)
        if key == prefix or (kind != "metadata" and key.startswith(prefix))
    ]
    return ", ".join(named) or None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _described(field: StructField) -> str:
    return render_type(field.data_type) + ("" if field.nullable else ", not null")


def _change(
    match: MatchedField | MatchedType,
    kind: SchemaChangeKind,
    before: str | None,
    after: str | None,
    meaning: str,
) -> SchemaChange:
    field = None if isinstance(match, MatchedType) else match.after or match.before
    return SchemaChange(
        kind=kind,
        path=render_path(match.path_after or match.path_before),
        path_before=render_path(match.path_before) if match.path_before else None,
        before=before,
        after=after,
        meaning=_MEANINGS.get(meaning, ""),
        field_id=None if field is None else field_id(field),
    )


def _partitioning(older: Described, newer: Described) -> Iterator[SchemaChange]:
    before, after = (
        ", ".join(render_path((name,)) for name in snapshot.metadata.partition_columns)
        for snapshot in (older, newer)
    )
    if before != after:
        yield SchemaChange(
            kind="partitioning",
            path="",
            path_before="",
            before=before or None,
            after=after or None,
            meaning=_MEANINGS["partitioning"],
        )
