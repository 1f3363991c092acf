"""The explorer as a whole, without a browser: one page, work done at once."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import panel as pn
import pytest
from bokeh.models import ColumnDataSource
from bokeh.plotting import figure

import widgets.page.explorer
import widgets.session.work
from explorer.errors import Problem
from explorer.inspect import FilesPage
from explorer.progress import UNWATCHED, Watch
from tests.conftest import CORPUS
from tests.tables import PROTOCOL, LogFolder, add, metadata
from widgets.page.explorer import Explorer
from widgets.session.access import Access
from widgets.session.page_services import OpenTables, PageServices
from widgets.session.recents import Recents
from widgets.session.tables import FileQuery, TableService
from widgets.session.work import InlineRunner
from widgets.state import VIEWS, Address, PageState
from widgets.ui.live_html import LiveHtml
from widgets.ui.view import View

MANIFEST = CORPUS / "manifest.json"
NAMES = sorted(entry.name for entry in (CORPUS / "tables").iterdir()) if MANIFEST.is_file() else []


class Page:
    """An explorer with its state, and all HTML that it shows."""

    def __init__(self, *, has_address: bool = False) -> None:
        self.state = PageState()
        runner = InlineRunner()
        runner.is_background = has_address
        services = PageServices(
            runner=runner, tables=OpenTables(), access=Access(), recents=Recents()
        )
        self.explorer = Explorer(services, self.state, has_address=has_address)

    def open(self, place: Path | str, **where: object) -> Page:
        self.explorer.open(Address(table=str(place), **where))  # type: ignore[arg-type]
        return self

    def parts(self) -> Iterator[LiveHtml]:
        yield from self.explorer.header.select(LiveHtml)
        yield from self.explorer.panel.select(LiveHtml)

    @property
    def html(self) -> str:
        return "\n".join(part.html for part in self.parts())

    def do(self, action: str, value: str = "") -> None:
        """What a click on an element with this action and value does."""
        sign = f'data-do="{action}"'
        # what a view shows goes before the line above it, which chooses versions too
        body = self.explorer.panel.select(LiveHtml)
        part = next(part for part in (*body, *self.parts()) if sign in part.html)
        part._handle_msg({"action": action, "value": value})

    def enter(self, **fields: str) -> None:
        """What Enter does in one of the fields that are sent together, when these were typed in."""
        signs = [f'data-do="{name}"' for name in fields]
        part = next(
            part
            for part in self.explorer.panel.select(LiveHtml)
            if "data-together" in part.html and all(sign in part.html for sign in signs)
        )
        found = re.search('data-together="(.*?)"', part.html)
        assert found is not None
        part._handle_msg({"action": found[1], "value": json.dumps(fields)})


@pytest.fixture
def no_surprises(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that nobody foresaw fails the test instead of becoming a notice."""

    def fail(error: Exception) -> Problem:
        raise AssertionError("not foreseen") from error

    monkeypatch.setattr(widgets.session.work, "unexpected", fail)


def shop(folder: Path, versions: int = 60) -> Path:
    folder = folder / "shop"
    log = LogFolder(folder)
    log.commit(0, [PROTOCOL, metadata(name="orders"), add("0.parquet")])
    for version in range(1, versions):
        info = {"operation": "WRITE" if version % 2 else "MERGE", "userName": f"user {version % 3}"}
        log.commit(version, [{"commitInfo": info}, add(f"{version}.parquet")])
    return folder


@pytest.mark.slow
@pytest.mark.sampled(one_in=24)
@pytest.mark.parametrize("name", NAMES)
def test_every_table_of_the_corpus_is_shown_in_every_view(name: str, no_surprises: None) -> None:
    page = Page().open(CORPUS / "tables" / name)
    expected = next(t for t in json.loads(MANIFEST.read_text()) if t["name"] == name)
    if not page.state.table:
        assert page.state.notice is not None
        assert expected["expect"] == "error"
        return
    assert page.state.latest == expected["latest_version"] or expected["expect"] == "error"
    for view in VIEWS:
        page.state.view = view
        assert page.html
    page.state.dark = True
    page.state.view = VIEWS[0]
    page.state.step(-1)


