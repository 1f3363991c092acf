"""The rows that differ between two versions, of one table or of two."""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
import explorer.inspect as look
from explorer.cli.main import run
from explorer.errors import InvalidArgumentError
from tests.change_feeds import Feed, hiding
from tests.data_tables import field, struct
from tests.tables import add, metadata, remove

PLAIN = metadata(schemaString=json.dumps(struct(field("id", "long"), field("v", "string"))))


@pytest.fixture
def feed(tmp_path: Path) -> Feed:
    """Version 1 has ids 1 to 4; 2 changes 2, adds 5, deletes 4, and 3 rewrites all."""
    feed = Feed(tmp_path / "t", PLAIN)
    feed.file("a", id=[1, 2], v=["a", "b"])
    feed.file("b", id=[3, 4], v=["c", "d"])
    feed.file("c", id=[1, 2, 5], v=["a", "B", "e"])
    feed.file("d", id=[1, 2, 3, 5], v=["a", "B", "c", "e"])
    feed.commit(add("a"), add("b"))
    feed.commit(remove("a"), add("c"), remove("b"), add("b", **hiding(1)))
    feed.commit(remove("c"), remove("b", **hiding(1)), add("d"))
    return feed


def differences(feed: Feed, older: int, newer: int, **options: Any) -> look.RowDifferences:
    table = explorer.open_table(feed.folder.root)
    return look.row_differences(table.snapshot(older), table.snapshot(newer), **options)


