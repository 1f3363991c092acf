"""The rows that one commit changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
import explorer.inspect as look
from explorer import pipeline
from explorer.errors import CancelledError, NotFoundError
from explorer.inspect.rows import commit_rows as by_commit
from explorer.inspect.rows.row_choice import fair_shares
from explorer.progress import Cancel
from tests.change_feeds import Feed
from tests.tables import add

SCHEMA = "id BIGINT, name STRING, amount DOUBLE"


def build(place: Path, **properties: str) -> str:
    uri = str(place)
    pipeline.create(
        uri, SCHEMA, properties={f"delta.{name}": on for name, on in properties.items()}
    )
    rows = {"id": range(10), "name": [f"n{at % 3}" for at in range(10)], "amount": [1.5] * 10}
    pipeline.write(pa.table({name: pa.array(list(values)) for name, values in rows.items()}), uri)
    return uri


def told(uri: str, version: int, **options: Any) -> tuple[str, list[tuple[str, int]]]:
    found = look.commit_rows(explorer.open_table(uri), version, **options)
    rows = found.rows.select(["_change_type", "id"]).to_pylist()
    return found.route, [(row["_change_type"], row["id"]) for row in rows]


def test_rows_of_added_files_were_inserted(tmp_path: Path) -> None:
    uri = build(tmp_path / "t")
    assert told(uri, 1) == ("files", [("insert", at) for at in range(10)])
    assert told(uri, 0) == ("none", [])
    found = look.commit_rows(explorer.open_table(uri), 1, 4)
    assert (found.rows.num_rows, found.is_cut, found.num_files) == (4, True, 1)


def test_rows_that_a_deletion_vector_newly_hides_were_deleted(tmp_path: Path) -> None:
    uri = build(tmp_path / "t", enableDeletionVectors="true")
    pipeline.delete(uri, "id in (3, 4)")
    pipeline.delete(uri, "id = 7")
    assert told(uri, 2) == ("files", [("delete", 3), ("delete", 4)])
    assert told(uri, 3) == ("files", [("delete", 7)])


def test_rows_that_were_copied_are_no_change(tmp_path: Path) -> None:
    uri = build(tmp_path / "t", enableDeletionVectors="false")
    pipeline.delete(uri, "id < 2")
    pipeline.update(uri, {"name": "'x'"}, "id = 5")
    assert told(uri, 2) == ("comparison", [("delete", 0), ("delete", 1)])
    assert told(uri, 3) == ("comparison", [("delete", 5), ("insert", 5)])
    assert told(uri, 3, most_compared=12) == ("too many", [])


def test_both_sides_are_shown_where_both_are_many(tmp_path: Path) -> None:
    uri = build(tmp_path / "t", enableDeletionVectors="false")
    pipeline.update(uri, {"name": "'x'"}, "id > 0")
    route, rows = told(uri, 2, limit=6)
    assert route == "comparison"
    assert [kind for kind, _ in rows] == ["delete"] * 3 + ["insert"] * 3


def test_an_update_with_change_data_stands_in_pairs(tmp_path: Path) -> None:
    uri = build(tmp_path / "t", enableChangeDataFeed="true")
    pipeline.update(uri, {"name": "'x'"}, "id > 6")
    found = look.commit_rows(explorer.open_table(uri), 2, 5)
    assert (found.route, found.is_paired, found.is_cut) == ("change data", True, True)
    rows = found.rows.select(["_change_type", "id"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        ("update_preimage", 7),
        ("update_postimage", 7),
        ("update_preimage", 8),
        ("update_postimage", 8),
    ]


def test_rows_of_columns_that_were_replaced_are_said_to_be_missing(tmp_path: Path) -> None:
    uri = build(tmp_path / "t")
    other = pa.table({"other": pa.array(["a"])})
    pipeline.write(other, uri, mode="overwrite", overwrite_schema=True)
    found = look.commit_rows(explorer.open_table(uri), 2)
    assert found.rows.column("_change_type").to_pylist() == ["insert"]
    assert [problem.kind for problem in found.problems] == ["schema_mismatch"]


def test_a_file_of_another_table_is_told_with_its_rows(tmp_path: Path) -> None:
    feed = Feed(tmp_path / "t")
    feed.file("own", id=[1])
    feed.file("foreign", x=[1, 2])
    feed.commit(add("own"), add("foreign"))
    found = look.commit_rows(explorer.open_table(feed.folder.root), 1)
    assert found.rows.column("id").to_pylist() == [1, None, None]
    (problem,) = found.problems
    assert problem.problem.startswith("1 data file has no column in common with the table")
    assert "'foreign'" in problem.reason


def test_files_that_are_gone_and_readers_that_leave_are_told(tmp_path: Path) -> None:
    uri = build(tmp_path / "t")
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(CancelledError):
        look.commit_rows(explorer.open_table(uri), 1, cancel=cancel)
    for file in Path(uri).glob("*.parquet"):
        file.unlink()
    with pytest.raises(NotFoundError, match="does not exist"):
        look.commit_rows(explorer.open_table(uri), 1)
    with pytest.raises(NotFoundError, match="not in the log"):
        look.commit_rows(explorer.open_table(uri), 9)


def test_an_update_that_moves_rows_to_another_partition_stands_in_pairs(tmp_path: Path) -> None:
    uri = str(tmp_path / "t")
    rows = pa.table({"id": list(range(6)), "name": ["a"] * 6, "part": ["x", "y", "z"] * 2})
    on = {"delta.enableChangeDataFeed": "true"}
    pipeline.write(rows, uri, partition_by=["part"], properties=on)
    pipeline.update(uri, {"part": "'moved'"}, "id < 4")
    found = look.commit_rows(explorer.open_table(uri), 1)
    assert (found.route, found.is_paired) == ("change data", True)
    told = found.rows.select(["_change_type", "id", "part"]).to_pylist()
    before, after = told[::2], told[1::2]
    assert {row["_change_type"] for row in before} == {"update_preimage"}
    assert [row["id"] for row in before] == [row["id"] for row in after]
    assert {row["part"] for row in after} == {"moved"}
    assert found.counts == {"update_preimage": 4, "update_postimage": 4}


@pytest.mark.parametrize("feed", ["true", "false"])
def test_some_of_each_kind_are_shown_and_all_are_counted(feed: str, tmp_path: Path) -> None:
    uri = build(tmp_path / "t", enableChangeDataFeed=feed)
    other = pa.table({"id": range(100, 300), "name": ["o"] * 200, "amount": [2.5] * 200})
    pipeline.write(other, uri, mode="overwrite")
    found = look.commit_rows(explorer.open_table(uri), 2, 8)
    kinds = found.rows.column("_change_type").to_pylist()
    assert (kinds.count("insert"), kinds.count("delete"), found.is_cut) == (4, 4, True)
    assert found.counts == {"insert": 200, "delete": 10}


def test_rows_of_files_are_counted_by_kind_and_some_of_each_are_shown(tmp_path: Path) -> None:
    uri = build(tmp_path / "t", enableDeletionVectors="true")
    pipeline.delete(uri, "id < 6")
    pipeline.write(pa.table({"id": range(50, 90), "name": ["o"] * 40, "amount": [2.5] * 40}), uri)
    found = look.commit_rows(explorer.open_table(uri), 3, 5)
    assert (found.counts, found.is_cut, found.rows.num_rows) == ({"insert": 40}, True, 5)


def test_rows_that_cannot_be_counted_are_shown_all_the_same(tmp_path: Path) -> None:
    feed = Feed(tmp_path / "t")
    feed.file("own", id=list(range(9)))
    feed.commit(add("own"), add("gone"))
    found = look.commit_rows(explorer.open_table(feed.folder.root), 1, 5)
    assert (found.counts, found.rows.num_rows, found.is_cut) == (None, 5, True)


@pytest.mark.parametrize(
    ("totals", "limit", "shares"),
    [
        ({"insert": 500, "delete": 2}, 10, {"insert": 8, "delete": 2}),
        ({"insert": 500, "delete": 225}, 50, {"insert": 25, "delete": 25}),
        ({"a": 9, "b": 9, "c": 9}, 2, {"a": 1, "b": 1}),
        ({"a": 3, "b": 0}, 9, {"a": 3}),
    ],
)
def test_each_kind_has_its_share(
    totals: dict[str, int], limit: int, shares: dict[str, int]
) -> None:
    assert +fair_shares(totals, limit) == shares


def test_change_data_that_is_too_much_to_be_held_is_paired_file_by_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = build(tmp_path / "t", enableChangeDataFeed="true")
    pipeline.update(uri, {"name": "'x'"}, "id > 2")
    monkeypatch.setattr(by_commit, "MOST_PAIRED", 13)  # of 14 rows
    found = look.commit_rows(explorer.open_table(uri), 2, 6)
    assert (found.is_paired, found.counts) == (
        False,
        {"update_preimage": 7, "update_postimage": 7},
    )
    kinds = found.rows.column("_change_type").to_pylist()
    assert (kinds.count("update_preimage"), kinds.count("update_postimage")) == (3, 3)
