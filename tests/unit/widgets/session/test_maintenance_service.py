"""What a page may carry out: its own plan, once, and only where it was unlocked."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from explorer.errors import ConflictError, DeltaError, InvalidArgumentError, NotFoundError, Problem
from explorer.maintenance import Plan, Receipt, StateFolder
from explorer.progress import Cancel, Progress, ProgressCallback
from tests.tables import metadata
from tests.unit.widgets.orders import Orders
from widgets.screens.maintenance._review_view import render_form_of
from widgets.served._unfinished_plans import find_unfinished
from widgets.session.maintenance import Consent, Maintenance
from widgets.session.operations import OPERATIONS, find_operation, name_button, needs_name
from widgets.session.runs import Run, Runs
from widgets.session.tables import TableService


@dataclass
class Session:
    """One page: its right, and the table as it has it open."""

    maintenance: Maintenance
    service: TableService

    def plan(self, name: str = "vacuum", **answers: str) -> Plan:
        """Make a plan and show it."""
        operation = find_operation(name)
        assert operation is not None
        plan = self.maintenance.plan(self.service, operation, answers)
        self.maintenance.show(plan)
        return plan

    def approve(self, digest: str, table_name: str = "", reason: str = "") -> Run:
        consent = Consent(digest=digest, table_name=table_name, reason=reason)
        return self.maintenance.approve(self.service, consent)

    def carry_out(self, run: Run) -> Receipt:
        self.maintenance.begin(run, in_background=False)
        assert isinstance(run.outcome, Receipt)
        return run.outcome


def session(orders: Orders, state: StateFolder, *, unlocked: bool = True) -> Session:
    right = Maintenance(is_unlocked=lambda: unlocked, state=state)
    return Session(maintenance=right, service=orders.service)


def refusal(error: pytest.ExceptionInfo[ConflictError]) -> str:
    assert error.value.kind == "plan_refused"
    return error.value.reason


def test_a_locked_page_plans_and_keeps_nothing(orders: Orders, state: StateFolder) -> None:
    page = session(orders, state, unlocked=False)
    assert page.plan().effect["num_files"] == 30
    assert state.list_plans() == []


def test_a_locked_page_carries_nothing_out(orders: Orders, state: StateFolder) -> None:
    page = session(orders, state, unlocked=False)
    plan = page.plan()
    with pytest.raises(ConflictError) as error:
        page.approve(plan.digest, "orders")
    assert "may not change" in refusal(error)
    assert orders.left == 30
    assert state.list_receipts() == []


def test_a_page_that_was_given_no_right_is_locked(orders: Orders) -> None:
    page = Session(maintenance=Maintenance(), service=orders.service)
    with pytest.raises(ConflictError):
        page.approve(page.plan().digest, "orders")


def test_an_approved_plan_is_carried_out(orders: Orders, state: StateFolder) -> None:
    page = session(orders, state)
    plan = page.plan()
    receipt = page.carry_out(page.approve(plan.digest, "orders"))
    assert receipt.status == "completed"
    assert orders.left == 0
    assert (orders.root / "live.parquet").exists()
    assert state.list_receipts() == [receipt]
    assert receipt.approved_by is None  # nobody was named


def test_a_reason_that_is_no_text_leaves_the_plan_to_be_approved(
    orders: Orders, state: StateFolder
) -> None:
    page = session(orders, state)
    plan = page.plan()
    halves = Consent(digest=plan.digest, table_name="orders", reason="caf\udce9")
    with pytest.raises(InvalidArgumentError, match="not Unicode text"):
        page.maintenance.approve(page.service, halves)
    assert page.carry_out(page.approve(plan.digest, "orders")).status == "completed"


def test_the_plan_of_another_session_is_not_carried_out(orders: Orders, state: StateFolder) -> None:
    mine, other = session(orders, state), session(orders, state)
    my_plan, other_plan = mine.plan("checkpoint"), other.plan()
    with pytest.raises(ConflictError) as error:
        mine.approve(other_plan.digest, "orders")
    assert "not the plan that this page shows" in refusal(error)
    assert orders.left == 30
    assert mine.carry_out(mine.approve(my_plan.digest)).status == "completed"


def test_a_plan_that_the_page_no_longer_shows_is_not_carried_out(
    orders: Orders, state: StateFolder
) -> None:
    page = session(orders, state)
    old = page.plan()
    page.plan("checkpoint")
    with pytest.raises(ConflictError):
        page.approve(old.digest, "orders")
    page.maintenance.show(None)
    with pytest.raises(ConflictError):
        page.approve(old.digest, "orders")
    assert orders.left == 30


def test_an_approval_is_good_for_one_run(orders: Orders, state: StateFolder) -> None:
    page = session(orders, state)
    plan = page.plan()
    run = page.approve(plan.digest, "orders")
    with pytest.raises(ConflictError) as error:
        page.approve(plan.digest, "orders")
    assert "approved already" in refusal(error)
    page.carry_out(run)
    with pytest.raises(ConflictError):
        page.approve(plan.digest, "orders")
    assert len(state.list_receipts()) == 1


def test_two_clicks_at_the_same_moment_approve_once(orders: Orders, state: StateFolder) -> None:
    page = session(orders, state)
    plan = page.plan()
    start, approved = threading.Barrier(8), []

    def click() -> None:
        start.wait()
        try:
            approved.append(page.approve(plan.digest, "orders"))
        except ConflictError:
            return

    threads = [threading.Thread(target=click) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(approved) == 1


@pytest.mark.parametrize("typed", ["", "Orders", "orders ", "order"])
def test_what_is_lost_for_good_needs_the_name_as_it_is(
    orders: Orders, state: StateFolder, typed: str
) -> None:
    page = session(orders, state)
    plan = page.plan()
    with pytest.raises(ConflictError) as error:
        page.approve(plan.digest, typed)
    assert "name was not typed" in refusal(error)
    assert orders.left == 30
    assert page.carry_out(page.approve(plan.digest, "orders")).status == "completed"


def test_a_reason_is_given_where_a_guard_asks_for_one(orders: Orders, state: StateFolder) -> None:
    page = session(orders, state)
    plan = page.plan(retention="2 days")
    assert plan.asks_for_reason
    with pytest.raises(ConflictError) as error:
        page.approve(plan.digest, "orders", "  ")
    assert "reason" in refusal(error)
    receipt = page.carry_out(page.approve(plan.digest, "orders", " the disk is full "))
    assert receipt.reason == "the disk is full"


def test_a_plan_that_a_newer_commit_touches_ends_in_its_refusal(
    orders: Orders, state: StateFolder
) -> None:
    page = session(orders, state)
    plan = page.plan()
    orders.commit(2, [metadata(name="orders", description="another one")], days=0.001)
    receipt = page.carry_out(page.approve(plan.digest, "orders"))
    assert receipt.status == "refused"
    assert receipt.problem is not None
    assert receipt.problem.kind == "plan_stale"
    assert orders.left == 30


def test_a_plan_that_was_carried_out_comes_back_with_its_receipt(
    orders: Orders, state: StateFolder
) -> None:
    page, later = session(orders, state), session(orders, state)
    plan = page.plan()
    assert later.maintenance.load_plan(later.service, plan.digest)[1] is None
    receipt = page.carry_out(page.approve(plan.digest, "orders"))
    assert later.maintenance.load_plan(later.service, plan.digest)[1] == receipt


def test_documents_of_other_tables_are_not_shown(
    tmp_path: Path, orders: Orders, state: StateFolder
) -> None:
    page, other = session(orders, state), session(Orders(tmp_path, "other"), state)
    plan = other.plan("checkpoint")
    receipt = other.carry_out(other.approve(plan.digest))
    found = page.maintenance.read_documents(page.service)
    assert (found.plans, found.receipts) == ((), ())
    with pytest.raises(NotFoundError):
        page.maintenance.load_plan(page.service, plan.digest)
    with pytest.raises(NotFoundError):
        page.maintenance.load_receipt(page.service, receipt.id)
    shown = other.maintenance.read_documents(other.service)
    assert ([one["digest"] for one in shown.plans], shown.receipts) == ([plan.digest], (receipt,))


def test_a_page_without_a_state_folder_shows_no_documents(orders: Orders) -> None:
    right = Maintenance()
    assert right.read_documents(orders.service).receipts == ()
    assert not right.keeps_documents
    with pytest.raises(DeltaError):
        right.load_plan(orders.service, "0" * 64)


@pytest.mark.slow
def test_stopping_the_server_ends_a_run_between_two_changes_with_a_true_receipt(
    tmp_path: Path, state: StateFolder
) -> None:
    many = Orders(tmp_path, "many", gone=2500)
    runs = Runs()
    right = Maintenance(is_unlocked=lambda: True, runs=runs, state=state)
    page = Session(maintenance=right, service=many.service)
    run = page.approve(page.plan().digest, "many")
    is_deleting = threading.Event()

    def hold() -> None:
        if run.progress is not None and run.progress.total == 2500 and run.progress.done == 1000:
            is_deleting.set()
            while not run.is_stopping:
                time.sleep(0.01)

    run.follow(hold)
    right.begin(run, in_background=True)
    assert is_deleting.wait(30)
    assert runs.stop() == 1
    (receipt,) = state.list_receipts()
    assert receipt == run.outcome
    assert receipt.status == "cancelled"
    (deletion,) = (step for step in receipt.steps if step.kind == "delete_files")
    assert deletion.done == 2500 - many.left
    assert 0 < many.left < 2500


def test_nothing_is_begun_while_the_server_stops(orders: Orders, state: StateFolder) -> None:
    runs = Runs()
    right = Maintenance(is_unlocked=lambda: True, runs=runs, state=state)
    page = Session(maintenance=right, service=orders.service)
    run = page.approve(page.plan().digest, "orders")
    runs.stop()
    with pytest.raises(InvalidArgumentError):
        right.begin(run, in_background=True)
    assert orders.left == 30


def test_a_page_that_fails_while_it_looks_on_does_not_break_the_run(
    orders: Orders, state: StateFolder
) -> None:
    page = session(orders, state)
    run = page.approve(page.plan().digest, "orders")

    def fail() -> None:
        raise RuntimeError("a page that is gone")

    run.follow(fail)
    assert page.carry_out(run).status == "completed"


def test_a_plan_that_was_cut_off_is_told_with_what_can_still_be_done(
    orders: Orders, state: StateFolder
) -> None:
    plan = session(orders, state).plan()
    assert find_unfinished(state) == []
    state.append_journal(plan.digest, {"event": "begun", "at": 1})
    (said,) = find_unfinished(state)
    assert f"choose plan {plan.digest[:12]} and approve it again" in said
    place = state.place / "plans" / f"{plan.digest}.json"
    place.write_bytes(place.read_bytes().replace(b"Permanently deletes", b"Keeps"))
    (said,) = find_unfinished(state)
    assert f"the document of plan {plan.digest[:12]} was changed since" in said
    assert "approve it again" not in said


def test_what_goes_wrong_in_a_run_is_its_outcome(orders: Orders, state: StateFolder) -> None:
    def work(progress: ProgressCallback, cancel: Cancel) -> Receipt:
        progress(Progress(done=1, total=2, label="at it"))
        cancel.check()
        raise ZeroDivisionError

    run = Run(session(orders, state).plan(), work)
    run.carry_out()
    assert isinstance(run.outcome, Problem)
    assert "ZeroDivisionError" in run.outcome.reason


@pytest.mark.parametrize(
    ("name", "answers"),
    [
        ("vacuum", {"retention": "a fortnight"}),
        ("vacuum", {"retention": "-1 days"}),
        ("clean-log", {"retention": "<b>"}),
        ("restore", {"version": "1e9"}),
        ("restore", {"version": ""}),
        ("compact-log", {"first": "-3"}),
        ("column", {"action": "add", "columns": ""}),
        ("column", {"action": "rename", "columns": "id"}),
        ("column", {"action": "change", "columns": "id"}),
        ("cluster-by", {"columns": "no such column"}),
        ("set-properties", {"set": "no sign"}),
        ("set-properties", {"set": "=5"}),
        ("set-properties", {}),
        ("repair", {"what": "everything"}),
    ],
)
def test_answers_that_cannot_be_meant_are_told_apart(
    orders: Orders, state: StateFolder, name: str, answers: dict[str, str]
) -> None:
    with pytest.raises(InvalidArgumentError) as error:
        session(orders, state).plan(name, **answers)
    assert error.value.remedy


def test_properties_are_set_and_unset_line_by_line(orders: Orders, state: StateFolder) -> None:
    page = session(orders, state)
    page.carry_out(page.approve(page.plan("set-properties", set="owner = ada=b\n\nteam=x").digest))
    configuration = page.service.table.snapshot().metadata.configuration
    assert configuration == {"owner": "ada=b", "team": "x"}
    page.carry_out(page.approve(page.plan("set-properties", unset="owner\n").digest))
    assert page.service.table.snapshot().metadata.configuration == {"team": "x"}


def test_columns_are_added_renamed_and_dropped_by_the_form(
    orders: Orders, state: StateFolder
) -> None:
    page = session(orders, state)
    names = page.service.table.snapshot().schema.names

    def do(**answers: str) -> Plan:
        plan = page.plan("column", **answers)
        page.carry_out(page.approve(plan.digest, plan.subject.name))
        return plan

    do(action="add", columns="note STRING COMMENT 'why' FIRST, n INT")
    assert page.service.table.snapshot().schema.names == ("note", *names, "n")
    plan = do(action="rename", columns="note", new_name="remark", mapping="enable")
    assert needs_name(plan)
    assert name_button(plan) == "Rename the column"
    plan = do(action="change", columns="n", comment="number", after="first", nullable="null")
    assert not needs_name(plan)
    do(action="drop", columns="n, remark")
    assert page.service.table.snapshot().schema.names == names


def test_every_operation_has_words_of_its_own() -> None:
    names = [operation.name for operation in OPERATIONS]
    assert len(set(names)) == len(names)
    for operation in OPERATIONS:
        assert operation.does.endswith(".")
        assert operation.title
        fields = [field.name for field in operation.fields]
        assert json.dumps(sorted(fields)) == json.dumps(sorted(set(fields)))


def test_fields_of_one_action_are_those_that_its_plan_asks_for() -> None:
    operation = find_operation("column")
    assert operation is not None
    [actions] = [field.choices for field in operation.fields if field.name == "action"]
    named = {value for value, _ in actions}
    drawn = str(render_form_of(operation, {}, {}))
    styles = (Path(__file__).resolve().parents[4] / "static" / "explorer.css").read_text(
        encoding="utf-8"
    )
    for value in named:
        # the choice itself says which labels are shown, without a word from the server
        assert (
            f'option[value="{value}"]:checked) label[data-of]:not([data-of~="{value}"])' in styles
        )
    for field in operation.fields:
        assert {*field.only} <= named
        if field.only:
            assert f'<label data-of="{" ".join(field.only)}"><span>{field.label}<' in drawn
    assert [field.name for field in operation.fields if field.only == ("rename",)] == ["new_name"]
