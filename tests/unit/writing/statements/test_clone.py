"""Shallow clones: the rows of a source by the same files, none of which ever changes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer import DeltaError, maintenance, pipeline
from tests.unit.maintenance.lake import DAY_MS, approve

TRACKED = {"delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true"}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Two partitions in a folder with signs to escape, vectors in the log and in a file."""
    place = tmp_path / "a b%c"
    pipeline.create(place, "id BIGINT NOT NULL, c STRING", partition_by="c", properties=TRACKED)
    ids = list(range(6000))
    rows = {"id": ids, "c": ["x y"] * 3000 + ["z"] * 3000}
    pipeline.write(pa.table(rows), place)
    some = ", ".join(str(number) for number in ids if number < 3000 and number * number % 7 == 2)
    pipeline.delete(place, f"id IN ({some})")
    pipeline.delete(place, "id = 5000")
    return place


def rows(place: Path, version: int | None = None) -> list[dict[str, Any]]:
    found = explorer.read_rows(explorer.open_table(place).snapshot(version))
    return found.sort_by("id").to_pylist()  # type: ignore[no-any-return]


def files(place: Path) -> dict[Path, bytes]:
    return {each: each.read_bytes() for each in place.rglob("*") if each.is_file()}


@pytest.mark.rule("dv-p-absolute", "file-add-path")
def test_a_clone_has_the_rows_of_its_source_by_whole_paths(source: Path, tmp_path: Path) -> None:
    before, target = files(source), tmp_path / "clone"
    result = pipeline.clone(source, target)
    assert (result.version, result.operation) == (0, "CLONE")
    assert result.metrics["sourceNumOfFiles"] == 2
    assert rows(target) == rows(source)
    here, there = (explorer.open_table(place).snapshot() for place in (target, source))
    assert here.protocol == there.protocol
    assert here.metadata.id != there.metadata.id
    mine, theirs = here.metadata.configuration, there.metadata.configuration
    assert mine.keys() == theirs.keys()
    differing = {name for name in mine if mine[name] != theirs[name]}
    assert {name.rpartition(".")[2] for name in differing} == {
        "materializedRowIdColumnName",
        "materializedRowCommitVersionColumnName",
    }
    adds = here.physical_files("add", ["path", "deletion_vector", "base_row_id"]).to_pylist()
    assert {each["path"].rpartition("/")[0] for each in adds} == {
        f"file:{tmp_path}/a%20b%25c/{folder}" for folder in ("c=x%20y", "c=z")
    }
    kinds = {each["deletion_vector"]["storage_type"] for each in adds}
    assert kinds == {"i", "p"}
    assert sorted(each["base_row_id"] for each in adds) == [0, 3000]
    line = (target / "_delta_log" / f"{0:020}.json").read_text().splitlines()[0]
    assert json.loads(line)["commitInfo"]["operationParameters"] == {
        "source": f"delta.`file:{source}`",
        "sourceVersion": 3,
    }
    assert files(source) == before


def test_a_clone_of_a_clone_and_of_an_older_version_names_the_first_files(
    source: Path, tmp_path: Path
) -> None:
    pipeline.clone(source, tmp_path / "one", version=1)
    assert rows(tmp_path / "one") == rows(source, 1)
    pipeline.clone(tmp_path / "one", tmp_path / "two")
    assert rows(tmp_path / "two") == rows(source, 1)
    paths = [
        explorer.open_table(tmp_path / name).snapshot().files(["path"]).column("path").to_pylist()
        for name in ("one", "two")
    ]
    assert paths[0] == paths[1]
    now = explorer.open_table(source).snapshot(3).timestamp
    pipeline.clone(source, tmp_path / "three", timestamp=now)
    assert rows(tmp_path / "three") == rows(source)


def test_a_clone_has_properties_of_its_own(source: Path, tmp_path: Path) -> None:
    own = {
        "owner": "me",
        "delta.enableDeletionVectors": "false",
        "delta.enableRowTracking": "false",
        "delta.enableTypeWidening": True,
    }
    pipeline.clone(source, tmp_path / "clone", properties=own)
    here, there = (explorer.open_table(place).snapshot() for place in (tmp_path / "clone", source))
    added = {"owner": "me", "delta.enableTypeWidening": "true"}
    kept = there.metadata.configuration.keys()
    assert here.metadata.configuration.keys() == {*kept, *added}
    assert here.metadata.configuration["delta.enableDeletionVectors"] == "false"
    features = [set(each.protocol.writer_features or ()) for each in (here, there)]
    assert features[0] == features[1] | {"typeWidening"}
    assert rows(tmp_path / "clone") == rows(source)
    # rows get ids where the clone alone tracks them
    pipeline.create(tmp_path / "plain", "id BIGINT")
    pipeline.write(pa.table({"id": [1, 2]}), tmp_path / "plain")
    pipeline.clone(
        tmp_path / "plain", tmp_path / "tracked", properties={"delta.enableRowTracking": "true"}
    )
    snapshot = explorer.open_table(tmp_path / "tracked").snapshot()
    found = explorer.read_rows(snapshot, [], metadata_columns=["_row_id"])
    assert sorted(found.column("_row_id").to_pylist()) == [0, 1]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("delta.columnMapping.mode", "name"),
        ("delta.enableIcebergCompatV2", "true"),
        ("delta.constraints.small", "id < 3"),
        ("delta.enableDeletionVector", "true"),
        ("delta.dataSkippingStatsColumns", "none"),
    ],
)
def test_a_clone_has_no_property_that_its_files_would_have_to_follow(
    source: Path, tmp_path: Path, name: str, value: str
) -> None:
    with pytest.raises(DeltaError) as told:
        pipeline.clone(source, tmp_path / "clone", properties={name: value})
    assert told.value.kind == "invalid_argument"
    assert not (tmp_path / "clone").exists()


