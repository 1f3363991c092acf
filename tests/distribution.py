"""Which worker runs which tests, so that all of them end at the same time.

Everything that needs the one JVM is one piece: a process has one JVM, and starting another
costs more than it gains. The first worker begins with it and goes on with the browser, file by
file; the others run everything else, a file at a time, because the tests of a file share their
fixtures. Who has no more of its own takes from the others. So a JVM and a browser, or two
browsers, are at work at once only where nothing else is left to do.

xdist hands its pieces out by their number of tests. Here it is their place in the list: within
the light ones those that are no unit tests come first, so that no long one comes last.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadGroupScheduling
from xdist.workermanage import WorkerController

JVM = "spark"
"""The group of all tests on Spark."""
BROWSER = "browser "
"""Begins the name of a group: the tests of one file that drive a browser."""


def scope_of(nodeid: str) -> str:
    """The piece that a test belongs to: its group, else its file."""
    group = nodeid.rpartition("@")[2]
    if nodeid.endswith(f"@{group}") and (group == JVM or group.startswith(BROWSER)):
        return group
    return nodeid.partition("::")[0]


def is_heavy(scope: str) -> bool:
    """Whether a piece starts a JVM or a browser."""
    return scope == JVM or scope.startswith(BROWSER)


def next_scope(waiting: list[str], *, heavy_first: bool) -> str:
    """The piece that a worker takes next: of its own kind as long as there is one."""
    return min(waiting, key=lambda scope: (is_heavy(scope) != heavy_first, _late(scope)))


def _late(scope: str) -> int:
    """The JVM before the browser; unit tests, whose files are short, at the end."""
    if is_heavy(scope):
        return int(scope != JVM)
    return int(scope.startswith("tests/unit/"))


class Distribution(LoadGroupScheduling):  # type: ignore[misc]  # xdist ships no types
    """Two queues, one for what starts a JVM or a browser and one for the rest."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        waiting = list(self.workqueue)
        chosen = next_scope(waiting, heavy_first=node is self.nodes[0])
        self.workqueue.move_to_end(chosen, last=False)
        super()._assign_work_unit(node)

    def mark_test_complete(
        self, node: WorkerController, item_index: int, duration: float = 0
    ) -> None:
        """Forgets a finished piece: xdist counts what is left in all of them after each test."""
        super().mark_test_complete(node, item_index, duration)
        scope = self._split_scope(self.registered_collections[node][item_index])
        pieces = self.assigned_work[node]
        if all(pieces[scope].values()):
            del pieces[scope]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Distribution | None:
    """In place of xdist's own for `--dist loadgroup`."""
    return Distribution(config, log) if config.getoption("dist") == "loadgroup" else None
