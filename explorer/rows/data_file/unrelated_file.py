"""Data files that have no column in common with their table (spec: Data Files, Column Mapping).

Columns that a file lacks are null, so that all rows of such a file are nothing but nulls:
it belongs to another table, or its columns are called by another rule than the table says.
By the schema of its footer alone it can be told, which whoever reads its rows has at hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa

from explorer.errors import CorruptDataError, Problem
from explorer.protocol.features.column_mapping import NESTED_IDS_KEY, field_id, physical_name
from explorer.protocol.schema import ArrayType, DataType, MapType, StructField, StructType
from explorer.protocol.schema_walk import walk_fields
from explorer.rows.conversion.field_matching import parquet_id
from explorer.rows.data_file.data_file import DataFile
from explorer.rows.layout import RowLayout
from explorer.table.counts import have

_CHANGE_TYPE: Final = "_change_type"


def is_unrelated(found: pa.Schema, layout: RowLayout) -> bool:
    """Whether no leaf of a file with the schema `found` is one of the table's, and its columns
    cannot be ones that the table had and dropped.

    A file without columns, as of a table whose columns all partition it, is none; hidden
    columns of row tracking and of change data do not count as columns.
    """
    hidden = {layout.row_id_column, layout.row_commit_version_column, _CHANGE_TYPE}
    own = [item for item in found if item.name not in hidden]
    return (
        bool(own)
        and not _share(own, layout.schema.fields, layout)
        and not _may_be_dropped(own, layout)
    )


def unrelated_problem(version: int, first: str, number: int = 1) -> Problem:
    """What to say of so many such files of a version; `first` is one of them."""
    which = have(number, "data file")
    whose = "its rows are" if number == 1 else "their rows are"
    return Problem(
        kind="data_corrupt",
        problem=f"{which} no column in common with the table: {whose} all NULL.",
        reason=f"Of {first[:200]!r} no column is one of version {version}, and no column of the "
        "table is in it: it belongs to another table, or its columns have names by a mapping that "
        "the table does not declare.",
        remedy="Compare with `schema --files` how the files name their columns, and restore the "
        "commit that wrote the file or the schema.",
        spec="Data Files",
    )


def unrelated_error(file: DataFile, version: int) -> CorruptDataError:
    """The error where rows of such a file would be written again, as nulls."""
    return _error(file, version, "Its rows would be rewritten as nulls, and their values lost.")


def untold_error(file: DataFile, version: int) -> CorruptDataError:
    """The error where rows of such a file would be handed on as nulls, and nobody be told."""
    return _error(
        file,
        version,
        "All its rows would be NULL, and who is given them could not tell. It belongs to another "
        "table, or its columns have names by a mapping that the table does not declare.",
    )


def _error(file: DataFile, version: int, reason: str) -> CorruptDataError:
    told = unrelated_problem(version, file.path)
    return CorruptDataError(
        f"The data file {file.shown} of version {version} has no column in common with the table.",
        reason=reason,
        remedy=told.remedy,
        spec=told.spec,
    )


def _share(found: Sequence[pa.Field], wanted: Sequence[StructField], layout: RowLayout) -> bool:
    """Whether a leaf below one of the columns is below one of the fields too."""
    by_key: dict[str | int | None, DataType] = {
        _wanted_key(item, layout): item.data_type for item in wanted
    }
    for item in found:
        held = by_key.get(parquet_id(item) if layout.mapping == "id" else item.name.lower())
        if held is not None and _types_share(item.type, held, layout):
            return True
    return False


def _wanted_key(item: StructField, layout: RowLayout) -> str | int | None:
    if layout.mapping == "id":
        return field_id(item)
    # the engine that wrote a file may have spelled the name in its own way
    return physical_name(item, layout.mapping).lower()


def _types_share(found: pa.DataType, wanted: DataType, layout: RowLayout) -> bool:
    match wanted:
        case StructType() if pa.types.is_struct(found):
            inner = [found.field(at) for at in range(found.num_fields)]
            return _share(inner, wanted.fields, layout)
        case ArrayType(element_type=element) if hasattr(found, "value_type"):
            return _types_share(found.value_type, element, layout)
        case MapType(key_type=key, value_type=value) if pa.types.is_map(found):
            return _types_share(found.key_type, key, layout) or _types_share(
                found.item_type, value, layout
            )
        case _:  # a leaf; whether its values can be read, reading them says
            return True


def _may_be_dropped(found: Sequence[pa.Field], layout: RowLayout) -> bool:
    """Whether the columns of a file can be ones that were dropped, as where all columns of a
    table were and others came: then its rows are right to have nothing but nulls.

    Only mapped columns can be dropped without the file. Where they have ids, those were given
    out and no column has them; else so many ids must be left as there are columns.
    """
    if layout.mapping == "none":
        return False
    in_schema = {field_id(place.field) for place in walk_fields(layout.schema)}
    ids = [parquet_id(item) for item in found]
    if None not in ids:
        return all(
            number is not None and 0 < number <= layout.max_column_id and number not in in_schema
            for number in ids
        )
    given = len(in_schema - {None}) + sum(_nested_ids(layout.schema))
    return len(found) <= layout.max_column_id - given


def _nested_ids(schema: StructType) -> Iterator[int]:
    """How many ids each field has for elements, keys and values, which have no field."""
    for place in walk_fields(schema):
        held = place.field.metadata.get(NESTED_IDS_KEY)
        yield len(held) if isinstance(held, Mapping) else 0
