"""The verb `health`, run as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import explorer.inspect as look
from explorer.cli.main import run
from explorer.inspect.health.findings import SEVERITIES
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
    assert any("transaction id" in line or "same transaction" in line for line in lines)


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize(
    ("worst", "codes"),
    [
        (None, {"note": 0, "warning": 0, "error": 0}),
        ("note", {"note": 1, "warning": 0, "error": 0}),
        ("warning", {"note": 1, "warning": 1, "error": 0}),
        ("error", {"note": 1, "warning": 1, "error": 1}),
    ],
)
def test_fail_on_ends_with_one_where_a_finding_is_as_grave_and_changes_no_output(
    lake: Lake,
    capsys: pytest.CaptureFixture[str],
    worst: str | None,
    codes: dict[str, int],
    *,
    as_json: bool,
) -> None:
    if worst == "note":
        lake.log.write("notes.txt", "x")
    elif worst == "warning":
        lake.log.write("12.json", "{}")
    elif worst == "error":
        (lake.log.log / f"{0:020}.json").unlink()
    words = ["health", str(lake.root), *(["--json"] if as_json else [])]
    assert run(words) == 0
    plain = capsys.readouterr()
    for severity, code in codes.items():
        assert run([*words, "--fail-on", severity]) == code
        assert capsys.readouterr() == plain
    found = look.log_health(lake.table)
    assert {each: int(found.has_finding(each)) for each in SEVERITIES} == codes


def test_severity_that_there_is_not_is_a_mistake_of_the_caller(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["health", str(lake.root), "--fail-on", "hint"]) == 2
    assert "--fail-on" in capsys.readouterr().err
