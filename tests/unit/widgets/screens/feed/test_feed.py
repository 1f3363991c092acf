"""The change feed on the page: counts first, then the rows, and why there are none."""

from __future__ import annotations

from pathlib import Path

from tests.change_feeds import Feed
from tests.tables import PROTOCOL, LogFolder, add, metadata
from tests.unit.widgets.page.test_explorer_view import Page


def orders(folder: Path) -> Path:
    feed = Feed(folder / "orders")
    for version in range(1, 14):
        feed.file(f"{version}", id=[version, 1_000 + version])
        feed.commit(add(f"{version}"))
    return feed.folder.root


def test_the_last_versions_are_counted_and_rows_are_read_on_demand(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path), view="feed")
    assert "Rows changed in 10 of 10 versions (4 to 13): 20 inserted." in page.html
    assert "1013" not in page.html
    page.do("rows")
    assert "1013" in page.html


def test_a_version_shows_its_own_rows_and_stands_in_the_address(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path), view="feed")
    page.do("one", "7")
    assert (page.state.older, page.state.version) == (7, 7)
    assert "Rows changed in version 7: 2 inserted." in page.html
    assert "1007" in page.html
    assert "1008" not in page.html


def test_a_range_is_chosen_by_its_ends(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path), view="feed")
    page.do("older", "12")
    assert "Rows changed in 2 of 2 versions (12 to 13)" in page.html
    page.do("older", "<i>")
    assert "is not a version of this table" in page.html
    page.do("older", "13")
    page.do("version", "11")
    assert "dx-notice" in page.html
    other = Page().open(page.state.table, view="feed", older=900, other="/lake/copy")
    assert "(4 to 13)" in other.html  # 900 is a version of the other table
    other.do("older", "12")
    assert "(12 to 13)" in other.html


def test_a_table_without_a_feed_leads_to_how_far_it_reaches(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "plain")
    log.commit(0, [PROTOCOL, metadata(), add("a")])
    page = Page().open(log.root, view="feed")
    assert "delta.enableChangeDataFeed" in page.html
    page.do("reach")
    assert page.state.view == "reach"


def test_a_file_without_any_column_of_the_table_is_told_above_the_rows(tmp_path: Path) -> None:
    feed = Feed(tmp_path / "orders")
    feed.file("<i>foreign", x=[1, 2])
    feed.commit(add("<i>foreign"))
    page = Page().open(feed.folder.root, view="feed")
    page.do("rows")
    assert "1 problem was found" in page.html
    assert "no column in common with the table: its rows are all NULL" in page.html
    assert "<i>foreign" not in page.html
