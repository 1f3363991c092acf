"""The verbs for constraints, upgrades and features that go: a plan first, then exactly it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.cli.main import run
from tests.tables import PROTOCOL, LogFolder, add, metadata

Answer = tuple[int, str, str]
Command = Callable[..., Answer]


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    found = LogFolder(tmp_path / "orders")
    conf = {"delta.constraints.old": "id > 0"}
    protocol = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 3}}
    found.commit(0, [protocol, metadata(configuration=conf), add("a", stats='{"numRecords":1}')])
    (found.root / "a").write_bytes(b"x" * 100)
    return found


@pytest.fixture
def command(folder: LogFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    def call(*arguments: str) -> Answer:
        verb, *others = arguments
        code = run([verb, str(folder.root), *others, "--state-dir", str(tmp_path / "state")])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def digest_of(answer: Answer) -> str:
    document: dict[str, Any] = json.loads(answer[1])
    found: str = document["digest"]
    return found


@pytest.mark.parametrize(
    ("verb", "arguments", "says"),
    [
        ("constraint", ["add", "positive", "id > 0"], "can no longer be written"),
        ("constraint", ["drop", "old"], "Drops the constraint old"),
        ("constraint", ["drop", "young", "--if-exists"], "has no constraint young"),
        ("column", ["add", "note STRING AFTER id"], "Adds note: null in every row"),
        ("column", ["rename", "part", "slice", "--map-columns"], "Can no longer read the table"),
        ("column", ["change", "part", "--comment", "x"], "its comment is 'x'"),
        ("column", ["change", "part", "--not-null"], "All rows are checked first"),
        ("column", ["change", "part", "--first"], "it comes first"),
        ("cluster-by", ["--none"], "Nothing would change"),
        ("upgrade", ["deletionVectors"], "Can no longer read the table"),
        ("upgrade", ["--writer-version", "4"], "writers must support"),
        ("upgrade", ["vacuumProtocolCheck", "--only-used"], "Leaves out appendOnly, invariants"),
        ("repair", ["statistics"], "with missing statistics, and adds it again"),
    ],
)
def test_plan_says_its_consequence_first_and_changes_nothing(
    folder: LogFolder, command: Command, verb: str, arguments: list[str], says: str
) -> None:
    code, out, err = command(verb, *arguments)
    assert (code, err) == (0, "")
    assert says in " ".join(out.split())
    assert explorer.open_table(folder.root).latest_version() == 0


def test_plan_is_applied_by_its_digest(folder: LogFolder, command: Command) -> None:
    for verb, *arguments in (
        ("constraint", "drop", "old"),
        ("upgrade", "vacuumProtocolCheck"),
        ("drop-feature", "checkConstraints"),
        ("drop-feature", "vacuumProtocolCheck"),
    ):
        digest = digest_of(command(verb, *arguments, "--json"))
        code, out, err = command(verb, "--apply", digest)
        assert (code, err) == (0, ""), (verb, out)
        assert f"{verb}: completed" in out
    protocol = explorer.open_table(folder.root).protocol()
    assert protocol.writer_features == ("appendOnly", "checkpointProtection", "invariants")


def test_way_on_that_a_plan_prints_can_be_gone(command: Command) -> None:
    out = command("upgrade", "changeDataFeed")[1]
    words = out.partition("delta-explorer upgrade ")[2].split()
    assert command("upgrade", *words[1:])[0] == 0


@pytest.mark.parametrize(
    ("verb", "arguments", "code"),
    [
        ("column", [], 2),
        ("column", ["add"], 2),
        ("column", ["add", "id INT"], 2),
        ("column", ["add", "n INT", "--map-columns"], 2),
        ("column", ["rename", "id"], 2),
        ("column", ["rename", "part", "slice"], 2),
        ("column", ["drop", "part"], 2),
        ("column", ["drop"], 2),
        ("column", ["change", "part"], 2),
        ("column", ["change", "part", "--nullable", "--not-null"], 2),
        ("column", ["change", "part", "--default", " "], 2),
        ("column", ["change", "part", "--default", "1", "--no-default"], 2),
        ("column", ["keep", "part"], 2),
        ("cluster-by", [], 2),
        ("cluster-by", ["part", "--none"], 2),
        ("cluster-by", ["part"], 3),
        ("constraint", [], 2),
        ("constraint", ["add", "positive"], 2),
        ("constraint", ["drop", "old", "id > 0"], 2),
        ("constraint", ["keep", "old"], 2),
        ("constraint", ["drop", "young"], 2),
        ("constraint", ["add", "OLD", "id > 0"], 1),
        ("constraint", ["add", "x", "reflect('java.lang.System', 'exit', 0)"], 2),
        ("upgrade", [], 2),
        ("upgrade", ["clustering"], 2),
        ("drop-feature", [], 2),
        ("drop-feature", ["deletionVectors"], 2),
        ("drop-feature", ["checkConstraints"], 3),
    ],
)
def test_what_cannot_be_meant_or_is_forbidden_ends_with_its_code(
    command: Command, verb: str, arguments: list[str], code: int
) -> None:
    found, _, err = command(verb, *arguments)
    assert found == code
    assert "Traceback" not in err


def test_hostile_expression_of_the_table_is_shown_without_its_control_characters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = LogFolder(tmp_path / "orders")
    conf = {"delta.constraints.bad": "\x1b[31m[bold]id > 0"}
    folder.commit(0, [PROTOCOL, metadata(configuration=conf)])
    state = str(tmp_path / "state")
    assert run(["constraint", str(folder.root), "drop", "bad", "--state-dir", state]) == 0
    assert "\x1b" not in capsys.readouterr().out
