"""What is lost by a plan: one order for every operation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from explorer.maintenance import StateFolder, plan_checkpoint
from explorer.maintenance.plan.plan import Plan
from explorer.maintenance.plan.step_types import DeleteFiles
from tests.unit.widgets.maintenance_page import Page
from tests.unit.widgets.orders import Orders
from widgets.screens.maintenance._losses import list_losses


def losing(plan: Plan, operation: Any, effect: dict[str, Any], **parameters: Any) -> Plan:
    deletion = DeleteFiles(id="deletion", reason="old", num_files=2, num_bytes=2048)
    steps = (deletion,) if operation in {"vacuum", "clean-log"} else plan.steps
    return replace(plan, operation=operation, effect=effect, parameters=parameters, steps=steps)


@pytest.mark.parametrize(
    ("operation", "effect", "parameters", "told"),
    [
        (
            "vacuum",
            {
                "unreadable_changes": [{"first": 1, "last": 1}],
                "unreadable_versions": [{"first": 0, "last": 3}, {"first": 6, "last": 6}],
            },
            {},
            [
                ("Rows", "none of version 1"),
                ("Bytes", "2.0 KiB in 2 files"),
                ("Versions", "0–3, 6"),
                ("Change feed", "1"),
            ],
        ),
        (
            "clean-log",
            {
                "earliest_changes_before": None,
                "earliest_changes_after": 9,
                "unreadable_changes": [{"first": 2, "last": 4}],
                "earliest_version_before": 0,
                "earliest_version_after": 9,
            },
            {},
            [
                ("Rows", "none of version 1"),
                ("Bytes", "2.0 KiB in 2 files"),
                ("Versions", "0–8"),
                ("Change feed", "2–4"),
            ],
        ),
        (
            "set-properties",
            {"changed": {"delta.enableChangeDataFeed": {"before": "true", "after": None}}},
            {},
            [("Change feed", "of the new version and later ones")],
        ),
        (
            "set-properties",
            {"changed": {"delta.enableChangeDataFeed": {"before": "false", "after": "true"}}},
            {},
            [],
        ),
        (
            "repair",
            {"breaks_change_feed": True, "rows": 7},
            {"what": "files"},
            ["Rows", "Change feed"],
        ),
        (
            "repair",
            {"lost_versions": [[3, 4]]},
            {"what": "checkpoint"},
            [("Versions", "3–4, which cannot be opened now either")],
        ),
        ("repair", {"rows": 0}, {"what": "files"}, []),
        ("repair", {"rows": None}, {"what": "files"}, [("Rows", "unknown")]),
        (
            "restore",
            {"rows_removed": 3, "rows_unknown": "a file that returns is not counted"},
            {},
            [("Rows", "3 rows of version 1")],
        ),
        ("restore", {"rows_removed": None, "rows_unknown": "why"}, {}, [("Rows", "unknown")]),
        # what a document that was kept says
        (
            "vacuum",
            {"unreadable_versions": [{}], "unreadable_changes": "abc"},
            {},
            [
                ("Rows", "none of version 1"),
                ("Bytes", "2.0 KiB in 2 files"),
                ("Versions", "unknown"),
                ("Change feed", "unknown"),
            ],
        ),
        ("restore", {"rows_removed": 1, "rows_at_most": True}, {}, ["Rows"]),
        ("restore", {"rows_removed": 0}, {}, []),
        ("checkpoint", {}, {}, []),
    ],
)
def test_rows_come_before_bytes_versions_and_the_feed(
    orders: Orders,
    operation: str,
    effect: dict[str, Any],
    parameters: dict[str, str],
    told: list[Any],
) -> None:
    found = list_losses(
        losing(plan_checkpoint(orders.service.table), operation, effect, **parameters)
    )
    assert found == told or [name for name, _ in found] == told


def test_what_is_lost_stands_where_the_plan_is_approved(
    orders: Orders, state: StateFolder, no_surprises: None
) -> None:
    page = Page(orders, state)
    page.plan(retention="0 hours")
    at = page.html.index("What is lost")
    assert page.html.index("<dt>Bytes</dt>", at) < page.html.index('data-do="approve"', at)
