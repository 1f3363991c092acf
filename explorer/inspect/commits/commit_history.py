"""The history of a table (spec: Commit Provenance Information)."""

from __future__ import annotations

import pyarrow as pa

from explorer.table.table import Table


def history(table: Table, limit: int | None = None) -> pa.Table:
    """`Table.history`: what each commit says about itself, newest first."""
    return table.history(limit)
