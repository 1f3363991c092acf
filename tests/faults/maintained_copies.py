"""One table and its plan, unpacked anew for each fault at the very same place."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from explorer.table.table import Table
from tests.faults.faulty_store import FaultyStore
from tests.faults.maintained_table import (
    State,
    approval_of,
    build,
    check_whole,
    saved_plan,
    state_of,
)
from tests.unit.maintenance.lake import Lake


class Copies:
    """The table for an operation, and what it held before; a process may have journals of
    before, and never has."""

    def __init__(self, scratch: Path, operation: str) -> None:
        self.lake = build(scratch / "work", operation)
        self.plan = saved_plan(self.lake, operation)
        self.before: State = state_of(self.lake, self.plan)
        self.names = names_of(self.lake)
        self._kept = scratch / "kept"
        shutil.copytree(scratch / "work", self._kept, copy_function=shutil.copy2)
        self._work = scratch / "work"

    def fresh(self) -> Lake:
        """The table as it was."""
        shutil.rmtree(self._work)
        shutil.copytree(self._kept, self._work, copy_function=shutil.copy2)
        return self.lake


def names_of(lake: Lake) -> dict[str, tuple[int, int]]:
    """What lies in the table, with sizes and times."""
    found = (place for place in lake.root.rglob("*") if place.is_file())
    return {str(place): (place.stat().st_size, place.stat().st_mtime_ns) for place in found}


def operations_of(copies: Copies, **options: Any) -> list[str]:
    """Every operation of the store in a run without a fault."""
    lake = copies.fresh()
    store = FaultyStore(str(lake.root))
    approval = approval_of(copies.plan)
    receipt = lake.execute(copies.plan, table=Table(store), approval=approval, **options)
    assert receipt.status == "completed", receipt.problem
    check_whole(lake, copies.before, copies.plan)
    return store.operations
