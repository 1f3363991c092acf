"""What people are told of the steps of a run, in a word each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from explorer.errors import CancelledError
from explorer.maintenance import plan_add_constraint, plan_set_properties, plan_vacuum
from explorer.maintenance.documents.receipt import StepReceipt
from explorer.maintenance.documents.step_words import words_of_steps
from explorer.maintenance.features import validation_steps
from explorer.pipeline.reading.row_conditions import Violations
from explorer.writing.files.leftovers import Leftovers
from tests.tables import FEATURE_PROTOCOL, metadata
from tests.unit.maintenance.lake import Lake
from tests.unit.maintenance.vain import receipt_of


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    found = Lake(tmp_path)
    found.commit(0, [FEATURE_PROTOCOL, metadata(), found.add("a"), found.add("b")], age_days=5)
    return found


def test_step_that_was_begun_in_vain_is_told_by_how_the_run_ended() -> None:
    vain = Leftovers(num_removed=3)
    assert [*words_of_steps(receipt_of(vain, status="cancelled"))] == ["cancelled"]
    assert [*words_of_steps(receipt_of(vain, status="failed"))] == ["failed"]
    receipt = receipt_of(Leftovers(), vain, vain, status="cancelled", done=4)
    first, *_ = words_of_steps(receipt)
    assert first == "done"


def test_step_that_was_never_begun_stays_not_begun() -> None:
    receipt = receipt_of(Leftovers(num_removed=3), Leftovers(), status="cancelled")
    never = replace(receipt.steps[1], result=None)
    assert [*words_of_steps(replace(receipt, steps=(receipt.steps[0], never)))] == [
        "cancelled",
        "not begun",
    ]
    assert [*words_of_steps(replace(receipt, steps=(never, never)))] == ["not begun"] * 2


def test_optimize_says_its_version_and_how_much_it_wrote() -> None:
    result = {"version": 75, "was_there": False, "num_added": 1, "bytes_added": 2048}
    step = StepReceipt(kind="rewrite_files", status="done", planned=4, done=4, result=result)
    receipt = replace(receipt_of(status="completed"), steps=(step,), problem=None)
    assert [*words_of_steps(receipt)] == ["done (version 75, wrote 1 file of 2.0 KiB)"]


def test_checkpoint_that_was_not_due_is_not_done(lake: Lake) -> None:
    receipt = lake.execute(plan_set_properties(lake.table, {"a": "b"}, clock=lake.clock))
    assert [*words_of_steps(receipt)] == ["done (version 1)", "done (version 1)", "not due"]


def test_plan_says_whether_the_checkpoint_will_be_due_and_writes_one_that_others_make_due(
    lake: Lake,
) -> None:
    for version in range(1, 9):
        lake.commit(version, [lake.add(f"f{version}")], age_days=1)
    plan = plan_set_properties(lake.table, {"a": "b"}, clock=lake.clock)
    assert plan.steps[-1].reason == (
        "Only if others commit first: the table asks for one at each version that 10 divides, and "
        "9 is none."
    )
    lake.commit(9, [lake.add("f9")], age_days=0.5)
    due = plan_set_properties(lake.table, {"a": "b"}, clock=lake.clock)
    assert due.steps[-1].reason == (
        "The table asks for a checkpoint at each version that 10 divides, such as 10."
    )
    # the commit of somebody else moved the planned one on
    receipt = lake.execute(plan)
    assert [*words_of_steps(receipt)] == ["done (version 10)", "done (version 10)", "done"]
    assert [found.version for found in lake.table.listing().checkpoints] == [10]


def test_vacuum_says_it_of_both_of_its_commits(lake: Lake) -> None:
    lake.commit(1, [lake.add("c")], age_days=20)
    lake.commit(2, [lake.remove("a", age_days=20)], age_days=20)
    lake.commit(3, [metadata(configuration={"delta.checkpointInterval": "5"})], age_days=1)
    told = [
        step.reason.partition(":")[0].partition(",")[0]
        for step in plan_vacuum(lake.table, clock=lake.clock).steps
        if step.kind == "write_checkpoint"
    ]
    assert told == [
        "Only if others commit first",
        "The table asks for a checkpoint at each version that 5 divides",
    ]


def test_condition_that_rows_break_was_refused_and_tells_distinct_examples(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> Violations:
        return Violations(count=9, sample=pa.table({"id": [1, 1, 2, 1, 2]}))

    monkeypatch.setattr(validation_steps, "find_violations", broken)
    receipt = lake.execute(plan_add_constraint(lake.table, "high", "id > 2", clock=lake.clock))
    assert receipt.status == "refused"
    assert [*words_of_steps(receipt)][:2] == ["refused", "not begun"]
    assert receipt.problem is not None
    assert "false or null where id = 1; id = 2; and others." in receipt.problem.reason


def test_condition_whose_rows_were_not_all_read_was_cancelled(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: Any, **__: Any) -> Violations:
        raise CancelledError("Stopped.", reason="A test says so.", remedy="None.")

    monkeypatch.setattr(validation_steps, "find_violations", stopped)
    receipt = lake.execute(plan_add_constraint(lake.table, "high", "id > 2", clock=lake.clock))
    assert (receipt.status, next(words_of_steps(receipt))) == ("cancelled", "cancelled")
    assert lake.table.latest_version() == 0
