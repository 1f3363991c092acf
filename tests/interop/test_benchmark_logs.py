"""The logs that the benchmarks generate are tables on which both entrants agree."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

import explorer
from benchmarks import logs
from benchmarks.compared import FIRST_CHECKPOINT, INDEPENDENT, SECOND_CHECKPOINT, THROUGH_LOG
from benchmarks.profiles.log_files import log_of
from benchmarks.profiles.profile import checkpoints, merges
from explorer.scan.statistics.live_files import parsed_statistics

REQUESTS = [
    logs.small(),
    logs.commits(60),
    logs.classic(3_000),
    logs.sidecars(3_000),
    logs.with_structs(3_000),
    logs.checkpoints(3_000),
]


@pytest.fixture(params=REQUESTS, ids=[request.name for request in REQUESTS])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """One generated table."""
    return logs.write_table(tmp_path, request.param)


def test_generated_log_has_the_same_live_files_for_both(table: Path) -> None:
    peer = DeltaTable(table).get_add_actions()
    ours = explorer.open_table(table).snapshot()
    paths = ours.files(columns=["path"])["path"].to_pylist()
    assert ours.version == DeltaTable(table).version()
    assert sorted(paths) == sorted(peer["path"].to_pylist())
    assert ours.size_in_bytes == sum(peer["size_bytes"].to_pylist())
    assert ours.num_rows == sum(peer["num_records"].to_pylist())


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("name", ["nightly", "sidecars", "deltalake", "features", "wide", "merges"])
def test_log_of_a_profile_has_the_same_live_files_for_both_and_every_time(
    name: str, tmp_path: Path
) -> None:
    profile = merges(40) if name == "merges" else checkpoints(2_000)[name]
    place = logs.write_table(tmp_path, log_of(profile))
    ours, peer = explorer.open_table(place).snapshot(), DeltaTable(place)
    found = ours.files(columns=["path", "deletion_vector"])
    assert sorted(found["path"].to_pylist()) == sorted(peer.get_add_actions()["path"].to_pylist())
    assert ours.version == peer.version()
    assert not [*ours.problems]
    stored = found["deletion_vector"]
    part = (len(stored) - stored.null_count) / len(stored)
    assert 0.5 * profile.vectors <= part <= 2 * profile.vectors
    again = logs.write_table(tmp_path / "again", log_of(profile))
    made_here = [path for path in place.rglob("*") if path.is_file() and name != "deltalake"]
    for path in made_here:
        assert (again / path.relative_to(place)).read_bytes() == path.read_bytes()


def test_generated_log_is_the_same_every_time(tmp_path: Path) -> None:
    first, second = (
        logs.write_table(tmp_path / name, logs.classic(3_000)) for name in ("first", "second")
    )
    for path in sorted(first.rglob("*")):
        if path.is_file():
            assert (second / path.relative_to(first)).read_bytes() == path.read_bytes()


def test_generated_structs_say_what_the_json_says(tmp_path: Path) -> None:
    table = logs.write_table(tmp_path, logs.with_structs(3_000))
    (checkpoint,) = table.glob("_delta_log/*.parquet")
    adds = pq.read_table(checkpoint)["add"].combine_chunks().drop_null()
    assert adds.field("stats_parsed").null_count == 0
    by_struct, by_json = (
        parsed_statistics(explorer.open_table(place).snapshot()).sort_by("path")
        for place in (table, logs.write_table(tmp_path, logs.classic(3_000)))
    )
    assert by_struct.equals(by_json)


@pytest.mark.parametrize(
    ("versions", "route"), [(THROUGH_LOG, "log"), (INDEPENDENT, "independent")]
)
def test_versions_on_two_checkpoints_are_compared_by_the_route_that_is_measured(
    tmp_path: Path, versions: tuple[int, int], route: str
) -> None:
    table = explorer.open_table(logs.write_table(tmp_path, logs.checkpoints(3_000)))
    older, newer = (table.snapshot(version=version) for version in versions)
    files = explorer.diff(older, newer).files
    assert files.route == route
    assert files.num_added - files.num_removed == newer.num_files - older.num_files != 0


def test_checkpoints_that_follow_a_gap_leave_both_sides_readable(tmp_path: Path) -> None:
    place = logs.write_table(tmp_path, logs.checkpoints(3_000))
    table = explorer.open_table(place)
    for version in (FIRST_CHECKPOINT, SECOND_CHECKPOINT, *INDEPENDENT, *THROUGH_LOG):
        peer = DeltaTable(place, version=version).get_add_actions().num_rows
        assert table.snapshot(version=version).num_files == peer
