"""Commits that have one path more than once, with different deletion vectors."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import explorer
from tests.tables import (
    FEATURE_PROTOCOL,
    Action,
    LogFolder,
    add,
    commit_name,
    metadata,
    remove,
    vector,
)

_START = [FEATURE_PROTOCOL, metadata(), add("x"), add("y", deletionVector=vector())]


def _with(kind: Any, path: str, offset: int) -> Action:
    found: Action = kind(path, deletionVector=vector(offset=offset))
    return found


def _snapshot(root: Path, *commits: list[Action]) -> explorer.Snapshot:
    log = LogFolder(root)
    for version, actions in enumerate([_START, *commits]):
        log.commit(version, actions)
    return explorer.open_table(log.root).snapshot()


@pytest.mark.rule("file-one-action-per-type-and-path", "older-003-one-operation-per-path")
@pytest.mark.parametrize(
    ("kind", "actions", "num_files"),
    [
        ("add", [_with(add, "z", 1), _with(add, "z", 2)], 4),
        ("add", [_with(add, "z", 1), add("z")], 4),
        ("add", [_with(add, "/data/z", 1), add("file:///data/z")], 4),
        ("add", [_with(add, "z", 1), add("z"), remove("w"), _with(remove, "z", 3)], 4),
        ("remove", [remove("x"), _with(remove, "x", 1)], 1),
        ("remove", [_with(remove, "x", 1), _with(remove, "x", 2), _with(add, "x", 3)], 3),
    ],
)
def test_path_with_two_vectors_in_one_commit_is_a_problem_and_both_count(
    kind: str, actions: list[Action], num_files: int, tmp_path: Path
) -> None:
    for number, order in enumerate(permutations(actions)):
        snapshot = _snapshot(tmp_path / str(number), list(order))
        (problem,) = snapshot.problems
        assert problem.problem == f"{commit_name(1)} has one path in several {kind} actions."
        assert problem.place is not None
        assert problem.place.startswith(f"{commit_name(1)}:")
        assert snapshot.num_files == num_files
        assert snapshot.num_tombstones == sum("remove" in one for one in actions)


def test_as_many_paths_as_there_are_twice_are_one_problem(tmp_path: Path) -> None:
    twice = [_with(add, path, offset) for path in "abcd" for offset in range(3)]
    (problem,) = _snapshot(tmp_path / "t", twice).problems
    assert problem.reason.startswith("The path 'a' has different")
    assert "and so have 3 more paths" in problem.reason
    assert problem.place == f"{commit_name(1)}:1"


@pytest.mark.rule("file-add-and-remove-same-path")
def test_path_that_takes_another_vector_is_no_problem(tmp_path: Path) -> None:
    steps: list[list[Action]] = [
        [remove("x"), _with(add, "x", 1)],
        [_with(remove, "x", 1), _with(add, "x", 2)],
        [_with(add, "x", 3), _with(remove, "x", 2)],
        # another commit may add the path again
        [_with(add, "x", 4)],
    ]
    snapshot = _snapshot(tmp_path / "t", *steps)
    assert snapshot.problems == ()
    assert snapshot.num_tombstones == 3


@pytest.mark.rule("recon-disjoint")
def test_tombstones_of_a_path_with_several_vectors_fit_into_a_compaction(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, _START)
    log.commit(1, [remove("x"), _with(add, "x", 1)])
    log.commit(2, [_with(remove, "x", 1), _with(add, "x", 2)])
    whole = [remove("x"), _with(remove, "x", 1), _with(add, "x", 2), add("only here")]
    log.commit(9, whole).rename(log.log / f"{1:020}.{2:020}.compacted.json")
    snapshot = explorer.open_table(log.root).snapshot()
    assert snapshot.problems == ()
    assert sorted(snapshot.files(["path"])["path"].to_pylist()) == ["only here", "x", "y"]
    assert snapshot.tombstones(["path"])["path"].to_pylist() == ["x", "x"]
