"""The timeline, and single commits."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import explorer
import explorer.inspect as look
from explorer.errors import CancelledError, NotFoundError, StorageError
from explorer.log.commits import timed_listing
from explorer.progress import Cancel, Progress
from explorer.storage.local import LocalStore
from explorer.storage.ports import ObjectInfo
from explorer.table.table import Table
from tests.tables import PROTOCOL, LogFolder, add, metadata, remove

START = 1_700_000_000_000

ICT_FEATURE = "inCommitTimestamp"


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    folder = LogFolder(tmp_path / "table")
    folder.commit(0, [PROTOCOL, metadata(), add("a", size=5)])
    folder.commit(1, [{"commitInfo": {"operation": "WRITE"}}, add("b", size=7)])
    folder.commit(2, [remove("a", size=5)])
    for version in range(3):
        folder.time(version, START + version * 1000)
    return folder


def timeline_of(folder: LogFolder, **window: int) -> pa.Table:
    return look.timeline(explorer.open_table(folder.root), **window)


def column(frame: pa.Table, name: str) -> list[object]:
    values = frame.column(name)
    return values.cast("int64").to_pylist() if name == "timestamp" else values.to_pylist()


def test_timeline_has_one_row_per_commit_newest_first(folder: LogFolder) -> None:
    frame = timeline_of(folder)
    assert column(frame, "version") == [2, 1, 0]
    assert column(frame, "bytes_added") == [0, 7, 5]
    assert column(frame, "has_metadata") == [False, False, True]
    assert column(frame, "log_file")[0] == "00000000000000000002.json"


def test_timeline_of_a_window_reads_only_its_versions(folder: LogFolder) -> None:
    folder.write("00000000000000000000.json", b"\xff")
    frame = timeline_of(folder, first=1, last=1)
    assert column(frame, "version") == [1]
    assert column(frame, "problem") == [None]


def test_timeline_shows_a_broken_commit_among_the_others(folder: LogFolder) -> None:
    folder.write("00000000000000000001.json", b'{"add":{"pa')
    frame = timeline_of(folder)
    problems = column(frame, "problem")
    assert problems[0] is None
    assert "00000000000000000001.json:1" in str(problems[1])
    assert column(frame, "files_added") == [0, None, 1]


class RefusingStore(LocalStore):
    """A folder in which one file may not be read."""

    def read(self, path: str, limit: int | None = None) -> bytes:
        if path.endswith("1.json"):
            raise StorageError("It may not be read.", reason="Refused.", remedy="Ask.")
        return super().read(path, limit)


def test_timeline_shows_a_commit_that_the_store_refuses(folder: LogFolder) -> None:
    frame = look.timeline(explorer.Table(RefusingStore(str(folder.root))))
    assert column(frame, "problem") == [None, "It may not be read. Refused.", None]
    assert column(frame, "files_added") == [0, None, 1]


def test_timeline_marks_checkpoints(folder: LogFolder) -> None:
    folder.checkpoint(1, [PROTOCOL, metadata(), add("a"), add("b")])
    assert column(timeline_of(folder), "is_checkpoint") == [False, True, False]


def test_timeline_times_are_monotonic_over_the_whole_log(folder: LogFolder) -> None:
    folder.time(0, START + 9000)
    assert column(timeline_of(folder), "timestamp") == [START + 9002, START + 9001, START + 9000]
    assert column(timeline_of(folder, first=2), "timestamp") == [START + 9002]


def test_timeline_prefers_in_commit_timestamps_from_where_they_are_enabled(
    folder: LogFolder,
) -> None:
    info = {"commitInfo": {"inCommitTimestamp": 42}}
    folder.commit(3, [info])
    folder.time(3, START + 3000)
    assert column(timeline_of(folder, first=3), "timestamp") == [START + 3000]
    feature = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": [ICT_FEATURE]}
    enabled = {
        "delta.enableInCommitTimestamps": "true",
        "delta.inCommitTimestampEnablementVersion": "4",
        "delta.inCommitTimestampEnablementTimestamp": "42",
    }
    folder.commit(4, [info, {"protocol": feature}, metadata(configuration=enabled)])
    assert column(timeline_of(folder, first=3), "timestamp") == [42, START + 3000]
    record = look.commit_info(explorer.open_table(folder.root), 3)
    assert record["timestamp"].timestamp() * 1000 == START + 3000
    assert look.commit_info(explorer.open_table(folder.root), 4)["timestamp"].microsecond == 42_000


def test_few_long_commits_are_told_one_by_one(folder: LogFolder) -> None:
    long = {"commitInfo": {"operation": "WRITE", "note": "x" * 2**22}}
    for version in (3, 4):
        folder.commit(version, [long])
    seen: list[Progress] = []
    look.timeline(explorer.open_table(folder.root), progress=seen.append)
    assert [step.done for step in seen] == [0, 1, 2]


def test_timeline_reports_progress_and_can_be_cancelled(folder: LogFolder) -> None:
    table = explorer.open_table(folder.root)
    seen: list[Progress] = []
    look.timeline(table, progress=seen.append)
    assert (seen[0].done, seen[0].total) == (0, 3)
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(CancelledError):
        look.timeline(table, cancel=cancel)


def test_timeline_and_history_agree_on_versions_and_times(corpus: Path) -> None:
    for name in ("spark44-cdf-all-operations", "deltars-cdc_ict_table", "deltars-errlog-table_b"):
        table = explorer.open_table(corpus / "tables" / name)
        frame, history = look.timeline(table), look.history(table)
        for shared in ("version", "timestamp", "operation", "engine_info", "is_checkpoint"):
            assert frame.column(shared) == history.column(shared), (name, shared)


def test_timeline_of_a_real_table_counts_what_its_writer_recorded(corpus: Path) -> None:
    table = explorer.open_table(corpus / "tables" / "spark44-cdf-all-operations")
    rows = {
        row["version"]: row
        for row in look.timeline(table)
        .select(
            ["version", "operation", "files_added", "files_removed", "rows_added", "rows_removed"]
        )
        .to_pylist()
    }
    assert rows[1] == {
        "version": 1,
        "operation": "WRITE",
        "files_added": 4,
        "files_removed": 0,
        "rows_added": 40,
        "rows_removed": 0,
    }
    assert (rows[3]["operation"], rows[3]["rows_removed"]) == ("DELETE", 4)
    assert (rows[6]["operation"], rows[6]["rows_added"], rows[6]["rows_removed"]) == (
        "OPTIMIZE",
        0,
        0,
    )
    assert rows[7]["rows_removed"] is None


def test_commit_actions_give_each_line_with_its_number(folder: LogFolder) -> None:
    folder.write(
        "00000000000000000003.json",
        '{"commitInfo":{"operation":"X"}}\n\n{"txn":{"appId":"app","version":4}}\nnot json\n'
        '{"add":{"path":"c","size":3,"dataChange":false,"stats":"{\\"numRecords\\":2}"}}',
    )
    frame = look.commit_actions(explorer.open_table(folder.root), 3)
    assert column(frame, "line") == [1, 3, 4, 5]
    assert column(frame, "action") == ["commitInfo", "txn", "unreadable", "add"]
    assert column(frame, "summary")[:2] == ["X", "app at 4"]
    assert column(frame, "path") == [None, None, None, "c"]
    assert column(frame, "num_records") == [None, None, None, 2]
    assert column(frame, "data_change") == [None, None, None, False]
    assert column(frame, "json")[2] == "not json"
    assert set(column(frame, "file")) == {"00000000000000000003.json"}


def test_commit_actions_cut_a_long_line(folder: LogFolder) -> None:
    folder.commit(3, [add("x" * 100_000)])
    frame = look.commit_actions(explorer.open_table(folder.root), 3)
    assert len(str(column(frame, "json")[0])) == 16 * 1024


@pytest.mark.parametrize("ask", [look.commit_actions, look.commit_info])
def test_a_commit_that_is_not_there_is_a_version_not_found(folder: LogFolder, ask: object) -> None:
    assert callable(ask)
    with pytest.raises(NotFoundError) as caught:
        ask(explorer.open_table(folder.root), 9)
    assert caught.value.kind == "version_not_found"


def test_commit_info_names_its_file_and_line(folder: LogFolder) -> None:
    body = {
        "operation": "WRITE",
        "operationParameters": {"mode": "Append", "nested": {"a": 1}},
        "operationMetrics": {"numFiles": 3},
        "isBlindAppend": True,
        "readVersion": True,
        "txnId": "t",
    }
    folder.commit(3, [add("c"), {"commitInfo": body}])
    found = look.commit_info(explorer.open_table(folder.root), 3)
    assert (found["log_file"], found["line"]) == ("00000000000000000003.json", 2)
    assert found["parameters"] == {"mode": "Append", "nested": '{"a":1}'}
    assert found["metrics"] == {"numFiles": "3"}
    assert (found["is_blind_append"], found["read_version"], found["txn_id"]) == (True, None, "t")
    assert found["raw"] == body


def test_a_commit_without_commit_info_has_none(folder: LogFolder) -> None:
    found = look.commit_info(explorer.open_table(folder.root), 2)
    assert (found["line"], found["operation"], found["parameters"]) == (None, None, {})
    assert found["timestamp"].timestamp() * 1000 == START + 2000


class _Listed(LocalStore):
    """A store that counts how often folders are listed with their times."""

    times = 0

    def list_folder(self, folder: str) -> list[ObjectInfo]:
        self.times += 1
        return super().list_folder(folder)


def test_a_long_log_is_listed_once_for_the_times_of_its_commits(
    folder: LogFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timed_listing, "_LONG", 3)
    folder.time(2, START - 5_000)  # a clock that went back: made monotonic over all before it
    store = _Listed(str(folder.root))
    table = Table(store)
    for version, time in ((2, START + 1001), (0, START), (1, START + 1000), (2, START + 1001)):
        assert look.commit_info(table, version)["timestamp"].timestamp() * 1000 == time
    assert store.times == 1
    folder.commit(3, [add("c")])
    folder.time(3, START + 9_000)
    assert look.commit_info(table, 3)["timestamp"].timestamp() * 1000 == START + 9_000
    # a commit file of another time: the table was made anew
    folder.time(3, START + 8_000)
    assert look.commit_info(table, 3)["timestamp"].timestamp() * 1000 == START + 8_000


def test_a_history_read_part_by_part_lists_the_log_once(folder: LogFolder) -> None:
    store = _Listed(str(folder.root))
    table = Table(store)
    listed = table.listed_times.list_log(store)
    parts = [look.timeline(table, first=at, last=at, listed=listed) for at in (2, 1, 0)]
    assert store.times == 1
    assert pa.concat_tables(parts).to_pylist() == look.timeline(table).to_pylist()
