"""The verb that writes data files again, as far as it goes without Spark: its plans."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.cli.main import run
from tests.tables import PROTOCOL, LogFolder, add, metadata

Command = Callable[..., tuple[int, str, str]]
STATS = json.dumps({"numRecords": 1, "minValues": {"id": 1}, "maxValues": {"id": 5}})


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    folder = LogFolder(tmp_path / "orders")
    files = [add(path, size=1000, stats=STATS) for path in ("a", "b", "c")]
    folder.commit(0, [PROTOCOL, metadata(), *files])

    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(["optimize", str(folder.root), *arguments, "--state-dir", str(tmp_path / "s")])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_plan_is_shown_with_its_digest_and_changes_nothing(command: Command) -> None:
    code, out, _ = command()
    assert code == 0
    assert out.startswith("Writes 3 files")
    assert "OPTIMIZE" in out
    assert "Nothing was changed. To do it: delta-explorer optimize" in " ".join(out.split())


def test_options_reach_the_plan(command: Command) -> None:
    options = ["--where", "id > 2", "--target-size", "2000", "--zorder", "id", "--zorder", "part"]
    code, out, _ = command(*options, "--json")
    assert code == 0
    plan = json.loads(out)
    assert plan["parameters"]["target_size"] == 2000
    assert plan["parameters"]["where"] == "id > 2"
    assert plan["parameters"]["names"] == ["id", "part"]
    assert [row["action"] for row in plan["file_list"]] == ["remove"] * 3
    code, out, _ = command("--purge", "--json")
    assert (code, json.loads(out)["steps"]) == (0, [])


@pytest.mark.parametrize(
    "arguments",
    [("--target-size", "large"), ("--zorder", "nope"), ("--where", "nope = 1")],
    ids=lambda arguments: arguments[0],
)
def test_what_cannot_be_meant_is_told(command: Command, arguments: tuple[str, ...]) -> None:
    code, out, err = command(*arguments, "--json")
    assert (code, out) == (2, "")
    assert json.loads(err)["error"]["kind"] == "invalid_argument"
