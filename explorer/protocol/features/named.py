"""Features of the specification that a protocol lists by name
(spec: Valid Feature Names in Table Features)."""

from __future__ import annotations

from typing import Final

from explorer.protocol.features.clustering import CLUSTERING_DOMAIN, clustering_columns
from explorer.protocol.features.table_feature import (
    TableFacts,
    TableFeature,
    by_column_metadata,
    by_column_type,
    by_property,
    either,
    whenever_supported,
)
from explorer.protocol.table_properties import known_properties as known


def _is_clustered(facts: TableFacts) -> bool:
    configuration = None if facts.domains is None else facts.domains.get(CLUSTERING_DOMAIN)
    return configuration is not None and clustering_columns(configuration) != ()


NAMED_FEATURES: Final = (
    TableFeature(
        name="allowColumnDefaults",
        kind="writer",
        description="Columns may have a default for rows that give no value.",
        spec="Default Columns",
        is_active=by_column_metadata("CURRENT_DEFAULT"),
    ),
    TableFeature(
        name="deletionVectors",
        kind="reader-writer",
        description="Rows may be deleted by a mark beside the file instead of rewriting it.",
        spec="Deletion Vectors",
        is_active=by_property(known.DELETION_VECTORS),
    ),
    TableFeature(
        name="rowTracking",
        kind="writer",
        requires=("domainMetadata",),
        description="Every row keeps an id and the version that last changed it.",
        spec="Row Tracking",
        is_active=by_property(known.ROW_TRACKING),
    ),
    TableFeature(
        name="timestampNtz",
        aliases=("timestampNTZ",),
        kind="reader-writer",
        description="Columns may hold timestamps without a time zone.",
        spec="Timestamp without timezone (TimestampNtz)",
        is_active=by_column_type("timestamp_ntz"),
    ),
    TableFeature(
        name="domainMetadata",
        kind="writer",
        description="The log may hold named configurations of features and applications.",
        spec="Domain Metadata",
        is_active=whenever_supported,
    ),
    TableFeature(
        name="v2Checkpoint",
        kind="reader-writer",
        description="Checkpoints may have unique names and keep their files in sidecars.",
        spec="V2 Checkpoint Table Feature",
        is_active=whenever_supported,
        asks=lambda facts: known.CHECKPOINT_POLICY.value_of(facts.metadata.configuration) == "v2",
    ),
    TableFeature(
        name="inCommitTimestamp",
        kind="writer",
        description="Each commit carries its own, always growing timestamp.",
        spec="In-Commit Timestamps",
        is_active=by_property(known.IN_COMMIT_TIMESTAMPS),
    ),
    TableFeature(
        name="typeWidening",
        kind="reader-writer",
        description="The type of a column may have been changed to a wider one.",
        spec="Type Widening",
        # old files bind readers by the recorded changes, even with the property off
        is_active=either(by_property(known.TYPE_WIDENING), by_column_metadata("delta.typeChanges")),
    ),
    TableFeature(
        name="variantType",
        kind="reader-writer",
        description="Columns may hold values without a fixed structure.",
        spec="Variant Data Type",
        is_active=by_column_type("variant"),
    ),
    TableFeature(
        name="variantShredding",
        kind="reader-writer",
        requires=("variantType",),
        description="Parts of such values may be stored as typed columns.",
        spec="Variant Shredding",
        is_active=by_property(known.VARIANT_SHREDDING),
    ),
    TableFeature(
        name="clustering",
        kind="writer",
        requires=("domainMetadata",),
        description="Rows with similar values of chosen columns are kept close together.",
        spec="Clustered Table",
        is_active=_is_clustered,
    ),
    TableFeature(
        name="icebergCompatV1",
        kind="writer",
        requires=("columnMapping",),
        description="Writers keep the table convertible to Iceberg, by the first set of rules.",
        spec="Iceberg Compatibility V1",
        is_active=by_property(known.ICEBERG_COMPAT_V1),
    ),
    TableFeature(
        name="icebergCompatV2",
        kind="writer",
        requires=("columnMapping",),
        description="Writers keep the table convertible to Iceberg, by the second set of rules.",
        spec="Iceberg Compatibility V2",
        is_active=by_property(known.ICEBERG_COMPAT_V2),
    ),
    TableFeature(
        name="vacuumProtocolCheck",
        kind="reader-writer",
        description="Vacuum has to check the writer protocol before it deletes anything.",
        spec="VACUUM Protocol Check",
        is_active=whenever_supported,
    ),
    TableFeature(
        name="catalogManaged",
        kind="reader-writer",
        requires=("inCommitTimestamp",),
        description="A catalog decides which commits count.",
        spec="Catalog-managed tables",
        is_active=whenever_supported,
        reads=False,
        if_ignored="Commits that only the catalog knows would be missing.",
        read_by="delta-spark 4.0.1",
    ),
)
"""In the order of the specification's own list, newer sections behind it."""
