"""Features beyond the specification: proposals, previews and what was given up
(spec: protocol_rfcs of the public revision)."""

from __future__ import annotations

from typing import Final

from explorer.protocol.features.table_feature import (
    TableFeature,
    by_column_metadata,
    by_column_type,
    by_property,
    by_property_set,
    either,
    whenever_supported,
)
from explorer.protocol.table_properties import known_properties as known

_TYPE_WIDENING: Final = either(
    by_property(known.TYPE_WIDENING), by_column_metadata("delta.typeChanges")
)
_IN_MANIFESTS: Final = "Files would be missing: their list lies in manifests and not in the log."

PROPOSED_FEATURES: Final = (
    TableFeature(
        name="checkpointProtection",
        kind="writer",
        description="Old checkpoints may only be removed together with all history before them.",
        spec="Checkpoint Protection (proposed)",
        is_active=whenever_supported,
    ),
    TableFeature(
        name="icebergCompatV3",
        kind="writer",
        requires=("columnMapping", "rowTracking"),
        description="Writers keep the table convertible to Iceberg, by the third set of rules.",
        spec="Iceberg Compatibility V3 (proposed)",
        is_active=by_property(known.ICEBERG_COMPAT_V3),
    ),
    TableFeature(
        name="icebergWriterCompatV1",
        kind="writer",
        requires=("icebergCompatV2",),
        description="Writers keep the table writable as Iceberg too, by the first set of rules.",
        spec="IcebergWriterCompatV1 (proposed)",
        is_active=by_property(known.ICEBERG_WRITER_COMPAT_V1),
    ),
    TableFeature(
        name="icebergWriterCompatV3",
        kind="writer",
        requires=("icebergCompatV3",),
        description="Writers keep the table writable as Iceberg too, by the third set of rules.",
        spec="IcebergWriterCompatV3 (seen in Delta Kernel)",
        is_active=by_property(known.ICEBERG_WRITER_COMPAT_V3),
    ),
    TableFeature(
        name="materializePartitionColumns",
        kind="writer",
        description="Data files hold the partition columns too.",
        spec="Materialize Partition Columns (proposed)",
        is_active=whenever_supported,
        asks=by_property(known.MATERIALIZE_PARTITION_COLUMNS),
    ),
    TableFeature(
        name="columnMappingUsageTracking",
        kind="writer",
        requires=("columnMapping",),
        description="The table remembers whether a column was ever renamed or dropped.",
        spec="Column Mapping Usage Tracking (proposed)",
        is_active=whenever_supported,
    ),
    TableFeature(
        name="collations",
        kind="writer",
        requires=("domainMetadata",),
        description="String columns may be compared and sorted by the rules of a language.",
        spec="Collations Table Feature (proposed)",
        is_active=by_column_metadata("__COLLATIONS"),
    ),
    TableFeature(
        name="collations-preview",
        kind="writer",
        requires=("domainMetadata",),
        description="String columns may be sorted by the rules of a language; a preview.",
        spec="Collations Table Feature (proposed)",
        is_active=by_column_metadata("__COLLATIONS"),
    ),
    TableFeature(
        name="geospatial",
        kind="reader-writer",
        description="Columns may hold shapes and places on a map.",
        spec="Geospatial types (in the reference)",
        is_active=by_column_type("geometry", "geography"),
    ),
    TableFeature(
        name="geospatial-dev",
        kind="reader-writer",
        description="Columns may hold shapes and places on a map; in development.",
        spec="Geospatial types (in the reference)",
        is_active=by_column_type("geometry", "geography"),
    ),
    TableFeature(
        name="timestampNanos",
        kind="reader-writer",
        requires=("timestampNtz",),
        description="Columns may hold timestamps to the nanosecond.",
        spec="Nanosecond timestamps (proposed)",
        is_active=by_column_type("timestamp_nanos", "timestamp_nanos_ntz"),
    ),
    TableFeature(
        name="adaptiveMetadata",
        kind="reader-writer",
        requires=(
            "columnMapping",
            "rowTracking",
            "domainMetadata",
            "deletionVectors",
            "inCommitTimestamp",
        ),
        description="The list of files lives in a tree of manifests beside the log.",
        spec="Adaptive Metadata (proposed)",
        is_active=whenever_supported,
        reads=False,
        if_ignored=_IN_MANIFESTS,
    ),
    TableFeature(
        name="adaptiveMetadata-preview",
        kind="reader-writer",
        requires=("catalogManaged", "columnMapping", "rowTracking", "deletionVectors"),
        description="The list of files lives in a tree of manifests beside the log; a preview.",
        spec="Adaptive Metadata (proposed)",
        is_active=whenever_supported,
        reads=False,
        if_ignored=_IN_MANIFESTS,
    ),
    TableFeature(
        name="typeWidening-preview",
        kind="reader-writer",
        description="The type of a column may have been changed to a wider one; a preview.",
        spec="Type Widening",
        is_active=_TYPE_WIDENING,
    ),
    TableFeature(
        name="variantType-preview",
        kind="reader-writer",
        description="Columns may hold values without a fixed structure; a preview.",
        spec="Variant Data Type",
        is_active=by_column_type("variant"),
    ),
    TableFeature(
        name="variantShredding-preview",
        kind="reader-writer",
        description="Parts of variants may be stored as typed columns; a preview.",
        spec="Variant Shredding",
        is_active=by_property(known.VARIANT_SHREDDING),
    ),
    TableFeature(
        name="inCommitTimestamp-preview",
        kind="writer",
        description="Each commit carries its own timestamp; a preview under another name.",
        spec="In-Commit Timestamps",
        is_active=either(
            by_property(known.IN_COMMIT_TIMESTAMPS_PREVIEW),
            by_property(known.IN_COMMIT_TIMESTAMPS),
        ),
    ),
    TableFeature(
        name="coordinatedCommits-preview",
        kind="writer",
        requires=("inCommitTimestamp", "vacuumProtocolCheck"),
        description="A service decides which commits count; given up for catalog-managed tables.",
        spec="Managed Commits (rejected)",
        is_active=by_property_set("delta.coordinatedCommits.commitCoordinator-preview"),
    ),
    TableFeature(
        name="catalogOwned-preview",
        kind="reader-writer",
        requires=("inCommitTimestamp",),
        description="A catalog decides which commits count; a preview of catalog-managed tables.",
        spec="Catalog-managed tables",
        is_active=whenever_supported,
        reads=False,
        if_ignored="Commits that only the catalog knows would be missing.",
        read_by="delta-spark 4.0.0",
    ),
    TableFeature(
        name="redirectReaderWriter-preview",
        kind="reader-writer",
        description="Readers and writers are sent on to another table; a preview.",
        spec="Table redirect (in the reference)",
        is_active=by_property_set("delta.redirectReaderWriter-preview"),
        reads=False,
        if_ignored="The table that was left behind would be read instead of the one it leads to.",
    ),
    TableFeature(
        name="redirectWriterOnly-preview",
        kind="writer",
        description="Writers are sent on to another table; a preview.",
        spec="Table redirect (in the reference)",
        is_active=by_property_set("delta.redirectWriterOnly-preview"),
    ),
)
"""Proposals first, then previews, then what was given up or never left the reference."""
