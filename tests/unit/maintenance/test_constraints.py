"""CHECK constraints are planned with their names and expressions looked at; the rows are a
matter of `tests/interop/test_feature_peers.py`, where there is Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from explorer.errors import InvalidArgumentError
from explorer.maintenance import (
    Plan,
    StateFolder,
    plan_add_constraint,
    plan_drop_constraint,
)
from explorer.maintenance.plan.step_types import Commit
from explorer.protocol.actions import Metadata
from explorer.protocol.commit_json import render_action
from tests.tables import FEATURE_PROTOCOL, PROTOCOL, metadata
from tests.unit.maintenance.lake import Lake, outcome


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    found = Lake(tmp_path)
    conf = {"delta.constraints.Old": "id < 9", "delta.constraints.odd name": "id < 8"}
    protocol = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 3}}
    found.commit(0, [protocol, metadata(configuration=conf), found.add("a")], age_days=9)
    return found


def add(lake: Lake, name: str, expression: str = "id > 0", **named: Any) -> Plan:
    return plan_add_constraint(lake.table, name, expression, clock=lake.clock, **named)


def drop(lake: Lake, name: str, **named: Any) -> Plan:
    return plan_drop_constraint(lake.table, name, clock=lake.clock, **named)


@pytest.mark.rule("column-check-key", "column-check-add-validates")
def test_plan_looks_at_every_row_before_it_commits(lake: Lake) -> None:
    plan = add(lake, "positive")
    assert [step.kind for step in plan.steps][:2] == ["validate_rows", "commit"]
    assert outcome(plan, "commit") == "allow"
    validation, commit = plan.steps[:2]
    assert isinstance(commit, Commit)
    assert commit.basis.reads == "every row"
    assert commit.basis.upon is validation
    (changed,) = commit.actions  # the number stands for the feature already
    assert isinstance(changed, Metadata)
    assert changed.configuration["delta.constraints.positive"] == "id > 0"
    assert changed.configuration["delta.constraints.Old"] == "id < 9"
    assert "can no longer be written" in plan.summary
    StateFolder(lake.state).save_plan(plan)
    assert StateFolder(lake.state).load_plan(plan.digest) == plan


@pytest.mark.rule("column-check-add-needs-support")
@pytest.mark.parametrize(
    ("protocol", "after"),
    [
        (PROTOCOL, {"minReaderVersion": 1, "minWriterVersion": 3}),
        (
            FEATURE_PROTOCOL,
            {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": ["deletionVectors", "v2Checkpoint"],
                "writerFeatures": [
                    "checkConstraints",
                    "deletionVectors",
                    "domainMetadata",
                    "v2Checkpoint",
                ],
            },
        ),
    ],
    ids=["by number", "by name"],
)
def test_first_constraint_brings_its_feature(tmp_path: Path, protocol: Any, after: Any) -> None:
    lake = Lake(tmp_path)
    lake.commit(0, [protocol, metadata(), lake.add("a")], age_days=9)
    plan = add(lake, "positive")
    assert outcome(plan, "commit") == "allow"
    (commit,) = (step for step in plan.steps if isinstance(step, Commit))
    assert render_action(commit.actions[1]) == {"protocol": after}
    assert plan.summary.startswith("Engines that do not support checkConstraints")


@pytest.mark.parametrize("name", ["old", "OLD", "", "a b", "a.b", "ä", "x" * 129, "-a", "a\n"])
def test_name_that_is_taken_or_cannot_be_one_is_refused(lake: Lake, name: str) -> None:
    with pytest.raises(InvalidArgumentError):
        add(lake, name)


def test_expression_that_may_not_run_is_refused_before_there_is_a_plan(lake: Lake) -> None:
    with pytest.raises(InvalidArgumentError, match="reflect"):
        add(lake, "positive", "reflect('java.lang.System', 'getProperty', 'user.home') <> ''")


@pytest.mark.rule("column-check-columns-exist")
@pytest.mark.parametrize("text", ["missing > 0", "id > 0 and `id.x` > 0"])
def test_expression_over_columns_that_are_not_there_is_refused(lake: Lake, text: str) -> None:
    with pytest.raises(InvalidArgumentError):
        add(lake, "positive", text)


@pytest.mark.parametrize(
    ("name", "left"),
    [("Old", "odd name"), ("old", "odd name"), ("odd name", "Old"), ("ODD NAME", "Old")],
)
def test_constraint_is_dropped_in_any_case_of_its_name(lake: Lake, name: str, left: str) -> None:
    plan = drop(lake, name)
    assert "can be written from then on" in plan.summary
    assert lake.execute(plan).status == "completed"
    assert [*lake.table.metadata().configuration] == [f"delta.constraints.{left}"]
    assert lake.table.protocol().min_writer_version == 3
    assert lake.table.history(1).column("operation").to_pylist() == ["DROP CONSTRAINT"]


def test_constraint_that_is_not_there_is_dropped_only_where_that_may_be(lake: Lake) -> None:
    with pytest.raises(InvalidArgumentError, match="Old"):
        drop(lake, "young")
    plan = drop(lake, "young", if_exists=True)
    assert plan.steps == ()
    assert "has no constraint young" in plan.summary


def test_name_that_fits_several_constraints_has_to_be_spelled(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    conf = {"delta.constraints.ab": "id < 9", "delta.constraints.AB": "id < 8"}
    lake.commit(0, [PROTOCOL, metadata(configuration=conf)], age_days=9)
    with pytest.raises(InvalidArgumentError, match="ambiguous"):
        drop(lake, "Ab")
    assert drop(lake, "AB").effect["before"] == "id < 8"
