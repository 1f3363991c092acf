"""Nothing is executed but an approved plan, and the receipt says what became of it."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer import maintenance
from explorer.errors import InvalidArgumentError, NotFoundError, StorageError
from explorer.log.actions.columns import string_column
from explorer.maintenance import Approval, Plan, StateFolder, plan_checkpoint, plan_vacuum
from explorer.maintenance.plan.file_list import build_files, join_files
from explorer.progress import Cancel, Progress
from explorer.storage.concurrent_reads import MOST_CONCURRENT
from explorer.storage.local import LocalStore
from explorer.storage.ports import ByteRange, ObjectInfo, PutOutcome
from tests.tables import FEATURE_PROTOCOL, PROTOCOL, metadata
from tests.unit.maintenance.lake import Lake

GONE = [f"gone-{number:04}" for number in range(2100)]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    found = Lake(tmp_path)
    files = [found.add("live"), *(found.add(path) for path in GONE)]
    found.commit(0, [PROTOCOL, metadata(), *files], age_days=40)
    found.commit(1, [found.remove(path, age_days=9) for path in GONE], age_days=9)
    return found


@pytest.fixture
def plan(lake: Lake) -> Plan:
    return plan_vacuum(lake.table, clock=lake.clock)


def left(lake: Lake) -> int:
    return sum(lake.there(path) for path in GONE)


@pytest.mark.slow
def test_approval_of_another_plan_executes_nothing(lake: Lake, plan: Plan) -> None:
    other = plan_checkpoint(lake.table, clock=lake.clock)
    receipt = lake.execute(plan, approval=Approval(other.digest))
    assert receipt.status == "refused"
    assert receipt.problem is not None
    assert receipt.problem.kind == "plan_refused"
    assert left(lake) == len(GONE)
    assert lake.table.latest_version() == 1
    assert StateFolder(lake.state).load_receipt(receipt.id) == receipt


@pytest.mark.slow
def test_plan_made_in_another_process_needs_its_table(lake: Lake, plan: Plan) -> None:
    state = StateFolder(lake.state)
    state.save_plan(plan)
    loaded = state.load_plan(plan.digest)
    with pytest.raises(InvalidArgumentError, match="does not know its table"):
        lake.execute(loaded)
    copy = Lake(lake.root.parent, "copy")
    copy.commit(0, [PROTOCOL, metadata(), copy.add("live")], age_days=40)
    with pytest.raises(InvalidArgumentError, match="another table"):
        lake.execute(loaded, table=copy.table)
    assert lake.execute(loaded, table=lake.table).status == "completed"
    assert left(lake) == 0


def test_table_that_was_made_anew_is_another_one(lake: Lake, plan: Plan) -> None:
    lake.commit(1, [lake.remove("live", age_days=9)], age_days=9)
    receipt = lake.execute(plan)
    assert receipt.status == "refused"
    assert receipt.problem is not None
    assert receipt.problem.kind == "plan_stale"
    assert left(lake) == len(GONE)


def test_log_that_was_continued_as_another_table_is_another_one(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.commit(0, [FEATURE_PROTOCOL, metadata(), lake.add("live")], age_days=9)
    plan = plan_checkpoint(lake.table, clock=lake.clock)
    assert plan.rests_on == (), "whatever is committed, the version stays what it is"
    lake.commit(1, [metadata(id="another")], age_days=1)
    receipt = lake.execute(plan)
    assert receipt.status == "refused"
    assert receipt.problem is not None
    assert "Another table" in receipt.problem.reason


@pytest.mark.slow
def test_receipt_counts_what_was_done_and_can_be_listed(lake: Lake, plan: Plan) -> None:
    receipt = lake.execute(plan)
    (deletion,) = (step for step in receipt.steps if step.kind == "delete_files")
    assert (deletion.planned, deletion.done, deletion.num_bytes) == (2100, 2100, 210_000)
    assert [step.status for step in receipt.steps] == ["done"] * len(plan.steps)
    assert [step.id for step in receipt.steps] == [step.id for step in plan.steps]
    assert [check.holds for check in receipt.checks] == [True, True]
    assert receipt.summary == plan.summary
    assert StateFolder(lake.state).list_receipts() == [receipt]


@pytest.mark.slow
def test_plan_that_was_carried_out_is_not_carried_out_twice(lake: Lake, plan: Plan) -> None:
    first = lake.execute(plan)
    version = lake.table.latest_version()
    lake.file(GONE[0])
    assert lake.execute(plan) == first
    assert lake.there(GONE[0])
    assert lake.table.latest_version() == version


@pytest.mark.slow
def test_receipt_that_was_thrown_away_is_written_again(lake: Lake, plan: Plan) -> None:
    first = lake.execute(plan)
    version = lake.table.latest_version()
    (lake.state / "receipts" / f"{first.id}.json").unlink()
    again = lake.execute(plan)
    assert again.status == "completed"
    assert [step.done for step in again.steps] == [step.done for step in first.steps]
    assert lake.table.latest_version() == version


@pytest.mark.slow
def test_cancelled_run_stops_between_two_batches_and_goes_on_when_executed_again(
    lake: Lake, plan: Plan
) -> None:
    cancel = Cancel()

    def stop(progress: Progress) -> None:
        if progress.done == 1000:
            cancel.cancel()

    receipt = lake.execute(plan, progress=stop, cancel=cancel)
    assert receipt.status == "cancelled"
    assert receipt.problem is not None
    assert receipt.problem.kind == "cancelled"
    assert receipt.problem.remedy == "Carry out the same plan again to continue."
    (deletion,) = (step for step in receipt.steps if step.kind == "delete_files")
    assert (deletion.status, deletion.done) == ("partly", 2000)
    assert left(lake) == 100
    assert all(check.holds for check in receipt.checks)
    again = lake.execute(plan)
    assert again.status == "completed"
    (deletion,) = (step for step in again.steps if step.kind == "delete_files")
    assert (deletion.done, deletion.already_gone) == (2100, 0)
    operations = lake.table.history().column("operation").to_pylist()
    assert operations.count("VACUUM START") == operations.count("VACUUM END") == 1
    assert dict(lake.table.history(1).to_pylist()[0]["operation_metrics"])["numDeletedFiles"] == (
        "2100"
    )


@pytest.mark.slow
def test_interrupt_half_way_leaves_a_true_receipt(lake: Lake, plan: Plan) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.done == 1000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lake.execute(plan, progress=interrupt)
    assert left(lake) == 1100
    (receipt,) = StateFolder(lake.state).list_receipts()
    assert receipt.status == "partly"
    (deletion,) = (step for step in receipt.steps if step.kind == "delete_files")
    assert (deletion.status, deletion.planned, deletion.done) == ("partly", 2100, 1000)
    assert lake.execute(plan).status == "completed"


@pytest.mark.slow
def test_run_in_a_thread_reports_and_can_be_cancelled(lake: Lake, plan: Plan) -> None:
    seen: list[Progress] = []
    running = maintenance.start(
        plan, Approval(plan.digest), state_dir=lake.state, clock=lake.clock, progress=seen.append
    )
    receipt = running.result(60)
    assert receipt is not None
    assert receipt.status == "completed"
    assert running.is_done
    assert seen
    assert running.progress == seen[-1]
    other = plan_checkpoint(lake.table, clock=lake.clock)
    cancel = Cancel()
    cancel.cancel()
    options: dict[str, Any] = {"state_dir": lake.state, "clock": lake.clock, "cancel": cancel}
    stopped = maintenance.start(other, Approval(other.digest), **options).result(60)
    assert stopped is not None
    assert stopped.status == "cancelled"


def test_error_of_a_thread_is_raised_where_its_result_is_asked_for(lake: Lake, plan: Plan) -> None:
    inside = lake.root / "state"
    running = maintenance.start(plan, Approval(plan.digest), state_dir=inside)
    with pytest.raises(InvalidArgumentError):
        running.result(60)


def _hold(state: str, digest: str, ready: Any, go: Any) -> None:
    with StateFolder(state).running(digest) as held:
        assert held
        ready.set()
        go.wait(30)


@pytest.mark.slow
def test_plan_that_another_process_carries_out_is_left_to_it(lake: Lake, plan: Plan) -> None:
    context = multiprocessing.get_context("spawn")
    ready, go = context.Event(), context.Event()
    holder = context.Process(target=_hold, args=(str(lake.state), plan.digest, ready, go))
    holder.start()
    try:
        assert ready.wait(30)
        receipt = lake.execute(plan)
        assert receipt.status == "refused"
        assert receipt.problem is not None
        assert "another process" in receipt.problem.reason
        assert left(lake) == len(GONE)
    finally:
        go.set()
        holder.join(30)
    assert lake.execute(plan).status == "completed"


@pytest.mark.slow
def test_receipt_that_is_not_there_is_an_error(lake: Lake) -> None:
    with pytest.raises(NotFoundError):
        StateFolder(lake.state).load_receipt("../plans/x")
    assert StateFolder(lake.state).list_receipts() == []


def test_file_that_a_promised_version_lost_during_the_run_fails_the_receipt(
    lake: Lake, plan: Plan
) -> None:
    """As if the plan had been wrong: its list names a file that the newest version has."""
    wrong = join_files([build_files(string_column(["live"]), action="delete", reason="by mistake")])
    forged = replace(plan, files=wrong)
    receipt = lake.execute(forged)
    assert receipt.status == "failed"
    assert receipt.problem is not None
    assert receipt.problem.kind == "data_missing"
    assert [check.holds for check in receipt.checks].count(False) == 2


def test_front_door_lists_its_names() -> None:
    assert list(maintenance.__all__) == sorted(maintenance.__all__)
    for name in maintenance.__all__:
        assert getattr(maintenance, name) is not None
    with pytest.raises(AttributeError):
        _ = maintenance.no_such_name
    assert explorer.maintenance is maintenance


def test_journal_goes_on_behind_a_line_that_was_cut_off(tmp_path: Path) -> None:
    state, digest = StateFolder(tmp_path), "a" * 64
    state.append_journal(digest, {"event": "begun"})
    journal = tmp_path / "runs" / f"{digest}.journal"
    journal.write_bytes(journal.read_bytes() + b'{"event":"ba')  # a kill
    state.append_journal(digest, {"event": "batch"})
    state.append_journal(digest, {"event": "done"})
    assert [line["event"] for line in state.read_journal(digest)] == ["begun", "batch", "done"]


class _Unanswered(LocalStore):
    """The answer to a commit is lost, and the store fails where one asks whether it is there."""

    def put_if_absent(self, path: str, data: Any) -> PutOutcome:
        found = super().put_if_absent(path, data)
        return PutOutcome.UNKNOWN if path.endswith(".json") else found

    def read(self, path: str, limit: int | None = None) -> bytes:
        if limit is not None:
            raise StorageError(f"{path} failed.", reason="A test says so.", remedy="None.")
        return super().read(path, limit)


def test_commit_whose_answer_was_lost_is_told_by_the_receipt(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.commit(0, [FEATURE_PROTOCOL, metadata(), lake.add("a.parquet")], age_days=20)
    plan = maintenance.plan_set_properties(lake.table, {"a": "b"}, clock=lake.clock)
    receipt = lake.execute(plan, table=explorer.Table(_Unanswered(str(lake.root))))
    assert (receipt.status, lake.table.latest_version()) == ("partly", 1)
    assert (receipt.steps[0].status, receipt.steps[0].result) == ("partly", {"version": 1})
    assert lake.execute(plan).status == "completed"
    assert lake.table.latest_version() == 1


class _Failing(LocalStore):
    """Deletes a few, and then fails; as an object store it is asked for many at once."""

    def __init__(self, root: str, good: int) -> None:
        super().__init__(root)
        self.good = good
        self.lock = threading.Lock()

    def read_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[bytes]:
        data = self.read(path)
        return [data[start:end] for start, end in ranges]

    def list_prefix(self, folder: str, prefix: str) -> list[ObjectInfo]:
        return [info for info in self.list_folder(folder) if info.name.startswith(prefix)]

    def delete(self, path: str) -> None:
        with self.lock:
            self.good -= 1
            if self.good < 0:
                raise StorageError(f"{path} failed.", reason="A test says so.", remedy="None.")
        time.sleep(0.001)
        super().delete(path)


@pytest.mark.slow
def test_every_file_that_went_before_a_run_ended_is_counted(lake: Lake, plan: Plan) -> None:
    table = explorer.Table(_Failing(str(lake.root), 100))
    receipt = lake.execute(plan, table=table)
    assert receipt.status == "partly"
    (step,) = (step for step in receipt.steps if step.kind == "delete_files")
    assert step.done == len(GONE) - left(lake) == 100
    # those that were under way when the first one failed, and none behind them
    assert 1 <= step.failed <= 2 * MOST_CONCURRENT
    assert lake.execute(plan).status == "completed"
    assert left(lake) == 0
