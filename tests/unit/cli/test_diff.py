"""The verb `diff`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from explorer.cli.main import run
from tests.tables import FEATURE_PROTOCOL, PROTOCOL, LogFolder, add, metadata, remove, vector


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    folder = LogFolder(tmp_path / "table")
    files = [add(f"{number:02}", size=2048) for number in range(30)]
    folder.commit(0, [PROTOCOL, metadata(name="orders"), *files])
    hidden = add("01", size=2048, deletionVector=vector(cardinality=3))
    renamed = metadata(name="new", partitionColumns=["part"])
    changes = [remove(f"{number:02}") for number in range(5, 30)]
    folder.commit(1, [FEATURE_PROTOCOL, renamed, remove("01"), hidden, add("\x1b[31m"), *changes])
    return folder


def test_json_is_one_document_with_the_layers_asked_for(
    folder: LogFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diff", str(folder.root), "0", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["format"] == 1
    assert (document["older"]["version"], document["newer"]["version"]) == (0, 1)
    assert document["older"]["timestamp"].endswith("Z")
    files = document["files"]
    assert (files["num_added"], files["num_removed"], len(files["removed"])) == (1, 25, 25)
    assert files["changed"][0]["changes"] == ["deletion_vector"]
    assert document["rows"]["net"] is None
    assert document["schema"][0]["kind"] == "partitioning"
    assert document["protocol"]["reader_after"] == 3
    assert "statistics" not in document
    run(["diff", str(folder.root), "0", "1", "--json", "--layer", "statistics", "--layer", "rows"])
    document = json.loads(capsys.readouterr().out)
    assert set(document) == {"format", "uri", "older", "newer", "notes", "rows", "statistics"}


def test_people_see_counts_first_and_what_is_left_out(
    folder: LogFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["diff", str(folder.root), "0", "1"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert "1 added, 25 removed, 1 changed   +100 B -50.0 KiB" in out
    assert "20 of 25 removed files; --limit 25 shows all" in out
    assert "0 -> 3" in out
    assert "\x1b" not in out
    assert "unknown" in out
    assert "reader version" in out


def test_a_restore_is_shown_backwards(
    folder: LogFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["diff", str(folder.root), "1", "0", "--layer", "files"])
    out = capsys.readouterr().out
    assert "what restoring version 0 would do" in out
    assert "25 added, 1 removed, 1 changed" in out


def test_an_unknown_layer_or_version_is_told(
    folder: LogFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diff", str(folder.root), "0", "1", "--layer", "colour"]) == 2
    assert "Choose from files, rows" in capsys.readouterr().err
    assert run(["diff", str(folder.root), "0", "9", "--json"]) == 1
    assert json.loads(capsys.readouterr().err)["error"]["kind"] == "version_not_found"


def test_nothing_changed_is_said_so(folder: LogFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", str(folder.root), "1", "1", "--layer", "schema", "--layer", "rows"]) == 0
    out = capsys.readouterr().out
    assert "no changes" in out
    assert "+0 in total" in out
