"""The columns of a checkpoint (spec: Checkpoint Schema).

One struct column for each kind of action. Those of adds and removes have a field for
every column of `explorer.log.actions.columns` that a checkpoint keeps, and after them whatever
else belongs in them; those of actions that are few have the fields of the specification
and those that only their writer knows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

import pyarrow as pa

from explorer.errors import UnsupportedError, brief
from explorer.log.actions.columns import (
    ADD_COLUMNS,
    REMOVE_COLUMNS,
    STRING_MAP,
    VECTOR_FIELDS,
    ColumnRule,
)
from explorer.protocol.commit_json import ActionLine
from explorer.protocol.features.row_id_high_water_mark import HIGH_WATER_MARK_ACTION
from explorer.storage.parquet.writer import ParquetOutput

_VECTOR: Final = pa.struct([pa.field(name, kind) for name, kind in VECTOR_FIELDS.items()])
_SMALL: Final[Mapping[str, pa.DataType]] = {
    "txn": pa.struct(
        [("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())]
    ),
    "metaData": pa.struct(
        [
            ("id", pa.string()),
            ("name", pa.string()),
            ("description", pa.string()),
            ("format", pa.struct([("provider", pa.string()), ("options", STRING_MAP)])),
            ("schemaString", pa.string()),
            ("partitionColumns", pa.list_(pa.string())),
            ("configuration", STRING_MAP),
            ("createdTime", pa.int64()),
        ]
    ),
    "protocol": pa.struct(
        [
            ("minReaderVersion", pa.int32()),
            ("minWriterVersion", pa.int32()),
            ("readerFeatures", pa.list_(pa.string())),
            ("writerFeatures", pa.list_(pa.string())),
        ]
    ),
    "domainMetadata": pa.struct(
        [("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())]
    ),
    HIGH_WATER_MARK_ACTION: pa.struct([("highWaterMark", pa.int64())]),
    "checkpointMetadata": pa.struct([("version", pa.int64()), ("tags", STRING_MAP)]),
    "sidecar": pa.struct(
        [
            ("path", pa.string()),
            ("sizeInBytes", pa.int64()),
            ("modificationTime", pa.int64()),
            ("tags", STRING_MAP),
        ]
    ),
}
CHECKPOINT_ACTIONS: Final = frozenset(_SMALL) | {"add", "remove"}
"""What a checkpoint has columns for."""

# every classic checkpoint has these columns, filled or not; others only where they are filled
_ALWAYS: Final = ("metaData", "protocol", "domainMetadata")

# public names, in the order of the reference
ADD_NAMES: Final = (
    "path",
    "partition_values",
    "size",
    "modification_time",
    "data_change",
    "tags",
    "deletion_vector",
    "base_row_id",
    "default_row_commit_version",
    "clustering_provider",
)
# statistics and tags of tombstones serve nobody (spec: Checkpoints)
REMOVE_NAMES: Final = (
    "path",
    "deletion_timestamp",
    "data_change",
    "extended_file_metadata",
    "partition_values",
    "size",
    "deletion_vector",
    "base_row_id",
    "default_row_commit_version",
)


def build_add_type(further: Iterable[pa.Field], *, with_stats: bool) -> pa.StructType:
    """The type of the column `add`: `further` are fields under their names in the log."""
    names = [*ADD_NAMES, "stats"] if with_stats else [*ADD_NAMES]
    return _file_type(ADD_COLUMNS, names, further)


def build_remove_type(further: Iterable[pa.Field]) -> pa.StructType:
    """The type of the column `remove`; `further` as in `build_add_type`."""
    return _file_type(REMOVE_COLUMNS, REMOVE_NAMES, further)


def _file_type(
    rules: Mapping[str, ColumnRule], names: Iterable[str], further: Iterable[pa.Field]
) -> pa.StructType:
    fields = []
    for name in names:
        log_name, _, kind = rules[name]
        if name == "deletion_vector":
            kind = _VECTOR
        fields.append(pa.field(log_name, pa.int64() if pa.types.is_timestamp(kind) else kind))
    return pa.struct([*fields, *further])


def build_top_schema(small: Iterable[ActionLine], files: Mapping[str, pa.StructType]) -> pa.Schema:
    """The columns of a file that holds the actions `small` and, of `files`, `add` and
    `remove` where they are in it. These may be among `small` too, where they are few.

    Raises `UnsupportedError` where a field that is not known here fits into no column.
    """
    types = _small_types(small, {**_SMALL, **files})
    columns = {"txn": types.pop("txn", _SMALL["txn"])}
    columns |= files
    columns |= {name: types.pop(name, _SMALL[name]) for name in _ALWAYS}
    return pa.schema(columns | types)


def _small_types(
    small: Iterable[ActionLine], columns: Mapping[str, pa.DataType]
) -> dict[str, pa.DataType]:
    """The columns of the actions that are few, with those fields that only their
    writer knows (spec: "all information regarding the following actions")."""
    types: dict[str, pa.DataType] = {}
    unknown: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)
    for line in small:
        for kind, body in line.items():
            known = types.setdefault(kind, columns[kind])
            for name, value in body.items():
                if known.get_field_index(name) < 0:
                    unknown[kind, name].append(value)
    for (kind, name), values in unknown.items():
        fields = [*types[kind], pa.field(name, type_of_values(values, kind, name))]
        types[kind] = pa.struct(fields)
    return types


def type_of_values(values: list[Any], kind: str, name: str) -> pa.DataType:
    """The type of a column of `values`, which were decoded from JSON: the field `name` of
    actions of a `kind`. Raises `UnsupportedError` where there is none."""
    try:
        found = pa.array(values)
        rows = pa.table({"x": found})
        # Parquet has not all that Arrow has
        with ParquetOutput(pa.BufferOutputStream(), rows.schema) as file:
            file.write(rows)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise no_column(kind, name) from error
    return found.type


def no_column(kind: str, name: str) -> UnsupportedError:
    """The error for a field that no column can hold."""
    return UnsupportedError(
        "A checkpoint of this table cannot be written.",
        reason=f"The field {brief(name)} of {kind}, which is not known here, cannot be "
        "stored in a column, and would be lost.",
        remedy="Let the engine that wrote the table write its checkpoints.",
        spec="Checkpoints",
    )
