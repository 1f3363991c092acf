"""Changes in files that have no column in common with their table are told, or are an error:
never rows of nulls without a word."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import explorer
import explorer.inspect as look
from explorer.cli.main import run
from explorer.errors import CorruptDataError, Problem
from explorer.progress import UNWATCHED
from tests.change_feeds import Feed, hiding
from tests.tables import add, remove
from widgets.screens.feed._ask import read_changed_rows
from widgets.session.tables import TableService

TOLD = "no column in common with the table"


def foreign_feed(root: Path) -> Feed:
    """Version 1 is sound, and 2 to 4 have rows of a file of another table: as an insert, as
    rows that a vector hides, and as recorded changes."""
    feed = Feed(root)
    feed.file("own", ID=[1])
    feed.commit(add("own"))
    feed.file("foreign", x=[1, 2, 3])
    feed.commit(add("foreign"))
    feed.commit(remove("foreign"), add("foreign", **hiding(1)))
    feed.file("_change_data/c", y=[7], _change_type=["delete"])
    feed.commit(
        {"cdc": {"path": "_change_data/c", "partitionValues": {}, "size": 1, "dataChange": False}}
    )
    return feed


def test_each_version_with_such_a_file_is_told(tmp_path: Path) -> None:
    feed, told = foreign_feed(tmp_path / "t"), list[Problem]()
    found = feed.read(0, tell=told.append)
    assert found.column("id").to_pylist() == [1, None, None, None, None, None]
    assert [problem.problem[:11] for problem in told] == ["1 data file"] * 3
    assert all(TOLD in problem.problem for problem in told)
    for version, problem in zip((2, 3, 4), told, strict=True):
        assert f"version {version}" in problem.reason
    assert "_change_data/c" in told[-1].reason


def test_without_anybody_to_be_told_such_a_file_is_an_error(tmp_path: Path) -> None:
    feed = foreign_feed(tmp_path / "t")
    for version in (2, 3, 4):
        with pytest.raises(CorruptDataError, match=TOLD) as caught:
            feed.read(version, version)
        assert f"of version {version}" in caught.value.problem
    assert feed.told(1, 1) == [(1, "insert", 1)]


def test_a_sound_feed_is_not_told(tmp_path: Path) -> None:
    feed, told = Feed(tmp_path / "t"), list[Problem]()
    feed.file("own", id=[1, 2])
    feed.commit(add("own"))
    feed.commit(remove("own"), add("own", **hiding(0)))
    feed.file("_change_data/c", id=[7], _change_type=["delete"])
    feed.commit(
        {"cdc": {"path": "_change_data/c", "partitionValues": {}, "size": 1, "dataChange": False}}
    )
    feed.file("empty", x=[])
    feed.commit(add("empty"))
    assert feed.read(0, tell=told.append).num_rows == 4
    assert told == []


def test_command_and_page_tell_of_such_changes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(foreign_feed(tmp_path / "t").folder.root)
    assert run(["changes", place, "0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [TOLD in problem["problem"] for problem in found["problems"]] == [True] * 3
    assert run(["changes", place, "0"]) == 0
    assert " ".join(capsys.readouterr().out.split()).count(TOLD) == 3
    service = TableService(explorer.open_table(place))
    rows = read_changed_rows(service, 0, 4, "", UNWATCHED)
    assert [TOLD in problem.problem for problem in rows.problems] == [True] * 3
    assert len(rows.rows) == 6


def test_search_for_a_row_says_what_it_could_not_look_into(tmp_path: Path) -> None:
    table = explorer.open_table(foreign_feed(tmp_path / "t").folder.root)
    found = look.search_rows(table, "id = 1")
    assert found.rows.column("id").to_pylist() == [1]
    unread = found.unread.to_pylist()
    assert [(row["version"], row["path"]) for row in unread] == [(2, "foreign"), (3, "foreign")]
    assert all(TOLD in row["reason"] for row in unread)
