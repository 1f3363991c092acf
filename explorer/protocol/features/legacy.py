"""Features that a protocol version supports by its number
(spec: Writer Version Requirements, Reader Version Requirements)."""

from __future__ import annotations

from typing import Final

from explorer.protocol.features.table_feature import (
    TableFacts,
    TableFeature,
    by_column_metadata,
    by_property,
    by_property_prefix,
)
from explorer.protocol.table_properties import known_properties as known


def _is_mapped(facts: TableFacts) -> bool:
    return known.COLUMN_MAPPING_MODE.value_of(facts.metadata.configuration) != "none"


LEGACY_FEATURES: Final = (
    TableFeature(
        name="appendOnly",
        kind="writer",
        legacy_min_writer=2,
        description="Rows may be added but not changed or removed while the table says so.",
        spec="Append-only Tables",
        is_active=by_property(known.APPEND_ONLY),
    ),
    TableFeature(
        name="invariants",
        aliases=("columnInvariants",),
        kind="writer",
        legacy_min_writer=2,
        description="Columns may carry a condition that every new row has to meet.",
        spec="Column Invariants",
        is_active=by_column_metadata("delta.invariants"),
    ),
    TableFeature(
        name="checkConstraints",
        kind="writer",
        legacy_min_writer=3,
        description="The table may carry named conditions that every new row has to meet.",
        spec="CHECK Constraints",
        is_active=by_property_prefix("delta.constraints."),
    ),
    TableFeature(
        name="changeDataFeed",
        kind="writer",
        legacy_min_writer=4,
        description="Commits record which rows they changed, for readers of changes.",
        spec="Add CDC File",
        is_active=by_property(known.CHANGE_DATA_FEED),
    ),
    TableFeature(
        name="generatedColumns",
        kind="writer",
        legacy_min_writer=4,
        description="The values of a column may be computed from others by an expression.",
        spec="Generated Columns",
        is_active=by_column_metadata("delta.generationExpression"),
    ),
    TableFeature(
        name="columnMapping",
        kind="reader-writer",
        legacy_min_reader=2,
        legacy_min_writer=5,
        description="Columns can be renamed and dropped without rewriting the data files.",
        spec="Column Mapping",
        is_active=_is_mapped,
    ),
    TableFeature(
        name="identityColumns",
        kind="writer",
        legacy_min_writer=6,
        description="A column may be filled with unique, growing numbers.",
        spec="Identity Columns",
        is_active=by_column_metadata("delta.identity."),
    ),
)
"""In the order of the versions that brought them."""
