"""What a verb says of a plan that it applies: with which words, and what became of it."""

from __future__ import annotations

import json
import shlex
import time
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.cli.arguments._plan_arguments import ARGUMENTS
from explorer.cli.arguments.maintenance_options import _shared
from explorer.cli.changing.maintenance_verbs import CHANGING_VERBS
from explorer.cli.main import run
from tests.tables import LogFolder
from tests.unit.cli.changed_orders import DAY, Command, command_on, write_orders


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    return write_orders(tmp_path / "orders", ["stray.parquet"])


@pytest.fixture
def command(folder: LogFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    return command_on(folder, tmp_path / "kept here", capsys)


def planned(command: Command, verb: str, *arguments: str) -> dict[str, Any]:
    code, out, err = command(verb, *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


@pytest.mark.parametrize(
    ("verb", "made_with", "other", "says"),
    [
        (
            "vacuum",
            ["--retention", "2 days"],
            ["--retention", "30 days"],
            "The plan keeps files for 2 days, but --retention says 30 days.",
        ),
        ("vacuum", [], ["--lite"], "The plan was made without --lite."),
        (
            "restore",
            ["--version", "0"],
            ["--version", "1"],
            "The plan restores version 0, but --version says 1.",
        ),
        (
            "set",
            ["owner=me"],
            ["owner=you"],
            "The plan sets owner=me, but the command says owner=you.",
        ),
        (
            "set",
            ["owner=me"],
            ["--unset", "a"],
            "The plan does not have it, but --unset says a.",
        ),
        ("repair", ["hint"], ["files"], "The plan repairs the hint, but the command says files."),
        (
            "compact-log",
            ["--from", "0", "--to", "2"],
            ["--to", "1"],
            "The plan ends with version 2, but --to says 1.",
        ),
        (
            "constraint",
            ["add", "positive", "id > 0"],
            ["drop", "positive"],
            "The plan says add, but the command says drop.",
        ),
        (
            "upgrade",
            ["deletionVectors"],
            ["rowTracking"],
            "The plan enables deletionVectors, but the command says rowTracking.",
        ),
        (
            "optimize",
            ["--target-size", "128mb"],
            ["--target-size", "1gb"],
            "The plan makes files of 128.0 MiB, but --target-size says 1.0 GiB.",
        ),
        (
            "column",
            ["add", "note STRING"],
            ["add", "other STRING"],
            "The plan is about note string, but the command says other string.",
        ),
        (
            "column",
            ["change", "id", "--comment", "a"],
            ["change", "id", "--comment", "b"],
            "The plan says a, but --comment says b.",
        ),
        (
            "clean-log",
            ["--retention", "30 days"],
            ["--retention", "31 days"],
            "The plan keeps the log for 30 days, but --retention says 31 days.",
        ),
    ],
)
def test_argument_that_is_not_the_plans_ends_with_two_and_nothing_is_done(
    folder: LogFolder,
    command: Command,
    verb: str,
    made_with: list[str],
    other: list[str],
    says: str,
) -> None:
    plan = planned(command, verb, *made_with)
    before = {place.name for place in folder.root.rglob("*")}
    code, out, err = command(verb, *other, "--apply", plan["digest"])
    assert (code, out) == (2, "")
    assert says in " ".join(err.split())
    assert "Leave it out, or plan again." in err
    assert {place.name for place in folder.root.rglob("*")} == before
    assert command("receipts", "--json")[1] == ""


@pytest.mark.parametrize(
    ("verb", "made_with", "again"),
    [
        ("vacuum", ["--retention", "8 days"], ["--retention", "192 hours"]),
        ("restore", ["--version", "0"], ["--version", "0"]),
        ("set", ["owner=me", "a=b"], ["a=b", "owner=me"]),
        ("set", ["--unset", "delta.checkpointInterval"], ["--unset", "delta.checkpointInterval"]),
        ("repair", ["hint"], ["hint"]),
        ("upgrade", ["deletionVectors"], ["deletionVectors"]),
        ("optimize", ["--target-size", "1024mb"], ["--target-size", "1gb"]),
        ("checkpoint", [], []),
    ],
)
def test_argument_that_is_the_plans_is_fine(
    command: Command, verb: str, made_with: list[str], again: list[str]
) -> None:
    plan = planned(command, verb, *made_with)
    asked = any(verdict["asks_for_name"] for verdict in plan["verdicts"])
    words = ["--confirm", plan["subject"]["name"], "--reason", "a test"] if asked else []
    code, out, err = command(verb, *again, "--apply", plan["digest"], *words)
    assert (code, err) == (0, "")
    assert "completed" in out


def test_time_beside_a_plan_is_the_version_that_was_current_then(
    folder: LogFolder, command: Command
) -> None:
    plan = planned(command, "restore", "--version", "0")
    times = [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - days * DAY))
             for days in (15, 8.5)]  # fmt: skip
    code, _, err = command("restore", "--timestamp", times[1], "--apply", plan["digest"])
    assert code == 2
    assert "restores version 0, but --timestamp says version 1" in " ".join(err.split())
    words = ["--confirm", plan["subject"]["name"], "--reason", "a test"]
    assert command("restore", "--timestamp", times[0], "--apply", plan["digest"], *words)[0] == 0


