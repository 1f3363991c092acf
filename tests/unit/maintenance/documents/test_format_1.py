"""What releases before this one left in a state folder is listed and shown for ever, and an
execution that was cut off is told exactly. `format_1` was saved by such a release."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

import explorer
from explorer.cli.main import run
from explorer.errors import ConflictError, InvalidArgumentError
from explorer.maintenance import Approval, StateFolder, execute, plan_set_properties
from explorer.maintenance.documents.older_plan import describe_run
from explorer.maintenance.plan.plan import digest_document
from tests.unit.maintenance.lake import Lake, start
from widgets.served._unfinished_plans import find_unfinished
from widgets.session.maintenance import Maintenance

SAVED = Path(__file__).parent / "format_1"
SHELF = "/format-1"


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    """A copy that a test may write to."""
    return StateFolder(shutil.copytree(SAVED / "state", tmp_path / "saved"))


@pytest.fixture
def tables() -> Iterator[None]:
    """The logs of the tables whose execution was killed, at the places that the plans name."""
    memory = fsspec.filesystem("memory")
    memory.put(str(SAVED / "tables"), SHELF, recursive=True)
    yield
    memory.rm(SHELF, recursive=True)


def saved(folder: str) -> dict[str, dict[str, Any]]:
    return {place.stem: json.loads(place.read_bytes()) for place in SAVED.glob(f"state/{folder}/*")
            if place.suffix == ".json"}  # fmt: skip


def contents(place: Path) -> dict[str, bytes]:
    files = (found for found in place.rglob("*") if found.is_file())
    return {str(found.relative_to(place)): found.read_bytes() for found in files}


def plan_of(name: str) -> str:
    """The digest of the only plan of a table."""
    (found,) = (
        digest for digest, plan in saved("plans").items()
        if plan["subject"]["uri"].endswith(f"{SHELF}/{name}")
    )  # fmt: skip
    return found


OPERATIONS = {
    "checkpoint", "clean-log", "compact-log", "constraint", "drop-feature", "optimize", "repair",
    "restore", "set-properties", "upgrade", "vacuum",
}  # fmt: skip


def test_the_folder_holds_every_operation_and_every_end() -> None:
    assert {plan["operation"] for plan in saved("plans").values()} == OPERATIONS
    kinds = {step["kind"] for plan in saved("plans").values() for step in plan["steps"]}
    assert len(kinds) == 11
    ends = {receipt["status"] for receipt in saved("receipts").values()}
    assert ends == {"completed", "partly", "cancelled", "refused", "failed"}
    assert {plan["format"] for plan in saved("plans").values()} == {1}
    assert not (SAVED / "state" / "format.json").exists()


def test_every_plan_is_listed_with_all_that_it_says(state: StateFolder) -> None:
    listed = {document.pop("digest"): document for document in state.list_plans()}
    assert {document.pop("note") for document in listed.values()} == {
        "Made by an older release: plan again."
    }
    assert listed == saved("plans")


def test_every_receipt_is_whole(state: StateFolder) -> None:
    found = {one.id: json.loads(json.dumps(one.document)) for one in state.list_receipts()}
    for document in found.values():
        assert document.pop("format") == 2
        assert {step.pop("id") for step in document["steps"]} <= {""}
    assert found == {
        name: {key: value for key, value in receipt.items() if key != "format"}
        for name, receipt in saved("receipts").items()
    }
    for identifier in found:
        assert state.load_receipt(identifier).id == identifier


@pytest.mark.parametrize("digest", sorted(saved("plans")))
def test_no_plan_is_carried_out(state: StateFolder, digest: str) -> None:
    with pytest.raises(ConflictError, match="older release") as caught:
        state.load_plan(digest)
    assert (caught.value.kind, caught.value.remedy[:10]) == ("plan_stale", "Plan again")
    document = state.load_document(digest[:12])
    assert document == {
        "digest": digest, "note": "Made by an older release: plan again.", **saved("plans")[digest]
    }  # fmt: skip
    assert state.load_files(digest).num_rows == document["files"]["num_files"]


TOLD = {
    "vacuum-killed-1": "0 of 7 steps done. The next one, VACUUM START, was not committed.",
    "vacuum-killed-1-more": "0 of 7 steps done. Then VACUUM START was committed as version 6.",
    "vacuum-killed-2": "1 of 7 steps done: VACUUM START (version 6). The next one, write "
    "checksum, may have been finished.",
    "vacuum-killed-4": "3 of 7 steps done: VACUUM START (version 6), write checksum, write "
    "checkpoint. The next one, delete files, had finished 0 of 2 files by the last line of the "
    "journal, and may have finished more.",
    "vacuum-killed-5": "3 of 7 steps done: VACUUM START (version 6), write checksum, write "
    "checkpoint. The next one, delete files, had finished 2 of 2 files by the last line of the "
    "journal, and may have finished more.",
    "vacuum-killed-6": "4 of 7 steps done: VACUUM START (version 6), write checksum, write "
    "checkpoint, delete files (2 files). The next one, VACUUM END, was not committed.",
    "vacuum-killed-6-more": "4 of 7 steps done: VACUUM START (version 6), write checksum, write "
    "checkpoint, delete files (2 files). Then VACUUM END was committed as version 7.",
    "set-killed": "0 of 3 steps done. The next one, SET TBLPROPERTIES, was not committed.",
    "set-killed-more": "0 of 3 steps done. Then SET TBLPROPERTIES was committed as version 6.",
    "drop-constraint-killed-more": "0 of 3 steps done. Then DROP CONSTRAINT was committed as "
    "version 6.",
    "add-constraint-killed": "0 of 4 steps done. The next one, validate rows, had finished 0 of "
    "5 files by the last line of the journal, and may have finished more.",
    "checkpoint-killed-more": "0 of 1 step done. The next one, write checkpoint, may have been "
    "finished.",
    "optimize-killed-2": "0 of 3 steps done. The next one, OPTIMIZE, was not committed. Files "
    "that it may have written belong to no version: vacuum deletes them once they are older than "
    "the retention.",
    "optimize-killed-2-more": "0 of 3 steps done. Then OPTIMIZE was committed as version 1.",
    "repair-statistics-killed-more": "0 of 3 steps done. Then repair statistics was committed as "
    "version 1.",
}


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("name", TOLD)
def test_execution_that_was_cut_off_is_told_exactly(state: StateFolder, name: str) -> None:
    table = explorer.open_table(f"memory://{SHELF}/{name}")
    with pytest.raises(ConflictError) as caught:
        state.load_plan(plan_of(name), table)
    assert caught.value.reason == (
        f"Such plans are no longer carried out. Its execution was interrupted with {TOLD[name]}"
    )


@pytest.mark.usefixtures("tables")
def test_what_the_log_no_longer_tells_is_not_claimed(state: StateFolder) -> None:
    name = "set-killed-more"
    table = explorer.open_table(f"memory://{SHELF}/{name}")
    with pytest.raises(ConflictError, match="the table's history says"):
        state.load_plan(plan_of(name))
    other = explorer.open_table(f"memory://{SHELF}/set-killed")
    with pytest.raises(ConflictError, match="the table's history says"):
        state.load_plan(plan_of(name), other)
    log = f"{SHELF}/{name}/_delta_log"
    memory = fsspec.filesystem("memory")
    memory.cp_file(f"{log}/{6:020}.json", f"{log}/{7:020}.json")
    memory.rm_file(f"{log}/{6:020}.json")
    with pytest.raises(ConflictError, match="can no longer be told from the log"):
        state.load_plan(plan_of(name), table)


def test_plan_that_was_not_begun_and_one_that_ended_are_told(state: StateFolder) -> None:
    with pytest.raises(ConflictError, match="It was never started: it changed nothing"):
        state.load_plan(plan_of("add-constraint-done"))
    with pytest.raises(ConflictError, match="ended as completed; the receipt 1") as caught:
        state.load_plan(plan_of("upgrade-done"))
    receipt = caught.value.reason.split("the receipt ")[1].split()[0]
    assert state.load_receipt(receipt).operation == "upgrade"


def test_execution_that_was_cancelled_resumed_and_cut_off_is_told_as_cut_off() -> None:
    digest = plan_of("cancelled")
    lines = (SAVED / "state" / "runs" / f"{digest}.journal").read_text().splitlines()
    journal = [json.loads(line) for line in lines]
    plan = saved("plans")[digest]
    assert describe_run(plan, journal).startswith("Its execution ended as cancelled; the receipt")
    told = describe_run(plan, [*journal, journal[0]])
    assert told.startswith("Its execution was interrupted with 3 of 7 steps done: VACUUM START")


STRANGE: list[Any] = [None, 1, -1, True, "x", [], {}, [1], [None], {"a": 1}]


@pytest.mark.parametrize("value", STRANGE, ids=repr)
def test_journal_or_plan_that_was_changed_by_hand_is_no_bug(value: Any) -> None:
    plan = saved("plans")[plan_of("vacuum-killed-5")]
    lines: list[dict[str, Any]] = [
        {"event": "begun"},
        {"event": "done", "step": 0},
        {"event": "batch", "step": 1},
    ]
    for name in ("event", "step", "counts", "result", "status", "receipt"):
        for event in ("begun", "batch", "done", "ended"):
            describe_run(plan, [*lines, {"event": event, "step": 1, name: value}])
    for name in ("kind", "reason", "num_files", "num_bytes", "arguments"):
        describe_run({**plan, "steps": [{**plan["steps"][0], name: value}]}, lines)
    describe_run({**plan, "steps": value}, lines)


def test_document_that_was_changed_is_altered_and_no_older_plan(state: StateFolder) -> None:
    digest = plan_of("set-killed")
    place = state.place / "plans" / f"{digest}.json"
    place.write_bytes(place.read_bytes().replace(b'"owner"', b'"other"'))
    with pytest.raises(InvalidArgumentError, match="no longer fits"):
        state.load_plan(digest)
    assert [plan["digest"] for plan in state.list_plans() if plan.get("altered")] == [digest]


def test_new_documents_lie_beside_the_old_ones_which_stay_as_they_are(
    state: StateFolder, tmp_path: Path
) -> None:
    before = contents(state.place)
    lake = Lake(tmp_path)
    start(lake, lake.add("a"))
    plan = plan_set_properties(lake.table, {"a": "b"}, clock=lake.clock)
    state.save_plan(plan)
    approval = Approval(plan.digest)
    receipt = execute(plan, approval, state_dir=state.place, clock=lake.clock)
    assert receipt.status == "completed"
    assert state.load_plan(plan.digest) == plan
    after = contents(state.place)
    assert {name: after[name] for name in before} == before
    assert json.loads(after["format.json"]) == {"format": 2}
    assert len(state.list_plans()) == len(saved("plans")) + 1
    assert len(state.list_receipts()) == len(saved("receipts")) + 1


def test_command_line_lists_shows_and_refuses(
    state: StateFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    digest = plan_of("vacuum-killed-6")
    assert run(["plans", "--state-dir", str(state.place)]) == 0
    assert "Made by an older release: plan again." in " ".join(capsys.readouterr().out.split())
    assert run(["plans", digest[:12], "--state-dir", str(state.place)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "interrupted with 4 of 7 steps done" in out
    assert "VACUUM END" in out
    assert run(["plans", digest[:12], "--state-dir", str(state.place), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["format"], shown["digest"], len(shown["steps"])) == (1, digest, 7)
    assert shown["execution"].startswith("Its execution was interrupted")
    (identifier, *_) = saved("receipts")
    assert run(["receipts", identifier, "--state-dir", str(state.place)]) == 0
    assert f"receipt {identifier}" in capsys.readouterr().out


@pytest.mark.usefixtures("tables")
def test_command_line_says_what_was_done_where_an_older_plan_is_applied(
    state: StateFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "set-killed-more"
    place = f"memory://{SHELF}/{name}"
    before = contents(state.place)
    code = run(["set", place, "--apply", plan_of(name), "--state-dir", str(state.place)])
    said = " ".join(capsys.readouterr().err.split())
    assert code == 3
    assert "SET TBLPROPERTIES was committed as version 6" in said
    assert "Plan again" in said
    assert contents(state.place) == before


def test_server_tells_of_each_execution_that_was_cut_off(state: StateFolder) -> None:
    said = find_unfinished(state)
    killed = [plan for plan in saved("plans").values() if "-killed" in plan["subject"]["uri"]]
    assert len(said) == len(killed)
    assert all("made by another release. Its execution was interrupted" in text for text in said)


def test_page_undoes_properties_that_an_older_release_has_set(state: StateFolder) -> None:
    (receipt,) = (one for one in state.list_receipts() if one.digest == plan_of("set-done"))
    answers = Maintenance(state=state).undo_properties(receipt)
    assert answers == {"set": "", "unset": "owner"}


def test_plan_says_nothing_of_its_own_digest_and_release(state: StateFolder) -> None:
    document = {**saved("plans")[plan_of("set-killed")], "digest": "0" * 64, "note": "Carry on."}
    digest = digest_document(document)
    (state.place / "plans" / f"{digest}.json").write_text(json.dumps(document))
    (state.place / "plans" / f"{digest}.arrow").write_bytes(b"")
    found = state.load_document(digest)
    assert (found["digest"], found["note"]) == (digest, "Made by an older release: plan again.")
    assert found in state.list_plans()


def test_plan_of_a_later_release_is_listed_and_not_carried_out(
    state: StateFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    document = {**saved("plans")[plan_of("set-killed")], "format": 3, "steps": {"of": "later"}}
    digest = digest_document(document)
    (state.place / "plans" / f"{digest}.json").write_text(json.dumps(document))
    shutil.copy(
        state.place / "plans" / f"{plan_of('set-killed')}.arrow",
        state.place / "plans" / f"{digest}.arrow",
    )
    notes = {plan["digest"]: plan.get("note") for plan in state.list_plans()}
    assert notes[digest] == "Made by a later release."
    with pytest.raises(ConflictError, match="later release"):
        state.load_plan(digest)
    assert run(["plans", digest, "--state-dir", str(state.place)]) == 0
    assert "Made by a later release." in capsys.readouterr().out
