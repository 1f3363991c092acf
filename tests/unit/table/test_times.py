"""When a version was committed, and which version a moment belongs to."""

from __future__ import annotations

import json
import os
import random
import shutil
from datetime import UTC, datetime, timedelta, timezone
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer.errors import CorruptLogError, InvalidArgumentError, NotFoundError
from explorer.log.commits.commit_info import monotonic
from explorer.table.table import Table
from explorer.table.times import parse_timestamp, shown_millisecond, shown_time, utc_time
from tests.tables import PROTOCOL, Action, LogFolder, add, commit_name, metadata

T0 = 1_700_000_000_000
SWITCHED: Action = {
    "protocol": {
        "minReaderVersion": 1,
        "minWriterVersion": 7,
        "writerFeatures": ["inCommitTimestamp"],
    }
}
ON = {"delta.enableInCommitTimestamps": "true"}


def _moment(milliseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)


def _info(milliseconds: int | None) -> Action:
    body: dict[str, Any] = {"operation": "WRITE", "timestamp": T0}
    if milliseconds is not None:
        body["inCommitTimestamp"] = milliseconds
    return {"commitInfo": body}


def _by_file_times(root: Path, times: list[int]) -> LogFolder:
    log = LogFolder(root)
    for version, time in enumerate(times):
        first = [PROTOCOL, metadata()] if version == 0 else []
        log.commit(version, [*first, add(f"f{version}")])
        log.time(version, time)
    return log


def _by_commit_times(root: Path, times: list[int]) -> LogFolder:
    """In-commit timestamps from version 0; the file times say something else."""
    log = LogFolder(root)
    for version, time in enumerate(times):
        first = [SWITCHED, metadata(configuration=ON)] if version == 0 else []
        log.commit(version, [_info(time), *first, add(f"f{version}")])
        log.time(version, 10**12 - version)
    return log


def _switched_at(root: Path, switch: int, files: list[int], commits: list[int]) -> LogFolder:
    """In-commit timestamps from version `switch` on: file times before, `commits` after."""
    log = LogFolder(root)
    for version, time in enumerate(files):
        first = [SWITCHED, metadata()] if version == 0 else []
        log.commit(version, [_info(None), *first, add(f"f{version}")])
        log.time(version, time)
    enabled = {
        **ON,
        "delta.inCommitTimestampEnablementVersion": str(switch),
        "delta.inCommitTimestampEnablementTimestamp": str(commits[0]),
    }
    for version, time in enumerate(commits, switch):
        first = [metadata(configuration=enabled)] if version == switch else []
        log.commit(version, [_info(time), *first, add(f"f{version}")])
        log.time(version, 10**12)
    return log


def _history_times(table: Table, limit: int | None = None) -> list[int]:
    """Oldest first."""
    return table.history(limit)["timestamp"].cast(pa.int64()).to_pylist()[::-1]


def _version_at(table: Table, milliseconds: int) -> int:
    return table.snapshot(timestamp=_moment(milliseconds)).version


@given(st.lists(st.integers(-(2**40), 2**42), max_size=40))
def test_monotonic_times_rise_and_never_fall_behind_the_clock(times: list[int]) -> None:
    adjusted = monotonic(times)
    assert adjusted == list(accumulate(times, lambda last, time: max(last + 1, time)))
    assert all(one < two for one, two in pairwise(adjusted))


def test_file_times_are_made_monotonic(tmp_path: Path) -> None:
    log = _by_file_times(tmp_path / "t", [T0, T0 - 50, T0 + 10, T0 + 10, T0 + 5, T0 + 900])
    wanted = [T0, T0 + 1, T0 + 10, T0 + 11, T0 + 12, T0 + 900]
    table = explorer.open_table(log.root)
    assert _history_times(table) == wanted
    for version, time in enumerate(wanted):
        assert table.snapshot(version=version).timestamp == _moment(time)


@pytest.mark.parametrize("build", [_by_file_times, _by_commit_times])
def test_moment_belongs_to_the_newest_version_before_it(build: Any, tmp_path: Path) -> None:
    times = [T0, T0 + 1000, T0 + 5000, T0 + 5001]
    table = explorer.open_table(build(tmp_path / "t", times).root)
    for version, time in enumerate(times):
        assert _version_at(table, time) == version
    assert _version_at(table, T0 + 999) == 0
    assert _version_at(table, T0 + 1001) == 1
    assert _version_at(table, T0 + 4999) == 1


@pytest.mark.parametrize("build", [_by_file_times, _by_commit_times])
def test_moments_beyond_both_ends_are_refused(build: Any, tmp_path: Path) -> None:
    table = explorer.open_table(build(tmp_path / "t", [T0, T0 + 1000]).root)
    for milliseconds, side, version in ((T0 - 1, "earliest", 0), (T0 + 1001, "latest", 1)):
        with pytest.raises(NotFoundError) as caught:
            _version_at(table, milliseconds)
        assert caught.value.kind == "timestamp_out_of_range"
        assert f"The {side} version that can be read, {version}," in caught.value.reason


