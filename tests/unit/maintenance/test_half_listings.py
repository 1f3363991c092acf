"""A protocol that lists a feature in one of its two lists alone is mended by an upgrade."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from explorer.maintenance import plan_upgrade
from tests.tables import metadata
from tests.unit.maintenance.lake import Lake

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
