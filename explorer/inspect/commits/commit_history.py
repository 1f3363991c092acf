"""The history of a table (spec: Commit Provenance Information)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import pyarrow as pa

from explorer.table.table import Table


def history(
    table: Table,
    limit: int | None = None,
    *,
    operation: str | Sequence[str] | None = None,
    user: str | None = None,
    since: str | datetime | None = None,
) -> pa.Table:
    """`Table.history`: what each commit says about itself, newest first."""
    return table.history(limit, operation=operation, user=user, since=since)
