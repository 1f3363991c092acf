"""Versions whose log is there by its names, and cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import explorer
import explorer.inspect as look
from explorer.errors import DeltaError
from explorer.inspect.reach.reachability import openable_versions
from explorer.log.folder.listing import build_listing
from explorer.protocol.filenames import render_classic_checkpoint_name
from explorer.table.table import Table
from tests.tables import (
    CHECKPOINT_FORMS,
    FEATURE_PROTOCOL,
    PROTOCOL,
    Action,
    CheckpointForm,
    LogFolder,
    add,
    commit_name,
    metadata,
)

CUT_OFF = '{"add":{"path"'
GONE, BROKEN, KEPT, OFF = "log gone", "log not readable", "promised", "not enabled"


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    """Versions 0 to 7, each with one more file."""
    folder = LogFolder(tmp_path / "table")
    for version in range(8):
        first = [FEATURE_PROTOCOL, metadata()] if version == 0 else []
        folder.commit(version, [*first, add(f"{version}.parquet")])
        (folder.root / f"{version}.parquet").write_bytes(b"")
        folder.time(version, 4_000_000_000_000 + version * 60_000)  # nothing is old
    return folder


def live(version: int) -> list[Action]:
    return [FEATURE_PROTOCOL, metadata(), *(add(f"{at}.parquet") for at in range(version + 1))]


def states(folder: LogFolder, column: str = "travel", *, files: bool = False) -> list[str]:
    ask = look.reach_by_files if files else look.reach_by_log
    found = ask(explorer.open_table(folder.root)).versions.column(column)
    return [str(state) for state in found.to_pylist()]


def table(folder: LogFolder) -> Table:
    return explorer.open_table(folder.root)


@pytest.mark.parametrize("broken", [4, 7])
def test_nothing_after_a_malformed_commit_can_be_read(folder: LogFolder, broken: int) -> None:
    folder.write(commit_name(broken), CUT_OFF)
    assert states(folder) == [KEPT] * broken + [BROKEN] * (8 - broken)
    assert states(folder, files=True) == ["readable"] * broken + [BROKEN] * (8 - broken)
    assert states(folder, "feed") == [OFF] * broken + [BROKEN] * (8 - broken)
    found = look.reach_by_log(table(folder))
    assert "Every version can be read" not in found.sentence
    assert "(log not readable) cannot be read" in found.sentence
    until = found.versions.column("travel_until").to_pylist()
    assert until[broken:] == [None] * (8 - broken)


@pytest.mark.parametrize("form", CHECKPOINT_FORMS)
def test_checkpoint_carries_the_table_over_a_malformed_commit(
    folder: LogFolder, form: CheckpointForm
) -> None:
    folder.checkpoint(5, live(5), form=form)
    folder.write(commit_name(3), CUT_OFF)
    assert states(folder) == [KEPT] * 3 + [BROKEN] * 2 + [KEPT] * 3
    expected = ["readable"] * 3 + [BROKEN] * 2 + ["readable"] * 3
    assert states(folder, files=True) == expected
    assert states(folder, "feed") == [OFF] * 3 + [BROKEN] * 2 + [OFF] * 3


@pytest.mark.parametrize("is_there", [True, False], ids=["other size", "missing"])
def test_missing_sidecar_is_no_less_than_a_missing_checkpoint(
    folder: LogFolder, is_there: bool
) -> None:
    folder.checkpoint(5, live(5), form="v2-json", sidecars=2)
    sidecar = next((folder.log / "_sidecars").iterdir())
    sidecar.write_bytes(sidecar.read_bytes()[:-9]) if is_there else sidecar.unlink()
    assert states(folder) == [KEPT] * 8  # all commits are there
    for version in range(5):
        (folder.log / commit_name(version)).unlink()
    for ask in (look.reach_by_log, look.reach_by_files):
        with pytest.raises(DeltaError, match="its checkpoint cannot be used"):
            ask(table(folder))


def test_versions_of_an_unreadable_checkpoint_are_not_called_gone(folder: LogFolder) -> None:
    folder.checkpoint(2, live(2))
    folder.write(f"{5:020}.checkpoint.parquet", b"")
    for version in range(5):
        (folder.log / commit_name(version)).unlink()
    expected = [GONE, GONE, KEPT, GONE, GONE, BROKEN, BROKEN, BROKEN]
    assert states(folder) == expected
    assert states(folder, "feed") == [GONE] * 5 + [BROKEN] * 3
    assert "Read the commits to see" not in look.reach_by_log(table(folder)).sentence


def test_first_commit_that_cannot_be_read_is_named(folder: LogFolder) -> None:
    folder.write(commit_name(0), CUT_OFF)
    with pytest.raises(DeltaError, match=r"not readable at 00000000000000000000\.json:1"):
        look.reach_by_log(table(folder))


def test_feed_of_commits_before_a_checkpoint_is_known_from_it_on(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "table")
    for version in (5, 6, 7):
        folder.commit(version, [add(f"{version}.parquet")])
        folder.time(version, 4_000_000_000_000 + version * 60_000)
    feed = metadata(configuration={"delta.enableChangeDataFeed": "true"})
    folder.checkpoint(6, [PROTOCOL, feed, add("6.parquet")])
    assert states(folder, "feed") == [GONE] * 5 + [BROKEN, KEPT, KEPT]


def test_a_vector_whose_file_cannot_be_named_leaves_the_rest_of_the_log_to_answer(
    folder: LogFolder,
) -> None:
    odd = {"storageType": "u", "pathOrInlineDv": "no UUID", "sizeInBytes": 1, "cardinality": 1}
    folder.commit(8, [add("odd.parquet", deletionVector=odd)])
    found = look.reach_by_log(table(folder))
    assert (found.problem, found.has_listed) == (None, False)
    assert states(folder)[-1] == KEPT


@pytest.mark.parametrize("version", [100_000_000, 2**53 - 1, 2**63 - 1])
def test_a_file_that_claims_a_far_version_takes_no_memory(tmp_path: Path, version: int) -> None:
    log = LogFolder(tmp_path / "far")
    log.commit(version, [PROTOCOL, metadata(), add("a.parquet")])
    table = explorer.open_table(log.root)
    for ask in (look.reach_by_log, look.reach_by_files):
        with pytest.raises(DeltaError) as refused:
            ask(table)
        assert refused.value.kind == "limit_exceeded"
        assert f"{version:,}" in refused.value.reason


@given(
    st.sets(st.integers(0, 14)), st.sets(st.integers(0, 14)), st.sampled_from([0, 10**6, 2**62])
)  # fmt: skip
def test_a_version_opens_from_what_it_is_built_from(
    commits: set[int], checkpoints: set[int], base: int
) -> None:
    """Whatever numbers a log begins with: it is asked for those of its files alone."""
    names = [commit_name(base + at) for at in commits]
    names += [render_classic_checkpoint_name(base + at) for at in checkpoints]
    opens, expected = False, list[int]()
    for at in range(15):
        first = base + at == 0
        opens = at in checkpoints or (at in commits and (opens or first))
        expected += [base + at] if opens else []
    assert openable_versions(build_listing(names)) == expected
