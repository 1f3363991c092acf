"""Log compaction files: used where they fit and are whole, else their commits."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer.errors import DeltaError
from explorer.log.folder.compactions import Step, plan_replay
from explorer.log.folder.listing import Compaction
from explorer.storage.local import LocalStore
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table
from tests.tables import PROTOCOL, Action, LogFolder, add, commit_name, metadata, remove

_REAL = "spark44-log-compaction"


def _compaction(first: int, last: int) -> Compaction:
    return Compaction(first=first, last=last, name=f"{first:020}.{last:020}.compacted.json")


def _versions_of(step: Step) -> Iterator[int]:
    if isinstance(step, int):
        yield step
    else:
        yield from range(step.last, step.first - 1, -1)


def _fewest(versions: range, spans: list[tuple[int, int]]) -> int:
    """The least number of files for `versions`, by trying everything."""
    if not versions:
        return 0
    rest = [
        _fewest(range(versions.start, first), spans)
        for first, last in {*spans, (versions[-1], versions[-1])}
        if last == versions[-1] and first >= versions.start
    ]
    return 1 + min(rest)


@pytest.mark.rule("compaction-not-inside-range", "compaction-replaces-commits")
@given(
    first=st.integers(0, 4),
    count=st.integers(0, 9),
    spans=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6)), max_size=5),
)
def test_plan_covers_each_version_once_with_the_fewest_files(
    first: int, count: int, spans: list[tuple[int, int]]
) -> None:
    versions = range(first, first + count)
    ranges = [(start, start + more) for start, more in spans]
    plan = plan_replay(versions, [_compaction(*found) for found in ranges])
    assert [version for step in plan for version in _versions_of(step)] == list(versions[::-1])
    assert len(plan) == _fewest(versions, ranges)


class _Noting(LocalStore):
    """A store that notes what is read."""

    def __init__(self, root: Path) -> None:
        super().__init__(str(root))
        self.names: list[str] = []

    def read(self, path: str, limit: int | None = None) -> bytes:
        self.names.append(path.rpartition("/")[2])
        return super().read(path, limit)


def _state(snapshot: Snapshot) -> tuple[object, ...]:
    """Files and tombstones, in any order."""
    files = snapshot.files(["path", "size", "deletion_vector", "stats"]).to_pylist()
    tombstones = snapshot.tombstones(["path", "deletion_vector"]).to_pylist()
    return sorted(map(repr, files)), sorted(map(repr, tombstones))


@pytest.mark.slow
@pytest.mark.rule("compaction-read-instead", "compaction-readers-optional")
@pytest.mark.parametrize("name", [_REAL, "kernel-compacted-log-files-table"])
def test_real_table_is_the_same_without_its_compactions(
    name: str, corpus: Path, tmp_path: Path
) -> None:
    real = corpus / "tables" / name
    copy = Path(shutil.copytree(real, tmp_path / "copy"))
    for file in (copy / "_delta_log").glob("*.compacted.json"):
        file.unlink()
    with_them, without = explorer.open_table(real), explorer.open_table(copy)
    for version in range(with_them.latest_version() + 1):
        # a table of its own each time: nothing is held from another version
        found = explorer.open_table(real).snapshot(version=version)
        assert _state(found) == _state(without.snapshot(version=version))
        assert _state(with_them.snapshot(version=version)) == _state(found)


@pytest.mark.rule("compaction-not-inside-range", "compaction-read-instead")
@pytest.mark.rule("compaction-replaces-commits")
@pytest.mark.parametrize(
    ("version", "wanted"),
    [
        (4, [4, 3, 2, 1, 0]),  # each compaction crosses it
        (5, [(2, 5), 1, 0]),
        (8, [(3, 8), 2, 1, 0]),  # overlaps the other two and is the shortest way
        (9, [(6, 9), (2, 5), 1, 0]),
        (11, [11]),  # all of them lie below the checkpoint
    ],
)
def test_real_compactions_spare_the_commits_inside_them(
    version: int, wanted: list[int | tuple[int, int]], corpus: Path
) -> None:
    store = _Noting(corpus / "tables" / _REAL)
    snapshot = Table(store).snapshot(version=version)
    names = [
        commit_name(step) if isinstance(step, int) else _compaction(*step).name for step in wanted
    ]
    assert store.names == names
    assert snapshot.problems == ()


@pytest.mark.rule("compaction-content")
def test_strung_together_commits_are_no_compaction(corpus: Path) -> None:
    # its three files hold the commits' actions newest first, the cancelled ones too
    store = _Noting(corpus / "tables" / "kernel-compacted-log-files-table")
    snapshot = Table(store).snapshot(version=5)
    assert {commit_name(version) for version in range(6)} <= set(store.names)
    assert snapshot.num_files == 2
    (problem,) = snapshot.problems
    assert problem.place == _compaction(0, 5).name
    assert "two actions of the file" in problem.reason


_WHOLE = [remove("a"), add("c"), {"txn": {"appId": "s", "version": 7}}]


def _table(root: Path, compacted: str | None) -> LogFolder:
    log = LogFolder(root)
    log.commit(0, [PROTOCOL, metadata(), add("a"), add("b")])
    log.commit(1, [remove("a"), add("d"), {"txn": {"appId": "s", "version": 9}}])
    log.commit(2, [remove("d"), add("c"), {"txn": {"appId": "s", "version": 7}}])
    if compacted is not None:
        log.write(_compaction(1, 2).name, compacted)
    return log


def _lines(*actions: object) -> str:
    return "".join(json.dumps(action) + "\n" for action in actions)


@pytest.mark.rule("compaction-read-instead", "compaction-row-per-action")
def test_compaction_is_believed_where_it_is_one(tmp_path: Path) -> None:
    # without the tombstone of `d`, which the commits have: that is how one sees it was used
    snapshot = explorer.open_table(_table(tmp_path / "t", _lines(*_WHOLE)).root).snapshot()
    assert sorted(snapshot.files(["path"])["path"].to_pylist()) == ["b", "c"]
    assert snapshot.tombstones(["path"])["path"].to_pylist() == ["a"]
    assert snapshot.transactions["s"].version == 7
    assert snapshot.problems == ()


@pytest.mark.rule("compaction-content", "compaction-latest-txn")
@pytest.mark.parametrize(
    "compacted",
    [
        "",
        "\n\n",
        "{",
        _lines(*_WHOLE)[:-3],
        _lines(*_WHOLE, remove("c")),
        _lines(*_WHOLE, add("c")),
        _lines(*_WHOLE, {"txn": {"appId": "s", "version": 9}}),
        _lines(*_WHOLE, metadata(), metadata()),
        _lines(*_WHOLE, PROTOCOL, PROTOCOL),
        _lines(*_WHOLE, *[{"domainMetadata": {"domain": "d", "configuration": ""}}] * 2),
        _lines(*_WHOLE, {"add": {"path": 5}}),
        _lines(*_WHOLE, add("e", size="large")),
        _lines(*_WHOLE, {"txn": {"appId": "t"}}),
        "[]\n",
    ],
)
def test_compaction_that_is_none_gives_way_to_its_commits(compacted: str, tmp_path: Path) -> None:
    table = explorer.open_table(_table(tmp_path / "t", compacted).root)
    snapshot = table.snapshot()
    assert sorted(snapshot.files(["path"])["path"].to_pylist()) == ["b", "c"]
    assert sorted(snapshot.tombstones(["path"])["path"].to_pylist()) == ["a", "d"]
    assert snapshot.transactions["s"].version == 7
    (problem,) = snapshot.problems
    assert (problem.kind, problem.place) == ("log_corrupt", _compaction(1, 2).name)


@pytest.mark.parametrize("actions", [[], [PROTOCOL], [metadata()]])
def test_compaction_from_the_first_version_on_has_protocol_and_metadata(
    actions: list[Action], tmp_path: Path
) -> None:
    log = _table(tmp_path / "t", None)
    log.write(_compaction(0, 1).name, _lines(*actions, add("other")))
    snapshot = explorer.open_table(log.root).snapshot()
    assert snapshot.num_files == 2
    assert [problem.place for problem in snapshot.problems] == [_compaction(0, 1).name]


def test_value_that_does_not_fit_is_blamed_on_the_commit_that_has_it(tmp_path: Path) -> None:
    log = _table(tmp_path / "t", _lines(*_WHOLE))
    log.commit(3, [add("e", size="large")])
    with pytest.raises(DeltaError) as caught:
        explorer.open_table(log.root).snapshot()
    assert f"{commit_name(3)}:1" in caught.value.problem


@pytest.mark.rule("compaction-read-instead", "compaction-replaces-commits")
def test_broken_commit_inside_a_compaction_is_not_needed(tmp_path: Path) -> None:
    log = _table(tmp_path / "t", _lines(*_WHOLE))
    log.write(commit_name(1), "{")
    snapshot = explorer.open_table(log.root).snapshot()
    assert snapshot.num_files == 2
    with pytest.raises(DeltaError):
        explorer.open_table(log.root).snapshot(version=1)


@pytest.mark.rule("log-versions-contiguous")
def test_commit_that_is_missing_is_a_gap_whatever_compacts_it(tmp_path: Path) -> None:
    log = _table(tmp_path / "t", _lines(*_WHOLE))
    (log.log / commit_name(1)).unlink()
    with pytest.raises(DeltaError) as caught:
        explorer.open_table(log.root).snapshot()
    assert caught.value.kind == "log_gap"


@pytest.mark.rule("compaction-readers-optional")
def test_compaction_that_went_away_is_no_problem(tmp_path: Path) -> None:
    log = _table(tmp_path / "t", _lines(*_WHOLE))
    table = explorer.open_table(log.root)
    listing = table.listing()
    (log.log / _compaction(1, 2).name).unlink()
    table.listing = lambda: listing  # type: ignore[method-assign]  # as it was a moment ago
    snapshot = table.snapshot()
    assert (snapshot.num_files, snapshot.num_tombstones, snapshot.problems) == (2, 2, ())


def test_many_unusable_compactions_cost_few_beginnings(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata()])
    for version in range(1, 41):
        log.commit(version, [add(str(version))])
    for version in range(1, 40, 2):
        log.write(_compaction(version, version + 1).name, "{")
    store = _Noting(log.root)
    snapshot = Table(store).snapshot()
    assert snapshot.num_files == 40
    assert len(snapshot.problems) == 3
    assert len(store.names) < 200


@pytest.mark.rule("file-one-action-per-type-and-key", "log-no-reconciling-pairs")
@pytest.mark.rule("log-no-same-key-files", "log-one-protocol", "log-one-txn-per-appid")
@pytest.mark.rule("metadata-at-most-one", "older-003-one-operation-per-path")
@pytest.mark.parametrize(
    ("second", "what"),
    [
        (add("x"), "the file 'x'"),
        (remove("file:/data/y"), "the file"),
        ({"txn": {"appId": "s", "version": 1}}, "txn 's'"),
        ({"domainMetadata": {"domain": "d", "configuration": "2"}}, "domainMetadata 'd'"),
        (metadata(name="second"), "metaData"),
        (PROTOCOL, "protocol"),
    ],
)
def test_two_actions_of_one_key_in_one_commit_are_a_problem_and_the_last_line_counts(
    second: dict[str, object], what: str, tmp_path: Path
) -> None:
    log = LogFolder(tmp_path / "t")
    first = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 1}},
        metadata(name="first"),
        remove("x"),
        add("///data/y"),
        {"txn": {"appId": "s", "version": 9}},
        {"domainMetadata": {"domain": "d", "configuration": "1"}},
    ]
    log.commit(0, [*first, second])
    snapshot = explorer.open_table(log.root).snapshot()
    (problem,) = snapshot.problems
    assert problem.place is not None
    assert problem.place.startswith(f"{commit_name(0)}:")
    assert what in problem.reason
    (kind,) = second
    found = {
        "add": snapshot.files(["path"])["path"].to_pylist(),
        "remove": snapshot.num_files,
        "txn": snapshot.transactions["s"].version,
        "domainMetadata": snapshot.domains["d"].configuration,
        "metaData": snapshot.metadata.name,
        "protocol": snapshot.protocol.min_writer_version,
    }[kind]
    last = {"add": ["///data/y", "x"], "remove": 0, "txn": 1, "domainMetadata": "2"}
    assert found == {**last, "metaData": "second", "protocol": 2}[kind]
