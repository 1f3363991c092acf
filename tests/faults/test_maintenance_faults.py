"""Maintenance on a store that fails, and in a process that is killed: whatever happens, the
table is readable, nothing that it needs is missing, no commit is doubled, and executing the
plan again finishes it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from explorer import maintenance
from explorer.table.table import Table
from tests.faults.faulty_store import CHANGING, Fault, FaultyStore, is_change
from tests.faults.killed_processes import KILLED, Processes
from tests.faults.maintained_copies import Copies, names_of, operations_of
from tests.faults.maintained_table import OPERATIONS, RowLake, approval_of, check_whole, data_files
from tests.sampling import sample

FAULTS: tuple[tuple[Fault, bool], ...] = (
    ("before", True),
    ("after", True),
    *((when, False) for when in CHANGING),
)
"""What is done to each operation that changes something, besides failing it once; and whether
the store stays down."""


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where the machine has one: here nothing is lost by a power cut."""
    memory = Path("/dev/shm")  # a folder of its own is made in it
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as place:
        yield Path(place)


@pytest.fixture(params=OPERATIONS)
def copies(request: pytest.FixtureRequest, quick: Path) -> Copies:
    return Copies(quick, request.param)


def check_then_finish(copies: Copies, store: FaultyStore) -> str:
    """Execute on a store that fails, look at the table, then execute again on a sound one."""
    lake, plan = copies.lake, copies.plan
    receipt = lake.execute(plan, table=Table(store), approval=approval_of(plan))
    store.settle()
    if receipt.status == "completed":
        assert all(step.status == "done" for step in receipt.steps)
    else:
        assert receipt.problem is not None
        assert receipt.status != "refused"
    if names_of(lake) == copies.names:
        return receipt.status  # the table is what it was: nothing to look at, or to take up
    check_whole(lake, copies.before, plan)
    if isinstance(lake, RowLake):
        check_leftovers_are_told(lake, receipt)
    again = lake.execute(plan, table=lake.table, approval=approval_of(plan))
    assert again.status == "completed", again.problem
    check_whole(lake, copies.before, plan)
    return receipt.status


def check_leftovers_are_told(lake: RowLake, receipt: maintenance.Receipt) -> None:
    """A file that no version knows is named by the receipt of the run that wrote it."""
    table = lake.table
    known: set[str] = set()
    for version in range(table.latest_version() + 1):
        known |= set(table.snapshot(version=version).files(["path"]).column("path").to_pylist())
    results = [step.result or {} for step in receipt.steps]
    told = {path for found in results for path in found.get("staged_left", ())}
    begun = tuple(path for found in results for path in found.get("staged_unlisted", ()))
    for path in data_files(lake) - known:
        assert path in told or path.startswith(begun or ("nowhere",)), (path, results)


def test_store_that_fails_at_any_single_operation(
    copies: Copies, request: pytest.FixtureRequest
) -> None:
    """Each operation once; those that change something also with a lost answer, done twice or
    late or by half, and with a store that never comes back. A tenth of these has its turn, and
    of those that stop a change for good at least one."""
    operations = operations_of(copies)
    changes = [number for number, what in enumerate(operations) if is_change(what)]
    assert changes
    root = copies.lake.root
    statuses = set()
    kinds: tuple[tuple[Fault, bool, Sequence[int]], ...] = (
        ("before", False, range(len(operations))),
        *((when, down, changes) for when, down in FAULTS),
    )
    for when, down, numbers in kinds:
        for number in sample(numbers, 20, f"{request.node.name} {when} {down}"):
            copies.fresh()
            store = FaultyStore(str(root), number, when=when, down=down)
            statuses.add(check_then_finish(copies, store))
    assert statuses & {"failed", "partly"}


def test_process_that_is_killed_between_any_two_changes(
    copies: Copies, request: pytest.FixtureRequest
) -> None:
    changes = [number for number, what in enumerate(operations_of(copies)) if is_change(what)]
    assert changes
    with Processes() as processes:
        for fatal in sample(changes, 20, request.node.name):
            lake = copies.fresh()
            assert processes.carry_out(lake, copies.plan, fatal) == KILLED, fatal
            check_whole(lake, copies.before, copies.plan)
            again = lake.execute(copies.plan, table=lake.table, approval=approval_of(copies.plan))
            assert again.status == "completed", (fatal, again.problem)
            check_whole(lake, copies.before, copies.plan)


def test_journal_that_was_cut_off_in_its_last_line_is_taken_up(copies: Copies) -> None:
    """The process was killed while it noted how far it had come, after each of its notes."""
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
