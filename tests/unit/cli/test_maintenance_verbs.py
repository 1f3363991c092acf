"""The verbs that change a table: a plan first, and exactly that plan afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.cli.main import run
from tests.tables import LogFolder, add
from tests.unit.cli.changed_orders import Answer, Command, command_on, write_orders

VERBS = ["checkpoint", "clean-log", "compact-log", "repair", "restore", "set", "vacuum"]


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    return write_orders(tmp_path / "orders", ["stray.parquet", "[bold]\x1b[31m.parquet"])


@pytest.fixture
def command(folder: LogFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    return command_on(folder, tmp_path / "state", capsys)


def document(answer: Answer) -> dict[str, Any]:
    (line,) = answer[1].splitlines()
    return json.loads(line)


def files(folder: LogFolder) -> set[str]:
    return {str(place.relative_to(folder.root)) for place in folder.root.rglob("*")}


@pytest.mark.parametrize(
    "arguments",
    [
        ["checkpoint"],
        ["compact-log"],
        ["vacuum"],
        ["vacuum", "--lite"],
        ["clean-log"],
        ["restore", "--version", "0"],
        ["set", "owner=me"],
        ["repair", "hint"],
        ["repair", "files"],
    ],
    ids=" ".join,
)
def test_plan_is_kept_and_printed_and_changes_nothing(
    folder: LogFolder, command: Command, arguments: list[str]
) -> None:
    before = files(folder)
    code, out, err = command(*arguments)
    assert (code, err) == (0, "")
    plan = document(command(*arguments, "--json"))
    assert plan["format"] == 2
    assert out.startswith(plan["summary"][:40])
    listed = [json.loads(line)["digest"] for line in command("plans", "--json")[1].splitlines()]
    assert listed[0] == plan["digest"]
    assert len(listed) == 2
    assert command("plans", plan["digest"])[0] == 0
    assert files(folder) == before


def test_vacuum_says_what_goes_and_why_and_deletes_it_when_told(
    folder: LogFolder, command: Command
) -> None:
    code, out, _ = command("vacuum")
    assert code == 0
    assert "Permanently deletes 3 files (300 B)" in out
    assert "versions 0 " in out or "version 0 " in out
    assert "removed from the table, and its retention has passed" in out
    assert "stray.parquet" in out
    assert "\x1b" not in out
    digest = out.partition("--apply ")[2].split()[0]
    code, out, err = command("vacuum", "--apply", digest)
    assert (code, err) == (0, "")
    assert "vacuum: completed" in out
    assert not files(folder) & {"gone", "stray.parquet"}
    assert "live" in files(folder)
    assert explorer.open_table(folder.root).latest_version() == 4
    (receipt,) = (json.loads(line) for line in command("receipts", "--json")[1].splitlines())
    assert receipt["status"] == "completed"
    assert json.loads(command("receipts", receipt["id"], "--json")[1]) == receipt
    assert "completed" in command("receipts")[1]


def test_limit_bounds_the_files_of_a_plan(command: Command) -> None:
    assert len(document(command("vacuum", "--json"))["file_list"]) == 3
    assert len(document(command("vacuum", "--json", "--limit", "1"))["file_list"]) == 1
    assert "1 of 3 files" in command("vacuum", "--limit", "1")[1]


def test_guard_that_refuses_ends_with_three(folder: LogFolder, command: Command) -> None:
    (folder.root / "young.parquet").write_bytes(b"x")
    code, out, _ = command("vacuum", "--retention", "1 hour")
    assert code == 3
    assert "Nothing was changed. A blocked plan cannot be applied." in out
    assert out.startswith("Blocked: Files are kept for 1 hour after their removal, ")
    assert out.splitlines()[1].startswith("The plan: Permanently deletes ")
    plan = document(command("vacuum", "--retention", "1 hour", "--json"))
    (verdict,) = (one for one in plan["verdicts"] if one["outcome"] == "refuse")
    assert plan["blocked_by"] == [verdict["message"]]
    assert list(plan)[:3] == ["format", "digest", "blocked_by"]
    assert verdict["message"][:30] in command("plans")[1]
    before = files(folder)
    code, out, err = command("vacuum", "--apply", plan["digest"], "--json")
    assert code == 3
    assert json.loads(out)["status"] == "refused"
    assert json.loads(err)["error"]["kind"] == "plan_refused"
    assert files(folder) == before


def test_name_and_reason_are_given_where_a_guard_asks(folder: LogFolder, command: Command) -> None:
    plan = document(command("vacuum", "--retention", "2 days", "--json"))
    assert "--confirm NAME --reason TEXT" in command("plans", plan["digest"])[1]
    assert command("vacuum", "--apply", plan["digest"])[0] == 3
    assert command("vacuum", "--apply", plan["digest"], "--confirm", "orders")[0] == 3
    words = ["--confirm", "orders", "--reason", "no space"]
    assert command("vacuum", "--apply", plan["digest"], *words)[0] == 0
    assert "stray.parquet" not in files(folder)


def test_restore_that_removes_rows_says_how_many_and_needs_the_name_alone(
    folder: LogFolder, command: Command
) -> None:
    folder.commit(3, [add("more", stats='{"numRecords":41}')])
    out = " ".join(command("restore", "--version", "2")[1].split())
    assert out.startswith("41 rows are removed and 0 return. Restores version 2")
    assert "41 rows of version 3 will no longer be in the table" in out
    assert "--confirm NAME" in out
    assert "--reason" not in out
    plan = document(command("restore", "--version", "2", "--json"))
    moved = {key: plan["effect"][key] for key in ("rows_removed", "rows_returned", "rows_at_most")}
    assert moved == {"rows_removed": 41, "rows_returned": 0, "rows_at_most": False}
    for words in ([], ["--reason", "x"], ["--confirm", "order", "--reason", "x"]):
        assert command("restore", "--apply", plan["digest"], *words)[0] == 3
    assert explorer.open_table(folder.root).latest_version() == 3
    assert command("restore", "--apply", plan["digest"], "--confirm", "orders")[0] == 0
    assert explorer.open_table(folder.root).latest_version() == 4


def test_stale_plan_ends_with_three(folder: LogFolder, command: Command) -> None:
    plan = document(command("restore", "--version", "0", "--json"))
    folder.commit(3, [add("more")])
    words = ["--confirm", plan["subject"]["name"], "--reason", "a test"]
    code, _, err = command("restore", "--apply", plan["digest"], *words, "--json")
    assert code == 3
    assert json.loads(err)["error"]["kind"] == "plan_stale"


def test_run_that_ends_half_way_ends_with_four(
    folder: LogFolder, command: Command, tmp_path: Path
) -> None:
    plan = document(command("set", "delta.checkpointInterval=3", "--json"))
    # the commit can be made, and the checkpoint that is due then cannot
    (folder.log / f"{3:020}.checkpoint.parquet").mkdir()
    code, out, err = command("set", "--apply", plan["digest"], "--json")
    assert code == 4
    assert json.loads(out)["status"] == "partly"
    assert json.loads(err)["error"]["problem"]
    assert explorer.open_table(folder.root).latest_version() == 3


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["vacuum", "--retention", "soon"], 2),
        (["vacuum", "--apply", "0" * 64], 1),
        (["set"], 2),
        (["set", "novalue"], 2),
        (["set", "a\udcff=1"], 2),
        (["set", "a=\udcff"], 2),
        (["set", "--unset", "\udcff"], 2),
        (["set", "delta.checkpointInterval=x"], 2),
        (["repair", "everything"], 2),
        (["restore"], 2),
        (["restore", "--version", "1", "--timestamp", "2026-01-01T00:00:00Z"], 2),
        (["restore", "--version", "99"], 1),
        (["compact-log", "--from", "5", "--to", "9"], 2),
        (["plans", "0" * 64], 1),
        (["receipts", "x"], 1),
    ],
)
def test_what_cannot_be_meant_has_an_exit_code_and_no_traceback(
    command: Command, arguments: list[str], code: int
) -> None:
    found, out, err = command(*arguments, "--json")
    assert found == code
    assert out == ""
    assert set(json.loads(err)["error"]) == {"kind", "problem", "reason", "remedy", "spec"}


@pytest.mark.parametrize("option", ["--reason", "--confirm"])
def test_approval_that_is_no_unicode_text_changes_nothing(
    folder: LogFolder, command: Command, tmp_path: Path, option: str
) -> None:
    plan = document(command("set", "owner=me", "--json"))
    code, out, err = command("set", "--apply", plan["digest"], option, "caf\udce9")
    assert (code, out) == (2, "")
    assert "not Unicode text" in err
    assert explorer.open_table(folder.root).latest_version() == 2
    assert not (tmp_path / "state" / "receipts").exists()


def test_document_that_was_altered_stands_in_the_way_of_no_other(
    command: Command, tmp_path: Path
) -> None:
    plan = document(command("set", "owner=me", "--json"))
    document(command("vacuum", "--json"))
    receipt = document(command("set", "--apply", plan["digest"], "--json"))
    place = tmp_path / "state" / "plans" / f"{plan['digest']}.json"
    place.write_text(place.read_text().replace("owner", "other"))
    kept = tmp_path / "state" / "receipts" / f"{receipt['id']}.json"
    kept.write_text(json.dumps({**receipt, "ended_at": None}))
    code, out, err = command("plans")
    assert (code, err) == (0, "")
    assert "altered" in out
    assert "vacuum" in out
    assert "other" not in out
    listed = [json.loads(line) for line in command("plans", "--json")[1].splitlines()]
    assert [found.get("altered", False) for found in listed] == [False, True]
    code, out, err = command("receipts")
    assert (code, err) == (0, "")
    assert "altered" in out
    told = document(command("receipts", "--json"))
    assert (told["id"], told["altered"]) == (receipt["id"], True)
    for words in (["plans", plan["digest"]], ["receipts", receipt["id"]]):
        code, _, err = command(*words)
        assert code == 2
        assert "cannot be used" in err


def test_plan_of_one_verb_is_not_applied_by_another(command: Command) -> None:
    plan = document(command("checkpoint", "--json"))
    assert command("vacuum", "--apply", plan["digest"])[0] == 2


def test_state_folder_inside_of_the_table_is_refused(
    folder: LogFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(folder)
    arguments = ["vacuum", str(folder.root), "--state-dir", str(folder.root / "state")]
    assert run(arguments) == 2
    assert "inside the table" in capsys.readouterr().err
    assert files(folder) == before


@pytest.mark.parametrize("verb", [*VERBS, "plans", "receipts"])
def test_help_has_an_example(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([verb, "--help"]) == 0
    assert f"delta-explorer {verb}" in capsys.readouterr().out