def test_a_table_opens_on_its_latest_version(tmp_path: Path, no_surprises: None) -> None:
    page = Page().open(shop(tmp_path))
    assert page.state.address == Address(table=str(tmp_path / "shop"), version=59, view="overview")
    assert '<h1 title="orders">orders</h1>' in page.html
    assert ">60<" in page.html  # active files


def test_the_view_that_an_address_names_reads_each_answer_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_surprises: None
) -> None:
    page, read = Page(), Counter[View[Any, Any]]()
    begin = View._read

    def counted(view: View[Any, Any], question: Any, **how: bool) -> None:
        read[view] += 1
        begin(view, question, **how)

    monkeypatch.setattr(View, "_read", counted)
    page.open(shop(tmp_path))
    assert page.state.view == "overview"
    assert len(read) == 4
    assert set(read.values()) == {1}
    page.state.view = "layout"
    log = LogFolder(tmp_path / "shop", exists=True)
    for latest in (59, 60):  # read again, at a newer version too
        log.commit(latest, [add(f"{latest}.parquet")])
        read.clear()
        page.explorer._show_newest()
        assert page.state.version == latest
        assert set(read.values()) == {1}


def test_a_version_that_does_not_exist_becomes_a_notice(tmp_path: Path) -> None:
    page = Page().open(shop(tmp_path), version=9999)
    assert page.state.version == 59
    assert page.state.notice is not None
    assert "9,999" in page.state.notice.reason
    page.do("dismiss")
    assert page.state.notice is None


def test_a_place_without_a_table_becomes_a_notice(tmp_path: Path) -> None:
    page = Page().open(tmp_path / "nowhere")
    assert page.state.table == ""
    assert page.state.opening == ""
    assert page.state.notice is not None
    assert page.state.notice.remedy


def test_a_place_that_is_being_opened_is_told_without_credentials() -> None:
    page = Page()
    told: list[str] = []
    page.state.param.watch(lambda event: told.append(event.new), "opening")
    page.open("nowhere://ann:hunter2@host/t?sig=hunter2")
    assert told == ["nowhere://host/t", ""]


def test_an_open_table_stays_when_another_cannot_be_opened(tmp_path: Path) -> None:
    page = Page().open(shop(tmp_path / "a"))
    page.open(tmp_path / "nowhere")
    assert page.state.table == str(tmp_path / "a" / "shop")
    assert page.state.notice is not None


@pytest.mark.slow
def test_a_table_that_was_left_has_its_plot_when_it_comes_back(
    tmp_path: Path, no_surprises: None
) -> None:
    """Also one that is refused, whose figures never come."""
    log = LogFolder(tmp_path / "future")
    log.commit(0, [{"protocol": {"minReaderVersion": 99, "minWriterVersion": 99}}, metadata()])
    log.commit(1, [add("1.parquet")])
    page = Page().open(log.root, view="timeline")
    (plot,) = page.explorer.panel.select(pn.pane.Bokeh)
    assert plot.object is not None
    page.explorer.go(Address(), [])
    assert not page.state.table
    page.open(log.root, view="timeline")
    (plot,) = page.explorer.panel.select(pn.pane.Bokeh)
    assert plot.object is not None
    page.open(shop(tmp_path), view="timeline")
    page.open(log.root, view="timeline")
    (plot,) = page.explorer.panel.select(pn.pane.Bokeh)
    assert plot.object is not None


@pytest.mark.slow
def test_the_plot_is_drawn_when_somebody_comes_to_see_it(
    tmp_path: Path, no_surprises: None
) -> None:
    page = Page().open(shop(tmp_path), view="files")
    front = page.explorer._front
    (plot,) = front.select(pn.pane.Bokeh)
    assert plot.object is None
    page.state.view = "timeline"
    drawn = plot.object
    assert drawn is not None
    page.state.view = "files"
    page.state.dark = not page.state.dark
    assert plot.object not in (None, drawn)
    page.open(shop(tmp_path / "other", versions=3), view="timeline")
    assert plot.object is not None
    assert "The log has 3 commits." in page.html


