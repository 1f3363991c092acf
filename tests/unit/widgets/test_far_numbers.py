"""Numbers that a log may claim and that no float holds to the last digit, and times that no
calendar has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer.inspect as look
from explorer import maintenance
from explorer.progress import Cancel, Watch
from explorer.table.times import utc_time
from tests.tables import FEATURE_PROTOCOL, add, commit_name, metadata
from tests.unit.maintenance.lake import NOW_MS, Lake
from tests.unit.widgets.screens.vectors.test_vectors import inline
from widgets.figures.commits import build_live, read_commits
from widgets.screens.reach._parts import build_window_row, render_axis
from widgets.screens.timeline._ask import HistoryPart, Listener, read_history
from widgets.screens.vectors._ask import read_vectors
from widgets.session.tables import TableService
from widgets.ui.records import read_records

_FAR = 2**62 + 1
_FAR_MS = 10**18


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    about = json.loads(json.dumps(metadata()))
    about["metaData"]["createdTime"] = _FAR_MS
    stats = json.dumps({"numRecords": 2**53 + 1})
    vector: dict[str, Any] = {**inline([1]), "cardinality": 2**53 - 1}
    adds = [
        add("a.parquet", size=_FAR, stats=stats, deletionVector=vector),
        add("b.parquet", size=_FAR, stats=stats),
    ]
    made.commit(0, [FEATURE_PROTOCOL, about, *adds], age_days=9)
    removed = {"path": "b.parquet", "deletionTimestamp": _FAR_MS, "dataChange": True, "size": _FAR}
    made.commit(1, [{"remove": removed}], age_days=8)
    return made


def test_page_shows_them(lake: Lake) -> None:
    service = TableService(lake.table)
    parts: list[HistoryPart] = []
    listener = Listener(show=parts.append, report=lambda _: None, is_enough=lambda: False)
    read_history(service, listener, Cancel())
    live = build_live(read_commits(parts[-1].frame), "bytes", 1, _FAR)
    assert live is not None
    assert live[-1] == pytest.approx(_FAR)
    found = read_vectors(service, 1, Watch(), lambda _: None)
    assert found.frame.column("bytes_hidden").to_pylist() == [pytest.approx(_FAR, rel=1e-6)]


def test_optimize_reckons_with_them(lake: Lake) -> None:
    plan = maintenance.plan_optimize(lake.table, clock=lake.clock)
    assert {*plan.files.column("path").to_pylist()} == {"a.parquet"}


def test_time_of_a_removal_that_no_calendar_has_is_told(lake: Lake) -> None:
    lake.file("b.parquet")
    why = look.why_here(lake.table, "b.parquet", now=str(utc_time(NOW_MS)))
    assert why.kind == "removed data file, within retention"


def test_table_that_was_made_at_no_time_is_read_and_stays_as_it_is(lake: Lake) -> None:
    """A writer that counts microseconds: the specification asks for a number alone."""
    before = lake.table.metadata()
    assert before.created_time is None
    plan = maintenance.plan_set_properties(lake.table, {"k": "v"}, clock=lake.clock)
    assert lake.execute(plan).status == "completed"
    assert lake.execute(maintenance.plan_checkpoint(lake.table, clock=lake.clock)).status == (
        "completed"
    )
    for version in range(2):
        (lake.log.log / commit_name(version)).unlink()
    after = lake.table.snapshot().metadata
    assert after.unknown_fields == before.unknown_fields == {"createdTime": _FAR_MS}


def test_table_that_keeps_everything_for_ever_is_told_of(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    for_ever = "interval 9000000 days"  # before the year 1 and beyond 9999
    names = ("delta.logRetentionDuration", "delta.deletedFileRetentionDuration")
    about = metadata(configuration=dict.fromkeys(names, for_ever))
    lake.commit(0, [FEATURE_PROTOCOL, about, lake.add("a.parquet")], age_days=9)
    lake.commit(1, [lake.remove("a.parquet", age_days=8)], age_days=8)
    lake.file("stray.parquet")
    found = look.reach_by_files(lake.table, now=str(utc_time(NOW_MS)))
    assert found.sentence.startswith("Every version can be read")
    assert "Time travel" in render_axis(found, utc_time(NOW_MS), 1)
    assert [build_window_row(row).cells[1].text for row in read_records(found.windows)] == [
        for_ever
    ] * 2
    assert not lake.execute(maintenance.plan_vacuum(lake.table, clock=lake.clock)).steps
    assert look.log_health(lake.table).sentence
    why = look.why_here(lake.table, "a.parquet", now=str(utc_time(NOW_MS)))
    assert why.kind == "removed data file, within retention"
