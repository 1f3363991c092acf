"""Rows that differ between two versions, against a model that holds all rows of both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import pipeline
from explorer.errors import CorruptDataError, InvalidArgumentError, UnsupportedError
from explorer.table.snapshot import Snapshot
from tests.change_feeds import Feed, feed_metadata, hiding
from tests.corpus import READABLE, place_table, table_name
from tests.data_tables import field, map_of, mapped, struct
from tests.row_values import counted_rows, plain_value
from tests.tables import add, remove

_MANY_ROWS = 20_000


def _has_two(table: dict[str, Any]) -> bool:
    counts = [version["num_rows_live"] for version in table.get("history") or []]
    known = [count for count in counts if count is not None]
    return len(known) > 1 and max(known) < _MANY_ROWS and "archive" not in table


_WITH_TWO = [table for table in READABLE if _has_two(table) and table.get("data_files") != "absent"]


def net_of(older: Snapshot, newer: Snapshot) -> int:
    return explorer.read_rows(newer).num_rows - explorer.read_rows(older).num_rows


def by_rows(older: Snapshot, newer: Snapshot) -> tuple[int, int]:
    """The model: what is in one multiset of rows and not in the other."""
    left, right = counted_rows(explorer.read_rows(older)), counted_rows(explorer.read_rows(newer))
    return (right - left).total(), (left - right).total()


def by_ids(snapshot: Snapshot) -> dict[int, Any]:
    """Rows by their ids."""
    rows = explorer.read_rows(snapshot, metadata_columns=["_row_id"])
    values = rows.drop_columns(["_row_id"]).to_pylist()
    return dict(zip(rows["_row_id"].to_pylist(), map(plain_value, values), strict=True))


@pytest.mark.sampled(one_in=6)
@pytest.mark.parametrize("expected", _WITH_TWO, ids=table_name)
def test_counts_between_first_and_last_version_equal_the_model(
    spark: SparkSession, expected: dict[str, Any], tmp_path: Path
) -> None:
    table = explorer.open_table(place_table(expected, tmp_path))
    known = [v["version"] for v in expected["history"] if v["num_rows_live"] is not None]
    older, newer = table.snapshot(version=known[0]), table.snapshot(version=known[-1])
    try:
        found = pipeline.diff_rows(older, newer, spark=spark)
    except UnsupportedError as error:
        assert "changed its" in error.problem  # noqa: PT017  # a schema that cannot serve both
        assert older.arrow_schema != newer.arrow_schema
        return
    assert found.inserted - found.deleted == net_of(older, newer)
    if found.method == "row ids":
        before, after = by_ids(older), by_ids(newer)
        both = before.keys() & after.keys()
        assert found.inserted == len(after.keys() - both)
        assert found.updated == sum(before[key] != after[key] for key in both)
    elif older.schema == newer.schema:
        assert (found.inserted, found.deleted) == by_rows(older, newer)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> explorer.Table:
    """Version 1 inserts, 2 hides two rows, 3 rewrites the file with one row updated, one
    deleted and one inserted, 4 brings a hidden row back."""
    schema = struct(
        field("id", "long"), field("name", "string"), field("tags", map_of("string", "long"))
    )
    feed = Feed(tmp_path_factory.mktemp("diff") / "t", feed_metadata(schema))
    feed.file("a", id=[0, 1, 2, 3], name=["a", "b", "c", None])
    feed.file("b", id=[10, 11], name=["x", "y"])
    feed.commit(add("a"), add("b"))
    feed.commit(remove("a"), add("a", **hiding(1, 2)))
    feed.file("c", id=[10, 12], name=["X", "z"])
    feed.commit(remove("b"), add("c"))
    feed.commit(remove("a", **hiding(1, 2)), add("a", **hiding(2)))
    return explorer.open_table(feed.folder.root)


def counts(found: pipeline.RowDiff) -> tuple[int, int, int | None, int]:
    return found.inserted, found.deleted, found.updated, found.moved


@pytest.mark.parametrize(
    ("versions", "keys", "wanted", "files"),
    [
        ((1, 2), None, (0, 2, None, 0), 1),
        ((2, 1), None, (2, 0, None, 0), 1),
        ((2, 3), ["id"], (1, 1, 1, 0), 2),
        ((2, 3), None, (2, 2, None, 0), 2),
        ((2, 3), ["id", "name"], (2, 2, 0, 0), 2),
        ((3, 4), None, (1, 0, None, 0), 1),
        ((1, 4), ["id"], (1, 2, 1, 0), 3),
        ((0, 4), ["id"], (5, 0, 0, 0), 2),
        ((4, 4), None, (0, 0, None, 0), 0),
    ],
)
def test_rows_are_told_apart_by_keys_or_by_all_of_their_values(
    spark: SparkSession,
    history: explorer.Table,
    versions: tuple[int, int],
    keys: list[str] | None,
    wanted: tuple[int, int, int | None, int],
    files: int,
) -> None:
    sides = (history.snapshot(version=version) for version in versions)
    found = pipeline.diff_rows(*sides, keys=keys, spark=spark)
    assert counts(found) == wanted
    assert found.num_files == files
    assert found.method == ("keys" if keys else "rows")


def test_samples_show_the_rows_that_were_counted(
    spark: SparkSession, history: explorer.Table
) -> None:
    sides = [history.snapshot(version=version) for version in (2, 3)]
    found = pipeline.diff_rows(*sides, keys=["id"], spark=spark)
    (updated,) = found.sample("updated").to_pylist()
    assert (updated["before"]["name"], updated["after"]["name"]) == ("x", "X")
    assert found.sample("inserted").to_pylist() == [{"id": 12, "name": "z", "tags": None}]
    assert found.sample("deleted")["id"].to_pylist() == [11]
    whole = pipeline.diff_rows(*sides, spark=spark)
    assert whole.sample("inserted", 1).num_rows == 1
    assert set(whole.frame("inserted").columns) == {"id", "name", "tags", "_copies"}
    with pytest.raises(InvalidArgumentError, match="keys"):
        whole.frame("updated")


def test_rows_that_only_moved_are_no_difference(spark: SparkSession, tmp_path: Path) -> None:
    feed = Feed(tmp_path / "t")
    feed.file("a", id=[1, 2])
    feed.file("b", id=[3, 3])
    feed.commit(add("a"), add("b"))
    feed.file("c", id=[3, 2, 1, 3])
    feed.commit(remove("a"), remove("b"), add("c"))
    table = explorer.open_table(feed.folder.root)
    found = pipeline.diff_rows(table.snapshot(version=1), table.snapshot(), spark=spark)
    assert counts(found) == (0, 0, None, 4)


def test_only_files_that_differ_are_read(spark: SparkSession, tmp_path: Path) -> None:
    feed = Feed(tmp_path / "t")
    feed.file("b", id=[3])
    feed.commit(add("never-written"))
    feed.commit(add("b"))
    table = explorer.open_table(feed.folder.root)
    found = pipeline.diff_rows(table.snapshot(version=1), table.snapshot(), spark=spark)
    assert counts(found) == (1, 0, None, 0)


def test_no_session_is_needed_where_no_file_differs(history: explorer.Table) -> None:
    snapshot = history.snapshot()
    found = pipeline.diff_rows(snapshot, snapshot, spark=None)
    assert counts(found) == (0, 0, None, 0)
    with pytest.raises(InvalidArgumentError, match="No row differs"):
        found.sample("inserted")


def test_keys_that_do_not_tell_rows_apart_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    feed = Feed(tmp_path / "t")
    feed.file("a", id=[1, 1])
    feed.commit(add("a"))
    table = explorer.open_table(feed.folder.root)
    older, newer = table.snapshot(version=0), table.snapshot()
    with pytest.raises(InvalidArgumentError, match="more than once"):
        pipeline.diff_rows(older, newer, keys=["id"], spark=spark)
    for keys in ([], "id", ["nothing"]):
        with pytest.raises(InvalidArgumentError):
            pipeline.diff_rows(older, newer, keys=keys, spark=spark)


def test_nulls_nans_and_maps_are_values_like_others(spark: SparkSession, tmp_path: Path) -> None:
    schema = struct(field("f", "double"), field("m", map_of("string", "long")))
    feed = Feed(tmp_path / "t", feed_metadata(schema))
    kind = pa.map_(pa.string(), pa.int64())
    first = pa.array([[("a", 1), ("b", 2)], None, [("a", 1)]], kind)
    second = pa.array([[("b", 2), ("a", 1)], None, [("a", 2)]], kind)
    feed.file("a", f=[float("nan"), None, 0.0], m=first)  # type: ignore[arg-type]  # an array too
    feed.commit(add("a"))
    feed.file("b", f=[float("nan"), None, -0.0], m=second)  # type: ignore[arg-type]  # as above
    feed.commit(remove("a"), add("b"))
    table = explorer.open_table(feed.folder.root)
    found = pipeline.diff_rows(table.snapshot(version=1), table.snapshot(), spark=spark)
    assert counts(found) == (1, 1, None, 2)


def test_two_tables_and_schemas_that_cannot_serve_both_are_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed = Feed(tmp_path / "t")
    feed.commit(feed_metadata(struct(field("id", "string"))))
    other = Feed(tmp_path / "other")
    table = explorer.open_table(feed.folder.root)
    older, newer = table.snapshot(version=0), table.snapshot()
    with pytest.raises(UnsupportedError, match="changed its type"):
        pipeline.diff_rows(older, newer, spark=spark)
    with pytest.raises(InvalidArgumentError, match="two tables"):
        pipeline.diff_rows(older, explorer.open_table(other.folder.root).snapshot(), spark=spark)


def test_files_are_judged_by_the_columns_of_their_own_version(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Where all columns were replaced, files of the older version have none of the newer's."""
    feed = Feed(tmp_path / "t")
    feed.file("old", id=[1, 2])
    feed.commit(add("old"))
    feed.file("new", other=[3])
    feed.commit(feed_metadata(struct(field("other", "long"))), remove("old"), add("new"))
    feed.file("foreign", x=[4])
    feed.commit(add("foreign"))
    table = explorer.open_table(feed.folder.root)
    old, new, foreign = (table.snapshot(version=version) for version in (1, 2, 3))
    assert counts(pipeline.diff_rows(old, new, spark=spark))[:2] == (1, 2)
    for older, newer in ((old, foreign), (foreign, old)):
        with pytest.raises(CorruptDataError, match="foreign of version 3 has no column in common"):
            pipeline.diff_rows(older, newer, spark=spark)


