"""What statistics cover, and the verbs that show it."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

import explorer
from explorer.cli.main import run
from explorer.inspect.files.statistics import column_statistics
from explorer.log.checkpoint_writing.checkpoint_writer import write_checkpoint
from explorer.pipeline.column_profile._log import profile_by_statistics
from explorer.pipeline.column_profile.facts import ProfileRequest
from explorer.scan.statistics.live_files import parsed_statistics
from explorer.storage.local import LocalStore
from tests.demo_story import LATELY, copy_demo
from tests.tables import FEATURE_PROTOCOL, PROTOCOL, LogFolder, add, metadata, vector
from widgets.screens.statistics._parts import build_coverage_row

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
            "files_with_wide_bounds": 0,
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
            "files_with_wide_bounds": 0,
            "min": "b",
            "max": "c",
            "null_count": 1,
        },
    ]
    assert (report.num_files, report.files_without_count) == (4, 2)
    assert [problem.problem for problem in report.problems] == [
        "The statistics of 'bad' cannot be read."
    ]


def test_coverage_is_that_of_bounds_on_page_command_line_and_in_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files that count nulls and have no bounds skip next to nothing."""
    folder = LogFolder(tmp_path / "table")
    bounds = '"minValues":{"id":5},"maxValues":{"id":5},'
    texts = [f'{{"numRecords":1,{more}"nullCount":{{"id":0}}}}' for more in (bounds, "", "")]
    files = [add(name, stats=text) for name, text in zip("abc", texts, strict=True)]
    folder.commit(0, [PROTOCOL, metadata(), *files])
    assert told(folder.root, "id", capsys) == ["1 of 3"] * 3


@pytest.mark.slow
def test_coverage_of_the_demo_is_one_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy_demo(tmp_path / "demo", LATELY)
    on_page, in_shell, in_json = told(tmp_path / "demo", "gift_note", capsys)
    assert on_page == in_shell == in_json
    files = explorer.open_table(tmp_path / "demo").snapshot().num_files
    assert not on_page.startswith(f"{files:,} of")  # the files of notes that are all null


def test_nulls_are_at_least_so_many_where_a_file_does_not_count_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = LogFolder(tmp_path / "orders")
    counts = '{"numRecords":3,"nullCount":{"id":2}}'
    folder.commit(0, [PROTOCOL, metadata(), add("a", stats=counts)])
    folder.commit(1, [add("b", stats='{"numRecords":3}')])
    for version, expected in ((0, "2"), (1, "≥ 2")):
        report = column_statistics(explorer.open_table(folder.root).snapshot(version), ["id"])
        (entry,) = report.columns.to_pylist()
        assert build_coverage_row(entry, "").cells[5].text == expected
        assert run(["stats", str(folder.root), "--version", str(version), "--column", "id"]) == 0
        (line,) = (one for one in capsys.readouterr().out.splitlines() if one.startswith("id"))
        assert line.rstrip().endswith(f"  {expected}")
    assert run(["diff", str(folder.root), "0", "1", "--layer", "statistics"]) == 0
    assert "2 -> ≥ 2" in capsys.readouterr().out


def told(root: Path, column: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The coverage of a column: on the page, on the command line, in JSON."""
    report = column_statistics(explorer.open_table(root).snapshot(), [column])
    (entry,) = report.columns.to_pylist()
    on_page = build_coverage_row(entry, "").cells[2].text
    assert run(["stats", str(root), "--column", column]) == 0
    (line,) = (text for text in capsys.readouterr().out.splitlines() if text.startswith(column))
    in_shell = re.search(r"[\d,]+ of [\d,]+", line)
    assert in_shell is not None
    assert run(["stats", str(root), "--column", column, "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    return [on_page, in_shell[0], f"{row['files_with_bounds']:,} of {row['num_files']:,}"]


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


def hidden_extremes(place: Path, bounds: str) -> LogFolder:
    """One file whose live rows are 4 and 1, by statistics that are older than its vector."""
    text = (
        '{"numRecords":5,"minValues":{"id":1},"maxValues":{"id":100},"nullCount":{"id":2}'
        f"{bounds}}}"
    )
    folder = LogFolder(place)
    held = add("a", stats=text, deletionVector=vector(cardinality=3))
    plain = '{"numRecords":2,"minValues":{"id":7},"maxValues":{"id":9},"nullCount":{"id":0}}'
    table = metadata(
        configuration={
            "delta.checkpoint.writeStatsAsStruct": "true",
            "delta.checkpoint.writeStatsAsJson": "false",
        }
    )
    folder.commit(0, [FEATURE_PROTOCOL, table, held, add("b", stats=plain)])
    return folder


@pytest.mark.rule("stats-tightbounds-default", "stats-tight")
@pytest.mark.parametrize(
    ("bounds", "wide"), [(',"tightBounds":false', 1), (',"tightBounds":true', 0), ("", 0)]
)
@pytest.mark.parametrize("is_stored", [False, True])
def test_files_with_wide_bounds_are_counted_and_told_to_people(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    bounds: str,
    wide: int,
    *,
    is_stored: bool,
) -> None:
    folder = hidden_extremes(tmp_path / "table", bounds)
    if is_stored:  # as columns alone
        store = LocalStore(folder.root)
        explorer.open_table(folder.root).snapshot().consult(
            lambda loaded: write_checkpoint(store, loaded, now=datetime.now(UTC))
        )
    snapshot = explorer.open_table(folder.root).snapshot()
    report = column_statistics(snapshot)
    assert (report.files_with_wide_bounds, report.problems) == (wide, ())
    assert report.columns["files_with_wide_bounds"].to_pylist() == [wide, 0]
    assert parsed_statistics(snapshot)["tight_bounds"].to_pylist() == [not wide, True]
    assert explorer.diff(snapshot, snapshot).statistics["wide_after"].to_pylist() == [wide, 0]
    said = "1 of 2 files has wide bounds"
    assert run(["stats", str(folder.root)]) == 0
    assert (said in " ".join(capsys.readouterr().out.split())) is bool(wide)
    assert run(["diff", str(folder.root), "0", "0", "--layer", "statistics"]) == 0
    assert (said in " ".join(capsys.readouterr().out.split())) is bool(wide)


@pytest.mark.rule("stats-max-tight", "stats-min-tight", "stats-tightbounds-default")
@pytest.mark.parametrize(
    ("bounds", "ends"),
    [(',"tightBounds":false', None), (',"tightBounds":true', (1, 9)), ("", (1, 9))],
)
def test_only_tight_bounds_are_taken_for_the_ends_of_a_column(
    tmp_path: Path, bounds: str, ends: tuple[int, int] | None
) -> None:
    text = '{"numRecords":5,"minValues":{"id":1},"maxValues":{"id":9},"nullCount":{"id":2}'
    folder = LogFolder(tmp_path / "table")
    folder.commit(0, [PROTOCOL, metadata(), add("a", stats=f"{text}{bounds}}}")])
    snapshot = explorer.open_table(folder.root).snapshot()
    item = snapshot.schema.fields[0]
    wanted = ProfileRequest(measures=frozenset({"nulls", "extremes"}))
    found = profile_by_statistics(snapshot, item, wanted)
    assert (None if found is None else (found.minimum, found.maximum)) == ends
