"""The verb `dv`, run as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from explorer.cli.main import run
from explorer.protocol.vectors.deletion_vectors import build_inline_descriptor, render_descriptor
from tests.tables import FEATURE_PROTOCOL, LogFolder, add, metadata, remove, vector


@pytest.fixture
def table(tmp_path: Path) -> str:
    folder = LogFolder(tmp_path / "table")
    odd = render_descriptor(build_inline_descriptor(range(0, 400, 2)))
    folder.commit(0, [FEATURE_PROTOCOL, metadata(), add("a", stats='{"numRecords":800}')])
    hidden = add("a", stats='{"numRecords":800}', deletionVector=odd)
    folder.commit(1, [remove("a"), hidden, add("b")])
    folder.commit(2, [add("\x1b[31m", deletionVector=vector("../../x"))])
    return str(folder.root)


def documents(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_json_has_one_file_a_line(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dv", table, "--version", "1", "--json"]) == 0
    out, err = capsys.readouterr()
    (found,) = documents(out)
    assert err == ""
    assert (found["format"], found["path"], found["cardinality"]) == (1, "a", 200)
    assert (found["num_records"], found["fraction_deleted"]) == (800, 0.25)


def test_json_of_a_file_has_all_its_ranges(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dv", table, "--version", "1", "--file", "a", "--json"]) == 0
    found = documents(capsys.readouterr().out)
    assert [row["first"] for row in found] == list(range(0, 400, 2))
    assert found[0] == {"format": 1, "first": 0, "last": 0, "count": 1}


def test_people_see_figures_and_what_is_cut(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dv", table, "--version", "1", "--file", "a", "--limit", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "200 of 800 rows are soft-deleted"
    assert [line.split() for line in lines[2:5]] == [
        ["0", "0", "1"],
        ["2", "2", "1"],
        ["4", "4", "1"],
    ]
    assert lines[5] == "3 of 200 ranges; --limit 200 shows all"


def test_people_see_files_and_what_is_wrong(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dv", table]) == 0
    out = capsys.readouterr().out
    row = next(line for line in out.splitlines() if line.startswith("a "))
    assert row.split()[1:4] == ["200", "800", "25.0%"]
    assert "\x1b" not in out
    assert "! \\x1b[31m: A deletion vector's file cannot be named." in out


def test_a_table_without_vectors_says_so(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dv", table, "--version", "0"]) == 0
    assert capsys.readouterr().out == "no file has a deletion vector\n"
    assert run(["dv", table, "--version", "0", "--file", "a"]) == 0
    assert capsys.readouterr().out == "0 of 800 rows are soft-deleted\n"


@pytest.mark.parametrize(
    ("arguments", "code", "kind"),
    [
        (["--file", "nothing"], 2, "invalid_argument"),
        (["--file", "\x1b[31m"], 1, "log_corrupt"),
        (["--version", "1", "--timestamp", "2026-11-01T00:00:00Z"], 2, "invalid_argument"),
    ],
)
def test_what_cannot_be_answered_is_an_error_of_the_contract(
    table: str,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    kind: str,
) -> None:
    assert run(["dv", table, *arguments, "--json"]) == code
    out, err = capsys.readouterr()
    assert (out, json.loads(err)["error"]["kind"]) == ("", kind)