def test_values_are_those_of_the_column_where_mapping_ended_between_the_versions(
    spark: SparkSession, tmp_path: Path
) -> None:
    """`v` is called `p` in files until they are written anew without mapping, when there is
    another column `p`."""
    mapped_to = struct(mapped("id", "long", "id", 1), mapped("v", "long", "p", 2))
    configuration = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
    feed = Feed(tmp_path / "t")
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["columnMapping"],
        "writerFeatures": ["columnMapping", "changeDataFeed"],
    }
    feed.commit({"protocol": protocol}, feed_metadata(mapped_to, configuration=configuration))
    feed.file("old", id=[1, 2], p=[7, 8])
    feed.commit(add("old"))
    feed.file("new", id=[1, 2], v=[7, 80], p=[None, 5])
    plain = struct(field("id", "long"), field("v", "long"), field("p", "long"))
    feed.commit(feed_metadata(plain), remove("old"), add("new"))
    table = explorer.open_table(feed.folder.root)
    found = pipeline.diff_rows(table.snapshot(version=2), table.snapshot(), ["id"], spark=spark)
    assert (found.inserted, found.deleted, found.updated, found.moved) == (0, 0, 1, 1)


def test_a_lost_file_is_one_clear_error(spark: SparkSession, tmp_path: Path) -> None:
    feed = Feed(tmp_path / "t")
    feed.commit(add("gone"))
    table = explorer.open_table(feed.folder.root)
    with pytest.raises(explorer.DeltaError, match="gone of version 1"):
        pipeline.diff_rows(table.snapshot(version=0), table.snapshot(), spark=spark)


