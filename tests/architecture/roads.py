"""Counts the modules that four roads through the product enter.

    python -m tests.architecture.roads [--names]

A road enters a module when a function or a method of it runs, in any thread; what only runs
because the module is imported does not count. Every road is walked once before, so that nothing
is imported while it is measured, and then on another table, so that nothing is in memory.

- open: from a place to the snapshot of its newest version, of a table of two commits
- scan: from a predicate as text to the files that a query must read, with a checkpoint
- vacuum plan: from a place to a plan of vacuum
- vacuum run: the same, and from the plan, approved, to its receipt
- click: from a click on a file to the pane that shows it, in the page alone

Fewer modules are fewer files that somebody has to open who follows a fault from end to end.
"""

from __future__ import annotations

import inspect
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

import explorer
from explorer import maintenance
from explorer.demo.write import write_demo
from tests.tables import PROTOCOL, LogFolder, add, metadata
from tests.unit.widgets.orders import Orders
from tests.unit.widgets.page.test_explorer_view import Page

ROOT = Path(__file__).resolve().parents[2]


class Road:
    """The modules of the product whose functions ran since it began."""

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._tops = ("explorer", "widgets")

    @property
    def modules(self) -> list[str]:
        """Their dotted names."""
        inside = (Path(file) for file in self._files if file.startswith(str(ROOT)))
        parts = (place.relative_to(ROOT).with_suffix("").parts for place in inside)
        names = {".".join(part for part in name if part != "__init__") for name in parts}
        return sorted(name for name in names if name.partition(".")[0] in self._tops)

    def only(self, *tops: str) -> None:
        """Counts modules of these packages alone."""
        self._tops = tops

    def _enter(self, frame: FrameType, event: str, _: Any) -> None:
        # bodies of modules and classes have no fast locals
        if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            self._files.add(frame.f_code.co_filename)

    @contextmanager
    def walked(self) -> Iterator[None]:
        """Whatever runs in the block is on the road."""
        threading.setprofile(self._enter)
        sys.setprofile(self._enter)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


def main() -> None:
    """Prints a line for each road."""
    for name, walk in ROADS.items():
        with tempfile.TemporaryDirectory() as folder:
            walk(Path(folder) / "first", Road())
            road = Road()
            walk(Path(folder) / "second", road)
        lines = [f"{len(road.modules):4}  {name}"]
        if "--names" in sys.argv:
            lines += [f"      {module}" for module in road.modules]
        sys.stdout.write("\n".join(lines) + "\n")


def _demo(folder: Path) -> Path:
    write_demo(folder, now=datetime(2026, 1, 1, tzinfo=UTC))
    return folder


def _open(folder: Path, road: Road) -> None:
    log = LogFolder(folder)
    log.commit(0, [PROTOCOL, metadata(name="orders"), add("0.parquet")])
    log.commit(1, [add("1.parquet")])
    with road.walked():
        snapshot = explorer.open_table(folder).snapshot()
    assert snapshot.num_files == 2


def _scan(folder: Path, road: Road) -> None:
    snapshot = explorer.open_table(_demo(folder)).snapshot()
    with road.walked():
        plan = explorer.plan_scan(snapshot, "order_id > 10")
    assert plan.files.num_rows


def _vacuum_plan(folder: Path, road: Road) -> None:
    folder.mkdir()
    root = Orders(folder).root
    with road.walked():
        plan = maintenance.plan_vacuum(explorer.open_table(root))
    assert plan.files.num_rows


def _vacuum_run(folder: Path, road: Road) -> None:
    folder.mkdir()
    orders = Orders(folder)
    with road.walked():
        plan = maintenance.plan_vacuum(explorer.open_table(orders.root))
        approval = maintenance.Approval(plan.digest)
        maintenance.execute(plan, approval, state_dir=folder / "state")
    assert not orders.left


def _click(folder: Path, road: Road) -> None:
    page = Page().open(_demo(folder), view="files")
    found = re.search(r'data-do="file" data-value="([^"]+)"', page.html)
    assert found
    with road.walked():
        page.do("file", found[1])
    road.only("widgets")


ROADS: dict[str, Callable[[Path, Road], None]] = {
    "open: place to snapshot": _open,
    "scan: predicate to plan": _scan,
    "vacuum plan: place to plan": _vacuum_plan,
    "vacuum run: place to receipt": _vacuum_run,
    "click: file to pane": _click,
}

if __name__ == "__main__":
    main()
