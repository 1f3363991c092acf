"""Of the properties that a restore brings back, those that later versions rest on stay as they are
now."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from explorer.maintenance import Plan, plan_restore
from explorer.maintenance.plan.step_types import Commit
from explorer.maintenance.steps.commit_step import stage
from explorer.protocol.actions import Metadata
from tests.data_tables import field, mapped, struct
from tests.tables import FEATURE_PROTOCOL, PROTOCOL, metadata
from tests.unit.maintenance.lake import Lake, outcome


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def restore(lake: Lake, version: int) -> Plan:
    return plan_restore(lake.table, version, clock=lake.clock)


def commits_of(plan: Plan) -> list[Commit]:
    return [step for step in plan.steps if isinstance(step, Commit)]


def metadata_of(plan: Plan) -> Metadata:
    """The only action of the only commit."""
    ((action,),) = (commit.actions for commit in commits_of(plan))
    assert isinstance(action, Metadata)
    return action


@pytest.mark.parametrize(
    ("name", "old", "now"),
    [
        ("delta.enableInCommitTimestamps", "false", "true"),
        ("delta.inCommitTimestampEnablementVersion", "0", "1"),
        ("delta.inCommitTimestampEnablementTimestamp", "1", "2"),
        ("delta.enableRowTracking", "false", "true"),
        ("delta.rowTrackingSuspended", "false", "true"),
        ("delta.rowTracking.materializedRowIdColumnName", "_row-id-old", "_row-id-now"),
        ("delta.rowTracking.materializedRowCommitVersionColumnName", "_version-old", "_version"),
    ],
)
@pytest.mark.parametrize("then_and_now", ["both", "then", "now"])
def test_property_that_later_versions_rest_on_stays_as_it_is_now(
    lake: Lake, name: str, old: str, now: str, then_and_now: str
) -> None:
    first = {"owner": "me"} | ({} if then_and_now == "now" else {name: old})
    since = {"owner": "you"} | ({} if then_and_now == "then" else {name: now})
    lake.commit(0, [FEATURE_PROTOCOL, metadata(configuration=first), lake.add("a")], age_days=9)
    lake.commit(1, [metadata(configuration=since)], age_days=5)
    action = metadata_of(restore(lake, 0))
    stays = {} if then_and_now == "then" else {name: now}
    assert action.configuration == {"owner": "me"} | stays


@pytest.mark.parametrize(
    ("then", "now", "after"),
    [("2", "3", "3"), ("3", "2", "3"), ("9", "10", "10"), ("2", None, "2"), (None, "3", "3")],
)
@pytest.mark.parametrize(
    "name", ["delta.columnMapping.maxColumnId", "delta.requireCheckpointProtectionBeforeVersion"]
)
def test_ids_that_were_given_out_are_counted_on_and_protected_checkpoints_stay_so(
    lake: Lake, name: str, then: str | None, now: str | None, after: str
) -> None:
    first, since = ({} if most is None else {name: most} for most in (then, now))
    lake.commit(0, [FEATURE_PROTOCOL, metadata(configuration=first), lake.add("a")], age_days=9)
    lake.commit(1, [metadata(configuration=since | {"owner": "you"})], age_days=5)
    action = metadata_of(restore(lake, 0))
    assert action.configuration == {name: after}


def test_column_mapping_that_was_taken_away_since_comes_back(lake: Lake) -> None:
    """Whoever takes it away takes the highest id with it, and the schema that comes back has
    ids again."""
    fields = [mapped("id", "long", "c1", 1), mapped("part", "string", "c2", 2)]
    mapping = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
    old = metadata(schemaString=json.dumps(struct(*fields)), configuration=mapping)
    protocol = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}
    lake.commit(0, [protocol, old, lake.add("a")], age_days=9)
    lake.commit(1, [metadata(), lake.remove("a", age_days=5), lake.add("b")], age_days=5)
    receipt = lake.execute(restore(lake, 0))
    assert receipt.status == "completed", receipt.problem
    assert lake.table.metadata().configuration == mapping


def test_a_restore_of_metadata_alone_hears_of_rows_that_come_meanwhile(lake: Lake) -> None:
    """They may have the column that goes with it, or break a rule that comes back."""
    wide = json.dumps(struct(field("id", "long"), field("later", "string")))
    narrow = metadata(schemaString=json.dumps(struct(field("id", "long"))))
    lake.commit(0, [FEATURE_PROTOCOL, narrow, lake.add("a")], age_days=9)
    lake.commit(1, [metadata(schemaString=wide)], age_days=5)
    plan = restore(lake, 0)
    (commit,) = commits_of(plan)
    staged = stage(lake.table, plan, commit, lake.clock())
    assert (staged.adds, staged.removes) == ((), ())
    assert staged.reads.whole_table
    assert staged.provenance.isolation_level == "Serializable"
    receipt = lake.execute(plan)
    assert receipt.status == "completed", receipt.problem
    assert lake.table.snapshot().schema.names == ("id",)


@pytest.mark.parametrize("features", [[], ["checkConstraints"]], ids=["by number", "by name"])
def test_a_constraint_that_was_dropped_since_comes_back_with_the_rows_that_kept_to_it(
    lake: Lake, features: list[str]
) -> None:
    body = {"minReaderVersion": 1, "minWriterVersion": 7 if features else 3}
    protocol = {"protocol": {**body, **({"writerFeatures": features} if features else {})}}
    checked = {"delta.constraints.positive": "id > 0"}
    lake.commit(0, [protocol, metadata(configuration=checked), lake.add("old")], age_days=9)
    lake.commit(1, [metadata()], age_days=5)
    lake.commit(2, [lake.add("breaks it")], age_days=4)
    receipt = lake.execute(restore(lake, 0))
    assert receipt.status == "completed", receipt.problem
    assert lake.table.metadata().configuration == checked
    assert lake.table.snapshot().files(["path"])["path"].to_pylist() == ["old"]


@pytest.mark.rule("column-append-only-no-change", "column-append-only-lift")
def test_append_only_of_the_newest_version_decides_which_restore_may_take_rows(lake: Lake) -> None:
    free, kept = {"delta.appendOnly": "false"}, {"delta.appendOnly": "true"}
    lake.commit(0, [PROTOCOL, metadata(configuration=free), lake.add("a")], age_days=9)
    lake.commit(1, [metadata(configuration=kept), lake.add("b")], age_days=8)
    assert outcome(restore(lake, 0), "commit") == "refuse"
    lake.commit(2, [metadata(configuration=free), lake.add("c")], age_days=7)
    receipt = lake.execute(restore(lake, 1))
    assert receipt.status == "completed", receipt.problem
    assert lake.table.metadata().configuration == kept
    assert set(lake.table.snapshot().files(["path"])["path"].to_pylist()) == {"a", "b"}


def test_a_file_comes_back_without_row_ids_while_row_tracking_is_suspended(lake: Lake) -> None:
    protocol = FEATURE_PROTOCOL["protocol"]
    features = [*protocol["writerFeatures"], "rowTracking", "domainMetadata"]
    tracked = {"protocol": protocol | {"writerFeatures": sorted({*features})}}
    ids = {"baseRowId": 0, "defaultRowCommitVersion": 0, "stats": '{"numRecords":5}'}
    domain = {"domain": "delta.rowTracking", "configuration": '{"rowIdHighWaterMark":4}'}
    mark = {"domainMetadata": domain | {"removed": False}}
    lake.commit(0, [tracked, metadata(), mark, lake.add("a", **ids)], age_days=9)
    suspended = metadata(configuration={"delta.rowTrackingSuspended": "true"})
    lake.commit(1, [suspended, lake.remove("a", age_days=5), lake.add("b")], age_days=5)
    receipt = lake.execute(restore(lake, 0))
    assert receipt.status == "completed", receipt.problem
    files = lake.table.snapshot().files(["path", "base_row_id", "default_row_commit_version"])
    assert files.to_pylist() == [
        {"path": "a", "base_row_id": None, "default_row_commit_version": None}
    ]
