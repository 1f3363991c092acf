"""The columns of an older version under the names of a newer one, each stored as the older
version stores it (spec: Column Mapping).

A column is the same one through a rename, so its values are read from files of before by the
name or id that their own version has for it. A column that the older version does not have is
null in its rows, also where its files hold one of that name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from explorer.comparison.matched_fields import Described, MatchedField, match_schemas
from explorer.protocol.actions import FieldPath, Metadata, Protocol
from explorer.protocol.features.column_mapping import (
    FIELD_ID_KEY,
    PHYSICAL_NAME_KEY,
    column_mapping_mode,
    physical_name,
)
from explorer.protocol.features.registry import is_supported
from explorer.protocol.schema import (
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    render_schema,
)
from explorer.protocol.table_properties.known_properties import COLUMN_MAPPING_MODE, MappingMode

_NO_COLUMN: Final = "delta-explorer: no column "
"""With the name after it, what no writer calls a column in a file."""


def matched_columns(older: Described, newer: Described) -> dict[str, StructField]:
    """The columns of `older` by the names that `newer` has for them."""
    found = {}
    for match in match_schemas(older, newer):
        if not isinstance(match, MatchedField) or len(match.path_after) != 1:
            continue
        if match.before is not None and match.after is not None:
            found[match.after.name] = match.before
    return found


def columns_as_in(
    older: Described, newer: Described, columns: Mapping[str, StructField] | None = None
) -> tuple[Protocol, Metadata]:
    """What `older` has in force, with the columns of `newer` in its schema: their names, order and
    types, and how files of `older` store them.

    `columns` are those of `older` by the names of `newer`, where more is known than
    `matched_columns` says. Raises `CorruptLogError` (schema_invalid).
    """
    known = matched_columns(older, newer) if columns is None else columns
    mode = _mode(older)
    goes_by_names = {mode, _mode(newer)} == {"none"} and not (
        is_supported(newer.protocol, "columnMapping") and _has_other_columns(older, newer, known)
    )
    if goes_by_names:
        fields = [_as_stored(item, known.get(item.name)) for item in newer.schema.fields]
        protocol, configuration = older.protocol, older.metadata.configuration
    else:
        inside = {
            match.path_after: match.before
            for match in match_schemas(older, newer)
            if isinstance(match, MatchedField) and match.before is not None
        }
        place = _Place(mode=mode, inside=inside)
        fields = [place.column(item, known.get(item.name)) for item in newer.schema.fields]
        protocol, configuration = older.protocol, dict(older.metadata.configuration)
        if mode == "none":  # columns are found by their names then, whatever they are called now
            protocol, configuration[COLUMN_MAPPING_MODE.name] = newer.protocol, "name"
    new_of = {own.name: name for name, own in known.items()}
    partitions = [new_of[name] for name in older.metadata.partition_columns if name in new_of]
    metadata = replace(
        older.metadata,
        schema_string=render_schema(StructType(fields=tuple(fields))),
        partition_columns=tuple(partitions),
        configuration=configuration,
    )
    return protocol, metadata


def _has_other_columns(
    older: Described, newer: Described, known: Mapping[str, StructField]
) -> bool:
    """Whether a name is that of another column in the older version, as where mapping was on in
    between."""
    names = set(older.schema.names)
    return any(own.name != name for name, own in known.items()) or any(
        name in names for name in newer.schema.names if name not in known
    )


def _mode(version: Described) -> MappingMode:
    return column_mapping_mode(version.protocol, version.metadata.configuration)


def _as_stored(item: StructField, own: StructField | None) -> StructField:
    return item if own is None or own.name != item.name else replace(item, metadata=own.metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Gives fields of a newer version the names and ids of an older one, whose fields `inside`
    has by the newer path."""

    mode: MappingMode
    inside: Mapping[FieldPath, StructField]

    def column(self, item: StructField, own: StructField | None) -> StructField:
        """A column of the newer version, whose older field is `own`."""
        path = (item.name,)
        is_matched = own is not None and self.inside.get(path) == own
        kind = self._type(item.data_type, path) if is_matched else item.data_type
        return self._stored(replace(item, data_type=kind), own)

    def _stored(self, item: StructField, own: StructField | None) -> StructField:
        metadata: dict[str, Any]
        if own is None:
            metadata = dict(item.metadata) | {PHYSICAL_NAME_KEY: _NO_COLUMN + item.name}
            metadata.pop(FIELD_ID_KEY, None)
        else:
            metadata = dict(own.metadata) | {PHYSICAL_NAME_KEY: physical_name(own, self.mode)}
        return replace(item, metadata=metadata)

    def _type(self, kind: DataType, path: FieldPath) -> DataType:
        match kind:
            case StructType(fields=fields):
                return StructType(fields=tuple(self._inner(item, path) for item in fields))
            case ArrayType(element_type=element):
                return replace(kind, element_type=self._type(element, (*path, "element")))
            case MapType(key_type=key, value_type=value):
                return replace(
                    kind,
                    key_type=self._type(key, (*path, "key")),
                    value_type=self._type(value, (*path, "value")),
                )
            case _:
                return kind

    def _inner(self, item: StructField, above: FieldPath) -> StructField:
        path = (*above, item.name)
        kind = self._type(item.data_type, path)
        return self._stored(replace(item, data_type=kind), self.inside.get(path))
