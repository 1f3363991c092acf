"""A view whose answer takes a while says what it knows, how far it is, and can be stopped."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import pytest

from explorer.storage.local import LocalStore
from tests.tables import FEATURE_PROTOCOL, LogFolder, add, metadata, vector
from tests.unit.widgets.page.test_explorer_view import Page
from widgets.page.explorer import Explorer
from widgets.session.access import Access
from widgets.session.page_services import OpenTables, PageServices
from widgets.session.recents import Recents
from widgets.session.work import Done, Failed, T, attempt
from widgets.state import PageState
from widgets.ui import view
from widgets.ui.live_html import LiveHtml

PATIENCE = 60
NEWEST = 3

VIEWS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "statistics": (
        "Reading the statistics",
        "Stopped before the statistics of all files were read.",
        "a range in every one of the",
        {},
    ),
    "a condition": (
        "Asking the statistics of each file",
        "Stopped before every file was asked.",
        "have to be read",
        {"view": "statistics", "where": "id > 3"},
    ),
    "a column": (
        "Reading the ranges of this column",
        "Stopped before the ranges of all files were read.",
        "One value may be in",
        {"view": "statistics", "column": "id"},
    ),
    "layout": (
        "Reading the sizes of the files",
        "Stopped before the sizes of all files were read.",
        "files are below the target",
        {},
    ),
    "overlap": (
        "Reading the ranges of the files",
        "Stopped before the ranges of all files were compared.",
        "Overlap by column</caption>",
        {"view": "layout"},
    ),
    "vectors": (
        "Reading the log",
        "Stopped before the deletion vectors of all files were found.",
        "have deletion vectors: ",
        {},
    ),
    "files": (
        "Reading the files of version 3",
        "Stopped before the files were read.",
        "43 files",
        {},
    ),
    "compare": (
        "Opening versions 0 and 3",
        "Stopped before both versions were open.",
        "From version 0 to 3: 27 more rows; 3 files added",
        {"older": 0},
    ),
    "conflicts": (
        "Reading the commits since",
        "Stopped before every commit was looked at.",
        ": concurrent append",
        {"version": 0},
    ),
    "health": (
        "Looking at the log",
        "Stopped before the whole log was looked at.",
        "opens from the checkpoint of version 0 and 3 commits",
        {},
    ),
}
"""By what is asked: the label, what is said once it was stopped, a part of the answer, and where
it is."""


class Threads:
    """Work beside the page; what comes back is taken in by the test, as by a page's thread."""

    is_background = True

    def __init__(self) -> None:
        self._changes: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._running: list[threading.Thread] = []

    def run(self, work: Callable[[], T], done: Done[T], failed: Failed) -> None:
        thread = threading.Thread(target=lambda: self.post(attempt(work, done, failed)))
        thread.daemon = True
        self._running.append(thread)
        thread.start()

    run_long = run
    run_planning = run

    def post(self, change: Callable[[], None]) -> None:
        self._changes.put(change)

    def post_later(self, seconds: float, change: Callable[[], None]) -> None:
        timer = threading.Timer(seconds, self.post, [change])
        timer.daemon = True
        timer.start()

    def until(self, holds: Callable[[], bool]) -> None:
        """Make the changes that come until something holds."""
        deadline = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < deadline, "it never held"
            try:
                self._changes.get(timeout=0.05)()
            except Empty:
                continue

    def rest(self) -> None:
        """Until nothing is under way."""
        self.until(lambda: self._changes.empty() and not any(map(_is_alive, self._running)))


def _is_alive(thread: threading.Thread) -> bool:
    return thread.is_alive()


