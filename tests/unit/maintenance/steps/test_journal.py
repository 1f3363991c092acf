"""The journal keeps what a later run has to tell, and what was changed in it by hand does no
harm."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from explorer.maintenance.documents.receipt import (
    MAX_EXCEPTIONS,
    FileException,
    Receipt,
    StepReceipt,
)
from explorer.maintenance.steps.context import Tally
from explorer.maintenance.steps.journal import completed_in, done_in, noted_in, promised_in
from explorer.progress import Cancel, Progress
from tests.unit.maintenance.lake import Lake, start, vacuum


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    found = Lake(tmp_path)
    start(found, found.add("live"))
    for number in range(1200):
        found.file(f"{number:04}.parquet")
    return found


def stop_at(label: str, done: int) -> dict[str, Any]:
    cancel = Cancel()

    def stop(progress: Progress) -> None:
        if progress.label == label and progress.done == done:
            cancel.cancel()

    return {"progress": stop, "cancel": cancel}


def deletion_of(receipt: Receipt) -> StepReceipt:
    (found,) = (step for step in receipt.steps if step.kind == "delete_files")
    return found


def change_two(lake: Lake) -> set[tuple[str, str]]:
    """Of the planned files one is another by now, and one is gone."""
    lake.file("0001.parquet", size=200)
    os.unlink(lake.root / "1100.parquet")
    return {("0001.parquet", "refused"), ("1100.parquet", "already gone")}


@pytest.mark.parametrize("where", ["between two batches", "behind all files"])
def test_files_that_stayed_are_named_also_where_the_run_was_taken_up_again(
    lake: Lake, where: str
) -> None:
    plan = vacuum(lake)
    expected = change_two(lake)
    deletion = next(step for step in plan.steps if step.kind == "delete_files")
    if where == "behind all files":
        at = plan.steps.index(deletion) + 1
        options = stop_at(plan.steps[at].reason, at)
    else:
        options = stop_at(deletion.reason, 0)
    assert lake.execute(plan, **options).status == "cancelled"
    receipt = lake.execute(plan)
    assert receipt.status == "partly"
    step = deletion_of(receipt)
    assert (step.planned, step.done, step.refused, step.already_gone) == (1200, 1198, 1, 1)
    assert {(found.path, found.outcome) for found in step.exceptions} == expected
    assert all(found.reason for found in step.exceptions)


def test_journal_of_the_older_form_is_taken_up(lake: Lake) -> None:
    """It has the counts of a step, and neither its exceptions nor the promised versions."""
    plan = vacuum(lake)
    change_two(lake)
    deletion = next(step for step in plan.steps if step.kind == "delete_files")
    assert lake.execute(plan, **stop_at(deletion.reason, 0)).status == "cancelled"
    journal = lake.state / "runs" / f"{plan.digest}.journal"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    for line in lines:
        line.pop("exceptions", None)
        line.pop("promised", None)
        line.get("counts", {}).pop("planned", None)
    journal.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    receipt = lake.execute(plan)
    step = deletion_of(receipt)
    assert (step.planned, step.done, step.refused, step.already_gone) == (1200, 1198, 1, 1)
    assert [found.path for found in step.exceptions] == ["1100.parquet"]


STRANGE: list[Any] = [None, 1, -1, 1.5, True, "x", [], {}, [1], {"a": 1}, 2**64, "x" * 2**16]


@pytest.mark.parametrize("value", STRANGE, ids=lambda value: repr(value)[:12])
def test_line_that_was_changed_by_hand_is_no_bug(value: Any) -> None:
    fields = ("event", "step", "next", "counts", "exceptions", "runs", "result", "promised")
    whole = {
        "step": "a",
        "next": 1,
        "counts": {"done": 1},
        "exceptions": [{"path": "a", "outcome": "refused", "reason": "b"}],
    }
    for event in ("begun", "batch", "done", "ended"):
        for name in fields:
            journal = [{"event": event, **whole, name: value}]
            completed_in(journal), promised_in(journal)
            done_in(journal, "a"), noted_in(journal, "a")
        for name in ("path", "outcome", "reason"):
            one = {"path": "a", "outcome": "refused", "reason": "b", name: value}
            noted = noted_in([{"event": "batch", **whole, "exceptions": [one]}], "a")
            good = isinstance(value, str) and len(value) < 2 and name != "outcome"
            assert len(noted.exceptions) == good
    counted = noted_in([{"event": "batch", **whole, "counts": {"done": value, "x": 1}}], "a")
    assert counted.counts == ({"done": 1} if value == 1 and value is not True else {})


def test_exceptions_of_a_journal_are_bounded_and_name_each_file_once() -> None:
    def line(start: int) -> dict[str, Any]:
        found = [
            {"path": str(number), "outcome": "refused", "reason": "r"}
            for number in range(start, start + 800)
        ]
        return {"event": "batch", "step": "a", "next": 1, "exceptions": found}

    assert len(noted_in([line(0), line(0)], "a").exceptions) == 800
    assert len(noted_in([line(0), line(800)], "a").exceptions) == MAX_EXCEPTIONS


def test_tally_gives_each_exception_to_the_journal_once() -> None:
    tally = Tally()
    tally.take_up([FileException(path="a", outcome="refused", reason="r")])
    tally.note("b", "failed", "r")
    assert [found.path for found in tally.take_new()] == ["b"]
    assert tally.take_new() == []
