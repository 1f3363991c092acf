"""Properties are set and unset with their values looked at; what is broken is repaired
with what is lost said first."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from explorer.errors import InvalidArgumentError
from explorer.maintenance import Plan, plan_repair, plan_set_properties
from explorer.protocol.vectors.deletion_vectors import parse_relative_place
from tests.tables import FEATURE_PROTOCOL, PROTOCOL, metadata, vector
from tests.unit.maintenance.lake import Lake, outcome, planned

METADATA = metadata(configuration={"owner": "me", "delta.appendOnly": "true"})


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    found = Lake(tmp_path)
    found.commit(0, [PROTOCOL, METADATA, found.add("a")], age_days=9)
    return found


def change(lake: Lake, *arguments: Any, **named: Any) -> Plan:
    return plan_set_properties(lake.table, *arguments, clock=lake.clock, **named)


# --- properties


def test_properties_are_set_and_unset_in_one_commit(lake: Lake) -> None:
    plan = change(lake, {"delta.checkpointInterval": "7", "team": "x"}, unset=["owner"])
    assert plan.effect["changed"]["owner"] == {"before": "me", "after": None}
    assert lake.execute(plan).status == "completed"
    table = lake.table
    assert table.latest_version() == 1
    assert table.metadata().configuration == {
        "delta.appendOnly": "true",
        "delta.checkpointInterval": "7",
        "team": "x",
    }
    assert table.metadata().id == table.metadata(0).id
    assert table.history(1).column("operation").to_pylist() == ["SET TBLPROPERTIES"]
    assert change(lake, {"team": "x"}).steps == ()
    assert lake.execute(change(lake, unset=["team"])).status == "completed"
    assert table.history(1).column("operation").to_pylist() == ["UNSET TBLPROPERTIES"]


@pytest.mark.rule("older-003-checkpoint-every-10")
@pytest.mark.parametrize("version", [9, 10, 11])
def test_every_tenth_version_gets_a_checkpoint_where_nobody_says_otherwise(
    lake: Lake, version: int
) -> None:
    for number in range(1, version):
        lake.commit(number, [lake.add(str(number))], age_days=5)
    plan = change(lake, {"team": "x"})
    assert lake.execute(plan).status == "completed"
    assert lake.table.latest_version() == version
    found = [place.name for place in lake.log.log.glob("*.checkpoint*")]
    assert found == [f"{version:020}.checkpoint.parquet"] * (version == 10)


@pytest.mark.rule("mapping-maxcolumnid-internal")
@pytest.mark.parametrize(
    ("wanted", "unset"),
    [
        ({}, []),
        ({"a": "b"}, ["a"]),
        ({"delta.checkpointInterval": "none"}, []),
        ({"delta.checkpointIntervall": "7"}, []),
        ({"delta.constraints.positive": "id > 0"}, []),
        ({"delta.feature.deletionVectors": "supported"}, []),
        ({"delta.columnMapping.mode": "name"}, []),
        ({"delta.enableRowTracking": "true"}, []),
        ({}, ["delta.inCommitTimestampEnablementVersion"]),
        ({}, ["delta.requireCheckpointProtectionBeforeVersion"]),
        ({"delta.columnMapping.maxColumnId": "9"}, []),
        ({"delta.targetFileSize": "100zb"}, []),
        ({"delta.targetFileSize": "0"}, []),
        ({"delta.dataSkippingStatsColumns": "nope"}, []),
        ({"delta.dataSkippingStatsColumns": "id, nope"}, []),
        ({}, ["delta.columnMapping.maxColumnId"]),
    ],
)
def test_property_that_cannot_be_meant_is_refused(
    lake: Lake, wanted: dict[str, str], unset: list[str]
) -> None:
    with pytest.raises(InvalidArgumentError):
        change(lake, wanted, unset)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("delta.targetFileSize", "100mb"),
        ("delta.dataSkippingStatsColumns", "id"),
        ("delta.dataSkippingStatsColumns", " `ID` ,part"),
    ],
)
def test_size_and_columns_that_can_be_meant_are_set(lake: Lake, name: str, value: str) -> None:
    assert lake.execute(change(lake, {name: value}, unset=["delta.appendOnly"])).status == (
        "completed"
    )
    assert lake.table.metadata().configuration[name] == value


def test_column_that_the_table_is_partitioned_by_has_no_statistics(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.commit(0, [PROTOCOL, metadata(partitionColumns=["part"]), lake.add("a")], age_days=9)
    with pytest.raises(InvalidArgumentError, match="names part, and no statistics can be kept"):
        change(lake, {"delta.dataSkippingStatsColumns": "id,part"})


def test_table_with_such_values_of_others_opens_and_is_changed_otherwise(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    odd = {"delta.targetFileSize": "100zb", "delta.dataSkippingStatsColumns": "nope"}
    lake.commit(0, [PROTOCOL, metadata(configuration=odd), lake.add("a")], age_days=9)
    assert lake.execute(change(lake, {"team": "x"})).status == "completed"
    assert lake.table.metadata().configuration == {**odd, "team": "x"}
    assert lake.execute(change(lake, unset=["delta.targetFileSize"])).status == "completed"
    assert "delta.targetFileSize" not in lake.table.metadata().configuration


def test_property_that_is_not_there_is_not_said_to_be_unset_already(lake: Lake) -> None:
    plan = change(lake, unset=["nope"])
    assert plan.summary == "The table has no property `nope`; there is nothing to do."
    assert plan.steps == ()


def test_way_back_is_a_command_where_it_can_be_copied(lake: Lake) -> None:
    plan = change(lake, {"owner": "it's you", "team": "x"})
    (words,) = [shlex.split(plan.effect["undo"].strip("`"))]
    assert words == ["delta-explorer", "set", lake.table.uri, "owner=me", "--unset", "team"]
    assert lake.execute(plan).status == "completed"
    assert "'owner=it'\"'\"'s you'" in change(lake, {"owner": "me"}).effect["undo"]
    for value in ("two\nlines", "x" * 2000):
        assert lake.execute(change(lake, {"owner": value})).status == "completed"
        assert "under `before`" in change(lake, {"owner": "me"}).effect["undo"]


@pytest.mark.parametrize(
    ("name", "value", "feature"),
    [
        ("delta.enableDeletionVectors", "true", "deletionVectors"),
        ("delta.checkpointPolicy", "v2", "v2Checkpoint"),
        (
            "delta.enableMaterializePartitionColumnsFeature",
            "true",
            "materializePartitionColumns",
        ),
    ],
)
def test_property_whose_feature_the_protocol_lacks_is_refused_by_the_plan(
    lake: Lake, name: str, value: str, feature: str
) -> None:
    plan = change(lake, {name: value})
    assert outcome(plan, "commit") == "refuse"
    assert f"upgrade {feature}" in plan.refusals[0].remedy
    assert lake.execute(plan).status == "refused"
    assert lake.table.latest_version() == 0


@pytest.mark.parametrize(
    ("name", "feature"),
    [
        ("delta.enableIcebergCompatV2", "icebergCompatV2"),
        ("delta.enableIcebergCompatV3", "icebergCompatV3"),
        ("delta.enableIcebergWriterCompatV1", "icebergWriterCompatV1"),
        ("delta.enableIcebergWriterCompatV3", "icebergWriterCompatV3"),
    ],
)
def test_property_whose_feature_is_not_enabled_here_is_refused_with_the_reason(
    lake: Lake, name: str, feature: str
) -> None:
    (refusal,) = change(lake, {name: "true"}).refusals
    assert f"begins to use `{feature}`" in refusal.message
    assert f"{feature} is not enabled here (" in refusal.remedy
    assert "use upgrade" not in refusal.remedy.lower()


@pytest.mark.parametrize(
    ("name", "verb"),
    [
        ("delta.constraints.positive", "constraint add"),
        ("delta.feature.deletionVectors", "upgrade FEATURE"),
        ("delta.columnMapping.mode", "upgrade columnMapping"),
        ("delta.enableRowTracking", "upgrade rowTracking"),
    ],
)
def test_refusal_of_a_property_names_the_operation_that_can(
    lake: Lake, name: str, verb: str
) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        change(lake, {name: "x"})
    assert verb in caught.value.remedy


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("delta.coordinatedCommits.commitCoordinator-preview", "could not even read the table"),
        ("delta.universalFormat.enabledFormats", "Delta Spark can no longer commit"),
        ("DELTA.appendOnly", "start with delta., in lower case"),
    ],
)
def test_properties_that_lock_others_out_or_have_no_effect_are_refused(
    lake: Lake, name: str, reason: str
) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        change(lake, {name: "true"})
    assert reason in caught.value.reason


def test_schema_that_changed_meanwhile_makes_the_plan_stale(lake: Lake) -> None:
    plan = change(lake, {"team": "x"})
    lake.commit(1, [metadata(name="renamed")], age_days=0)
    assert lake.execute(plan).status == "refused"
    assert "team" not in lake.table.metadata().configuration


# --- repairs


def repair(lake: Lake, what: Any) -> Plan:
    return plan_repair(lake.table, what, clock=lake.clock)


@pytest.mark.parametrize("content", [b"{", b'{"version":9,"size":1}'], ids=["torn", "too new"])
def test_hint_that_misleads_is_led_to_the_newest_checkpoint(lake: Lake, content: bytes) -> None:
    lake.log.checkpoint(0, [PROTOCOL, metadata(), lake.add("a")])
    lake.log.write("_last_checkpoint", content)
    plan = repair(lake, "hint")
    assert [step.kind for step in plan.steps] == ["write_hint"]
    assert lake.execute(plan).status == "completed"
    assert not repair(lake, "hint").steps
    assert b'"version":0' in (lake.log.log / "_last_checkpoint").read_bytes()


def test_hint_without_any_checkpoint_goes(lake: Lake) -> None:
    lake.log.hint(9)
    plan = repair(lake, "hint")
    assert list(planned(plan)) == ["_delta_log/_last_checkpoint"]
    assert lake.execute(plan).status == "completed"
    assert not (lake.log.log / "_last_checkpoint").exists()


def test_sound_table_needs_no_repair(lake: Lake) -> None:
    lake.log.checkpoint(0, [PROTOCOL, METADATA, lake.add("a")])
    lake.log.hint(0)
    for what in ("hint", "checkpoint", "files"):
        assert repair(lake, what).steps == ()


def test_broken_checkpoint_gives_way_to_a_new_one(lake: Lake) -> None:
    (place,) = lake.log.checkpoint(0, [PROTOCOL, metadata(), lake.add("a")])
    place.write_bytes(place.read_bytes()[:100])
    lake.log.hint(0)
    assert lake.table.snapshot().problems
    plan = repair(lake, "checkpoint")
    assert list(planned(plan)) == [f"_delta_log/{place.name}"]
    assert "nothing is lost" in plan.summary
    assert lake.execute(plan).status == "completed"
    snapshot = lake.table.snapshot()
    assert not snapshot.problems
    assert snapshot.segment.checkpoint is not None
    assert snapshot.num_files == 1


def test_references_to_files_that_are_gone_are_removed(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lost_vector = lake.file(parse_relative_place(vector()["pathOrInlineDv"]))
    actions = [
        lake.add("kept", stats='{"numRecords":1}'),
        lake.add("lost%20one", stats='{"numRecords":20}'),
        lake.add("vector", stats='{"numRecords":3}', deletionVector=vector()),
    ]
    lake.commit(0, [FEATURE_PROTOCOL, metadata(), *actions], age_days=9)
    os.unlink(lake.root / "lost one")
    os.unlink(lake.root / lost_vector)
    plan = repair(lake, "files")
    assert set(planned(plan, "remove")) == {"lost%20one", "vector"}
    assert "21 rows" in plan.summary  # of the vector's file two were deleted
    assert (plan.asks_for_name, plan.asks_for_reason) == (True, True)
    assert lake.execute(plan).status == "completed"
    assert lake.table.snapshot().files(["path"])["path"].to_pylist() == ["kept"]
    assert lake.table.history(1).column("operation").to_pylist() == ["FSCK"]


def test_file_that_was_away_for_a_while_is_not_taken_out_of_the_table(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.commit(0, [PROTOCOL, metadata(), lake.add("a"), lake.add("b")], age_days=9)
    away = lake.root / "a"
    (lake.root / "a").rename(lake.root.parent / "away")
    plan = repair(lake, "files")
    assert set(planned(plan, "remove")) == {"a"}
    (lake.root.parent / "away").rename(away)
    newest = lake.table.latest_version()
    receipt = lake.execute(plan)
    assert (receipt.status, lake.table.latest_version()) == ("refused", newest)
    assert receipt.problem is not None
    assert "there again" in receipt.problem.reason


def test_append_only_table_keeps_its_dangling_references(lake: Lake) -> None:
    os.unlink(lake.root / "a")
    assert outcome(repair(lake, "files"), "commit") == "refuse"
