"""Features are enabled with what they need, in one commit; what cannot be enabled is refused
by its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from explorer.errors import InvalidArgumentError
from explorer.inspect import losses_sentence
from explorer.maintenance import Plan, plan_upgrade
from explorer.maintenance.features.upgrade_rules import RULES
from explorer.protocol.features.registry import FEATURES, is_active, supported_features
from explorer.protocol.schema_walk import walk_fields
from tests.data_tables import array, field, map_of, struct
from tests.tables import FEATURE_PROTOCOL, PROTOCOL, metadata
from tests.unit.maintenance.lake import Lake, outcome, planned

_STATS = '{"numRecords":3}'


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    found = Lake(tmp_path)
    files = [found.add(name, stats=_STATS) for name in ("a", "b")]
    found.commit(0, [PROTOCOL, metadata(), *files], age_days=9)
    return found


def upgrade(lake: Lake, *features: str, **named: Any) -> Plan:
    return plan_upgrade(lake.table, features=features, clock=lake.clock, **named)


# those whose use begins with a column, a constraint or a value of a property that is not set
_UNUSED = {
    "allowColumnDefaults",
    "appendOnly",
    "checkConstraints",
    "generatedColumns",
    "identityColumns",
    "invariants",
    "timestampNtz",
    "variantType",
}


@pytest.mark.parametrize("name", RULES)
def test_every_feature_is_enabled_with_what_it_needs(lake: Lake, name: str) -> None:
    plan = upgrade(lake, name)
    assert lake.execute(plan).status == "completed"
    snapshot = lake.table.snapshot()
    assert {name, *FEATURES[name].requires} <= {*supported_features(snapshot.protocol)}
    used = is_active(name, snapshot.protocol, snapshot.metadata, snapshot.schema)
    assert used is (name not in _UNUSED)
    assert snapshot.num_files == 2
    assert upgrade(lake, name).steps == ()


@pytest.mark.parametrize("name", [name for name in FEATURES if name not in RULES])
def test_feature_that_is_not_enabled_here_is_refused_with_the_reason(lake: Lake, name: str) -> None:
    with pytest.raises(InvalidArgumentError, match=name) as caught:
        upgrade(lake, name)
    assert len(caught.value.reason) > 40


@pytest.mark.parametrize(
    "named", [{}, {"features": ["nonsense"]}, {"reader_version": 4}, {"writer_version": 0}]
)
def test_what_cannot_be_meant_is_refused(lake: Lake, named: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        plan_upgrade(lake.table, **named)


@pytest.mark.rule("feature-upgrade-assume-used")
def test_features_that_came_with_a_number_are_listed_by_name(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    protocol = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}
    lake.commit(0, [protocol, metadata()], age_days=9)
    assert lake.execute(upgrade(lake, "deletionVectors")).status == "completed"
    found = lake.table.protocol()
    assert (found.min_reader_version, found.min_writer_version) == (3, 7)
    assert found.reader_features == ("columnMapping", "deletionVectors")
    assert {"appendOnly", "changeDataFeed", "checkConstraints", "generatedColumns"} <= {
        *(found.writer_features or ())
    }


NUMBERED = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 6}}
IMPLIED = (
    "appendOnly",
    "changeDataFeed",
    "checkConstraints",
    "columnMapping",
    "generatedColumns",
    "identityColumns",
    "invariants",
)


def implied_after(lake: Lake, *names: str, **options: Any) -> set[str]:
    """What is listed beside the features that were asked for, once the table was upgraded."""
    plan = upgrade(lake, *names, only_used=True, **options)
    listed = {*plan.effect["features_left_out"]} ^ {*IMPLIED}
    receipt = lake.execute(plan)
    assert receipt.status == "completed", receipt.problem
    protocol = lake.table.protocol()
    assert {*(protocol.writer_features or ())} & {*IMPLIED} == listed
    assert lake.table.snapshot().num_files == lake.table.snapshot(version=0).num_files
    return listed


USES = {
    "appendOnly": {"configuration": {"delta.appendOnly": "true"}},
    "changeDataFeed": {"configuration": {"delta.enableChangeDataFeed": "true"}},
    "checkConstraints": {"configuration": {"delta.constraints.c": "id > 0"}},
    "columnMapping": {
        "schemaString": json.dumps(
            struct(
                field(
                    "id",
                    "long",
                    **{"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "id"},
                )
            )
        )
    },
    "generatedColumns": {
        "schemaString": json.dumps(
            struct(field("id", "long", **{"delta.generationExpression": "1"}))
        )
    },
    "identityColumns": {
        "schemaString": json.dumps(
            struct(field("id", "long", **{"delta.identity.start": 1, "delta.identity.step": 1}))
        )
    },
    "invariants": {
        "schemaString": json.dumps(
            struct({"name": "id", "type": "long", "nullable": False, "metadata": {}})
        )
    },
}


@pytest.mark.rule("feature-upgrade-used-only")
@pytest.mark.parametrize("name", [None, *USES])
def test_only_features_that_some_version_used_are_listed_where_that_is_asked_for(
    tmp_path: Path, name: str | None
) -> None:
    lake = Lake(tmp_path)
    used = metadata(**USES.get(name or "", {}))
    lake.commit(0, [NUMBERED, metadata(), lake.add("a")], age_days=9)
    lake.commit(1, [used], age_days=8)
    # as in the specification's example: the version that is in force tells nothing
    lake.commit(2, [metadata()], age_days=7)
    assert implied_after(lake, "deletionVectors") == ({name} if name else set())
    asked = lake.table.protocol()
    assert {*(asked.reader_features or ())} >= {"deletionVectors"}


@pytest.mark.rule("feature-upgrade-assume-used")
def test_all_features_of_the_number_are_listed_unless_it_is_asked_for(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.commit(0, [NUMBERED, metadata()], age_days=9)
    plan = upgrade(lake, "deletionVectors")
    assert plan.effect["features_left_out"] == []
    assert lake.execute(plan).status == "completed"
    assert {*IMPLIED} <= {*(lake.table.protocol().writer_features or ())}


def test_a_feature_that_is_asked_for_is_listed_though_nobody_used_it(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.commit(0, [NUMBERED, metadata()], age_days=9)
    assert implied_after(lake, "checkConstraints", "v2Checkpoint") == {"checkConstraints"}
    # no list begins: nothing is left out of it
    again = upgrade(lake, "domainMetadata", only_used=True)
    assert again.effect["features_left_out"] == []


def test_versions_that_list_features_may_be_asked_for_with_the_used_ones(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.commit(0, [NUMBERED, metadata(**USES["appendOnly"]), lake.add("a")], age_days=9)
    assert implied_after(lake, writer_version=7) == {"appendOnly"}
    found = lake.table.protocol()
    assert (found.min_reader_version, found.min_writer_version) == (2, 7)


@pytest.mark.rule("feature-upgrade-used-only", "feature-upgrade-assume-used")
@pytest.mark.parametrize("broken", [False, True], ids=["readable", "broken"])
def test_history_that_is_gone_is_judged_by_its_oldest_checkpoint_or_not_at_all(
    tmp_path: Path, *, broken: bool
) -> None:
    lake = Lake(tmp_path)
    feed = metadata(**USES["changeDataFeed"])
    (place,) = lake.log.checkpoint(3, [NUMBERED, feed, lake.add("a")])
    for version in (3, 4, 5):
        actions = [metadata()] if version == 4 else [lake.add(f"{version}")]
        lake.commit(version, actions, age_days=9)
    lake.log.checkpoint(5, [NUMBERED, metadata(), lake.add("a"), lake.add("3"), lake.add("5")])
    if broken:
        place.write_bytes(b"PAR1 no more")
    plan = upgrade(lake, "deletionVectors", only_used=True)
    left_out = {*plan.effect["features_left_out"]}
    assert left_out == (set() if broken else {*IMPLIED} - {"changeDataFeed"})
    assert ("Leaves out" in plan.summary) is not broken
    assert lake.execute(plan).status == "completed"


def test_plan_that_leaves_a_feature_out_is_stale_once_somebody_used_it(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.commit(0, [NUMBERED, metadata(), lake.add("a")], age_days=9)
    plan = upgrade(lake, "deletionVectors", only_used=True)
    lake.commit(1, [metadata(**USES["changeDataFeed"])], age_days=0)
    assert lake.execute(plan).status == "refused"


def test_versions_are_raised_and_never_lowered(lake: Lake) -> None:
    plan = upgrade(lake, writer_version=4)
    assert lake.execute(plan).status == "completed"
    assert lake.table.protocol().min_writer_version == 4
    assert upgrade(lake, writer_version=3).steps == ()
    assert lake.execute(upgrade(lake, reader_version=3)).status == "completed"
    assert lake.table.protocol().writer_features == (
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "generatedColumns",
        "invariants",
    )
    assert lake.table.protocol().reader_features == ()


def test_summary_says_first_who_can_no_longer_use_the_table(lake: Lake) -> None:
    plan = upgrade(lake, "deletionVectors", losers=losses_sentence)
    assert plan.summary.startswith("Can no longer read the table: ")
    assert "Readers must support deletionVectors" in plan.summary
    assert "Switches on deletionVectors" in plan.summary
    alone = upgrade(lake, "vacuumProtocolCheck")
    assert "Readers must support vacuumProtocolCheck" in alone.summary
    assert "Switches on" not in alone.summary


def test_append_only_is_supported_and_stays_off(lake: Lake) -> None:
    plan = upgrade(lake, "appendOnly", "deletionVectors")
    assert "delta.appendOnly" not in plan.effect["properties"]


@pytest.mark.rule("row-write-enable-all-set", "row-write-backfill")
def test_rows_get_ids_in_the_commit_that_enables_them(lake: Lake) -> None:
    plan = upgrade(lake, "rowTracking")
    assert set(planned(plan, "add")) == {"a", "b"}
    assert lake.execute(plan).status == "completed"
    snapshot = lake.table.snapshot()
    files = snapshot.files(["path", "base_row_id", "default_row_commit_version", "data_change"])
    assert sorted(files.column("base_row_id").to_pylist()) == [0, 3]
    assert files.column("default_row_commit_version").to_pylist() == [1, 1]
    assert files.column("data_change").to_pylist() == [False, False]
    assert snapshot.row_id_high_water_mark == 5
    names = [
        snapshot.metadata.configuration[f"delta.rowTracking.materialized{what}ColumnName"]
        for what in ("RowId", "RowCommitVersion")
    ]
    assert names[0].startswith("_row-id-col-")
    assert names[1].startswith("_row-commit-version-col-")
    assert lake.table.latest_version() == 1


def test_files_that_do_not_count_their_rows_get_no_ids(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.commit(0, [PROTOCOL, metadata(), lake.add("a")], age_days=9)
    plan = upgrade(lake, "rowTracking")
    assert outcome(plan, "upgrade") == "refuse"
    assert lake.execute(plan).status == "refused"


def test_file_that_came_meanwhile_makes_a_plan_with_row_ids_stale(lake: Lake) -> None:
    ids, vectors = upgrade(lake, "rowTracking"), upgrade(lake, "deletionVectors")
    lake.commit(1, [lake.add("c", stats=_STATS)], age_days=0)
    receipt = lake.execute(ids)
    assert receipt.status == "refused"
    assert lake.execute(vectors).status == "completed"


@pytest.mark.rule("schema-struct-object", "schema-array-type", "schema-map-type")
@pytest.mark.rule("mapping-maxcolumnid")
def test_columns_get_ids_from_outside_in_and_keep_their_names_in_files(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    inner = struct(field("x", "long"), field("y", array(struct(field("z", "string")))))
    schema = struct(
        field("a", inner),
        field("m", map_of(struct(field("k", "long")), struct(field("v", "long")))),
        field("last", "string"),
    )
    lake.commit(0, [PROTOCOL, metadata(schemaString=json.dumps(schema))], age_days=9)
    assert lake.execute(upgrade(lake, "columnMapping")).status == "completed"
    table = lake.table
    found = {
        place.path: (
            place.field.metadata["delta.columnMapping.id"],
            place.field.metadata["delta.columnMapping.physicalName"],
        )
        for place in walk_fields(table.snapshot().schema)
    }
    assert found == {
        "a": (1, "a"),
        "a.x": (2, "x"),
        "a.y": (3, "y"),
        "a.y.element.z": (4, "z"),
        "m": (5, "m"),
        "m.key.k": (6, "k"),
        "m.value.v": (7, "v"),
        "last": (8, "last"),
    }
    assert table.metadata().configuration["delta.columnMapping.maxColumnId"] == "8"
    written = json.loads(table.metadata().schema_string or "", object_hook=without_keys)
    assert written == schema


def test_columns_get_no_id_that_an_earlier_mapping_gave_out(tmp_path: Path) -> None:
    """A restore to before the mapping keeps count of them."""
    lake = Lake(tmp_path)
    conf = {"delta.columnMapping.maxColumnId": "5"}
    schema = json.dumps(struct(field("a", "long"), field("b", "long")))
    lake.commit(0, [PROTOCOL, metadata(schemaString=schema, configuration=conf)], age_days=9)
    assert lake.execute(upgrade(lake, "columnMapping")).status == "completed"
    fields = lake.table.snapshot().schema.fields
    assert [item.metadata["delta.columnMapping.id"] for item in fields] == [6, 7]
    assert lake.table.metadata().configuration["delta.columnMapping.maxColumnId"] == "7"


def without_keys(body: dict[str, Any]) -> dict[str, Any]:
    """A field of a schema as it was before columns were mapped."""
    return {**body, "metadata": {}} if "metadata" in body else body


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        (
            "columnMapping",
            {
                "schemaString": json.dumps(
                    struct(field("id", "long", **{"delta.columnMapping.id": 4}))
                )
            },
        ),
        ("changeDataFeed", {"schemaString": json.dumps(struct(field("_Change_Type", "string")))}),
        ("rowTracking", {"configuration": {"delta.rowTrackingSuspended": "true"}}),
    ],
)
def test_what_stands_in_the_way_of_a_feature_refuses_the_plan(
    tmp_path: Path, name: str, fields: dict[str, Any]
) -> None:
    lake = Lake(tmp_path)
    lake.commit(0, [FEATURE_PROTOCOL, metadata(**fields)], age_days=9)
    plan = upgrade(lake, name)
    assert outcome(plan, "upgrade") == "refuse"
    assert name in plan.refusals[0].message


def test_vectors_are_not_enabled_where_readers_go_by_manifests(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    listed = {"delta.compatibility.symlinkFormatManifest.enabled": "true"}
    lake.commit(0, [FEATURE_PROTOCOL, metadata(configuration=listed)], age_days=9)
    (refusal,) = upgrade(lake, "deletionVectors").refusals
    assert "symlinkFormatManifest" in refusal.message
    assert "would see deleted rows" in refusal.message


@pytest.mark.rule("newer-commit-timestamp-enablement-properties")
def test_in_commit_timestamps_say_since_when_they_count(lake: Lake) -> None:
    assert lake.execute(upgrade(lake, "inCommitTimestamp")).status == "completed"
    configuration = lake.table.metadata().configuration
    assert configuration["delta.inCommitTimestampEnablementVersion"] == "1"
    time = configuration["delta.inCommitTimestampEnablementTimestamp"]
    assert int(time) == lake.now_ms


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["a"], "1 file does not say how many rows it has,"),
        (["a", "b"], "2 files do not say how many rows they have,"),
    ],
)
def test_files_without_a_count_are_counted_in_plain_english(
    tmp_path: Path, names: list[str], says: str
) -> None:
    lake = Lake(tmp_path, "uncounted")
    lake.commit(0, [FEATURE_PROTOCOL, metadata(), *map(lake.add, names)], age_days=9)
    assert any(says in found.message for found in upgrade(lake, "rowTracking").refusals)
