"""Plans that change columns: one commit that says what it does, exactly as approved."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from explorer import maintenance
from explorer.errors import InvalidArgumentError
from explorer.maintenance import Plan, StateFolder
from explorer.maintenance.plan.step_types import Commit, CommitBasis, ValidateRows
from explorer.maintenance.steps.commit_step import judge_commit
from explorer.transaction.rules.row_rules import not_null_rule
from tests.tables import metadata
from tests.unit.maintenance.lake import Lake, outcome

SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": "id", "type": "long", "nullable": True, "metadata": {}},
        {"name": "amount", "type": "integer", "nullable": True, "metadata": {}},
        {"name": "part", "type": "string", "nullable": True, "metadata": {}},
    ],
}
MAPPED = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "3"}
STATS = json.dumps(
    {"numRecords": 1, "minValues": {"id": 1}, "maxValues": {"id": 2}, "nullCount": {"id": 0}}
)


def protocol(reader: int = 1, writer: int = 2, **features: Any) -> dict[str, Any]:
    return {"protocol": {"minReaderVersion": reader, "minWriterVersion": writer, **features}}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    found = Lake(tmp_path)
    head = [protocol(), metadata(schemaString=json.dumps(SCHEMA))]
    found.commit(0, [*head, found.add("a.parquet", stats=STATS)], age_days=3)
    return found


def columns(lake: Lake) -> list[str]:
    return list(lake.table.snapshot().schema.names)


def do(lake: Lake, plan: Plan) -> None:
    assert not plan.refusals, plan.refusals
    receipt = lake.execute(plan)
    assert receipt.status == "completed", receipt.problem
    assert all(check.holds for check in receipt.checks)


def add(lake: Lake, text: str, **options: Any) -> Plan:
    return maintenance.plan_add_columns(lake.table, text, clock=lake.clock, **options)


def drop(lake: Lake, *names: str, **options: Any) -> Plan:
    return maintenance.plan_drop_columns(lake.table, names, clock=lake.clock, **options)


def rename(lake: Lake, name: str, to: str, **options: Any) -> Plan:
    return maintenance.plan_rename_column(lake.table, name, to, clock=lake.clock, **options)


def change(lake: Lake, name: str, **options: Any) -> Plan:
    return maintenance.plan_change_column(lake.table, name, clock=lake.clock, **options)


def test_columns_are_added_renamed_moved_and_dropped(lake: Lake) -> None:
    do(lake, add(lake, "note STRING COMMENT 'why' AFTER id, n INT"))
    assert columns(lake) == ["id", "note", "amount", "part", "n"]
    do(lake, rename(lake, "AMOUNT", "sum", map_columns=True))
    assert columns(lake) == ["id", "note", "sum", "part", "n"]
    do(lake, change(lake, "n", first=True, comment="number"))
    do(lake, drop(lake, "note", "part"))
    assert columns(lake) == ["n", "id", "sum"]
    field = lake.table.snapshot().schema.fields[2]
    assert field.metadata["delta.columnMapping.physicalName"] == "amount"
    operations = lake.table.history().column("operation").to_pylist()
    assert operations[:4] == ["DROP COLUMNS", "CHANGE COLUMN", "RENAME COLUMN", "ADD COLUMNS"]


def test_a_plan_says_what_it_does_and_who_can_no_longer_use_the_table(lake: Lake) -> None:
    plan = rename(lake, "amount", "sum", map_columns=True, losers=lambda _, __: "X is out.")
    assert (
        plan.summary
        == ("Renames amount to sum; no file is rewritten. Enables columnMapping. X is out.")
        or "Enables" in plan.summary
    )
    assert plan.summary.endswith("X is out.")
    assert plan.effect["maps_columns"] is True
    assert plan.effect["undo"] == "rename sum back"
    assert outcome(plan, "columns") == "warn"
    assert "restore version 0" in drop(lake, "amount", map_columns=True).effect["undo"]
    plan = change(lake, "amount", comment="x", after="part")
    assert plan.summary == "Changes amount: its comment is 'x', it comes after part."


def test_a_plan_comes_back_from_its_document_and_the_same_seed_makes_the_same(
    lake: Lake,
) -> None:
    seed = UUID(int=7)
    plans = [
        maintenance.plan_drop_columns(
            lake.table, ["amount"], map_columns=True, clock=lake.clock, seed=seed
        )
        for _ in range(2)
    ]
    assert plans[0].digest == plans[1].digest
    state = StateFolder(lake.state)
    state.save_plan(plans[0])
    assert state.load_plan(plans[0].digest, lake.table).document == plans[0].document


def test_where_nothing_would_change_there_is_nothing_to_do(lake: Lake) -> None:
    plan = change(lake, "amount", nullable=True)
    assert (plan.steps, plan.summary) == ((), "Nothing would change.")
    assert not maintenance.plan_cluster_by(lake.table, [], clock=lake.clock).steps
    with pytest.raises(InvalidArgumentError, match="Nothing of the column"):
        change(lake, "amount")
    with pytest.raises(InvalidArgumentError, match="No column is named"):
        drop(lake)
    with pytest.raises(InvalidArgumentError, match="two places"):
        change(lake, "amount", first=True, after="id")


def test_a_plan_is_stale_once_the_columns_are_others(lake: Lake) -> None:
    plan = add(lake, "note STRING")
    do(lake, add(lake, "other STRING"))
    receipt = lake.execute(plan)
    assert receipt.problem is not None
    assert receipt.problem.kind == "plan_stale"
    assert columns(lake)[-1] == "other"


def test_an_append_stands_in_no_columns_way(lake: Lake) -> None:
    plan = add(lake, "note STRING")
    lake.commit(1, [lake.add("b.parquet")], age_days=1)
    do(lake, plan)
    assert lake.table.snapshot().num_files == 2


# --- not null


def test_not_null_rests_on_a_look_at_every_row(lake: Lake) -> None:
    plan = change(lake, "amount", nullable=False)
    assert not plan.refusals
    validation, commit = plan.steps[:2]
    assert isinstance(validation, ValidateRows)
    assert validation.expressions == {"amount NOT NULL": "`amount` IS NOT NULL"}
    assert isinstance(commit, Commit)
    assert commit.basis.upon is validation
    assert commit.basis.reads == "every row"
    assert commit.basis.validated == (not_null_rule("amount"),)


def test_without_that_look_no_commit_makes_a_column_not_null(lake: Lake) -> None:
    plan = change(lake, "amount", nullable=False)
    commit = plan.steps[1]
    assert isinstance(commit, Commit)
    for basis in (
        CommitBasis(reads="every row"),
        CommitBasis(reads="metadata", validated=commit.basis.validated),
        CommitBasis(reads="every row", validated=(not_null_rule("id"),)),
    ):
        verdict = judge_commit(plan, lake.table, replace(commit, basis=basis))
        assert "may no longer be null" in verdict.message
    assert judge_commit(plan, lake.table, commit).outcome == "allow"


# --- clustering


@pytest.mark.rule("clustering-new-column-stats")
def test_a_table_is_clustered_where_every_file_has_the_statistics(lake: Lake) -> None:
    plan = maintenance.plan_cluster_by(lake.table, ["id"], clock=lake.clock)
    do(lake, plan)
    snapshot = lake.table.snapshot()
    assert '[["id"]]' in snapshot.domains["delta.clustering"].configuration
    assert plan.effect["clustered_by_after"] == ["id"]
    do(lake, maintenance.plan_cluster_by(lake.table, [], clock=lake.clock))
    assert '"clusteringColumns":[]' in (
        lake.table.snapshot().domains["delta.clustering"].configuration
    )
    plan = maintenance.plan_cluster_by(lake.table, ["amount"], clock=lake.clock)
    assert "1 file has no statistics of amount" in plan.refusals[0].message


def test_a_file_that_comes_meanwhile_makes_a_clustering_plan_stale(lake: Lake) -> None:
    plan = maintenance.plan_cluster_by(lake.table, ["id"], clock=lake.clock)
    lake.commit(1, [lake.add("b.parquet")], age_days=1)
    receipt = lake.execute(plan)
    assert receipt.problem is not None
    assert receipt.problem.kind == "plan_stale"
    assert "delta.clustering" not in lake.table.snapshot().domains


# --- rules that wake


def test_a_protocol_that_wakes_rules_lets_rows_be_checked_first(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    told = {"delta.constraints.fine": "id > 0"}
    head = [protocol(1, 1), metadata(schemaString=json.dumps(SCHEMA), configuration=told)]
    lake.commit(0, [*head, lake.add("a.parquet", stats=STATS)], age_days=3)
    plan = rename(lake, "amount", "sum", map_columns=True)
    kinds = [step.kind for step in plan.steps]
    waits = "validate_rows" in kinds
    assert waits == ("checkConstraints" in plan.effect["features"])
