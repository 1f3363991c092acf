"""A state folder says its format; one of a later release is refused and stays as it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.cli.main import run
from explorer.errors import DeltaError, InvalidArgumentError, StorageError, UnsupportedError
from explorer.maintenance import Plan, Receipt, StateFolder, plan_set_properties
from tests.unit.maintenance.lake import Lake, start

Use = Callable[[StateFolder, Plan, Receipt], object]

USES: dict[str, Use] = {
    "save a plan": lambda state, plan, _: state.save_plan(plan),
    "load a plan": lambda state, plan, _: state.load_plan(plan.digest),
    "load a part of a digest": lambda state, plan, _: state.load_plan(plan.digest[:12]),
    "load a document": lambda state, plan, _: state.load_document(plan.digest),
    "list plans": lambda state, *_: state.list_plans(),
    "save a receipt": lambda state, _, receipt: state.save_receipt(receipt),
    "load a receipt": lambda state, _, receipt: state.load_receipt(receipt.id),
    "list receipts": lambda state, *_: state.list_receipts(),
    "read a journal": lambda state, plan, _: state.read_journal(plan.digest),
    "append to a journal": lambda state, plan, _: state.append_journal(plan.digest, {"a": 1}),
    "hold a plan": lambda state, plan, _: state.running(plan.digest).__enter__(),
}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    found = Lake(tmp_path)
    start(found, found.add("a"))
    return found


@pytest.fixture
def kept(lake: Lake) -> tuple[StateFolder, Plan, Receipt]:
    state = StateFolder(lake.state)
    plan = plan_set_properties(lake.table, {"a": "b"}, clock=lake.clock)
    state.save_plan(plan)
    return state, plan, lake.execute(plan)


def contents(place: Path) -> dict[str, bytes]:
    files = (found for found in place.rglob("*") if found.is_file())
    return {str(found.relative_to(place)): found.read_bytes() for found in files}


def test_folder_says_its_format_from_the_first_document_on(lake: Lake) -> None:
    state = StateFolder(lake.state)
    assert state.list_plans() == []
    assert not lake.state.exists(), "nothing is created before something is saved"
    with state.running("0" * 64):
        assert json.loads((lake.state / "format.json").read_bytes()) == {"format": 2}


def test_place_that_is_no_folder_is_told_as_such(lake: Lake) -> None:
    lake.state.write_bytes(b"")
    plan = plan_set_properties(lake.table, {"a": "b"}, clock=lake.clock)
    state = StateFolder(lake.state)
    assert state.list_plans() == []
    with pytest.raises(StorageError, match="cannot be written"):
        state.save_plan(plan)


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b'{"format":3}', UnsupportedError),
        (b'{"format":999,"more":[]}', UnsupportedError),
        (b"", InvalidArgumentError),
        (b"no json", InvalidArgumentError),
        (b'{"format":"2"}', InvalidArgumentError),
        (b'{"format":true}', InvalidArgumentError),
        (b'{"format":0}', InvalidArgumentError),
    ],
)
def test_folder_of_a_later_release_is_refused_and_not_rewritten(
    kept: tuple[StateFolder, Plan, Receipt], use: Use, data: bytes, error: type[DeltaError]
) -> None:
    state, *_ = kept
    (state.place / "format.json").write_bytes(data)
    before = contents(state.place)
    with pytest.raises(error) as caught:
        use(*kept)
    assert str(state.place) in caught.value.problem
    assert contents(state.place) == before


def test_execution_is_refused_before_it_changes_anything(lake: Lake) -> None:
    plan = plan_set_properties(lake.table, {"a": "b"}, clock=lake.clock)
    lake.state.mkdir()
    (lake.state / "format.json").write_bytes(b'{"format":3}')
    with pytest.raises(UnsupportedError, match="later release"):
        lake.execute(plan)
    assert lake.table.latest_version() == 0
    assert [*contents(lake.state)] == ["format.json"]


def test_command_line_says_what_to_do(
    lake: Lake, kept: tuple[StateFolder, Plan, Receipt], capsys: pytest.CaptureFixture[str]
) -> None:
    state, *_ = kept
    (state.place / "format.json").write_bytes(b'{"format":3}')
    for words in (["plans"], ["receipts"], ["set", str(lake.root), "a=c"]):
        assert run([*words, "--state-dir", str(state.place)]) == 1
        said = " ".join(capsys.readouterr().err.split())
        assert "belongs to a later release" in said
        assert "--state-dir" in said
