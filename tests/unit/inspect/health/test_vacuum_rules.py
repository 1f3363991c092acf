"""A vacuum that began and did not end, or that claims more than the folder shows, is found; one
that did what it says is not accused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer.inspect as look
from explorer.cli.main import run
from explorer.table.times import utc_time
from tests.tables import Action
from tests.unit.maintenance.lake import DAY_MS, NOW_MS, Lake, ms_ago, start, vacuum

NOW = utc_time(NOW_MS)
NAMES = [f"f{number}.parquet" for number in range(10)]
SPARK = "Apache-Spark/4.0.0 Delta-Lake/4.0.0"


def begin(number: int, *, age_days: float, engine: str = SPARK, **fields: Any) -> Action:
    return {
        "commitInfo": {
            "timestamp": ms_ago(age_days),
            "operation": "VACUUM START",
            "operationParameters": {
                "retentionCheckEnabled": True,
                "defaultRetentionMillis": 7 * DAY_MS,
            },
            "operationMetrics": {"numFilesToDelete": str(number), "sizeOfDataToDelete": "1000"},
            "engineInfo": engine,
            **fields,
        }
    }


def end(number: int, *, age_days: float, status: str = "COMPLETED") -> Action:
    return {
        "commitInfo": {
            "timestamp": ms_ago(age_days),
            "operation": "VACUUM END",
            "operationParameters": {"status": status},
            "operationMetrics": {"numDeletedFiles": str(number), "numVacuumedDirectories": "1"},
        }
    }


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Ten files that were removed twenty days ago, and one that is live."""
    lake = Lake(tmp_path)
    start(lake, lake.add("live"), *(lake.add(name) for name in NAMES))
    lake.commit(1, [lake.remove(name, age_days=20) for name in NAMES], age_days=20)
    return lake


def findings(lake: Lake, *, files: bool = True) -> dict[str, dict[str, Any]]:
    ask = look.files_health if files else look.log_health
    return {row["finding"]: row for row in ask(lake.table, now=NOW).findings.to_pylist()}


def delete(lake: Lake, number: int) -> None:
    for name in NAMES[:number]:
        (lake.root / name).unlink()


def test_a_vacuum_that_deleted_less_than_it_says_is_found(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.commit(2, [begin(10, age_days=2)], age_days=2)
    delete(lake, 6)
    lake.commit(3, [end(10, age_days=1.9)], age_days=1.9)
    row = findings(lake)["vacuum that left files"]
    assert row["problem"] == (
        "According to version 3 a vacuum deleted 10 files, but 4 files that it had to delete are "
        "still there."
    )
    assert (row["severity"], row["repair"], row["evidence"]) == (
        "warning",
        "vacuum",
        f"{3:020}.json",
    )
    assert "vacuum that left files" not in findings(lake, files=False)
    assert run(["health", str(lake.root), "--files", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert "vacuum that left files" in [found["finding"] for found in document["findings"]]


def test_a_vacuum_that_deleted_all_of_it_is_not_accused(lake: Lake) -> None:
    lake.commit(2, [begin(10, age_days=2)], age_days=2)
    delete(lake, 10)
    lake.commit(3, [end(10, age_days=1.9)], age_days=1.9)
    assert findings(lake) == {}


def test_files_that_were_modified_lately_are_left_by_right(lake: Lake) -> None:
    """A copy renewed four of them before the vacuum, which goes by that."""
    lake.commit(2, [begin(6, age_days=2)], age_days=2)
    delete(lake, 6)
    for name in NAMES[6:]:
        lake.file(name, age_days=3)
    lake.commit(3, [end(6, age_days=1.9)], age_days=1.9)
    assert findings(lake) == {}


def test_files_that_were_modified_since_count_where_the_numbers_do_not_agree(lake: Lake) -> None:
    lake.commit(2, [begin(10, age_days=2)], age_days=2)
    delete(lake, 6)
    for name in NAMES[6:]:
        lake.file(name, age_days=0)
    lake.commit(3, [end(6, age_days=1.9)], age_days=1.9)
    assert findings(lake) == {}
    lake.commit(3, [end(10, age_days=1.9)], age_days=1.9)
    assert "4 files that it had to delete" in findings(lake)["vacuum that left files"]["problem"]


def test_what_it_did_not_have_to_delete_is_not_counted(lake: Lake) -> None:
    """Files that are live again, that were removed since, or within the retention."""
    lake.commit(2, [lake.remove("live", age_days=3), lake.add(NAMES[9])], age_days=3)
    lake.commit(3, [begin(9, age_days=2)], age_days=2)
    delete(lake, 9)
    lake.commit(4, [end(9, age_days=1.9)], age_days=1.9)
    assert findings(lake) == {}


def test_our_own_vacuum_is_not_accused(lake: Lake) -> None:
    lake.file("stray.parquet")
    lake.file("_hidden/f.parquet")
    receipt = lake.execute(vacuum(lake))
    assert receipt.status == "completed"
    assert "vacuum" not in " ".join(findings(lake))
    lake.file(NAMES[0], age_days=1)  # somebody puts one back
    assert "is still there" in findings(lake)["vacuum that left files"]["problem"]


@pytest.mark.parametrize("files", [False, True])
def test_a_vacuum_that_did_not_end_is_found(lake: Lake, *, files: bool) -> None:
    lake.commit(2, [begin(10, age_days=2)], age_days=2)
    delete(lake, 3)
    row = findings(lake, files=files)["vacuum without an end"]
    assert (row["severity"], row["repair"]) == ("warning", "vacuum")
    assert "no version records its end: 10 files to delete" in row["problem"]
    assert f"{utc_time(ms_ago(2)):%Y-%m-%d %H:%M} UTC" in row["problem"]
    # one that may be at work
    lake.commit(2, [begin(1, age_days=0.1)], age_days=0.1)
    row = findings(lake, files=files)["vacuum without an end"]
    assert (row["severity"], row["repair"]) == ("note", None)
    assert "1 file to delete" in row["problem"]


def test_a_later_vacuum_makes_it_good(lake: Lake) -> None:
    lake.commit(2, [begin(10, age_days=5)], age_days=5)
    delete(lake, 10)
    lake.commit(3, [begin(4, age_days=2)], age_days=2)
    lake.commit(4, [end(4, age_days=1.9)], age_days=1.9)
    assert findings(lake) == {}


def test_a_vacuum_that_says_that_it_failed_is_found(lake: Lake) -> None:
    lake.commit(2, [begin(10, age_days=2)], age_days=2)
    lake.commit(3, [end(0, age_days=1.9, status="FAILED")], age_days=1.9)
    row = findings(lake)["vacuum that failed"]
    assert "started in version 2 recorded in version 3 that it failed" in row["problem"]


def test_odd_numbers_of_a_vacuum_are_unknown(lake: Lake) -> None:
    fields: dict[str, Any] = {"operationMetrics": ["x"], "operationParameters": 3, "timestamp": "?"}
    lake.commit(2, [begin(1, age_days=2, **fields)], age_days=2)
    assert "vacuum without an end" in findings(lake)
    lake.commit(3, [{"commitInfo": {"operation": "VACUUM END"}}], age_days=1)
    assert findings(lake) == {}
