"""The verb that writes data files again, as far as it goes without Spark: its plans."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.cli.main import run
from explorer.maintenance import StateFolder
from explorer.writing.files.leftovers import Leftovers
from tests.tables import PROTOCOL, LogFolder, add, metadata
from tests.unit.maintenance.vain import HOSTILE, receipt_of

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
    assert out.startswith("Rewrites 3 files")
    assert "OPTIMIZE" in out
    assert "Nothing was changed. To apply this plan: delta-explorer optimize" in " ".join(
        out.split()
    )


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


def test_receipt_names_what_a_run_wrote_in_vain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = tuple(f"part=a/{number:02}.parquet" for number in range(30))
    receipt = receipt_of(Leftovers(num_removed=7, left=(HOSTILE, *names), unlisted=("part=b/x",)))
    StateFolder(tmp_path / "s").save_receipt(receipt)
    run(["receipts", receipt.id, "--state-dir", str(tmp_path / "s")])
    out = capsys.readouterr().out
    text = " ".join(out.split())
    assert "7 files that it had written were removed again." in text
    assert "31 files that it had written are still there" in text
    assert "left: part=a/08.parquet" in out
    assert "09.parquet" not in out
    assert "and 21 more" in text
    assert "may begin with: part=b/x" in out
    assert "\x1b" not in out
    run(["receipts", receipt.id, "--json", "--state-dir", str(tmp_path / "s")])
    (step,) = json.loads(capsys.readouterr().out)["steps"]
    assert step["result"]["staged_left"] == [HOSTILE, *names]
