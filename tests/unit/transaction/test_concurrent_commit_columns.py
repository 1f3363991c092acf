"""A winning commit that is read into columns says what it says line by line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from explorer.errors import CancelledError, CorruptLogError
from explorer.log.commits import prefetched_columns
from explorer.log.commits.line_columns import read_line_columns
from explorer.progress import Cancel, Progress, Watch
from explorer.storage.open import open_read_store
from explorer.transaction import concurrent_commit as winners
from explorer.transaction.concurrent_commit import (
    SHOWN,
    ConcurrentCommit,
    parse_concurrent_commit,
    read_concurrent_commits,
)
from tests.tables import FEATURE_PROTOCOL, Action, LogFolder, add, metadata, remove, vector

INFO: Action = {"commitInfo": {"operation": "MERGE", "userName": "ann", "timestamp": 5}}
FILES: list[Action] = [
    *(add(f"new-{n}", stats='{"numRecords":1}', dataChange=n % 2 == 0) for n in range(30)),
    *(remove(f"old-{n}") for n in range(25)),
    add("file:/t/marked", deletionVector=vector()),
    *(add(f"more-{n}") for n in range(30)),
    add("new-3"),  # a second time, which a conflict check takes as it is
]
OTHERS: list[Action] = [
    {"txn": {"appId": "app", "version": 3}},
    {"domainMetadata": {"domain": "mine", "configuration": "{}", "removed": False}},
    {"domainMetadata": {"domain": "delta.rowTracking", "configuration": 1}},
    {"cdc": {"path": "c", "partitionValues": {}, "size": 1, "dataChange": False}},
    {"novelty": {"add": 1}},
    {"add": None},
]


def _text(*actions: Any) -> bytes:
    return b"".join(orjson.dumps(action) + b"\n" for action in actions)


def _rows(found: ConcurrentCommit) -> list[Any]:
    return [table.to_pylist(maps_as_pydicts="strict") for table in (found.adds, found.removes)]


CASES = {
    "append": _text(INFO, *FILES[:30]),
    "rewrite": _text(INFO, *FILES),
    "in another order": _text(*FILES, *OTHERS, INFO),
    "protocol and metadata": _text(INFO, FEATURE_PROTOCOL, metadata(), *FILES),
    "files that are not at the beginning of their line": _text(INFO, *FILES[:4])
    + b' {"add":{"path":"spaced","partitionValues":{},"size":1,"modificationTime":1}}\n'
    + _text(*FILES[4:]),
    "two actions on one line": _text(
        INFO, *FILES[:4], {"txn": {"appId": "b", "version": 1}, **FILES[5]}
    ),
    "no file": _text(INFO, *OTHERS),
    "a field that nobody knows": _text(INFO, add("odd", novelty=1), *FILES),
}


@pytest.mark.parametrize("data", CASES.values(), ids=CASES)
def test_columns_tell_what_the_lines_do(data: bytes) -> None:
    by_lines = parse_concurrent_commit(5, data)
    by_columns = parse_concurrent_commit(5, data, read_line_columns(data))
    assert by_columns == by_lines
    assert dict(by_columns.known_domains) == dict(by_lines.known_domains)
    assert _rows(by_columns) == _rows(by_lines)
    assert (by_columns.added_paths, by_columns.removed_paths) == (
        by_lines.added_paths,
        by_lines.removed_paths,
    )
    adds, removes = _rows(by_lines)
    came = [row["path"] for row in adds if row["data_change"] is not False]
    assert (by_lines.added_paths.paths, by_lines.added_paths.total) == (
        tuple(came[:SHOWN]),
        len(came),
    )
    went = [row["path"] for row in removes]
    assert (by_lines.removed_paths.paths, by_lines.removed_paths.total) == (
        tuple(went[:SHOWN]),
        len(went),
    )


def test_usual_commits_are_read_into_columns() -> None:
    assert all(read_line_columns(CASES[name]) is not None for name in ("append", "rewrite"))


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    folder = LogFolder(tmp_path / "t")
    folder.commit(0, [FEATURE_PROTOCOL, metadata()])
    for version, actions in enumerate(([INFO, *FILES], [INFO], [INFO, *FILES[:5]]), start=1):
        folder.commit(version, actions)
    return folder


def _read(log: LogFolder, watch: Watch) -> list[ConcurrentCommit | int]:
    return list(read_concurrent_commits(open_read_store(str(log.root)), 1, watch))


@pytest.mark.parametrize("long_file", [0, sys.maxsize], ids=["each is long", "none is long"])
@pytest.mark.parametrize("large_file", [0, sys.maxsize], ids=["columns", "lines"])
def test_every_commit_is_read_in_order_and_told(
    log: LogFolder, monkeypatch: pytest.MonkeyPatch, large_file: int, long_file: int
) -> None:
    for name in ("LARGE_FILE", "ENOUGH"):
        monkeypatch.setattr(prefetched_columns, name, large_file)
    monkeypatch.setattr(winners, "_LONG_FILE", long_file)
    seen: list[Progress] = []
    found = _read(log, Watch(progress=seen.append))
    assert [one.version for one in found if isinstance(one, ConcurrentCommit)] == [1, 2, 3]
    counts = [
        (one.add_rows.num_rows, one.num_removes)
        for one in found
        if isinstance(one, ConcurrentCommit)
    ]
    assert counts == [(62, 25), (0, 0), (5, 0)]
    assert [done for done in range(3) if Progress(done=done, total=3, label=LABEL) in seen] == [
        0,
        1,
        2,
    ]


LABEL = "Reading the commits since"


def test_commit_that_is_gone_is_the_last_one(log: LogFolder) -> None:
    (log.log / f"{2:020}.json").unlink()
    first, gone = _read(log, Watch())
    assert isinstance(first, ConcurrentCommit)
    assert (first.version, gone) == (1, 2)


def test_one_long_commit_can_be_cancelled_while_its_lines_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(winners, "_TOLD_EVERY", 1)
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(CancelledError):
        parse_concurrent_commit(5, CASES["rewrite"], None, cancel.check)


def test_line_that_is_none_is_named_however_the_rest_is_read() -> None:
    data = _text(INFO, *FILES[:3]) + b'{"txn":\n' + _text(*FILES[3:])
    for columns in (None, read_line_columns(data)):
        with pytest.raises(CorruptLogError, match=r"00000000000000000005\.json:5"):
            parse_concurrent_commit(5, data, columns)


@pytest.mark.parametrize("kind", ["add", "remove"])
@pytest.mark.parametrize("path", [None, 7])
def test_file_without_a_path_is_told_with_its_line(kind: str, path: object) -> None:
    data = _text(INFO, *FILES[:3], {kind: {"path": path, "dataChange": True}})
    for columns in (None, read_line_columns(data)):
        with pytest.raises(CorruptLogError, match=rf"json:5.*`{kind}\.path` must be a string"):
            parse_concurrent_commit(5, data, columns)
