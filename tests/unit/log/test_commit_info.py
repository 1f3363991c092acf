"""Provenance of commits, wherever in the commit it stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from explorer.errors import CorruptLogError, NotFoundError
from explorer.log.commit_info import read_commit_info, read_commit_infos
from explorer.storage.open import open_read_store
from tests.tables import LogFolder, add, commit_name

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
    infos = list(read_commit_infos(store, [2, 1, 0]))
    assert [info.version for info in infos] == [2, 1, 0]
    assert [bool(info.body) for info in infos] == [True, False, True]


def test_commit_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        read_commit_info(open_read_store(LogFolder(tmp_path / "t").root), 0)
