"""Columns of file actions from the structs as which Arrow reads their JSON (spec: Actions)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from explorer.log.actions.columns import (
    COLUMNS,
    DELETION_VECTOR,
    STRING_MAP,
    TIME,
    bool_column,
    build_even_maps,
    build_uneven_maps,
    schema_of,
)
from explorer.log.actions.fields import FIELDS, FieldKind, FileAction
from explorer.log.actions.keys import MAY_BE_ABSOLUTE, file_key
from explorer.log.plain_arrays import read_flags
from explorer.log.text_bytes import holds_byte, may_begin_with

NullsWritten: TypeAlias = Callable[[Mapping[str, int]], AbstractSet[str] | None]
"""Arrow's reader says null both of a name that a map lacks and of one whose value is null.
Told how many values each name lacks, this tells the names all of whose are nulls of the text;
the others have none. None where a name has both, or where it cannot be told."""


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

    def only(self, wanted: Sequence[bool]) -> FileActions:
        """Some of them."""
        return replace(
            self,
            rows=self.rows.filter(bool_column(wanted)),
            keys=list(compress(self.keys, wanted)),
        )


def columns_of_structs(
    action: FileAction, raw: Mapping[str, pa.Array], nulls_written: NullsWritten
) -> FileActions | None:
    """The actions, one in each row, of their fields by name, one at least; None where a value
    is missing that tells things apart."""
    size = len(next(iter(raw.values())))
    maps = _string_maps(action, raw, nulls_written)
    if maps is None:
        return None
    columns: list[pa.Array] = []
    schema = schema_of(COLUMNS[action])
    for (log_name, kind), field in zip(FIELDS[action].values(), schema, strict=True):
        there = maps.get(log_name, raw.get(log_name))
        column = pa.nulls(size, field.type) if there is None else _column(kind, there)
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
    if kind == "deletion_vector":
        return _deletion_vector(raw)
    return raw


def _string_maps(
    action: FileAction, raw: Mapping[str, pa.Array], nulls_written: NullsWritten
) -> dict[str, pa.Array] | None:
    """The maps of the structs that have a field for each name, by their own name in the log."""
    found = {
        name: raw[name]
        for name, kind in FIELDS[action].values()
        if kind == "string_map" and name in raw
    }
    lacking: Counter[str] = Counter()
    for column in found.values():
        for field, part in zip(column.type, column.flatten(), strict=True):
            # a map that is null has no value for any
            lacking[field.name] += part.null_count - column.null_count
    lacking = +lacking
    written = nulls_written(lacking) if lacking else frozenset[str]()
    if written is None:
        return None
    missing = lacking.keys() - written
    return {name: _string_map(column, missing) for name, column in found.items()}


def _string_map(raw: pa.StructArray, missing: AbstractSet[str]) -> pa.Array:
    """A map of a struct; of the names in `missing` a null says that the map lacks them."""
    size, names = len(raw), [field.name for field in raw.type]
    if raw.null_count == size:
        return pa.nulls(size, STRING_MAP)
    parts = raw.flatten()
    if not raw.null_count and missing.isdisjoint(names):
        return build_even_maps(names, parts, size)
    valid = read_flags(raw.is_valid())
    there = np.repeat(valid[:, np.newaxis], len(names), axis=1)
    for at, name in enumerate(names):
        if name in missing:
            there[:, at] = read_flags(parts[at].is_valid())
    return build_uneven_maps(names, parts, there, valid)


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
