"""Delta Lake tables, read by the Delta transaction log protocol itself.

    import explorer

    table = explorer.open_table("path/to/table")
    snapshot = table.snapshot()
    snapshot.version, snapshot.num_files, snapshot.schema

Every error for users derives from `DeltaError`, with a problem, a reason and a remedy.

Packages, from top to bottom (each imports only packages below it): `cli` and `demo`; `answers`
(the registry of facts); `inspect` (facts about a table) and `maintenance` (changes to it);
`pipeline` (rows on Spark); `writing` (rows that users write); `transaction` (commits); `rows`,
`comparison`, `scan` and `files`; `table` (tables and snapshots); `log` (the transaction log);
`storage` (bytes); `protocol` (the specification).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.front_door import lazy_names

if TYPE_CHECKING:
    from explorer.comparison.versions import VersionDiff, diff
    from explorer.errors import DeltaError, Problem
    from explorer.progress import Cancel, Progress
    from explorer.rows.changes.feed import read_changes
    from explorer.rows.read import Preview, preview, read_rows
    from explorer.rows.variant_values import read_variants
    from explorer.scan.plan import ScanPlan, plan_scan
    from explorer.table.snapshot import Snapshot
    from explorer.table.table import Table, open_table

__all__ = [
    "Cancel",
    "DeltaError",
    "Preview",
    "Problem",
    "Progress",
    "ScanPlan",
    "Snapshot",
    "Table",
    "VersionDiff",
    "diff",
    "open_table",
    "plan_scan",
    "preview",
    "read_changes",
    "read_rows",
    "read_variants",
]

_HOMES = {
    "Cancel": "progress",
    "DeltaError": "errors",
    "Preview": "rows.read",
    "Problem": "errors",
    "Progress": "progress",
    "ScanPlan": "scan.plan",
    "Snapshot": "table.snapshot",
    "Table": "table.table",
    "VersionDiff": "comparison.versions",
    "diff": "comparison.versions",
    "open_table": "table.table",
    "plan_scan": "scan.plan",
    "preview": "rows.read",
    "read_changes": "rows.changes.feed",
    "read_rows": "rows.read",
    "read_variants": "rows.variant_values",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
