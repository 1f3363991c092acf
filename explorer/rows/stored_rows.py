"""Rows as data files hold them, for writing them again (spec: Column Mapping, Row Tracking,
Delta Data Type to Parquet Type Mappings).

What is read by such a request can be written as it is: physical names, types of the table as it
is now, partition columns only where new files hold them too, variants in their binary encoding,
and where the table tracks rows their ids and commit versions. A live row that breaks NOT NULL or
a length of the schema stops the reading: no new file may hold it.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from explorer.errors import UnsupportedError
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.arrow_types import arrow_schema, file_schema, stored_schema
from explorer.protocol.features.column_mapping import column_mapping_mode, physical_name
from explorer.protocol.features.iceberg import holds_partition_columns
from explorer.protocol.features.registry import is_supported
from explorer.protocol.features.type_widening import check_type_changes
from explorer.protocol.schema import VOID, StructField, StructType, parse_schema
from explorer.protocol.table_properties.known_properties import (
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
    ROW_TRACKING,
)
from explorer.rows.layout import RowLayout, layout_of
from explorer.rows.request import RowRequest
from explorer.rows.row_checks import build_checks
from explorer.table.snapshot import Snapshot

_ROW_ID, _ROW_COMMIT_VERSION = "_row_id", "_row_commit_version"


def keeps_row_ids(protocol: Protocol, metadata: Metadata) -> bool:
    """Whether rows that are written again keep their ids: row tracking is enabled, and not
    only supported."""
    is_enabled = ROW_TRACKING.value_of(metadata.configuration)
    return is_enabled and is_supported(protocol, "rowTracking")


def stored_request(snapshot: Snapshot) -> RowRequest:
    """Every stored column of the table, and where rows keep their ids the two hidden ones.

    Raises `UnsupportedError` for types and changes of type without a rule, and for tables
    whose rows have ids that no column is named for.
    """
    layout = layout_of(snapshot)
    keeps_ids = keeps_row_ids(snapshot.protocol, snapshot.metadata)
    hidden = (_ROW_ID, _ROW_COMMIT_VERSION) if keeps_ids else ()
    if hidden and not (layout.row_id_column and layout.row_commit_version_column):
        raise UnsupportedError(
            "The rows of the table have ids, and no column is named to keep them in.",
            reason="The properties delta.rowTracking.materializedRow… are missing.",
            remedy="Let the engine that enabled row tracking set them.",
            spec="Row Tracking",
        )
    check_type_changes(layout.schema, layout.uri)
    physical = _physical(layout)
    arrow_schema(physical.schema)  # refuses unknown types by name and place
    names = stored_names(snapshot.protocol, snapshot.metadata)
    mapped = {item.name: physical_name(item, layout.mapping) for item in layout.schema.fields}
    held = frozenset(physical.schema.names)
    return RowRequest(
        layout=physical,
        columns=tuple(mapped[name] for name in names if mapped[name] in held),
        metadata_columns=hidden,
        variants="stored",
        checks=build_checks(layout.schema, layout.partition_columns, layout.mapping),
    )


def rows_to_change(snapshot: Snapshot) -> RowRequest:
    """The rows of a table by its logical names, for changing some of them: every column but void
    ones, variants in their binary encoding, and where rows keep their ids `_row_id` at the end.

    Raises as `stored_request`.
    """
    stored = stored_request(snapshot)
    layout = layout_of(snapshot)
    return RowRequest(
        layout=layout,
        columns=tuple(item.name for item in layout.schema.fields if item.data_type != VOID),
        metadata_columns=stored.metadata_columns[:1],
        variants="stored",
    )


def written_schema(protocol: Protocol, metadata: Metadata, *, with_ids: bool = True) -> pa.Schema:
    """The schema to write with what `stored_request` reads: field ids where columns are
    mapped; `with_ids` the hidden columns under their own names at the end, where rows keep
    their ids."""
    columns = {item.name: item for item in parse_schema(metadata.schema_string).fields}
    kept = [columns[name] for name in stored_names(protocol, metadata)]
    mapping = column_mapping_mode(protocol, metadata.configuration)
    schema = file_schema(_nullable(kept), mapping)
    if not (with_ids and keeps_row_ids(protocol, metadata)):
        return schema
    for name in (ROW_ID_COLUMN, ROW_COMMIT_VERSION_COLUMN):
        schema = schema.append(pa.field(name.value_of(metadata.configuration), pa.int64()))
    return schema


def stored_names(protocol: Protocol, metadata: Metadata) -> tuple[str, ...]:
    """The columns that new data files hold, void ones included, in the order of files: behind
    the others the partition columns, where the table asks for them."""
    names = parse_schema(metadata.schema_string).names
    partitions = metadata.partition_columns
    data = tuple(name for name in names if name not in partitions)
    return (*data, *partitions) if holds_partition_columns(protocol, metadata) else data


def _physical(layout: RowLayout) -> RowLayout:
    """The layout by physical names, in which partition columns are found by them too."""
    partitions = {
        physical_name(item, layout.mapping)
        for item in layout.schema.fields
        if item.name in layout.partition_columns
    }
    return replace(
        layout,
        schema=stored_schema(layout.schema, layout.mapping),
        partition_columns=frozenset(partitions),
    )


def _nullable(fields: list[StructField]) -> StructType:
    return stored_schema(StructType(fields=tuple(fields)), "none")
