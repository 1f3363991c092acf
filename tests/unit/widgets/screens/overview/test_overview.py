"""The overview: figures of the chosen version, sentences of its last commits, what to do first."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from tests.conftest import CORPUS
from tests.tables import PROTOCOL, LogFolder, add, metadata
from tests.unit.widgets.page.test_explorer_view import Page, no_surprises
from widgets.state import parse_address

__all__ = ["no_surprises"]

pytestmark = pytest.mark.usefixtures("no_surprises")
EVIL = "<img src=x onerror=alert(1)>"


def lake(folder: Path, name: str = "orders") -> LogFolder:
    log = LogFolder(folder / "orders")
    log.commit(0, [PROTOCOL, metadata(name=name), add("0.parquet", size=1024)])
    for version in range(1, 21):
        info = {
            "operation": "DELETE" if version == 20 else "WRITE",
            "userName": EVIL if version == 19 else "ann",
            "operationParameters": {"predicate": '["id = 7"]'} if version == 20 else {},
            "operationMetrics": {"numDeletedRows": "12"} if version == 20 else {},
        }
        log.commit(version, [{"commitInfo": info}, add(f"{version}.parquet", size=1024)])
    return log


def test_the_first_view_tells_what_the_table_is_and_what_happened_last(tmp_path: Path) -> None:
    page = Page().open(lake(tmp_path).root)
    assert page.state.view == "overview"
    text = page.html
    assert text.count('class="dx-figure"') == 5
    assert "the latest" in text
    assert "ann deleted 12 rows where id = 7" in text
    assert text.count('data-do="commit"') == 8
    assert html.escape(EVIL) in text
    assert EVIL not in text


@pytest.mark.slow
def test_figures_and_commits_are_of_the_chosen_version_in_the_line_above(tmp_path: Path) -> None:
    page = Page().open(lake(tmp_path).root)
    page.do("version", "4")
    assert page.state.version == 4
    text = page.html
    assert "the latest is 20" in text
    assert "<h2>Overview of version 4</h2>" in text
    assert "What to do first, for the latest version 20<" in text
    assert text.count('data-do="commit"') == 5
    assert "12 rows" not in text
    page.do("commit", "3")
    assert (page.state.view, page.state.version) == ("timeline", 3)
    assert "Latest (20)" in page.html
    page.do("version", "20")
    assert "Latest (20)" not in page.html


@pytest.mark.parametrize("text", ["21", "-1", "x", "9" * 40])
def test_a_version_that_is_none_is_told_and_none_is_chosen(tmp_path: Path, text: str) -> None:
    page = Page().open(lake(tmp_path).root)
    page.do("version", text)
    assert page.state.version == 20
    assert page.state.notice is not None
    assert "0 to 20" in page.state.notice.reason


def test_what_to_do_first_leads_to_its_plan_and_its_reason(tmp_path: Path) -> None:
    page = Page().open(lake(tmp_path).root)
    assert "1 thing to do. The data files were not checked." in page.html
    assert "20 fewer files to open." in page.html
    page.do("plan-now", '["optimize", {"what": "compact"}]')
    assert (page.state.view, page.state.operation) == ("maintenance", "optimize")
    assert "Make the plan" not in page.html  # it is planned


def test_what_is_not_among_the_first_things_to_do_is_there_on_demand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.inspect.advice.advice.MOST_STEPS", 1)
    page = Page().open(lake(tmp_path).root)
    assert "Show all" not in page.html
    page.do("files")
    assert "2 things to do; the first is shown" in page.html
    assert "<summary>Show all 2</summary>" in page.html
    assert "20 fewer files to open." in page.html.partition("Show all 2")[2]


def test_every_link_of_the_page_leads_to_what_is_chosen_now(tmp_path: Path) -> None:
    page = Page(has_address=True).open(lake(tmp_path).root)
    page.state.param.update(version=4, where="id = 7")
    page.state.param.update(file="a.parquet", older=2)
    links = re.findall(r'<a href="([^"]*)" data-do="(\w+)"', page.html)
    assert {action for _, action in links} == {"version", "view", "commit", "removed"}
    assert 'aria-label="Why: ' in page.html
    for link, action in links:
        found, wrong = parse_address(html.unescape(link))
        assert not wrong
        assert (found.where, found.file, found.older) == ("id = 7", "a.parquet", 2)
        assert found.version == 4 or action != "view"


def test_who_removed_rows_is_one_click_away(tmp_path: Path) -> None:
    page = Page(has_address=True).open(lake(tmp_path).root)
    (link,) = re.findall(r'<a href="([^"]*)" data-do="removed" data-value="([^"]*)"', page.html)
    found, _ = parse_address(html.unescape(link[0]))
    assert (found.view, found.only) == ("timeline", "effect=removed")
    page.do("removed", html.unescape(link[1]))
    assert (page.state.view, page.state.only) == ("timeline", "effect=removed")


def test_the_soft_deleted_rows_lead_to_what_hides_them() -> None:
    page = Page(has_address=True).open(CORPUS / "tables" / "kernel-table-with-dv-small")
    (figure,) = re.findall(r'<a href="([^"]*)"[^>]*>2 soft-deleted', page.html)
    assert parse_address(html.unescape(figure))[0].view == "vectors"
    page.do("view", "vectors")
    assert page.state.view == "vectors"


def test_the_files_are_looked_at_when_they_are_asked_for(tmp_path: Path) -> None:
    page = Page().open(lake(tmp_path).root)
    page.do("files")
    assert "things to do" in page.html  # none of the files is there
    assert "were not checked" not in page.html
    assert "Plan repair files" in page.html
    assert page.state.health == "error"


def test_the_health_of_the_log_stands_above_every_view(tmp_path: Path) -> None:
    log = lake(tmp_path)
    page = Page().open(log.root)
    assert page.state.health == "sound"
    log.write("12.json", "{}")
    page = Page().open(log.root, view="files")
    assert page.state.health in {"note", "warning", "error"}
    assert 'data-do="view" data-value="health"' in page.explorer.header.html


def test_a_table_that_cannot_be_read_says_so_in_each_figure(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [{"protocol": {"minReaderVersion": 99, "minWriterVersion": 99}}, metadata()])
    page = Page().open(log.root)
    assert page.html.count("files not readable") == 3
    assert "reader 99" in page.html
