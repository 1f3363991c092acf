"""How many rows each version changed, counted without reading them and held against the rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import explorer
import explorer.inspect as look
from explorer.errors import UnsupportedError
from explorer.rows.changes.feed import CHANGE_TYPES
from tests.change_feeds import Feed, feed_metadata, hiding
from tests.tables import add, remove


def counted(totals: look.ChangeTotals) -> dict[int, dict[str, int]]:
    return {
        row["version"]: {kind: row[kind] for kind in CHANGE_TYPES if row[kind]}
        for row in totals.versions.to_pylist()
    }


def of_rows(feed: Feed, last: int) -> dict[int, dict[str, int]]:
    found: dict[int, Counter[str]] = {}
    for version, kind, *_ in feed.told(0, last):
        found.setdefault(version, Counter())[kind] += 1
    return {version: dict(counts) for version, counts in found.items()}


def story(folder: Path) -> Feed:
    feed = Feed(folder / "t")
    feed.file("a", id=[0, 1, 2, 3])
    feed.commit(add("a"))
    feed.commit(remove("a"), add("a", **hiding(1, 2)))
    feed.commit(remove("a", **hiding(1, 2)), add("a", **hiding(2, 3)))
    kinds = ["update_preimage", "update_postimage", "insert"]
    feed.file("_change_data/c", id=[0, 9, 7], _change_type=kinds)
    feed.commit({"cdc": {"path": "_change_data/c", "partitionValues": {}, "size": 10,
                         "dataChange": False}})  # fmt: skip
    feed.commit(remove("a", partitionValues={}, **hiding(2, 3)))
    feed.commit({"commitInfo": {"operation": "VACUUM END"}})
    return feed


def test_counts_are_those_of_the_rows(tmp_path: Path) -> None:
    feed = story(tmp_path)
    totals = look.change_totals(explorer.open_table(feed.folder.root), 0)
    assert counted(totals) == of_rows(feed, feed.version)
    assert counted(totals)[3] == {"insert": 1, "delete": 1}
    assert totals.sentence == (
        "Rows changed in 5 of 7 versions (0 to 6): 6 inserted, 1 updated, 5 deleted."
    )


def test_a_table_of_the_corpus_is_counted_as_its_rows_are(corpus: Path) -> None:
    table = explorer.open_table(corpus / "tables" / "spark44-cdf-all-operations")
    rows = explorer.read_changes(table, 0)
    kinds = Counter(rows.column("_change_type").to_pylist())
    totals = look.change_totals(table, 0).versions
    assert {kind: sum(totals.column(kind).to_pylist()) for kind in CHANGE_TYPES} == dict(kinds)


def test_a_version_that_changed_nothing_is_told_from_one_that_did(tmp_path: Path) -> None:
    feed = story(tmp_path)
    table = explorer.open_table(feed.folder.root)
    assert look.change_totals(table, 6).sentence == "No row changed in version 6."
    assert look.change_totals(table, 5, 5).sentence == "Rows changed in version 5: 2 deleted."


def test_a_feed_that_cannot_be_read_says_since_when(tmp_path: Path) -> None:
    feed = Feed(tmp_path / "t", feed_metadata(configuration={"delta.enableChangeDataFeed": "no"}))
    with pytest.raises(UnsupportedError) as raised:
        look.change_totals(explorer.open_table(feed.folder.root), 0)
    assert raised.value.kind == "change_feed_unavailable"
