"""What lies in a log folder, by kind."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.log.folder.listing import CheckpointFiles, KeptListing, build_listing
from explorer.protocol.filenames import (
    LOG_FOLDER,
    LogFileKind,
    parse_commit_version,
    parse_log_file_name,
    render_checksum_name,
    render_classic_checkpoint_name,
    render_commit_name,
)
from explorer.storage.local import LocalStore
from explorer.storage.ports import FolderStamp

_UUID = "3a0d65cd-4056-49b8-937b-95f9e3ee90e5"
_V7 = f"{7:020}"


@pytest.mark.rule("checkpoint-classic-name", "checkpoint-multipart-name")
@pytest.mark.rule("checkpoint-name-from-version", "checkpoint-uuid-json-or-parquet")
@pytest.mark.rule("checkpoint-uuid-name", "compaction-name", "log-file-name-20-digits")
@pytest.mark.rule("newer-checksum-name", "older-001-checkpoint-any-version")
@pytest.mark.parametrize(
    ("name", "kind", "rest"),
    [
        (f"{_V7}.json", LogFileKind.COMMIT, {"version": 7}),
        (f"{_V7}.crc", LogFileKind.CHECKSUM, {"version": 7}),
        (f"{_V7}.checkpoint.parquet", LogFileKind.CHECKPOINT_CLASSIC, {"version": 7}),
        (
            f"{_V7}.checkpoint.{2:010}.{3:010}.parquet",
            LogFileKind.CHECKPOINT_PART,
            {"version": 7, "part": 2, "num_parts": 3},
        ),
        (
            f"{_V7}.checkpoint.{_UUID}.json",
            LogFileKind.CHECKPOINT_V2,
            {"version": 7, "unique": _UUID},
        ),
        (
            f"{_V7}.checkpoint.{_UUID.upper()}.parquet",
            LogFileKind.CHECKPOINT_V2,
            {"version": 7, "unique": _UUID.upper()},
        ),
        (
            f"{_V7}.{9:020}.compacted.json",
            LogFileKind.COMPACTION,
            {"version": 7, "last_version": 9},
        ),
        ("_last_checkpoint", LogFileKind.LAST_CHECKPOINT, {}),
        (f"{2**63 - 1:020}.json", LogFileKind.COMMIT, {"version": 2**63 - 1}),
    ],
)
def test_name_of_the_grammar(name: str, kind: LogFileKind, rest: dict[str, object]) -> None:
    found = parse_log_file_name(name)
    assert found is not None
    assert (found.name, found.kind) == (name, kind)
    fields = ("version", "last_version", "part", "num_parts", "unique")
    assert {
        field: getattr(found, field) for field in fields if getattr(found, field) is not None
    } == rest


@pytest.mark.rule("checkpoint-multipart-name", "checkpoint-uuid-name", "compaction-name")
@pytest.mark.rule("log-file-name-20-digits")
@pytest.mark.parametrize(
    "name",
    [
        "",
        "x",
        "7.json",
        f"{7:019}.json",
        f"{7:021}.json",
        f"{_V7}.JSON",
        f"{_V7}.json ",
        f" {_V7}.json",
        f"{_V7}.json\n",
        f"{_V7}.json.tmp",
        f".{_V7}.json.crc",
        f"{_V7}.jsonx",
        f"-{7:019}.json",
        f"+{7:019}.json",
        "0000000000000000000\u0667.json",  # a digit, but none of ASCII
        "²" * 20 + ".json",
        f"{2**63:020}.json",
        "9" * 20 + ".json",
        f"{_V7}.checkpoint",
        f"{_V7}.checkpoint.parquet.tmp",
        f"{_V7}.checkpoint.json",
        f"{_V7}.checkpoint.{0:010}.{3:010}.parquet",
        f"{_V7}.checkpoint.{4:010}.{3:010}.parquet",
        f"{_V7}.checkpoint.{1:09}.{3:010}.parquet",
        f"{_V7}.checkpoint.{1:010}.{3:010}.json",
        f"{_V7}.checkpoint.{_UUID[:-1]}.json",
        f"{_V7}.checkpoint.{_UUID}.avro",
        f"{_V7}.{6:020}.compacted.json",
        f"{_V7}.{2**63:020}.compacted.json",
        f"{_V7}.{_UUID}.json",  # a staged commit, which lies in a folder of its own
        "_last_checkpoint.tmp",
        "_LAST_CHECKPOINT",
        "_commits",
    ],
)
def test_name_that_is_foreign(name: str) -> None:
    assert parse_log_file_name(name) is None
    assert parse_commit_version(name) is None
    listing = build_listing([name])
    assert listing.foreign == (name,)
    assert listing.latest_version is None


@pytest.mark.rule("checkpoint-classic-name", "log-file-name-20-digits", "newer-checksum-name")
@given(st.integers(0, 2**63 - 1))
def test_rendered_names_are_parsed_back(version: int) -> None:
    for render, kind in (
        (render_commit_name, LogFileKind.COMMIT),
        (render_checksum_name, LogFileKind.CHECKSUM),
        (render_classic_checkpoint_name, LogFileKind.CHECKPOINT_CLASSIC),
    ):
        found = parse_log_file_name(render(version))
        assert found is not None
        assert (found.kind, found.version) == (kind, version)
    assert parse_commit_version(render_commit_name(version)) == version


@given(st.text(st.sampled_from("0123456789.jsoncheckpar_-\u0667"), max_size=60))
def test_both_rules_for_commits_agree(name: str) -> None:
    found = parse_log_file_name(name)
    is_commit = found is not None and found.kind is LogFileKind.COMMIT
    assert parse_commit_version(name) == (found.version if found and is_commit else None)


_MAX = 2**63 - 1
_VERSIONS = st.one_of(st.integers(0, 30), st.sampled_from([9 * 10**18, _MAX, _MAX + 1, 10**19]))
_STRAY = ["2".zfill(20) + ".jsom", "\u0667".zfill(20) + ".json", "0" * 19 + "\n.json", "x" * 25]


@pytest.mark.slow
@given(
    st.sets(_VERSIONS),
    st.sets(_VERSIONS),
    st.sets(st.sampled_from([*_STRAY, "0" * 20 + ".cr\n", f"{3:020}.json\n{4:020}.json", ""])),
    st.randoms(use_true_random=False),
)
def test_names_in_bulk_are_what_each_is_alone(
    commits: set[int], checksums: set[int], stray: set[str], order: random.Random
) -> None:
    names = [f"{version:020}.json" for version in commits]
    names += [f"{version:020}.crc" for version in checksums]
    names += stray
    order.shuffle(names)
    listing = build_listing(names)
    alone = {name: parse_log_file_name(name) for name in names}
    for found, kind in (
        (listing.commits, LogFileKind.COMMIT),
        (listing.checksums, LogFileKind.CHECKSUM),
    ):
        assert list(found) == sorted(
            parsed.version
            for parsed in alone.values()
            if parsed is not None and parsed.kind is kind and parsed.version is not None
        )
    assert list(listing.foreign) == sorted(name for name in names if alone[name] is None)


def _v2(version: int, unique: str = _UUID, suffix: str = "json") -> str:
    return f"{version:020}.checkpoint.{unique}.{suffix}"


def _part(version: int, part: int, parts: int) -> str:
    return f"{version:020}.checkpoint.{part:010}.{parts:010}.parquet"


@pytest.mark.rule("checkpoint-multipart-missing-parts", "checkpoint-several-per-version")
def test_order_of_names_does_not_matter() -> None:
    names = [
        *(render_commit_name(version) for version in range(8)),
        render_classic_checkpoint_name(3),
        *(_part(5, part, 3) for part in (1, 2, 3)),
        _v2(5),
        _part(6, 1, 2),
        render_checksum_name(4),
        f"{0:020}.{3:020}.compacted.json",
        "_last_checkpoint",
        "stray",
    ]
    wanted = build_listing(names)
    for seed in range(5):
        random.Random(seed).shuffle(names)
        assert build_listing(names) == wanted
    assert wanted.commits == tuple(range(8))
    assert [(found.version, found.kind) for found in wanted.checkpoints] == [
        (3, "classic"),
        (5, "multi-part"),
        (5, "v2"),
    ]
    assert wanted.incomplete_checkpoints == (
        CheckpointFiles(version=6, kind="multi-part", names=(_part(6, 1, 2),)),
    )
    assert wanted.checksums == (4,)
    assert [found.name for found in wanted.compactions] == [f"{0:020}.{3:020}.compacted.json"]
    assert wanted.has_last_checkpoint
    assert wanted.foreign == ("stray",)


@pytest.mark.rule("checkpoint-several-per-version", "older-001-checkpoint-multipart-not-deprecated")
def test_checkpoints_of_one_version_are_preferred_in_a_fixed_order() -> None:
    listing = build_listing(
        [_v2(2), render_classic_checkpoint_name(2), _part(2, 1, 1), render_commit_name(2)]
    )
    assert [found.kind for found in listing.checkpoints] == ["multi-part", "classic", "v2"]
    without = listing.without(listing.checkpoints[-1])
    assert [found.kind for found in without.checkpoints] == ["multi-part", "classic"]


@pytest.mark.rule("checkpoint-multipart-missing-parts", "older-003-checkpoint-complete-only")
def test_parts_are_complete_only_among_their_own_number_of_parts() -> None:
    # two writers, one with two parts and one with three: neither whole
    listing = build_listing([_part(4, 1, 2), _part(4, 2, 3), _part(4, 3, 3)])
    assert listing.checkpoints == ()
    assert sorted(found.parts for found in listing.incomplete_checkpoints) == [1, 2]
    # one whole, and a leftover of another
    listing = build_listing([_part(4, 2, 2), _part(4, 1, 2), _part(4, 3, 3)])
    (whole,) = listing.checkpoints
    assert whole.names == (_part(4, 1, 2), _part(4, 2, 2))


@pytest.mark.rule("checkpoint-multipart-missing-parts")
def test_latest_version_is_spoken_of_by_a_commit_or_a_whole_checkpoint() -> None:
    assert build_listing([]).latest_version is None
    assert build_listing([render_commit_name(4)]).latest_version == 4
    assert build_listing([render_classic_checkpoint_name(9)]).latest_version == 9
    both = [render_commit_name(4), render_classic_checkpoint_name(2)]
    assert build_listing(both).latest_version == 4
    assert build_listing([render_commit_name(4), _part(9, 1, 2)]).latest_version == 4
    others = [render_checksum_name(9), f"{0:020}.{9:020}.compacted.json", "_last_checkpoint"]
    assert build_listing([render_commit_name(4), *others]).latest_version == 4


class _Folder(LocalStore):
    """A log folder that counts how often it is listed."""

    def __init__(self, versions: int) -> None:
        super().__init__("/nowhere")
        self.versions = versions
        self.stamp: FolderStamp | None = (1,)
        self.listed = 0
        self.moments: list[int] = []

    def list_names(self, folder: str) -> list[str]:
        """All commits."""
        assert folder == LOG_FOLDER
        self.listed += 1
        return [render_commit_name(version) for version in range(self.versions)]

    def folder_stamp(self, folder: str, listed_ns: int) -> FolderStamp | None:
        """What the test says."""
        assert folder == LOG_FOLDER
        self.moments.append(listed_ns)
        return self.stamp


def test_long_log_is_listed_again_only_where_its_folder_changed() -> None:
    store, kept = _Folder(1000), KeptListing()
    first = kept.list_log(store)
    assert kept.list_log(store) is first
    assert (store.listed, kept.held_bytes > 0) == (1, True)
    store.stamp, store.versions = (2,), 1001
    assert kept.list_log(store).latest_version == 1000
    assert kept.list_log(store).latest_version == 1000
    assert store.listed == 2


def test_listing_is_not_kept_where_nothing_tells_whether_it_holds() -> None:
    store, kept = _Folder(1000), KeptListing()
    store.stamp = None
    assert [kept.list_log(store).latest_version for _ in range(3)] == [999] * 3
    assert (store.listed, kept.held_bytes) == (3, 0)
    # nor one from before that
    store.stamp = (1,)
    kept.list_log(store)
    store.stamp, store.versions = None, 1002
    assert kept.list_log(store).latest_version == 1001


def test_stamp_is_asked_for_a_moment_before_the_listing_began() -> None:
    # what changes while names are being listed must not be taken for listed
    clock = iter([50, 60])
    store, kept = _Folder(1000), KeptListing(lambda: next(clock))
    kept.list_log(store)
    assert store.moments == [50]
    kept.list_log(store)
    assert store.moments == [50, 60]


def test_listing_of_a_short_log_is_not_kept() -> None:
    store, kept = _Folder(999), KeptListing()
    kept.list_log(store)
    kept.list_log(store)
    assert (store.listed, store.moments, kept.held_bytes) == (2, [], 0)


def test_forgotten_listing_is_made_again() -> None:
    store, kept = _Folder(1000), KeptListing()
    kept.list_log(store)
    kept.release()
    assert kept.held_bytes == 0
    kept.list_log(store)
    assert store.listed == 2
