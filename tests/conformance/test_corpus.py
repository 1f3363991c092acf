"""Every table of the corpus against the figures of its manifest that need no rows."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from tests.conftest import CORPUS
from tests.corpus import READABLE, REFUSED, TABLES, shared_table, table_name

# what each refusal of the manifest is called here
_KINDS = {
    "missing metaData action": "metadata_missing",
    "missing protocol action": "protocol_missing",
    "catalog-managed table: cannot be read without its catalog": "catalog_managed",
    "unsupported reader feature catalogOwned": "unsupported_feature",
    "unsupported reader version 99": "unsupported_feature",
    "no _delta_log": "table_not_found",
    "non-contiguous versions (1 is missing)": "log_gap",
}


def _sorted(names: Any) -> list[str] | None:
    return None if names is None else sorted(names)


def test_the_corpus_is_whole(corpus: Path) -> None:
    assert len(TABLES) == 133
    assert len(REFUSED) == 9
    assert all(
        "archive" in table or (corpus / "tables" / table["name"]).is_dir() for table in TABLES
    )


@pytest.mark.rule("action-domain-reader-reconcile", "action-protocol-minreaderversion")
@pytest.mark.rule("action-protocol-minwriterversion", "action-protocol-readerfeatures")
@pytest.mark.rule("action-protocol-writerfeatures", "action-txn-latest-available", "file-add-size")
@pytest.mark.rule("log-snapshot-properties", "metadata-partitioncolumns", "newer-open-and-name")
@pytest.mark.rule("newer-vacuum-check-reader-name", "older-001-domain-reader-must-preserve")
@pytest.mark.rule("older-003-protocol-current", "stats-live-rows")
@pytest.mark.parametrize("expected", READABLE, ids=table_name)
def test_table_equals_its_manifest(expected: dict[str, Any], tmp_path: Path) -> None:
    table = explorer.open_table(shared_table(expected, tmp_path))
    snapshot = table.snapshot()

    found = {
        "min_reader": snapshot.protocol.min_reader_version,
        "min_writer": snapshot.protocol.min_writer_version,
        "reader_features": _sorted(snapshot.protocol.reader_features),
        "writer_features": _sorted(snapshot.protocol.writer_features),
        "partition_columns": list(snapshot.metadata.partition_columns),
        "latest_version": snapshot.version,
        "n_commits_present": table.history().num_rows,
        "num_active_files": snapshot.num_files,
        "num_tombstones": snapshot.num_tombstones,
        "total_bytes_active": snapshot.size_in_bytes,
        "num_rows_from_stats": snapshot.num_rows,
    }
    assert found == {
        name: _sorted(expected[name]) if name.endswith("_features") else expected[name]
        for name in found
    }
    assert table.latest_version() == expected["latest_version"]
    assert table.protocol() == snapshot.protocol
    assert table.metadata() == snapshot.metadata
    if "app_transactions" in expected:
        versions = {app: found.version for app, found in snapshot.transactions.items()}
        assert versions == expected["app_transactions"]
    if "domains" in expected:
        assert dict.fromkeys(snapshot.domains, "present") == expected["domains"]


_REPLAYED = [table for table in READABLE if "num_tombstones_full_replay" in table]


def test_some_checkpoint_dropped_tombstones_that_the_commits_have() -> None:
    assert [
        table["name"]
        for table in _REPLAYED
        if table["num_tombstones_full_replay"] > table["num_tombstones"]
    ]


@pytest.mark.parametrize("expected", _REPLAYED, ids=table_name)
def test_commits_alone_have_the_tombstones_of_the_manifest(
    expected: dict[str, Any], tmp_path: Path
) -> None:
    place = Path(shutil.copytree(shared_table(expected, tmp_path), tmp_path / "replayed"))
    checkpoints = [*place.glob("_delta_log/*.checkpoint*"), place / "_delta_log/_last_checkpoint"]
    for checkpoint in checkpoints:
        checkpoint.unlink()
    assert len(checkpoints) > 1
    snapshot = explorer.open_table(place).snapshot()
    assert snapshot.num_tombstones == expected["num_tombstones_full_replay"]
    assert snapshot.num_files == expected["num_active_files"]


@pytest.mark.rule("file-add-deletionvector", "mapping-name-log-physical")
@pytest.mark.parametrize("expected", READABLE, ids=table_name)
def test_frames_agree_with_the_figures(expected: dict[str, Any], tmp_path: Path) -> None:
    snapshot = explorer.open_table(shared_table(expected, tmp_path)).snapshot()
    files, tombstones = snapshot.files(), snapshot.tombstones()
    files.validate(full=True)
    tombstones.validate(full=True)
    assert files.num_rows == expected["num_active_files"]
    assert tombstones.num_rows == expected["num_tombstones"]
    assert snapshot.num_deletion_vectors == len(files) - files["deletion_vector"].null_count
    assert snapshot.arrow_schema.names == list(snapshot.schema.names)
    # partition values go by logical names, whatever the log calls them
    named = {key for value in files["partition_values"].to_pylist() for key, _ in value}
    assert named == set(snapshot.metadata.partition_columns) or not files.num_rows


@pytest.mark.rule("checkpoint-time-travel-not-newer", "log-apply-to-previous", "stats-live-rows")
@pytest.mark.parametrize("expected", READABLE, ids=table_name)
def test_every_version_that_is_left_equals_its_manifest(
    expected: dict[str, Any], tmp_path: Path
) -> None:
    table = explorer.open_table(shared_table(expected, tmp_path))
    for version in expected.get("history") or []:
        snapshot = table.snapshot(version=version["version"])
        assert snapshot.num_files == version["num_active_files"], version
        if None not in (version["num_rows_live"], snapshot.num_rows):
            assert snapshot.num_rows == version["num_rows_live"], version


@pytest.mark.rule("newer-commit-timestamp-before-enablement-mtime")
@pytest.mark.rule("newer-commit-timestamp-writer-feature")
@pytest.mark.parametrize(
    "expected", [table for table in READABLE if "commit_timestamps_ms" in table], ids=table_name
)
def test_commit_times_equal_the_reference(expected: dict[str, Any], tmp_path: Path) -> None:
    table = explorer.open_table(shared_table(expected, tmp_path))
    history = table.history()
    times = dict(
        zip(
            history["version"].to_pylist(),
            history["timestamp"].cast(pa.int64()).to_pylist(),
            strict=True,
        )
    )
    wanted = {int(version): time for version, time in expected["commit_timestamps_ms"].items()}
    assert times == wanted
    for version, time_ms in wanted.items():
        time = table.snapshot(version=version).timestamp
        assert time is not None
        assert round(time.timestamp() * 1000) == time_ms
        assert table.snapshot(timestamp=time).version == version


@pytest.mark.rule("action-protocol-unsupported-error", "feature-reader-all")
@pytest.mark.rule("log-versions-contiguous", "metadata-first-version", "newer-catalog-no-snapshot")
@pytest.mark.rule("recon-one-metadata", "recon-one-protocol")
@pytest.mark.parametrize("expected", REFUSED, ids=table_name)
def test_refused_table_says_why(expected: dict[str, Any]) -> None:
    place = CORPUS / "tables" / expected["name"]
    with pytest.raises(explorer.DeltaError) as refusal:
        explorer.open_table(place).snapshot()
    error = refusal.value
    assert error.kind == _KINDS[expected["error_kind"]]
    assert expected["error_kind"] in str(error)
    assert all((error.problem, error.reason, error.remedy))


@pytest.mark.rule("newer-catalog-published-shown", "newer-unknown-blocks")
@pytest.mark.parametrize(
    "expected",
    [table for table in REFUSED if "_delta_log" not in table["error_kind"]],
    ids=table_name,
)
def test_refused_table_still_shows_what_it_holds(expected: dict[str, Any]) -> None:
    table = explorer.open_table(CORPUS / "tables" / expected["name"])
    assert table.history().num_rows == expected["n_commits_present"]
    assert table.listing().commits
    if "missing protocol" not in expected["error_kind"] and expected["min_reader"] is not None:
        assert table.protocol().min_reader_version == expected["min_reader"]
        assert _sorted(table.protocol().writer_features) == _sorted(expected["writer_features"])
