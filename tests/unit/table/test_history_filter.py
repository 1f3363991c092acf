"""The history of some commits: by operation, user and time."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import explorer
import explorer.inspect as look
from explorer.cli.main import run
from explorer.errors import InvalidArgumentError
from explorer.log.commits.recorded_infos import read_recorded
from explorer.table import history as history_module
from tests.tables import PROTOCOL, LogFolder, metadata

START = datetime(2026, 11, 1, tzinfo=UTC)
OPERATIONS = ("CREATE TABLE", "WRITE", "STREAMING UPDATE", "UPDATE", "VACUUM START", "VACUUM END")
USERS = ("ana@example.com", "Anabel", "ben", None)
DAY = timedelta(days=1)

Capture = pytest.CaptureFixture[str]


def write_day(log: LogFolder, version: int, at: datetime, **extra: Any) -> None:
    """A commit of a version that its file says was made at `at`."""
    info = {"operation": OPERATIONS[version % 6], "userName": USERS[version % 4], **extra}
    begin = [PROTOCOL, metadata()] if version == 0 else []
    log.commit(version, [{"commitInfo": info}, *begin])
    log.time(version, int(at.timestamp() * 1000))


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    """Twelve commits, one a day, by operations and users in turn."""
    log = LogFolder(tmp_path / "orders")
    for version in range(12):
        write_day(log, version, START + version * DAY)
    return log


def versions(log: LogFolder, limit: int | None = None, **asked: Any) -> list[int]:
    found = explorer.open_table(log.root).history(limit, **asked)
    return list(found.column("version").to_pylist())


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, [*range(11, -1, -1)]),
        ({"operation": "update"}, [9, 3]),
        ({"operation": "streaming"}, [8, 2]),
        ({"operation": "Vacuum"}, [11, 10, 5, 4]),
        ({"operation": "vac"}, []),
        ({"operation": ["write", "CREATE TABLE"]}, [7, 6, 1, 0]),
        ({"user": "ANA"}, [9, 8, 5, 4, 1, 0]),
        ({"user": "ana@"}, [8, 4, 0]),
        ({"user": ".*"}, []),
        ({"since": "2026-11-09T00:00:00Z"}, [11, 10, 9, 8]),
        ({"since": "2026-11-09T01:00:00+01:00"}, [11, 10, 9, 8]),
        ({"since": START + 11 * DAY, "operation": "vacuum", "user": "ben"}, []),
        ({"since": START + 5 * DAY, "operation": "vacuum", "user": "anabel"}, [5]),
        ({"limit": 3, "user": "ana"}, [9, 8, 5]),
        ({"limit": 0, "user": "ana"}, []),
    ],
)
def test_commits_are_those_that_fit_everything(
    log: LogFolder, asked: dict[str, Any], found: list[int]
) -> None:
    assert versions(log, **asked) == found


def test_rows_are_those_of_the_whole_history(log: LogFolder) -> None:
    table = explorer.open_table(log.root)
    whole = table.history().to_pylist()
    some = look.history(table, operation="update", since=START)
    assert some.schema == table.history().schema
    assert some.to_pylist() == [row for row in whole if row["operation"] == "UPDATE"]


def test_older_commits_are_not_read_once_enough_is_known(
    log: LogFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_module, "_FIRST_PIECE", 2)
    read: list[int] = []
    original = read_recorded

    def watched(store: Any, asked: Any) -> Any:
        read.extend(asked)
        return original(store, asked)

    monkeypatch.setattr(history_module, "read_recorded", watched)
    assert versions(log, limit=2, operation="vacuum") == [11, 10]
    assert read == [11, 10]
    read.clear()
    assert versions(log, since=START + 9 * DAY) == [11, 10, 9]
    assert len(read) == 10
    read.clear()
    assert versions(log, user="ana") == [9, 8, 5, 4, 1, 0]
    assert len(read) == 12


def test_a_time_is_looked_for_on_both_sides_of_the_switch_to_in_commit_timestamps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files were copied, so that the older commits have later times than the newer ones."""
    monkeypatch.setattr(history_module, "_FIRST_PIECE", 1)
    log = LogFolder(tmp_path / "copied")
    for version in range(4):
        write_day(log, version, START + 30 * DAY + version * DAY)
    properties = {
        "delta.enableInCommitTimestamps": "true",
        "delta.inCommitTimestampEnablementVersion": "4",
        "delta.inCommitTimestampEnablementTimestamp": str(int(START.timestamp() * 1000)),
    }
    protocol = {
        "minReaderVersion": 1,
        "minWriterVersion": 7,
        "writerFeatures": ["inCommitTimestamp"],
    }
    for version in range(4, 7):
        at = int((START + version * DAY).timestamp() * 1000)
        enabled = [{"protocol": protocol}, metadata(configuration=properties)]
        info = {"operation": "WRITE", "inCommitTimestamp": at}
        log.commit(version, [{"commitInfo": info}, *(enabled if version == 4 else [])])
    assert versions(log, since=START + 6 * DAY) == [6, 3, 2, 1, 0]


@pytest.mark.parametrize("since", ["yesterday", "2026-11-01", "2026-11-01T00:00:00"])
def test_a_time_without_a_zone_is_refused(log: LogFolder, since: str, capsys: Capture) -> None:
    with pytest.raises(InvalidArgumentError):
        versions(log, since=since)
    assert run(["history", str(log.root), "--since", since]) == 2
    assert "Write " in capsys.readouterr().err


def test_the_command_line_takes_the_same(log: LogFolder, capsys: Capture) -> None:
    place = str(log.root)
    asked = ["--operation", "update", "--operation", "write", "--since", "2026-11-04T00:00:00Z"]
    assert run(["history", place, *asked, "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["format"], row["version"]) for row in rows] == [(1, 9), (1, 7), (1, 3)]
    assert run(["history", place, *asked]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["9", "7", "3"]
    assert "2026-11-10 00:00 UTC" in lines[1]
    assert run(["history", place, "--user", "ana", "--limit", "2"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "newest 2 matching commits; more with --limit N"
    assert run(["history", place, "--user", "nobody"]) == 0
    assert capsys.readouterr().out == "no matching commits\n"
