"""Maintenance on a store that fails, and in a process that is killed: whatever happens, the
table is readable, nothing that it needs is missing, no commit is doubled, and executing the
plan again finishes it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from explorer import maintenance
from explorer.table.table import Table
from tests.faults.maintained_table import (
    PLANNERS,
    State,
    approval_of,
    build_table,
    check_whole,
    faulty_table,
    saved_plan,
    state_of,
)
from tests.unit.maintenance.lake import NOW_MS, Lake

ROOT = Path(__file__).resolve().parents[2]


def names_of(lake: Lake) -> dict[str, tuple[int, int]]:
    """What lies in the table, with sizes and times."""
    found = (place for place in lake.root.rglob("*") if place.is_file())
    return {str(place): (place.stat().st_size, place.stat().st_mtime_ns) for place in found}


class _Copies:
    """One table and its plan, unpacked anew for each fault at the very same place."""

    def __init__(self, scratch: Path, operation: str) -> None:
        self.lake = build_table(scratch / "work")
        self.plan = saved_plan(self.lake, operation)
        self.before: State = state_of(self.lake, self.plan)
        self.names = names_of(self.lake)
        self._kept = scratch / "kept"
        shutil.copytree(scratch / "work", self._kept, copy_function=shutil.copy2)
        self._work = scratch / "work"

    def fresh(self) -> Lake:
        shutil.rmtree(self._work)
        shutil.copytree(self._kept, self._work, copy_function=shutil.copy2)
        return self.lake


@pytest.fixture(params=list(PLANNERS))
def copies(request: pytest.FixtureRequest, tmp_path: Path) -> _Copies:
    return _Copies(tmp_path, request.param)


def operations_of(copies: _Copies) -> list[str]:
    """Every operation of the store in a run without a fault."""
    lake = copies.fresh()
    table, store = faulty_table(lake, None)
    receipt = lake.execute(copies.plan, table=table, approval=approval_of(copies.plan))
    assert receipt.status == "completed", receipt.problem
    check_whole(lake, copies.before, copies.plan)
    return store.operations


def is_change(operation: str) -> bool:
    """Whether an operation of the store changes anything."""
    return operation.split(maxsplit=1)[0] in {"put", "write", "delete", "output"}


def check_then_finish(copies: _Copies, table: Table) -> str:
    """Execute on a store that fails, look at the table, then execute again on a sound one."""
    lake, plan = copies.lake, copies.plan
    receipt = lake.execute(plan, table=table, approval=approval_of(plan))
    if receipt.status == "completed":
        assert all(step.status == "done" for step in receipt.steps)
    else:
        assert receipt.problem is not None
        assert receipt.status != "refused"
    if names_of(lake) == copies.names:
        return receipt.status  # the table is what it was: nothing to look at, or to take up
    check_whole(lake, copies.before, plan)
    again = lake.execute(plan, table=lake.table, approval=approval_of(plan))
    assert again.status == "completed", again.problem
    check_whole(lake, copies.before, plan)
    return receipt.status


def test_store_that_fails_at_any_single_operation(copies: _Copies) -> None:
    """Each operation once; those that change something also with a lost answer, and with a
    store that never comes back."""
    operations = operations_of(copies)
    changes = [number for number, what in enumerate(operations) if is_change(what)]
    assert changes
    statuses = set()
    for number in range(len(operations)):
        table, _ = faulty_table(copies.fresh(), number)
        statuses.add(check_then_finish(copies, table))
    for number in changes:
        for options in ({"when": "after"}, {"down": True}, {"when": "after", "down": True}):
            table, _ = faulty_table(copies.fresh(), number, **options)
            statuses.add(check_then_finish(copies, table))
    assert statuses & {"failed", "partly"}


_CHILD = """
import os, sys
import explorer
from explorer import maintenance
from explorer.maintenance import StateFolder
from explorer.table.table import Table
from tests.faults.maintained_table import FaultyStore
from explorer.table.table import Table

root, state, digest, name, fatal, now = sys.argv[1:]
class Killed(FaultyStore):
    def _operation(self, what):
        if len(self.operations) == int(fatal):
            os._exit(9)
        return super()._operation(what)
plan = StateFolder(state).load_plan(digest)
receipt = maintenance.execute(
    plan, maintenance.Approval(digest, "test", name, "a test"),
    table=Table(Killed(root)), state_dir=state, clock=lambda: int(now),
)
sys.exit(0 if receipt.status == "completed" else 1)
"""


@pytest.mark.parametrize("operation", ["vacuum", "clean-log", "restore", "repair checkpoint"])
def test_process_that_is_killed_between_any_two_changes(tmp_path: Path, operation: str) -> None:
    copies = _Copies(tmp_path, operation)
    changes = [number for number, what in enumerate(operations_of(copies)) if is_change(what)]
    assert changes
    # each start of a process takes a second: the first, the last, and some between
    chosen = sorted({*changes[:3], *changes[-2:], changes[len(changes) // 2]})
    for fatal in chosen:
        lake = copies.fresh()
        done = _run(lake, copies, fatal)
        assert done == 9, fatal
        check_whole(lake, copies.before, copies.plan)
        again = lake.execute(copies.plan, table=lake.table, approval=approval_of(copies.plan))
        assert again.status == "completed", (fatal, again.problem)
        check_whole(lake, copies.before, copies.plan)


def _run(lake: Lake, copies: _Copies, fatal: int) -> int:
    plan = copies.plan
    arguments = [str(lake.root), str(lake.state), plan.digest, plan.subject.name, str(fatal)]
    return subprocess.run(
        [sys.executable, "-c", _CHILD, *arguments, str(NOW_MS)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    ).returncode


@pytest.mark.parametrize("operation", list(PLANNERS))
def test_journal_that_was_cut_off_in_its_last_line_is_taken_up(
    tmp_path: Path, operation: str
) -> None:
    """The process was killed while it noted how far it had come, after each of its notes."""
    copies = _Copies(tmp_path, operation)
    lake = copies.fresh()
    lake.execute(copies.plan, table=lake.table, approval=approval_of(copies.plan))
    journal = lake.state / "runs" / f"{copies.plan.digest}.journal"
    whole = journal.read_bytes()
    lines = whole.splitlines(keepends=True)
    assert len(lines) > 2
    for keep in range(len(lines)):
        journal.write_bytes(b"".join(lines[:keep]) + lines[keep][:-3])
        receipt = maintenance.execute(
            copies.plan,
            approval_of(copies.plan),
            table=lake.table,
            state_dir=lake.state,
            clock=lake.clock,
        )
        assert receipt.status == "completed", (keep, receipt.problem)
        check_whole(lake, copies.before, copies.plan)
