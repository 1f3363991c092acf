"""The verb `health`, run as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from explorer.cli.main import run
from tests.tables import add
from tests.unit.maintenance.lake import Lake, start

EVIL = "x\x1b]0;owned\x07[red]m[/red]\u202e:boom:"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path)
    start(lake, lake.add("a"))
    lake.commit(1, [add("b")], age_days=1)
    return lake


def test_json_is_one_document_with_the_findings(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["health", str(lake.root), "--files", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["format"], document["version"], document["opens"]) == (1, 1, True)
    assert [row["finding"] for row in document["findings"]] == ["missing data file"]
    assert (document["num_missing"], document["missing"][0]["file"]) == (1, "b")
    assert run(["health", str(lake.root), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["findings"], document["missing"]) == ([], None)
    assert document["cost"]["commits"] == 2


def test_people_get_the_verdict_first_and_the_repair(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.log.hint(9)
    assert run(["health", str(lake.root)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("The hint _last_checkpoint names version 9")
    assert "repair hint" in lines[2]
    assert lines[-1].startswith("the data files were not checked")


def test_table_that_cannot_be_opened_still_answers(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    (lake.root / "_delta_log" / f"{0:020}.json").unlink()
    assert run(["health", str(lake.root), "--files", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert not document["opens"]
    assert {row["finding"] for row in document["findings"]} >= {
        "no beginning",
        "table that cannot be opened",
    }


def test_hostile_names_and_engines_cannot_drive_the_terminal(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.log.write(EVIL.replace("/", "_"), "x")
    for version in range(2, 40):
        lake.commit(version, [{"commitInfo": {"engineInfo": EVIL, "txnId": EVIL}}], age_days=0.5)
    assert run(["health", str(lake.root)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.isprintable() for line in lines)
    assert any("transaction id" in line or "made by one transaction" in line for line in lines)
