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
