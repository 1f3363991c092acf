"""The verb `reach`, run as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import explorer
import explorer.inspect as look
from explorer.cli.main import run
from tests.tables import metadata
from tests.unit.maintenance.lake import Lake, start

EVIL = "\x1b]0;owned\x07\x1b[2J[red]m[/red]\n\u202e:boom:"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path)
    start(lake, lake.add("a"))
    lake.commit(1, [lake.remove("a", age_days=1), lake.add("b")], age_days=1)
    return lake


def test_json_is_one_document_with_the_ranges(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    (lake.root / "a").unlink()
    assert run(["reach", str(lake.root), "--files", "--json"]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    found = look.reach_by_files(explorer.open_table(lake.root))
    assert err == ""
    assert (document["format"], document["version"], document["has_listed"]) == (1, 1, True)
    assert document["sentence"] == found.sentence
    assert [(row["first"], row["last"], row["state"]) for row in document["ranges"]][:2] == [
        (0, 0, "data gone"),
        (1, 1, "readable"),
    ]
    assert len(document["windows"]) == 2


def test_people_get_the_sentence_first_and_a_line_for_each_range(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["reach", str(lake.root)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == look.reach_by_log(explorer.open_table(lake.root)).sentence
    assert [line.split()[:2] for line in lines[2:4]] == [["time", "travel"], ["time", "travel"]]
    assert lines[-1].startswith("the data files were not checked")


def test_hostile_property_cannot_drive_the_terminal(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = {"delta.deletedFileRetentionDuration": EVIL, "delta.logRetentionDuration": EVIL}
    lake.commit(2, [metadata(configuration=odd)], age_days=0)
    assert run(["reach", str(lake.root)]) == 0
    out = capsys.readouterr().out
    assert all(line.isprintable() for line in out.splitlines())
    assert "cannot be read" in out


def test_folder_without_a_table_is_a_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["reach", str(tmp_path), "--json"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert json.loads(err)["error"]["kind"] == "table_not_found"
