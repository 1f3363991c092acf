"""A plan is a document: its digest covers it, and it comes back as it was saved."""

from __future__ import annotations

import json
import os
import shutil
import stat
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from explorer import maintenance
from explorer.errors import InvalidArgumentError, NotFoundError
from explorer.maintenance import Plan, StateFolder, plan_vacuum
from explorer.maintenance.documents.state_folder import default_state_dir
from explorer.maintenance.plan.file_list import FILES_SCHEMA, digest_files
from explorer.maintenance.plan.plan import Verdict, digest_document
from explorer.maintenance.plan.step_types import DeleteFiles
from tests.tables import PROTOCOL, metadata
from tests.unit.maintenance.lake import Lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    found = Lake(tmp_path)
    found.commit(0, [PROTOCOL, metadata(), found.add("live"), found.add("gone")], age_days=40)
    found.commit(1, [found.remove("gone", age_days=9)], age_days=9)
    found.file("stray ä.parquet")
    found.file("notes.txt")
    return found


@pytest.fixture
def plan(lake: Lake) -> Plan:
    return plan_vacuum(lake.table, clock=lake.clock)


def test_planning_changes_nothing(lake: Lake) -> None:
    before = {place: place.stat().st_mtime_ns for place in lake.root.rglob("*")}
    plan_vacuum(lake.table, clock=lake.clock)
    assert {place: place.stat().st_mtime_ns for place in lake.root.rglob("*")} == before


def test_saved_plan_comes_back_equal_by_its_digest_or_the_beginning_of_it(
    lake: Lake, plan: Plan
) -> None:
    state = StateFolder(lake.state)
    state.save_plan(plan)
    for name in (plan.digest, plan.digest[:12]):
        loaded = state.load_plan(name)
        assert loaded == plan
        assert loaded.digest == plan.digest
        assert loaded.table is None
    (listed,) = state.list_plans()
    assert (listed["digest"], listed["summary"]) == (plan.digest, plan.summary)


def test_digest_covers_every_word_and_every_row(plan: Plan) -> None:
    rows = plan.files.to_pylist()
    changed_row = [{**rows[0], "path": "other"}, *rows[1:]]
    longer, shorter = [rows[0], *rows], rows[1:]
    others = [
        replace(plan, summary=plan.summary + " "),
        replace(plan, planned_at=plan.planned_at + 1),
        replace(plan, anchor=replace(plan.anchor, version=0)),
        replace(plan, subject=replace(plan.subject, uri="/elsewhere")),
        replace(plan, verdicts=plan.verdicts[1:]),
        replace(plan, steps=plan.steps[:-1]),
        replace(plan, steps=(plan.steps[0], plan.steps[2], plan.steps[1], *plan.steps[3:])),
        replace(plan, steps=(*plan.steps, DeleteFiles(id="more", reason=""))),
        replace(plan, rests_on=()),
        replace(plan, effect={**plan.effect, "num_bytes": 0}),
        *(
            replace(plan, files=pa.Table.from_pylist(some, schema=FILES_SCHEMA))
            for some in (changed_row, longer, shorter)
        ),
    ]
    assert len({plan.digest, *(other.digest for other in others)}) == len(others) + 1


def test_digest_of_files_does_not_depend_on_how_arrow_holds_them(plan: Plan) -> None:
    files = plan.files
    cut = pa.concat_tables([files.slice(0, 1), files.slice(1)])
    rebuilt = pa.Table.from_pylist(files.to_pylist(), schema=FILES_SCHEMA)
    assert digest_files(files) == digest_files(cut) == digest_files(rebuilt)
    moved = files.set_column(0, "path", pa.array(["a", "bc", *["d"] * (files.num_rows - 2)]))
    other = files.set_column(0, "path", pa.array(["ab", "c", *["d"] * (files.num_rows - 2)]))
    assert digest_files(moved) != digest_files(other)


