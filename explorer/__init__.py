"""Read Delta Lake tables directly by the Delta transaction log protocol.

    import explorer

    table = explorer.open_table("path/to/table")
    snapshot = table.snapshot()
    snapshot.version, snapshot.num_files, snapshot.schema

Every error for users derives from `DeltaError`, with a problem, a reason and a remedy.

Packages, from top to bottom (each imports only packages below it): `cli` and `demo`; `inspect`
(facts about a table) and `maintenance` (changes to it); `pipeline` (rows on Spark); `transaction`
(commits); `rows`, `comparison`, `scan` and `files`; `table` (tables and snapshots); `log` (the
transaction log); `storage` (bytes); `protocol` (the specification).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    "Cancel": "explorer.progress",
    "DeltaError": "explorer.errors",
    "Preview": "explorer.rows.read",
    "Problem": "explorer.errors",
    "Progress": "explorer.progress",
    "ScanPlan": "explorer.scan.plan",
    "Snapshot": "explorer.table.snapshot",
    "Table": "explorer.table.table",
    "VersionDiff": "explorer.comparison.versions",
    "diff": "explorer.comparison.versions",
    "open_table": "explorer.table.table",
    "plan_scan": "explorer.scan.plan",
    "preview": "explorer.rows.read",
    "read_changes": "explorer.rows.changes.feed",
    "read_rows": "explorer.rows.read",
    "read_variants": "explorer.rows.variant_values",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
