"""`delta-explorer actions`: the lines of one commit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from explorer.cli.main import run
from tests.tables import PROTOCOL, LogFolder, add, metadata


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    folder = LogFolder(tmp_path / "orders")
    folder.commit(0, [PROTOCOL, metadata(), add("a"), add("b", size=7)])
    return folder


def lines_of(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_each_line_is_there_as_the_log_has_it_however_long_it_is(
    folder: LogFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    text = '{"add":  {"path":"c","size":1,"stats":"%s"}}' % ("x" * 40_000)
    folder.write("00000000000000000001.json", f'{text}\n\n{{"what": 1e400}}\n[1]\n')
    assert run(["actions", str(folder.root), "1", "--json"]) == 0
    found = lines_of(capsys)
    assert [row["json"] for row in found] == [text, '{"what": 1e400}', "[1]"]
    assert [(row["format"], row["version"], row["line"]) for row in found] == [
        (1, 1, 1),
        (1, 1, 3),
        (1, 1, 4),
    ]
    assert found[0]["action"] == "add"
    assert found[2]["action"] == "unreadable"


def test_a_commit_of_many_lines_is_paged_through(
    folder: LogFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(folder.root)
    assert run(["actions", place, "0", "--json", "--from-line", "3", "--limit", "1"]) == 0
    assert [row["path"] for row in lines_of(capsys)] == ["a"]
    assert run(["actions", place, "0", "--limit", "2"]) == 0
    shown = capsys.readouterr().out
    assert "00000000000000000000.json" in shown
    assert "2 of 4 lines" in shown


@pytest.mark.parametrize(
    ("version", "reason"),
    [(3, "Of version 3 only a checkpoint is left"), (2, "was cleaned up"), (9, "newest version")],
)
def test_of_a_commit_that_is_gone_it_is_told_what_is_left(
    folder: LogFolder, capsys: pytest.CaptureFixture[str], version: int, reason: str
) -> None:
    folder.commit(4, [add("d")])
    folder.write("00000000000000000003.checkpoint.parquet", b"")
    assert run(["actions", str(folder.root), str(version), "--json"]) == 1
    error = json.loads(capsys.readouterr().err)["error"]
    assert error["kind"] == "version_not_found"
    assert reason in error["reason"]