@pytest.mark.rule("newer-commit-timestamp-writer-feature")
def test_in_commit_times_count_whatever_the_files_say(tmp_path: Path) -> None:
    times = [T0, T0 + 7, T0 + 8]
    table = explorer.open_table(_by_commit_times(tmp_path / "t", times).root)
    assert _history_times(table) == times
    for version, time in enumerate(times):
        assert table.snapshot(version=version).timestamp == _moment(time)


@pytest.mark.parametrize(
    ("feature", "key", "counts"),
    [
        ("inCommitTimestamp", "delta.enableInCommitTimestamps", True),
        ("INCOMMITTIMESTAMP", "delta.enableInCommitTimestamps", True),
        ("inCommitTimestamp-preview", "delta.enableInCommitTimestamps-preview", True),
        ("inCommitTimestamp", "delta.enableInCommitTimestamps-preview", False),
        ("domainMetadata", "delta.enableInCommitTimestamps", False),
    ],
)
def test_in_commit_times_count_where_their_feature_is_active(
    feature: str, key: str, counts: bool, tmp_path: Path
) -> None:
    log = LogFolder(tmp_path / "t")
    body = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": [feature]}
    log.commit(0, [_info(T0 + 5), {"protocol": body}, metadata(configuration={key: "true"})])
    log.time(0, T0)
    found = explorer.open_table(log.root).snapshot().timestamp
    assert found == _moment(T0 + 5 if counts else T0)


@pytest.mark.rule("newer-commit-timestamp-before-enablement-mtime")
@pytest.mark.rule("newer-commit-timestamp-enablement-properties")
@pytest.mark.rule("newer-commit-timestamp-travel-side")
def test_each_side_of_the_switch_has_its_own_clock(tmp_path: Path) -> None:
    # the files were touched after the switch; that moves no moment across it
    files, commits = [T0, T0 + 10, T0 + 20], [T0 + 1000, T0 + 2000]
    table = explorer.open_table(_switched_at(tmp_path / "t", 3, files, commits).root)
    assert _history_times(table) == [*files, *commits]
    for version, time in enumerate([*files, *commits]):
        assert table.snapshot(version=version).timestamp == _moment(time)
        assert _version_at(table, time) == version
    assert _version_at(table, T0 + 999) == 2  # after every old one, before the switch
    assert _version_at(table, T0 + 1999) == 3
    for milliseconds in (T0 - 1, T0 + 2001):
        with pytest.raises(NotFoundError) as caught:
            _version_at(table, milliseconds)
        assert caught.value.kind == "timestamp_out_of_range"


def test_switch_with_its_old_side_cleaned_away(tmp_path: Path) -> None:
    log = _switched_at(tmp_path / "t", 2, [T0, T0 + 10], [T0 + 1000, T0 + 2000])
    log.checkpoint(
        2, [SWITCHED, metadata(configuration=ON), *(add(f"f{version}") for version in range(3))]
    )
    for version in (0, 1):
        (log.log / commit_name(version)).unlink()
    table = explorer.open_table(log.root)
    assert _version_at(table, T0 + 1000) == 2
    with pytest.raises(NotFoundError) as caught:
        _version_at(table, T0 + 999)
    assert caught.value.kind == "timestamp_out_of_range"


@pytest.mark.rule("newer-commit-timestamp-before-enablement-mtime")
@pytest.mark.rule("newer-commit-timestamp-enablement-properties")
@pytest.mark.rule("newer-commit-timestamp-travel-side")
def test_real_table_that_was_switched_later(corpus: Path, tmp_path: Path) -> None:
    name = "spark44-in-commit-timestamps-later"
    manifest = json.loads((corpus / "manifest.json").read_text())
    (entry,) = (table for table in manifest if table["name"] == name)
    root = Path(shutil.copytree(corpus / "tables" / name, tmp_path / name))
    times = {int(version): time for version, time in entry["commit_timestamps_ms"].items()}
    for version, time in times.items():
        os.utime(root / "_delta_log" / commit_name(version), ns=(time * 10**6, time * 10**6))
    table = explorer.open_table(root)
    assert _history_times(table) == list(times.values())
    for version, time in times.items():
        assert _version_at(table, time) == version
        if version:
            assert _version_at(table, time - 1) == version - 1
        if version + 1 in times and times[version + 1] > time + 1:
            assert _version_at(table, time + 1) == version
    for milliseconds in (times[0] - 1, times[max(times)] + 1):
        with pytest.raises(NotFoundError):
            _version_at(table, milliseconds)


