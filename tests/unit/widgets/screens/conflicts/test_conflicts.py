"""What a transaction would conflict with: told on the page, and told apart from none."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import explorer
import explorer.inspect as look
from tests.tables import PROTOCOL, LogFolder, add, metadata, remove
from tests.unit.widgets.page.test_explorer_view import Page


def between(path: str, low: int, high: int) -> dict[str, Any]:
    stats = {"numRecords": 9, "minValues": {"id": low}, "maxValues": {"id": high}}
    return add(path, stats=json.dumps(stats | {"nullCount": {"id": 0}}))


def orders(folder: Path) -> Path:
    log = LogFolder(folder / "orders")
    log.commit(0, [PROTOCOL, metadata(), between("low", 0, 9), between("high", 50, 99)])
    log.commit(1, [{"commitInfo": {"operation": "DELETE", "userName": "ann"}}, remove("low")])
    return log.root


def test_the_winner_its_rule_and_what_both_touch_are_shown(tmp_path: Path) -> None:
    place = orders(tmp_path)
    page = Page().open(place, view="conflicts", version=0)
    found = look.check_conflicts(explorer.open_table(place), 0)
    assert html.escape(found.sentence) in page.html
    assert "Conflict with version 1 (DELETE): concurrent delete-read." in page.html
    assert "1 path: low" in page.html
    assert "For one that only added rows and read none: no conflict with the 1 commit" in page.html
    page.state.other = "/lake/copy"  # was compared with before
    page.do("version", "1")
    assert (page.state.view, page.state.version, page.state.other) == ("compare", 1, "")


def test_rows_that_the_winner_did_not_touch_do_not_conflict(tmp_path: Path) -> None:
    place = orders(tmp_path)
    problem = Page().open(place, view="conflicts", version=0, where="id < 5")
    innocent = Page().open(place, view="conflicts", version=0, where="id > 40")
    assert 'data-names="[&quot;id&quot;' in innocent.html
    unknown = Page().open(place, view="conflicts", version=0, where="idd > 40")
    assert "Did you mean id?" in unknown.html
    assert "concurrent delete-read" in problem.html
    assert "No conflict with the 1 commit since version 0" in innocent.html
    assert "concurrent delete-read" not in innocent.html


def test_of_the_newest_version_the_commits_before_are_held_against_each_kind(
    tmp_path: Path,
) -> None:
    place = orders(tmp_path)
    page = Page().open(place, view="conflicts")
    found = look.recent_conflicts(explorer.open_table(place))
    assert html.escape(found.sentence) in page.html
    assert "A DELETE, UPDATE or MERGE that reads all rows conflicts with version 1" in page.html
    assert "any version from 0 on" in page.html  # of an append
    assert page.html.count('data-do="version" data-value="1"') >= 2  # a change, a compaction
    assert "The newest commit was looked at (100 at most, and 32.0 MiB of them)." in page.html
    assert "; 1 of 1 commits conflict, each with one that read the version just" in page.html
    page.enter(where="idd > 4")
    assert "Did you mean id?" in page.html
    page.enter(where="id > 4")
    assert "The condition counts for a transaction of yours." in page.html
    assert "read the newest version meets no conflict, whatever its condition" in page.html
    page.enter(where="id > 5", read="9")
    assert "is not a version of this table: the latest is 1." in page.html
    assert (page.state.version, page.state.where) == (1, "id > 4")
    page.enter(where="", read="0")
    assert (page.state.version, page.state.where) == (0, "")
    assert ": concurrent delete-read" in page.html


def test_a_line_of_a_kind_leads_to_the_commit_in_its_way(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path), view="conflicts")
    part = next(part for part in page.parts() if "Transactions and what they" in part.html)
    part._handle_msg({"action": "version", "value": "1"})
    assert (page.state.view, page.state.version) == ("compare", 1)


def test_a_table_of_one_commit_has_nothing_to_conflict_with(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "orders")
    log.commit(0, [PROTOCOL, metadata(), between("low", 0, 9)])
    page = Page().open(log.root, view="conflicts")
    assert "No commit led to version 0 in this log: nothing to conflict with." in page.html
    assert "Transactions and what they" not in page.html


def test_a_partition_of_a_table_is_inert(tmp_path: Path) -> None:
    evil = "<img src=/evil onerror=window.ran=1>"
    log = LogFolder(tmp_path / "orders")
    log.commit(0, [PROTOCOL, metadata(partitionColumns=["part"])])
    operation = {"commitInfo": {"operation": evil}}
    log.commit(1, [operation, add("a", partitionValues={"part": evil})])
    page = Page().open(log.root, view="conflicts")
    assert "part = &#x27;&lt;img src=/evil" in page.html
    assert "<img" not in page.html


def test_what_is_no_version_and_no_condition_is_said_where_it_was_typed(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path), view="conflicts", version=0)
    page.enter(read="<b>7")
    assert "is not a version of this table" in page.html
    assert "<b>7" not in page.html
    page.enter(where="id <<< 5")
    assert "dx-wrong" in page.html


def test_a_conflict_has_the_time_that_the_history_has(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "orders")
    log.commit(0, [PROTOCOL, metadata(), between("low", 0, 9)])
    claimed = {"commitInfo": {"operation": "DELETE", "timestamp": 1_000_000_000_000}}
    log.commit(1, [claimed, remove("low")])
    for version in (0, 1):
        log.time(version, 1_700_000_000_000 + version)
    table = explorer.open_table(log.root)
    (row,) = look.check_conflicts(table, 0).frame.to_pylist()
    assert row["timestamp"] == look.history(table)["timestamp"][0].as_py()
