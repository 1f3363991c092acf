"""The change data feed, rule by rule (spec: Add CDC File)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
import explorer.inspect as look
from explorer.errors import (
    CancelledError,
    CorruptDataError,
    CorruptLogError,
    DeltaError,
    InvalidArgumentError,
    NotFoundError,
    UnsupportedError,
)
from explorer.progress import Cancel
from explorer.rows.changes.feed import check_labels, label_problems
from tests.change_feeds import IDS, Feed, feed_metadata, hiding
from tests.data_tables import field, mapped, struct
from tests.tables import FEATURE_PROTOCOL, add, metadata, remove


@pytest.fixture
def feed(tmp_path: Path) -> Feed:
    feed = Feed(tmp_path / "t")
    feed.file("a", id=[0, 1, 2, 3])
    feed.commit(add("a"))
    return feed


@pytest.mark.rule("cdf-exclusive", "cdf-files-pre-and-postimage", "cdf-files-preferred-by-readers")
@pytest.mark.rule("cdf-path", "cdf-path-uri-decoded")
def test_one_file_of_changes_silences_adds_and_removes(feed: Feed) -> None:
    feed.file("b", id=[0, 1, 2, 30])
    types = ["update_preimage", "update_postimage"]
    feed.file("_change_data/c%20d", id=[3, 30], _change_type=types)
    feed.commit(
        remove("a"), add("b"), {"cdc": {"path": "_change_data/c%2520d", "dataChange": False}}
    )
    assert feed.told(2) == [(2, "update_preimage", 3), (2, "update_postimage", 30)]
    assert feed.told(1, 1) == [(1, "insert", number) for number in range(4)]


@pytest.mark.rule("cdf-absent-adds-removes", "cdf-valid-rows-only", "dv-optional-on-actions")
@pytest.mark.rule("file-add-and-remove-same-path")
def test_rows_between_two_vectors_changed_and_no_others(feed: Feed) -> None:
    feed.commit(remove("a"), add("a", **hiding(0, 1)))
    feed.commit(remove("a", **hiding(0, 1)), add("a", **hiding(1, 3)))
    feed.commit(remove("a", **hiding(1, 3)), add("a"))
    feed.commit(remove("a"), add("a", tags={"x": "y"}))
    feed.commit(remove("a"))
    assert feed.told(2) == [
        (2, "delete", 0),
        (2, "delete", 1),
        (3, "delete", 3),
        (3, "insert", 0),
        (4, "insert", 1),
        (4, "insert", 3),
        *((6, "delete", number) for number in range(4)),
    ]


@pytest.mark.rule("cdf-valid-rows-only")
def test_a_file_that_goes_with_its_vector_takes_its_live_rows(feed: Feed) -> None:
    feed.commit(remove("a"), add("a", **hiding(0, 1)))
    feed.file("b", id=[9, 10])
    feed.commit(remove("a", **hiding(0, 1)), add("b", **hiding(0)))
    assert feed.told(3) == [(3, "delete", 2), (3, "delete", 3), (3, "insert", 10)]


@pytest.mark.rule("file-add-path", "file-remove-path")
def test_paths_of_one_file_are_one_file(feed: Feed) -> None:
    place = str(feed.folder.root / "far")
    feed.file("far", id=[1, 2])
    feed.commit(add(f"file:{place}"))
    feed.commit(remove(place), add(f"file://{place}", **hiding(1)))
    assert feed.told(3) == [(3, "delete", 2)]


@pytest.mark.rule("file-datachange-false", "file-datachange-tail-skip")
def test_files_only_rearranged_are_no_change(feed: Feed) -> None:
    feed.commit(remove("a", dataChange=False), add("not even there", dataChange=False))
    feed.commit({"commitInfo": {"operation": "OPTIMIZE"}})
    assert feed.told(2) == []
    assert feed.read(2).column_names == [
        "id", "_change_type", "_commit_version", "_commit_timestamp"
    ]  # fmt: skip


@pytest.mark.rule("file-remove-partitionvalues", "mapping-name-log-physical")
def test_a_remove_without_partition_values_has_those_of_its_add(tmp_path: Path) -> None:
    schema = struct(mapped("id", "long", "c1", 1), mapped("part", "string", "c2", 2))
    mode = {"delta.columnMapping.mode": "name"}
    first = feed_metadata(schema, partitionColumns=["part"], configuration=mode)
    feed = Feed(tmp_path / "t", first)
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["columnMapping", "deletionVectors"],
        "writerFeatures": ["columnMapping", "deletionVectors", "changeDataFeed"],
    }
    feed.file("a", c1=[1, 2])
    feed.commit({"protocol": protocol}, add("a", partitionValues={"c2": "x"}, **hiding(0)))
    feed.commit(remove("a", **hiding(0)))
    assert feed.told(1) == [(1, "insert", 2, "x"), (2, "delete", 2, "x")]
    feed.commit(remove("never there"))
    with pytest.raises(CorruptLogError, match="without its partition values"):
        feed.read(3)


@pytest.mark.rule("log-missing-columns", "newer-widening-convert-old")
def test_added_columns_and_wider_types_are_read_by_the_last_schema(tmp_path: Path) -> None:
    feed = Feed(tmp_path / "t", feed_metadata(struct(field("id", "integer"))))
    feed.folder.write("ignored.txt", "")
    pq.write_table(pa.table({"id": pa.array([1], pa.int32())}), feed.folder.root / "a")
    feed.commit(add("a"))
    feed.file("b", id=[2**40], more=["x"])
    feed.commit(feed_metadata(struct(field("id", "long"), field("more", "string"))), add("b"))
    assert feed.told(1) == [(1, "insert", 1, None), (2, "insert", 2**40, "x")]
    assert feed.read(1).schema.field("id").type == pa.int64()
    # by the schema of the last version asked for, not of the table's latest
    assert feed.told(1, 1) == [(1, "insert", 1)]


@pytest.mark.parametrize(
    ("after", "fields", "said"),
    [
        (struct(field("other", "long")), {}, "id dropped"),
        (struct(field("id", "string")), {}, r"id type \(long to string\)"),
        (IDS, {"partitionColumns": ["id"]}, r"partitioning \(id\)"),
    ],
)
def test_a_schema_that_would_lose_values_is_refused(
    feed: Feed, after: dict[str, Any], fields: dict[str, Any], said: str
) -> None:
    feed.commit(feed_metadata(after, **fields))
    with pytest.raises(UnsupportedError, match=said) as refusal:
        feed.read(1)
    assert refusal.value.kind == "change_feed_unavailable"
    assert "up to version 1 and from version 2 on" in refusal.value.remedy
    assert feed.told(2) == []
    assert len(feed.told(1, 1)) == 4


def test_a_renamed_column_is_refused_as_in_the_reference(tmp_path: Path) -> None:
    mode = {"delta.columnMapping.mode": "name"}
    feed = Feed(
        tmp_path / "t", feed_metadata(struct(mapped("a", "long", "c", 1)), configuration=mode)
    )
    feed.commit({"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}})
    feed.commit(feed_metadata(struct(mapped("b", "long", "c", 1)), configuration=mode))
    with pytest.raises(UnsupportedError, match=r"b renamed \(a to b\)"):
        feed.read(1)


def test_the_feed_must_be_enabled_at_every_version(tmp_path: Path) -> None:
    feed = Feed(tmp_path / "t", dict(metadata(schemaString=json.dumps(IDS))))
    feed.commit()
    feed.commit(feed_metadata())
    feed.commit()
    with pytest.raises(UnsupportedError, match="no changes at version 0") as refusal:
        feed.read(0)
    assert (refusal.value.kind, "from version 2 on" in refusal.value.remedy) == (
        "change_feed_unavailable",
        True,
    )
    assert feed.told(2) == []
    feed.commit(dict(metadata(schemaString=json.dumps(IDS))))
    with pytest.raises(UnsupportedError, match="at version 4") as refusal:
        feed.read(2)
    assert "Enable it" in refusal.value.remedy
    assert feed.told(2, 3) == []


def test_what_is_gone_is_named(feed: Feed) -> None:
    feed.commit({"cdc": {"path": "_change_data/gone", "dataChange": False}})
    feed.commit()
    with pytest.raises(NotFoundError, match="_change_data/gone") as missing:
        feed.read(2)
    assert missing.value.kind == "data_missing"
    feed.folder.checkpoint(3, [FEATURE_PROTOCOL, feed_metadata(), add("a")])
    for version in (0, 1):
        (feed.folder.log / f"{version:020}.json").unlink()
    with pytest.raises(UnsupportedError, match="versions 0 to 1") as refusal:
        feed.read(0)
    assert refusal.value.kind == "change_feed_unavailable"
    assert "from version 2 on" in refusal.value.remedy
    assert feed.told(3) == []


@pytest.mark.rule("cdf-files-change-type-column", "cdf-files-change-type-values")
@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"id": [1]}, "0 columns _change_type"),
        ({"id": [1, 2], "_change_type": ["insert", None]}, "1 row has no type"),
        ({"id": [1], "_change_type": [7]}, "_change_type"),
    ],
)
def test_a_file_of_changes_must_say_what_they_are(
    feed: Feed, columns: dict[str, Any], said: str
) -> None:
    feed.file("_change_data/c", **columns)
    feed.commit({"cdc": {"path": "_change_data/c", "dataChange": False}})
    with pytest.raises(CorruptDataError, match=said):
        feed.read(2)


@pytest.mark.rule("cdf-partitionvalues", "cdf-path", "file-add-datachange")
@pytest.mark.rule("file-remove-datachange")
@pytest.mark.parametrize(
    ("action", "said"),
    [
        ({"cdc": 7}, "`cdc` must be an object"),
        ({"cdc": {"path": None}}, "`cdc.path` must be a string"),
        ({"cdc": {"path": "x", "partitionValues": {"a": {}}}}, "`cdc.partitionValues`"),
        ({"add": {"path": "x"}}, "`add.dataChange` must be true or false"),
        ({"remove": {"path": "x", "dataChange": 1}}, "`remove.dataChange`"),
    ],
)
def test_an_action_that_cannot_be_read_is_named(feed: Feed, action: Any, said: str) -> None:
    feed.commit()
    feed.folder.checkpoint(2, [FEATURE_PROTOCOL, feed_metadata(), add("a")])
    feed.folder.write("00000000000000000002.json", json.dumps(action))
    with pytest.raises(CorruptLogError, match=r"00000000000000000002\.json:1") as refusal:
        feed.read(2, 2)
    assert said in refusal.value.reason


def test_vectors_beyond_the_file_are_refused(feed: Feed) -> None:
    feed.commit(remove("a"), add("a", **hiding(1, 99)))
    with pytest.raises(CorruptDataError, match="do not fit"):
        feed.read(2)


@pytest.mark.parametrize(
    ("versions", "error"),
    [
        ((-1,), InvalidArgumentError),
        ((True,), InvalidArgumentError),
        ((1, 0), InvalidArgumentError),
        ((0, 9), NotFoundError),
        ((9,), NotFoundError),
        (("0",), InvalidArgumentError),
    ],
)
def test_ranges_that_cannot_be_meant_are_refused(
    feed: Feed, versions: tuple[Any, ...], error: type[DeltaError]
) -> None:
    with pytest.raises(error):
        feed.read(*versions)


def test_a_limit_ends_the_reading(feed: Feed) -> None:
    feed.commit(add("not there"))
    assert feed.read(1, limit=3).column("id").to_pylist() == [0, 1, 2]
    assert feed.read(1, limit=0).num_rows == 0
    with pytest.raises(InvalidArgumentError):
        feed.read(1, limit=-1)


def test_columns_of_the_feed_may_not_be_columns_of_the_table(tmp_path: Path) -> None:
    feed = Feed(tmp_path / "t", feed_metadata(struct(field("_Change_Type", "string"))))
    with pytest.raises(UnsupportedError, match="of its own"):
        feed.read(0)


@pytest.mark.rule("cdf-reader-commit-timestamp")
def test_times_are_those_of_the_versions(feed: Feed) -> None:
    # a clock that went back counts on, as everywhere
    feed.file("b", id=[1])
    feed.commit(add("b"))
    for version, time in enumerate((5_000, 7_000, 6_000)):
        feed.folder.time(version, time)
    table = explorer.open_table(feed.folder.root)
    found = feed.read(1).column("_commit_timestamp")
    assert found.type == pa.timestamp("ms", "UTC")
    assert sorted(set(found.to_pylist())) == [
        table.snapshot(version=version).timestamp for version in (1, 2)
    ]


def test_reading_can_be_watched_and_cancelled(feed: Feed) -> None:
    seen: list[int] = []
    feed.read(0, progress=lambda step: seen.append(step.done))
    assert seen == sorted(seen)
    assert seen[-1] == 4
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(CancelledError):
        feed.read(0, cancel=cancel)


@pytest.mark.rule("cdf-files-change-type-values")
def test_a_type_of_change_that_nobody_named_is_told_as_it_stands(feed: Feed) -> None:
    feed.file("_change_data/c", id=[3, 30, 4], _change_type=["update_pre", "update_post", "insert"])
    feed.commit({"cdc": {"path": "_change_data/c", "dataChange": False}})
    expected = [(2, "update_pre", 3), (2, "update_post", 30), (2, "insert", 4)]
    assert feed.told(2) == expected
    (problem,) = label_problems(feed.read(2).column("_change_type").to_pylist())
    assert "'update_post', 'update_pre'" in problem.problem
    totals = look.change_totals(explorer.open_table(feed.folder.root), 2)
    assert totals.problems == (problem,)
    row = totals.versions.to_pylist()[0]
    assert (row["insert"], row["update_preimage"], row["other"]) == (1, 0, 2)
    assert totals.sentence == "Rows changed in version 2: 1 inserted, 2 of another type."


def test_who_must_know_the_side_of_a_row_refuses_types_that_nobody_named() -> None:
    with pytest.raises(CorruptDataError, match="update_pre"):
        check_labels(pa.array(["insert", "update_pre"]))
