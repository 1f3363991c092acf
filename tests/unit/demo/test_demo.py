"""The demo table: what its story holds, and that the files tell the same story as the log."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import orjson
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.demo._shop_history import STORY
from explorer.demo.write import write_demo
from explorer.errors import CancelledError, InvalidArgumentError
from explorer.maintenance import plan_restore
from explorer.progress import Cancel, Progress
from explorer.protocol.commit_json import render_milliseconds
from explorer.protocol.last_checkpoint import parse_last_checkpoint
from explorer.protocol.vectors.deletion_vectors import (
    parse_descriptor,
    parse_file_path,
    parse_inline_vector,
)
from tests.demo_story import NOW, read_commit, write_default
from tests.stored_vectors import read_stored

DAY_MS = 24 * 3600 * 1000
NOW_MS = render_milliseconds(NOW)
LATEST = len(STORY) - 1
VERSIONS = range(len(STORY))


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_default(tmp_path_factory.mktemp("demo") / "orders")


@pytest.fixture(scope="module")
def commits(demo: Path) -> list[list[dict]]:
    return [read_commit(demo, version) for version in VERSIONS]


def actions(commits: list[list[dict]], kind: str) -> list[tuple[int, dict]]:
    return [(v, line[kind]) for v, lines in enumerate(commits) for line in lines if kind in line]


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in files
    }


def missing_files(demo: Path, version: int) -> set[str]:
    """The data and deletion vector files that a version needs and that are gone."""
    table = explorer.open_table(demo).snapshot(version=version).files()
    needed = set(table["path"].to_pylist())
    for body in table["deletion_vector"].to_pylist():
        if body is not None and (path := parse_file_path(descriptor_of(body))) is not None:
            needed.add(path)
    return {path for path in needed if missing(demo, path)}


def missing(demo: Path, path: str) -> bool:
    return not (demo / path).is_file()


def descriptor_of(body: dict):
    names = ("storageType", "pathOrInlineDv", "offset", "sizeInBytes", "cardinality")
    return parse_descriptor(dict(zip(names, body.values(), strict=True)), "the state")


def test_demo_has_at_least_sixty_versions(demo: Path) -> None:
    assert explorer.open_table(demo).latest_version() == LATEST >= 60


def test_demo_tells_of_every_kind_of_operation(commits: list[list[dict]]) -> None:
    operations = {info["operation"] for _, info in actions(commits, "commitInfo")}
    assert operations >= {
        "ADD COLUMNS",
        "CREATE TABLE",
        "DELETE",
        "MERGE",
        "OPTIMIZE",
        "RENAME COLUMN",
        "SET TBLPROPERTIES",
        "STREAMING UPDATE",
        "UPDATE",
        "VACUUM END",
        "VACUUM START",
        "WRITE",
    }


def test_demo_was_written_by_several_engines_and_users(commits: list[list[dict]]) -> None:
    infos = [info for _, info in actions(commits, "commitInfo")]
    assert len({info["engineInfo"].partition("/")[0] for info in infos}) >= 4
    assert len({info["userName"] for info in infos}) >= 4


def test_every_commit_says_who_did_what(commits: list[list[dict]]) -> None:
    for version, info in actions(commits, "commitInfo"):
        assert {"operationParameters", "operationMetrics", "txnId", "isolationLevel"} <= set(info)
        assert info.get("readVersion") == (version - 1 if version else None)
        assert all(isinstance(value, str) for value in info["operationMetrics"].values())


@pytest.mark.rule("newer-commit-timestamp-first-action", "newer-commit-timestamp-monotonic")
def test_in_commit_timestamps_start_at_version_0_and_only_grow(commits: list[list[dict]]) -> None:
    first = [next(iter(lines[0])) for lines in commits]
    assert set(first) == {"commitInfo"}
    times = [info["inCommitTimestamp"] for _, info in actions(commits, "commitInfo")]
    assert times == sorted(set(times))
    assert NOW_MS - 46 * DAY_MS < times[0] < NOW_MS - 44 * DAY_MS
    assert NOW_MS - DAY_MS < times[-1] < NOW_MS
    protocol, metadata = actions(commits, "protocol")[0], actions(commits, "metaData")[0]
    assert (protocol[0], metadata[0]) == (0, 0)
    assert "inCommitTimestamp" in protocol[1]["writerFeatures"]
    assert metadata[1]["configuration"]["delta.enableInCommitTimestamps"] == "true"


@pytest.mark.rule("file-add-modificationtime")
def test_file_times_are_those_of_the_log(demo: Path, commits: list[list[dict]]) -> None:
    for version, info in actions(commits, "commitInfo"):
        commit = demo / "_delta_log" / f"{version:020}.json"
        assert commit.stat().st_mtime_ns == info["inCommitTimestamp"] * 1_000_000
    for version, add in actions(commits, "add"):
        if (demo / add["path"]).exists():
            assert (demo / add["path"]).stat().st_mtime_ns == add["modificationTime"] * 1_000_000
            assert add["modificationTime"] < commits[version][0]["commitInfo"]["timestamp"]
    newest = max(path.stat().st_mtime_ns for path in demo.rglob("*") if path.is_file())
    assert newest < NOW_MS * 1_000_000


@pytest.mark.slow
@pytest.mark.rule("file-tombstone-expiry", "log-vacuum-retention-default")
def test_exactly_one_early_version_cannot_be_read(demo: Path, commits: list[list[dict]]) -> None:
    broken = {v: gone for v in VERSIONS if (gone := missing_files(demo, v))}
    assert len(broken) == 1
    (version, gone), *_ = broken.items()
    assert version < 10
    start, end = (
        next(
            (v, i) for v, i in actions(commits, "commitInfo") if i["operation"] == f"VACUUM {word}"
        )
        for word in ("START", "END")
    )
    removed = {body["path"]: body for _, body in actions(commits, "remove")}
    deadline = start[1]["timestamp"] - 7 * DAY_MS
    expired = {path for path, body in removed.items() if body["deletionTimestamp"] < deadline}
    assert gone == expired
    metrics = start[1]["operationMetrics"]
    assert (
        metrics["numFilesToDelete"]
        == str(len(gone))
        == end[1]["operationMetrics"]["numDeletedFiles"]
    )
    assert metrics["sizeOfDataToDelete"] == str(sum(removed[path]["size"] for path in gone))
    assert end[0] == start[0] + 1


def test_vacuum_and_log_cleanup_have_something_to_show(
    demo: Path, commits: list[list[dict]]
) -> None:
    live = set(explorer.open_table(demo).snapshot().files(columns=["path"])["path"].to_pylist())
    old = [
        body
        for _, body in actions(commits, "remove")
        if body["deletionTimestamp"] < NOW_MS - 7 * DAY_MS and body["path"] not in live
    ]
    assert sum((demo / body["path"]).is_file() for body in old) > 50
    cutoff = NOW_MS - 31 * DAY_MS
    before = [v for v, i in actions(commits, "commitInfo") if i["timestamp"] < cutoff]
    checkpoint = demo / "_delta_log" / f"{10:020}.checkpoint.parquet"
    assert before[-1] >= 10
    assert checkpoint.is_file()


def test_one_file_on_disk_was_never_committed(demo: Path, commits: list[list[dict]]) -> None:
    known = {body["path"] for kind in ("add", "cdc") for _, body in actions(commits, kind)}
    on_disk = {str(path.relative_to(demo)) for path in demo.rglob("*.parquet")}
    strays = {path for path in on_disk - known if not path.startswith("_delta_log/")}
    assert len(strays) == 1
    assert (demo / strays.pop()).stat().st_mtime < (NOW - timedelta(days=7)).timestamp()


@pytest.mark.rule("feature-reader-in-both-lists")
def test_features_come_with_the_operations_that_need_them(commits: list[list[dict]]) -> None:
    protocols = actions(commits, "protocol")
    since = {
        feature: min(v for v, body in protocols if feature in body["writerFeatures"])
        for feature in ("changeDataFeed", "deletionVectors", "columnMapping")
    }
    assert min(v for v, _ in actions(commits, "cdc")) > since["changeDataFeed"]
    vectors = [v for v, body in actions(commits, "add") if "deletionVector" in body]
    assert min(vectors) > since["deletionVectors"]
    renames = [v for v, i in actions(commits, "commitInfo") if i["operation"] == "RENAME COLUMN"]
    assert min(renames) > since["columnMapping"]
    last = protocols[-1][1]
    assert (last["minReaderVersion"], last["minWriterVersion"]) == (3, 7)
    assert set(last["readerFeatures"]) <= set(last["writerFeatures"])


@pytest.mark.rule("metadata-format-parquet-only", "metadata-format")
def test_every_metadata_names_parquet_without_options(commits: list[list[dict]]) -> None:
    formats = [body["format"] for _, body in actions(commits, "metaData")]
    assert len(formats) > 1
    assert all(found == {"provider": "parquet", "options": {}} for found in formats)


@pytest.mark.rule("mapping-new-column-guid", "mapping-physical-static")
def test_renamed_and_late_columns_keep_their_physical_names(demo: Path) -> None:
    schema = explorer.open_table(demo).snapshot().schema
    physical = {
        column.name: column.metadata["delta.columnMapping.physicalName"] for column in schema.fields
    }
    assert physical["unit_price"] == "price"
    assert physical["channel"] == "channel"
    assert physical["gift_note"].startswith("col-")


@pytest.mark.rule("mapping-write-field-id")
def test_files_carry_field_ids_once_columns_are_mapped(
    demo: Path, commits: list[list[dict]]
) -> None:
    mapped = next(v for v, body in actions(commits, "protocol") if "columnMapping" in str(body))
    seen = set()
    for version, add in actions(commits, "add"):
        if version != mapped and not missing(demo, add["path"]) and "deletionVector" not in add:
            metadata = pq.read_schema(demo / add["path"]).field("order_id").metadata or {}
            assert (metadata.get(b"PARQUET:field_id") == b"1") == (version > mapped)
            seen.add(version > mapped)
    assert seen == {True, False}


@pytest.mark.rule("dv-absolutepath-not-i", "dv-add-needs-numrecords", "stats-dv-numrecords")
def test_deletion_vectors_fit_their_descriptors(demo: Path, commits: list[list[dict]]) -> None:
    kinds = set()
    for _, add in actions(commits, "add"):
        if "deletionVector" not in add:
            continue
        descriptor = parse_descriptor(add["deletionVector"], "a commit")
        path = parse_file_path(descriptor)
        if path is None:
            vector = parse_inline_vector(descriptor)
        else:
            vector = read_stored((demo / path).read_bytes(), descriptor)
        stats = orjson.loads(add["stats"])
        assert stats["tightBounds"] is False
        assert stats["numRecords"] == pq.read_metadata(demo / add["path"]).num_rows
        assert max(vector) < stats["numRecords"]
        assert 0 < len(vector) == descriptor.cardinality < stats["numRecords"]
        kinds.add(descriptor.storage_type)
    assert kinds == {"u", "i"}


@pytest.mark.rule("file-add-size", "stats-numrecords")
def test_statistics_and_sizes_are_those_of_the_files(demo: Path) -> None:
    files = explorer.open_table(demo).snapshot().files(columns=["path", "size", "stats"])
    for file in files.to_pylist():
        path, stats = demo / file["path"], orjson.loads(file["stats"])
        rows = pq.ParquetFile(path).read()
        assert file["size"] == path.stat().st_size
        assert stats["numRecords"] == rows.num_rows
        assert stats["minValues"]["order_id"] == min(rows["order_id"].to_pylist())
        assert stats["maxValues"]["order_id"] == max(rows["order_id"].to_pylist())
        assert set(stats["nullCount"]) == set(rows.column_names)


@pytest.mark.rule("cdf-files-change-type-column", "cdf-files-change-type-values")
@pytest.mark.rule("cdf-files-directory", "cdf-files-partition-dirs-recommended")
@pytest.mark.rule("cdf-writer-must-produce")
def test_change_data_holds_what_the_metrics_say(demo: Path, commits: list[list[dict]]) -> None:
    seen = 0
    for lines in commits:
        info = lines[0]["commitInfo"]
        changes = [line["cdc"] for line in lines if "cdc" in line]
        if info["operation"] not in {"UPDATE", "MERGE"}:
            assert changes == []
            continue
        kinds = [
            kind
            for change in changes
            for kind in pq.ParquetFile(demo / change["path"]).read()["_change_type"].to_pylist()
        ]
        metrics = info["operationMetrics"]
        updated = int(metrics.get("numUpdatedRows", metrics.get("numTargetRowsUpdated")))
        assert kinds.count("update_preimage") == kinds.count("update_postimage") == updated > 0
        assert kinds.count("delete") == int(metrics.get("numTargetRowsDeleted", 0))
        assert kinds.count("insert") == int(metrics.get("numTargetRowsInserted", 0))
        assert all(change["path"].startswith("_change_data/country=") for change in changes)
        seen += 1
    assert seen >= 8


@pytest.mark.rule("pointer-checksum-write", "pointer-size", "pointer-sizeinbytes")
def test_newest_checkpoint_has_several_commits_after_it(demo: Path) -> None:
    hint = parse_last_checkpoint((demo / "_delta_log" / "_last_checkpoint").read_bytes())
    file = demo / "_delta_log" / f"{hint.version:020}.checkpoint.parquet"
    assert hint.checksum is not None
    assert hint.size_in_bytes == file.stat().st_size
    assert hint.size == pq.read_metadata(file).num_rows
    assert LATEST - hint.version >= 3


@pytest.mark.rule("checkpoint-complete-replay", "checkpoint-shortcut")
def test_checkpoints_and_commits_tell_the_same_state(demo: Path, tmp_path: Path) -> None:
    table = explorer.open_table(demo)
    log = tmp_path / "copy" / "_delta_log"
    log.mkdir(parents=True)
    for path in (demo / "_delta_log").glob("*.json"):
        (log / path.name).write_bytes(path.read_bytes())
    by_commits = explorer.open_table(tmp_path / "copy").snapshot()
    by_checkpoint = table.snapshot()
    assert by_commits.segment.checkpoint is None
    assert by_checkpoint.segment.checkpoint is not None
    for column in ("path", "size", "partition_values", "deletion_vector", "stats"):
        one, other = (
            snapshot.files(columns=["path", column] if column != "path" else ["path"]).sort_by(
                "path"
            )
            for snapshot in (by_commits, by_checkpoint)
        )
        assert one.to_pylist() == other.to_pylist()
    assert by_commits.transactions == by_checkpoint.transactions


@pytest.mark.slow
def test_same_time_and_seed_write_the_same_bytes_and_times(demo: Path, tmp_path: Path) -> None:
    write_demo(tmp_path / "again", now=NOW)
    assert tree(tmp_path / "again") == tree(demo)


@pytest.mark.slow
def test_another_seed_writes_another_table(demo: Path, tmp_path: Path) -> None:
    write_demo(tmp_path / "other", now=NOW, seed=1)
    assert len(tree(tmp_path / "other").keys() & tree(demo).keys()) < 100


@pytest.mark.parametrize("name", ["something", ".hidden"])
def test_demo_refuses_a_folder_that_is_not_empty(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(InvalidArgumentError, match="empty"):
        write_demo(tmp_path, now=NOW)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_demo_refuses_a_file_for_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InvalidArgumentError, match="already"):
        write_demo(tmp_path / "file", now=NOW)


def test_restoring_version_60_says_first_how_many_rows_leave_and_asks_for_the_name(
    demo: Path,
) -> None:
    table = explorer.open_table(demo)
    plan = plan_restore(table, 60)
    lost = (table.snapshot().num_rows or 0) - (table.snapshot(60).num_rows or 0)
    assert lost == 3781
    # an UPDATE since has hidden rows and written them again
    assert plan.summary.startswith(
        "At most 5,921 rows are removed and 2,140 return, 3,781 fewer in all: "
    )
    assert (plan.asks_for_name, plan.asks_for_reason) == (True, False)
    assert "nothing is lost" not in plan.summary


def test_demo_refuses_a_time_without_zone(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="time zone"):
        write_demo(tmp_path / "orders", now=datetime(2026, 11, 1))  # noqa: DTZ001  # the point
    assert not (tmp_path / "orders").exists()


@pytest.mark.slow
@pytest.mark.parametrize("existing", [False, True], ids=["new folder", "empty folder"])
def test_demo_that_is_cancelled_leaves_nothing_behind(tmp_path: Path, existing: bool) -> None:
    if existing:
        (tmp_path / "orders").mkdir()
    cancel = Cancel()

    def stop_later(report: Progress) -> None:
        if report.done == 20:
            cancel.cancel()

    with pytest.raises(CancelledError):
        write_demo(tmp_path / "orders", now=NOW, progress=stop_later, cancel=cancel)
    assert list(tmp_path.rglob("*")) == ([tmp_path / "orders"] if existing else [])


@pytest.mark.slow
def test_demo_reports_each_version(tmp_path: Path) -> None:
    reports: list[Progress] = []
    write_demo(tmp_path / "orders", now=NOW, progress=reports.append)
    assert [report.done for report in reports] == [*range(1, len(STORY) + 1)]
    assert {report.total for report in reports} == {len(STORY)}
