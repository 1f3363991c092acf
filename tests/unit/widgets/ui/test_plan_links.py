"""Buttons that lead to Maintenance: what they say is planned, or filled in."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pytest

import explorer
import explorer.inspect as look
from tests.tables import FEATURE_PROTOCOL, LogFolder, add, metadata, vector
from tests.unit.widgets.page.test_explorer_view import Page
from widgets.session.operations import find_operation
from widgets.ui.plan_links import (
    parse_plan_request,
    plan_request_of_repair,
    render_plan_link,
    render_step_link,
)


def hiding(folder: Path) -> Path:
    log = LogFolder(folder / "orders")
    data = add("a.parquet", stats='{"numRecords": 9}', deletionVector=vector())
    log.commit(0, [FEATURE_PROTOCOL, metadata(), data])
    return log.root


@pytest.mark.parametrize(
    "repair",
    ["checkpoint", "clean-log", "repair hint", "repair checkpoint", "repair files",
     "restore --version 3"],
)  # fmt: skip
def test_every_repair_of_a_finding_is_an_operation_with_such_answers(repair: str) -> None:
    request = plan_request_of_repair(repair)
    assert request is not None
    operation = find_operation(request[0])
    assert operation is not None
    fields = {field.name: [value for value, _ in field.choices] for field in operation.fields}
    for name, value in request[1].items():
        assert name in fields
        assert not fields[name] or value in fields[name]


@pytest.mark.parametrize("text", ["", "[]", "{}", "[1, {}]", '["a", {"b": 1}]', '["a"]', "nul"])
def test_what_no_button_says_is_no_request(text: str) -> None:
    assert parse_plan_request(text) is None


def test_a_label_of_a_table_is_inert_and_its_answer_is_kept() -> None:
    name = "<b>\"'{}"
    button = render_plan_link(f"Plan dropping {name}", "drop-feature", {"feature": name})
    assert "<b>" not in button
    value = html.unescape(button.partition('data-value="')[2].partition('"')[0])
    assert parse_plan_request(value) == ("drop-feature", {"feature": name})


@pytest.mark.parametrize(
    ("operation", "answers", "label", "action"),
    [
        ("optimize", {"what": "purge"}, "Plan Optimize (purge)", "plan-now"),
        ("repair", {"what": "files"}, "Plan repair files", "plan-now"),
        ("restore", {"version": "3"}, "Plan restore to version 3", "plan-now"),
        ("set-properties", {}, "Open the form for properties", "plan-request"),
    ],
)
def test_a_button_that_says_plan_plans_and_no_other(
    operation: str, answers: dict[str, str], label: str, action: str
) -> None:
    button = render_step_link(operation, answers)
    assert f'data-do="{action}"' in button
    assert f">{label}</button>" in button


def test_a_purge_is_planned_at_once(tmp_path: Path) -> None:
    page = Page().open(hiding(tmp_path), view="vectors")
    page.do("plan-now", json.dumps(["optimize", {"what": "purge"}]))
    assert page.state.view == "maintenance"
    assert "Make the plan" not in page.html  # but the plan, or why there is none


def test_the_feature_that_stops_an_engine_can_be_planned_away(tmp_path: Path) -> None:
    place = hiding(tmp_path)
    rows = [row for row in look.engines(explorer.open_table(place)).to_pylist() if row["newest"]]
    stopped = next(row for row in rows if "deletionVectors" in row["read_blockers"])
    free = next(row for row in rows if not row["read_blockers"] + row["write_blockers"])
    page = Page().open(place, view="engines")
    page.do("engine", free["engine"])
    assert "Choose how to drop" not in page.html
    page.do("engine", stopped["engine"])
    assert "Choose how to drop deletionVectors" in page.html
    page.do("plan-request", json.dumps(["drop-feature", {"feature": "deletionVectors"}]))
    assert 'value="deletionVectors"' in page.html


def test_an_operation_that_there_is_not_is_not_chosen(tmp_path: Path) -> None:
    page = Page().open(hiding(tmp_path), view="vectors")
    page.do("plan-now", json.dumps(["drop-table", {}]))
    assert page.state.view == "maintenance"
    assert "Make the plan" not in page.html
