"""Provenance of commits, wherever in the commit it stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from explorer.errors import CorruptLogError, NotFoundError
from explorer.log.commits.commit_info import COMMITS_AT_A_TIME, read_commit_info, read_provenance
from explorer.storage.open import open_read_store
from tests.tables import Action, LogFolder, add, commit_name

_INFO = {"commitInfo": {"operation": "WRITE", "inCommitTimestamp": 5}}
_LONG = {"commitInfo": {"operation": "WRITE", "inCommitTimestamp": 5, "text": "x" * 10_000}}
_TALKS_OF_IT = add('a"commitInfo"', tags={"commitInfo": "{}"})


@pytest.mark.rule("action-commitinfo-optional")
@pytest.mark.parametrize(
    ("actions", "line"),
    [
        ([_INFO], 1),
        ([_INFO, add("a")], 1),
        ([add("a"), _INFO], 2),
        ([_LONG, add("a")], 1),
        ([add("a"), _LONG], 2),
        ([add("p" * 5000), _INFO], 2),
        ([*(add(f"f{at}") for at in range(200)), _INFO], 201),
        ([_TALKS_OF_IT, _INFO], 2),
        ([_INFO, _TALKS_OF_IT], 1),
        ([{"commitInfo": None}, _INFO], 2),
        ([{"commitInfo": [1]}, _INFO], 2),
        ([add("a"), {**add("p" * 5000), **_INFO}], 2),
    ],
)
def test_provenance_is_found(actions: list[object], line: int, tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    for ending in ("\n", ""):
        log.write(commit_name(3), "\n".join(map(json.dumps, actions)) + ending)
        found = read_commit_info(open_read_store(log.root), 3)
        assert (found.version, found.line) == (3, line)
        assert found.body["operation"] == "WRITE"
        assert found.in_commit_ms == 5


@pytest.mark.rule("action-commitinfo-optional")
@pytest.mark.parametrize(
    "data", ["", "\n", '{"add":{"path":"a"}}', '{"commitInfo":5}', '{"x":"commitInfo"}']
)
def test_commit_without_provenance(data: str, tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.write(commit_name(0), data)
    found = read_commit_info(open_read_store(log.root), 0)
    assert (found.body, found.line, found.in_commit_ms) == ({}, None, None)


@pytest.mark.parametrize("value", [None, "5", 5.0, True, [], 2**62, -(2**62), 2**70])
def test_in_commit_time_of_a_wrong_type_is_none(value: object, tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [{"commitInfo": {"inCommitTimestamp": value}}])
    assert read_commit_info(open_read_store(log.root), 0).in_commit_ms is None


def test_broken_commit_is_an_error_alone_and_empty_among_others(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [_INFO])
    log.write(commit_name(1), '{"commitInfo":{"operation":"WRITE"\n')
    log.commit(2, [_INFO])
    store = open_read_store(log.root)
    with pytest.raises(CorruptLogError) as caught:
        read_commit_info(store, 1)
    assert f"{commit_name(1)}:1" in caught.value.problem
    assert [bool(body) for body, _ in read_provenance(store, [2, 1, 0])] == [True, False, True]


def test_provenance_of_many_commits_is_that_of_each(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    versions = range(COMMITS_AT_A_TIME + 2)
    kinds: list[list[Action]] = [[_INFO], [add("a"), _INFO], [_LONG], [add("p" * 5000), _INFO], []]
    for version in versions:
        log.commit(version, [*kinds[version % len(kinds)], {"txn": {"version": version}}])
        log.time(version, 1_700_000_000_000 + version)
    store = open_read_store(log.root)
    newest_first = versions[::-1]
    found = list(read_provenance(store, newest_first))
    assert [body for body, _ in found] == [
        read_commit_info(store, version).body for version in newest_first
    ]
    assert [time for _, time in found] == [1_700_000_000_000 + at for at in newest_first]


def test_provenance_of_a_commit_that_went_away_is_no_empty_one(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [_INFO])
    with pytest.raises(NotFoundError):
        list(read_provenance(open_read_store(log.root), [1, 0]))


def test_commit_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        read_commit_info(open_read_store(LogFolder(tmp_path / "t").root), 0)
