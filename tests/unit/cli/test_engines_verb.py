"""The verb `engines`, run as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import explorer
import explorer.inspect as look
from explorer.cli.main import run
from tests.tables import FEATURE_PROTOCOL, PROTOCOL, LogFolder, add, metadata

EVIL = "\x1b]0;owned\x07\x1b[2J[red]m[/red]\n\u202e:boom:"


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    folder = LogFolder(tmp_path / "table")
    folder.commit(0, [PROTOCOL, metadata(), add("a")])
    folder.commit(1, [FEATURE_PROTOCOL])
    return folder


def test_json_is_the_frame_a_row_a_line(
    folder: LogFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["engines", str(folder.root), "--json"]) == 0
    out, err = capsys.readouterr()
    found = [json.loads(line) for line in out.splitlines()]
    frame = look.engines(explorer.open_table(folder.root))
    assert err == ""
    assert found == [{"format": 1, **row} for row in frame.to_pylist()]


def test_people_get_the_answer_first_and_a_line_for_each_engine(
    folder: LogFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["engines", str(folder.root)]) == 0
    first, _, *lines = capsys.readouterr().out.splitlines()
    frame = look.engines(explorer.open_table(folder.root))
    assert first == look.engines_sentence(frame)
    *shown, note = [line.split() for line in lines]
    assert note[0] == "?"
    by_engine = {words[0]: words for words in shown}
    newest = [row for row in frame.to_pylist() if row["newest"]]
    assert len(shown) == len(newest)
    assert by_engine["delta-spark"][:5] == ["delta-spark", "4.4.0", "yes", "3.0.0", "yes"]
    assert by_engine["daft"][1:5] == ["no", "no", "proven", "deletionVectors"]
    # built upon a kernel, and nothing says upon which
    unknown = "? ? ? deletionVectors; ? v2Checkpoint"
    assert by_engine["clickhouse"][1:7] == unknown.split()


def test_a_version_is_looked_at(folder: LogFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["engines", str(folder.root), "--version", "0"]) == 0
    assert "no reader is known to be stopped" in capsys.readouterr().out


def test_an_older_release_is_shown_where_the_newest_cannot(
    folder: LogFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["catalogOwned-preview"]
    body = {"minReaderVersion": 3, "minWriterVersion": 7}
    folder.commit(2, [{"protocol": body | {"readerFeatures": names, "writerFeatures": names}}])
    assert run(["engines", str(folder.root)]) == 0
    spark = [
        line.split()
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("delta-spark")
    ]
    assert [words[:4] for words in spark] == [
        ["delta-spark", "4.4.0", "no", "no"],
        ["delta-spark", "4.0.0", "4.0.0", "yes,"],
    ]


@pytest.mark.parametrize("columns", ["80", "120", "200"])
def test_lines_fit_the_terminal_and_say_what_is_proven(
    folder: LogFolder,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    columns: str,
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert run(["engines", str(folder.root)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= int(columns)
    assert any(line.startswith("daft ") and "proven" in line for line in lines)
    assert any(line.startswith("bigquery ") and "documented" in line for line in lines)


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_the_name_of_a_feature_is_data(
    folder: LogFolder, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    body = {"minReaderVersion": 3, "minWriterVersion": 7}
    lists = {"readerFeatures": [EVIL], "writerFeatures": [EVIL]}
    folder.commit(2, [{"protocol": body | lists}])
    assert run(["engines", str(folder.root), *options]) == 0
    out, err = capsys.readouterr()
    if options:
        assert json.loads(out.splitlines()[0])["read_blockers"] == [EVIL]
    else:
        assert "[red]m[/red]" in out
        assert all(character.isprintable() or character == "\n" for character in out + err)


def test_a_table_that_must_not_be_read_answers(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["engines", str(corpus / "tables" / "javakernel-basic_catalog_managed")]) == 0
    assert "catalogManaged" in capsys.readouterr().out.splitlines()[0]


def test_what_is_no_table_is_told_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["engines", str(tmp_path), "--json"]) == 1
    assert json.loads(capsys.readouterr().err)["error"]["problem"]
