"""Bad input ends in one clear error, or in the right answer with a problem beside it;
never in a traceback, a hang, unbounded memory or a silent wrong answer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import explorer
from explorer.cli.main import run
from explorer.errors import ERROR_KINDS, DeltaError
from explorer.table.readable import is_of_the_log
from tests.faults.bad_input import CASES
from tests.faults.bad_lines import DEEP, cut_commits
from tests.faults.case import Answered, Case, Refused, three_versions
from tests.tables import PROTOCOL, LogFolder, add, metadata

_VERBS = ("inspect", "files", "history", "schema", "features", "log")


def _assert_clear(error: DeltaError) -> None:
    """Every field says something, and not at any length."""
    assert error.kind in ERROR_KINDS
    for text in (error.problem, error.reason, error.remedy):
        assert text
        assert text.strip() == text
        assert "Traceback" not in text
    assert len(error.problem) < 12_000  # a path of 10,000 characters is told whole
    assert len(error.reason) < 2_000
    assert len(error.remedy) < 2_000


@pytest.mark.rule("action-commitinfo-free-json", "action-protocol-ignore-unknown")
@pytest.mark.rule("file-one-action-per-type-and-key", "log-unit-of-atomicity")
@pytest.mark.rule("log-versions-contiguous", "pointer-may-be-stale")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_bad_input_in_python(case: Case, tmp_path: Path) -> None:
    place = case.build(tmp_path)
    if isinstance(case.ends, Refused):
        with pytest.raises(DeltaError) as caught:
            explorer.open_table(place).snapshot(**case.at)
        _assert_clear(caught.value)
        assert caught.value.kind == case.ends.kind
        for word in case.ends.words:
            assert word in f"{caught.value.problem} {caught.value.reason}"
        return
    table = explorer.open_table(place)
    snapshot = table.snapshot(**case.at)
    _assert_answers(snapshot, case.ends)
    table.history().validate(full=True)


def _assert_answers(snapshot: explorer.Snapshot, wanted: Answered) -> None:
    files = snapshot.files()
    files.validate(full=True)
    assert files.num_rows == snapshot.num_files == wanted.files
    snapshot.tombstones().validate(full=True)
    assert snapshot.num_rows is None or snapshot.num_rows >= 0
    told = {(problem.kind, problem.place) for problem in snapshot.problems}
    assert not told if wanted.problem is None else (wanted.problem, wanted.place) in told


@pytest.mark.sampled(one_in=12)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_bad_input_on_the_command_line(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(case.build(tmp_path))
    if not place or "\0" in place:
        return  # no process can be given such an argument
    options = [f"--{name}={value}" for name, value in case.at.items()]
    code = run(["inspect", place, *options, "--json"])
    found = capsys.readouterr()
    if isinstance(case.ends, Refused):
        assert code == (2 if case.ends.kind == "invalid_argument" else 1)
        if found.out:  # an older version, shown below the error
            document = json.loads(found.out)
            assert document["version"] < document["unreadable_version"]
            assert is_of_the_log(case.ends.kind)
            assert not case.at
        (line,) = found.err.splitlines()
        error = json.loads(line)["error"]
        assert error["kind"] == case.ends.kind
        assert all((error["problem"], error["reason"], error["remedy"]))
    else:
        assert (code, found.err) == (0, "")
        document = json.loads(found.out)
        assert document["num_files"] == case.ends.files
        told = {problem["kind"] for problem in document["problems"]}
        assert case.ends.problem is None or case.ends.problem in told


@pytest.mark.sampled(one_in=12)
@pytest.mark.parametrize("case", [case for case in CASES if not case.at], ids=str)
def test_every_verb_ends_well(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(case.build(tmp_path))
    if not place or "\0" in place:
        return
    for verb in _VERBS:
        for options in ([], ["--json"]):
            code = run([verb, place, *options])
            found = capsys.readouterr()
            # history, log and features of a broken table may still have an answer
            assert code in ({0, 1, 2} if isinstance(case.ends, Refused) else {0}), verb
            assert "Traceback" not in found.err
            assert "a bug in" not in found.err, (verb, found.err)
            assert bool(found.err) == bool(code)
            if code and options:
                assert len(found.err.splitlines()) == 1


_BY_NAME = {case.name: case for case in CASES}


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    "name",
    [
        "path that does not exist",
        "folder without _delta_log",
        "empty log",
        "gap",
        "line that is not JSON",
        "line that is nested 100,000 deep",
        "line that is NUL bytes",
        "version 3",
        "file name of 10,000 characters",
        "commit that the file system cannot read",
    ],
)
def test_bad_input_in_a_process_of_its_own(name: str, tmp_path: Path) -> None:
    case = _BY_NAME[name]
    options = [f"--{key}={value}" for key, value in case.at.items()]
    done = subprocess.run(
        [sys.executable, "-m", "explorer.cli", "inspect", str(case.build(tmp_path)), *options],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr
    if isinstance(case.ends, Refused):
        assert done.returncode == 1
        assert not done.stdout or "the newest that can be read" in done.stdout
        assert done.stderr.startswith("error: ")
        assert "what to do: " in done.stderr
    else:
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.rule("log-newline-delimited-json", "log-unit-of-atomicity")
def test_line_cut_anywhere_is_refused(tmp_path: Path) -> None:
    for at, case in enumerate(cut_commits()):
        assert isinstance(case.ends, Refused)
        with pytest.raises(DeltaError) as caught:
            explorer.open_table(case.build(tmp_path / str(at))).snapshot()
        assert caught.value.kind == "log_corrupt"
        assert case.ends.words[0] in caught.value.problem


def test_schema_nested_100000_deep_is_refused_when_asked_for(tmp_path: Path) -> None:
    array = '{"type":"array","containsNull":true,"elementType":'
    texts = {
        "brackets": '{"type":"struct","fields":' + "[" * DEEP + "]" * DEEP + "}",
        "arrays": '{"type":"struct","fields":[{"name":"a","nullable":true,"metadata":{},"type":'
        + array * DEEP
        + '"long"'
        + "}" * DEEP
        + "}]}",
    }
    for name, text in texts.items():
        log = LogFolder(tmp_path / name)
        log.commit(0, [PROTOCOL, metadata(schemaString=text), add("a")])
        snapshot = explorer.open_table(log.root).snapshot()
        assert snapshot.num_files == 1
        with pytest.raises(DeltaError) as caught:
            _ = snapshot.schema
        _assert_clear(caught.value)
        assert caught.value.kind == "schema_invalid"


@pytest.mark.rule("metadata-first-version", "recon-one-metadata", "recon-one-protocol")
def test_missing_protocol_and_metadata_are_named(tmp_path: Path) -> None:
    for name, actions, kind in (
        ("p", [metadata()], "protocol_missing"),
        ("m", [PROTOCOL], "metadata_missing"),
    ):
        log = LogFolder(tmp_path / name)
        log.commit(0, [*actions, add("a")])
        with pytest.raises(DeltaError) as caught:
            explorer.open_table(log.root).snapshot()
        assert caught.value.kind == kind


def test_naive_datetime_is_refused(tmp_path: Path) -> None:
    from datetime import datetime  # noqa: PLC0415

    table = explorer.open_table(three_versions(tmp_path).root)
    with pytest.raises(DeltaError) as caught:
        table.snapshot(timestamp=datetime(2026, 1, 1))  # noqa: DTZ001  # that is the point
    assert caught.value.kind == "invalid_argument"
    assert "time zone" in caught.value.problem


@pytest.mark.parametrize(
    "at",
    [
        {"version": 1, "timestamp": "2026-01-01T00:00:00Z"},
        {"version": "1"},
        {"version": 1.0},
        {"version": True},
        {"timestamp": 1_700_000_000_000},
        {"timestamp": b"2026-01-01T00:00:00Z"},
    ],
    ids=repr,
)
def test_what_is_no_version_and_no_time_is_refused(at: dict[str, object], tmp_path: Path) -> None:
    table = explorer.open_table(three_versions(tmp_path).root)
    with pytest.raises(DeltaError) as caught:
        table.snapshot(**at)  # type: ignore[arg-type]  # that is the point
    assert caught.value.kind == "invalid_argument"


@pytest.mark.parametrize("place", [None, 5, b"/tmp", 1.5, ["a"]], ids=repr)
def test_what_is_no_place_is_refused(place: object) -> None:
    with pytest.raises(DeltaError) as caught:
        explorer.open_table(place)  # type: ignore[arg-type]  # that is the point
    assert caught.value.kind == "invalid_argument"


@pytest.mark.parametrize("columns", [["nope"], ["path", "path"], ["stats", "Path"], [""]], ids=repr)
def test_columns_that_are_not_there_are_refused(columns: list[str], tmp_path: Path) -> None:
    snapshot = explorer.open_table(three_versions(tmp_path).root).snapshot()
    for ask in (snapshot.files, snapshot.tombstones):
        with pytest.raises(DeltaError) as caught:
            ask(columns)
        assert caught.value.kind == "invalid_argument"


def test_sizes_that_do_not_fit_64_bits_are_not_wrapped(tmp_path: Path) -> None:
    log = three_versions(tmp_path)
    log.commit(3, [add(str(at), size=2**62) for at in range(4)])
    assert explorer.open_table(log.root).snapshot().size_in_bytes == 300 + 2**64


@pytest.mark.parametrize("names", [["x" * 5000], [f"feature{at}" for at in range(1000)]], ids=len)
def test_refusal_of_long_feature_names_stays_short(names: list[str], tmp_path: Path) -> None:
    log = three_versions(tmp_path)
    body = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": names,
        "writerFeatures": names,
    }
    log.commit(3, [{"protocol": body}])
    with pytest.raises(DeltaError) as caught:
        explorer.open_table(log.root).snapshot()
    assert caught.value.kind == "unsupported_feature"
    assert names[0][:20] in str(caught.value)
    assert len(str(caught.value)) < 2000
