"""Where the retention that a table asks for cannot be read, nobody is told by when a file may go:
neither the default nor seven days are what the table asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

import explorer.inspect as look
from explorer.table.times import utc_time
from tests.tables import FEATURE_PROTOCOL, add, metadata
from tests.unit.maintenance.lake import NOW_MS, Lake, start

NOW = utc_time(NOW_MS)
_FILES = "delta.deletedFileRetentionDuration"
_LOG = "delta.logRetentionDuration"
_CLEANUP = "delta.enableExpiredLogCleanup"
_CHANGES = "_change_data/cdc.parquet"
_UNREAD = f"is unknown: {_FILES} is `interval 3 months`, which cannot be read."


def lake_of(scratch: Path, text: str) -> Lake:
    """A file of every kind, each older than the default retention."""
    lake = Lake(scratch)
    own = {_FILES: text, "delta.enableChangeDataFeed": "true"}
    start(lake, lake.add("live"), lake.add("gone"), configuration=own)
    change = {"path": lake.file(_CHANGES), "partitionValues": {}, "size": 100, "dataChange": False}
    lake.commit(1, [lake.remove("gone", age_days=20), {"cdc": change}], age_days=20)
    lake.file("stray.parquet")
    lake.file("notes.txt")
    return lake


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("gone", "removed data file, retention unknown"),
        (_CHANGES, "change data, retention unknown"),
        ("stray.parquet", "orphaned file"),
        ("notes.txt", "foreign"),
    ],
)
def test_no_file_is_said_to_go_at_a_time(tmp_path: Path, file: str, kind: str) -> None:
    found = look.why_here(lake_of(tmp_path, "interval 3 months").table, file, now=NOW)
    assert found.kind == kind
    assert _UNREAD in found.sentence
    assert (found.deletable_from, found.reference_from) == (None, None)
    # the twin whose retention can be read
    twin = look.why_here(lake_of(tmp_path / "twin", "interval 9 days").table, file, now=NOW)
    assert "is unknown" not in twin.sentence
    assert twin.reference_from is not None


def test_a_live_file_needs_no_retention(tmp_path: Path) -> None:
    found = look.why_here(lake_of(tmp_path, "90").table, "live", now=NOW)
    assert (found.kind, found.deletable_from) == ("live data file", None)
    assert "is unknown" not in found.sentence


def test_nothing_of_the_folder_may_be_deleted(tmp_path: Path) -> None:
    found = look.foreign_files(lake_of(tmp_path, "interval 3 months").table, now=NOW)
    files = {row["path"]: row for row in found.files.to_pylist()}
    assert set(files) == {"stray.parquet", "notes.txt"}
    for row in files.values():
        assert not row["vacuum_deletes"]
        assert not row["reference_deletes"]
        assert row["deletable_from"] is None
    assert "cannot be read" in files["stray.parquet"]["reason"]
    sizes = {row["part"]: row["num_files"] for row in found.sizes.to_pylist()}
    assert (sizes["kept"], sizes["change data"], sizes["deletable"]) == (1, 1, 0)
    assert _UNREAD in found.sentence
    twin = look.foreign_files(lake_of(tmp_path / "twin", "interval 9 days").table, now=NOW)
    sizes = {row["part"]: row["num_files"] for row in twin.sizes.to_pylist()}
    assert (sizes["kept"], sizes["change data"], sizes["deletable"]) == (0, 0, 2)
    assert "is unknown" not in twin.sentence


def test_reach_does_not_give_the_default_as_what_the_table_asks_for(tmp_path: Path) -> None:
    found = look.reach_by_log(lake_of(tmp_path, "interval 3 months").table, now=NOW)
    window = found.windows.to_pylist()[0]
    assert "cannot be read" in window["source"]
    assert window["meaning"].startswith(f"{_FILES} is `interval 3 months`, which cannot be read")
    assert f"How long removed files are kept is unknown: {_FILES} cannot be read." in found.sentence
    assert found.versions.column("spark_refuses").null_count == found.versions.num_rows


@pytest.mark.parametrize(("name", "text"), [(_LOG, "interval 1 year"), (_CLEANUP, "no")])
def test_no_file_of_the_log_is_said_to_be_past_its_retention(
    tmp_path: Path, name: str, text: str
) -> None:
    def problems(own: dict[str, str], scratch: Path) -> tuple[list[str], str]:
        lake = Lake(scratch)
        first = [FEATURE_PROTOCOL, metadata(configuration=own)]
        for version, age in enumerate((60, 50, 45, 40, 5)):
            begun = first if version == 0 else []
            lake.commit(version, [*begun, lake.add(f"{version}.parquet")], age_days=age)
        for version in (2, 4):
            files = (add(f"{number}.parquet") for number in range(version + 1))
            lake.log.checkpoint(version, [*first, *files])
        findings = look.log_health(lake.table, now=NOW).findings.to_pylist()
        why = look.why_here(lake.table, "_delta_log/00000000000000000000.json", now=NOW)
        return [row["finding"] for row in findings], why.sentence

    found, sentence = problems({name: text}, tmp_path)
    assert "expired log files" not in found
    assert f"is unknown: {name} is `{text}`, which cannot be read" in sentence
    twin, sentence = problems({}, tmp_path / "twin")
    assert "expired log files" in twin
    assert "is unknown" not in sentence


def test_versions_are_not_said_to_go_with_the_next_vacuum(tmp_path: Path) -> None:
    """Vacuum is blocked here then, and other engines fail or take the default."""
    found = look.reach_by_files(lake_of(tmp_path, "interval 3 months").table, now=NOW)
    assert "version 0 may stay only until the next vacuum" in found.sentence
    twin = look.reach_by_files(lake_of(tmp_path / "twin", "interval 9 days").table, now=NOW)
    assert "version 0 stays only until the next vacuum" in twin.sentence
