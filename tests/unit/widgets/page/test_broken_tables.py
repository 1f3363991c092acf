"""What is broken stays visible on the page: older versions below the error, malformed commits,
tables that are deleted while they are open."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import explorer.inspect as look
from explorer.errors import Problem
from tests.tables import LogFolder, add, commit_name
from tests.unit.inspect.health.test_what_was_opened import START, UNREADABLE, files, with_sidecars
from tests.unit.widgets.page.test_explorer_view import Page
from widgets.served._json_addresses import answer, read_question
from widgets.session.access import Access
from widgets.session.page_services import OpenTables, PageServices
from widgets.session.recents import Recents
from widgets.session.work import InlineRunner
from widgets.state import VIEWS

pytestmark = pytest.mark.usefixtures("no_surprises")


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    log = LogFolder(tmp_path / "orders")
    log.commit(0, [*START, *files(0)])
    for version in range(1, 7):
        log.commit(version, [{"commitInfo": {"operation": "WRITE"}}, *files(version)])
    return log


@pytest.mark.slow
@pytest.mark.parametrize("spoil", UNREADABLE)
def test_newest_version_that_can_be_read_is_shown_below_the_error(
    log: LogFolder, spoil: Callable[[LogFolder], None]
) -> None:
    spoil(log)
    page = Page().open(log.root)
    assert (page.state.latest, page.state.version) == (6, 4)
    html = page.html
    assert html.index("Version 4 is the newest that can be read") < html.index("Active files")
    assert "the latest is 6" in html
    page.state.view = "files"
    assert "4.parquet" in page.html
    for view in VIEWS:
        page.state.view = view
        assert "Version 4 is the newest that can be read" in page.html
    # who chooses the latest is told why it cannot be shown
    page.state.param.update(view="files", version=6)
    # a sidecar's random name may end like that, too
    assert not re.search(r"(?<![0-9a-f])4\.parquet", page.html)


def test_json_address_answers_with_the_version_that_can_be_read(log: LogFolder) -> None:
    UNREADABLE[0](log)
    services = PageServices(
        runner=InlineRunner(), tables=OpenTables(), access=Access(), recents=Recents()
    )
    question, table = read_question("inspect", {"table": [str(log.root).encode()]}, [])
    document = json.loads(answer(question, table, services))
    assert (document["version"], document["unreadable_version"]) == (4, 6)


def test_header_names_the_checkpoint_that_was_read(log: LogFolder) -> None:
    log.checkpoint(2, [*START, *files(0, 1, 2)])
    sidecar = with_sidecars(log, 4)
    assert "since checkpoint 4" in Page().open(log.root).html
    sidecar.unlink()
    assert "since checkpoint 2" in Page().open(log.root).html
    for place in log.log.glob("*.checkpoint.parquet"):
        place.write_bytes(b"")
    assert "no checkpoint is usable" in Page().open(log.root).html


def test_header_counts_compactions_in_the_place_of_their_commits(log: LogFolder) -> None:
    lines = "".join(json.dumps(action) + "\n" for action in [*START, *files(*range(5))])
    log.write(f"{0:020}.{4:020}.compacted.json", lines)
    assert "no checkpoint yet; 2 and 1 log compaction read" in Page().open(log.root).html


@pytest.mark.slow
@pytest.mark.parametrize("text", ['{"add": {"path":', "", "\x00\xff", '{"add": 5}'])
@pytest.mark.parametrize("version", [0, 3, 6])
def test_log_with_one_malformed_commit_shows_log_history_and_health(
    log: LogFolder, version: int, text: str
) -> None:
    log.write(commit_name(version), text.encode("latin-1"))
    page = Page().open(log.root)
    assert page.state.table
    page.state.view = "timeline"
    assert page.html.count("WRITE") >= 5
    page.state.view = "log"
    for number in range(7):
        assert commit_name(number) in page.html
    page.state.view = "health"
    sentence = look.log_health(page.explorer._service.table).sentence  # type: ignore[union-attr]
    assert sentence.partition(" ")[0] in page.html
    if (version, text) != (0, ""):  # without its first actions nothing of the table is known
        assert commit_name(version) in page.html


def deleted(log: LogFolder) -> None:
    shutil.rmtree(log.root)


def without_log(log: LogFolder) -> None:
    shutil.rmtree(log.log)


@pytest.mark.slow
@pytest.mark.parametrize("delete", [deleted, without_log])
def test_table_that_is_deleted_while_it_is_open_is_told_in_every_view(
    log: LogFolder, delete: Callable[[LogFolder], None]
) -> None:
    page = Page().open(log.root)
    assert page.state.gone is None
    delete(log)
    page.state.view = "files"  # the next look
    assert page.state.gone is not None
    for view in VIEWS:
        page.state.view = view
        assert "What is shown below was read before." in page.html
    page.explorer.reload()
    assert "What is shown below was read before." in page.html
    assert page.state.table
    # it comes back
    log.log.mkdir(parents=True, exist_ok=True)
    log.commit(0, [*START, add("new.parquet")])
    page.explorer.reload()
    assert page.state.gone is None
    assert page.state.latest == 0
    page.state.view = "files"
    assert "new.parquet" in page.html


def test_table_that_was_replaced_is_not_taken_for_the_open_one(log: LogFolder) -> None:
    page = Page().open(log.root)
    follower = page.explorer._follower
    service = page.explorer._service
    assert service is not None
    follower.hear(service, 2)
    assert page.state.gone is not None
    assert "Another table lies where the open one was." in page.html
    follower.hear_gone(
        service, Problem(kind="table_not_found", problem="Gone.", reason="It was.", remedy="Look.")
    )
    assert "Gone." in page.html
