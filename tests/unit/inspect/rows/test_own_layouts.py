"""Rows are followed through versions of other layouts and schemas: each file is read by those of
its own version, or listed as not readable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer
import explorer.inspect as look
from tests.change_feeds import Feed
from tests.data_tables import field, struct
from tests.tables import add, metadata, remove

COLUMNS = ("p", "q", "k")
ROWS = (("x", "u", 1), ("y", "v", 2))
SCHEMA = struct(field("p", "string"), field("q", "string"), field("k", "long"))
LAYOUTS = {"unpartition": (["p"], []), "partition": ([], ["p"]), "swap": (["p"], ["q"])}


def described(partitions: list[str], schema: dict[str, Any] = SCHEMA, **fields: Any) -> Any:
    return metadata(schemaString=json.dumps(schema), partitionColumns=partitions, **fields)


def write(feed: Feed, number: int, partitions: list[str]) -> list[dict[str, Any]]:
    """Two files of one row, and what the log says of each."""
    found = []
    for at, row in enumerate(ROWS):
        values: dict[str, Any] = dict(zip(COLUMNS, row, strict=True))
        values["k"] += 10 * number
        stored = {name: value for name, value in values.items() if name not in partitions}
        path = f"v{number}-{at}"
        feed.file(path, **{name: [value] for name, value in stored.items()})
        stats = {
            "numRecords": 1,
            "minValues": stored,
            "maxValues": stored,
            "nullCount": dict.fromkeys(stored, 0),
        }
        values = {name: values[name] for name in partitions}
        found.append({"path": path, "partitionValues": values, "stats": json.dumps(stats)})
    return found


def gone(file: dict[str, Any]) -> Any:
    return remove(file["path"], partitionValues=file["partitionValues"])


def replaced(tmp_path: Path, mode: str) -> Feed:
    """A table whose version 1 replaces all by another partitioning."""
    before, after = LAYOUTS[mode]
    feed = Feed(tmp_path / "t", described(before))
    old, new = write(feed, 0, before), write(feed, 1, after)
    feed.commit(*[add(**file) for file in old])
    feed.commit(described(after), *map(gone, old), *[add(**file) for file in new])
    feed.commit(gone(new[1]))
    return feed


def search(feed: Feed, where: str, **options: Any) -> look.RowHistory:
    return look.search_rows(explorer.open_table(feed.folder.root), where, **options)


def told(found: look.RowHistory) -> list[tuple[int, str, str, str, int]]:
    return sorted(
        (row["_commit_version"], row["_change_type"], row["p"], row["q"], row["k"])
        for row in found.rows.to_pylist()
    )


@pytest.mark.parametrize("mode", LAYOUTS)
@pytest.mark.parametrize("where", ["p = 'x'", "q = 'u'", "k in (1, 11)"])
def test_files_are_read_by_the_layout_of_their_own_version(
    tmp_path: Path, mode: str, where: str
) -> None:
    found = search(replaced(tmp_path, mode), where)
    assert found.unread.num_rows == 0
    assert told(found) == [
        (1, "insert", "x", "u", 1),
        (2, "delete", "x", "u", 1),
        (2, "insert", "x", "u", 11),
    ]


@pytest.mark.parametrize("mode", LAYOUTS)
def test_files_of_the_newest_layout_go_by_it(tmp_path: Path, mode: str) -> None:
    found = search(replaced(tmp_path, mode), "k in (2, 12)")
    assert told(found) == [
        (1, "insert", "y", "v", 2),
        (2, "delete", "y", "v", 2),
        (2, "insert", "y", "v", 12),
        (3, "delete", "y", "v", 12),
    ]
    # neither statistics nor partition values of another layout keep a file from being read,
    # and those of its own still do
    assert search(replaced(tmp_path / "again", mode), "p = 'z'").files_read == 0


@pytest.mark.parametrize("mode", LAYOUTS)
def test_search_may_begin_with_a_version_of_the_other_layout(tmp_path: Path, mode: str) -> None:
    found = search(replaced(tmp_path, mode), "p = 'x'", from_version=2)
    assert found.at_start is not None
    assert found.at_start.column("k").to_pylist() == [1]
    assert told(found) == [(2, "delete", "x", "u", 1), (2, "insert", "x", "u", 11)]


def test_files_of_a_type_that_the_newest_schema_cannot_hold_are_listed(tmp_path: Path) -> None:
    old = struct(field("p", "string"), field("q", "string"), field("k", "string"))
    feed = Feed(tmp_path / "t", described([], old))
    feed.file("a", p=["x"], q=["u"], k=["one"])
    feed.commit(add("a"))
    feed.file("b", p=["x"], q=["u"], k=[11])
    feed.commit(described([]), remove("a"), add("b"))
    for options in ({}, {"from_version": 2}):
        found = search(feed, "p = 'x'", **options)
        rows = found.unread.to_pylist()
        assert {row["path"] for row in rows} == {"a"}
        assert "`k` is string, in that of the newest version long" in rows[0]["reason"]
        assert told(found) == [(2, "insert", "x", "u", 11)]
        assert "could not be read" in found.sentence


def test_wider_types_and_new_columns_are_read_as_the_newest_schema_has_them(
    tmp_path: Path,
) -> None:
    feed = Feed(
        tmp_path / "t", described(["k"], struct(field("p", "string"), field("k", "integer")))
    )
    feed.file("a", p=["x"])
    feed.commit(add("a", partitionValues={"k": "1"}))
    feed.commit(described([], SCHEMA), remove("a", partitionValues={"k": "1"}))
    found = search(feed, "k = 1")
    rows = [(row["_commit_version"], row["q"], row["k"]) for row in found.rows.to_pylist()]
    assert rows == [(1, None, 1), (2, None, 1)]


def mapped(name: str, number: int, physical: str) -> dict[str, Any]:
    ids = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical}
    return dict(field(name, "long")) | {"metadata": ids}


def test_columns_are_known_again_by_their_ids_and_else_by_their_names(tmp_path: Path) -> None:
    mode = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "4"}
    first = struct(mapped("k", 1, "c1"), mapped("old", 2, "c2"))
    feed = Feed(tmp_path / "t", described([], first, configuration=mode))
    protocol = {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": ["columnMapping"],
            "writerFeatures": ["columnMapping"],
        }
    }
    feed.commit(protocol)
    feed.file("a", c1=[1], c2=[7])
    feed.commit(add("a"))
    # `k` is replaced by a column of that name, `old` is renamed
    later = struct(mapped("k", 3, "c3"), mapped("new", 2, "c2"))
    feed.file("b", c3=[2], c2=[8])
    feed.commit(described([], later, configuration=mode), remove("a"), add("b"))
    found = search(feed, "k = 1 and new = 7")
    assert found.unread.num_rows == 0
    rows = [(row["_commit_version"], row["k"], row["new"]) for row in found.rows.to_pylist()]
    assert rows == [(2, 1, 7), (3, 1, 7)]
