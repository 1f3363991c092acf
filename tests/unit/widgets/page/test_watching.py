"""New versions are told to those who look, by one who asks for all of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import explorer
from explorer.errors import StorageError
from explorer.table.table import Table
from tests.tables import PROTOCOL, LogFolder, add, metadata
from tests.unit.widgets.page.test_explorer_view import Page
from widgets.page import _watching as watching
from widgets.page._watching import Follower
from widgets.session.tables import TableService
from widgets.session.work import InlineRunner

PATIENCE = 60.0


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(watching, "ACTIVE_SECONDS", 0.02)
    yield
    wait_for(lambda: not asking(), "the thread that asks ends")


def asking() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == "delta-explorer-watch"]


def wait_for(done: object, what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not done():  # type: ignore[operator]
        assert time.monotonic() < end, what
        time.sleep(0.01)


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(), add("a.parquet")])
    return log


def test_a_newer_version_is_told_once_to_each_who_looks_by_one_thread(log: LogFolder) -> None:
    service = TableService(explorer.open_table(str(log.root)))
    told: list[tuple[str, int]] = []
    followers = [
        Follower(InlineRunner(), lambda version, who=who: told.append((who, version)))
        for who in ("ann", "bob")
    ]
    for follower in followers:
        follower.follow(service, 0)
        follower.alive(is_idle=False)
    assert len(asking()) == 1
    log.commit(1, [add("b.parquet")])
    wait_for(lambda: len(told) == 2, "both are told")
    time.sleep(0.2)
    assert sorted(told) == [("ann", 1), ("bob", 1)]
    followers[0].stop()
    log.commit(2, [add("c.parquet")])
    wait_for(lambda: ("bob", 2) in told, "who stays is told")
    assert ("ann", 2) not in told
    followers[1].stop()


def test_nobody_is_asked_for_a_page_that_gives_no_sign_of_life(
    log: LogFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = TableService(explorer.open_table(str(log.root)))
    follower = Follower(InlineRunner(), lambda _: None)
    follower.follow(service, 0)
    assert not asking()
    follower.alive(is_idle=False)
    assert len(asking()) == 1
    # only now short: a machine that rests for as long must not end it before it is counted
    with monkeypatch.context() as shortly:
        shortly.setattr(watching, "LEASE_SECONDS", 0.1)
        follower.alive(is_idle=False)
    wait_for(lambda: not asking(), "asking ends by itself")
    follower.alive(is_idle=False)
    assert len(asking()) == 1
    follower.stop()


def test_idle_pages_are_asked_for_less_often_and_a_stir_ends_the_pause(
    log: LogFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []
    known = Table.latest_version
    monkeypatch.setattr(
        Table, "latest_version", lambda table: asked.append(time.monotonic()) or known(table)
    )
    service = TableService(explorer.open_table(str(log.root)))
    follower = Follower(InlineRunner(), lambda _: None)
    follower.follow(service, 0)
    follower.alive(is_idle=True)
    time.sleep(0.3)
    assert asked == []
    follower.alive(is_idle=False)
    wait_for(lambda: len(asked) > 2, "an active page is asked for")
    follower.stop()


def test_a_store_that_fails_is_asked_again_later(
    log: LogFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = [StorageError("Gone.", reason="Away.", remedy="Wait.")]
    known = Table.latest_version

    def latest(table: Table) -> int:
        if failures:
            raise failures.pop()
        return known(table)

    monkeypatch.setattr(Table, "latest_version", latest)
    told: list[int] = []
    service = TableService(explorer.open_table(str(log.root)))
    follower = Follower(InlineRunner(), told.append)
    follower.follow(service, 0)
    log.commit(1, [add("b.parquet")])
    follower.alive(is_idle=False)
    wait_for(lambda: told == [1], "it is told after the failure")
    follower.stop()


def test_a_new_version_is_offered_and_shown_where_one_was(log: LogFolder) -> None:
    page = Page().open(log.root, view="files", only="operation=MERGE", column="id")
    tools = page.explorer.tools
    tools._handle_msg({"action": "alive", "value": "active"})
    log.commit(1, [{"commitInfo": {"operation": "MERGE"}}, add("b.parquet")])
    wait_for(lambda: page.state.newer == 1, "the version is offered")
    assert "Version 1 is available." in page.html
    assert page.state.address.version == 0
    assert "b.parquet" not in page.html
    page.do("newest")
    address = page.state.address
    assert (address.version, address.view, address.only, address.column) == (
        1, "files", "operation=MERGE", "id",
    )  # fmt: skip
    assert page.state.newer is None
    assert "b.parquet" in page.html
    assert "is there." not in page.html
    tools._handle_msg({"action": "hidden", "value": ""})


def test_an_offer_can_be_put_off(log: LogFolder) -> None:
    page = Page().open(log.root)
    page.explorer.tools._handle_msg({"action": "alive", "value": "active"})
    log.commit(1, [add("b.parquet")])
    wait_for(lambda: page.state.newer == 1, "the version is offered")
    page.do("later")
    assert "is there." not in page.html
    assert page.state.version == 0
    page.explorer.close()
