"""Writers in processes of their own on one local disk, while another one maintains the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.storage.open import open_write_store
from tests.faults.racing_processes import create_table, race


@pytest.mark.rule("log-atomic-primitives", "log-never-overwrite", "log-versions-contiguous")
def test_eight_processes_commit_a_hundred_times_each_and_none_is_lost(tmp_path: Path) -> None:
    place = tmp_path / "table"
    create_table(open_write_store(place))
    upkeep = race(str(place), processes=8, commits=100, state=tmp_path / "state")
    for operation in ("checkpoint", "compact-log", "vacuum"):
        assert upkeep.outcomes.get(f"{operation} completed"), upkeep
    assert upkeep.versions
    assert not [path for path in place.rglob("*") if ".tmp-" in path.name]
    assert not list(place.glob("stray-*"))
