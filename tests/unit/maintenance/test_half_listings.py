"""A protocol that lists a feature in one of its two lists alone is mended by an upgrade."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from explorer.maintenance import Plan, plan_optimize, plan_repair, plan_upgrade
from tests.tables import metadata
from tests.unit.maintenance.lake import Lake, outcome

_STATS = '{"numRecords":3}'


@pytest.mark.parametrize(
    "half",
    [
        {"minReaderVersion": 3, "readerFeatures": [], "writerFeatures": ["deletionVectors"]},
        {"minReaderVersion": 3, "readerFeatures": ["deletionVectors"], "writerFeatures": []},
        {"minReaderVersion": 1, "writerFeatures": ["deletionVectors"]},
    ],
    ids=["writers", "readers", "writers of reader version 1"],
)
def test_upgrade_to_the_version_it_has_lists_half_listed_features_in_both_lists(
    tmp_path: Path, half: dict[str, Any]
) -> None:
    lake = Lake(tmp_path)
    protocol = {"protocol": {"minWriterVersion": 7, **half}}
    lake.commit(0, [protocol, metadata(), lake.add("a", stats=_STATS)], age_days=9)
    plan = plan_upgrade(lake.table, writer_version=7, clock=lake.clock)
    assert lake.execute(plan).status == "completed"
    found = lake.table.snapshot()
    assert found.protocol.reader_features == found.protocol.writer_features == ("deletionVectors",)
    assert found.problems == ()
    assert plan_upgrade(lake.table, writer_version=7, clock=lake.clock).steps == ()


CLUSTERED = {
    "domainMetadata": {
        "domain": "delta.clustering",
        "configuration": '{"clusteringColumns":[["id"]]}',
        "removed": False,
    }
}
BOUNDS = '{"numRecords":3,"minValues":{"id":1},"maxValues":{"id":2},"nullCount":{"id":0,"part":0}}'


def repair_statistics(lake: Lake) -> Plan:
    return plan_repair(lake.table, "statistics", clock=lake.clock)


def optimize(lake: Lake) -> Plan:
    return plan_optimize(lake.table, clock=lake.clock)


@pytest.mark.parametrize(
    ("plan", "stats", "clustered"),
    [(repair_statistics, None, False), (optimize, BOUNDS, False), (optimize, BOUNDS, True)],
    ids=["repair statistics", "optimize", "optimize of a clustered table"],
)
def test_no_plan_rewrites_files_of_such_a_table(
    tmp_path: Path, plan: Callable[[Lake], Plan], stats: str | None, clustered: bool
) -> None:
    lake = Lake(tmp_path)
    names = ["domainMetadata", "clustering", "deletionVectors"]
    for listed, wanted in ((["deletionVectors"], "allow"), ([], "refuse")):
        protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": listed}
        lake.commit(
            0,
            [
                {"protocol": {**protocol, "writerFeatures": names}},
                metadata(),
                *([CLUSTERED] if clustered else []),
                *(lake.add(name, stats=stats) for name in "ab"),
            ],
            age_days=9,
        )
        found = plan(lake)
        assert found.steps
        assert outcome(found, "commit") == wanted
