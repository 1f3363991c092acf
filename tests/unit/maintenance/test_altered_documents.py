"""A document that was changed by hand is told as altered, and stands in the way of no other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from explorer.errors import InvalidArgumentError
from explorer.maintenance import Plan, Receipt, StateFolder, plan_checkpoint, plan_set_properties
from explorer.maintenance.plan.plan import digest_document
from tests.unit.maintenance.lake import Lake, start


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    found = Lake(tmp_path)
    start(found, found.add("a"))
    return found


@pytest.fixture
def state(lake: Lake) -> StateFolder:
    return StateFolder(lake.state)


@pytest.fixture
def sound(lake: Lake, state: StateFolder) -> Plan:
    found = plan_checkpoint(lake.table, clock=lake.clock)
    state.save_plan(found)
    return found


@pytest.fixture
def plan(lake: Lake, state: StateFolder) -> Plan:
    found = plan_set_properties(lake.table, {"a": "b"}, clock=lake.clock)
    state.save_plan(found)
    return found


def changed(document: dict[str, Any], name: str, value: Any) -> bytes:
    return json.dumps({**document, name: value}).encode()


STRANGE = [None, 1, "soon", -1, 10**18, True, [], {}, [None], {"a": 1}, 1.5]


@pytest.mark.parametrize("data", [b"{}", b"[]", b"", b"no", b"null", b'{"a":', b"\xff"])
def test_plan_that_is_none_is_listed_as_altered(
    lake: Lake, state: StateFolder, sound: Plan, plan: Plan, data: bytes
) -> None:
    (lake.state / "plans" / f"{plan.digest}.json").write_bytes(data)
    first, second = state.list_plans()
    assert (first["digest"], first["summary"]) == (sound.digest, sound.summary)
    assert (second["digest"], second["altered"]) == (plan.digest, True)
    with pytest.raises(InvalidArgumentError, match="no longer fits"):
        state.load_plan(plan.digest)


@pytest.mark.parametrize("name", ["subject", "planned_at", "summary", "operation", "steps"])
def test_plan_with_a_changed_value_is_listed_as_altered(
    lake: Lake, state: StateFolder, sound: Plan, plan: Plan, name: str
) -> None:
    for value in (*STRANGE, "Nothing is done."):
        place = lake.state / "plans" / f"{plan.digest}.json"
        place.write_bytes(changed(plan.document, name, value))
        assert [found.get("altered") for found in state.list_plans()] == [None, True]
        assert "Nothing is done." not in {found["summary"] for found in state.list_plans()}
        with pytest.raises(InvalidArgumentError, match="no longer fits"):
            state.load_plan(plan.digest)


def test_document_that_lies_under_its_own_digest_is_no_plan_for_that(
    lake: Lake, state: StateFolder, sound: Plan
) -> None:
    for document in ({}, {**sound.document, "subject": None}, {**sound.document, "planned_at": ""}):
        digest = digest_document(document)
        (lake.state / "plans" / f"{digest}.json").write_text(json.dumps(document))
        (lake.state / "plans" / f"{digest}.arrow").write_bytes(b"")
        found = {listed["digest"]: listed.get("altered") for listed in state.list_plans()}
        assert (found[digest], found[sound.digest]) == (True, None)
        with pytest.raises(InvalidArgumentError, match="no longer fits"):
            state.load_plan(digest)


def test_plan_whose_file_list_is_gone_is_altered(
    lake: Lake, state: StateFolder, plan: Plan
) -> None:
    (lake.state / "plans" / f"{plan.digest}.arrow").unlink()
    assert [found.get("altered") for found in state.list_plans()] == [True]
    with pytest.raises(InvalidArgumentError, match="no longer fits"):
        state.load_plan(plan.digest)


@pytest.mark.parametrize(
    "name", ["started_at", "ended_at", "status", "summary", "steps", "checks", "problem", "undo"]
)
def test_receipt_with_a_changed_value_is_told_as_altered(
    lake: Lake, state: StateFolder, sound: Plan, plan: Plan, name: str
) -> None:
    other, receipt = lake.execute(sound), lake.execute(plan)
    place = lake.state / "receipts" / f"{receipt.id}.json"
    for value in STRANGE:
        if name == "ended_at" and value == 1:
            continue  # nobody can tell
        if value in [None, [], "soon"] and name in {"problem", "undo", "steps", "checks"}:
            continue  # as above
        if name == "summary" and isinstance(value, str):
            continue  # as above
        place.write_bytes(changed(receipt.document, name, value))
        assert state.receipts_by_id() == {other.id: other, receipt.id: None}
        assert state.list_receipts() == [other]
        with pytest.raises(InvalidArgumentError, match="cannot be used"):
            state.load_receipt(receipt.id)


def test_step_of_a_receipt_with_a_changed_value_is_told(
    lake: Lake, state: StateFolder, plan: Plan
) -> None:
    receipt = lake.execute(plan)
    place = lake.state / "receipts" / f"{receipt.id}.json"
    for name in ("status", "kind", "done", "result", "exceptions"):
        document = json.loads(json.dumps(receipt.document))
        document["steps"][0][name] = 1.5
        place.write_text(json.dumps(document))
        assert state.receipts_by_id() == {receipt.id: None}


def test_receipt_that_was_altered_is_written_again(
    lake: Lake, state: StateFolder, plan: Plan
) -> None:
    first: Receipt = lake.execute(plan)
    version = lake.table.latest_version()
    (lake.state / "receipts" / f"{first.id}.json").write_bytes(b"{}")
    lake.now_ms += 1000
    again = lake.execute(plan)
    assert again.status == "completed"
    assert [step.result for step in again.steps] == [step.result for step in first.steps]
    assert lake.table.latest_version() == version
    assert state.receipts_by_id() == {again.id: again, first.id: None}
