"""A cleanup of the log says how far one can go back afterwards, and asks for the table's name
where the history of today goes."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

import explorer
from explorer import maintenance
from explorer.errors import NotFoundError, UnsupportedError
from explorer.maintenance import plan_log_cleanup
from tests.tables import FEATURE_PROTOCOL, metadata
from tests.unit.maintenance.lake import Lake, ms_ago, outcome, planned

FEED = {"delta.enableChangeDataFeed": "true"}


def built(scratch: Path, ages: list[float], cut: int, **conf: str) -> Lake:
    """One file in each version, each commit as many days old as `ages` says; a checkpoint of
    version `cut`."""
    lake = Lake(scratch)
    meta = metadata(configuration=conf)
    adds = [lake.add(f"{version}.parquet", age_days=age) for version, age in enumerate(ages)]
    for version, age in enumerate(ages):
        first = [FEATURE_PROTOCOL, meta] if version == 0 else []
        lake.commit(version, [*first, adds[version]], age_days=age)
    lake.log.checkpoint(cut, [FEATURE_PROTOCOL, meta, *adds[: cut + 1]])
    return lake


def cleanup(lake: Lake) -> maintenance.Plan:
    return plan_log_cleanup(lake.table, clock=lake.clock)


def test_plan_says_to_which_time_travel_still_reaches(tmp_path: Path) -> None:
    lake = built(tmp_path, [60, 50, 45, 5], 2)
    plan = cleanup(lake)
    times = [plan.effect[f"earliest_time_{when}"] for when in ("before", "after")]
    before, after = map(datetime.fromisoformat, times)
    assert [time.timestamp() * 1000 for time in (before, after)] == [ms_ago(60), ms_ago(45)]
    shown = f"{after:%Y-%m-%d %H:%M:%S} UTC"
    assert plan.summary.endswith(f"Time travel reaches back to version 2, of {shown}.")
    assert lake.table.snapshot(timestamp=before).version == 0
    assert lake.execute(plan).status == "completed"
    assert lake.table.snapshot(timestamp=after).version == 2
    with pytest.raises(NotFoundError):
        lake.table.snapshot(timestamp=after - timedelta(milliseconds=1))


def test_time_of_the_cut_is_that_of_its_file_where_earlier_ones_are_later(tmp_path: Path) -> None:
    lake = built(tmp_path, [60, 40, 45, 5], 2)
    plan = cleanup(lake)
    after = datetime.fromisoformat(plan.effect["earliest_time_after"])
    assert after.timestamp() * 1000 == ms_ago(45)
    assert lake.execute(plan).status == "completed"
    assert lake.table.snapshot(timestamp=after).version == 2


def test_plan_says_what_of_the_change_feed_remains(tmp_path: Path) -> None:
    lake = built(tmp_path, [60, 50, 45, 5], 2, **FEED)
    plan = cleanup(lake)
    changes = [plan.effect[f"earliest_changes_{when}"] for when in ("before", "after")]
    assert changes == [0, 2]
    assert plan.summary.endswith("UTC, and so does the change feed.")
    assert lake.execute(plan).status == "completed"
    explorer.read_changes(lake.table, 2, limit=0)
    with pytest.raises(UnsupportedError):
        explorer.read_changes(lake.table, 1, limit=0)


def test_feed_that_was_off_at_the_cut_is_not_promised(tmp_path: Path) -> None:
    lake = built(tmp_path, [60, 50, 45], 2)
    lake.commit(3, [metadata(configuration=FEED), lake.add("3.parquet")], age_days=5)
    plan = cleanup(lake)
    assert plan.effect["earliest_changes_after"] is None
    assert "so does the change feed" not in plan.summary


def test_feed_that_goes_is_that_of_the_versions_in_which_it_was_on(tmp_path: Path) -> None:
    lake = built(tmp_path, [60, 58, 56, 54, 52, 5], 4)
    for version, conf in ((1, FEED), (3, {})):
        change = metadata(configuration=conf)
        added = lake.add(f"{version}.parquet", age_days=60 - 2 * version)
        lake.commit(version, [change, added], age_days=60 - 2 * version)
    plan = cleanup(lake)
    assert [plan.effect[f"earliest_changes_{when}"] for when in ("before", "after")] == [None, None]
    assert plan.effect["unreadable_changes"] == [{"first": 1, "last": 2}]
    assert lake.execute(plan).status == "completed"
    assert cleanup(lake).effect["unreadable_changes"] == []


def test_log_that_is_not_cut_reaches_as_far_as_before(tmp_path: Path) -> None:
    lake = built(tmp_path, [20, 10, 5], 1, **FEED)
    effect = cleanup(lake).effect
    for what in ("version", "time", "changes"):
        assert effect[f"earliest_{what}_before"] == effect[f"earliest_{what}_after"]
    assert effect["earliest_version_after"] == 0


SHORT = {"delta.logRetentionDuration": "interval 1 hour"}


def test_history_of_less_than_a_day_goes_only_by_name_and_reason(tmp_path: Path) -> None:
    # the cutoff is midnight, and the clock stands at 20:26
    lake = built(tmp_path, [2, 0.95, 0.9, 0.1], 2, **SHORT)
    plan = cleanup(lake)
    assert len(planned(plan)) == 2
    assert outcome(plan, "retention") == "warn"
    (said,) = (item.message for item in plan.verdicts if item.guard == "retention")
    assert "kept for 1 hour, as the table asks" in said
    assert "less than 1 day old" in said
    assert lake.execute(plan, approval=maintenance.Approval(plan.digest)).status == "refused"
    assert lake.table.snapshot(version=1).num_files == 2
    approval = maintenance.Approval(plan.digest, table_name="orders", reason="a test table")
    assert lake.execute(plan, approval=approval).status == "completed"


def test_history_of_more_than_a_day_goes_as_the_table_asks(tmp_path: Path) -> None:
    lake = built(tmp_path, [3, 2, 0.9, 0.1], 2, **SHORT)
    plan = cleanup(lake)
    assert outcome(plan, "retention") == "allow"
    assert lake.execute(plan).status == "completed"
