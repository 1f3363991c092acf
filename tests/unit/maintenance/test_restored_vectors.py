"""Deletion vectors at absolute paths: a restore finds their files, and names them as they were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from explorer.maintenance import plan_restore
from tests.tables import FEATURE_PROTOCOL, metadata, vector
from tests.unit.maintenance.lake import Lake, outcome


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@pytest.mark.rule("dv-p-absolute")
@pytest.mark.parametrize(
    "where", ["file://{}/the%20vectors/v%2541.bin", "{}/the%20vectors/v%2541.bin"]
)
def test_vector_at_an_absolute_path_comes_back_as_it_was_named(lake: Lake, where: str) -> None:
    place = lake.root / lake.file("the vectors/v%41.bin")
    told = where.format(lake.root)
    hidden = vector(told, storageType="p")
    stats = '{"numRecords":5}'
    first = [FEATURE_PROTOCOL, metadata(), lake.add("a", deletionVector=hidden, stats=stats)]
    lake.commit(0, first, age_days=9)
    lake.commit(1, [lake.remove("a", age_days=5, deletionVector=hidden)], age_days=5)
    plan = plan_restore(lake.table, 0, clock=lake.clock)
    assert outcome(plan, "files") == "allow"
    assert lake.execute(plan).status == "completed"
    lines = (lake.log.log / f"{2:020}.json").read_text().splitlines()
    (back,) = (json.loads(line)["add"] for line in lines if line.startswith('{"add"'))
    assert back["deletionVector"] == hidden
    lake.commit(3, [lake.remove("a", age_days=0, deletionVector=hidden)], age_days=0)
    place.unlink()
    assert outcome(plan_restore(lake.table, 0, clock=lake.clock), "files") == "refuse"
