"""Files of change data: where they lie, what their actions say of them, what is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from explorer.errors import CorruptLogError
from tests.change_feeds import Feed, feed_metadata
from tests.data_tables import field, mapped, struct
from tests.tables import add

_FEATURES = ["rowTracking", "domainMetadata", "changeDataFeed", "columnMapping"]


def _protocol(*reader: str) -> dict[str, Any]:
    return {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": list(reader),
            "writerFeatures": _FEATURES,
        }
    }


def _cdc(path: str, **fields: Any) -> dict[str, Any]:
    return {"cdc": {"path": path, "dataChange": False, **fields}}


@pytest.mark.rule("cdf-path", "cdf-path-uri-decoded")
@pytest.mark.parametrize("form", ["{}", "file:{}", "file://{}", "file://localhost{}"])
def test_file_of_changes_may_have_an_absolute_path(form: str, tmp_path: Path) -> None:
    outside = Feed(tmp_path / "other table")
    outside.file("_change_data/x y", id=[7], _change_type=["delete"])
    place = f"{outside.folder.root}/_change_data/x y".replace(" ", "%20")
    feed = Feed(tmp_path / "t")
    feed.commit(_cdc(form.format(place)))
    assert feed.told(1) == [(1, "delete", 7)]


@pytest.mark.rule("cdf-exclusive")
def test_every_file_of_changes_of_a_version_is_read_and_nothing_else(tmp_path: Path) -> None:
    feed = Feed(tmp_path / "t")
    feed.file("a", id=[1, 2, 3])
    feed.file("_change_data/b", id=[1], _change_type=["insert"])
    feed.file("_change_data/c", id=[2, 2], _change_type=["insert", "delete"])
    feed.commit(_cdc("_change_data/b"), add("a"), _cdc("_change_data/c"))
    # the exclusion is of one version alone
    feed.file("d", id=[4])
    feed.commit(add("d"))
    assert feed.told(1) == [(1, "insert", 1), (1, "insert", 2), (1, "delete", 2), (2, "insert", 4)]


@pytest.mark.rule("cdf-partitionvalues", "mapping-name-log-physical", "mapping-name-physical")
@pytest.mark.parametrize(("value", "day"), [("2024-02-29", "2024-02-29"), ("", None), (None, None)])
def test_partition_values_of_changes_come_from_the_action(
    value: str | None, day: str | None, tmp_path: Path
) -> None:
    schema = struct(mapped("id", "long", "c1", 1), mapped("day", "date", "c2", 2))
    mode = {"delta.columnMapping.mode": "name"}
    first = feed_metadata(schema, partitionColumns=["day"], configuration=mode)
    feed = Feed(tmp_path / "t", first)
    feed.file("_change_data/c2=1999-01-01/x", c1=[1], id=[2], _change_type=["insert"])
    changes = _cdc("_change_data/c2=1999-01-01/x", partitionValues={"c2": value})
    feed.commit(_protocol("columnMapping"), changes)
    ((version, kind, number, found),) = feed.told(1)
    assert (version, kind, number) == (1, "insert", 1)
    assert (None if found is None else found.isoformat()) == day


@pytest.mark.rule("cdf-size", "cdf-tags")
@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({}, None),
        ({"size": 5, "tags": {"k": "v"}, "partitionValues": {}}, None),
        ({"size": None, "tags": None}, None),
        ({"size": "5"}, "size"),
        ({"size": 2**63}, "size"),
        ({"tags": ["k"]}, "tags"),
        ({"tags": {"k": 1}}, "tags"),
    ],
    ids=str,
)
def test_size_is_a_number_and_tags_are_texts(
    fields: dict[str, Any], wrong: str | None, tmp_path: Path
) -> None:
    feed = Feed(tmp_path / "t")
    feed.file("_change_data/x", id=[1], _change_type=["insert"])
    feed.commit(_cdc("_change_data/x", **fields))
    if wrong is None:
        assert feed.told(1) == [(1, "insert", 1)]
    else:
        with pytest.raises(CorruptLogError, match=rf"`cdc\.{wrong}` must be"):
            feed.read(1)


@pytest.mark.rule("row-not-from-cdc", "row-materialized-id-hidden")
def test_row_ids_that_stand_in_a_file_of_changes_are_not_told(tmp_path: Path) -> None:
    names = {
        "delta.enableRowTracking": "true",
        "delta.rowTracking.materializedRowIdColumnName": "_id",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "_version",
    }
    feed = Feed(tmp_path / "t", feed_metadata(configuration=names))
    feed.file("_change_data/x", id=[1], _id=[5], _version=[0], _change_type=["update_postimage"])
    feed.commit(_protocol(), _cdc("_change_data/x"))
    assert feed.read(1).column_names == [
        "id", "_change_type", "_commit_version", "_commit_timestamp"
    ]  # fmt: skip


@pytest.mark.rule("cdf-reader-commit-timestamp", "cdf-reader-commit-version")
def test_version_and_time_are_those_of_the_file_of_the_commit(tmp_path: Path) -> None:
    feed = Feed(tmp_path / "t", feed_metadata(struct(field("id", "long"))))
    feed.file("_change_data/x", id=[1], _change_type=["insert"])
    feed.file("a", id=[2])
    # what a commit says of its own time does not count without in-commit timestamps
    feed.commit({"commitInfo": {"timestamp": 5, "inCommitTimestamp": 6}}, _cdc("_change_data/x"))
    feed.commit({"commitInfo": {"timestamp": 7}}, add("a"))
    times = [1_700_000_000_000, 1_700_000_001_500, 1_800_000_000_000]
    for version, time in enumerate(times):
        feed.folder.time(version, time)
    changes = feed.read(0)
    assert changes.schema.field("_commit_version").type == pa.int64()
    assert pa.types.is_timestamp(changes.schema.field("_commit_timestamp").type)
    assert changes.column("_commit_version").to_pylist() == [1, 2]
    assert changes.column("_commit_timestamp").cast(pa.int64()).to_pylist() == times[1:]
