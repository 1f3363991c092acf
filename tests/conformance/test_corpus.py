"""Every table of the corpus against the figures of its manifest that need no rows."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest

import explorer
from tests.conftest import CORPUS

_MANIFEST = CORPUS / "manifest.json"
_TABLES: list[dict[str, Any]] = json.loads(_MANIFEST.read_text()) if _MANIFEST.is_file() else []
_READABLE = [table for table in _TABLES if table["expect"] == "ok"]
_REFUSED = [table for table in _TABLES if table["expect"] == "error"]

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


def _name(table: dict[str, Any]) -> str:
    return str(table["name"])


def _place(table: dict[str, Any], scratch: Path) -> Path:
    """Where the table lies; a copy where the manifest asks for one."""
    if "archive" in table:
        with (
            pa.CompressedInputStream(pa.OSFile(str(CORPUS / table["archive"])), "zstd") as stream,
            tarfile.open(fileobj=stream, mode="r|") as archive,
        ):
            archive.extractall(scratch, filter="data")
        return next(scratch.rglob("_delta_log")).parent
    place = CORPUS / "tables" / table["name"]
    if "template" not in table and "commit_timestamps_ms" not in table:
        return place
    copy = Path(shutil.copytree(place, scratch / table["name"]))
    if "template" in table:
        file = copy / table["template"]["file"]
        folder = quote(str(copy / "folder&with%special char"))
        file.write_text(file.read_text().replace(table["template"]["placeholder"], folder))
    for version, time_ms in table.get("commit_timestamps_ms", {}).items():
        os.utime(copy / f"_delta_log/{int(version):020}.json", (time_ms / 1000, time_ms / 1000))
    return copy


def _sorted(names: Any) -> list[str] | None:
    return None if names is None else sorted(names)


def test_the_corpus_is_whole(corpus: Path) -> None:
    assert len(_TABLES) == 133
    assert len(_REFUSED) == 9
    assert all(
        "archive" in table or (corpus / "tables" / table["name"]).is_dir() for table in _TABLES
    )


@pytest.mark.parametrize("expected", _READABLE, ids=_name)
def test_table_equals_its_manifest(expected: dict[str, Any], tmp_path: Path) -> None:
    table = explorer.open_table(_place(expected, tmp_path))
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


@pytest.mark.parametrize("expected", _READABLE, ids=_name)
def test_frames_agree_with_the_figures(expected: dict[str, Any], tmp_path: Path) -> None:
    snapshot = explorer.open_table(_place(expected, tmp_path)).snapshot()
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


@pytest.mark.parametrize("expected", _READABLE, ids=_name)
def test_every_version_that_is_left_equals_its_manifest(
    expected: dict[str, Any], tmp_path: Path
) -> None:
    table = explorer.open_table(_place(expected, tmp_path))
    for version in expected.get("history") or []:
        snapshot = table.snapshot(version=version["version"])
        assert snapshot.num_files == version["num_active_files"], version
        if None not in (version["num_rows_live"], snapshot.num_rows):
            assert snapshot.num_rows == version["num_rows_live"], version


@pytest.mark.parametrize(
    "expected", [table for table in _READABLE if "commit_timestamps_ms" in table], ids=_name
)
def test_commit_times_equal_the_reference(expected: dict[str, Any], tmp_path: Path) -> None:
    table = explorer.open_table(_place(expected, tmp_path))
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


@pytest.mark.parametrize("expected", _REFUSED, ids=_name)
def test_refused_table_says_why(expected: dict[str, Any]) -> None:
    place = CORPUS / "tables" / expected["name"]
    with pytest.raises(explorer.DeltaError) as refusal:
        explorer.open_table(place).snapshot()
    error = refusal.value
    assert error.kind == _KINDS[expected["error_kind"]]
    assert expected["error_kind"] in str(error)
    assert all((error.problem, error.reason, error.remedy))


@pytest.mark.parametrize(
    "expected", [table for table in _REFUSED if "_delta_log" not in table["error_kind"]], ids=_name
)
def test_refused_table_still_shows_what_it_holds(expected: dict[str, Any]) -> None:
    table = explorer.open_table(CORPUS / "tables" / expected["name"])
    assert table.history().num_rows == expected["n_commits_present"]
    assert table.listing().commits
    if "missing protocol" not in expected["error_kind"] and expected["min_reader"] is not None:
        assert table.protocol().min_reader_version == expected["min_reader"]
        assert _sorted(table.protocol().writer_features) == _sorted(expected["writer_features"])
