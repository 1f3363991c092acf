"""A feature goes when nothing of it is left: at once where only writers know it, else in two
steps, with the history either protected or gone."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from explorer.errors import InvalidArgumentError
from explorer.maintenance import Plan, plan_drop_feature, plan_log_cleanup, plan_restore
from explorer.maintenance.features.drop_rules import DROP_RULES
from explorer.progress import Cancel, Progress
from explorer.protocol.features.registry import FEATURES, supported_features
from tests.data_tables import field, struct
from tests.tables import Action, metadata, vector
from tests.unit.maintenance.lake import DAY_MS, Lake, outcome, planned

_STATS = '{"numRecords":3}'


def named(*features: str) -> Action:
    """A protocol with these features, listed as they have to be."""
    reads = [name for name in features if FEATURES[name].kind == "reader-writer"]
    body: dict[str, Any] = {"minReaderVersion": 3 if reads else 1, "minWriterVersion": 7}
    if reads:
        body["readerFeatures"] = reads
    return {"protocol": {**body, "writerFeatures": list(features)}}


def start(scratch: Path, *features: str, conf: dict[str, str] | None = None, **fields: Any) -> Lake:
    lake = Lake(scratch)
    files = [lake.add(name, stats=_STATS) for name in ("a", "b")]
    meta = metadata(configuration=conf or {}, **fields)
    lake.commit(0, [named("appendOnly", *features), meta, *files], age_days=9)
    return lake


def drop(lake: Lake, feature: str, **named: Any) -> Plan:
    return plan_drop_feature(lake.table, feature, clock=lake.clock, **named)


def commits(plan: Plan) -> list[str]:
    return [step.title for step in plan.steps if step.kind == "commit"]


@pytest.mark.parametrize("name", [name for name in FEATURES if name not in DROP_RULES])
def test_feature_that_is_not_dropped_here_is_refused_with_the_reason(
    tmp_path: Path, name: str
) -> None:
    lake = start(tmp_path)
    with pytest.raises(InvalidArgumentError, match=name):
        drop(lake, name)


@pytest.mark.slow
def test_a_version_from_before_a_feature_came_and_was_dropped_can_be_restored(
    tmp_path: Path,
) -> None:
    lake = start(tmp_path)
    came = named("appendOnly", "vacuumProtocolCheck")
    lake.commit(1, [came, lake.add("c", stats=_STATS)], age_days=8)
    assert lake.execute(drop(lake, "vacuumProtocolCheck")).status == "completed"
    protected = lake.table.metadata().configuration
    assert "delta.requireCheckpointProtectionBeforeVersion" in protected
    receipt = lake.execute(plan_restore(lake.table, 0, clock=lake.clock))
    assert receipt.status == "completed", receipt.problem
    assert lake.table.metadata().configuration == protected
    assert lake.table.snapshot().num_files == 2
    (refusal,) = plan_restore(lake.table, 1, clock=lake.clock).refusals
    assert "dropped since" in refusal.message


def test_feature_that_is_not_there_or_that_others_rest_on_is_refused(tmp_path: Path) -> None:
    lake = start(tmp_path, "domainMetadata", "rowTracking")
    with pytest.raises(InvalidArgumentError, match="does not have"):
        drop(lake, "checkConstraints")
    with pytest.raises(InvalidArgumentError, match="rowTracking"):
        drop(lake, "domainMetadata")
    with pytest.raises(InvalidArgumentError, match="need not be cut"):
        drop(lake, "rowTracking", truncate_history=True)
    with pytest.raises(InvalidArgumentError, match="known"):
        drop(lake, "nonsense")


def test_feature_of_writers_goes_in_one_commit(tmp_path: Path) -> None:
    conf = {"delta.enableInCommitTimestamps": "true", "owner": "me"}
    lake = Lake(tmp_path)
    info = {"commitInfo": {"inCommitTimestamp": lake.now_ms - DAY_MS}}
    protocol = named("appendOnly", "inCommitTimestamp")
    lake.commit(0, [info, protocol, metadata(configuration=conf)], age_days=9)
    plan = drop(lake, "inCommitTimestamp")
    assert commits(plan) == ["DROP FEATURE"]
    assert lake.execute(plan).status == "completed"
    assert supported_features(lake.table.protocol()) == ("appendOnly",)
    assert lake.table.metadata().configuration == {
        "owner": "me",
        "delta.enableInCommitTimestamps": "false",
    }


def test_constraints_are_dropped_before_their_feature(tmp_path: Path) -> None:
    conf = {"delta.constraints.positive": "id > 0"}
    plan = drop(start(tmp_path, "checkConstraints", conf=conf), "checkConstraints")
    assert outcome(plan, "traces") == "refuse"
    assert "constraint drop" in plan.refusals[0].remedy


def test_rows_lose_their_ids_with_row_tracking(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    conf = {
        "delta.enableRowTracking": "true",
        "delta.rowTracking.materializedRowIdColumnName": "_row-id-col-1",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-version-col-1",
        "owner": "me",
    }
    domain = {"domain": "delta.rowTracking", "configuration": '{"rowIdHighWaterMark":2}'}
    actions = [
        named("domainMetadata", "rowTracking"),
        metadata(configuration=conf),
        lake.add("a", stats=_STATS, baseRowId=0, defaultRowCommitVersion=0),
        lake.add("b", stats=_STATS),
        {"domainMetadata": {**domain, "removed": False}},
    ]
    lake.commit(0, actions, age_days=9)
    plan = drop(lake, "rowTracking")
    assert set(planned(plan, "add")) == {"a"}
    assert "lose their ids" in plan.summary
    assert lake.execute(plan).status == "completed"
    snapshot = lake.table.snapshot()
    assert supported_features(snapshot.protocol) == ("domainMetadata",)
    assert snapshot.metadata.configuration == {"owner": "me"}
    files = snapshot.files(["base_row_id", "default_row_commit_version"])
    assert files.column("base_row_id").null_count == files.num_rows == 2
    assert files.column("default_row_commit_version").null_count == 2
    assert not snapshot.domains
    assert lake.execute(drop(lake, "domainMetadata")).status == "completed"
    assert supported_features(lake.table.protocol()) == ()


def test_domains_go_before_their_feature_does(tmp_path: Path) -> None:
    lake = start(tmp_path, "domainMetadata")
    domain = {"domain": "mine", "configuration": "{}", "removed": False}
    lake.commit(1, [{"domainMetadata": domain}], age_days=1)
    plan = drop(lake, "domainMetadata")
    assert commits(plan) == ["DOMAIN METADATA CLEANUP", "DROP FEATURE"]
    assert lake.execute(plan).status == "completed"
    assert not lake.table.snapshot().domains
    assert supported_features(lake.table.protocol()) == ("appendOnly",)


def test_domain_that_came_meanwhile_keeps_its_feature(tmp_path: Path) -> None:
    lake = start(tmp_path, "domainMetadata")
    plan = drop(lake, "domainMetadata")
    domain = {"domain": "mine", "configuration": "{}", "removed": False}
    lake.commit(1, [{"domainMetadata": domain}], age_days=0)
    assert lake.execute(plan).status == "refused"
    assert "mine" in lake.table.snapshot().domains


@pytest.mark.slow
@pytest.mark.rule("newer-checkpoint-protection-when", "newer-checkpoint-protection-property")
def test_feature_of_readers_goes_in_two_steps_with_its_history_protected(tmp_path: Path) -> None:
    lake = start(tmp_path, "v2Checkpoint", conf={"delta.checkpointPolicy": "v2"})
    first = drop(lake, "v2Checkpoint")
    assert first.summary.startswith("First of two steps")
    for choice in ("keep the history and protect it", "--truncate-history"):
        assert choice in first.summary
    assert lake.execute(first).status == "completed"
    assert lake.table.metadata().configuration == {"delta.checkpointPolicy": "classic"}
    assert "v2Checkpoint" in supported_features(lake.table.protocol())

    second = drop(lake, "v2Checkpoint")
    assert second.summary.startswith("Second of two steps")
    assert "The history stays" in second.summary
    assert commits(second) == [*["Empty Commit"] * 3, "DROP FEATURE"]
    assert lake.execute(second).status == "completed"
    table = lake.table
    assert supported_features(table.protocol()) == ("appendOnly", "checkpointProtection")
    assert table.protocol().min_reader_version == 1
    conf = table.metadata().configuration
    assert conf["delta.requireCheckpointProtectionBeforeVersion"] == "5"
    listing = table.listing()
    assert [found.version for found in listing.checkpoints] == [1, 2, 3, 4, 5]
    assert {found.kind for found in listing.checkpoints} == {"classic"}
    assert [table.snapshot(version=version).num_files for version in range(6)] == [2] * 6
    with pytest.raises(InvalidArgumentError, match="does not have"):
        drop(lake, "v2Checkpoint")


def test_protected_version_is_that_of_the_commit_whoever_came_between(tmp_path: Path) -> None:
    lake = start(tmp_path, "vacuumProtocolCheck")
    plan = drop(lake, "vacuumProtocolCheck")
    lake.commit(1, [lake.add("c", stats=_STATS)], age_days=0)
    assert lake.execute(plan).status == "completed"
    conf = lake.table.metadata().configuration
    assert lake.table.latest_version() == 5
    assert conf == {"delta.requireCheckpointProtectionBeforeVersion": "5"}
    assert lake.table.snapshot().num_files == 3


@pytest.mark.slow
def test_run_that_was_broken_off_is_taken_up_where_it_ended(tmp_path: Path) -> None:
    lake = start(tmp_path, "vacuumProtocolCheck")
    plan = drop(lake, "vacuumProtocolCheck")
    for stop_at in range(1, len(plan.steps)):
        cancel = Cancel()

        def look_on(progress: Progress, cancel: Cancel = cancel, stop_at: int = stop_at) -> None:
            if progress.label == plan.steps[stop_at].reason and progress.done == stop_at:
                cancel.cancel()

        receipt = lake.execute(plan, progress=look_on, cancel=cancel)
        assert receipt.status in {"cancelled", "completed"}
    assert lake.execute(plan).status == "completed"
    assert lake.table.latest_version() == 4
    assert "vacuumProtocolCheck" not in supported_features(lake.table.protocol())


def test_history_that_uses_the_feature_is_waited_for_where_it_is_to_be_cut(
    tmp_path: Path,
) -> None:
    lake = start(tmp_path, "v2Checkpoint", conf={"delta.checkpointPolicy": "v2"})
    assert lake.execute(drop(lake, "v2Checkpoint", truncate_history=True)).status == "completed"
    waiting = drop(lake, "v2Checkpoint", truncate_history=True)
    assert outcome(waiting, "traces") == "refuse"
    assert "version 0 " in waiting.refusals[0].message
    assert "version 0 of the history still uses it" in waiting.summary
    assert "No log file" not in waiting.summary
    assert "clean-log" in waiting.refusals[0].remedy
    assert "after 1 day at the" in waiting.refusals[0].remedy
    for place in lake.log.log.iterdir():  # all of it is of the lake's own time
        os.utime(place, (lake.now_ms / 1000, lake.now_ms / 1000))
    lake.now_ms += 40 * DAY_MS
    receipt = lake.execute(plan_log_cleanup(lake.table, clock=lake.clock))
    assert receipt.status == "completed", receipt.problem
    plan = drop(lake, "v2Checkpoint", truncate_history=True)
    assert not plan.refusals
    assert "No log file uses it any more" in plan.summary
    assert commits(plan) == ["DROP FEATURE"]
    assert lake.execute(plan).status == "completed"
    assert supported_features(lake.table.protocol()) == ("appendOnly",)
    assert lake.table.protocol().min_reader_version == 1


def test_files_with_deletion_vectors_are_purged_first(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    files = [lake.add("a", stats=_STATS, deletionVector=vector()), lake.add("b", stats=_STATS)]
    conf = {"delta.enableDeletionVectors": "true"}
    lake.commit(0, [named("deletionVectors"), metadata(configuration=conf), *files], age_days=9)
    first = drop(lake, "deletionVectors")
    assert "optimize --purge" in first.summary
    assert lake.execute(first).status == "completed"
    assert lake.table.metadata().configuration == {}
    waiting = drop(lake, "deletionVectors")
    assert outcome(waiting, "traces") == "refuse"
    assert "optimize --purge" in waiting.refusals[0].remedy


@pytest.mark.slow
def test_vectors_that_old_versions_need_get_tombstones_of_their_own(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    marked = vector()
    lake.commit(
        0,
        [
            named("deletionVectors"),
            metadata(),
            lake.add("a", stats=_STATS, deletionVector=marked),
            lake.add("b", stats=_STATS),
        ],
        age_days=3,
    )
    gone = lake.remove("a", age_days=2, deletionVector=marked)
    lake.commit(1, [gone], age_days=2)
    plan = drop(lake, "deletionVectors")
    assert commits(plan)[0] == "Deletion Vector Tombstones"
    assert lake.execute(plan).status == "completed"
    tombstones = lake.table.snapshot().tombstones(["path"]).column("path").to_pylist()
    assert sorted(tombstones) == [
        "a",
        "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin",
    ]


@pytest.mark.parametrize(
    ("name", "meta"),
    [
        (
            "columnMapping",
            {
                "configuration": {"delta.columnMapping.mode": "name"},
                "schemaString": json.dumps(
                    struct(
                        field(
                            "id",
                            "long",
                            **{
                                "delta.columnMapping.id": 1,
                                "delta.columnMapping.physicalName": "id",
                            },
                        )
                    )
                ),
            },
        ),
        (
            "typeWidening",
            {
                "schemaString": json.dumps(
                    struct(
                        field(
                            "id",
                            "long",
                            **{"delta.typeChanges": [{"fromType": "integer", "toType": "long"}]},
                        )
                    )
                )
            },
        ),
    ],
)
def test_what_the_files_still_need_refuses_the_plan(
    tmp_path: Path, name: str, meta: dict[str, Any]
) -> None:
    lake = Lake(tmp_path)
    lake.commit(0, [named(name), metadata(**meta)], age_days=9)
    plan = drop(lake, name)
    assert outcome(plan, "traces") == "refuse"
    assert lake.execute(plan).status == "refused"


def test_feature_that_is_used_again_meanwhile_stays(tmp_path: Path) -> None:
    lake = start(tmp_path, "v2Checkpoint")
    plan = drop(lake, "v2Checkpoint")
    lake.commit(1, [metadata(configuration={"delta.checkpointPolicy": "v2"})], age_days=0)
    assert lake.execute(plan).status == "refused"
    assert "v2Checkpoint" in supported_features(lake.table.protocol())
