"""Rows that a commit removed and does not count, in the list, the plot and the detail."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest

from explorer.progress import UNWATCHED, Watch
from tests.tables import PROTOCOL, LogFolder, add, metadata, remove
from tests.unit.widgets.page.test_explorer_view import Page
from widgets.figures.commits import read_commits
from widgets.screens.commits._removed_rows import RemovedRows
from widgets.session.access import Access
from widgets.session.page_services import OpenTables, PageServices
from widgets.session.recents import Recents
from widgets.session.tables import TableService
from widgets.session.work import Done, Failed, InlineRunner
from widgets.state import HistoryState

MINUS = "\N{MINUS SIGN}"


def stats(rows: int) -> str:
    return json.dumps({"numRecords": rows})


def overwritten(folder: Path, times: int) -> LogFolder:
    """A table that is overwritten again and again, by one row more each time; its removes say
    nothing of their rows."""
    log = LogFolder(folder)
    log.commit(0, [PROTOCOL, metadata(), add("0", stats=stats(10))])
    for version in range(1, times + 1):
        info = {"commitInfo": {"operation": "WRITE"}}
        old = remove(f"{version - 1}", size=100)
        log.commit(version, [info, old, add(f"{version}", stats=stats(10 + version))])
    return log


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[int]]:
    """The versions that are asked for, question by question."""
    questions: list[Sequence[int]] = []
    count = TableService.count_removed_rows

    def counted(self: TableService, versions: Sequence[int], watch: Watch) -> object:
        questions.append(versions)
        return count(self, versions, watch)

    monkeypatch.setattr(TableService, "count_removed_rows", counted)
    return questions


def test_an_overwrite_counts_what_it_removed_in_list_plot_and_detail(
    tmp_path: Path, no_surprises: None
) -> None:
    page = Page().open(overwritten(tmp_path / "table", 3).root, view="timeline")
    for version in (1, 2, 3):
        assert f">+{10 + version} {MINUS}{9 + version}<" in page.html
    assert "does not record how many rows" not in page.html
    page.do("measure", "rows")
    history = page.explorer._timeline._history
    added, removed = history.commits.changes("rows")
    assert removed.tolist() == [0, 10, 11, 12]
    assert (added - removed).tolist() == [10, 1, 1, 1]
    assert history.live["rows"].tolist() == [10, 11, 12, 13]


def test_only_what_the_page_of_the_list_shows_is_counted_and_once(
    tmp_path: Path, no_surprises: None, asked: list[Sequence[int]]
) -> None:
    page = Page().open(overwritten(tmp_path / "table", 60).root, view="timeline")
    assert asked == [tuple(range(60, 35, -1))]
    assert f">+46 {MINUS}45<" in page.html
    page.do("page", "25")
    assert asked[1:] == [tuple(range(35, 10, -1))]
    page.do("page", "0")
    page.state.version = 50
    assert len(asked) == 2


def first_version(page: Page) -> str:
    return page.html.split('data-do="select" data-value="')[1].split('"')[0]


@pytest.mark.parametrize("order", ["descending", "ascending"])
def test_a_list_that_is_sorted_by_rows_stays_as_it_is_while_it_is_counted(
    tmp_path: Path, no_surprises: None, asked: list[Sequence[int]], order: str
) -> None:
    log = overwritten(tmp_path / "table", 300)
    page = Page().open(log.root, view="timeline", commits=f"by=rows&order={order}")
    # one commit of 301 says how many rows it removed; of the others the newest come first
    assert asked == [tuple(range(300, 276, -1))]
    assert first_version(page) == "0"
    page.do("page", "300")
    assert asked[1:] == [(1,)]
    page.do("page", "275")
    assert asked[-1] == tuple(range(26, 1, -1))
    assert first_version(page) == "26"
    page.do("page", "0")
    assert first_version(page) == "0"
    assert f">+310 {MINUS}309<" in page.html
    assert len(asked) == 3


def test_what_a_cell_of_a_notebook_shows_is_counted_page_by_page(
    tmp_path: Path, no_surprises: None, asked: list[Sequence[int]]
) -> None:
    """Work runs at once there: an answer that asked for the next one would go as deep as the log
    is long."""
    log = overwritten(tmp_path / "table", 1_500)
    page = Page().open(log.root, view="timeline", commits="by=rows&order=descending")
    page.do("page", "1500")
    assert len(asked) == 2
    assert first_version(page) == "1"


def test_what_is_drawn_again_because_of_an_answer_asks_nothing(
    tmp_path: Path, asked: list[Sequence[int]]
) -> None:
    page = Page().open(overwritten(tmp_path / "table", 60).root, view="timeline")
    view, history = page.explorer._commits, page.explorer._timeline._history
    others = [{"version": 1, "rows_removed": None, "files_removed": 1}]
    history.param.watch(lambda *_: view._removed.count(others), "removed")
    page.do("page", "25")
    assert [len(versions) for versions in asked] == [25, 25]


T = TypeVar("T")


class Later(InlineRunner):
    """Runs nothing before it is told to, first what waits for a quiet moment."""

    is_background = True

    def __init__(self) -> None:
        self.jobs: list[Callable[[], None]] = []

    def run(self, work: Callable[[], T], done: Done[T], failed: Failed) -> None:
        self.jobs.append(lambda: InlineRunner.run(self, work, done, failed))

    def when_idle(self, begin: Callable[[], None]) -> None:
        self.jobs.append(begin)

    def go_on(self) -> None:
        """Run what waits, and not yet what that begins."""
        jobs, self.jobs = self.jobs, []
        for job in jobs:
            job()


class Counting:
    """A table that counts one row for each commit, and which it was asked for."""

    def __init__(self) -> None:
        self.asked: list[Sequence[int]] = []

    def count_removed_rows(self, versions: Sequence[int], _: Watch) -> Mapping[int, int]:
        self.asked.append(versions)
        return dict.fromkeys(versions, 1)


class Shown:
    """What counts for a list, with the work that it has begun."""

    def __init__(self) -> None:
        self.runner = Later()
        services = PageServices(
            runner=self.runner, tables=OpenTables(), access=Access(), recents=Recents()
        )
        self.history = HistoryState()
        self.rows = RemovedRows(services, self.history)
        self.table = self.show()

    def show(self) -> Counting:
        """Open a table."""
        table = Counting()
        self.rows.show(cast("TableService", table))
        return table

    def turn(self, *versions: int) -> None:
        """Turn to a page with these commits."""
        shown: list[dict[str, Any]] = [
            {"version": version, "rows_removed": None, "files_removed": 1} for version in versions
        ]
        self.rows.count(shown)


def test_a_page_that_is_turned_before_there_is_time_for_it_is_not_counted() -> None:
    shown = Shown()
    shown.turn(5, 4)
    shown.turn()
    shown.runner.go_on()
    shown.runner.go_on()
    assert shown.table.asked == []
    shown.turn(3)
    shown.runner.go_on()
    shown.runner.go_on()
    assert shown.table.asked == [(3,)]
    assert shown.history.removed == {3: 1}


def test_a_page_that_is_turned_while_it_waits_for_a_thread_is_not_counted() -> None:
    shown = Shown()
    shown.turn(5, 4)
    shown.runner.go_on()
    shown.turn()
    shown.runner.go_on()
    assert shown.table.asked == []
    assert shown.history.removed == {}


def test_a_table_that_is_left_before_there_is_time_for_it_is_not_counted() -> None:
    shown = Shown()
    shown.turn(5, 4)
    other = shown.show()
    shown.turn(5, 4)
    shown.runner.jobs.pop(0)()
    assert len(shown.runner.jobs) == 1  # that of the other table
    shown.runner.go_on()
    shown.runner.go_on()
    assert shown.table.asked == []
    assert other.asked == [(5, 4)]


def test_nothing_is_counted_while_the_history_is_read() -> None:
    shown = Shown()
    shown.history.reading = True
    shown.turn(5, 4)
    assert shown.runner.jobs == []
    shown.history.reading = False
    shown.turn(5, 4)
    shown.runner.go_on()
    shown.runner.go_on()
    assert shown.table.asked == [(5, 4)]


def test_what_cannot_be_counted_stays_unknown_and_says_how_to_learn_it(
    tmp_path: Path, no_surprises: None, asked: list[Sequence[int]]
) -> None:
    log = overwritten(tmp_path / "table", 1)
    log.commit(2, [remove("elsewhere", size=100), add("2", stats=stats(6))])
    page = Page().open(log.root, view="timeline")
    assert asked == [(2, 1)]
    assert f">+11 {MINUS}10<" in page.html
    assert f">+6 {MINUS}?<" in page.html
    assert "does not record how many rows it removed: open it" in page.html
    page.state.version = 1
    assert len(asked) == 1


def test_an_export_has_what_is_recorded_whichever_pages_have_been_looked_at(
    tmp_path: Path, no_surprises: None
) -> None:
    page = Page().open(overwritten(tmp_path / "table", 60).root, view="timeline")
    exported = []
    for offset in ("0", "25", "50"):
        page.do("page", offset)
        chosen = page.explorer._commits._chosen()
        assert chosen is not None
        exported.append(chosen.read(UNWATCHED)["rows_removed"].to_pylist())
    assert exported == [[None] * 60 + [0]] * 3
    assert f">+11 {MINUS}10<" in page.html


def test_a_log_that_is_looked_at_again_is_counted_again(
    tmp_path: Path, no_surprises: None, asked: list[Sequence[int]]
) -> None:
    log = overwritten(tmp_path / "table", 2)
    page = Page().open(log.root, view="timeline")
    log.commit(3, [remove("2", size=100)])
    page.explorer.reload()
    assert asked[-1] == (3, 2, 1)
    assert f">+0 {MINUS}12<" in page.html


def test_what_a_commit_says_itself_is_not_replaced(tmp_path: Path) -> None:
    page = Page().open(overwritten(tmp_path / "table", 2).root, view="timeline")
    commits = page.explorer._timeline._history.commits
    changed = commits.with_removed({0: 5, 2: 7, 9: 1})
    assert changed.frame["rows_removed"].to_pylist() == [0, 10, 11]
    unknown = read_commits(
        commits.frame.set_column(
            commits.frame.schema.get_field_index("rows_removed"),
            "rows_removed",
            commits.frame["rows_removed"].take([None, None, 1]),
        )
    )
    assert unknown.with_removed({1: 4}).frame["rows_removed"].to_pylist() == [None, 4, 10]
