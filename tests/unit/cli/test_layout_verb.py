"""The verb `layout`, run as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from explorer.cli.main import run
from tests.tables import FEATURE_PROTOCOL, LogFolder, add, metadata, remove

EVIL = "\x1b]0;owned\x07[red]m[/red]\n\u202e:boom:"


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    folder = LogFolder(tmp_path / "table")
    files = [
        add(f"{part}{at}", size=2**20, partitionValues={"part": part})
        for part in ("a", EVIL)
        for at in range(3)
    ]
    folder.commit(0, [FEATURE_PROTOCOL, metadata(partitionColumns=["part"]), *files])
    folder.commit(1, [add("b", size=2**21, partitionValues={"part": "b"})])
    return folder


def test_json_is_one_document(folder: LogFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["layout", str(folder.root), "--target", "8mb", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["format"], document["target"], document["num_files"]) == (1, 2**23, 7)
    assert [row["files_saved"] for row in document["partitions"]] == [2, 2, 0]
    assert document["partitions"][0]["partition"] == {"part": "a"}
    assert document["optimize"] == []
    assert [row["column"] for row in document["columns"]] == ["id"]


def test_a_version_is_looked_at(folder: LogFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["layout", str(folder.root), "--version", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["num_files"] == 6


def test_people_get_the_sentence_first_and_nothing_that_drives_the_terminal(
    folder: LogFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["layout", str(folder.root)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("7 of 7 files are below the target of 1.0 GiB")
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize(
    "arguments", [["--target", "soon"], ["--column", "nobody"], ["--target", "0"]]
)
def test_what_cannot_be_meant_is_a_mistake_of_the_caller(
    folder: LogFolder, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["layout", str(folder.root), *arguments, "--json"]) == 2
    assert json.loads(capsys.readouterr().err)["error"]["kind"] == "invalid_argument"


def test_each_optimize_is_told_with_its_verdict(
    folder: LogFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    values = {"part": "b"}
    gone = remove("b", size=2**21, partitionValues=values, dataChange=False)
    new = add("c", size=2**21, partitionValues=values, dataChange=False)
    folder.commit(2, [{"commitInfo": {"operation": "OPTIMIZE"}}, gone, new])
    assert run(["layout", str(folder.root), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["optimize"]
    assert (row["verdict"], row["files_since"], row["commits_since"]) == ("no fewer files", 0, 0)
    assert run(["layout", str(folder.root)]) == 0
    assert "no fewer files" in capsys.readouterr().out
