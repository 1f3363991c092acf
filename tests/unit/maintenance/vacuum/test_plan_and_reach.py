"""What a vacuum says that becomes unreadable is what `reach` says will not survive the next one,
and what it finds gone afterwards."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import explorer.inspect as look
from explorer.maintenance import Plan
from explorer.protocol.vectors.deletion_vectors import parse_relative_place
from explorer.table.times import utc_time
from tests.tables import PROTOCOL, Action, metadata, vector
from tests.unit.maintenance.lake import DAY_MS, NOW_MS, Lake, ms_ago, planned, start, vacuum

NOW = utc_time(NOW_MS)
FEED = {"delta.enableChangeDataFeed": "true"}
PLACES = ["ab^-aqEH.-t@S}K{vb[*k^", "vBn[lx{q8@P<9BNH/isA"]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def change(path: str) -> Action:
    return {"cdc": {"path": path, "partitionValues": {}, "size": 1, "dataChange": False}}


def announced(plan: Plan, what: str) -> list[int]:
    return [
        version
        for lost in plan.effect[f"unreadable_{what}"]
        for version in range(lost["first"], lost["last"] + 1)
    ]


def by_files(lake: Lake) -> look.Reachability:
    return look.reach_by_files(lake.table, now=NOW)


def in_state(found: look.Reachability, column: str, state: str) -> list[int]:
    rows: list[dict[str, Any]] = found.versions.to_pylist()
    return [row["version"] for row in rows if row[column] == state]


def test_no_feed_is_lost_where_none_was_ever_enabled(lake: Lake) -> None:
    start(lake, lake.add("a"))
    lake.file("_change_data/x.parquet", age_days=20)
    # a writer may leave change data without having been asked for it
    gone = [lake.remove("a", age_days=20), change("_change_data/x.parquet")]
    lake.commit(1, [*gone, lake.add("b")], age_days=20)
    plan = vacuum(lake)
    assert announced(plan, "versions") == [0]
    assert announced(plan, "changes") == []
    assert "change feed" not in plan.summary


def test_the_feed_is_lost_for_the_versions_in_which_it_was_enabled(lake: Lake) -> None:
    start(lake, lake.add("a"))
    lake.commit(1, [lake.remove("a", age_days=20), lake.add("b")], age_days=20)
    lake.commit(2, [metadata(configuration=FEED)], age_days=19)
    lake.commit(3, [lake.remove("b", age_days=18), lake.add("c")], age_days=18)
    lake.commit(4, [metadata()], age_days=17)
    lake.commit(5, [lake.remove("c", age_days=16), lake.add("d")], age_days=16)
    plan = vacuum(lake)
    assert announced(plan, "changes") == [3]
    assert "the change feed of version 3" in plan.summary
    assert in_state(by_files(lake), "feed", "readable, unprotected") == [3]


def test_a_file_that_is_live_under_a_vector_is_not_called_deletable(lake: Lake) -> None:
    start(lake, lake.add("a"))
    marked = lake.add("a", deletionVector=vector(PLACES[0]))
    lake.file(parse_relative_place(PLACES[0]))
    lake.commit(1, [lake.remove("a", age_days=20), marked], age_days=20)
    assert in_state(by_files(lake), "travel", "readable") == [0, 1]
    assert announced(vacuum(lake), "versions") == []


def test_a_file_that_was_restored_is_not_called_deletable(lake: Lake) -> None:
    start(lake, lake.add("a"))
    lake.commit(1, [lake.remove("a", age_days=20)], age_days=20)
    lake.commit(2, [lake.add("a")], age_days=3)
    assert in_state(by_files(lake), "travel", "readable") == [0, 1, 2]
    assert announced(vacuum(lake), "versions") == []


def test_change_data_that_a_copy_renewed_stays_for_both(lake: Lake) -> None:
    start(lake, lake.add("a"), configuration=FEED)
    gone = [lake.remove("a", age_days=20), change("_change_data/x.parquet")]
    lake.commit(1, [*gone, lake.add("b")], age_days=20)
    for age_days, lost in ((20, [1]), (1, [])):
        lake.file("_change_data/x.parquet", age_days=age_days)
        assert in_state(by_files(lake), "feed", "readable, unprotected")[1:] == lost
        assert announced(vacuum(lake), "changes")[1:] == lost


def test_changes_of_the_version_at_which_the_log_was_cut_are_there(lake: Lake) -> None:
    """Its commit is left beside its checkpoint, as cleanups leave it."""
    start(lake, lake.add("a"), configuration=FEED)
    moved = lake.file("_change_data/x.parquet", age_days=10)
    tombstone = lake.remove("a", age_days=10)
    lake.commit(1, [tombstone, lake.add("b"), change(moved)], age_days=10)
    lake.commit(2, [lake.remove("b", age_days=9), lake.add("c")], age_days=9)
    whole = by_files(lake)
    assert in_state(whole, "feed", "readable, unprotected") == [0, 1, 2]
    lake.log.checkpoint(1, [PROTOCOL, metadata(configuration=FEED), tombstone, lake.add("b")])
    (lake.log.log / f"{0:020}.json").unlink()
    found = by_files(lake)
    assert in_state(found, "feed", "log gone") == [0]
    assert in_state(found, "feed", "readable, unprotected") == [1, 2]
    assert announced(vacuum(lake), "changes") == [1, 2]
    rows = look.foreign_files(lake.table, now=NOW).files.to_pylist()
    assert moved not in [row["path"] for row in rows]  # it is no orphan
    (lake.root / moved).unlink()
    assert in_state(by_files(lake), "feed", "data gone") == [1]
    (lake.log.log / f"{1:020}.json").unlink()
    assert in_state(by_files(lake), "feed", "log gone") == [0, 1]


def test_reach_says_whose_vacuum_is_next_where_ours_keeps_files_longer(lake: Lake) -> None:
    own = {"delta.deletedFileRetentionDuration": "interval 1 day"}
    start(lake, lake.add("a"), configuration=own)
    lake.commit(1, [lake.remove("a", age_days=3), lake.add("b")], age_days=3)
    found = by_files(lake)
    assert in_state(found, "travel", "readable, unprotected") == [0]
    assert announced(vacuum(lake), "versions") == []
    assert (
        "version 0 stays only until the next vacuum in Delta Spark (VACUUM here keeps removed "
        "files for 7 days at least)" in found.sentence
    )


def test_lite_says_what_it_cannot_know(lake: Lake) -> None:
    start(lake, lake.add("a.parquet"))
    lake.file("stray.parquet")
    lake.commit(1, [lake.remove("a.parquet", age_days=20), lake.add("b")], age_days=20)
    plan = vacuum(lake, mode="lite")
    assert plan.summary.endswith(
        "version 0 (up to 2026-04-18 20:26:40 UTC) can no longer be read. Lite mode lists no "
        "folder: it finds no orphaned files; whether these versions can be read now is "
        "unknown."
    )
    assert "Lite" not in vacuum(lake).summary
    lake.log.checkpoint(1, [PROTOCOL, metadata(), lake.add("b")])
    (lake.log.log / f"{0:020}.json").unlink()
    (lake.log.log / f"{1:020}.json").unlink()
    lake.commit(2, [lake.add("c")], age_days=1)
    plan = vacuum(lake, mode="lite")
    assert plan.summary == (
        "Nothing can be deleted: the log names no unused file. Lite mode lists no "
        "folder: it finds no orphaned files, and no files whose removal is no longer in the log, "
        "which begins with version 2."
    )
    assert set(planned(vacuum(lake))) == {"a.parquet", "stray.parquet"}


@pytest.mark.parametrize("seed", range(6))
def test_plan_and_reach_agree_about_every_table(lake: Lake, seed: int) -> None:
    """Files come, go, come back and change their vectors while the feed is switched."""
    some = random.Random(seed)
    live: dict[str, str | None] = {}
    start(lake)
    for place in PLACES:
        lake.file(parse_relative_place(place))
    for version in range(1, 25):
        age = 30 - version
        actions: list[Action] = []
        if some.random() < 0.3:
            actions.append(metadata(configuration=some.choice([{}, FEED])))
        for name in some.sample("abcdef", some.randrange(1, 4)):
            there = name in live
            if there:
                held = live.pop(name)
                kept: dict[str, Any] = {} if held is None else {"deletionVector": vector(held)}
                actions.append(lake.remove(name, age_days=age, **kept))
            if not there or some.random() < 0.5:
                live[name] = chosen = some.choice([None, *PLACES])
                fields: dict[str, Any] = {}
                if chosen is not None:
                    fields["deletionVector"] = vector(chosen)
                actions.append(lake.add(name, **fields))
        if some.random() < 0.2:
            actions.append(change(lake.file(f"_change_data/{version}.parquet", age_days=age)))
        lake.commit(version, actions, age_days=age)
    before, plan = by_files(lake), vacuum(lake)
    assert in_state(before, "travel", "readable, unprotected") == announced(plan, "versions")
    assert in_state(before, "feed", "readable, unprotected") == announced(plan, "changes")
    assert lake.execute(plan).status == "completed"
    after = by_files(lake)
    for column, what in (("travel", "versions"), ("feed", "changes")):
        gone = [in_state(after, column, state) for state in ("data gone", "deletion vector gone")]
        assert sorted([*gone[0], *gone[1]]) == announced(plan, what)


@pytest.mark.parametrize("age_days", [9, 40])
def test_change_data_is_deletable_from_one_time_for_plan_and_why(lake: Lake, age_days: int) -> None:
    """Its retention begins with its commit, or with its modification where that is later."""
    start(lake, lake.add("a"), configuration=FEED)
    path = "_change_data/x.parquet"
    lake.file(path, age_days=30)
    lake.commit(1, [change(path)], age_days=age_days)
    rows = vacuum(lake).files.to_pylist()
    (row,) = (row for row in rows if row["path"] == path)
    began = ms_ago(min(age_days, 30)) + 7 * DAY_MS
    assert round(row["deletable_from"].timestamp() * 1000) == began
    assert look.why_here(lake.table, path, now=NOW).deletable_from == row["deletable_from"]
