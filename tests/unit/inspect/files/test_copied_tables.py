"""A table whose files were copied, which renews their modification times: the reference's vacuum
keeps what was removed long ago, ours does not, and both dates are said."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

import explorer.inspect as look
from explorer.cli.main import run
from explorer.table.times import utc_time
from tests.tables import Action
from tests.unit.maintenance.lake import DAY_MS, NOW_MS, Lake, ms_ago, planned, start, vacuum
from widgets.screens.reach._parts import build_foreign_row, reason_facts
from widgets.text import format_moment, format_time

NOW = utc_time(NOW_MS)
CHANGES = "_change_data/cdc.parquet"


def copied(scratch: Path, *, age_days: float, retention: str = "interval 7 days") -> Lake:
    """Two files that were removed, and changes that were made, twenty days ago, and a file that
    nobody knows; all of them were written `age_days` ago."""
    lake = Lake(scratch)
    own = {"delta.deletedFileRetentionDuration": retention}
    start(lake, lake.add("live"), lake.add("old"), lake.add("older"), configuration=own)
    change: Action = {
        "cdc": {"path": CHANGES, "partitionValues": {}, "size": 1, "dataChange": False}
    }
    gone = [lake.remove("old", age_days=20), lake.remove("older", age_days=20)]
    lake.commit(1, [*gone, change], age_days=20)
    for name in ("live", "old", "older", CHANGES, "stray.parquet", "notes.txt"):
        lake.file(name, age_days=age_days)
    return lake


def millis(time: datetime | None) -> int | None:
    return None if time is None else round(time.timestamp() * 1000)


@pytest.mark.parametrize("name", ["old", CHANGES])
def test_why_says_both_dates_of_a_file_that_a_copy_renewed(tmp_path: Path, name: str) -> None:
    lake = copied(tmp_path, age_days=1)
    found = look.why_here(lake.table, name, now=NOW)
    assert millis(found.reference_from) == ms_ago(1) + 7 * DAY_MS
    assert f"{found.reference_from:%Y-%m-%d %H:%M} UTC" in found.sentence
    assert "Delta Spark deletes it from" in found.sentence or name == CHANGES
    assert (name in planned(vacuum(lake))) == ("the next vacuum deletes it" in found.sentence)
    facts = dict(reason_facts(found))
    assert facts["Deletable from"] == format_time(found.deletable_from)
    assert facts["In Delta Spark from"] == format_time(found.reference_from)
    # the twin that was not copied
    twin = look.why_here(copied(tmp_path / "twin", age_days=21).table, name, now=NOW)
    assert "which a copy renews" not in twin.sentence
    assert twin.reference_from is not None
    assert twin.reference_from < NOW


def test_changes_are_as_old_as_their_file_in_the_reference(tmp_path: Path) -> None:
    """It does not ask for the commit: ours keeps what is young by either."""
    lake = copied(tmp_path, age_days=40, retention="interval 30 days")
    found = look.why_here(lake.table, CHANGES, now=NOW)
    assert millis(found.deletable_from) == ms_ago(20) + 30 * DAY_MS
    assert millis(found.reference_from) == ms_ago(40) + 30 * DAY_MS
    assert found.sentence.count(" UTC") == 2


def test_why_says_both_dates_of_a_file_that_nobody_knows(tmp_path: Path) -> None:
    lake = copied(tmp_path, age_days=1, retention="interval 3 days")
    found = look.why_here(lake.table, "stray.parquet", now=NOW)
    assert millis(found.deletable_from) == ms_ago(1) + 7 * DAY_MS
    assert millis(found.reference_from) == ms_ago(1) + 3 * DAY_MS
    assert f"(in Delta Spark from {found.reference_from:%Y-%m-%d %H:%M} UTC)" in found.sentence


def test_foreign_says_what_the_reference_keeps_and_until_when(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = copied(tmp_path, age_days=1)
    found = look.foreign_files(lake.table, now=NOW)
    assert found.reference_keeps == 2  # `old` and `older`: our vacuum deletes them now
    assert set(planned(vacuum(lake))) == {"old", "older"}
    assert millis(found.reference_keeps_until) == ms_ago(1) + 7 * DAY_MS
    until = f"{found.reference_keeps_until:%Y-%m-%d %H:%M} UTC"
    assert f"until {until}: its VACUUM also checks" in found.sentence
    rows = {row["path"]: row for row in found.files.to_pylist()}
    assert millis(rows["stray.parquet"]["reference_from"]) == ms_ago(1) + 7 * DAY_MS
    assert rows["notes.txt"]["deletable_from"] is None
    assert [cell.text for cell in build_foreign_row(rows["notes.txt"]).cells][3:5] == [
        "leaves it",
        f"from {format_moment(rows['notes.txt']['reference_from'])}",
    ]
    assert run(["foreign", str(lake.root), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert "reference_keeps" in document
    assert "reference_from" in document["files"][0]
    # the twin that was not copied
    twin = look.foreign_files(copied(tmp_path / "twin", age_days=21).table, now=NOW)
    assert (twin.reference_keeps, twin.reference_keeps_until) == (0, None)
    assert "which a copy renews" not in twin.sentence
