"""The verbs, run as a person runs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.cli.main import run
from tests.tables import PROTOCOL, LogFolder, add, metadata, remove

TABLE = "spark44-cdf-all-operations"
LISTS = ["history", "files", "schema", "features", "log"]
VERBS = ["inspect", *LISTS]


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    folder = LogFolder(tmp_path / "table")
    folder.commit(0, [PROTOCOL, metadata(name="orders"), add("a", size=2048)])
    folder.commit(1, [{"commitInfo": {"operation": "WRITE", "userName": "ana"}}, add("b")])
    folder.commit(2, [remove("a", size=2048)])
    return folder


def documents(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("verb", VERBS)
def test_json_is_one_document_a_line_and_nothing_else(
    corpus: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    assert run([verb, str(corpus / "tables" / TABLE), "--json"]) == 0
    out, err = capsys.readouterr()
    found = documents(out)
    assert err == ""
    assert {document["format"] for document in found} == {1}
    assert len(found) == 1 if verb == "inspect" else len(found) > 1


@pytest.mark.parametrize("verb", [["files"], ["history"], ["log"], ["dv"], ["diff", "0", "2"]])
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_limit_may_be_greater_than_any_number_of_rows(
    folder: LogFolder, verb: list[str], options: list[str]
) -> None:
    name, *versions = verb
    arguments = [name, str(folder.root), *versions, "--limit", "9" * 30, *options]
    assert run(arguments) == 0


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("columns", ["80", "120"])
def test_people_get_lines_that_fit_their_terminal(
    corpus: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
    columns: str,
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert run([verb, str(corpus / "tables" / TABLE)]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert (err, len(lines) > 3) == ("", True)
    assert max(map(len, lines)) <= int(columns)
    assert "\x1b" not in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "titles"),
    [
        (["history"], "version time operation files rows"),
        (["log"], "version kind size modified note"),
        (["stats"], "column type coverage min max null count"),
        (["layout"], "column files per value most no overlap no bounds"),
        (["reach"], "retention value set by reaches back to version"),
        (["rows", "id = 1"], "_change_type _commit_version id v p q _file_path _row_index"),
        (["changes", "4", "4"], "_change_type _commit_version id v p q _commit_timestamp"),
        (["diff", "0", "8", "--layer", "statistics"], "column coverage min max null count"),
        (["skip", "id > 30"], "size path holds"),
        (["conflicts", "--read-version", "3"], "version operation rule both touch"),
        (["foreign"], "part files bytes meaning"),
        (["health"], "log files files bytes oldest newest"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_no_title_is_cut_on_80_columns(
    corpus: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    titles: str,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    verb, *others = arguments
    assert run([verb, str(corpus / "tables" / TABLE), *others]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert titles in [" ".join(line.split()) for line in lines]


def test_inspect_json_is_the_description(
    folder: LogFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["inspect", str(folder.root), "--version", "1", "--json"]) == 0
    (found,) = documents(capsys.readouterr().out)
    assert (found["uri"], found["version"], found["num_files"]) == (str(folder.root), 1, 2)
    assert found["timestamp"].endswith("Z")


def test_history_json_has_the_columns_of_the_contract(
    folder: LogFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["history", str(folder.root), "--json", "--limit", "2"]) == 0
    found = documents(capsys.readouterr().out)
    expected = explorer.open_table(folder.root).history(2)
    assert [list(row)[1:] for row in found] == [[*expected.column_names, "sentence"]] * 2
    assert [row["version"] for row in found] == [2, 1]
    assert found[1]["sentence"] == "ana added rows"


def test_history_shows_unknown_as_unknown(
    folder: LogFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["history", str(folder.root)])
    newest, middle, _ = capsys.readouterr().out.splitlines()[1:4]
    assert newest.split()[4:7] == ["?", "-1", "-?"]
    assert middle.split()[4:9] == ["WRITE", "+1", "+?", "+100", "B"]
    assert "ana" in middle


def test_history_tells_of_gaps_broken_commits_and_what_it_leaves_out(
    folder: LogFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.commit(5, [add("c")])
    folder.write("00000000000000000002.json", "{")
    run(["history", str(folder.root), "--limit", "3"])
    out = capsys.readouterr().out
    assert "! versions 3 to 4 are missing from the log" in out
    assert "! version 2: The log is not readable at 00000000000000000002.json:1." in out
    assert "3 of 4 commits; --limit 4 shows all" in out


def test_inspect_tells_problems_first(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", str(corpus / "tables" / "javakernel-basic_catalog_managed")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("! ")
    assert "files           ?" in lines


@pytest.mark.parametrize("verb", ["inspect", "history", "features", "log", "schema"])
def test_a_refused_table_still_answers(
    corpus: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    table = corpus / "tables" / "golden-deltalog-invalid-protocol-version"
    assert run([verb, str(table), "--json"]) == 0
    assert documents(capsys.readouterr().out)


def test_files_are_sorted_filtered_and_limited(
    folder: LogFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(folder.root)
    arguments = ["files", place, "--version", "1", "--json"]
    run([*arguments, "--sort", "size", "--descending", "--limit", "1"])
    assert [row["path"] for row in documents(capsys.readouterr().out)] == ["a"]
    run([*arguments, "--contains", "B"])
    assert [row["path"] for row in documents(capsys.readouterr().out)] == ["b"]
    run(["files", place, "--version", "1", "--limit", "1"])
    assert "1 of 2 files; --limit 2 shows all" in capsys.readouterr().out


def test_log_lists_the_newest_first(folder: LogFolder, capsys: pytest.CaptureFixture[str]) -> None:
    folder.write("stray.txt", "x")
    run(["log", str(folder.root), "--json"])
    names = [row["name"] for row in documents(capsys.readouterr().out)]
    assert names == [f"{version:020}.json" for version in (2, 1, 0)] + ["stray.txt"]


def test_history_of_a_log_without_commits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = LogFolder(tmp_path / "table")
    assert run(["history", str(folder.root), "--json"]) == 1
    assert json.loads(capsys.readouterr().err)["error"]["kind"] == "log_empty"
    folder.checkpoint(3, [PROTOCOL, metadata(), add("a")])
    assert run(["history", str(folder.root)]) == 0
    assert "no commits remain in the log" in capsys.readouterr().out


@pytest.mark.parametrize("verb", [*VERBS, "demo"])
def test_help_shows_an_example(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    assert run([verb, "--help"]) == 0
    assert f"Example: delta-explorer {verb} " in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_demo_writes_the_table_without_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "demo"
    arguments = ["demo", str(place), "--write-only", "--now", "2026-11-01T00:00:00Z"]
    assert run(arguments) == 0
    assert str(place) in capsys.readouterr().out
    assert explorer.open_table(place).latest_version() >= 59
    assert run(arguments) == 2
    assert "error: " in capsys.readouterr().err
