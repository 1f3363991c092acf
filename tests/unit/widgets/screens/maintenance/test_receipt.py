"""Receipts on the page, without a browser."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explorer.maintenance import StateFolder
from explorer.maintenance.documents.receipt import Status, StepReceipt
from explorer.maintenance.run.executor import files_that_stayed
from explorer.writing.files.leftovers import Leftovers
from tests.unit.maintenance.vain import HOSTILE, receipt_of
from tests.unit.widgets.maintenance_page import Page
from tests.unit.widgets.orders import Orders
from widgets.screens.maintenance._receipt_parts import EXCEPTIONS_SHOWN, render_receipt


def test_a_receipt_names_what_its_run_wrote_in_vain(
    orders: Orders, state: StateFolder, no_surprises: None
) -> None:
    names = tuple(f"part=a/{number}.parquet" for number in range(EXCEPTIONS_SHOWN + 10))
    left = Leftovers(num_removed=2, left=(HOSTILE, *names), unlisted=("part=b/x",))
    receipt = receipt_of(left, uri=str(orders.root))
    state.save_receipt(receipt)
    page = Page(orders, state)
    page.do("receipt", receipt.id)
    assert "2 files that it had written were removed again." in page.html
    assert f"{len(names) + 1} files that it had written are still there" in page.html
    assert f"{len(names) + 1} files were written in vain and left, and perhaps more" in page.html
    assert "part=a/7.parquet" in page.html
    assert "11 more are not listed here" in page.html
    assert "part=b/x" in page.html
    assert "<img" not in page.html
    assert "&lt;img src=x" in page.html


@pytest.mark.parametrize(
    ("left", "status", "done", "said"),
    [
        (Leftovers(num_removed=2), "failed", 0, "Nothing was changed. 2 files"),
        (Leftovers(left=("a",)), "cancelled", 0, "No version of the table changed. 1 file"),
        (Leftovers(left=("a",)), "partly", 4, "goes on where it ended. 1 file"),
        (Leftovers(), "failed", 0, "Nothing was changed.</div>"),
    ],
)
def test_the_first_sentence_says_whether_anything_is_left(
    left: Leftovers, status: Status, done: int, said: str
) -> None:
    html = render_receipt(receipt_of(left, status=status, done=done))
    assert said in html


def test_columns_of_files_that_there_are_none_of_are_left_out() -> None:
    done = StepReceipt(kind="delete_files", status="done", planned=4, done=4)
    html = render_receipt(replace(receipt_of(), steps=(done,)))
    assert "Planned" in html
    for label in ("Already gone", "Refused", "Failed"):
        assert f">{label}</th>" not in html
    html = render_receipt(replace(receipt_of(), steps=(done, replace(done, done=3, refused=1))))
    assert ">Refused</th>" in html
    assert ">Already gone</th>" not in html


def test_a_receipt_of_files_that_stayed_does_not_say_that_all_was_done() -> None:
    deletion = StepReceipt(kind="delete_files", status="done", planned=4, done=3, refused=1)
    problem = files_that_stayed([deletion])
    receipt = replace(receipt_of(status="partly"), steps=(deletion,), problem=problem)
    html = render_receipt(receipt)
    assert "Not all of it was done." in html
    assert "1 of 4 planned files was not deleted." in html
    assert "Plan again" in html
    # it has been gone through: carrying it out once more changes nothing
    assert "goes on where it ended" not in html
