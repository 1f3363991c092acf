"""One commit: what it did, its rows, its files, the way back, its actions."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from explorer import pipeline
from tests.tables import PROTOCOL, LogFolder, add, metadata, remove
from tests.unit.widgets.page.test_explorer_view import Page
from widgets.screens.commit import _actions_view, _ask
from widgets.screens.commit._ask import FREE_FILES
from widgets.ui.records import read_records

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Version 1 adds ten rows, 2 deletes three of them, 3 updates two."""
    uri = str(tmp_path_factory.mktemp("lake") / "people")
    on = {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"}
    pipeline.create(uri, "id BIGINT, name STRING, town STRING", properties=on)
    names = [EVIL, *(f"n{at}" for at in range(1, 10))]
    rows = {"id": list(range(10)), "name": names, "town": ["Bonn"] * 10}
    pipeline.write(pa.table(rows), uri, user_name="ann@lake.example")
    pipeline.delete(uri, "id < 3", user_name="ben.osei@lake.example")
    pipeline.update(uri, {"name": "'new'"}, "id > 7", user_name="ann@lake.example")
    return uri


def text_of(page: Page) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", page.html).split())


def test_a_commit_tells_who_did_what_and_shows_the_rows(lake: str, no_surprises: None) -> None:
    page = Page().open(lake, view="timeline", version=2)
    told = text_of(page)
    assert "ben.osei deleted 3 rows where id &lt; 3." in told
    assert "3 deleted rows; found from its files and deletion vectors." in told
    assert "+0 \N{MINUS SIGN}0 1 with a new deletion vector" in told
    assert ", 1 vector</td>" in page.html  # in the list
    assert told.count("deleted 0 &lt;img") + told.count("deleted 1 n1") == 2
    assert EVIL not in page.html
    assert "deletion vector" in told


def test_an_update_is_one_row_with_both_values(lake: str, no_surprises: None) -> None:
    page = Page().open(lake, view="commit", version=3)
    told = text_of(page)
    assert "ann updated 2 rows where id &gt; 7." in told
    assert "2 updated rows; found from the change data that it recorded." in told
    assert "updated 8 n8 \N{RIGHTWARDS ARROW} new Bonn" in told


def test_a_commit_stands_alone_at_its_own_address_and_beside_the_timeline(
    lake: str, no_surprises: None
) -> None:
    page = Page().open(lake, view="commit", version=2)
    assert page.state.address.view == "commit"
    assert "ben.osei deleted 3 rows" in text_of(page)
    page.do("place", "timeline")
    assert page.state.view == "timeline"
    page.do("step", "1")
    assert "ann updated 2 rows" in text_of(page)
    page.state.view = "files"
    page.state.version = 1
    page.state.view = "commit"
    assert "ann added 10 rows." in text_of(page)


def test_an_overwrite_counts_what_it_deleted_and_shows_some_of_each_kind(
    tmp_path: Path, no_surprises: None
) -> None:
    uri = str(tmp_path / "t")
    for first in (0, 1000):
        rows = pa.table({"id": list(range(first, first + 200))})
        pipeline.write(rows, uri, mode="overwrite" if first else "append")
    page = Page().open(uri, view="commit", version=1)
    told = text_of(page)
    assert "50 of 400 rows: 200 inserted, 200 deleted; found by comparing" in told
    assert page.html.count(">inserted</td>") == page.html.count(">deleted</td>") == 25
    assert "+200 <em>\N{MINUS SIGN}200</em>" in page.html
    assert "Compare with previous" in told
    page.state.version = 0
    assert "50 of 200 inserted rows; found from its files" in text_of(page)
    assert "Compare with previous" not in text_of(page)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_every_commit_says_who_can_still_read_the_table(lake: str, version: int) -> None:
    told = text_of(Page().open(lake, view="commit", version=version))
    assert "Who can still read the table" in told
    assert " engines can read it" in told
    assert ("Nothing changed for readers: " in told) is (version > 0)


@pytest.mark.slow
def test_the_way_back_from_a_commit_is_a_plan_that_is_made_at_once(
    lake: str, no_surprises: None
) -> None:
    page = Page().open(lake, view="timeline", version=2)
    assert "Restore to before this commit" in page.html
    page.do("plan-now", '["restore", {"version": "1"}]')
    assert (page.state.view, page.state.operation) == ("maintenance", "restore")
    assert "it was not part of version 1" in text_of(page)
    page = Page().open(lake, view="timeline", version=0)
    assert "Restore to before" not in page.html


def test_a_commit_that_is_gone_says_what_is_left(tmp_path: Path, no_surprises: None) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(), add("a")])
    log.commit(1, [add("b")])
    (log.log / "00000000000000000000.json").rename(log.log / "00000000000000000002.json")
    page = Page().open(log.root, view="commit", version=0)
    assert "The commit of version 0 is not in the log." in text_of(page)


def test_rows_of_a_commit_of_many_files_are_read_when_somebody_asks(
    tmp_path: Path, no_surprises: None
) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(), add("a")])
    log.commit(1, [add(f"{at}", size=1) for at in range(FREE_FILES + 1)])
    page = Page().open(log.root, view="commit", version=1)
    told = text_of(page)
    assert "Show the first 50 rows" in told
    page.do("list")
    assert "491 more files: show the actions." in text_of(page)
    page.do("rows")  # there are no data files
    assert "does not exist" in text_of(page)


def test_files_are_counted_of_the_lines_that_are_held_and_read_where_they_are_shown(
    tmp_path: Path, no_surprises: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata()])
    files = [add(f"{at}", size=at) for at in range(15)]
    log.commit(1, [remove("3", size=1), *files])
    read = []

    def read_some(frame: pa.Table) -> list[dict[str, Any]]:
        read.append((frame.num_rows, frame.column_names))
        return read_records(frame)

    monkeypatch.setattr(_actions_view, "read_records", read_some)
    page = Page().open(log.root, view="commit", version=1)
    assert "5 more files: show the actions." in text_of(page)
    assert page.html.count(">deletion vector<") == 1
    assert read[-1] == (11, ["action", "path", "size", "num_records"])
    page.do("mode", "table")
    page.do("line", "2")
    assert [names[0] for _, names in read[1:]] == ["line", "line"]  # the files stay as they are
    for module in (_ask, _actions_view):
        monkeypatch.setattr(module, "ACTIONS_HELD", 16)
    page = Page().open(log.root, view="commit", version=1)
    assert "5 more files of the first 16 lines: show the actions." in text_of(page)
    page.state.version = 0
    assert "It touched no file." in text_of(page)


def test_a_change_of_the_protocol_says_who_can_still_use_the_table(
    tmp_path: Path, no_surprises: None
) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(), add("a")])
    named = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    raised = {"minReaderVersion": 3, "minWriterVersion": 7, **named}
    log.commit(1, [{"protocol": raised}])
    log.commit(2, [remove("a", size=1)])
    page = Page().open(log.root, view="commit", version=1)
    assert "Can no longer read the table: " in page.html
    page.state.version = 2
    assert "Can no longer read the table: " not in page.html
    assert "Nothing changed for readers: " in page.html


def test_the_actions_come_last_as_the_log_has_them(lake: str, no_surprises: None) -> None:
    page = Page().open(lake, view="commit", version=2)
    *_, last = page.parts()
    assert "<h4>Actions</h4>" in last.html
    assert "commitInfo" not in last.html
    page.do("mode", "raw")
    stored = (Path(lake) / "_delta_log" / "00000000000000000002.json").read_text().splitlines()
    assert all(line in unescape(last.html) for line in stored)
    page.do("mode", "")
    assert "pre tabindex" not in last.html
