"""Writers in processes of their own, on one local disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.storage.open import open_write_store
from tests.faults.racing_processes import create_table, race


@pytest.mark.rule("log-atomic-primitives", "log-never-overwrite", "log-versions-contiguous")
def test_eight_processes_commit_a_hundred_times_each_and_none_is_lost(tmp_path: Path) -> None:
    create_table(open_write_store(tmp_path))
    race(str(tmp_path), processes=8, commits=100)
    assert not [path for path in (tmp_path / "_delta_log").iterdir() if path.suffix != ".json"]
