"""What the page says of a plan: facts in words, and how far a run is."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from typing import Any
from uuid import UUID

import pytest

from explorer.maintenance import StateFolder, plan_checkpoint
from explorer.maintenance.plan.plan import Plan
from explorer.maintenance.plan.step_types import Aim, DeleteFiles, RewriteFiles, WriteChecksum
from explorer.progress import Progress
from tests.unit.widgets.maintenance_page import Page
from tests.unit.widgets.orders import Orders
from widgets.screens.maintenance._facts import list_facts
from widgets.screens.maintenance._run_parts import describe_progress


@pytest.fixture
def plan(orders: Orders) -> Plan:
    return plan_checkpoint(orders.service.table)


def facts(plan: Plan, effect: dict[str, Any], operation: Any = "vacuum") -> dict[str, str]:
    return dict(list_facts(replace(plan, operation=operation, parameters={}, effect=effect)))


def test_a_retention_of_nothing_is_shown(
    orders: Orders, state: StateFolder, no_surprises: None
) -> None:
    page = Page(orders, state)
    page.plan(retention="0 hours")
    assert "<dt>Files are kept for</dt><dd>0 seconds</dd>" in page.html
    assert "<dt>That retention comes from</dt><dd>what was asked for</dd>" in page.html


def test_a_fact_of_zero_or_no_is_shown_and_one_of_nothing_is_not(plan: Plan) -> None:
    nothing: dict[str, Any] = {
        "order": None,
        "where": "",
        "columns": [],
        "set": {},
        "form": {"kind": None},
    }
    found = facts(plan, {"readable_from": 0, "drops": False, **nothing})
    assert found.pop("Readable from version") == "0"
    assert found.pop("Drops the feature now") == "no"
    assert list(found) == ["Made on version", "Made at"]


def test_a_log_cleanup_tells_times_and_versions_in_words(plan: Plan) -> None:
    effect = {
        "retention_ms": 2_592_000_000,
        "cutoff": "2026-10-25T00:00:00+00:00",
        "earliest_version_before": 0,
        "earliest_time_before": "2026-10-10T21:53:37.285000+00:00",
        "earliest_changes_before": 0,
    }
    found = facts(plan, effect, "clean-log")
    assert found["The log is kept for"] == "30 days"
    assert found["The retention reaches back to"] == "2026-10-25 00:00:00 UTC"
    assert found["Time travel now from version"] == "0"
    assert found["Time travel now from"] == "2026-10-10 21:53:37 UTC"
    assert found["Change feed now from version"] == "0"
    assert facts(plan, effect)["Files are kept for"] == "30 days"


@pytest.mark.parametrize("value", ["<b>", "never", 12, ["x"]])
def test_a_time_that_is_none_is_shown_as_it_stands(plan: Plan, value: object) -> None:
    assert facts(plan, {"cutoff": value})["The retention reaches back to"]


def test_ranges_are_told_by_their_ends(plan: Plan) -> None:
    found = facts(plan, {"unreadable_versions": [{"first": 0, "last": 3}, {"first": 7, "last": 7}]})
    assert found["Versions that become unreadable"] == "0\N{EN DASH}3, 7"


@pytest.mark.parametrize("value", ["all", 12, [3], [{"first": 0}], [{"first": 0, "last": "x"}]])
def test_ranges_that_are_none_are_shown_as_they_stand(plan: Plan, value: object) -> None:
    assert facts(plan, {"unreadable_versions": value})["Versions that become unreadable"]


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [(0, "0 seconds"), (1000, "1 second"), (1500, "1.5 seconds"), (3_600_000, "1 hour")],
)
def test_a_duration_has_its_unit_in_the_right_number(
    plan: Plan, milliseconds: int, words: str
) -> None:
    assert facts(plan, {"retention_ms": milliseconds})["Files are kept for"] == words


def test_what_another_would_delete_is_told_in_files(plan: Plan) -> None:
    name = "Delta Spark would delete also"
    found = {"num_files": 1, "num_bytes": 2048}
    assert facts(plan, {"reference_deletes_also": found})[name] == "1 file, 2.0 KiB"
    found = {"num_files": 0, "num_bytes": 0}
    assert facts(plan, {"reference_deletes_also": found})[name] == "nothing more"


def test_progress_says_what_is_done_and_of_what(plan: Plan) -> None:
    rewrite = RewriteFiles(
        id="batch 1",
        reason="6 groups; one commit.",
        transaction_id="t",
        parameters={},
        aim=Aim(where=None, target_size=9, purge=False, batch_size=9),
        batch=0,
        num_groups=6,
        groups_sha256="",
        seed=UUID(int=0),
    )
    deletion = DeleteFiles(id="deletion", reason="They are not needed.", num_files=4000)
    steps = (rewrite, deletion, WriteChecksum(id="checksum", reason="A checksum.", of=rewrite))
    plan = replace(plan, steps=steps)

    def told(done: int, total: int | None, label: str) -> tuple[str, str]:
        return describe_progress(plan, Progress(done=done, total=total, label=label))

    assert told(0, 3, steps[0].reason) == ("Step 1 of 3", "Optimize: 6 groups; one commit.")
    assert told(0, 4000, steps[1].reason)[0] == "0 of 4,000 files"
    assert told(1000, 4000, steps[1].reason)[1] == "Delete files: They are not needed."
    assert told(2, 3, steps[2].reason)[0] == "Step 3 of 3"
    assert told(2, 12, "Writing rows again") == ("2 of 12 parts", "Writing rows again")
    assert told(0, 3, "Listing the log again") == ("", "Listing the log again")
    assert told(7, None, "Looking") == ("7", "Looking")
    assert describe_progress(plan, None) == ("", "")


def test_a_plan_is_approved_above_its_grounds_and_files(
    orders: Orders, state: StateFolder, no_surprises: None
) -> None:
    page = Page(orders, state)
    page.plan()
    order = re.findall(
        r"dx-consequence|checks passed|Delete 30 files|Based on|Every file, with",
        unescape(page.html),
    )
    assert order == [
        "dx-consequence", "checks passed", "Delete 30 files", "Based on",
        "Every file, with",
    ]  # fmt: skip
