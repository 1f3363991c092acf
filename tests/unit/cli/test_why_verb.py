"""The verb `why`, run as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest

from explorer.cli.main import run
from tests.unit.maintenance.lake import Lake, start

EVIL = "\x1b]0;owned\x07[red]m[/red]\n\u202e:boom:.parquet"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path)
    start(lake, lake.add("a"), lake.add(quote(EVIL)))
    return lake


def test_json_is_one_document_with_its_evidence(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["why", str(lake.root), "a", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["format"] == 1
    assert (document["kind"], document["versions"]) == ("live data file", [[0, 0]])
    assert document["evidence"][0]["log_file"] == f"{0:020}.json"
    assert document["deletable_from"] is None


def test_people_get_the_sentence_first(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["why", str(lake.root), "a"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("a is a data file of version 0, the latest")
    assert f"{0:020}.json:3" in lines[2]


def test_hostile_name_cannot_drive_the_terminal(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["why", str(lake.root), EVIL]) == 0
    out = capsys.readouterr().out
    assert "live" not in out.splitlines()[1]
    assert all(line.isprintable() for line in out.splitlines())


def test_path_out_of_the_table_is_a_mistake_of_the_caller(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["why", str(lake.root), "../x", "--json"]) == 2
    assert json.loads(capsys.readouterr().err)["error"]["kind"] == "invalid_argument"