def test_plan_that_was_saved_before_reasons_were_asked_apart_is_read_and_asks_for_both(
    lake: Lake, plan: Plan
) -> None:
    state = StateFolder(lake.state)
    asks = Verdict(guard="rows", outcome="warn", message="1 row is removed.", asks_for_name=True)
    state.save_plan(replace(plan, verdicts=(asks,)))
    (saved,) = state.list_plans()
    assert saved["verdicts"][0].pop("asks_for_reason") is False
    place, own = lake.state / "plans", saved.pop("digest")
    digest = digest_document(saved)
    (place / f"{digest}.json").write_text(json.dumps(saved))
    shutil.copy(place / f"{own}.arrow", place / f"{digest}.arrow")
    loaded = state.load_plan(digest)
    assert (loaded.digest, loaded.asks_for_name, loaded.asks_for_reason) == (digest, True, True)
    newer = state.load_plan(own)
    assert (newer.asks_for_name, newer.asks_for_reason) == (True, False)


@pytest.mark.parametrize("part", ["json", "arrow"])
def test_document_that_was_altered_is_refused(lake: Lake, plan: Plan, part: str) -> None:
    state = StateFolder(lake.state)
    state.save_plan(plan)
    place = lake.state / "plans" / f"{plan.digest}.{part}"
    if part == "json":
        document = json.loads(place.read_text())
        document["steps"][1]["arguments"] = {"version": 99}
        place.write_text(json.dumps(document))
    else:
        other = replace(plan, files=plan.files.slice(1))
        state.save_plan(other)
        os.replace(lake.state / "plans" / f"{other.digest}.arrow", place)
    with pytest.raises(InvalidArgumentError, match="no longer fits"):
        state.load_plan(plan.digest)


@pytest.mark.parametrize("name", ["", "abc", "0" * 64, "../../../etc/passwd", "*" * 12])
def test_plan_that_is_not_there_is_an_error(lake: Lake, plan: Plan, name: str) -> None:
    state = StateFolder(lake.state)
    state.save_plan(plan)
    with pytest.raises(NotFoundError) as caught:
        state.load_plan(name)
    assert caught.value.kind == "plan_not_found"


def test_documents_are_for_their_owner_alone_and_hold_no_secret(lake: Lake, plan: Plan) -> None:
    state = StateFolder(lake.state)
    state.save_plan(plan)
    assert lake.execute(plan).status == "completed"
    files = [place for place in lake.state.rglob("*") if place.is_file()]
    assert len(files) >= 4
    assert {stat.S_IMODE(place.stat().st_mode) for place in files} == {0o600}
    folders = [place for place in lake.state.rglob("*") if place.is_dir()]
    assert {stat.S_IMODE(place.stat().st_mode) for place in folders} == {0o700}


def test_state_is_never_kept_inside_of_the_table(lake: Lake, plan: Plan) -> None:
    inside = lake.root / "_state"
    with pytest.raises(InvalidArgumentError, match="inside the table"):
        maintenance.execute(plan, maintenance.Approval(plan.digest), state_dir=inside)
    (lake.root.parent / "link").symlink_to(lake.root)
    with pytest.raises(InvalidArgumentError, match="inside the table"):
        maintenance.execute(
            plan, maintenance.Approval(plan.digest), state_dir=lake.root.parent / "link" / "s"
        )
    assert not inside.exists()
    assert lake.there("gone")


def test_state_folder_is_the_users_unless_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/somewhere")
    assert default_state_dir() == Path("/somewhere/delta-explorer")
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert default_state_dir() == Path.home() / ".local/state/delta-explorer"


def test_plan_says_first_what_becomes_impossible(plan: Plan) -> None:
    assert plan.summary.startswith("Permanently deletes 2 files")
    assert "can no longer be read" in plan.summary
    assert all(step.reason for step in plan.steps)
    assert {verdict.guard for verdict in plan.verdicts} >= {"retention", "log", "second route"}
    (deletion,) = (step for step in plan.steps if step.kind == "delete_files")
    assert (deletion.num_files, deletion.num_bytes) == (2, 200)
