"""What operations write of a table's protocol and metadata: features in the lists where they
belong, and of the metadata no more changed than was asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from explorer.maintenance import plan_set_properties, plan_upgrade
from explorer.maintenance.features.upgrade_rules import RULES
from explorer.protocol.features.consistency import validate_protocol
from explorer.protocol.features.registry import FEATURES
from tests.tables import PROTOCOL, metadata
from tests.unit.maintenance.lake import Lake


def written(lake: Lake, version: int) -> dict[str, Any]:
    """The protocol and metadata of a commit, as they stand in the log."""
    lines = (lake.log.log / f"{version:020}.json").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    return {
        kind: body
        for line in found
        for kind, body in line.items()
        if kind in {"protocol", "metaData"}
    }


def upgraded(lake: Lake, name: str) -> dict[str, Any]:
    """What enabling a feature wrote."""
    receipt = lake.execute(plan_upgrade(lake.table, features=[name], clock=lake.clock))
    assert receipt.status == "completed", receipt.problem
    return written(lake, 1)


_OF_READERS = [
    "deletionVectors",
    "v2Checkpoint",
    *sorted(
        name
        for name in RULES
        if FEATURES[name].kind == "reader-writer"
        and FEATURES[name].legacy_min_reader is None
        and name not in {"deletionVectors", "v2Checkpoint"}
    ),
]
_OF_WRITERS = sorted(name for name in RULES if FEATURES[name].kind == "writer")


@pytest.mark.rule("feature-reader-in-both-lists", "feature-not-only-reader-list")
@pytest.mark.rule("feature-reader3-requires-list", "feature-writer7-requires-list")
@pytest.mark.rule("dv-protocol", "checkpoint-v2-feature-protocol")
@pytest.mark.parametrize("name", _OF_READERS)
def test_feature_of_readers_is_listed_for_both_at_versions_3_and_7(
    name: str, tmp_path: Path
) -> None:
    lake = Lake(tmp_path)
    lake.commit(0, [PROTOCOL, metadata(), lake.add("a", stats='{"numRecords":1}')], age_days=9)
    body = upgraded(lake, name)["protocol"]
    assert (body["minReaderVersion"], body["minWriterVersion"]) == (3, 7)
    assert name in body["readerFeatures"]
    assert name in body["writerFeatures"]
    assert validate_protocol(lake.table.protocol()) == []


@pytest.mark.rule("feature-reader-in-both-lists", "feature-new-2-7")
@pytest.mark.parametrize("name", _OF_WRITERS)
def test_feature_of_writers_is_listed_for_them_alone(name: str, tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    listing = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": []}
    file = lake.add("a", stats='{"numRecords":1}')
    lake.commit(0, [{"protocol": listing}, metadata(), file], age_days=9)
    body = upgraded(lake, name)["protocol"]
    assert name in body["writerFeatures"]
    assert (body["minReaderVersion"], body.get("readerFeatures")) == (1, None)


@pytest.mark.rule("mapping-enable-5-6")
@pytest.mark.parametrize("version", [5, 6])
def test_mapping_of_a_numbered_table_is_switched_on_by_its_metadata_alone(
    version: int, tmp_path: Path
) -> None:
    lake = Lake(tmp_path)
    numbered = {"minReaderVersion": 2, "minWriterVersion": version}
    lake.commit(0, [{"protocol": numbered}, metadata()], age_days=9)
    found = upgraded(lake, "columnMapping")
    assert found.keys() == {"metaData"}
    assert found["metaData"]["configuration"]["delta.columnMapping.mode"] == "name"


@pytest.mark.rule("mapping-enable-7")
def test_mapping_of_a_table_that_lists_features_is_listed_for_both(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    names = ["deletionVectors"]
    listing = {"minReaderVersion": 3, "minWriterVersion": 7}
    both = {"readerFeatures": names, "writerFeatures": names}
    lake.commit(0, [{"protocol": {**listing, **both}}, metadata()], age_days=9)
    found = upgraded(lake, "columnMapping")
    for kind in ("readerFeatures", "writerFeatures"):
        assert set(found["protocol"][kind]) == {"columnMapping", "deletionVectors"}
    assert found["metaData"]["configuration"]["delta.columnMapping.mode"] == "name"


@pytest.mark.rule("metadata-format", "metadata-format-provider", "metadata-format-options")
@pytest.mark.parametrize("options", [{}, {"key": "value"}], ids=["none", "some"])
def test_metadata_is_written_again_with_everything_that_nobody_changed(
    options: dict[str, str], tmp_path: Path
) -> None:
    lake = Lake(tmp_path)
    table = metadata(
        name="sales",
        description="of a year",
        format={"provider": "parquet", "options": options},
        configuration={"owner": "me"},
        notYetInvented={"x": [1]},
    )
    lake.commit(0, [PROTOCOL, table, lake.add("a")], age_days=9)
    plan = plan_set_properties(lake.table, {"team": "x"}, clock=lake.clock)
    receipt = lake.execute(plan)
    assert receipt.status == "completed", receipt.problem
    before = written(lake, 0)["metaData"]
    configuration = {"owner": "me", "team": "x"}
    assert written(lake, 1) == {"metaData": {**before, "configuration": configuration}}
