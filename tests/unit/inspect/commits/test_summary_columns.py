"""What many commits did, read into columns, is what their lines say one by one."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import explorer
import explorer.inspect as look
from explorer.errors import CancelledError
from explorer.inspect.commits import commit_timeline
from explorer.inspect.commits._commit_summary import LONGEST_TEXT, CommitSummary, parse_summary
from explorer.inspect.commits._summary_columns import SummaryReader
from explorer.progress import Cancel, Progress
from tests.tables import PROTOCOL, Action, LogFolder, add, metadata, remove, vector

_SPARK = {
    "timestamp": 1750000000000,
    "userName": "etl",
    "operation": "WRITE",
    "operationParameters": {"mode": "Append"},
    "operationMetrics": {"numFiles": "1", "numOutputRows": "1000"},
    "engineInfo": "Apache-Spark/4.2.0 Delta-Lake/4.4.0",
}
_STATS = '{"numRecords":7,"nullCount":{"id":0}}'
_MERGED = {"numTargetRowsInserted": 5, "numTargetRowsUpdated": "2", "numTargetRowsDeleted": "1"}


def _info(**others: Any) -> Action:
    return {"commitInfo": _SPARK | others}


def _metrics(operation: str, **metrics: Any) -> Action:
    return _info(operation=operation, operationMetrics=metrics)


def _where(predicate: Any) -> Action:
    return _info(operation="DELETE", operationParameters={"predicate": predicate})


TOLD: dict[str, Sequence[Action]] = {
    "an append": [_info(), add("a", stats=_STATS), add("b", stats=_STATS, size=2**46)],
    "nothing but provenance": [_info()],
    "files before it": [add("a", stats=_STATS), _info(), remove("b", size=5)],
    "rows by the writer": [_info(), add("a")],
    "rows by nobody": [_metrics("WRITE", numFiles="1"), add("a")],
    "rows by another writer": [_metrics("WRITE", num_added_rows=12), add("a")],
    "a count that is none": [_metrics("WRITE", numOutputRows="1e3"), add("a")],
    "a count below none": [_metrics("WRITE", numOutputRows=-3, num_added_rows=4), add("a")],
    "a count of other digits": [_metrics("WRITE", numOutputRows="\N{SUPERSCRIPT TWO}"), add("a")],
    "the longest count": [_metrics("WRITE", numOutputRows="9" * 18), add("a")],
    "a count that is too long": [_metrics("WRITE", numOutputRows="1" * 19), add("a")],
    "no change of data": [
        _info(operation="OPTIMIZE"),
        add("a", dataChange=False, stats=_STATS),
        add("b", dataChange=None, stats=_STATS),
        remove("c", dataChange=False, size=3),
        remove("d", size=4, stats=_STATS),
    ],
    "removes without sizes": [_info(operation="DELETE"), remove("a"), remove("b", size=3)],
    "deleted rows": [_metrics("DELETE", numDeletedRows="9"), add("b"), remove("a", size=3)],
    "deleted rows by another": [_metrics("DELETE", num_deleted_rows=9), remove("a", size=3)],
    "a delete of files": [_metrics("DELETE", numFiles="9"), remove("a", size=3, stats=_STATS)],
    "updated rows": [_metrics("UPDATE", numUpdatedRows="3"), add("b"), remove("a", size=3)],
    "merged rows": [_metrics("MERGE", **_MERGED), add("b", stats=_STATS), remove("a", size=3)],
    "merged rows by another": [
        _metrics("MERGE", num_target_rows_inserted=1, num_target_rows_updated=2,
                 num_target_rows_deleted=3),
        add("b", stats=_STATS),
    ],
    "a merge that does not say all": [
        _metrics("MERGE", numTargetRowsInserted=5, numTargetRowsUpdated="2"),
        add("b", stats=_STATS),
    ],
    "inserted rows are not said": [
        _metrics("MERGE", numTargetRowsDeleted=5, numTargetRowsUpdated="2"),
        add("b", stats=_STATS),
    ],
    "an operation in small letters": [_metrics("delete", numDeletedRows="9"), remove("a", size=3)],
    "no operation": [_info(operation=""), add("a", stats=_STATS)],
    "one that is none": [_info(operation=5), add("a", stats=_STATS)],
    "Databricks": [_info(userName=None, userId="77", engineInfo="", clientVersion="15.4")],
    "names that are empty": [_info(userName="", userId="")],
    "a message": [_info(userMetadata='it\'s a "message" \\ über\tall')],
    "a long message": [_info(userMetadata="ü" * (LONGEST_TEXT + 5))],
    "an empty message": [_info(userMetadata="")],
    "a condition": [_where("[\"(id#12L > 5)\"]"), remove("a", size=3)],
    "a long condition": [_where("[\"" + "(a = 1) AND " * 200 + "(b = 2)\"]")],
    "an empty condition": [_where("[]")],
    "a condition that is none": [_where(5)],
    "an in-commit timestamp": [_info(inCommitTimestamp=1_750_000_000_123)],
    "one before all": [_info(inCommitTimestamp=-5)],
    "statistics of other forms": [
        _info(),
        add("a", stats='{"nullCount":{},"numRecords":3}'),
        add("b", stats='{ "numRecords": 4 }'),
    ],
    "statistics that say nothing": [_info(), add("a", stats='{"numRecords":-1}')],
    "statistics cut off": [_info(), add("a", stats='{"numRecords":12')],
    "statistics that are broken": [_info(), add("a", stats='{"numRecords":12,"x":}')],
    "a path with escapes": [_info(), add('a "b" \\ über')],
}  # fmt: skip
"""Commits that are read into columns."""

LEFT: dict[str, Sequence[Action]] = {
    "no provenance": [add("a", stats=_STATS)],
    "two": [_info(), _info(userName="b"), add("a", stats=_STATS)],
    "the first version": [_info(), PROTOCOL, metadata(), add("a", stats=_STATS)],
    "change data": [_info(), {"cdc": {"path": "c", "size": 1, "dataChange": False}}],
    "a transaction": [_info(), {"txn": {"appId": "a", "version": 1}}, add("a", stats=_STATS)],
    "a file rewritten": [_info(), remove("a", size=3), add("a", size=3, stats=_STATS)],
    "a file twice": [_info(), add("a", size=3), add("a", size=4)],
    "a deletion vector": [_info(), add("a", stats=_STATS, deletionVector=vector())],
    "a negative size": [_info(), remove("a", size=-3)],
    "an add without size": [_info(), add("a", size=None)],
    "nested parameters": [_info(operationParameters={"a": {"b": 1}}), add("a")],
}
"""Commits that are left to be read line by line, and no others with them."""

REFUSED: dict[str, Sequence[Action]] = {
    "an unknown field": [_info(), add("a", unheard=1)],
    "a size that is a text": [_info(), add("a", size="3")],
    "a size beyond all": [_info(), add("a", size=2**63)],
    "a size that is too large to add up": [_info(), add("a", size=2**46 + 1)],
    "a count that is too large": [_info(), add("a", stats='{"numRecords":100000000000000}')],
    "values of partitions that are numbers": [_info(), add("a", partitionValues={"p": 1})],
    "no path": [_info(), {"add": {"size": 3}}],
}
"""Commits because of which those beside them are read line by line too."""


def _file(actions: Sequence[Action]) -> bytes:
    """As Spark writes it, without spaces."""
    lines = (json.dumps(action, ensure_ascii=False, separators=(",", ":")) for action in actions)
    return "".join(f"{line}\n" for line in lines).encode()


def _check(files: Sequence[bytes]) -> list[int]:
    """The places of the commits that were told, all of which say what their lines say."""
    told = SummaryReader().read(files)
    if told is None:
        return []
    columns = {name: column.to_pylist() for name, column in told.columns.items()}
    nothing = CommitSummary()
    for row, place in enumerate(told.places.tolist()):
        wanted = parse_summary(files[place], "name")
        found = CommitSummary(
            **{
                field.name: columns[field.name][row]
                if field.name in columns
                else getattr(nothing, field.name)
                for field in fields(CommitSummary)
            }
        )
        assert found == wanted
    return sorted(told.places.tolist())


@pytest.mark.parametrize("name", TOLD)
def test_commits_of_one_form_are_read_into_columns(name: str) -> None:
    assert _check([_file(TOLD[name])] * 20) == list(range(20))


@pytest.mark.parametrize("name", LEFT)
def test_a_commit_of_another_form_is_left_and_the_others_are_told(name: str) -> None:
    files = [_file(TOLD["an append"])] * 20
    files[3] = _file(LEFT[name])
    files[9] = b""
    assert _check(files) == [place for place in range(20) if place not in {3, 9}]
    assert _check([_file(LEFT[name])] * 20) == []


@pytest.mark.parametrize("name", REFUSED)
def test_what_may_mean_something_else_leaves_all(name: str) -> None:
    files = [_file(TOLD["an append"])] * 20
    files[3] = _file(REFUSED[name])
    assert _check(files) == []


def test_a_file_without_a_newline_at_its_end_is_the_same(tmp_path: Path) -> None:
    files = [_file(TOLD["an append"])] * 20
    files[3] = files[3].rstrip(b"\n")
    files[4] = files[4] + b"\n \n"
    assert _check(files) == list(range(20))


@pytest.mark.parametrize("seed", range(5))
def test_a_timeline_by_columns_is_the_one_by_lines(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    folder = _mixed_log(random, tmp_path / "table")
    by_lines = look.timeline(explorer.open_table(folder.root))
    monkeypatch.setattr(commit_timeline, "ENOUGH", 1)
    monkeypatch.setattr(commit_timeline, "_PIECE_COMMITS", random.choice([50, 170, 4096]))
    by_columns = look.timeline(explorer.open_table(folder.root))
    assert by_columns.schema == by_lines.schema
    assert by_columns.to_pylist() == by_lines.to_pylist()
    by_columns.validate(full=True)


def _mixed_log(random: Random, root: Path) -> LogFolder:
    """Runs of commits of all forms, some of them broken, large or gone."""
    folder = LogFolder(root)
    forms = [*TOLD.values(), *LEFT.values()]
    forms += [*REFUSED.values()] if random.random() < 0.5 else []
    version = 0
    for _ in range(14):
        some = random.sample(forms, 2)
        for _ in range(random.randrange(10, 60)):
            folder.write(f"{version:020}.json", _file(random.choice(some)))
            folder.time(version, 1_700_000_000_000 + version * 1000)
            version += 1
    large = [_info(), *(add(f"{number}", stats=_STATS) for number in range(1_000))]
    folder.commit(random.randrange(version), large)
    folder.write(f"{random.randrange(version):020}.json", b'{"add":{"pa')
    folder.write(f"{random.randrange(version):020}.json", b'{"commitInfo":{"userName":"\xff"}}')
    os.unlink(folder.log / f"{random.randrange(version):020}.json")
    folder.checkpoint(version - 5, [PROTOCOL, metadata()])
    return folder


def test_a_log_that_is_not_told_is_tried_for_a_while_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = LogFolder(tmp_path / "table")
    for version in range(100):
        folder.commit(version, REFUSED["an unknown field"])
    tried = []
    read = SummaryReader.read
    monkeypatch.setattr(
        SummaryReader, "read", lambda self, files: tried.append(len(files)) or read(self, files)
    )
    monkeypatch.setattr(commit_timeline, "ENOUGH", 1)
    monkeypatch.setattr(commit_timeline, "_PIECE_COMMITS", 10)
    frame = look.timeline(explorer.open_table(folder.root))
    assert frame["version"].to_pylist() == list(range(100))[::-1]
    assert len(tried) < 10


def test_reading_into_columns_tells_how_far_it_is_and_can_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = LogFolder(tmp_path / "table")
    for version in range(600):
        folder.commit(version, TOLD["an append"])
    monkeypatch.setattr(commit_timeline, "ENOUGH", 1)
    monkeypatch.setattr(commit_timeline, "_PIECE_COMMITS", 50)
    cancel, seen = Cancel(), list[Progress]()

    def report(progress: Progress) -> None:
        seen.append(progress)
        if progress.done >= 256:
            cancel.cancel()

    with pytest.raises(CancelledError):
        look.timeline(explorer.open_table(folder.root), progress=report, cancel=cancel)
    assert [(progress.done, progress.total) for progress in seen] == [(0, 600), (256, 600)]


def test_nothing_is_read_into_columns_of_few_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = LogFolder(tmp_path / "table")
    folder.commit(0, TOLD["an append"])
    monkeypatch.setattr(SummaryReader, "read", None)
    assert isinstance(look.timeline(explorer.open_table(folder.root)), pa.Table)
