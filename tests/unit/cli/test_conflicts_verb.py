"""The verb `conflicts`, run as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from explorer.cli.main import run
from tests.tables import PROTOCOL, LogFolder, add, metadata, remove

SCHEMA = '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}'


def between(path: str, low: int, high: int) -> dict[str, Any]:
    bounds = f'"minValues":{{"id":{low}}},"maxValues":{{"id":{high}}}'
    return add(path, stats=f'{{"numRecords":9,{bounds},"nullCount":{{"id":0}}}}')


@pytest.fixture
def table(tmp_path: Path) -> str:
    folder = LogFolder(tmp_path / "table")
    folder.commit(0, [PROTOCOL, metadata(schemaString=SCHEMA), between("low", 0, 9)])
    who = {"operation": "WRITE", "userName": "ann\x1b[31m", "timestamp": 1_600_000_000_000}
    folder.commit(1, [{"commitInfo": {**who, "isBlindAppend": True}}, between("high", 50, 99)])
    folder.commit(2, [{"commitInfo": {"operation": "DELETE"}}, remove("low")])
    folder.commit(3, [{"txn": {"appId": "a", "version": 1}}])
    for version in range(4):
        folder.time(version, 1_699_999_999_999 + version)
    return str(folder.root)


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return json.loads(capsys.readouterr().out)


def test_json_tells_which_commit_which_rule_and_which_overlap(
    table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["conflicts", table, "--read-version", "0", "--json"]) == 0
    found = document(capsys)
    assert (found["format"], found["read_version"], found["newest_version"]) == (1, 0, 3)
    assert (found["isolation_level"], found["num_conflicts"]) == ("Serializable", 2)
    first, second = found["conflicts"]
    assert first == {
        "version": 1,
        "rule": "concurrent append",
        "reason": "It added files, or other deletion vectors, that this operation did not see.",
        "overlap": {"kind": "paths", "values": ["high"], "total": 1, "predicate": None},
        "isolation_level": "Serializable",
        "commit": {
            "operation": "WRITE",
            "user_name": "ann\x1b[31m",
            "engine_info": None,
            "timestamp": "2023-11-14T22:13:20.000Z",
        },
        "spec": None,
    }
    assert (second["version"], second["rule"]) == (2, "concurrent delete-read")
    assert second["overlap"]["values"] == ["low"]


@pytest.mark.parametrize(
    ("where", "rules"),
    [
        ("id > 40", ["concurrent append"]),
        ("id < 5", ["concurrent delete-read"]),
        ("id BETWEEN 20 AND 30", []),
    ],
)
def test_only_rows_that_were_read_conflict(
    table: str, where: str, rules: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["conflicts", table, "--read-version", "0", "--where", where, "--json"]) == 0
    assert [item["rule"] for item in document(capsys)["conflicts"]] == rules


def test_a_lower_level_lets_blind_appends_pass(
    table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    level = ["--isolation-level", "writeserializable", "--json"]
    assert run(["conflicts", table, "--read-version", "0", *level]) == 0
    found = document(capsys)
    assert found["isolation_level"] == "WriteSerializable"
    assert [item["version"] for item in found["conflicts"]] == [2]


def test_people_see_who_won_and_nothing_that_a_terminal_obeys(
    table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["conflicts", table, "--read-version", "0", "--limit", "1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Conflict with version 1 (WRITE): concurrent append. It added files,")
    assert "2 conflicts with the 3 commits since version 0, one for each commit and rule" in out
    assert "paths: high" in out
    assert "1 of 2 conflicts; --limit 2 shows all" in out
    assert "\x1b" not in out


def test_people_see_that_there_is_no_conflict(
    table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["conflicts", table, "--read-version", "2"]) == 0
    assert "No conflict with the 1 commit since version 2" in capsys.readouterr().out
    assert run(["conflicts", table, "--read-version", "3"]) == 0
    assert "Version 3 is the newest" in capsys.readouterr().out


@pytest.mark.parametrize(
    "wrong",
    [["--where", "id >"], ["--isolation-level", "none"]],
    ids=["predicate", "level"],
)
def test_what_cannot_be_meant_is_a_matter_of_usage(table: str, wrong: list[str]) -> None:
    assert run(["conflicts", table, "--read-version", "0", *wrong]) == 2


def test_a_version_that_is_not_there_is_told(table: str) -> None:
    assert run(["conflicts", table, "--read-version", "9"]) == 1


def test_a_commit_that_a_cleanup_took_is_told(
    table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log = Path(table) / "_delta_log"
    content = [PROTOCOL, metadata(schemaString=SCHEMA), between("low", 0, 9)]
    other = LogFolder(Path(table) / "other")
    other.checkpoint(0, content)
    other.checkpoint(3, content)
    for version in (0, 3):
        name = f"{version:020}.checkpoint.parquet"
        (other.log / name).rename(log / name)
    (log / f"{1:020}.json").unlink()
    assert run(["conflicts", table, "--read-version", "0", "--json"]) == 0
    (found,) = document(capsys)["conflicts"]
    assert (found["version"], found["rule"]) == (1, "commit gone")