@pytest.mark.rule("newer-commit-timestamp-enablement-properties")
def test_switch_that_cannot_be_dated_is_told(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    broken = {
        **ON,
        "delta.inCommitTimestampEnablementVersion": "soon",
        "delta.inCommitTimestampEnablementTimestamp": "then",
    }
    log.commit(0, [_info(T0), SWITCHED, metadata(configuration=broken), add("a")])
    snapshot = explorer.open_table(log.root).snapshot()
    assert snapshot.num_files == 1
    with pytest.raises(CorruptLogError):
        explorer.open_table(log.root).snapshot(timestamp=_moment(T0))


def test_commit_that_lacks_its_time_is_told(tmp_path: Path) -> None:
    for number, wrong in enumerate((None, "soon", 1.5, True, 2**70, {}, -(2**63))):
        log = _by_commit_times(tmp_path / str(number), [T0, T0 + 10])
        log.commit(2, [_info(None) if wrong is None else _info(wrong), add("x")])  # type: ignore[arg-type]
        table = explorer.open_table(log.root)
        assert table.snapshot().num_files == 3
        assert table.history().num_rows == 3
        with pytest.raises(CorruptLogError):
            table.snapshot(timestamp=_moment(T0 + 10**9))


@pytest.mark.parametrize("seed", range(12))
def test_every_version_is_found_by_the_time_that_it_shows(seed: int, tmp_path: Path) -> None:
    # clocks that go back, a checkpoint somewhere, commits before it cleaned away
    dice = random.Random(seed)
    count = dice.randint(2, 9)
    times = [T0 + dice.randrange(0, 40) for _ in range(count)]
    log = _by_file_times(tmp_path / "t", times)
    checkpoint = dice.randrange(count)
    state = [PROTOCOL, metadata(), *(add(f"f{version}") for version in range(checkpoint + 1))]
    log.checkpoint(checkpoint, state)
    oldest = dice.randint(0, checkpoint)
    for version in range(oldest):
        (log.log / commit_name(version)).unlink()
    table = explorer.open_table(log.root)
    shown = dict(zip(range(oldest, count), _history_times(table), strict=True))
    for version in range(0 if oldest == 0 else checkpoint, count):
        time = table.snapshot(version=version).timestamp
        assert time == _moment(shown[version])
        assert table.snapshot(timestamp=time).version == version


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 7, 100])
def test_history_with_a_limit_is_the_head_of_all(limit: int, tmp_path: Path) -> None:
    in_force = {
        _by_file_times: [PROTOCOL, metadata()],
        _by_commit_times: [SWITCHED, metadata(configuration=ON)],
    }
    for build, actions in in_force.items():
        log = build(tmp_path / build.__name__, [T0 + 10 * version for version in range(7)])
        log.checkpoint(3, actions)
        table = explorer.open_table(log.root)
        assert table.history(limit) == table.history().slice(0, limit)
        assert table.history()["is_checkpoint"].to_pylist() == [
            version == 3 for version in range(6, -1, -1)
        ]


def test_history_of_many_commits_comes_in_order(tmp_path: Path) -> None:
    # more than are asked for their times one by one (64), and than one batch holds (4096)
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(), _info(None)])
    for version in range(1, 4200):
        log.write(commit_name(version), '{"commitInfo":{"operation":"W","readVersion":5}}\n')
    for version in range(4200):
        log.time(version, T0 + version)
    history = explorer.open_table(log.root).history()
    history.validate(full=True)
    assert history["version"].to_pylist() == list(range(4199, -1, -1))
    assert history["timestamp"].cast(pa.int64()).to_pylist() == list(range(T0 + 4199, T0 - 1, -1))


@pytest.mark.parametrize(
    ("written", "milliseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.001Z", 1),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1969-12-31T23:59:59.999+00:00", -1),
        ("2026-11-01T00:00:00Z", 1793491200000),
        (datetime(1970, 1, 1, tzinfo=UTC), 0),
        (datetime(1970, 1, 1, 5, 30, tzinfo=timezone(timedelta(hours=5, minutes=30))), 0),
        (datetime(1970, 1, 1, 0, 0, 0, 1999, tzinfo=UTC), 1),
    ],
)
def test_time_as_people_write_it(written: str | datetime, milliseconds: int) -> None:
    assert parse_timestamp(written) == milliseconds


@pytest.mark.parametrize(
    "written",
    ["2026-11-01", "2026-11-01 00:00", datetime(2026, 1, 1), "", "now", "12", 5, None],  # noqa: DTZ001
    ids=repr,
)
def test_what_is_no_moment_is_refused(written: object) -> None:
    with pytest.raises(InvalidArgumentError):
        parse_timestamp(written)  # type: ignore[arg-type]  # that is the point


@given(st.datetimes(timezones=st.just(UTC)))
def test_moment_survives_the_way_through_milliseconds(moment: datetime) -> None:
    cut = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    assert utc_time(parse_timestamp(moment)) == cut


@given(st.integers(-(2**70), 2**70))
def test_any_number_of_milliseconds_is_some_time(milliseconds: int) -> None:
    found = utc_time(milliseconds)
    assert found.tzinfo is UTC
    if abs(milliseconds) < 2**45:
        assert parse_timestamp(found) == milliseconds


def test_times_of_every_year_are_shown_with_four_digits() -> None:
    first = -62_135_596_800_000
    assert shown_time(first) == "0001-01-01 00:00:00 UTC"
    assert shown_millisecond(first + 7) == "0001-01-01 00:00:00.007 UTC"
