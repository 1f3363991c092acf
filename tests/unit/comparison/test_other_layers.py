"""Properties, protocol and statistics of a diff."""

from __future__ import annotations

from pathlib import Path

import pytest

import explorer
from explorer.comparison.versions import diff
from tests.tables import FEATURE_PROTOCOL, PROTOCOL, LogFolder, add, metadata


@pytest.mark.rule("recon-domain-tombstone")
def test_settings_are_told_with_their_kind(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "t")
    before = {"delta.appendOnly": "true", "delta.logRetentionDuration": "interval 1 day"}
    domain = {"domain": "d", "configuration": "{}", "removed": False}
    transaction = {"appId": "app", "version": 1}
    folder.commit(
        0,
        [
            FEATURE_PROTOCOL,
            metadata(name="old", configuration=before),
            {"domainMetadata": domain},
            {"txn": transaction},
        ],
    )
    after = {"delta.logRetentionDuration": "interval 2 days", "custom": ""}
    folder.commit(
        1,
        [
            metadata(description="d", configuration=after),
            {"domainMetadata": {**domain, "removed": True}},
            {"txn": {**transaction, "version": 2}},
        ],
    )
    table = explorer.open_table(folder.root)
    changes = diff(table.snapshot(version=0), table.snapshot()).properties
    assert [(change.kind, change.name, change.before, change.after) for change in changes] == [
        ("table", "description", None, "d"),
        ("table", "name", "old", None),
        ("property", "custom", None, ""),
        ("property", "delta.appendOnly", "true", None),
        ("property", "delta.logRetentionDuration", "interval 1 day", "interval 2 days"),
        ("domain", "d", "{}", None),
        ("transaction", "app", "1", "2"),
    ]


@pytest.mark.rule("feature-supported-not-active")
def test_features_are_told_apart_from_their_use(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "t")
    folder.commit(0, [PROTOCOL, metadata()])
    folder.commit(1, [FEATURE_PROTOCOL])
    enabled = {"delta.enableDeletionVectors": "true"}
    folder.commit(2, [metadata(configuration=enabled)])
    table = explorer.open_table(folder.root)
    first, second, third = (table.snapshot(version=version) for version in range(3))
    upgraded = diff(first, second).protocol
    assert (upgraded.reader_before, upgraded.reader_after) == (1, 3)
    assert (upgraded.writer_before, upgraded.writer_after) == (2, 7)
    # reader 1 and writer 2 imply the two that go, by the specification's table
    assert set(upgraded.added) == {"deletionVectors", "domainMetadata", "v2Checkpoint"}
    assert set(upgraded.removed) == {"appendOnly", "invariants"}
    used = diff(second, third).protocol
    assert (used.added, used.removed, used.activated) == ((), (), ("deletionVectors",))
    assert not used.is_empty
    assert diff(third, third).protocol.is_empty


def test_clustering_begins_and_ends_with_its_columns(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "t")
    listed = {"minReaderVersion": 1, "minWriterVersion": 7}
    features = ["clustering", "domainMetadata", "mystery"]
    folder.commit(0, [{"protocol": {**listed, "writerFeatures": features}}, metadata()])
    for version, columns in ((1, '[["id"]]'), (2, "[]")):
        domain = {"domain": "delta.clustering", "removed": False}
        configuration = f'{{"clusteringColumns":{columns}}}'
        folder.commit(version, [{"domainMetadata": {**domain, "configuration": configuration}}])
    table = explorer.open_table(folder.root)
    first, second, third = (table.snapshot(version=version) for version in range(3))
    assert diff(first, second).protocol.activated == ("clustering",)
    assert diff(second, third).protocol.deactivated == ("clustering",)


def test_a_schema_that_cannot_be_read_leaves_the_protocol(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "t")
    folder.commit(0, [PROTOCOL, metadata(schemaString="{")])
    folder.commit(1, [metadata()])
    table = explorer.open_table(folder.root)
    assert diff(table.snapshot(version=0), table.snapshot()).protocol.added == ()


def test_statistics_tell_coverage_and_ranges_of_both(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "t")
    one = '{"numRecords":2,"minValues":{"id":-5,"part":"b"},"maxValues":{"id":7,"part":"c"},'
    two = '{"numRecords":2,"minValues":{"id":1},"maxValues":{"id":12},"nullCount":{"id":1}}'
    counts = '"nullCount":{"id":0,"part":1}}'
    folder.commit(0, [PROTOCOL, metadata(), add("a", stats=one + counts), add("none")])
    folder.commit(1, [add("b", stats=two)])
    table = explorer.open_table(folder.root)
    found = diff(table.snapshot(version=0), table.snapshot()).statistics
    identifier, part = found.to_pylist()
    assert identifier == {
        "path": "id", "type_before": "long", "type_after": "long",
        "files_before": 2, "files_after": 3, "bounded_before": 1, "bounded_after": 2,
        "counted_before": 1, "counted_after": 2, "wide_before": 0, "wide_after": 0,
        "minimum_before": "-5", "minimum_after": "-5",
        "maximum_before": "7", "maximum_after": "12", "null_count_before": 0, "null_count_after": 1,
    }  # fmt: skip
    assert (part["bounded_after"], part["minimum_after"], part["null_count_after"]) == (1, "b", 1)


@pytest.mark.rule("mapping-id-log-physical")
def test_statistics_of_a_renamed_column_stay_with_it(corpus: Path) -> None:
    table = explorer.open_table(corpus / "tables" / "spark44-mapping-id-mode")
    found = diff(table.snapshot(version=1), table.snapshot()).statistics
    row = next(row for row in found.to_pylist() if row["path"] == "c")
    assert row["type_before"] == row["type_after"] == "integer"
    assert row["minimum_before"] is not None
