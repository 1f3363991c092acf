"""Tables with real files and a clock of their own, for tests of maintenance.

    lake = Lake(tmp_path)
    lake.commit(0, [PROTOCOL, metadata(), lake.add("a.parquet")], age_days=40)
    plan = plan_vacuum(lake.table, clock=lake.clock)

The files hold bytes that nobody reads: maintenance goes by names, sizes and times.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import explorer
from explorer import maintenance
from explorer.maintenance import Approval, Plan, Receipt
from explorer.maintenance.plan.file_list import of_action
from tests.tables import FEATURE_PROTOCOL, Action, LogFolder, add, metadata, remove

NOW_MS = 1_780_000_000_000
DAY_MS = 86_400_000


def ms_ago(days: float) -> int:
    return NOW_MS - int(days * DAY_MS)


class Lake:
    """A table's folder whose files and commits have the ages that a test gives them."""

    def __init__(self, scratch: Path, name: str = "orders") -> None:
        self.log = LogFolder(scratch / name)
        self.root = self.log.root
        self.state = scratch / "state"
        self.now_ms = NOW_MS

    def clock(self) -> int:
        return self.now_ms

    @property
    def table(self) -> explorer.Table:
        return explorer.open_table(self.root)

    def file(self, path: str, *, age_days: float = 40, size: int = 100) -> str:
        """A file below the root, by its name on disk."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(b"x" * size)
        time = ms_ago(age_days) / 1000
        os.utime(place, (time, time))
        return path

    def add(self, path: str, *, age_days: float = 40, **fields: Any) -> Action:
        """A file and its `add`, by its path in the log."""
        self.file(unquote(path), age_days=age_days)
        return add(path, modificationTime=ms_ago(age_days), **fields)

    def remove(self, path: str, *, age_days: float, **fields: Any) -> Action:
        """A `remove` of that age; the file stays where it is."""
        return remove(path, deletionTimestamp=ms_ago(age_days), size=100, **fields)

    def commit(self, version: int, actions: Iterable[Action], *, age_days: float) -> None:
        self.log.commit(version, actions)
        self.log.time(version, ms_ago(age_days))

    def there(self, path: str) -> bool:
        return os.path.lexists(self.root / path)

    def execute(self, plan: Plan, **options: Any) -> Receipt:
        """Carry a plan out with the approval that it asks for. What it adds to the log has the
        time of this clock."""
        approval = options.pop("approval", None) or approve(plan)
        before = set(self.log.log.iterdir())
        try:
            return maintenance.execute(
                plan, approval, state_dir=self.state, clock=self.clock, **options
            )
        finally:
            for place in {*self.log.log.iterdir()} - before:
                with suppress(FileNotFoundError):  # a temporary one, done with since
                    os.utime(place, (self.now_ms / 1000, self.now_ms / 1000))


def approve(plan: Plan) -> Approval:
    """The approval that a plan asks for."""
    return Approval(
        plan.digest,
        table_name=plan.subject.name if plan.asks_for_name else None,
        reason="a test asks for it" if plan.asks_for_reason else None,
    )


def vacuum(lake: Lake, retention: timedelta | None = None, **options: Any) -> Plan:
    """A vacuum plan by the table's own clock."""
    return maintenance.plan_vacuum(
        lake.table, retention, clock=lake.clock, state_dir=lake.state, **options
    )


def start(lake: Lake, *actions: Any, **fields: Any) -> None:
    """Version 0, forty days ago."""
    lake.commit(0, [FEATURE_PROTOCOL, metadata(**fields), *actions], age_days=40)


def planned(plan: Plan, action: str = "delete") -> dict[str, str]:
    """The paths of a plan with one action, and the reason of each."""
    files = of_action(plan.files, action)
    return dict(
        zip(files.column("path").to_pylist(), files.column("reason").to_pylist(), strict=True)
    )


def outcome(plan: Plan, guard: str) -> str:
    """What one guard says."""
    (found,) = (verdict.outcome for verdict in plan.verdicts if verdict.guard == guard)
    return found
