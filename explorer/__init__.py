"""Delta Lake tables, read by the Delta transaction log protocol itself.

    import explorer

    table = explorer.open_table("path/to/table")
    snapshot = table.snapshot()
    snapshot.version, snapshot.num_files, snapshot.schema

Everything a person may meet as an error derives from `DeltaError`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from explorer.errors import DeltaError, Problem
    from explorer.progress import Cancel, Progress
    from explorer.table.snapshot import Snapshot
    from explorer.table.table import Table, open_table

__all__ = ["Cancel", "DeltaError", "Problem", "Progress", "Snapshot", "Table", "open_table"]

_HOMES = {
    "Cancel": "explorer.progress",
    "DeltaError": "explorer.errors",
    "Problem": "explorer.errors",
    "Progress": "explorer.progress",
    "Snapshot": "explorer.table.snapshot",
    "Table": "explorer.table.table",
    "open_table": "explorer.table.table",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
