"""What can still be read, what not and why, and until when."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

import explorer
import explorer.inspect as look
from explorer.errors import DeltaError
from explorer.inspect.reach.wording import range_in_words
from explorer.maintenance import plan_vacuum
from explorer.progress import Cancel
from explorer.protocol.vectors.deletion_vectors import parse_relative_place
from explorer.table.times import utc_time
from tests.demo_story import LATELY, copy_demo
from tests.sampling import sample
from tests.tables import FEATURE_PROTOCOL, Action, add, metadata, remove, vector
from tests.unit.maintenance.lake import DAY_MS, NOW_MS, Lake, ms_ago, start

NOW = utc_time(NOW_MS)
PLACE = "ab^-aqEH.-t@S}K{vb[*k^"
FEED = {"delta.enableChangeDataFeed": "true"}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def states(found: look.Reachability, column: str = "travel") -> list[str]:
    return [row[column] for row in found.versions.to_pylist()]


def by_log(lake: Lake) -> look.Reachability:
    return look.reach_by_log(lake.table, now=NOW)


def by_files(lake: Lake) -> look.Reachability:
    return look.reach_by_files(lake.table, now=NOW)


def until(found: look.Reachability, column: str) -> Sequence[int | None]:
    times = [row[column] for row in found.versions.to_pylist()]
    return [None if time is None else round(time.timestamp() * 1000) for time in times]


def three_versions(lake: Lake, **fields: Any) -> None:
    """`a` is replaced ten days ago, and another file comes now."""
    start(lake, lake.add("a"), **fields)
    lake.commit(1, [lake.remove("a", age_days=10), lake.add("b", age_days=10)], age_days=10)
    lake.commit(2, [lake.add("c", age_days=1)], age_days=1)


def test_log_says_what_is_promised_and_a_listing_what_is_there(lake: Lake) -> None:
    three_versions(lake)
    assert states(by_log(lake)) == ["unprotected", "promised", "promised"]
    assert states(by_files(lake)) == ["readable, unprotected", "readable", "readable"]
    (lake.root / "a").unlink()
    # the log alone cannot tell the table from its twin that was vacuumed
    assert states(by_log(lake)) == ["unprotected", "promised", "promised"]
    gone = by_files(lake)
    assert states(gone) == ["data gone", "readable", "readable"]
    assert gone.sentence.startswith("Version 0 (data gone) cannot be read; versions 1–2 can.")
    assert "may have lost files" in by_log(lake).sentence


def test_missing_vector_is_told_apart_from_missing_data(lake: Lake) -> None:
    start(lake, lake.add("a"))
    lake.file(parse_relative_place(PLACE))
    hidden = lake.add("a", deletionVector=vector(PLACE, offset=1))
    lake.commit(1, [lake.remove("a", age_days=3), hidden], age_days=3)
    assert states(by_files(lake)) == ["readable", "readable"]
    (lake.root / parse_relative_place(PLACE)).unlink()
    assert states(by_files(lake)) == ["readable", "deletion vector gone"]
    (lake.root / "a").unlink()
    assert states(by_files(lake)) == ["data gone", "data gone"]


def test_version_without_its_log_is_gone_although_history_may_name_it(lake: Lake) -> None:
    three_versions(lake)
    lake.log.checkpoint(1, [FEATURE_PROTOCOL, metadata(), add("b")])
    (lake.root / "_delta_log" / "00000000000000000000.json").unlink()
    assert states(by_log(lake)) == ["log gone", "promised", "promised"]
    with pytest.raises(DeltaError):
        lake.table.snapshot(version=0)
    # a commit that a checkpoint does not cover is no version either
    (lake.root / "_delta_log" / "00000000000000000001.checkpoint.parquet").unlink()
    assert states(by_log(lake)) == ["log gone"] * 3
    with pytest.raises(DeltaError):
        lake.table.snapshot(version=2)


def test_checkpoint_stands_for_a_version_whose_commit_is_gone(lake: Lake) -> None:
    three_versions(lake)
    lake.log.checkpoint(1, [FEATURE_PROTOCOL, metadata(), add("b")])
    for version in (0, 1):
        (lake.root / "_delta_log" / f"{version:020}.json").unlink()
    found = by_log(lake)
    assert states(found) == ["log gone", "promised", "promised"]
    assert found.versions.to_pylist()[1]["timestamp"] is None  # nobody knows when it was
    assert states(found, "feed")[1] == "log gone"  # its changes are not in a checkpoint
    assert lake.table.snapshot(version=1).num_files == 1


def test_until_is_when_the_next_version_leaves_the_window(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration = {"delta.logRetentionDuration": "interval 20 days"}
    three_versions(lake, configuration=configuration)
    # nothing was ever removed after version 1: only the log ends it
    for found in (by_log(lake), by_files(lake)):
        ends = until(found, "travel_until")
        assert ends == [ms_ago(10) + 7 * DAY_MS, ms_ago(1) + 20 * DAY_MS, None]
    # a longer log is not read for it: each commit may have removed something
    monkeypatch.setattr("explorer.inspect.reach.reachability.READ_AT_ONCE", 2)
    ends = until(by_log(lake), "travel_until")
    assert ends == [ms_ago(10) + 7 * DAY_MS, ms_ago(1) + 7 * DAY_MS, None]
    lake.commit(
        3, [metadata(configuration={"delta.enableExpiredLogCleanup": "false"})], age_days=0.5
    )
    assert until(by_files(lake), "travel_until")[1] is None


def test_log_and_listing_say_the_same_of_what_the_next_vacuum_takes(lake: Lake) -> None:
    start(lake, lake.add("a"))
    lake.commit(1, [lake.remove("a", age_days=35), lake.add("b", age_days=35)], age_days=35)
    for version, age in ((2, 34), (3, 33), (4, 1)):
        lake.commit(version, [lake.add(f"c{version}", age_days=age)], age_days=age)
    for found, state in ((by_log(lake), "promised"), (by_files(lake), "readable")):
        told = [
            (row["first"], row["last"], row["state"], range_in_words(row, found.now, str))
            for row in found.ranges.to_pylist()
            if row["what"] == "time travel"
        ]
        unprotected = "unprotected" if state == "promised" else "readable, unprotected"
        after = utc_time(ms_ago(1) + 30 * DAY_MS)
        assert told == [
            (0, 0, unprotected, "the next vacuum"),
            # past every retention, and yet all of their files are live
            (1, 2, state, "the next log cleanup"),
            (3, 3, state, f"{after}"),
            (4, 4, state, "no end"),  # Delta Spark refuses the others
        ]
        assert found.versions_that_are(state) == [(1, 4)]
    plan = plan_vacuum(lake.table, clock=lake.clock)
    assert plan.files.column("path").to_pylist() == ["a"]


def test_a_version_whose_commit_is_gone_is_refused_as_one_after_it_is(lake: Lake) -> None:
    three_versions(lake)
    lake.log.checkpoint(1, [FEATURE_PROTOCOL, metadata(), add("b")])
    for version in (0, 1):
        (lake.log.root / "_delta_log" / f"{version:020d}.json").unlink()
    lake.commit(3, [add("x")], age_days=0)

    def refused(age_days: int) -> list[bool | None]:
        path = lake.log.root / "_delta_log" / f"{2:020d}.json"
        moment = lake.clock() / 1000 - age_days * 86_400
        os.utime(path, (moment, moment))
        return [row["spark_refuses"] for row in by_log(lake).versions.to_pylist()]

    assert refused(10) == [False, True, True, False]
    assert refused(1) == [False, None, False, False]


def test_windows_say_their_value_and_where_it_comes_from(lake: Lake) -> None:
    three_versions(lake)
    files, log = by_log(lake).windows.to_pylist()
    assert (files["value"], files["source"], files["first_version"]) == (
        "interval 1 week",
        "the default",
        2,
    )
    assert (log["duration_ms"], log["first_version"]) == (30 * DAY_MS, 1)
    own = {"delta.deletedFileRetentionDuration": "interval 12 days"}
    lake.commit(3, [metadata(configuration=own)], age_days=0)
    found = by_log(lake)
    files = found.windows.to_pylist()[0]
    assert (files["value"], files["source"], files["first_version"]) == (
        "interval 12 days",
        "the table",
        1,
    )
    assert states(found) == ["promised"] * 4
    assert [row["spark_refuses"] for row in found.versions.to_pylist()] == [
        True,
        False,
        False,
        False,
    ]
    lake.commit(4, [metadata(configuration={next(iter(own)): "soon"})], age_days=0)
    files = by_log(lake).windows.to_pylist()[0]
    assert files["duration_ms"] == 7 * DAY_MS
    assert "cannot be read" in files["source"]


def test_change_feed_has_its_own_reach(lake: Lake) -> None:
    start(lake, lake.add("a"), configuration=FEED)
    lake.file("_change_data/cdc-1.parquet", age_days=3)
    change = {
        "cdc": {
            "path": "_change_data/cdc-1.parquet",
            "partitionValues": {},
            "size": 100,
            "dataChange": False,
        }
    }
    lake.commit(1, [lake.remove("a", age_days=3), lake.add("b", age_days=3), change], age_days=3)
    lake.commit(2, [metadata(configuration={})], age_days=2)
    lake.commit(3, [lake.add("c", age_days=1)], age_days=1)
    assert states(by_log(lake), "feed") == [
        "promised",  # its file left three days ago
        "promised",
        "not enabled",
        "not enabled",
    ]
    (lake.root / "_change_data" / "cdc-1.parquet").unlink()
    found = by_files(lake)
    assert states(found, "feed")[:2] == ["readable", "data gone"]
    assert states(found) == ["readable"] * 4  # time travel needs no change data


def test_later_feed_than_the_log_tells_is_not_guessed(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    three_versions(lake, configuration=FEED)
    monkeypatch.setattr("explorer.inspect.reach.reachability.READ_AT_ONCE", 2)
    found = by_log(lake)
    assert set(states(found, "feed")) == {"not read yet"}
    assert "Read the commits to see" in found.sentence
    assert states(by_files(lake), "feed") == [
        "readable, unprotected",
        "readable, unprotected",
        "readable",
    ]


def test_ranges_hold_every_version_once_in_order(lake: Lake) -> None:
    three_versions(lake)
    rows = by_log(lake).ranges.to_pylist()
    for what in ("time travel", "change feed"):
        numbers = [
            number
            for row in rows
            if row["what"] == what
            for number in range(row["first"], row["last"] + 1)
        ]
        assert numbers == [0, 1, 2]


@pytest.mark.slow
def test_each_answer_about_the_demo_is_what_reading_finds(tmp_path: Path) -> None:
    copy_demo(tmp_path / "demo", LATELY)
    table = explorer.open_table(tmp_path / "demo")
    found = look.reach_by_files(table)
    rows = found.versions.to_pylist()
    lost = [row["version"] for row in rows if row["travel"] == "data gone"]
    assert lost
    some = sample(rows, 5, "versions of the demo that are read")
    for row in (*some, *(rows[version] for version in lost)):
        try:
            explorer.read_rows(table.snapshot(version=row["version"]))
            reads = True
        except DeltaError:
            reads = False
        assert reads == row["travel"].startswith("readable"), row
    # the peer agrees about what is gone
    for version in lost:
        peer = DeltaTable(str(tmp_path / "demo"), version=version)
        with pytest.raises(Exception, match=r"(?i)not found|no such file"):
            peer.to_pyarrow_table()


@pytest.mark.parametrize(
    "name", ["spark44-cdf-all-operations", "kernel-table-with-dv-small", "golden-checkpoint"]
)
def test_every_version_of_a_whole_corpus_table_is_readable(
    corpus: Path, tmp_path: Path, name: str
) -> None:
    root = Path(shutil.copytree(corpus / "tables" / name, tmp_path / "t"))
    table = explorer.open_table(root)
    found = look.reach_by_files(table)
    opens = [version for version in range(found.version + 1) if _opens(table, version)]
    assert [
        row["version"] for row in found.versions.to_pylist() if row["travel"] != "log gone"
    ] == opens


def _opens(table: explorer.Table, version: int) -> bool:
    try:
        table.snapshot(version=version)
    except DeltaError:
        return False
    return True


CLOUDY: Action = {
    "protocol": {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["cloudy"],
        "writerFeatures": ["cloudy"],
    }
}
WHY = "What is refused needs what cannot be read here: unsupported reader feature cloudy."


@pytest.mark.parametrize("ask", [by_log, by_files])
def test_versions_with_an_unknown_reader_feature_are_not_called_readable(
    lake: Lake, ask: Callable[[Lake], look.Reachability]
) -> None:
    lake.commit(0, [CLOUDY, metadata(), lake.add("a")], age_days=40)
    lake.commit(1, [remove("a", deletionTimestamp=ms_ago(1))], age_days=1)
    found = ask(lake)
    assert states(found) == ["refused", "refused"]
    assert found.sentence.startswith("Versions 0–1 (refused) cannot be read.")
    assert found.sentence.endswith(WHY)
    assert found.refusal == WHY


def test_versions_before_and_after_an_unknown_reader_feature_are_readable(lake: Lake) -> None:
    enabled = {"delta.enableChangeDataFeed": "true"}
    start(lake, lake.add("a"), configuration=enabled)
    lake.commit(1, [CLOUDY], age_days=3)
    lake.commit(2, [FEATURE_PROTOCOL, lake.add("b")], age_days=2)
    found = by_files(lake)
    assert states(found) == ["readable", "refused", "readable"]
    assert states(found, "feed") == ["readable", "refused", "readable"]
    assert "Version 1 (refused) cannot be read; versions 0, 2 can" in found.sentence
    assert found.sentence.endswith(WHY)


def test_version_that_only_a_checkpoint_has_is_refused_too(lake: Lake) -> None:
    lake.log.checkpoint(3, [CLOUDY, metadata(), lake.add("a")])
    found = by_log(lake)
    assert states(found) == ["log gone"] * 3 + ["refused"]
    assert found.refusal == WHY


def test_refused_versions_are_told_however_long_the_log_is(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.inspect.reach.reachability.READ_AT_ONCE", 1)
    start(lake, lake.add("a"))
    lake.commit(1, [CLOUDY], age_days=3)
    assert states(by_log(lake)) == ["promised", "refused"]


def test_cancel_stops_the_listing(lake: Lake) -> None:
    three_versions(lake)
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(DeltaError) as caught:
        look.reach_by_files(lake.table, cancel=cancel)
    assert caught.value.kind == "cancelled"
