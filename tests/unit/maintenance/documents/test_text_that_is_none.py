"""Text that no encoding has, as from a command line that is no UTF-8, is refused before anything
is done; a receipt is kept whatever it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from explorer.errors import InvalidArgumentError
from explorer.maintenance import (
    Approval,
    StateFolder,
    plan_add_constraint,
    plan_drop_constraint,
    plan_set_properties,
)
from explorer.maintenance.documents.receipt import Receipt
from tests.unit.maintenance.lake import Lake, start

BAD = "caf\udce9"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    found = Lake(tmp_path)
    start(found, found.add("a"))
    return found


@pytest.mark.parametrize("field", ["by", "table_name", "reason"])
def test_approval_that_no_receipt_could_hold_is_refused(field: str) -> None:
    fields: dict[str, Any] = {field: BAD}
    with pytest.raises(InvalidArgumentError) as caught:
        Approval("0" * 64, **fields)
    assert caught.value.reason == "At character 3 it is not Unicode text."
    assert caught.value.remedy == "Write it in UTF-8."


@pytest.mark.parametrize(
    "arguments",
    [({BAD: "1"},), ({"a": BAD},), ({}, [BAD]), ({"a": "1"}, ["b", BAD])],
    ids=["name", "value", "unset", "both"],
)
def test_property_that_no_log_could_hold_is_refused(lake: Lake, arguments: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="cannot be read") as caught:
        plan_set_properties(lake.table, *arguments, clock=lake.clock)
    assert caught.value.remedy == "Write it in UTF-8."
    caught.value.problem.encode()


def test_constraint_that_no_log_could_hold_is_refused(lake: Lake) -> None:
    with pytest.raises(InvalidArgumentError, match="expression cannot be read"):
        plan_add_constraint(lake.table, "good", f"id <> '{BAD}'", clock=lake.clock)
    with pytest.raises(InvalidArgumentError, match="cannot be the name"):
        plan_add_constraint(lake.table, BAD, "id > 0", clock=lake.clock)
    with pytest.raises(InvalidArgumentError, match="name of the constraint cannot be read"):
        plan_drop_constraint(lake.table, BAD, if_exists=True, clock=lake.clock)


def test_receipt_is_kept_whatever_its_texts_are(tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    receipt = Receipt(
        digest="0" * 64,
        operation="vacuum",
        uri="/t",
        table_id="1",
        summary=BAD,
        status="completed",
        started_at=1_780_000_000_000,
        ended_at=1_780_000_000_000,
        approved_by=None,
        reason=BAD,
    )
    state.save_receipt(receipt)
    state.append_journal(receipt.digest, {"event": "ended", "status": BAD})
    assert [found.reason for found in state.list_receipts()] == ["caf?"]
    assert state.read_journal(receipt.digest) == [{"event": "ended", "status": "caf?"}]
