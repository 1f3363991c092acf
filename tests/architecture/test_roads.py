"""The script that counts the modules on a road walks each of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture.roads import ROADS, Road

PASSED = {
    "open": "explorer.table.table",
    "scan": "explorer.scan.plan",
    "vacuum plan": "explorer.maintenance.vacuum.vacuum",
    "vacuum run": "explorer.maintenance.run.executor",
    "click": "widgets.screens.files.view",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ROADS)
def test_a_road_enters_the_module_that_it_must_pass(name: str, tmp_path: Path) -> None:
    road = Road()
    ROADS[name](tmp_path / "walked", road)
    assert PASSED[name.partition(":")[0]] in road.modules