def cdc(path: str) -> dict[str, Any]:
    return {"cdc": {"path": path, "partitionValues": {}, "size": 10, "dataChange": False}}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> explorer.Table:
    """Version 2 updates row 7, 3 updates it again, deletes row 8, inserts 200, and 4 deletes
    that again: each by a file written anew and a small one of change data. 5 only moves."""
    schema = struct(field("id", "long"), field("name", "string"))
    feed = Feed(tmp_path_factory.mktemp("recorded") / "t", feed_metadata(schema))
    rows: dict[int, str] = dict.fromkeys(range(200), "as it was")

    def write(path: str) -> dict[str, Any]:
        feed.file(path, id=list(rows), name=list(rows.values()))
        return add(path, size=5_000)

    def change(path: str, *changes: tuple[str, int, str]) -> dict[str, Any]:
        kinds, ids, names = (list(column) for column in zip(*changes, strict=True))
        feed.file(f"_change_data/{path}", id=ids, name=names, _change_type=kinds)
        return cdc(f"_change_data/{path}")

    feed.commit(write("1"))
    rows[7] = "first"
    pre, post = "update_preimage", "update_postimage"
    changes = change("2", (pre, 7, "as it was"), (post, 7, "first"))
    feed.commit(remove("1"), write("2"), changes)
    rows |= {7: "second", 200: "new"}
    del rows[8]
    told = ((pre, 7, "first"), (post, 7, "second"), ("delete", 8, "as it was"))
    feed.commit(remove("2"), write("3"), change("3", *told, ("insert", 200, "new")))
    del rows[200]
    feed.commit(remove("3"), write("4"), change("4", ("delete", 200, "new")))
    feed.commit(remove("4", dataChange=False), add("5", size=5_000, dataChange=False))
    write("5")
    return explorer.open_table(feed.folder.root)