def test_empty_digest_names_no_plan(command: Command) -> None:
    code, _, err = command("vacuum", "--apply", "")
    assert code == 2
    assert "No plan is named." in err


def test_printed_way_on_can_be_typed_as_it_stands(
    command: Command, folder: LogFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = command("set", "owner=me")
    words = shlex.split(out.partition("To apply this plan: delta-explorer ")[2])
    assert run(words) == 0
    assert "completed" in capsys.readouterr().out
    assert explorer.open_table(folder.root).metadata().configuration["owner"] == "me"
    digest = words[words.index("--apply") + 1]
    assert "kept here" in command("plans", digest)[1]


def test_printed_way_on_names_storage_options_and_not_their_values(
    folder: LogFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["set", str(folder.root), "owner=me", "--state-dir", str(tmp_path / "s")]
    assert run([*words, "-o", "auto_mkdir=hush", "--option", "a key=hush"]) == 0
    out = capsys.readouterr().out
    assert "--option auto_mkdir=… --option 'a key'=…" in out
    assert "hush" not in out


def test_missing_confirmation_names_its_options_and_the_summary_is_a_plan(
    command: Command,
) -> None:
    plan = planned(command, "vacuum", "--retention", "2 days")
    for given in ([], ["--confirm", "orders"]):
        code, out, err = command("vacuum", "--apply", plan["digest"], *given)
        assert code == 3
        assert "Add `--confirm orders --reason TEXT`" in " ".join(err.split())
        assert "\nPlanned: Permanently deletes 2 files" in out
    words = ["--confirm", "orders", "--reason", "no space"]
    code, out, _ = command("vacuum", "--apply", plan["digest"], *words)
    assert (code, "Planned" in out) == (0, False)


def test_plan_that_was_carried_out_before_says_that_nothing_was_done_now(
    folder: LogFolder, command: Command
) -> None:
    plan = planned(command, "set", "owner=me")
    assert "before" not in command("set", "--apply", plan["digest"])[1].partition("step")[0]
    code, out, _ = command("set", "--apply", plan["digest"])
    assert code == 0
    assert "This plan was already carried out at 20" in out
    assert "UTC; nothing was changed now." in out
    code, out, _ = command("set", "--apply", plan["digest"], "--json")
    (receipt,) = command("receipts", "--json")[1].splitlines()
    assert (code, json.loads(out)) == (0, json.loads(receipt))
    assert explorer.open_table(folder.root).latest_version() == 3


def test_receipt_says_the_version_that_was_made_what_was_not_due_and_the_way_back(
    folder: LogFolder, command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = planned(command, "set", "owner=me", "delta.checkpointInterval=50")
    _, out, _ = command("set", "--apply", plan["digest"])
    assert "done (version 3)" in out
    assert "not due" in out
    way = out.partition("Undo: `delta-explorer ")[2].partition("`")[0]
    assert shlex.split(way) == [
        "set", str(folder.root), "--unset", "delta.checkpointInterval", "--unset", "owner",
    ]  # fmt: skip
    plan = planned(command, *shlex.split(way.replace(shlex.quote(str(folder.root)), "")))
    assert command("set", "--apply", plan["digest"])[0] == 0
    assert not explorer.open_table(folder.root).metadata().configuration


def test_lists_without_an_entry_say_so(command: Command, tmp_path: Path) -> None:
    for verb in ("plans", "receipts"):
        code, out, _ = command(verb)
        assert (code, " ".join(out.split())) == (0, f"No {verb} in {tmp_path / 'kept here'} yet.")
        assert command(verb, "--json")[1] == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["set", "a=1", "a=2"], "The property a is given twice."),
        (["compact-log", "--from", "x"], "Invalid value for '--from': 'x' is not a whole number."),
        (["compact-log", "--to", "0"], "Name the first version too (--from)."),
        (["compact-log", "--from", "2", "--to", "2"], "Version 2 alone cannot be compacted."),
        (["restore", "--timestamp", "2026-11-20"], "Write 2026-11-20T00:00:00Z for UTC"),
        (["restore", "--timestamp", "2026-11-20Z"], "Write 2026-11-20T00:00:00Z."),
        (["restore", "--timestamp", "now"], "Write it like 2026-11-01T00:00:00Z."),
    ],
)
def test_wrong_words_are_told_how_to_be_right(
    command: Command, arguments: list[str], says: str
) -> None:
    code, _, err = command(*arguments)
    assert code == 2
    assert says in " ".join(err.split())


