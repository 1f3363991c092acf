"""The verb `foreign`, run as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from explorer.cli.main import run
from tests.unit.maintenance.lake import Lake, start

EVIL = "\x1b]0;owned\x07[red]m[red]\n\u202e:boom:.txt"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path)
    start(lake, lake.add("a"))
    lake.file("notes.txt", size=10)
    lake.file(EVIL, size=20)
    return lake


def test_json_is_one_document_largest_file_first(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["foreign", str(lake.root), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["format"], document["num_files"]) == (1, 2)
    assert [row["path"] for row in document["files"]] == [EVIL, "notes.txt"]
    assert {row["part"] for row in document["sizes"]} >= {"live", "kept", "foreign", "log"}
    assert run(["foreign", str(lake.root), "--json", "--limit", "1"]) == 0
    assert len(json.loads(capsys.readouterr().out)["files"]) == 1


def test_people_get_the_sentence_first_and_nothing_that_drives_the_terminal(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["foreign", str(lake.root)]) == 0
    lines = capsys.readouterr().out.splitlines()
    about_the_others = "2 files (30 B) belong to no version of the table: 2 × other."
    assert lines[0].startswith(
        "The table is 100 B; its folder takes 817 B: 687 B log, 30 B foreign."
    )
    assert about_the_others in lines[0]
    assert all(line.isprintable() for line in lines)
    (notes,) = (line for line in lines if line.startswith("notes.txt"))
    assert notes.split()[1:5] == ["other", "10", "B", "never"]


def test_a_file_that_waits_for_a_retention_that_can_be_read_is_not_said_to_stay_for_ever(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = Lake(tmp_path)
    own = {"delta.deletedFileRetentionDuration": "90\x1b[2J" + "d" * 500}
    start(lake, lake.add("a"), configuration=own)
    lake.file("notes.txt")
    lake.file("stray.parquet")
    assert run(["foreign", str(lake.root)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.isprintable() for line in lines)
    assert "is unknown: delta.deletedFileRetentionDuration is `90" in lines[0]
    assert "d" * 200 not in "".join(lines)
    found = {line.split()[0]: line for line in lines if line.startswith(("notes", "stray"))}
    assert "unknown" in found["stray.parquet"]
    assert "never" in found["notes.txt"]