@pytest.mark.parametrize(
    ("versions", "keys", "wanted"),
    [
        ((1, 5), None, (1, 2, None, 0)),
        ((1, 5), ["id"], (0, 1, 1, 0)),
        ((2, 3), ["id"], (1, 1, 1, 0)),
        ((3, 5), ["id"], (0, 1, 0, 0)),
        ((4, 5), ["id"], (0, 0, 0, 0)),
    ],
)
def test_change_data_is_read_where_it_is_far_less_than_the_files(
    spark: SparkSession,
    recorded: explorer.Table,
    versions: tuple[int, int],
    keys: list[str] | None,
    wanted: tuple[int, int, int | None, int],
) -> None:
    older, newer = (recorded.snapshot(version=version) for version in versions)
    found = pipeline.diff_rows(older, newer, keys=keys, spark=spark)
    assert (found.source, counts(found)) == ("change data", wanted)
    assert (found.inserted, found.deleted) == (wanted[0], wanted[1])
    # the other way round no feed leads, and the files must tell the same
    back = pipeline.diff_rows(newer, older, keys=keys, spark=spark)
    assert back.source == "files"
    assert counts(back)[:3] == (wanted[1], wanted[0], wanted[2])


def test_change_data_shows_rows_as_the_two_versions_have_them(
    spark: SparkSession, recorded: explorer.Table
) -> None:
    sides = [recorded.snapshot(version=version) for version in (1, 5)]
    found = pipeline.diff_rows(*sides, keys=["id"], spark=spark)
    (updated,) = found.sample("updated").to_pylist()
    assert (updated["before"]["name"], updated["after"]["name"]) == ("as it was", "second")
    assert found.sample("deleted").to_pylist() == [{"id": 8, "name": "as it was"}]


def test_without_the_feed_at_one_commit_the_files_are_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed = Feed(tmp_path / "t")
    feed.file("a", id=[1, 2])
    feed.commit(add("a", size=5_000))
    feed.commit(feed_metadata(configuration={"delta.enableChangeDataFeed": "false"}))
    feed.file("b", id=[1])
    feed.commit(remove("a"), add("b", size=5_000))
    table = explorer.open_table(feed.folder.root)
    found = pipeline.diff_rows(table.snapshot(version=1), table.snapshot(), spark=spark)
    assert (found.source, counts(found)) == ("files", (0, 1, None, 1))
