"""The hidden columns of data files that keep ids of rows that were moved (spec: Row Tracking)."""

from __future__ import annotations

from uuid import UUID

from explorer.protocol.table_properties.known_properties import (
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
)


def row_column_names(row_ids: UUID, commit_versions: UUID) -> dict[str, str]:
    """The properties that name the two columns, as the reference calls them."""
    return {
        ROW_ID_COLUMN.name: f"_row-id-col-{row_ids}",
        ROW_COMMIT_VERSION_COLUMN.name: f"_row-commit-version-col-{commit_versions}",
    }
