"""A table whose properties ask for features that its protocol lacks: other engines read it while
the protocol is a number, and open it no more once it lists features without these."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from explorer.maintenance import (
    Plan,
    plan_checkpoint,
    plan_set_properties,
    plan_upgrade,
    plan_vacuum,
)
from explorer.protocol.features.registry import supported_features
from tests.tables import PROTOCOL, metadata
from tests.unit.maintenance.lake import Lake, outcome

_ASKING = {
    "v2Checkpoint": {"delta.checkpointPolicy": "v2"},
    "materializePartitionColumns": {"delta.enableMaterializePartitionColumnsFeature": "true"},
    "deletionVectors": {"delta.enableDeletionVectors": "true"},
}


def asking(scratch: Path, configuration: dict[str, str]) -> Lake:
    lake = Lake(scratch)
    first = [PROTOCOL, metadata(configuration=configuration), lake.add("a"), lake.add("b")]
    lake.commit(0, first, age_days=40)
    lake.commit(1, [lake.remove("a", age_days=20)], age_days=20)
    return lake


def upgrade(lake: Lake, *features: str, **named: Any) -> Plan:
    return plan_upgrade(lake.table, features=features, clock=lake.clock, **named)


@pytest.mark.parametrize("name", _ASKING)
@pytest.mark.parametrize("only_used", [False, True])
def test_upgrade_to_a_list_without_what_the_table_asks_for_names_the_one_that_has_it(
    tmp_path: Path, name: str, only_used: bool
) -> None:
    lake = asking(tmp_path, _ASKING[name])
    (refusal,) = upgrade(lake, "vacuumProtocolCheck", only_used=only_used).refusals
    assert refusal.message == f"The table asks for `{name}`, which its protocol does not support."
    assert refusal.remedy.startswith(f"Use upgrade vacuumProtocolCheck {name}, ")
    (refusal,) = upgrade(lake, writer_version=7).refusals
    assert refusal.remedy.startswith(f"Use upgrade {name}, ")
    together = upgrade(lake, "vacuumProtocolCheck", name, only_used=only_used)
    assert lake.execute(together).status == "completed"
    assert {name, "vacuumProtocolCheck"} <= {*supported_features(lake.table.protocol())}


def test_upgrade_of_a_table_that_asks_for_what_is_not_enabled_here_says_so(tmp_path: Path) -> None:
    lake = asking(tmp_path, {"delta.enableIcebergCompatV3": "true"})
    (refusal,) = upgrade(lake, "vacuumProtocolCheck").refusals
    assert "asks for `icebergCompatV3`" in refusal.message
    assert "icebergCompatV3 is not enabled here (" in refusal.remedy
    assert "unset, the property" in refusal.remedy
    unset = plan_set_properties(lake.table, unset=["delta.enableIcebergCompatV3"], clock=lake.clock)
    assert lake.execute(unset).status == "completed"
    assert outcome(upgrade(lake, "vacuumProtocolCheck"), "commit") == "allow"


@pytest.mark.slow
@pytest.mark.parametrize("name", _ASKING)
def test_what_has_nothing_to_do_with_the_feature_is_carried_out_all_the_same(
    tmp_path: Path, name: str
) -> None:
    lake = asking(tmp_path, _ASKING[name])
    plans: tuple[Callable[[], Plan], ...] = (
        lambda: plan_checkpoint(lake.table, clock=lake.clock),
        lambda: plan_set_properties(lake.table, {"owner": "me"}, clock=lake.clock),
        lambda: plan_vacuum(lake.table, clock=lake.clock),
        lambda: upgrade(lake, writer_version=4),
    )
    for plan in plans:  # each when it is its turn: a commit makes those before it stale
        assert lake.execute(plan()).status == "completed"
    assert lake.table.snapshot().num_files == 1
    assert not lake.there("a")
