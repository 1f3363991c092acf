"""Which files make up one version, and which gaps matter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.errors import CorruptLogError, DeltaError
from explorer.log.folder.listing import LogListing, build_listing
from explorer.log.folder.segment import LogSegment, build_segment, missing_versions
from explorer.protocol.filenames import render_classic_checkpoint_name, render_commit_name


def _listing(commits: object, checkpoints: object = ()) -> LogListing:
    return build_listing(
        [
            *map(render_commit_name, commits),  # type: ignore[call-overload]
            *map(render_classic_checkpoint_name, checkpoints),  # type: ignore[call-overload]
        ]
    )


@pytest.mark.rule("checkpoint-prefer-newest-complete", "checkpoint-time-travel-not-newer")
def test_segment_begins_at_the_newest_checkpoint_that_is_not_too_new() -> None:
    listing = _listing(range(13), (3, 6, 10))
    for version, begins, commits in (
        (None, 10, range(11, 13)),
        (12, 10, range(11, 13)),
        (10, 10, range(11, 11)),
        (9, 6, range(7, 10)),
        (6, 6, range(7, 7)),
        (5, 3, range(4, 6)),
    ):
        found = build_segment(listing, version)
        assert found.checkpoint is not None
        assert (found.checkpoint.version, found.commits) == (begins, commits)
    first = build_segment(listing, 2)
    assert (first.checkpoint, first.commits) == (None, range(3))


@pytest.mark.rule("checkpoint-no-frequency-assumption", "log-versions-contiguous")
@pytest.mark.parametrize(
    ("commits", "checkpoints", "version", "ends"),
    [
        ([0, 2], [], None, "log_gap"),
        ([0, 2], [], 0, 0),
        ([0, 2], [], 1, "log_gap"),
        ([0, 2], [], 2, "log_gap"),
        ([1, 2], [], None, "log_gap"),
        ([1, 2], [1], None, 2),
        ([1, 2], [1], 1, 1),
        ([1, 2], [1], 0, "version_not_found"),
        ([2], [1], None, 2),
        ([2], [1], 1, 1),
        ([3], [1], None, "log_gap"),
        ([3], [1], 1, 1),
        ([3], [1], 2, "version_not_found"),
        ([0, 1, 5, 6], [5], None, 6),
        ([0, 1, 5, 6], [5], 5, 5),
        ([0, 1, 5, 6], [5], 1, 1),
        ([0, 1, 5, 6], [5], 3, "log_gap"),
        ([0, 1, 5, 6], [6], 5, "log_gap"),
        ([], [4], None, 4),
        ([], [4], 3, "version_not_found"),
        ([], [4, 8], 4, 4),
        ([], [4, 8], 6, "version_not_found"),
        ([0, 1], [4], None, 4),
        ([0, 1], [4], 1, 1),
        ([0, 1], [4], 5, "version_not_found"),
        ([], [], None, "log_empty"),
        ([], [], 0, "log_empty"),
        ([0], [], -1, "version_not_found"),
        ([0], [], 2**70, "version_not_found"),
    ],
)
def test_gap_matters_only_for_versions_that_need_it(
    commits: list[int], checkpoints: list[int], version: int | None, ends: object
) -> None:
    listing = _listing(commits, checkpoints)
    if isinstance(ends, int):
        assert build_segment(listing, version).version == ends
        return
    with pytest.raises(DeltaError) as caught:
        build_segment(listing, version)
    assert caught.value.kind == ends
    assert all((caught.value.problem, caught.value.reason, caught.value.remedy))


def test_gap_is_described_by_the_versions_that_are_missing() -> None:
    with pytest.raises(CorruptLogError) as caught:
        build_segment(_listing([0, 2, 3, 7]))
    assert "(1, 4 to 6 are missing)" in caught.value.reason
    with pytest.raises(CorruptLogError) as caught:
        build_segment(_listing([0, 2]))
    assert "(1 is missing)" in caught.value.reason


def test_many_gaps_are_told_in_few_words() -> None:
    with pytest.raises(CorruptLogError) as caught:
        build_segment(_listing(range(0, 20_000, 2)))
    assert len(caught.value.reason) < 300


@pytest.mark.rule("checkpoint-multipart-missing-parts", "older-003-checkpoint-complete-only")
@pytest.mark.parametrize("commits", [[], [0, 1]], ids=["alone", "beyond every commit"])
def test_incomplete_checkpoint_of_the_newest_version_is_no_older_or_empty_table(
    commits: list[int],
) -> None:
    part = f"{3:020}.checkpoint.{1:010}.{2:010}.parquet"
    listing = build_listing([part, *map(render_commit_name, commits)])
    with pytest.raises(CorruptLogError) as caught:
        build_segment(listing)
    assert caught.value.kind == "log_gap"
    assert caught.value.problem.startswith("Version 3 cannot be reconstructed")
    assert f"({len(commits)} to 3)" in caught.value.reason or "(0 to 3)" in caught.value.reason
    if commits:
        assert build_segment(listing, 1).version == 1  # asked for, it is there


def test_segment_promises_to_have_no_gap() -> None:
    with pytest.raises(AssertionError):
        LogSegment(version=3, checkpoint=None, commits=range(1, 4))
    with pytest.raises(AssertionError):
        LogSegment(version=3, checkpoint=None, commits=range(3))


@given(st.sets(st.integers(0, 30)), st.integers(0, 30), st.integers(0, 30))
def test_missing_versions_are_those_that_are_missing(
    present: set[int], first: int, last: int
) -> None:
    gaps = missing_versions(tuple(sorted(present)), first, last)
    assert [version for gap in gaps for version in gap] == [
        version for version in range(first, last + 1) if version not in present
    ]
    assert all(gaps)


@pytest.mark.rule("checkpoint-no-frequency-assumption", "checkpoint-time-travel-not-newer")
@pytest.mark.rule("log-versions-contiguous")
@given(
    st.sets(st.integers(0, 12)),
    st.sets(st.integers(0, 12), max_size=3),
    st.none() | st.integers(-1, 14),
)
def test_segment_exists_exactly_where_the_log_allows_it(
    commits: set[int], checkpoints: set[int], version: int | None
) -> None:
    wanted = max(commits | checkpoints, default=None) if version is None else version
    starts = [start for start in (*checkpoints, -1) if wanted is not None and start <= wanted]
    # only the newest start is tried: a gap after it is not healed by an older one
    possible = (
        wanted is not None
        and wanted >= 0
        and set(range(max(starts, default=-1) + 1, wanted + 1)) <= commits
    )
    listing = _listing(commits, checkpoints)
    if possible:
        assert build_segment(listing, version).version == wanted
        return
    with pytest.raises(DeltaError):
        build_segment(listing, version)
