"""Columns of file actions from the structs as which Arrow reads their JSON (spec: Actions)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from explorer.log.actions.columns import (
    COLUMNS,
    DELETION_VECTOR,
    STRING_MAP,
    TIME,
    bool_column,
    build_even_maps,
    schema_of,
)
from explorer.log.actions.fields import FIELDS, FieldKind, FileAction
from explorer.log.actions.keys import MAY_BE_ABSOLUTE, file_key
from explorer.log.text_bytes import holds_byte, may_begin_with


@dataclass(frozen=True, slots=True, kw_only=True)
class FileActions:
    """Some adds or removes, in the order of their lines.

    `rows` have the columns of `ADD_COLUMNS` or `REMOVE_COLUMNS`, `keys` are those of
    their reconciliation, and `has_vectors` is whether one has a deletion vector;
    `keys_are_paths` says that the column `path` has just these keys.
    """

    rows: pa.RecordBatch
    keys: Sequence[str]
    has_vectors: bool
    keys_are_paths: bool

    def only(self, wanted: Sequence[bool]) -> pa.RecordBatch:
        """Some of the rows."""
        return self.rows.filter(bool_column(wanted))


def columns_of_structs(action: FileAction, found: pa.StructArray) -> FileActions | None:
    """The actions of the rows that have one; None where a value is missing that tells
    things apart."""
    found = found.drop_null() if found.null_count else found
    raw = dict(zip((field.name for field in found.type), found.flatten(), strict=True))
    columns: list[pa.Array] = []
    schema = schema_of(COLUMNS[action])
    for (log_name, kind), field in zip(FIELDS[action].values(), schema, strict=True):
        there = raw.get(log_name)
        column = pa.nulls(len(found), field.type) if there is None else _column(kind, there)
        if column is None:
            return None
        columns.append(column)
    paths, vectors = raw.get("path"), raw.get("deletionVector")
    keys = _keys(paths, vectors)
    if keys is None:
        return None
    has_vectors = vectors is not None and vectors.null_count < len(vectors)
    return FileActions(
        rows=pa.RecordBatch.from_arrays(columns, schema=schema),
        keys=keys,
        has_vectors=has_vectors,
        keys_are_paths=not has_vectors and not may_begin_with(paths, MAY_BE_ABSOLUTE),
    )


def _column(kind: FieldKind, raw: pa.Array) -> pa.Array | None:
    if kind == "time":
        return raw.view(TIME)
    if kind == "string_map":
        return _string_map(raw)
    if kind == "deletion_vector":
        return _deletion_vector(raw)
    return raw


def _string_map(raw: pa.StructArray) -> pa.Array | None:
    """A map of a struct; None where it cannot be told whether a name is missing or null."""
    size = len(raw)
    if raw.null_count:
        return pa.nulls(size, STRING_MAP) if raw.null_count == size else None
    parts = raw.flatten()
    if any(part.null_count for part in parts):
        return None
    return build_even_maps([field.name for field in raw.type], parts, size)


def _deletion_vector(raw: pa.StructArray) -> pa.Array | None:
    """Descriptors; None where one lacks what its id is made of."""
    if raw.null_count == len(raw):
        return pa.nulls(len(raw), DELETION_VECTOR)
    children = raw.flatten()
    if any(child.null_count != raw.null_count for child in children[:2]):
        return None
    return pa.StructArray.from_arrays(children, fields=list(DELETION_VECTOR), mask=raw.is_null())


def _keys(paths: pa.Array | None, vectors: pa.StructArray | None) -> list[str] | None:
    """The keys of reconciliation; None where a path is missing or has a NUL."""
    if paths is None or paths.null_count:
        return None
    if holds_byte(paths, "\0"):  # it would pass for a deletion vector
        return None
    keys: list[str] = paths.to_pylist()
    if may_begin_with(paths, MAY_BE_ABSOLUTE):
        keys = [file_key(path, None) for path in keys]
    if vectors is not None:
        bodies: list[Mapping[str, Any] | None] = vectors.to_pylist()
        keys = [
            key if body is None else file_key(key, body)
            for key, body in zip(keys, bodies, strict=True)
        ]
    return keys