def test_help_of_restore_says_what_it_does_with_a_version(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["restore", "--help"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "--version N Restore this version." in out
    assert "instead of the newest" not in out


def test_list_of_a_vacuum_says_from_when_a_file_may_go(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert "deletable from" in command("vacuum", "--retention", "10 days")[1]


def test_every_argument_of_a_verb_is_held_against_the_plan() -> None:
    shared = set(signature(_shared).parameters)
    asked = {
        {"set": "set-properties"}.get(verb, verb): set(signature(called).parameters) - shared
        for verb, called in CHANGING_VERBS.items()
    }
    assert asked == {operation: set(known) for operation, known in ARGUMENTS.items()}


@pytest.mark.parametrize("by", ["ada", None])
def test_commit_and_receipt_carry_the_name_that_was_given_and_no_other(
    command: Command, folder: LogFolder, by: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "account-of-the-system")
    named = [] if by is None else ["--by", by]
    code, out, _ = command("set", "owner=me", *named)
    assert code == 0
    assert ("--by ada" in out) is (by is not None)  # the way on keeps it
    digest = planned(command, "set", "owner=me")["digest"]
    code, out, err = command("set", "--apply", digest, *named)
    assert (code, err) == (0, "")
    assert ("approved by ada" in out) is (by is not None)
    newest = explorer.open_table(folder.root).history(1)
    assert newest.column("user_name").to_pylist() == [by]
    code, out, _ = command("receipts", "--json")
    assert json.loads(out.splitlines()[0])["approved_by"] == by
    assert "account-of-the-system" not in out


def test_name_that_is_no_text_is_a_mistake_of_the_caller(command: Command) -> None:
    digest = planned(command, "set", "owner=me")["digest"]
    code, _, err = command("set", "--apply", digest, "--by", "caf\udce9")
    assert code == 2
    assert "The name of the person in the approval cannot be read." in err
