"""The change feed on the page: counts first, then the rows, and why there are none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.change_feeds import Feed
from tests.tables import PROTOCOL, LogFolder, add, metadata, remove
from tests.unit.widgets.page.test_explorer_view import Page
from widgets.ui.live_html import LiveHtml


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
    page.enter(older="12")
    assert "Rows changed in 2 of 2 versions (12 to 13)" in page.html
    page.enter(older="<i>")
    assert "is not a version of this table" in page.html
    page.enter(older="12", version="99")
    assert "is not a version of this table: the latest is 13." in page.html
    assert (page.state.older, page.state.version) == (12, 13)
    page.enter(older="13", version="11")
    assert "dx-notice" in page.html
    other = Page().open(page.state.table, view="feed", older=900, other="/lake/copy")
    assert "(4 to 13)" in other.html  # 900 is a version of the other table
    other.enter(older="12")
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


def changed_orders(folder: Path) -> Path:
    """Version 1 inserts 600 rows, 2 updates 30 of them and deletes one."""
    feed = Feed(folder / "orders")
    feed.file("a", id=list(range(600)))
    feed.commit(add("a"))
    updates = [("update_preimage", at) for at in range(30)]
    updates += [("update_postimage", 1000 + at) for at in range(30)]
    kinds, ids = zip(*updates, ("delete", 599), strict=True)
    feed.file("_change_data/c", id=list(ids), _change_type=list(kinds))
    feed.file("b", id=[*range(1000, 1030), *range(30, 599)])
    feed.commit(remove("a"), add("b"), cdc("_change_data/c"))
    return feed.folder.root


def rows_part(page: Page) -> LiveHtml:
    return next(part for part in page.parts() if "The changed rows" in part.html)


def cdc(path: str) -> dict[str, object]:
    return {"cdc": {"path": path, "partitionValues": {}, "size": 1, "dataChange": False}}


def test_rows_are_chosen_by_kind_also_beyond_the_first_ones(tmp_path: Path) -> None:
    page = Page().open(changed_orders(tmp_path), view="feed", older=1, version=2)
    assert 'data-do="kind"' not in page.html
    page.do("rows")
    named = re.findall(r'data-do="kind"[^>]*>([^<]*)<', page.html)
    assert named == ["All 631", "Inserted 600", "Updated 30", "Deleted 1"]
    assert "1\N{EN DASH}25 of 500 rows" in page.html
    rows_part(page)._handle_msg({"action": "page", "value": "475"})
    assert "476\N{EN DASH}500 of 500 rows" in page.html
    page.do("kind", "delete")  # which is not among the first 500
    assert ">599</td>" in page.html
    assert "1\N{EN DASH}1 of 1 row" in page.html
    assert 'data-value="delete" aria-pressed="true"' in page.html
    assert ".isin([&#x27;delete&#x27;])" in page.html
    page.do("kind", "update")
    assert "1\N{EN DASH}25 of 60 rows" in page.html
    assert ">update_preimage</td>" in page.html
    rows_part(page)._handle_msg({"action": "page", "value": "50"})
    assert "51\N{EN DASH}60 of 60 rows" in page.html
    assert ">update_postimage</td>" in page.html
    page.do("kind", "nonsense")
    assert 'data-value="update" aria-pressed="true"' in page.html
    page.do("kind", "")
    assert "1\N{EN DASH}25 of 500 rows" in page.html
    assert "These are the first 500; there are more." in page.html


def test_the_export_has_the_rows_of_the_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: dict[str, str] = {}
    monkeypatch.setattr(
        LiveHtml, "download", lambda _, name, file: saved.update({name: file.read().decode()})
    )
    page = Page().open(changed_orders(tmp_path), view="feed", older=2, version=2)
    page.do("kind", "delete")
    rows_part(page)._handle_msg({"action": "export", "value": ""})
    assert len(saved["changed-rows-2-to-2-delete.csv"].splitlines()) == 2


def test_rows_of_one_kind_have_no_choice(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path), view="feed", older=7, version=7)
    assert "1007" in page.html
    assert 'data-do="kind"' not in page.html
