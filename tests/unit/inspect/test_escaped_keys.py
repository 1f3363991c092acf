"""A log whose keys are written with escapes says what it says without them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import explorer
import explorer.inspect as look
from explorer.table.times import utc_time
from tests.change_feeds import IDS, Feed, feed_metadata
from tests.data_tables import field, struct
from tests.json_escapes import escape_commits
from tests.tables import LogFolder, add, remove

START_MS = 1_700_000_000_000
NOW, BETWEEN = utc_time(START_MS + 10**9), utc_time(START_MS + 2500)
WIDER = struct(*IDS["fields"], field("name", "string"))
ALL_STRINGS, ACTION_ALONE = 0, 1


def protocol(*features: str, reader: tuple[str, ...] = ()) -> dict[str, Any]:
    body = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": [*reader]}
    return {"protocol": body | {"writerFeatures": [*features, *reader]}}


def info(operation: str, version: int) -> dict[str, Any]:
    body = {"operation": operation, "inCommitTimestamp": START_MS + version * 1000}
    return {"commitInfo": body | {"userName": "ana", "operationParameters": {"mode": "A\\u0041"}}}


def change(path: str) -> dict[str, Any]:
    return {"cdc": {"path": path, "partitionValues": {}, "size": 1, "dataChange": False}}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> LogFolder:
    """Six versions: a file comes, one takes its place with recorded changes, the schema gets
    wider, the protocol a feature, a file goes."""
    feed = Feed(tmp_path_factory.mktemp("plain") / "t")
    clock = {"delta.enableInCommitTimestamps": "true"}
    folder = feed.folder
    start = protocol("inCommitTimestamp", "changeDataFeed")
    folder.commit(0, [info("CREATE TABLE", 0), start, feed_metadata(configuration=clock)])
    feed.file("a", id=[0, 1])
    feed.file("b", id=[0])
    feed.file("_change_data/c", id=[1], _change_type=["delete"])
    feed.commit(info("WRITE", 1), add("a", stats=json.dumps({"numRecords": 2})))
    feed.commit(info("DELETE", 2), remove("a"), add("b"), change("_change_data/c"))
    feed.commit(info("ADD COLUMNS", 3), feed_metadata(WIDER, name="wider", configuration=clock))
    more = protocol("inCommitTimestamp", "changeDataFeed", "appendOnly")
    feed.commit(info("ADD FEATURE", 4), more)
    feed.commit(info("TRUNCATE", 5), remove("b"))
    for version in range(6):
        folder.time(version, START_MS + 10**8 + version)
    return folder


@pytest.fixture(scope="module", params=[ACTION_ALONE, ALL_STRINGS], ids=["actions", "all strings"])
def escaped(
    plain: LogFolder, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Path:
    """The same table, each line with escapes in its first key, or in all its strings."""
    root = tmp_path_factory.mktemp("escaped") / "t"
    shutil.copytree(plain.root, root)
    escape_commits(root / "_delta_log", request.param)
    assert b'"add"' not in b"".join(place.read_bytes() for place in (root / "_delta_log").iterdir())
    return root


def _versions(table: explorer.Table, what: Callable[[int], object]) -> list[object]:
    return [what(version) for version in range(table.latest_version() + 1)]


def _diff(table: explorer.Table) -> list[Any]:
    found = explorer.diff(table.snapshot(version=1), table.snapshot(version=4))
    files = found.files
    return [found.schema, files.added.to_pylist(), files.removed.to_pylist(), found.logged]


QUESTIONS: dict[str, Callable[[explorer.Table], Any]] = {
    "protocol": lambda table: _versions(table, table.protocol),
    "metadata": lambda table: _versions(table, table.metadata),
    "features": lambda table: look.features(table).to_pylist(),
    "changes": lambda table: explorer.read_changes(table, 0).to_pylist(),
    "change totals": lambda table: look.change_totals(table, 0).versions.to_pylist(),
    "row search": lambda table: look.search_rows(table, "id = 1").rows.to_pylist(),
    "history": lambda table: table.history().to_pylist(),
    "time": lambda table: table.snapshot().timestamp,
    "version at a time": lambda table: table.snapshot(timestamp=BETWEEN).version,
    "commit info": lambda table: _versions(table, lambda version: look.commit_info(table, version)),
    "timeline": lambda table: look.timeline(table).to_pylist(),
    "actions": lambda table: look.commit_actions(table, 2).drop(["json"]).to_pylist(),
    "reach by log": lambda table: look.reach_by_log(table, now=NOW).versions.to_pylist(),
    "reach by files": lambda table: look.reach_by_files(table, now=NOW).versions.to_pylist(),
    "conflicts": lambda table: look.check_conflicts(table, 1).frame.to_pylist(),
    "data file": lambda table: look.why_here(table, "a", now=NOW).evidence.to_pylist(),
    "change file": lambda table: look.why_here(
        table, "_change_data/c", now=NOW
    ).evidence.to_pylist(),
    "diff": _diff,
}


@pytest.mark.rule("log-newline-delimited-json")
@pytest.mark.parametrize("question", QUESTIONS)
def test_log_with_escapes_answers_as_without(
    plain: LogFolder, escaped: Path, question: str
) -> None:
    ask = QUESTIONS[question]
    wanted = ask(explorer.open_table(plain.root))
    assert wanted
    assert ask(explorer.open_table(escaped)) == wanted
