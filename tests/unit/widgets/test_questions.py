"""The questions of docs/questions.md, each on a table that was built to have its problem and on
an innocent twin, which differs by nothing else: the sentence of the view tells them apart."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.protocol.vectors.deletion_vectors import build_inline_descriptor, render_descriptor
from tests.tables import FEATURE_PROTOCOL, PROTOCOL, Action, LogFolder, add, metadata, remove
from tests.unit.widgets.orders import days_ago
from tests.unit.widgets.page.test_explorer_view import Page

Build = Callable[[LogFolder], None]
CLUSTERED = [(0, 9), (10, 19), (20, 29), (30, 39)]
SCATTERED = [(0, 39)] * 4


@dataclass(frozen=True, kw_only=True)
class Case:
    """Both tables are built by the same steps; `said` is in the answer about the problem alone,
    `denied`, where there is one, about its twin."""

    question: int
    view: str
    problem: Build
    innocent: Build
    said: str
    denied: str = ""
    where: dict[str, Any] = field(default_factory=dict)
    then: tuple[tuple[str, str], ...] = ()


def file(log: LogFolder, path: str, days: float = 40, size: int = 100, **fields: Any) -> Action:
    """A file of that age, and its `add`."""
    place = log.root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(b"x" * size)
    os.utime(place, (days_ago(days) / 1000,) * 2)
    return add(path, modificationTime=days_ago(days), size=size, **fields)


def commit(log: LogFolder, version: int, *actions: Action, days: float = 1) -> None:
    log.commit(version, actions)
    log.time(version, days_ago(days))


def sized(rows: int, least: int = 0, most: int = 9) -> str:
    bounds = {"minValues": {"id": least}, "maxValues": {"id": most}, "nullCount": {"id": 0}}
    return json.dumps({"numRecords": rows, **bounds})


def removed(days: float) -> Build:
    """A file that left the table so long ago."""

    def build(log: LogFolder) -> None:
        commit(log, 0, PROTOCOL, metadata(), file(log, "a"), file(log, "b"), days=40)
        commit(log, 1, remove("a", deletionTimestamp=days_ago(days), size=100), days=days)

    return build


def with_files(*ranges: tuple[int, int], size: int = 100, **meta: Any) -> Build:
    """A file for each range of ids."""

    def build(log: LogFolder) -> None:
        adds = [
            file(log, f"{at}", stats=sized(10, *ends), size=size) for at, ends in enumerate(ranges)
        ]
        commit(log, 0, PROTOCOL, metadata(**meta), *adds)

    return build


def with_orphan(name: str | None) -> Build:
    def build(log: LogFolder) -> None:
        with_files((0, 9))(log)
        if name is not None:
            file(log, name)

    return build


def without(*gone: str) -> Build:
    """Three versions, some of whose files are not there."""

    def build(log: LogFolder) -> None:
        commit(log, 0, PROTOCOL, metadata(), file(log, "a"), days=3)
        commit(log, 1, file(log, "b"), days=2)
        commit(log, 2, file(log, "c"), days=1)
        for name in gone:
            (log.root / name).unlink()

    return build


def with_log_after(edit: Callable[[LogFolder], None]) -> Build:
    """Four versions, and what happened to their log afterwards."""

    def build(log: LogFolder) -> None:
        commit(log, 0, PROTOCOL, metadata(), file(log, "a"), days=5)
        for version in range(1, 4):
            commit(log, version, file(log, str(version)), days=5 - version)
        edit(log)

    return build


def nothing(_: LogFolder) -> None:
    """The log stays as it is."""


def lose(version: int) -> Callable[[LogFolder], None]:
    return lambda log: (log.log / f"{version:020}.json").unlink()


def long_log(commits: int) -> Build:
    def build(log: LogFolder) -> None:
        commit(log, 0, PROTOCOL, metadata())
        for version in range(1, commits):
            commit(log, version, add(f"{version}"))

    return build


def with_protocol(protocol: Action, **properties: str) -> Build:
    def build(log: LogFolder) -> None:
        commit(log, 0, protocol, metadata(configuration=properties), file(log, "a"))

    return build


def hiding(*positions: int) -> Build:
    def build(log: LogFolder) -> None:
        vector = {}
        if positions:
            described = render_descriptor(build_inline_descriptor(positions))
            vector = {"deletionVector": described}
        data = file(log, "a", stats=sized(10), **vector)
        commit(log, 0, FEATURE_PROTOCOL, metadata(), data)

    return build


def optimized(after: int) -> Build:
    """Twenty files rewritten into so many."""

    def build(log: LogFolder) -> None:
        old = [file(log, f"{at}", stats=sized(10)) for at in range(20)]
        commit(log, 0, PROTOCOL, metadata(), *old)
        new = [
            file(log, f"n{at}", size=2000 // after, stats=sized(200 // after), dataChange=False)
            for at in range(after)
        ]
        gone = [
            remove(f"{at}", deletionTimestamp=days_ago(1), size=100, dataChange=False)
            for at in range(20)
        ]
        info = {"commitInfo": {"operation": "OPTIMIZE"}}
        commit(log, 1, info, *new, *gone)

    return build


def written_by(info: dict[str, Any]) -> Build:
    def build(log: LogFolder) -> None:
        commit(log, 0, PROTOCOL, metadata(), file(log, "a"))
        commit(log, 1, {"commitInfo": info}, file(log, "b"))

    return build


def with_rows(*, deleted: bool) -> Build:
    def build(log: LogFolder) -> None:
        for name, ids in (("a", [1, 7]), ("b", [3])):
            pq.write_table(pa.table({"id": ids, "part": ["x"] * len(ids)}), log.root / name)
        commit(log, 0, PROTOCOL, metadata(), add("a"), add("b"))
        gone = "a" if deleted else "b"
        commit(log, 1, remove(gone, size=100, partitionValues={}))

    return build


def with_column(*, stored: bool) -> Build:
    """An older file lacks a column, or stores nothing but nulls in it."""

    def build(log: LogFolder) -> None:
        older = {"part": pa.nulls(1, pa.string())} if stored else {}
        pq.write_table(pa.table({"id": [1], **older}), log.root / "a")
        pq.write_table(pa.table({"id": [2], "part": ["x"]}), log.root / "b")
        commit(log, 0, PROTOCOL, metadata(), add("a"), add("b"))

    return build


def covered(days: float) -> Build:
    """Thirty commits of that age, all of them covered by a checkpoint."""

    def build(log: LogFolder) -> None:
        for version in range(30):
            first = [PROTOCOL, metadata()] if version == 0 else []
            commit(log, version, *first, add(str(version)), days=days - version / 10)
        log.checkpoint(29, [PROTOCOL, metadata(), *(add(str(version)) for version in range(30))])
        log.hint(29, size=32)

    return build


def feed(*, enabled: bool) -> Build:
    def build(log: LogFolder) -> None:
        properties = {"delta.enableChangeDataFeed": "true"} if enabled else {}
        commit(log, 0, PROTOCOL, metadata(configuration=properties), file(log, "a"))

    return build


def changed(settings: dict[str, str]) -> Build:
    def build(log: LogFolder) -> None:
        commit(log, 0, PROTOCOL, metadata(configuration={"a": "1"}), file(log, "a"))
        commit(log, 1, metadata(configuration={"a": "1"} | settings), file(log, "b"))

    return build


ROW_IDS: Action = {
    "protocol": {
        "minReaderVersion": 1,
        "minWriterVersion": 7,
        "writerFeatures": ["rowTracking", "domainMetadata"],
    }
}

CASES = (
    Case(question=1, view="reach", where={"file": "a"}, problem=removed(2), innocent=removed(30),
         said="and it may be deleted from", denied="the next vacuum deletes it"),
    Case(question=2, view="reach", then=(("folder", ""),), problem=removed(30),
         innocent=removed(2), said="that the next vacuum may delete",
         denied="kept for earlier versions"),
    Case(question=3, view="reach", then=(("files", ""),), problem=without("a"),
         innocent=without(), said="(data gone) cannot be read", denied="Every version can be read"),
    Case(question=4, view="reach",
         problem=with_files((0, 9), configuration={
             "delta.deletedFileRetentionDuration": "interval 60 days"}),
         innocent=with_files((0, 9)), said="interval 60 days", denied="interval 1 week"),
    Case(question=5, view="health", problem=covered(60), innocent=covered(5),
         said="29 files of the log (3.7 KiB) are past their retention",
         denied="nothing is wrong"),
    Case(question=6, view="health", problem=long_log(120), innocent=long_log(20),
         said="reads 120 commits one by one", denied="The log is sound"),
    Case(question=7, view="health", innocent=with_log_after(nothing),
         problem=with_log_after(lambda log: (log.log / "_last_checkpoint").write_text("{")),
         said="repair hint", denied="The log is sound"),
    Case(question=8, view="health", problem=with_log_after(lose(0)),
         innocent=with_log_after(nothing), said="dx-tone-gone", denied="The log is sound"),
    Case(question=9, view="health", then=(("files", ""),), problem=without("b"),
         innocent=without(), said="1 live data file is gone",
         denied="and every file is there"),
    Case(question=10, view="engines", problem=with_protocol(FEATURE_PROTOCOL),
         innocent=with_protocol(PROTOCOL), said="deletionVectors",
         denied="no reader is known to be stopped"),
    Case(question=11, view="protocol", problem=with_protocol(FEATURE_PROTOCOL),
         innocent=with_protocol(PROTOCOL), said="3 named features",
         denied="Readers need version 1, writers version 2."),
    Case(question=12, view="vectors", problem=hiding(2, 5), innocent=hiding(),
         said="has a deletion vector: 2 rows", denied="every row in its files is live"),
    Case(question=13, view="layout", problem=with_files(*[(0, 9)] * 30),
         innocent=with_files((0, 9)), said="OPTIMIZE saves 29 files"),
    Case(question=14, view="reach", then=(("folder", ""),), problem=with_orphan("x.parquet"),
         innocent=with_orphan(None), said="100 B orphaned", denied="Delta manages every file here"),
    Case(question=15, view="conflicts", where={"version": 0}, problem=removed(2),
         innocent=written_by({"operation": "WRITE", "isBlindAppend": True}),
         said="concurrent delete-read", denied="concurrent append"),
    Case(question=16, view="timeline", said="ann of sales",
         problem=written_by({"operation": "DELETE", "userName": "ann of sales"}),
         innocent=written_by({"operation": "DELETE"})),
    Case(question=17, view="compare", where={"version": 1, "older": 0},
         problem=changed({"delta.appendOnly": "true"}), innocent=changed({}),
         said="the properties differ"),
    Case(question=18, view="rows", where={"where": "id = 7"}, then=(("search", ""),),
         problem=with_rows(deleted=True), innocent=with_rows(deleted=False),
         said="version 1 deleted 1 row"),
    Case(question=19, view="schema", then=(("footers", ""),),
         problem=with_column(stored=False), innocent=with_column(stored=True),
         said="part is missing in 1: their rows show NULL there",
         denied="what is NULL there was stored as NULL"),
    Case(question=20, view="statistics", where={"where": "id = 12"},
         problem=with_files(*SCATTERED), innocent=with_files(*CLUSTERED),
         said="All 4 files have to be read: the statistics rule none out",
         denied="1 of 4 files has to be read"),
    Case(question=21, view="health", problem=with_log_after(lose(2)),
         innocent=with_log_after(nothing), said="dx-tone-gone", denied="The log is sound"),
    Case(question=22, view="protocol", problem=with_protocol(ROW_IDS),
         innocent=with_protocol(ROW_IDS, **{"delta.enableRowTracking": "true"}),
         said="supported, not active"),
    Case(question=23, view="feed", problem=feed(enabled=False), innocent=feed(enabled=True),
         said="delta.enableChangeDataFeed"),
    Case(question=24, view="layout", problem=optimized(20), innocent=optimized(1),
         said="no fewer files", denied="19 fewer files"),
    Case(question=25, view="reach", then=(("folder", ""),),
         problem=with_orphan("metadata/v1.metadata.json"), innocent=with_orphan(None),
         said="Iceberg metadata", denied="Delta manages every file here"),
)  # fmt: skip


def answer(case: Case, build: Build, folder: Path) -> str:
    log = LogFolder(folder / "orders")
    build(log)
    page = Page().open(log.root, view=case.view, **case.where)
    for action, value in case.then:
        page.do(action, value)
    return html.unescape(page.html)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"question-{case.question}")
def test_problem_is_told_apart_from_its_innocent_twin(tmp_path: Path, case: Case) -> None:
    problem = answer(case, case.problem, tmp_path / "one")
    innocent = answer(case, case.innocent, tmp_path / "two")
    assert case.said in problem
    assert case.said not in innocent
    assert case.denied not in problem or not case.denied
    assert case.denied in innocent


def test_every_question_has_its_problem_and_its_twin() -> None:
    assert [case.question for case in CASES] == list(range(1, 26))