def test_files_that_are_compared_already_are_not_compared_again(
    feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = explorer.open_table(feed.folder.root)
    older, newer = table.snapshot(1), table.snapshot(3)
    files = explorer.diff(older, newer).files
    expected = look.row_differences(older, newer)

    def compare(*_: Any, **__: Any) -> None:
        raise AssertionError("they were compared again")

    monkeypatch.setattr("explorer.inspect.rows.row_differences.diff", compare)
    assert look.row_differences(older, newer, files=files) == expected


def test_rows_stand_side_by_side_and_rewritten_ones_are_none(feed: Feed) -> None:
    found = differences(feed, 1, 3)
    assert found.inserted.to_pylist() == [{"id": 5, "v": "e"}]
    assert found.deleted.to_pylist() == [{"id": 4, "v": "d"}]
    assert found.before.to_pylist() == [{"id": 2, "v": "b"}]
    assert found.after.to_pylist() == [{"id": 2, "v": "B"}]
    assert found.key == ("id",)
    assert found.sentence == (
        "1 row changed, 1 row inserted, 1 row deleted. Rows are the same by id. "
        f"3 files read ({found.bytes_read} B)."
    )
    assert differences(feed, 2, 3).sentence.startswith("No row differs.")
    back = differences(feed, 3, 1)
    assert (back.inserted.num_rows, back.deleted.num_rows, back.after.num_rows) == (1, 1, 1)


def test_a_key_that_is_given_counts_and_has_to_be_there(feed: Feed) -> None:
    found = differences(feed, 1, 2, key=["v"])
    assert (found.inserted.num_rows, found.deleted.num_rows, found.key) == (2, 2, ("v",))
    with pytest.raises(InvalidArgumentError, match="is not a column of both versions"):
        differences(feed, 1, 2, key=["nope"])


def test_a_value_of_the_key_that_occurs_twice_leaves_the_others_their_rows(tmp_path: Path) -> None:
    feed = other_rows(
        tmp_path / "t",
        {"k": [1, 2, 3, 3], "status": ["a", "b", "c", "d"]},
        {"k": [1, 2, 3], "status": ["A", "B", "C"]},
    )
    found = differences(feed, 1, 2, key=["k"])
    assert found.after["k"].to_pylist() == [1, 2]
    assert (found.deleted.num_rows, found.inserted.num_rows, found.num_repeated) == (2, 1, 1)
    assert (
        "Rows are the same by k. 1 value of the key occurs more than once; these rows are not "
        "matched."
    ) in found.sentence


def test_rows_of_both_sides_count_together(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.inspect.rows.row_differences.MOST_ROWS", 8)
    assert differences(feed, 1, 3).reason is None
    monkeypatch.setattr("explorer.inspect.rows.row_differences.MOST_ROWS", 7)
    assert "there are more than 7 of them" in differences(feed, 1, 3).sentence


def test_what_is_too_much_to_read_is_told(feed: Feed) -> None:
    found = differences(feed, 1, 2, most_bytes=1)
    assert found.reason is not None
    assert "more than 1 B" in found.sentence
    assert found.inserted.num_rows == 0


def test_two_copies_are_compared_by_the_command_line(
    feed: Feed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(feed.folder.root, copy)
    (copy / "_delta_log" / f"{3:020}.json").unlink()
    place = str(feed.folder.root)
    arguments = ["diff", place, "3", "2", "--against", str(copy)]
    assert run([*arguments, "--changed-rows", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["num_inserted"], found["num_deleted"], found["num_changed"]) == (0, 0, 0)
    assert run([*arguments, "--json"]) == 0
    layers = json.loads(capsys.readouterr().out)
    assert layers["newer"]["uri"].endswith("copy")
    assert layers["files"]["num_added"] == 2
    assert "one is a copy" in layers["notes"][0]
    assert run(["diff", place, "1", "2", "--changed-rows"]) == 0
    assert "1 row changed" in capsys.readouterr().out


def described(*fields: Any) -> Any:
    return metadata(schemaString=json.dumps(struct(*fields)))


def rewritten(place: Path, later: Any, **columns: list[Any]) -> Feed:
    """Version 1 has ids 1 and 2, which version 2 rewrites with another schema."""
    feed = Feed(place, PLAIN)
    feed.file("a", id=[1, 2], v=["a", "b"])
    feed.commit(add("a"))
    feed.file("b", **columns)
    feed.commit(later, remove("a"), add("b"))
    return feed


def test_columns_of_one_version_are_said_not_to_be_compared(tmp_path: Path) -> None:
    later = described(field("id", "long"), field("w", "long"))
    found = differences(rewritten(tmp_path / "t", later, id=[1, 2], w=[5, 6]), 1, 2)
    assert (found.only_in_older, found.only_in_newer) == (("v",), ("w",))
    assert found.sentence.startswith(
        "No row differs in the columns of both versions. Not compared: v, only in the older "
        "version; w, only in the newer version. 2 files read"
    )
    other = described(field("x", "long"))
    found = differences(rewritten(tmp_path / "u", other, x=[1, 2]), 1, 2, key=["x"])
    assert found.sentence == "The rows are not shown: no column is in both versions."
    assert (found.only_in_older, found.only_in_newer) == (("id", "v"), ("x",))


def test_rows_that_are_rewritten_with_a_wider_type_are_the_same(tmp_path: Path) -> None:
    kinds = [("integer", "double"), ("date", "timestamp_ntz"), ("decimal(4,1)", "decimal(6,2)")]
    names = ["a", "b", "c"]
    before, after = (
        [
            field("id", "long"),
            *(field(name, kind[at]) for name, kind in zip(names, kinds, strict=True)),
        ]
        for at in (0, 1)
    )
    day, number = datetime(2026, 11, 1), Decimal("1.50")  # noqa: DTZ001  # of no zone
    feed = Feed(tmp_path / "t", described(*before))
    feed.file("a", id=[1, 2], a=pa.array([1, 2], pa.int32()), b=[day.date()] * 2,
              c=[Decimal("1.5")] * 2)  # fmt: skip
    feed.commit(add("a"))
    feed.file("b", id=[1, 2], a=[1.0, 2.5], b=[day] * 2, c=[number] * 2)
    feed.commit(described(*after), remove("a"), add("b"))
    found = differences(feed, 1, 2)
    assert [row["id"] for row in found.after.to_pylist()] == [2]
    assert found.before.to_pylist() == [{"id": 2, "a": 2.0, "b": day, "c": number}]
    assert differences(feed, 2, 1).after.num_rows == 1


def other_rows(place: Path, before: dict[str, list[Any]], after: dict[str, list[Any]]) -> Feed:
    """Version 1 holds some rows, 2 holds others in another file."""
    kinds = {name: type(values[0]) for name, values in before.items()}
    fields = [field(name, {int: "long", str: "string"}[kind]) for name, kind in kinds.items()]
    feed = Feed(place, metadata(schemaString=json.dumps(struct(*fields))))
    feed.file("a", **before)
    feed.file("b", **after)
    feed.commit(add("a"))
    feed.commit(remove("a"), add("b"))
    return feed


def test_unrelated_rows_are_not_told_as_one_that_changed(tmp_path: Path) -> None:
    """Few rows differ: `status` and the key of something else tell those apart by chance."""
    feed = other_rows(
        tmp_path / "t",
        {"order_id": [1, 2, 3], "customer_id": [7, 7, 8], "status": ["x", "x", "paid"]},
        {"order_id": [1, 2, 9], "customer_id": [7, 7, 8], "status": ["x", "x", "paid"]},
    )
    found = differences(feed, 1, 2)
    assert (found.inserted.num_rows, found.deleted.num_rows, found.key) == (1, 1, ("order_id",))
    feed = other_rows(
        tmp_path / "u",
        {"customer_id": [7, 8, 7], "order_id": [1, 2, 3]},
        {"customer_id": [7, 7, 8], "order_id": [1, 9, 3]},
    )
    found = differences(feed, 1, 2)
    assert (found.key, found.before["order_id"].to_pylist()) == (("order_id",), [3])
    feed = other_rows(
        tmp_path / "v", {"n": [1], "status": ["paid"]}, {"n": [2], "status": ["paid"]}
    )
    assert differences(feed, 1, 2).key == ()