class Gate:
    """What a store does while it is slow: nothing."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._open.set()

    def close(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    def held(self, method: Any) -> Any:
        def wait(*arguments: Any, **named: Any) -> Any:
            assert self._open.wait(PATIENCE)
            return method(*arguments, **named)

        return wait


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    found = Gate()
    for name in ("open_input", "read", "read_many", "read_heads", "list_pieces"):
        monkeypatch.setattr(LocalStore, name, found.held(getattr(LocalStore, name)))
    yield found
    found.open()


def orders(folder: Path) -> Path:
    log = LogFolder(folder / "orders")

    def file(at: int) -> Any:
        stats = {"numRecords": 9, "minValues": {"id": at}, "maxValues": {"id": at + 9}}
        more = {"deletionVector": vector()} if at % 7 == 0 else {}
        return add(f"{at:03}", stats=json.dumps(stats), **more)

    held = [FEATURE_PROTOCOL, metadata(), *map(file, range(40))]
    log.commit(0, held)
    log.checkpoint(0, held, rows_per_group=9)
    for version in range(1, NEWEST + 1):
        log.commit(version, [{"commitInfo": {"operation": "WRITE"}}, file(50 + version)])
    return log.root


class SlowPage(Page):
    """A page whose work runs beside it."""

    def __init__(self) -> None:
        self.runner = Threads()
        self.state = PageState()
        services = PageServices(
            runner=self.runner, tables=OpenTables(), access=Access(), recents=Recents()
        )
        self.explorer = Explorer(services, self.state)

    def showing(self, text: str) -> LiveHtml | None:
        return next((part for part in self.parts() if text in part.html), None)


def waiting_for(name: str, folder: Path, gate: Gate) -> tuple[SlowPage, LiveHtml]:
    """A page that asks a slow store for one of `VIEWS`, and the part of it that waits."""
    label, _, _, where = VIEWS[name]
    page = SlowPage()
    page.open(orders(folder), version=where.get("version", NEWEST), view="log")
    page.runner.rest()
    gate.close()
    page.state.param.update(**{"view": name, **where})
    page.runner.until(lambda: page.showing(label) is not None)
    part = page.showing(label)
    assert part is not None
    return page, part


@pytest.mark.slow
@pytest.mark.parametrize("name", VIEWS)
def test_a_slow_store_is_waited_for_with_a_way_out(name: str, tmp_path: Path, gate: Gate) -> None:
    _, stopped, answer, _ = VIEWS[name]
    page, part = waiting_for(name, tmp_path, gate)
    assert "dx-waiting" in part.html
    part._handle_msg({"action": "cancel", "value": ""})
    assert stopped in part.html
    assert "dx-waiting" not in part.html
    gate.open()
    page.runner.rest()
    assert stopped in part.html  # what was still read is not the answer to anything
    part._handle_msg({"action": "again", "value": ""})
    page.runner.rest()
    assert stopped not in part.html
    assert answer in part.html


@pytest.mark.parametrize("name", VIEWS)
def test_a_page_that_ends_stops_what_works_for_it(name: str, tmp_path: Path, gate: Gate) -> None:
    _, _, answer, _ = VIEWS[name]
    page, part = waiting_for(name, tmp_path, gate)
    page.explorer.close()
    gate.open()
    page.runner.rest()
    assert answer not in part.html


@pytest.mark.slow
def test_what_the_log_said_comes_back_when_the_look_at_the_files_is_stopped(
    tmp_path: Path, gate: Gate
) -> None:
    page = SlowPage()
    page.open(orders(tmp_path), version=NEWEST, view="health")
    page.runner.rest()
    part = page.showing("Look at the files too")
    assert part is not None
    said = part.html
    gate.close()
    part._handle_msg({"action": "files", "value": ""})
    page.runner.until(lambda: "dx-waiting" in part.html)
    assert "opens from the checkpoint of version 0 and 3 commits" in part.html
    part._handle_msg({"action": "cancel", "value": ""})
    assert part.html == said
    gate.open()
    page.runner.rest()
    assert part.html == said


FIRST: dict[str, tuple[str, dict[str, Any]]] = {
    "statistics": ("asks its writers for statistics of 2 of its 2 columns; what 43 files", {}),
    "a condition": (
        "No partition rules a file out; the statistics of 43 files are being asked.",
        {"view": "statistics", "where": "id > 3"},
    ),
    "compare": ("3 commits after version 0, up to version 3: 3 WRITE.", {"older": 0}),
    "conflicts": ("3 commits after version 0, up to version 3: 3 WRITE.", {"version": 0}),
    "health": ("and 3 commits (", {"held": ("read_heads",)}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FIRST)
def test_the_first_sentence_is_there_before_anything_large_is_read(
    name: str, tmp_path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentence, asked = FIRST[name]
    where = dict(asked)
    held = where.pop("held", ("open_input", "read", "read_many"))
    page = SlowPage()
    page.open(orders(tmp_path), version=where.get("version", NEWEST), view="log")
    page.runner.rest()
    large = Gate()
    for method in held:
        monkeypatch.setattr(LocalStore, method, large.held(getattr(LocalStore, method)))
    large.close()
    page.state.param.update(**{"view": name, **where})
    page.runner.until(lambda: page.showing(sentence) is not None)
    part = page.showing(sentence)
    assert part is not None
    assert "dx-waiting" in part.html
    large.open()
    page.runner.rest()
    assert VIEWS[name][2] in part.html


def test_pages_that_stay_below_half_a_second_do_not_flicker(
    tmp_path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = SlowPage()
    page.open(orders(tmp_path), version=NEWEST, view="files")
    page.runner.rest()
    table = page.showing("43 files")
    assert table is not None
    monkeypatch.setattr(view, "QUIET_SECONDS", PATIENCE)
    gate.close()
    table._handle_msg({"action": "sort", "value": "num_records"})
    assert "43 files" in table.html
    assert "dx-waiting" not in table.html
    gate.open()
    page.runner.rest()
    monkeypatch.setattr(view, "QUIET_SECONDS", 0)
    gate.close()
    table._handle_msg({"action": "sort", "value": "deleted_rows"})
    page.runner.until(lambda: "dx-waiting" in table.html or "43 files" in table.html)
    gate.open()
    page.runner.rest()
    assert "43 files" in table.html
