"""What statistics cover, and the verbs that show it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import explorer
from explorer.cli.main import run
from explorer.inspect.statistics import column_statistics
from tests.tables import PROTOCOL, LogFolder, add, metadata

TABLE = "spark44-multi-part-checkpoint-struct-stats"


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    texts = {
        "a": '{"numRecords":3,"minValues":{"id":1,"part":"b"},"maxValues":{"id":4,"part":"c"},'
        '"nullCount":{"id":0,"part":1}}',
        "b": '{"numRecords":2,"minValues":{"id":-7},"maxValues":{"id":0},"nullCount":{"id":2}}',
        "bad": '{"numRecords":2,"minValues":{"id":"x"}}',
    }
    folder = LogFolder(tmp_path / "table")
    files = [add(path, stats=text) for path, text in texts.items()]
    folder.commit(0, [PROTOCOL, metadata(), *files, add("none")])
    return folder


def test_coverage_ranges_and_nulls_by_column(folder: LogFolder) -> None:
    report = column_statistics(explorer.open_table(folder.root).snapshot())
    assert report.columns.to_pylist() == [
        {
            "path": "id",
            "type": "long",
            "num_files": 4,
            "files_with_bounds": 2,
            "files_with_null_count": 2,
            "min": "-7",
            "max": "4",
            "null_count": 2,
        },
        {
            "path": "part",
            "type": "string",
            "num_files": 4,
            "files_with_bounds": 1,
            "files_with_null_count": 1,
            "min": "b",
            "max": "c",
            "null_count": 1,
        },
    ]
    assert (report.num_files, report.files_without_count) == (4, 2)
    assert [problem.problem for problem in report.problems] == [
        "The statistics of 'bad' cannot be read."
    ]


def test_what_no_file_says_is_unknown(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "table")
    folder.commit(0, [PROTOCOL, metadata(), add("a")])
    report = column_statistics(explorer.open_table(folder.root).snapshot(), ["id"])
    (row,) = report.columns.to_pylist()
    assert (row["min"], row["max"], row["null_count"]) == (None, None, None)


def test_stats_json_has_a_line_for_each_column(
    folder: LogFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["stats", str(folder.root), "--column", "id", "--json"]) == 0
    out, err = capsys.readouterr()
    assert [json.loads(line)["path"] for line in out.splitlines()] == ["id"]
    assert json.loads(err)["problem"]["kind"] == "log_corrupt"


def test_skip_json_says_how_many_and_why(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = "s.t > '2020-09-16' AND d <> '2020-03-01'"
    assert run(["skip", str(corpus / "tables" / TABLE), where, "--json", "--limit", "3"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["format"], found["num_files"], len(found["files"])) == (1, 20, 3)
    assert found["num_kept"] + found["num_skipped"] == 20
    assert 0 < found["num_kept"] < 20
    assert {file["kept"] for file in found["files"]} <= {True, False}


@pytest.mark.parametrize("arguments", [["stats"], ["skip"]])
@pytest.mark.parametrize("columns", ["80", "140"])
def test_people_get_lines_that_fit_their_terminal(
    corpus: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    columns: str,
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    where = ["id > 50"] if arguments == ["skip"] else []
    assert run([*arguments, str(corpus / "tables" / TABLE), *where]) == 0
    out, err = capsys.readouterr()
    assert (err, len(out.splitlines()) > 3) == ("", True)
    assert max(map(len, out.splitlines())) <= int(columns)


def test_a_predicate_that_cannot_be_read_is_an_error_of_the_caller(
    folder: LogFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["skip", str(folder.root), "id >", "--json"]) == 2
    assert json.loads(capsys.readouterr().err)["error"]["kind"] == "invalid_argument"
