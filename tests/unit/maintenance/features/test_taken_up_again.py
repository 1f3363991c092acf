"""A step that only looks is done again where a run is taken up, until the step that rests on it
is done: what it looked at is not what the commit would be made upon any more."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from explorer.maintenance import Plan, Receipt, StateFolder, plan_add_constraint, plan_drop_feature
from explorer.maintenance.features import validation_steps
from explorer.progress import Progress
from explorer.protocol.features.registry import supported_features
from tests.tables import Action, metadata
from tests.unit.maintenance.lake import Lake

STATS = '{"numRecords":3}'


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def start(lake: Lake, *actions: Action, features: tuple[str, ...], **conf: str) -> None:
    """Version 0 with one file and these features, all of writers alone."""
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": [*features]}
    first = [{"protocol": protocol}, metadata(configuration=conf), lake.add("a", stats=STATS)]
    lake.commit(0, [*first, *actions], age_days=9)


def domain(name: str) -> Action:
    return {"domainMetadata": {"domain": name, "configuration": "{}", "removed": False}}


def break_off(lake: Lake, plan: Plan, index: int) -> Receipt:
    """Carry a plan out up to the step of that index, which is not begun."""

    def interrupt(progress: Progress) -> None:
        if progress.label == plan.steps[index].reason and progress.done == index:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lake.execute(plan, progress=interrupt)
    (receipt,) = StateFolder(lake.state).list_receipts()
    assert [step.status for step in receipt.steps[index - 1 : index + 1]] == ["done", "not begun"]
    return receipt


def at_commit_behind_look(plan: Plan) -> int:
    """The index of the commit that rests on what was looked at."""
    return 1 + next(at for at, step in enumerate(plan.steps) if step.kind.startswith("validate"))


def test_rows_that_came_after_a_run_was_broken_off_are_looked_at_too(lake: Lake) -> None:
    """The commit depends on every row: upon the version of the first look it would conflict
    with whatever came since, each time that the plan is taken up."""
    start(lake, features=("appendOnly",))
    plan = plan_add_constraint(lake.table, "positive", "id > 0", clock=lake.clock)
    looked: list[int] = []

    def look(snapshot: Any, *_: Any, **__: Any) -> Any:
        looked.append(snapshot.version)
        return SimpleNamespace(count=0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validation_steps, "find_violations", look)
        break_off(lake, plan, at_commit_behind_look(plan))
        lake.commit(1, [lake.add("b", stats=STATS)], age_days=0)
        receipt = lake.execute(plan)
    assert (receipt.status, looked) == ("completed", [0, 1])
    assert lake.table.latest_version() == 2
    assert "delta.constraints.positive" in lake.table.metadata().configuration


def test_trace_that_came_after_a_run_was_broken_off_is_named(lake: Lake) -> None:
    start(lake, domain("old"), features=("appendOnly", "domainMetadata"))
    plan = plan_drop_feature(lake.table, "domainMetadata", clock=lake.clock)
    break_off(lake, plan, at_commit_behind_look(plan))
    lake.commit(2, [domain("new")], age_days=0)
    receipt = lake.execute(plan)
    assert receipt.status == "partly"
    assert receipt.problem is not None
    assert receipt.problem.kind == "plan_refused"
    assert "Version 2 uses domainMetadata" in receipt.problem.problem
    assert "domainMetadata" in supported_features(lake.table.protocol())
    assert [*lake.table.snapshot().domains] == ["new"]


def test_what_was_looked_at_is_not_looked_at_again_behind_its_commit(lake: Lake) -> None:
    """The rows that come then are held against the constraint by those who write them."""
    start(lake, features=("appendOnly",))
    plan = plan_add_constraint(lake.table, "positive", "id > 0", clock=lake.clock)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            validation_steps, "find_violations", lambda *_, **__: SimpleNamespace(count=0)
        )
        first = break_off(lake, plan, at_commit_behind_look(plan) + 1)
    receipt = lake.execute(plan)
    assert receipt.status == "completed"
    assert (receipt.steps[0].planned, receipt.steps[0].done) == (1, 1)
    assert receipt.steps[0] == first.steps[0]


def test_what_was_done_before_a_run_was_broken_off_is_told_as_it_was(lake: Lake) -> None:
    """A checkpoint that was written is not one that was there already."""
    start(lake, features=("appendOnly", "vacuumProtocolCheck"))
    plan = plan_drop_feature(lake.table, "vacuumProtocolCheck", clock=lake.clock)
    assert [step.kind for step in plan.steps[:2]] == ["commit", "write_checkpoint"]
    first = break_off(lake, plan, 2)
    receipt = lake.execute(plan)
    assert receipt.status == "completed"
    assert receipt.steps[:2] == first.steps[:2]
