"""Processes that carry out a plan, or write rows, and are killed before one of their store's
operations.

A process that has loaded everything waits for orders and forks for each of them: to start one
anew takes a second. It runs nothing itself, so that it has no threads that a fork would lose.
"""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from pathlib import Path
from types import TracebackType

import orjson

from explorer import maintenance
from explorer.maintenance import Plan, StateFolder
from explorer.table.table import Table
from tests.faults.faulty_store import Fault, FaultyStore
from tests.unit.maintenance.lake import NOW_MS, Lake

ROOT = Path(__file__).resolve().parents[2]
KILLED = 9


class _Killed(FaultyStore):
    """The process ends before an operation is done."""

    def _begin(self, what: str) -> Fault | None:
        if len(self.operations) == self.fail_at:
            os._exit(KILLED)
        return super()._begin(what)


class Processes:
    """A process that forks others, for the time of a `with` block."""

    def __enter__(self) -> Processes:
        """Start it."""
        self._first = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.killed_processes"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it."""
        self._first.communicate(timeout=60)

    def carry_out(self, lake: Lake, plan: Plan, fatal: int) -> int:
        """How a process ended that carried out a saved plan and was killed before operation
        number `fatal` of its store."""
        return self._order("plan", str(lake.root), str(lake.state), plan.digest, fatal)

    def write(self, root: Path, name: str, door: str, fatal: int) -> int:
        """How a process ended that wrote rows by the statement and the door of these names (see
        `written_place`), and was killed before operation number `fatal` of its store."""
        return self._order("write", str(root), name, door, fatal)

    def _order(self, *order: str | int) -> int:
        assert self._first.stdin is not None
        assert self._first.stdout is not None
        self._first.stdin.write(orjson.dumps(order) + b"\n")
        self._first.stdin.flush()
        return int(self._first.stdout.readline())


def _carry_out(root: str, state: str, digest: str, fatal: int) -> int:
    plan = StateFolder(state).load_plan(digest)
    receipt = maintenance.execute(
        plan,
        maintenance.Approval(digest, "test", plan.subject.name, "a test"),
        table=Table(_Killed(root, fatal)),
        state_dir=state,
        clock=lambda: NOW_MS,
    )
    return 0 if receipt.status == "completed" else 1


def _write(root: str, name: str, door: str, fatal: int) -> int:
    # whoever carries out plans does without
    from tests.faults.written_place import DOORS, STATEMENTS  # noqa: PLC0415

    DOORS[door](_Killed(root, fatal), STATEMENTS[name].options)
    return 0


_ORDERS = {"plan": _carry_out, "write": _write}


def _serve() -> None:
    import pyarrow.parquet  # noqa: F401, PLC0415  # loaded once, and not in every fork

    for line in sys.stdin:
        what, *order = orjson.loads(line)
        if what == "write":  # loaded once as well, and not where nobody writes rows
            import tests.faults.written_place  # noqa: F401, PLC0415
        child = os.fork()
        if not child:
            status = 2
            try:
                status = _ORDERS[what](*order)
            except BaseException:  # noqa: BLE001  # shown, because nobody else would
                traceback.print_exc()
            os._exit(status)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
