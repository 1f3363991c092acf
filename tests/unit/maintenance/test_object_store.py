"""Maintenance of a table in an object store, by the same plans and the same executor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import fsspec
import pytest

import explorer
from explorer import maintenance
from explorer.files.listed import list_files, stat_files
from explorer.maintenance import Approval, Plan, plan_checkpoint, plan_vacuum
from tests.tables import FEATURE_PROTOCOL, metadata
from tests.unit.maintenance.lake import Lake, planned


@pytest.fixture
def uri(tmp_path: Path) -> Iterator[str]:
    """Two versions, with a file that was removed, a stray one and a foreign one."""
    lake = Lake(tmp_path)
    lake.commit(
        0, [FEATURE_PROTOCOL, metadata(), lake.add("p=a b/live"), lake.add("gone")], age_days=40
    )
    lake.commit(1, [lake.remove("gone", age_days=9)], age_days=9)
    lake.file("x/stray.parquet")
    lake.file("_hidden/stray.parquet")
    memory = fsspec.filesystem("memory")
    root = f"/{uuid4().hex}"
    memory.put(str(lake.root), root, recursive=True)
    yield f"memory://{root}"
    memory.rm(root, recursive=True)


def execute(plan: Plan, scratch: Path) -> maintenance.Receipt:
    return maintenance.execute(plan, Approval(plan.digest), state_dir=scratch / "state")


def test_folders_are_listed_with_sizes_and_times(uri: str) -> None:
    store = explorer.open_table(uri).store
    listed = list_files(store)
    assert sorted(listed.paths.to_pylist()) == [
        "_hidden/stray.parquet",
        "gone",
        "p=a b/live",
        "x/stray.parquet",
    ]
    assert listed.sizes is not None
    assert listed.modified_ms is not None
    assert listed.sizes.to_pylist() == [100] * 4
    found = stat_files(store, listed.paths)
    assert found.column("bytes").to_pylist() == [100] * 4
    assert found.column("modified").to_pylist() == listed.modified_ms.to_pylist()


def test_vacuum_deletes_what_was_removed_and_keeps_what_is_young(uri: str, tmp_path: Path) -> None:
    # what was put just now is young; the log says when a file was removed
    plan = plan_vacuum(explorer.open_table(uri))
    assert list(planned(plan)) == ["gone"]
    assert set(planned(plan, "leave")) == {"_hidden/stray.parquet", "x/stray.parquet"}
    receipt = execute(plan, tmp_path)
    assert receipt.status == "completed", receipt.problem
    paths = list_files(explorer.open_table(uri).store).paths.to_pylist()
    assert sorted(paths) == ["_hidden/stray.parquet", "p=a b/live", "x/stray.parquet"]
    assert explorer.open_table(uri).latest_version() == 3


def test_checkpoint_is_written_and_read(uri: str, tmp_path: Path) -> None:
    plan = plan_checkpoint(explorer.open_table(uri))
    receipt = execute(plan, tmp_path)
    assert receipt.status == "completed", receipt.problem
    segment = explorer.open_table(uri).snapshot().segment
    assert segment.checkpoint is not None
    assert segment.checkpoint.version == 1
