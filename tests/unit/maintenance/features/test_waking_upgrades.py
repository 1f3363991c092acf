"""An upgrade from which on a rule binds that stood in the metadata without effect checks every
row against it first, or is refused with the name of the rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from explorer.maintenance import (
    Plan,
    StateFolder,
    plan_add_constraint,
    plan_restore,
    plan_upgrade,
)
from explorer.maintenance.plan.step_types import Commit, ValidateRows
from explorer.transaction.staged import ValidatedRule
from tests.data_tables import array, field, mapped, struct
from tests.tables import metadata
from tests.unit.maintenance.lake import Lake, outcome

_STATS = '{"numRecords":3}'


def numbered(writer: int, reader: int = 1) -> dict[str, Any]:
    return {"protocol": {"minReaderVersion": reader, "minWriterVersion": writer}}


def lake_of(scratch: Path, writer: int, *files: dict[str, Any], **fields: Any) -> Lake:
    lake = Lake(scratch)
    added = files or (lake.add("a", stats=_STATS),)
    lake.commit(0, [numbered(writer), metadata(**fields), *added], age_days=9)
    return lake


def upgrade(lake: Lake, *features: str, **named: Any) -> Plan:
    return plan_upgrade(lake.table, features=features, clock=lake.clock, **named)


def column(name: str, **keys: Any) -> dict[str, Any]:
    return {"schemaString": json.dumps(struct(field("id", "long"), field(name, "long", **keys)))}


CHECK = {"configuration": {"delta.constraints.positive": "id > 0"}}
INVARIANT = column("n", **{"delta.invariants": '{"expression":{"expression":"n > 3"}}'})
GENERATED = column("n`o", **{"delta.generationExpression": "id + 1"})
IDENTITY = column("n", **{"delta.identity.start": 1, "delta.identity.step": 1})

WAKING = {
    "checkConstraints": (2, CHECK, "delta.constraints.positive", "id > 0", "id > 0"),
    "invariants": (1, INVARIANT, "n delta.invariants", "n > 3", "n > 3"),
    "generatedColumns": (
        3,
        GENERATED,
        "`n``o` delta.generationExpression",
        "id + 1",
        "`n``o` <=> (id + 1)",
    ),
}


@pytest.mark.rule("column-check-add-validates")
@pytest.mark.parametrize("by_number", [False, True], ids=["by name", "by number"])
@pytest.mark.parametrize("feature", WAKING)
def test_rows_are_checked_before_a_rule_wakes(
    tmp_path: Path, feature: str, *, by_number: bool
) -> None:
    writer, fields, key, expression, condition = WAKING[feature]
    lake = lake_of(tmp_path, writer, **fields)
    plan = upgrade(lake, writer_version=writer + 1) if by_number else upgrade(lake, feature)
    assert plan.refusals == ()
    validation, commit = plan.steps[:2]
    assert isinstance(validation, ValidateRows)
    assert isinstance(commit, Commit)
    assert validation.expressions == {key: condition}
    assert (commit.basis.reads, commit.basis.upon) == ("every row", validation)
    assert commit.basis.validated == (ValidatedRule(key=key, expression=expression),)
    assert plan.effect["rules_that_wake"] == {key: expression}
    assert f"ask for {feature} already, without effect so far" in plan.summary
    assert f"No row was held against {key}: all rows are checked first" in plan.summary
    StateFolder(lake.state).save_plan(plan)
    assert StateFolder(lake.state).load_plan(plan.digest) == plan


def test_nothing_is_checked_where_no_rule_wakes(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, 3, **CHECK)
    plan = upgrade(lake, "generatedColumns")
    assert [step.kind for step in plan.steps][:1] == ["commit"]
    assert plan.effect["rules_that_wake"] == {}
    assert "without effect" not in plan.summary


def test_a_constraint_brings_no_other_rule_to_bear_unchecked(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "sound", 2, **CHECK)
    plan = plan_add_constraint(lake.table, "small", "id < 9", clock=lake.clock)
    assert plan.refusals == ()
    validation, commit = plan.steps[:2]
    assert isinstance(validation, ValidateRows)
    assert isinstance(commit, Commit)
    assert validation.expressions == {"small": "id < 9", "delta.constraints.positive": "id > 0"}
    assert {rule.key for rule in commit.basis.validated} == {
        "delta.constraints.positive",
        "delta.constraints.small",
    }
    assert "also checked for delta.constraints.positive, which had no effect" in plan.summary
    odd = lake_of(tmp_path / "odd", 2, configuration={"delta.constraints.odd": "rand() > 0"})
    refused = plan_add_constraint(odd.table, "small", "id < 9", clock=odd.clock)
    assert "`delta.constraints.odd`" in refused.refusals[0].message
    assert "constraint drop odd" in refused.refusals[0].remedy


@pytest.mark.parametrize(
    ("writer", "feature", "fields", "says", "remedy"),
    [
        (
            2,
            "checkConstraints",
            {"configuration": {"delta.constraints.Odd": "reflect('a.B', 'c') > 0"}},
            "`delta.constraints.Odd`: reflect(",
            "constraint drop Odd",
        ),
        (
            2,
            "checkConstraints",
            {"configuration": {"delta.constraints.gone": "no_such_column > 0"}},
            "no_such_column",
            "constraint drop gone",
        ),
        (5, "identityColumns", IDENTITY, "`n delta.identity.*`", "Leave identityColumns out"),
        (
            3,
            "generatedColumns",
            {
                "schemaString": json.dumps(
                    struct(
                        field(
                            "s",
                            array(
                                struct(field("n", "long", **{"delta.generationExpression": "1"}))
                            ),
                        )
                    )
                )
            },
            "inside of another column",
            "Leave generatedColumns out",
        ),
    ],
    ids=["function", "column", "identity", "nested"],
)
def test_a_rule_that_rows_cannot_be_checked_by_refuses_the_upgrade(  # the case
    tmp_path: Path, writer: int, feature: str, fields: dict[str, Any], says: str, remedy: str
) -> None:
    lake = lake_of(tmp_path, writer, **fields)
    plan = upgrade(lake, feature)
    (refusal,) = plan.refusals
    assert refusal.guard == "upgrade"
    assert refusal.message.startswith(f"{feature}: ")
    assert says in refusal.message
    assert remedy in refusal.remedy
    assert lake.execute(plan).status == "refused"
    assert lake.table.protocol().min_writer_version == writer


NAMED = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}


@pytest.mark.parametrize(
    ("physical", "mode", "is_refused"),
    [("id", "name", False), ("col-1", "name", True), ("id", "id", True)],
)
def test_a_mapping_wakes_only_where_files_are_read_as_before(
    tmp_path: Path, physical: str, mode: str, *, is_refused: bool
) -> None:
    schema = struct(mapped("id", "long", physical, 1))
    lake = lake_of(
        tmp_path,
        2,
        schemaString=json.dumps(schema),
        configuration={**NAMED, "delta.columnMapping.mode": mode},
    )
    for plan in (upgrade(lake, "columnMapping"), upgrade(lake, reader_version=2, writer_version=5)):
        messages = [found.message for found in plan.refusals]
        assert bool(messages) is is_refused
        assert all("columnMapping" in message for message in messages[:1])
    assert lake.execute(plan).status == ("refused" if is_refused else "completed")


ASKS = {
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": "ids",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "versions",
}


def test_row_ids_that_a_property_asked_for_are_given_with_the_feature(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, 2, configuration=ASKS)
    plan = upgrade(lake, "rowTracking")
    (commit,) = (step for step in plan.steps if isinstance(step, Commit))
    assert commit.basis.reads == "every row"
    assert lake.execute(plan).status == "completed"
    assert lake.table.snapshot().row_id_high_water_mark == 2


def ids(first: int, stats: str = _STATS) -> dict[str, Any]:
    return {"baseRowId": first, "defaultRowCommitVersion": 0, "stats": stats}


@pytest.mark.parametrize(
    ("files", "mark", "is_refused"),
    [
        ([ids(0), ids(3)], 5, False),
        ([ids(0), ids(2)], 5, True),
        ([ids(0), ids(3)], 4, True),
        ([ids(0), ids(3)], None, True),
        ([ids(0), ids(3, "{}")], 9, True),
    ],
    ids=["apart", "shared", "beyond the mark", "without a mark", "uncounted"],
)
def test_ids_that_nobody_kept_apart_refuse_row_tracking(
    tmp_path: Path, files: list[dict[str, Any]], mark: int | None, *, is_refused: bool
) -> None:
    lake = Lake(tmp_path)
    protocol = {
        "protocol": {
            "minReaderVersion": 1,
            "minWriterVersion": 7,
            "writerFeatures": ["domainMetadata"],
        }
    }
    domain = {
        "domainMetadata": {
            "domain": "delta.rowTracking",
            "configuration": json.dumps({"rowIdHighWaterMark": mark}),
            "removed": False,
        }
    }
    added = [lake.add(f"{at}", **given) for at, given in enumerate(files)]
    told = [] if mark is None else [domain]
    lake.commit(0, [protocol, metadata(), *added, *told, lake.add("new", stats=_STATS)], age_days=9)
    plan = upgrade(lake, "rowTracking")
    assert any("row ids already" in found.message for found in plan.refusals) is is_refused
    if not is_refused:
        assert lake.execute(plan).status == "completed"
        found = lake.table.snapshot().files(["base_row_id"]).column(0).to_pylist()
        assert sorted(found) == [0, 3, 6]


def test_what_else_wakes_is_said(tmp_path: Path) -> None:
    fields = column("n", CURRENT_DEFAULT="7") | {"configuration": {"delta.appendOnly": "true"}}
    lake = lake_of(tmp_path, 1, **fields)
    plan = upgrade(lake, "appendOnly", "allowColumnDefaults")
    assert "ask for appendOnly, allowColumnDefaults already, without effect so far" in plan.summary


def test_rows_from_before_a_rule_woke_do_not_come_back_unchecked(tmp_path: Path) -> None:
    """Its metadata may be those of today: the protocol is not, and no restore brings it back."""
    lake = lake_of(tmp_path, 2, **CHECK)
    lake.commit(1, [lake.remove("a", age_days=8), lake.add("b", stats=_STATS)], age_days=8)
    lake.commit(2, [numbered(3)], age_days=7)
    lake.commit(3, [lake.add("c", stats=_STATS)], age_days=6)
    plan = plan_restore(lake.table, 0, clock=lake.clock)
    assert outcome(plan, "rules") == "refuse"
    assert "`delta.constraints.positive`: id > 0" in plan.refusals[0].message
    assert lake.execute(plan).status == "refused"
    later = plan_restore(lake.table, 2, clock=lake.clock)
    assert later.refusals == ()
