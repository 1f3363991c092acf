"""Rows are followed through versions of other layouts and schemas: each file is read by those of
its own version, or listed as not readable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
import explorer.inspect as look
from explorer.comparison.schema_changes import schema_changes
from explorer.errors import UnsupportedError
from tests import data_tables
from tests.change_feeds import ENABLED, Feed
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


BY_NAME = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "9"}
MAPPING = {
    "protocol": {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["columnMapping"],
        "writerFeatures": ["columnMapping", "changeDataFeed"],
    }
}


def renamed(tmp_path: Path) -> Feed:
    """A table that maps columns from version 2 on, and then renames `price` and `s.x`, partitions
    by `p`, drops `b`, and in version 5 adds another `b`."""
    inner = struct(field("x", "long"), field("y", "long"))
    names = ("k", "price", "s", "b")
    plain = [field(name, inner if name == "s" else "long") for name in names]
    feed = Feed(tmp_path / "t", described(["p"], struct(*plain, field("p", "string"))))
    feed.file("a", k=[1, 2], price=[7, 8], s=[{"x": 3, "y": 4}, {"x": 5, "y": 6}], b=[9, 9])
    stats = {"numRecords": 2, "minValues": {"price": 7}, "maxValues": {"price": 8}}
    here = {"partitionValues": {"p": "u"}}
    feed.commit(add("a", stats=json.dumps(stats), **here))
    mapped_inner = [data_tables.mapped(name, "long", name, at) for name, at in (("x", 5), ("y", 6))]
    mapped_to = [
        data_tables.mapped("k", "long", "k", 1),
        data_tables.mapped("price", "long", "price", 2),
        data_tables.mapped("s", struct(*mapped_inner), "s", 3),
        data_tables.mapped("b", "long", "b", 4),
        data_tables.mapped("p", "string", "p", 7),
    ]
    feed.commit(MAPPING, described(["p"], struct(*mapped_to), configuration=BY_NAME))
    # what a change recorded before the rename holds the names of then, too
    sides = {"k": [2, 2], "price": [8, 80], "s": [{"x": 5, "y": 6}] * 2, "b": [9, 9]}
    feed.file("_change_data/c", **sides, _change_type=["update_preimage", "update_postimage"])
    feed.file("b", k=[1, 2], price=[7, 80], s=[{"x": 3, "y": 4}, {"x": 5, "y": 6}], b=[9, 9])
    change = {"path": "_change_data/c", "size": 1, "dataChange": False, **here}
    stats["maxValues"] = {"price": 80}
    feed.commit(remove("a", **here), add("b", stats=json.dumps(stats), **here), {"cdc": change})
    mapped_inner[0] = data_tables.mapped("xx", "long", "x", 5)
    mapped_to[2] = data_tables.mapped("s", struct(*mapped_inner), "s", 3)
    mapped_to[1] = data_tables.mapped("unit_price", "long", "price", 2)
    mapped_to[4] = data_tables.mapped("q", "string", "p", 7)
    del mapped_to[3]
    feed.commit(described(["q"], struct(*mapped_to), configuration=BY_NAME))
    mapped_to.append(data_tables.mapped("b", "long", "col-1", 8))
    feed.commit(described(["q"], struct(*mapped_to), configuration=BY_NAME))
    return feed


@pytest.mark.rule("mapping-physicalname")
@pytest.mark.parametrize("where", ["k = 2", "unit_price in (8, 80)", "s.xx = 5 and q = 'u'"])
def test_values_are_kept_through_a_rename_also_from_before_columns_were_mapped(
    tmp_path: Path, where: str
) -> None:
    found = search(renamed(tmp_path), where)
    assert found.unread.num_rows == 0
    rows = [
        (row["_commit_version"], row["_change_type"], row["unit_price"], row["s"], row["q"])
        for row in found.rows.to_pylist()
    ]
    inner = {"xx": 5, "y": 6}
    assert rows == [
        (1, "insert", 8, inner, "u"),
        (3, "update_preimage", 8, inner, "u"),
        (3, "update_postimage", 80, inner, "u"),
    ]


@pytest.mark.rule("mapping-physicalname")
def test_a_search_that_begins_before_a_rename_finds_the_values_of_then(tmp_path: Path) -> None:
    feed = renamed(tmp_path)
    found = search(feed, "unit_price = 8", from_version=2)
    assert found.at_start is not None
    assert found.at_start.column("unit_price").to_pylist() == [8]
    # the bounds of a file are those of the column, whatever it is called
    assert search(feed, "unit_price = 1000", from_version=2).files_read == 0


@pytest.mark.rule("mapping-id")
def test_a_column_that_was_dropped_and_one_added_under_its_name_are_two(tmp_path: Path) -> None:
    feed = renamed(tmp_path)
    assert search(feed, "b = 9").rows.num_rows == 0
    assert set(search(feed, "k = 2").rows.column("b").to_pylist()) == {None}
    table = explorer.open_table(feed.folder.root)
    found = look.row_differences(table.snapshot(version=1), table.snapshot(), ["k"])
    assert (found.only_in_older, found.only_in_newer) == (("b",), ("b",))
    assert found.before.to_pylist()[0]["s"] == {"xx": 5, "y": 6}
    assert [row["unit_price"] for row in found.before.to_pylist()] == [8]
    assert [row["unit_price"] for row in found.after.to_pylist()] == [80]
    assert (found.inserted.num_rows, found.deleted.num_rows) == (0, 0)


def test_values_are_kept_where_mapping_ends_and_files_are_written_anew(tmp_path: Path) -> None:
    first = struct(mapped("k", 1, "k"), mapped("a", 2, "b"))
    feed = Feed(tmp_path / "t", described([], first, configuration=BY_NAME | ENABLED))
    feed.commit(MAPPING)
    feed.file("x", k=[1], b=[7])
    feed.commit(add("x"))
    feed.file("y", k=[1], a=[7])
    plain = described([], struct(field("k", "long"), field("a", "long")), configuration=ENABLED)
    feed.commit(plain, remove("x", dataChange=False), add("y", dataChange=False))
    # a new column of the name that the other one had in files
    columns = struct(field("k", "long"), field("a", "long"), field("b", "long"))
    feed.commit(described([], columns, configuration=ENABLED))
    found = search(feed, "a = 7")
    assert [(row["_commit_version"], row["b"]) for row in found.rows.to_pylist()] == [(2, None)]
    # one reader for all of these versions would read nothing of the first
    with pytest.raises(UnsupportedError, match="a column mapping"):
        feed.read(2, 3)
    assert feed.read(2, 2).column("a").to_pylist() == [7]


@pytest.mark.rule("mapping-physicalname")
def test_names_that_moved_while_mapping_was_on_are_followed_where_it_is_off_again(
    tmp_path: Path,
) -> None:
    plain = struct(field("k", "long"), field("b", "long"))
    feed = Feed(tmp_path / "t", described([], plain, configuration=ENABLED))
    feed.file("x", k=[1], b=[7])
    feed.commit(add("x"))
    mapping = BY_NAME | ENABLED
    first = struct(mapped("k", 1, "k"), mapped("b", 2, "b"))
    feed.commit(MAPPING, described([], first, configuration=mapping))
    feed.file("y", k=[2], b=[8])
    feed.commit(add("y"))
    moved = struct(mapped("k", 1, "k"), mapped("d", 2, "b"), mapped("b", 3, "c3"))
    feed.commit(described([], moved, configuration=mapping))
    feed.file("z", k=[1, 2], d=[7, 8], b=pa.array([None, None], pa.int64()))
    columns = struct(field("k", "long"), field("d", "long"), field("b", "long"))
    gone = [remove("x", dataChange=False), remove("y", dataChange=False)]
    off = described([], columns, configuration=ENABLED)
    feed.commit(off, *gone, add("z", dataChange=False))
    # a commit that drops mapping changes no column and no row
    table = explorer.open_table(feed.folder.root)
    newest = table.latest_version()
    kinds = {found.kind for found in schema_changes(table.snapshot(newest - 1), table.snapshot())}
    assert kinds == {"column mapping"}
    differing = look.row_differences(table.snapshot(newest - 1), table.snapshot(), ["k"])
    assert (differing.after.num_rows, differing.only_in_older) == (0, ())
    # and then one that adds a column of a name that another one had in files
    more = struct(*columns["fields"], field("e", "long"))
    feed.commit(described([], more, configuration=ENABLED))
    rows = search(feed, "k >= 1").rows.to_pylist()
    assert [(row["k"], row["d"], row["b"]) for row in rows] == [(1, 7, None), (2, 8, None)]
    assert search(feed, "d = 7").rows.num_rows == 1
    assert search(feed, "b = 7").rows.num_rows == 0


@pytest.mark.parametrize("is_dropped", [False, True])
def test_a_name_goes_on_where_one_commit_replaced_its_column(
    tmp_path: Path, is_dropped: bool
) -> None:
    first = struct(mapped("k", 1, "c1"), mapped("v", 2, "c2"))
    feed = Feed(tmp_path / "t", described([], first, configuration=BY_NAME))
    feed.commit(MAPPING)
    feed.file("a", c1=[1], c2=[7])
    feed.commit(add("a"))
    if is_dropped:
        feed.commit(described([], struct(mapped("k", 1, "c1")), configuration=BY_NAME))
    feed.commit(
        described([], struct(mapped("k", 1, "c1"), mapped("v", 3, "c3")), configuration=BY_NAME)
    )
    found = search(feed, "k = 1")
    assert found.rows.column("v").to_pylist() == [None if is_dropped else 7]
