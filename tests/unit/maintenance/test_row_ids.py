"""What maintenance does to rows that have ids: they keep them, wherever they go."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.maintenance import (
    Plan,
    execute,
    plan_drop_feature,
    plan_optimize,
    plan_repair,
    plan_restore,
    plan_set_properties,
)
from explorer.protocol.vectors.deletion_vectors import build_inline_descriptor, render_descriptor
from tests.data_tables import DataTable, field, struct
from tests.tables import commit_name, remove
from tests.unit.maintenance.lake import approve

ID, VERSION = "_row-id-col-1", "_row-commit-version-col-1"
ENABLED = {
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": ID,
    "delta.rowTracking.materializedRowCommitVersionColumnName": VERSION,
}
FEATURES = ("rowTracking", "domainMetadata", "deletionVectors")
TRACKED = ("_row_id", "_row_commit_version")


def domain(configuration: str) -> dict[str, Any]:
    held = {"domain": "delta.rowTracking", "configuration": configuration, "removed": False}
    return {"domainMetadata": held}


def tracked(place: Path, configuration: dict[str, str]) -> Path:
    """A file of four rows, the first and third hidden, and one whose rows brought ids."""
    table = DataTable(
        place, struct(field("a", "long")), features=FEATURES, configuration=configuration
    )
    stats = '{"numRecords":4,"tightBounds":false}'
    known = {"defaultRowCommitVersion": 0, "stats": stats}
    vector = render_descriptor(build_inline_descriptor([0, 2]))
    table.add("x", pa.table({"a": [0, 1, 2, 3]}), baseRowId=10, deletionVector=vector, **known)
    nulls = pa.array([90, None, None, 93], pa.int64())
    brought = pa.table({"a": [4, 5, 6, 7], ID: nulls, VERSION: nulls})
    table.add("y", brought, baseRowId=20, **known)
    table.write()
    mark = domain('{"rowIdHighWaterMark":99}')
    (place / "_delta_log" / commit_name(1)).write_text(json.dumps(mark) + "\n")
    return place


def done(plan: Plan, scratch: Path) -> None:
    receipt = execute(plan, approve(plan), state_dir=scratch / "state")
    assert receipt.status == "completed", receipt.problem


def with_ids(place: Path) -> list[tuple[Any, ...]]:
    snapshot = explorer.open_table(place).snapshot()
    rows = explorer.read_rows(snapshot, metadata_columns=list(TRACKED))
    return sorted(tuple(row.values()) for row in rows.to_pylist())


def newest(place: Path, kind: str) -> list[dict[str, Any]]:
    version = explorer.open_table(place).latest_version()
    text = (place / "_delta_log" / commit_name(version)).read_text()
    return [line[kind] for line in map(json.loads, text.splitlines()) if kind in line]


@pytest.mark.rule("row-default-id", "row-default-commit-version", "row-write-preserved-tag")
@pytest.mark.rule("row-materialized-id", "row-materialized-commit-version")
@pytest.mark.rule("row-materialized-id-null", "row-materialized-commit-version-null")
@pytest.mark.rule("row-materialized-id-hidden", "row-write-recommit-base")
@pytest.mark.rule("row-write-recommit-commit-version", "row-write-materialized-column")
@pytest.mark.rule("row-write-materialized-commit-version-column", "row-stable-id")
@pytest.mark.rule("row-stable-commit-version")
def test_rows_that_are_written_again_keep_the_ids_of_their_places(tmp_path: Path) -> None:
    place = tracked(tmp_path / "t", ENABLED)
    before = with_ids(place)
    assert before == [(1, 11, 0), (3, 13, 0), (4, 90, 90), (5, 21, 0), (6, 22, 0), (7, 93, 93)]
    schema = explorer.open_table(place).metadata().schema_string
    done(plan_optimize(explorer.open_table(place)), tmp_path)
    assert with_ids(place) == before
    assert explorer.open_table(place).metadata().schema_string == schema
    (new,) = newest(place, "add")
    stored = pq.read_table(place / new["path"])
    assert stored.column_names == ["a", ID, VERSION]
    rows = sorted(tuple(row.values()) for row in stored.to_pylist())
    assert rows == before
    assert (new["baseRowId"], new["defaultRowCommitVersion"]) == (100, 2)
    left = {body["path"]: body for body in newest(place, "remove")}
    known = {p: (b["baseRowId"], b["defaultRowCommitVersion"]) for p, b in left.items()}
    assert known == {"x": (10, 0), "y": (20, 0)}
    (info,) = newest(place, "commitInfo")
    assert info["tags"] == {"delta.rowTracking.preserved": "true"}


@pytest.mark.rule("older-001-row-base-above-high-water-mark", "row-high-water-mark-spellings")
@pytest.mark.rule("older-001-row-high-water-mark-whenever")
@pytest.mark.rule("older-001-row-high-water-mark-at-least")
@pytest.mark.parametrize(
    "mark",
    [
        {"rowIdHighWaterMark": {"highWaterMark": 499}},
        domain('{"highWaterMark":499}'),
        domain('{"rowIdHighWaterMark":499}'),
    ],
    ids=["action", "as the text has it", "as tables have it"],
)
def test_ids_go_on_above_the_mark_in_every_spelling(tmp_path: Path, mark: dict[str, Any]) -> None:
    place = tracked(tmp_path / "t", ENABLED)
    (place / "_delta_log" / commit_name(1)).write_text(json.dumps(mark) + "\n")
    done(plan_optimize(explorer.open_table(place)), tmp_path)
    (new,) = newest(place, "add")
    assert new["baseRowId"] == 500
    (written,) = newest(place, "domainMetadata")
    assert {"domainMetadata": written} == domain('{"rowIdHighWaterMark":505}')
    assert newest(place, "rowIdHighWaterMark") == []


@pytest.mark.rule("row-write-preserved-tag")
@pytest.mark.parametrize("configuration", [ENABLED, {}], ids=["enabled", "supported"])
@pytest.mark.parametrize(
    "planned",
    [
        lambda table: plan_restore(table, 0),
        lambda table: plan_repair(table, "statistics"),
        lambda table: plan_set_properties(table, {"owner": "me"}),
    ],
    ids=["restore", "statistics", "properties"],
)
def test_commit_that_copies_no_row_says_that_ids_are_kept(
    tmp_path: Path, planned: Callable[[explorer.Table], Plan], configuration: dict[str, str]
) -> None:
    place = tracked(tmp_path / "t", configuration)
    gone = remove("y", baseRowId=20, defaultRowCommitVersion=0)
    (place / "_delta_log" / commit_name(2)).write_text(json.dumps(gone) + "\n")
    done(planned(explorer.open_table(place)), tmp_path)
    (info,) = newest(place, "commitInfo")
    said = {"delta.rowTracking.preserved": "true"} if configuration else None
    assert info.get("tags") == said


@pytest.mark.rule("row-write-preserved-tag")
def test_files_of_a_version_before_its_rows_had_ids_come_back_with_others(tmp_path: Path) -> None:
    place = tmp_path / "t"
    table = DataTable(place, struct(field("a", "long")), features=FEATURES, configuration=ENABLED)
    table.add("x", pa.table({"a": [1, 2]}), stats='{"numRecords":2}')
    table.write()
    later = [remove("x"), domain('{"rowIdHighWaterMark":99}')]
    lines = "".join(json.dumps(line) + "\n" for line in later)
    (place / "_delta_log" / commit_name(1)).write_text(lines)
    done(plan_restore(explorer.open_table(place), 0), tmp_path)
    (back,) = newest(place, "add")
    assert (back["baseRowId"], back["defaultRowCommitVersion"]) == (100, 2)
    (info,) = newest(place, "commitInfo")
    assert info["tags"] == {"delta.rowTracking.preserved": "false"}


@pytest.mark.rule("row-write-preserved-tag")
def test_ids_that_are_dropped_are_not_called_kept(tmp_path: Path) -> None:
    place = tracked(tmp_path / "t", ENABLED)
    plan = plan_drop_feature(explorer.open_table(place), "rowTracking")
    done(plan, tmp_path)
    tags = []
    for version in range(2, explorer.open_table(place).latest_version() + 1):
        first = (place / "_delta_log" / commit_name(version)).read_text().splitlines()[0]
        tags.append(json.loads(first)["commitInfo"].get("tags"))
    assert tags[0] is None
    assert not any(tags)
