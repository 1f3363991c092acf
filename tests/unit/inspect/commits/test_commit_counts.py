"""How many commits lie between two versions, and what they did."""

from __future__ import annotations

from pathlib import Path

import pytest

import explorer
from explorer.inspect.commits import commit_counts
from explorer.inspect.commits.commit_counts import commits_between
from explorer.table.table import Table
from tests.tables import PROTOCOL, LogFolder, add, metadata


def table(folder: Path, operations: list[str | None]) -> Table:
    log = LogFolder(folder / "t")
    log.commit(0, [PROTOCOL, metadata()])
    for version, operation in enumerate(operations, start=1):
        info = {} if operation is None else {"operation": operation}
        log.commit(version, [{"commitInfo": info}, add(f"{version}.parquet")])
    return explorer.open_table(log.root)


def test_the_operations_are_counted_by_their_names(tmp_path: Path) -> None:
    found = commits_between(table(tmp_path, ["WRITE", "WRITE", "MERGE", None]), 0, 4)
    assert found.operations == (("WRITE", 2), ("MERGE", 1), (None, 1))
    assert found.sentence == (
        "4 commits after version 0, up to version 4: 2 WRITE, 1 MERGE, 1 of no named operation."
    )


def test_the_order_of_the_versions_does_not_matter(tmp_path: Path) -> None:
    opened = table(tmp_path, ["WRITE", "MERGE", "DELETE"])
    assert commits_between(opened, 3, 1) == commits_between(opened, 1, 3)
    assert commits_between(opened, 2, 3).sentence == (
        "1 commit after version 2, up to version 3: 1 DELETE."
    )


def test_of_a_long_history_the_newest_commits_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_counts, "MOST_READ", 2)
    found = commits_between(table(tmp_path, ["WRITE", "MERGE", "DELETE"]), 0, 3)
    assert found.sentence == (
        "3 commits after version 0, up to version 3; of the newest 2: 1 MERGE, 1 DELETE."
    )


def test_more_operations_than_fit_into_a_sentence_are_counted_together(tmp_path: Path) -> None:
    names: list[str | None] = [f"OPERATION {at}" for at in range(7)]
    assert commits_between(table(tmp_path, names), 0, 7).sentence.endswith(
        "1 OPERATION 3, 3 others."
    )


def test_commits_that_are_gone_are_not_counted(tmp_path: Path) -> None:
    opened = table(tmp_path, ["WRITE", "WRITE"])
    for version in (1, 2):
        (tmp_path / "t" / "_delta_log" / f"{version:020}.json").unlink()
    assert commits_between(opened, 0, 2).sentence == (
        "No commits remain after version 0, up to version 2."
    )
