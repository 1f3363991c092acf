"""The logs that the benchmarks generate are tables on which both entrants agree."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

import explorer
from benchmarks import logs

REQUESTS = [logs.small(), logs.commits(60), logs.classic(3_000), logs.sidecars(3_000)]


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


def test_generated_log_is_the_same_every_time(tmp_path: Path) -> None:
    first, second = (
        logs.write_table(tmp_path / name, logs.classic(3_000)) for name in ("first", "second")
    )
    for path in sorted(first.rglob("*")):
        if path.is_file():
            assert (second / path.relative_to(first)).read_bytes() == path.read_bytes()