def test_a_clone_goes_on_with_the_columns_of_its_source_that_fill_themselves(
    tmp_path: Path,
) -> None:
    columns = (
        "id BIGINT, n BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 5), "
        "c STRING DEFAULT 'none', twice BIGINT GENERATED ALWAYS AS (id * 2)"
    )
    properties = {"delta.feature.allowColumnDefaults": "supported"}
    pipeline.create(tmp_path / "source", columns, properties=properties)
    pipeline.write(pa.table({"id": [1, 2]}), tmp_path / "source")
    pipeline.clone(tmp_path / "source", tmp_path / "clone")
    pipeline.write(pa.table({"id": [3]}), tmp_path / "clone")
    assert [tuple(row.values()) for row in rows(tmp_path / "clone")] == [
        (1, 5, "none", 2),
        (2, 6, "none", 4),
        (3, 7, "none", 6),
    ]


@pytest.mark.slow
def test_no_statement_upon_a_clone_changes_a_file_of_its_source(
    source: Path, tmp_path: Path
) -> None:
    before, target = files(source), tmp_path / "clone"
    pipeline.clone(source, target)
    pipeline.write(pa.table({"id": [9001, 9002], "c": ["z", "new"]}), target)
    pipeline.delete(target, "id < 10 OR id = 5500")
    pipeline.update(target, {"id": "id + 20000"}, "id BETWEEN 4000 AND 4010")
    pipeline.delete(target, "c = 'x y'")
    kept = rows(target)
    plan = maintenance.plan_optimize(explorer.open_table(target))
    state = tmp_path / "state"
    assert maintenance.execute(plan, approve(plan), state_dir=state).status == "completed"
    pipeline.write(pa.table({"id": [1], "c": ["z"]}), target, mode="overwrite")
    assert len(kept) > 1
    later = int(datetime.now(UTC).timestamp() * 1000) + 40 * DAY_MS
    plan = maintenance.plan_vacuum(explorer.open_table(target), clock=lambda: later)
    assert plan.effect["num_files"] > 0
    done = maintenance.execute(plan, approve(plan), state_dir=state, clock=lambda: later)
    assert done.status == "completed"
    assert rows(target) == [{"id": 1, "c": "z"}]
    assert files(source) == before


def test_what_cannot_be_cloned_is_refused_and_leaves_nothing(source: Path, tmp_path: Path) -> None:
    pipeline.clone(source, tmp_path / "clone")
    places = {"already_exists": tmp_path / "clone", "invalid_argument": source / "inside"}
    for kind, place in places.items():
        with pytest.raises(DeltaError) as told:
            pipeline.clone(source, place)
        assert told.value.kind == kind
    assert not (source / "inside").exists()
    with pytest.raises(DeltaError) as told:
        pipeline.clone(source, "memory://bucket/clone")
    assert told.value.kind == "store_unsupported"
    with pytest.raises(DeltaError) as told:
        pipeline.clone(source, tmp_path / "new", version=99)
    assert told.value.kind == "version_not_found"
    with pytest.raises(DeltaError) as told:
        pipeline.clone(tmp_path / "none", tmp_path / "new")
    assert told.value.kind == "table_not_found"
    assert not (tmp_path / "new").exists()


def test_clustering_and_in_commit_timestamps_come_along_without_their_history(
    tmp_path: Path,
) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    pipeline.create(source, "id BIGINT")
    pipeline.create(
        source,
        "id BIGINT",
        cluster_by="id",
        name="orders",
        description="why",
        properties={"delta.enableInCommitTimestamps": "true"},
        replace=True,
    )
    pipeline.write(pa.table({"id": [1]}), source, transaction=("nightly", 1))
    held = explorer.open_table(source).snapshot()
    assert "delta.inCommitTimestampEnablementVersion" in held.metadata.configuration
    pipeline.clone(source, target)
    made = explorer.open_table(target).snapshot()
    assert made.metadata.configuration == {"delta.enableInCommitTimestamps": "true"}
    assert made.domains["delta.clustering"] == held.domains["delta.clustering"]
    assert (made.metadata.name, made.metadata.description) == (None, None)
    assert made.metadata.created_time == held.metadata.created_time
    assert not made.transactions
    assert rows(target) == [{"id": 1}]
