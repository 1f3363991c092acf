"""How the rows of one version are stored: what every data file of it is read by."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from explorer.errors import CorruptLogError
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.features.column_mapping import column_mapping_mode
from explorer.protocol.features.registry import is_supported
from explorer.protocol.file_format import check_rows_readable
from explorer.protocol.schema import StructField, StructType
from explorer.protocol.schema_walk import walk_types
from explorer.protocol.table_properties.known_properties import (
    COLUMN_MAPPING_MAX_ID,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
    MappingMode,
)
from explorer.table.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLayout:
    """The schema, what is partitioned by, and how columns are found in data files.

    `row_id_column` and `row_commit_version_column` are the names of the hidden
    columns in which a data file may hold them (spec: Row Tracking). `max_column_id` is
    the highest id that a column was given. `uri` and `version` are for messages.
    """

    uri: str
    version: int
    schema: StructType
    partition_columns: frozenset[str]
    mapping: MappingMode
    tracks_rows: bool
    row_id_column: str | None
    row_commit_version_column: str | None
    max_column_id: int = 0

    @property
    def stored(self) -> tuple[StructField, ...]:
        """The columns that data files hold; the log holds the others."""
        return tuple(item for item in self.schema.fields if item.name not in self.partition_columns)


def layout_of(snapshot: Snapshot) -> RowLayout:
    """The layout of a snapshot's rows; raises what `build_layout` raises."""
    return build_layout(
        schema=snapshot.schema,
        protocol=snapshot.protocol,
        metadata=snapshot.metadata,
        uri=snapshot.uri,
        version=snapshot.version,
    )


def build_layout(
    *, schema: StructType, protocol: Protocol, metadata: Metadata, uri: str, version: int
) -> RowLayout:
    """The layout that protocol and metadata prescribe.

    Raises `UnsupportedError` where data files are not Parquet (spec: Format
    Specification), `CorruptLogError` where columns cannot be told apart.
    """
    check_rows_readable(metadata)
    _check_names(schema)
    configuration = metadata.configuration
    return RowLayout(
        uri=uri,
        version=version,
        schema=schema,
        partition_columns=_partition_columns(schema, metadata.partition_columns),
        mapping=column_mapping_mode(protocol, configuration),
        tracks_rows=is_supported(protocol, "rowTracking"),
        row_id_column=ROW_ID_COLUMN.value_of(configuration),
        row_commit_version_column=ROW_COMMIT_VERSION_COLUMN.value_of(configuration),
        max_column_id=COLUMN_MAPPING_MAX_ID.value_of(configuration),
    )


def _check_names(schema: StructType) -> None:
    for kind in walk_types(schema):
        names = kind.names if isinstance(kind, StructType) else ()
        name, count = next(iter(Counter(names).most_common(1)), ("", 0))
        if count > 1:
            raise _unclear(f"{count} columns beside each other are called {name[:120]!r}.")


def _partition_columns(schema: StructType, names: tuple[str, ...]) -> frozenset[str]:
    for name in names:
        if name not in schema.names:
            raise _unclear(f"It is partitioned by {name[:120]!r}, which is not a column of it.")
    return frozenset(names)


def _unclear(reason: str) -> CorruptLogError:
    return CorruptLogError(
        "The rows of the table cannot be read: its columns cannot be told apart.",
        reason=reason,
        remedy="Read an earlier version, or restore the commit that wrote this schema.",
        kind="schema_invalid",
        spec="Schema Serialization Format",
    )
