"""What maintenance leaves, another reader reads: the same versions, files and rows."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

import explorer
from explorer import maintenance
from explorer.maintenance import Plan
from tests.demo_story import LATELY, copy_demo
from tests.unit.maintenance.lake import approve

OPERATIONS: dict[str, Callable[[explorer.Table], Plan]] = {
    "checkpoint": maintenance.plan_checkpoint,
    "compact-log": lambda table: maintenance.plan_log_compaction(table, 51, 59),
    "vacuum": maintenance.plan_vacuum,
    "vacuum lite": lambda table: maintenance.plan_vacuum(table, mode="lite"),
    "clean-log": maintenance.plan_log_cleanup,
    "restore": lambda table: maintenance.plan_restore(table, 60),
    "set": lambda table: maintenance.plan_set_properties(table, {"delta.checkpointInterval": "5"}),
}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "orders"
    return copy_demo(folder, LATELY)


def sorted_rows(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=repr)


@pytest.mark.slow
@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("operation", list(OPERATIONS))
def test_peer_reads_the_table_as_we_do(demo: Path, tmp_path: Path, operation: str) -> None:
    place = Path(shutil.copytree(demo, tmp_path / "orders"))
    table = explorer.open_table(place)
    plan = OPERATIONS[operation](table)
    assert plan.steps
    before = table.snapshot(version=60 if operation == "restore" else None)
    rows = sorted_rows(explorer.read_rows(before))
    receipt = maintenance.execute(plan, approve(plan), state_dir=tmp_path / "state")
    assert receipt.status == "completed", receipt.problem
    after = explorer.open_table(place).snapshot()
    assert sorted_rows(explorer.read_rows(after)) == rows
    assert not after.problems
    peer = DeltaTable(str(place))
    assert peer.version() == after.version
    assert {row["path"] for row in pa.table(peer.get_add_actions()).to_pylist()} == set(
        after.files(["path"]).column("path").to_pylist()
    )
    for version in map(int, plan.promise.versions):
        peer.load_as_version(version)
        ours = explorer.open_table(place).snapshot(version=version)
        assert pa.table(peer.get_add_actions()).num_rows == ours.num_files
