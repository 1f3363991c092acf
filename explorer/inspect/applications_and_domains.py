"""Progress of applications and metadata domains at one version."""

from __future__ import annotations

import pyarrow as pa

from explorer.inspect.frames import Column, build_frame
from explorer.log.actions.columns import TIME, int64_column, string_column, time_column
from explorer.table.snapshot import Snapshot

TRANSACTION_COLUMNS: dict[str, Column] = {
    "app_id": (string_column, pa.string()),
    "version": (int64_column, pa.int64()),
    "last_updated": (time_column, TIME),
}
DOMAIN_COLUMNS: dict[str, Column] = {
    "domain": (string_column, pa.string()),
    "configuration": (string_column, pa.string()),
}


def transactions(snapshot: Snapshot) -> pa.Table:
    """The newest transaction of each application, by its id; none expired
    (spec: Transaction Identifiers)."""
    held = snapshot.transactions
    rows = [(app_id, held[app_id].version, held[app_id].last_updated) for app_id in sorted(held)]
    return build_frame(TRANSACTION_COLUMNS, rows)


def domains(snapshot: Snapshot) -> pa.Table:
    """The metadata domains in force with their configuration, by name
    (spec: Domain Metadata)."""
    held = snapshot.domains
    rows = [(name, held[name].configuration) for name in sorted(held)]
    return build_frame(DOMAIN_COLUMNS, rows)