def read_marks(page: Page) -> tuple[figure, ColumnDataSource]:
    """The plot of the lanes and its marks."""
    (pane,) = page.explorer.panel.select(pn.pane.Bokeh)
    for plot in pane.object.children:
        for drawn in plot.renderers:
            if "newest" in drawn.data_source.data:
                return plot, drawn.data_source
    raise AssertionError("no marks")


def test_a_click_on_a_mark_leads_to_its_commit_or_nearer_to_its_commits(
    tmp_path: Path, no_surprises: None
) -> None:
    page = Page().open(shop(tmp_path), view="timeline")
    plot, marks = read_marks(page)
    # as the browser says how wide it has drawn the plot, which is all that makes room
    plot.set_from_json("inner_width", 50)
    assert max(marks.data["count"]) > 1
    at = len(marks.data["count"]) // 3
    oldest, newest = int(marks.data["oldest"][at]), int(marks.data["newest"][at])
    before = page.state.version
    marks.selected.indices = [at]
    assert page.state.version == before
    assert plot.x_range.end - plot.x_range.start < 15
    assert plot.x_range.start <= oldest < newest <= plot.x_range.end
    shown = {int(version) for version in marks.data["newest"]}
    assert {oldest, newest} <= shown
    at = marks.data["newest"].tolist().index(oldest)
    assert marks.data["count"][at] == 1
    marks.selected.indices = [at]
    assert page.state.version == oldest
    plot.set_from_json("inner_width", 900)
    page.do("range", "all")
    assert max(marks.data["count"]) == 1


def test_a_click_on_a_commit_selects_it(tmp_path: Path, no_surprises: None) -> None:
    page = Page().open(shop(tmp_path), view="timeline")
    page.do("select", "57")
    assert page.state.version == 57
    assert "Version 57" in page.html
    page.do("step", "-1")
    assert page.state.version == 56


def test_the_commits_turn_to_the_page_of_the_selected_one(tmp_path: Path) -> None:
    page = Page().open(shop(tmp_path), view="timeline")
    page.state.version = 3
    assert '<tr tabindex="0" data-do="select" data-value="3" aria-current="true">' in page.html


def test_commits_are_filtered_by_user_operation_and_version(tmp_path: Path) -> None:
    page = Page().open(shop(tmp_path), view="timeline")
    page.do("filter", "merge")
    assert "29 commits" in page.html
    page.do("filter", "42")
    assert "1\N{EN DASH}1 of 1 commit" in page.html
    page.do("filter", "nobody")
    assert "No commit matches" in page.html


def test_the_actions_of_a_commit_come_with_their_lines(tmp_path: Path, no_surprises: None) -> None:
    page = Page().open(shop(tmp_path), view="timeline")
    page.do("mode", "table")
    page.do("line", "2")
    assert "00000000000000000059.json, line 2" in page.html
    page.do("mode", "raw")
    assert "59.parquet" in page.html


def test_files_are_paged_sorted_and_filtered(tmp_path: Path, no_surprises: None) -> None:
    page = Page().open(shop(tmp_path), view="files")
    assert "1\N{EN DASH}25 of 60 files" in page.html
    page.do("page", "50")
    assert "51\N{EN DASH}60 of 60 files" in page.html
    page.do("sort", "size")
    assert 'aria-sort="descending"' in page.html
    page.do("filter", "59.parquet")
    assert "1\N{EN DASH}1 of 1 file" in page.html
    page.do("file", "59.parquet")
    assert "Rows in the file" in page.html


