"""Receipts on the page, without a browser."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from explorer.maintenance import StateFolder
from explorer.maintenance.documents.receipt import Status, StepReceipt
from explorer.maintenance.run.executor import files_that_stayed
from explorer.writing.files.leftovers import Leftovers
from tests.unit.maintenance.vain import HOSTILE, receipt_of
from tests.unit.widgets.maintenance_page import Page
from tests.unit.widgets.orders import Orders
from widgets.screens.maintenance._receipt_parts import (
    EXCEPTIONS_SHOWN,
    made_versions,
    render_made,
    render_receipt,
)
from widgets.state import PageState
from widgets.ui.place_links import PlaceLinks


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


def test_a_receipt_leads_to_the_versions_that_its_steps_committed() -> None:
    def step(kind: str, version: int | None) -> StepReceipt:
        result = {} if version is None else {"version": version}
        return StepReceipt(kind=kind, status="done", planned=1, done=1, result=result)

    kinds = [("commit", 5), ("write_checksum", 5), ("rewrite_files", 6), ("commit", None),
             ("commit", 6), ("delete_files", None), ("write_checkpoint", 9)]  # fmt: skip
    receipt = replace(receipt_of(), steps=tuple(step(*one) for one in kinds))
    assert made_versions(receipt) == [5, 6]
    links = PlaceLinks(PageState(table="/orders", view="maintenance"), has_address=True)
    made = render_made(receipt, links)
    assert 'href="?table=%2Forders&amp;version=5&amp;view=commit"' in made
    assert made in render_receipt(receipt, made)
    many = tuple(step("rewrite_files", 1000 + at) for at in range(9))
    shown = render_made(replace(receipt, steps=many), links)
    assert re.findall(r"Version ([\d,]+)<", shown) == ["1,000", "1,008"]
    assert render_made(replace(receipt, steps=()), links) == ""


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
