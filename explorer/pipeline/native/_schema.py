"""How the columns of a table are asked of Spark's own Parquet reader
(spec: Column Mapping, Type Widening, Void Type)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from explorer.protocol.features.column_mapping import physical_name
from explorer.protocol.schema import (
    VOID,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
)
from explorer.protocol.schema_walk import walk_types
from explorer.rows.request import RowRequest

_PLAIN: Final = frozenset(
    {
        *("string", "long", "integer", "short", "byte", "float", "double", "boolean"),
        *("binary", "date", "timestamp", "timestamp_ntz"),
    }
)
NARROW_TYPES: Final = frozenset({PrimitiveType(name="byte"), PrimitiveType(name="short")})
"""Types that Spark cuts values of files down to without a word."""

_METADATA: Final = "_metadata"


def stored_columns(request: RowRequest) -> dict[str, StructField]:
    """The needed columns that data files hold, by their physical names, in order."""
    layout = request.layout
    return {
        physical_name(item, layout.mapping): item
        for item in request.needed.fields
        if item.name not in layout.partition_columns and item.data_type != VOID
    }


def why_not_native(request: RowRequest) -> str | None:
    """Why Spark's reader would not find or read the columns as the specification says, or
    None where it does."""
    layout = request.layout
    if layout.mapping == "id":
        return "columns are found by field ids"
    stored = stored_columns(request)
    hidden = [layout.row_id_column, layout.row_commit_version_column]
    names = [*stored, *filter(None, hidden)]
    if _clash(names) or _METADATA in map(str.lower, names):
        return "names of columns clash in Spark"
    for item in stored.values():
        structs = [kind for kind in walk_types(item.data_type) if isinstance(kind, StructType)]
        if any(_clash([inside.name for inside in kind.fields]) for kind in structs):
            return f"names of fields in `{item.name[:60]}` clash in Spark"
        if layout.mapping == "name" and _is_nested(item.data_type):
            return "fields inside of columns have other names in data files"
        if not all(_is_plain(kind) for kind in walk_types(item.data_type)) or (
            _is_nested(item.data_type) and NARROW_TYPES.intersection(walk_types(item.data_type))
        ):
            return f"Spark reads the type of `{item.name[:60]}` in another way"
    return None


def _clash(names: Sequence[str]) -> bool:
    """Whether two of them differ by case alone."""
    return len({name.lower() for name in names}) < len(names)


def _is_nested(data_type: DataType) -> bool:
    return isinstance(data_type, StructType | ArrayType | MapType)


def _is_plain(data_type: DataType) -> bool:
    if isinstance(data_type, PrimitiveType):
        return data_type.name in _PLAIN
    return isinstance(data_type, DecimalType | StructType | ArrayType | MapType)