def test_what_lists_the_files_is_in_the_address(
    tmp_path: Path, no_surprises: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[FileQuery] = []
    read = TableService.read_files

    def note(self: TableService, query: FileQuery, watch: Watch = UNWATCHED) -> FilesPage:
        reads.append(query)
        return read(self, query, watch)

    monkeypatch.setattr(TableService, "read_files", note)
    page = Page().open(shop(tmp_path), view="files")
    page.do("sort", "size")
    page.do("filter", " 5&x=.parquet ")
    assert page.state.files == "text=5%26x%3D.parquet&by=size&order=descending"
    page.do("filter", "5")
    assert len(reads) == 4  # each list is read once
    listed = page.state.files
    page.state.version = 40
    assert page.state.files == listed
    assert (reads[-1].contains, reads[-1].sort_by, reads[-1].descending) == ("5", "size", True)
    other = Page().open(shop(tmp_path / "again"), view="files", files=listed)
    assert 'value="5"' in other.html
    assert 'aria-sort="descending"' in other.html
    other.state.files = ""  # as Back leads to
    assert 'value="5"' not in other.html
    assert "1\N{EN DASH}25 of 60 files" in other.html
    page.do("filter", "")
    page.do("sort", "path")
    assert page.state.files == ""


def test_a_list_of_files_that_cannot_be_meant_is_all_of_them(
    tmp_path: Path, no_surprises: None
) -> None:
    page = Page().open(shop(tmp_path), view="files", files="by=stats&order=up&x=1&text")
    assert "1\N{EN DASH}25 of 60 files" in page.html


@pytest.mark.parametrize("value", ["-1", "x", "1e9", "", "9" * 40])
def test_a_page_that_cannot_be_meant_is_ignored(tmp_path: Path, value: str) -> None:
    page = Page().open(shop(tmp_path), view="files")
    page.do("page", value)
    assert "1\N{EN DASH}25 of 60 files" in page.html


def test_the_protocol_view_follows_the_version(tmp_path: Path, no_surprises: None) -> None:
    page = Page().open(shop(tmp_path), view="protocol")
    assert "Features and protocol of version 59" in page.html
    page.state.version = 4
    assert "Features and protocol of version 4<" in page.html


def test_the_log_view_lists_the_log(tmp_path: Path, no_surprises: None) -> None:
    page = Page().open(shop(tmp_path), view="log")
    assert "60 files" in page.html


@pytest.mark.slow
def test_a_refused_table_shows_everything_but_its_files(tmp_path: Path, no_surprises: None) -> None:
    strange = {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": ["fromTheFuture"],
            "writerFeatures": ["fromTheFuture"],
        }
    }
    log = LogFolder(tmp_path / "t")
    log.commit(0, [strange, metadata(name="orders"), add("a.parquet")])
    page = Page().open(tmp_path / "t")
    assert "fromTheFuture" in page.html
    assert "files not readable" in page.html
    page.state.view = "timeline"
    assert "The log has 1 commit." in page.html
    page.state.view = "protocol"
    assert "unknown to this release" in page.html
    page.state.view = "files"
    assert 'role="alert"' in page.html


def test_times_beyond_the_calendar_are_shown_as_unknown(tmp_path: Path, no_surprises: None) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(), add("a.parquet", modificationTime=2**62)])
    page = Page().open(tmp_path / "t", view="files")
    assert "a.parquet" in page.html


def test_following_an_address_within_a_table_reads_it_once(tmp_path: Path) -> None:
    page = Page().open(shop(tmp_path))
    page.explorer.go(Address(table=str(tmp_path / "shop"), version=3, view="files"), [])
    assert page.state.address == Address(table=str(tmp_path / "shop"), version=3, view="files")
    assert "Files of version 3" in page.html


def test_a_page_looks_at_its_table_anew(tmp_path: Path) -> None:
    page = Page().open(shop(tmp_path, versions=3))
    new = json.dumps(add("3.parquet"))
    (tmp_path / "shop" / "_delta_log" / f"{3:020}.json").write_text(new)
    page.explorer.reload()
    assert page.state.latest == 3
    assert page.state.version == 2
