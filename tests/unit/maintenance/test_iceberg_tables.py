"""What maintenance does to tables that are kept convertible to Iceberg: no table becomes one
unseen. How their files are written again is in `tests.conformance.test_written_iceberg`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.maintenance import (
    Approval,
    execute,
    plan_repair,
    plan_set_properties,
    plan_upgrade,
)
from tests.data_tables import array, mapped, struct
from tests.tables import add, metadata
from tests.unit.maintenance.lake import Lake, outcome

STATS = '{"numRecords":10,"minValues":{"c-1":1},"maxValues":{"c-1":9},"nullCount":{"c-1":0}}'


def compatible(scratch: Path, version: int, *files: Any, **more: str) -> Lake:
    """A partitioned table with an array and timestamps, by one of the sets of rules."""
    lake = Lake(scratch)
    columns = [
        mapped("id", "long", "c-1", 1),
        mapped("part", "string", "c-2", 2),
        mapped("at", "timestamp", "c-3", 3),
    ]
    if version == 2:
        columns.append(mapped("list", array("long"), "c-4", 4))
        columns[-1]["metadata"]["parquet.field.nested.ids"] = {"list.element": 5}
    protocol = {
        "minReaderVersion": 2,
        "minWriterVersion": 7,
        "writerFeatures": ["columnMapping", f"icebergCompatV{version}"],
    }
    configuration = {
        "delta.columnMapping.mode": "name",
        "delta.columnMapping.maxColumnId": "5",
        **more,
    }
    described = metadata(
        schemaString=json.dumps(struct(*columns)),
        partitionColumns=["part"],
        configuration=configuration,
    )
    lake.commit(0, [{"protocol": protocol}, described, *files], age_days=9)
    return lake


def file(path: str) -> Any:
    return add(path, size=2**20, partitionValues={"c-2": "x"}, stats=STATS)


@pytest.mark.parametrize("version", [1, 2])
def test_no_property_alone_makes_a_table_convertible(tmp_path: Path, version: int) -> None:
    lake = compatible(tmp_path, version, file("a"))
    plan = plan_set_properties(
        lake.table, {f"delta.enableIcebergCompatV{version}": "true"}, clock=lake.clock
    )
    assert outcome(plan, "commit") == "refuse"
    assert lake.execute(plan).status == "refused"
    assert lake.table.latest_version() == 0


@pytest.mark.parametrize(
    "name", ["spark44-iceberg-compat-v2", "golden-table-with-icebegCompatV2Enabled"]
)
def test_real_tables_for_iceberg_can_be_changed(corpus: Path, name: str) -> None:
    table = explorer.open_table(corpus / "tables" / name)
    assert not plan_set_properties(table, set={"note": "x"}).refusals


def test_files_added_again_hold_the_partition_columns_as_before(
    corpus: Path, tmp_path: Path
) -> None:
    place = tmp_path / "table"
    shutil.copytree(corpus / "tables" / "kernel-partitioned_with_materialize_feature", place)
    for commit in (place / "_delta_log").glob("*.json"):
        lines = [json.loads(line) for line in commit.read_text().splitlines()]
        for line in lines:
            line.get("add", {}).pop("stats", None)
        commit.chmod(0o644)
        commit.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    before = explorer.open_table(place).snapshot().num_files
    assert before
    state = tmp_path / "state"
    for plan_it in (
        lambda table: plan_repair(table, "statistics"),
        lambda table: plan_upgrade(table, features=["rowTracking"]),
    ):
        plan = plan_it(explorer.open_table(place))
        assert plan.files.num_rows or plan.operation == "upgrade"
        receipt = execute(plan, Approval(plan.digest), state_dir=state)
        assert receipt.status == "completed", receipt.problem
    snapshot = explorer.open_table(place).snapshot()
    assert (snapshot.num_files, snapshot.num_rows is not None) == (before, True)
    assert snapshot.files(["base_row_id"])["base_row_id"].null_count == 0
