"""The commits of a table as a table: what they record, and nothing that they do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.log.commits.commit_info import COMMITS_AT_A_TIME
from explorer.table.history import HISTORY_SCHEMA
from tests.tables import PROTOCOL, LogFolder, metadata


def _row(root: Path, info: Any) -> dict[str, Any]:
    log = LogFolder(root)
    log.commit(0, [PROTOCOL, metadata(), {"commitInfo": info}])
    history = explorer.open_table(log.root).history()
    history.validate(full=True)
    assert history.schema == HISTORY_SCHEMA
    (row,) = history.drop_columns(["timestamp"]).to_pylist()
    return dict(row)


def test_what_a_commit_records_is_shown(tmp_path: Path) -> None:
    info = {
        "timestamp": 1,
        "operation": "MERGE",
        "operationParameters": {"mode": "Append", "partitionBy": [], "n": 5, "x": {"a": None}},
        "operationMetrics": {"numFiles": "5", "rows": 12345678901234567890, "odd": None},
        "userName": "müller",
        "engineInfo": "Engine/1.0",
        "readVersion": 41,
        "isBlindAppend": False,
        "unknown": "left out",
    }
    assert _row(tmp_path / "t", info) == {
        "version": 0,
        "operation": "MERGE",
        "operation_parameters": [
            ("mode", "Append"),
            ("partitionBy", "[]"),
            ("n", "5"),
            ("x", '{"a":null}'),
        ],
        "operation_metrics": [("numFiles", "5"), ("rows", "12345678901234567890"), ("odd", None)],
        "user_name": "müller",
        "engine_info": "Engine/1.0",
        "read_version": 41,
        "is_blind_append": False,
        "is_checkpoint": False,
    }


@pytest.mark.rule("action-commitinfo-free-json")
@pytest.mark.parametrize(
    "info",
    [
        {},
        {"operation": 5, "userName": [], "engineInfo": {}, "readVersion": "1", "isBlindAppend": 0},
        {"operationParameters": [1], "operationMetrics": "x", "readVersion": True},
        {"readVersion": 2**63, "isBlindAppend": "true", "operation": None},
        {"readVersion": 1.0, "userName": True},
    ],
    ids=repr,
)
def test_what_a_commit_does_not_record_is_null(info: dict[str, Any], tmp_path: Path) -> None:
    row = _row(tmp_path / "t", info)
    assert row == dict.fromkeys(row) | {"version": 0, "is_checkpoint": False}


def test_parameters_nested_too_deep_are_null_and_spoil_no_other(tmp_path: Path) -> None:
    deep: Any = "x"
    for _ in range(400):
        deep = [deep]
    info = {"operation": "W", "operationParameters": {"deep": deep, "flat": "y"}}
    row = _row(tmp_path / "t", info)
    assert row["operation"] == "W"
    assert ("flat", "y") in row["operation_parameters"]


def test_history_ends_at_nothing_and_skips_gaps(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    table = explorer.open_table(log.root)
    assert table.history().num_rows == 0
    assert table.history().schema == HISTORY_SCHEMA
    for version in (0, 2, 3):
        log.commit(version, [PROTOCOL, metadata()])
    assert table.history()["version"].to_pylist() == [3, 2, 0]
    assert table.history(2)["version"].to_pylist() == [3, 2]
    for limit in (0, -1):
        assert table.history(limit).num_rows == 0
    assert table.history(10**9).num_rows == 3


@pytest.mark.rule("checkpoint-multipart-missing-parts")
def test_checkpoints_are_marked_if_they_are_whole(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    for version in range(4):
        log.commit(version, [PROTOCOL, metadata()])
    log.checkpoint(1, [PROTOCOL, metadata()])
    log.checkpoint(2, [PROTOCOL, metadata()], form="multi-part")[0].unlink()
    log.checkpoint(3, [PROTOCOL, metadata()], form="v2-json")
    history = explorer.open_table(log.root).history()
    assert history["is_checkpoint"].to_pylist() == [True, False, True, False]


def test_times_are_utc_milliseconds(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata()])
    log.time(0, 1_700_000_000_123)
    (time,) = explorer.open_table(log.root).history()["timestamp"]
    assert time.type == pa.timestamp("ms", "UTC")
    assert time.value == 1_700_000_000_123


def test_times_are_monotonic_over_all_that_is_shown(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    times = [5_000, 1_000, 9_000, 2_000, 2_000]
    for version, time in enumerate(times):
        # without its feature an in-commit timestamp means nothing
        info = {"commitInfo": {"inCommitTimestamp": 77} if version == 3 else {}}
        log.commit(version, [info, PROTOCOL, metadata()])
        log.time(version, time)
    table = explorer.open_table(log.root)
    shown = [time.value for time in table.history()["timestamp"]]
    assert shown == [9_002, 9_001, 9_000, 5_001, 5_000]
    shown = [time.value for time in table.history(2)["timestamp"]]
    assert shown == [2_001, 2_000]


def test_one_odd_commit_does_not_change_what_others_record(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    sound = {"operation": "W", "operationParameters": {"a": "b"}, "readVersion": 3}
    odd = {"operation": 1, "operationParameters": {"a": 1}, "readVersion": 2**63}
    for version, info in enumerate((sound, odd, {}, {"operationParameters": None}, sound)):
        log.commit(version, [{"commitInfo": info}])
    history = explorer.open_table(log.root).history()
    assert history["operation"].to_pylist() == ["W", None, None, None, "W"]
    assert history["read_version"].to_pylist() == [3, None, None, None, 3]
    parameters = history["operation_parameters"].to_pylist()
    assert parameters == [[("a", "b")], None, None, [("a", "1")], [("a", "b")]]


def test_more_commits_than_one_batch_keep_their_order(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    count = 2 * COMMITS_AT_A_TIME + 3
    for version in range(count):
        log.commit(version, [{"commitInfo": {"operation": f"W{version}"}}])
        log.time(version, 1_000 + version)
    history = explorer.open_table(log.root).history()
    history.validate(full=True)
    newest_first = range(count)[::-1]
    assert history["version"].to_pylist() == list(newest_first)
    assert history["operation"].to_pylist() == [f"W{version}" for version in newest_first]
    times = [time.value for time in history["timestamp"]]
    assert times == [1_000 + version for version in newest_first]
