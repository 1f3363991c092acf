"""Rows that commits removed, by the adds of their files: against what each commit's page counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq
import pytest

import explorer
import explorer.inspect as look
from explorer.errors import CancelledError, DeltaError, NotFoundError
from explorer.inspect.commits import removed_rows as module
from explorer.inspect.commits.removed_rows import removed_rows
from explorer.progress import Cancel, Watch
from tests.corpus import READABLE, shared_table, table_name
from tests.demo_story import AUTUMN, copy_demo
from tests.sampling import sample
from tests.tables import PROTOCOL, LogFolder, add, metadata, remove, vector


def stats(rows: int) -> str:
    return json.dumps({"numRecords": rows})


def found_of(folder: LogFolder, *versions: int, **watch: Any) -> dict[int, int]:
    return removed_rows(explorer.open_table(folder.root), versions, Watch(**watch))


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    folder = LogFolder(tmp_path / "table")
    folder.commit(0, [PROTOCOL, metadata(), add("a", stats=stats(30)), add("b", stats=stats(12))])
    return folder


def test_a_removed_file_has_the_rows_that_its_add_says(folder: LogFolder) -> None:
    folder.commit(1, [add("c", stats=stats(6)), remove("a"), remove("b", stats=stats(12))])
    frame = look.timeline(explorer.open_table(folder.root), first=1)
    assert frame["rows_removed"].to_pylist() == [None]
    assert found_of(folder, 1) == {1: 42}


def test_rows_that_a_vector_hides_were_removed_before(folder: LogFolder) -> None:
    hides = vector(cardinality=4)
    folder.commit(1, [remove("a"), add("a", stats=stats(30), deletionVector=hides)])
    folder.commit(2, [remove("a", deletionVector=hides)])
    assert found_of(folder, 2) == {2: 26}


def test_a_vector_that_grows_in_the_same_commit_counts_what_it_newly_hides(
    folder: LogFolder,
) -> None:
    folder.commit(
        1,
        [remove("a"), add("a", stats=stats(30), deletionVector=vector(cardinality=4)), remove("b")],
    )
    assert found_of(folder, 1) == {1: 16}


def test_a_vector_that_shrinks_in_the_same_commit_removes_nothing(folder: LogFolder) -> None:
    more, less = vector("more", cardinality=9), vector("less", cardinality=2)
    folder.commit(1, [remove("a"), add("a", stats=stats(30), deletionVector=more)])
    back = add("a", stats=stats(30), deletionVector=less)
    folder.commit(2, [remove("a", deletionVector=more), back, remove("b")])
    assert found_of(folder, 2) == {2: 12}


def test_a_file_that_changed_no_data_is_counted_by_its_add_but_not_by_its_remove(
    folder: LogFolder,
) -> None:
    folder.commit(1, [remove("a", dataChange=False), remove("b", dataChange=False),
                      add("ab", dataChange=False, stats=stats(42))])  # fmt: skip
    folder.commit(2, [remove("ab"), add("c", stats=stats(1))])
    assert found_of(folder, 1, 2) == {2: 42}


def test_the_newest_add_before_the_remove_counts(folder: LogFolder) -> None:
    folder.commit(1, [remove("a")])
    folder.commit(2, [add("a", stats=stats(7))])
    folder.commit(3, [remove("a")])
    folder.commit(4, [add("a", stats=stats(9))])
    assert found_of(folder, 3, 1) == {3: 7, 1: 30}


@pytest.mark.parametrize(
    "last",
    [
        [remove("never added")],
        [remove("a", deletionVector=vector())],  # was added without one
        [remove("a", deletionVector={**vector(), "cardinality": None})],
        [remove("b"), remove("without")],  # one of two is not enough
        [remove("gone")],
        [remove("few", deletionVector=vector())],  # which hides more rows than there are
        [remove("many"), remove("one")],  # more than 64 bits hold
        [remove("many"), remove("b", stats=stats(12)), remove("one")],
        [remove("a"), remove("x", stats=stats(2**63 - 1)), remove("y", stats=stats(1))],
        # rows were copied, and nobody counted those that changed
        [{"commitInfo": {"operation": "DELETE"}}, remove("a"), add("d", stats=stats(29))],
    ],
)
def test_what_the_adds_do_not_tell_stays_unknown(
    folder: LogFolder, last: list[dict[str, Any]]
) -> None:
    folder.commit(
        1,
        [
            add("without"),
            add("gone", stats=stats(3)),
            add("few", stats=stats(1), deletionVector=vector()),
            add("many", stats=stats(2**63 - 1)),
            add("one", stats=stats(1)),
        ],
    )
    folder.commit(2, [remove("gone")])
    folder.commit(3, last)
    assert found_of(folder, 3) == {}


@pytest.mark.parametrize("operation", [{}, ["DELETE"], {"DELETE": 1}, 7, True, None, ""])
def test_an_operation_that_is_no_text_is_none_that_copies(
    folder: LogFolder, operation: object
) -> None:
    """It is from whoever wrote the log, and the commits beside it are counted all the same."""
    folder.commit(1, [remove("b")])
    folder.commit(2, [{"commitInfo": {"operation": operation}}, remove("a"), add("d")])
    assert found_of(folder, 2, 1) == {2: 30, 1: 12}


def test_nothing_is_told_from_before_a_commit_that_is_missing(folder: LogFolder) -> None:
    folder.commit(1, [add("c", stats=stats(1))])
    folder.commit(2, [remove("c")])
    folder.commit(3, [remove("a")])
    (folder.root / "_delta_log" / "00000000000000000001.json").unlink()
    folder.checkpoint(1, [PROTOCOL, metadata(), add("a", stats=stats(30))])
    assert found_of(folder, 3, 2) == {}


def test_no_more_is_read_than_is_allowed(
    folder: LogFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in range(1, 40):
        folder.commit(version, [add(f"{version}", stats=stats(1))])
    folder.commit(40, [remove("a")])
    folder.commit(41, [remove("39")])
    monkeypatch.setattr(module, "MOST_COMMITS", 10)
    assert found_of(folder, 41, 40) == {41: 1}
    monkeypatch.setattr(module, "MOST_COMMITS", 100)
    assert found_of(folder, 41, 40) == {41: 1, 40: 30}
    monkeypatch.setattr(module, "MOST_BYTES", 2_000)
    assert found_of(folder, 41, 40) == {41: 1}
    monkeypatch.setattr(module, "MOST_FILES", 0)
    assert found_of(folder, 41, 40) == {}


def test_commits_between_those_that_are_asked_for_are_not_read(folder: LogFolder) -> None:
    folder.commit(1, [remove("b")])
    for version in range(2, 100):
        folder.write(f"{version:020}.json", b"\xff")
    folder.commit(100, [add("c", stats=stats(2))])
    folder.commit(101, [remove("c")])
    seen: list[Any] = []
    assert found_of(folder, 101, 1, progress=seen.append) == {101: 2, 1: 12}
    assert len(seen) == 4


def test_it_can_be_stopped(folder: LogFolder) -> None:
    folder.commit(1, [remove("a")])
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(CancelledError):
        found_of(folder, 1, cancel=cancel)


def unknown_in(rows: list[dict[str, Any]]) -> list[int]:
    return [row["version"] for row in rows if row["rows_removed"] is None and not row["problem"]]


@pytest.mark.slow
@pytest.mark.sampled(one_in=6)
@pytest.mark.parametrize("table", READABLE, ids=table_name)
def test_the_list_counts_what_the_page_of_each_commit_counts(
    table: dict[str, Any], tmp_path: Path
) -> None:
    check_pages(shared_table(table, tmp_path))


@pytest.mark.slow
def test_an_overwrite_of_the_corpus_counts_as_on_its_page(tmp_path: Path) -> None:
    """One whose removes have no statistics, whatever the day."""
    names = {
        "spark44-cdf-all-operations": {7: 38},
        "golden-basic-with-inserts-overwrite-restore": {2: 200},
        "golden-corrupted-last-checkpoint-kernel": {11: 110},  # ten were written again
        "spark-transaction_log_schema_evolvability": {4: 9, 2: 9},  # all were, in version 2
        "dat-with_schema_change": {1: 3},  # with other columns: its page shows none of them
    }
    for table in (table for table in READABLE if table["name"] in names):
        root, expected = shared_table(table, tmp_path), names.pop(table["name"])
        assert check_pages(root) == expected
        assert {version: rows_held(root, version) for version in expected} == expected
    assert not names


def check_pages(root: Path) -> dict[int, int]:
    table = explorer.open_table(root)
    rows = {row["version"]: row for row in look.timeline(table).to_pylist()}
    found = removed_rows(table, unknown_in([*rows.values()]))
    for version, removed in found.items():
        assert rows_held(root, version) in {None, removed}
        try:
            page = look.commit_rows(table, version)
        except DeltaError:
            continue  # its files are gone
        if page.counts is None or page.problems:
            continue  # what is not counted there, or left out as it says
        deleted = page.counts.get("delete", 0) + page.counts.get("update_preimage", 0)
        inserted = page.counts.get("insert", 0) + page.counts.get("update_postimage", 0)
        # rows that are the same in files that were removed and added are no change there
        stayed = removed - deleted
        assert stayed == 0 if page.route == "files" else stayed >= 0
        assert rows[version]["rows_added"] in {None, inserted + stayed}
    return found


def rows_held(root: Path, version: int) -> int | None:
    """The rows in the files that a commit removed, by the files themselves, less those that were
    hidden; None where a file is gone, or stays with another vector."""
    text = (root / "_delta_log" / f"{version:020}.json").read_text(encoding="utf-8")
    actions = [json.loads(line) for line in text.splitlines()]
    stays = {action["add"]["path"] for action in actions if action.get("add")}
    rows = 0
    for body in (action["remove"] for action in actions if action.get("remove")):
        file = root / unquote(body["path"])
        if body["path"] in stays or not file.is_file():
            return None
        if body["dataChange"]:
            hidden = (body.get("deletionVector") or {}).get("cardinality", 0)
            rows += pq.read_metadata(file).num_rows - hidden
    return rows


@pytest.mark.slow
def test_every_commit_of_the_demo_counts_what_its_page_counts(tmp_path: Path) -> None:
    table = explorer.open_table(copy_demo(tmp_path / "demo", AUTUMN))
    rows = {row["version"]: row for row in look.timeline(table).to_pylist()}
    assert removed_rows(table, [*rows]) == {}  # its writers count all rows that change
    compared = 0
    for version in sample(sorted(rows), 6, "demo"):
        try:
            counts = look.commit_rows(table, version).counts or {}
        except NotFoundError:
            continue  # what it removed is vacuumed
        compared += 1
        deleted = counts.get("delete", 0) + counts.get("update_preimage", 0)
        assert rows[version]["rows_removed"] == deleted
    assert compared > 5


@pytest.mark.slow
def test_an_overwrite_of_the_demo_counts_all_its_rows(tmp_path: Path) -> None:
    """By adds of many commits, rewritten files and deletion vectors among them."""
    root = copy_demo(tmp_path / "demo", AUTUMN)
    live: dict[str, dict[str, Any]] = {}
    log = LogFolder(root, exists=True)
    commits = sorted((root / "_delta_log").glob("*.json"))
    for path in commits:
        actions = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for action in actions:
            live.pop((action.get("remove") or {}).get("path", ""), None)
        live |= {body["path"]: body for action in actions if (body := action.get("add"))}
    version = int(commits[-1].stem) + 1
    names = ("partitionValues", "size", "deletionVector")
    removes = [
        remove(path, **{name: body[name] for name in names if name in body})
        for path, body in live.items()
    ]
    assert any("deletionVector" in action["remove"] for action in removes)
    log.commit(version, [{"commitInfo": {"operation": "WRITE"}}, *removes])
    table = explorer.open_table(root)
    page = look.commit_rows(table, version)
    assert page.counts is not None
    assert removed_rows(table, [version]) == {version: page.counts["delete"]}
    assert check_pages(root) == {version: page.counts["delete"]}
