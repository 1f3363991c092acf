"""Delta Lake tables, read by the Delta transaction log protocol itself.

    import explorer

    table = explorer.open_table("path/to/table")
    snapshot = table.snapshot()
    snapshot.version, snapshot.num_files, snapshot.schema

Everything a person may meet as an error derives from `DeltaError`.

Packages, each above the next: `cli` and `demo`; `answers` (the registry of facts); `inspect`
(facts) and `maintenance` (changes); `pipeline` (Spark); `writing` (what users write);
`transaction`; `rows`, `comparison`, `scan` and `files`; `table`; `log`; `storage`; `protocol`,
which is the specification.
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
