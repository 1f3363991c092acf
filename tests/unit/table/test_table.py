"""A table between two looks at it: what it keeps, what it never mistakes for the truth."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import explorer
from explorer.errors import CancelledError, DeltaError, NotFoundError, UnsupportedError
from explorer.progress import Cancel, Progress
from explorer.storage.local import LocalStore
from explorer.storage.open import open_read_store
from explorer.storage.ports import FolderStamp
from explorer.table.table import Table
from tests.tables import (
    FEATURE_PROTOCOL,
    PROTOCOL,
    Action,
    LogFolder,
    add,
    commit_name,
    metadata,
    remove,
    vector,
)


def _grown(root: Path, versions: int, prefix: str = "f") -> LogFolder:
    """A table whose version N adds the file `fN`."""
    log = LogFolder(root)
    log.commit(0, [PROTOCOL, metadata(), add(f"{prefix}0")])
    for version in range(1, versions):
        log.commit(version, [add(f"{prefix}{version}")])
    return log


def _paths(snapshot: explorer.Snapshot) -> set[str]:
    return set(snapshot.files(["path"])["path"].to_pylist())


def _state(versions: int) -> list[Action]:
    return [PROTOCOL, metadata(), *(add(f"f{version}") for version in range(versions))]


@pytest.mark.rule("log-one-snapshot")
def test_snapshot_stays_as_it_is_while_the_table_grows(tmp_path: Path) -> None:
    log = _grown(tmp_path / "t", 3)
    table = explorer.open_table(log.root)
    old = table.snapshot()
    log.commit(3, [remove("f0"), add("f3")])
    new = table.snapshot()
    assert (old.version, _paths(old)) == (2, {"f0", "f1", "f2"})
    assert (new.version, _paths(new)) == (3, {"f1", "f2", "f3"})
    assert old.num_tombstones == 0
    assert new.num_tombstones == 1


@pytest.mark.slow
def test_table_that_may_keep_nothing_answers_the_same(tmp_path: Path) -> None:
    log = _grown(tmp_path / "t", 6)
    log.checkpoint(3, _state(4), rows_per_group=1)
    for cache_bytes in (0, 1, 200, 10**9):
        table = Table(open_read_store(log.root), cache_bytes=cache_bytes)
        for _ in range(2):
            assert _paths(table.snapshot()) == {f"f{version}" for version in range(6)}
            assert _paths(table.snapshot(version=4)) == {f"f{version}" for version in range(5)}


def test_table_that_was_made_anew_at_the_same_place_is_not_mixed_with_the_old(
    tmp_path: Path,
) -> None:
    for versions in (2, 3, 5):  # shorter than the old one, as long, longer
        place = tmp_path / str(versions)
        log = _grown(place, 3)
        table = explorer.open_table(log.root)
        assert _paths(table.snapshot()) == {"f0", "f1", "f2"}
        shutil.rmtree(place)
        _grown(place, versions, prefix="new")
        assert _paths(table.snapshot()) == {f"new{version}" for version in range(versions)}


def test_checkpoint_that_was_written_anew_is_read_anew(tmp_path: Path) -> None:
    log = _grown(tmp_path / "t", 3)
    log.checkpoint(1, _state(2))
    table = explorer.open_table(log.root)
    assert table.snapshot().num_files == 3
    (place,) = log.checkpoint(1, _state(2), rows_per_group=1)
    place.touch()
    snapshot = table.snapshot()
    assert _paths(snapshot) == {"f0", "f1", "f2"}


def test_table_that_went_away_is_told(tmp_path: Path) -> None:
    log = _grown(tmp_path / "t", 3)
    table = explorer.open_table(log.root)
    table.snapshot()
    shutil.rmtree(log.root)
    for question in (table.snapshot, table.history, table.latest_version, table.protocol):
        with pytest.raises(NotFoundError) as caught:
            question()
        assert caught.value.kind == "table_not_found"


@pytest.mark.slow
def test_many_threads_share_a_table(tmp_path: Path) -> None:
    log = _grown(tmp_path / "t", 30)
    log.checkpoint(20, _state(21), form="v2-parquet", sidecars=3, rows_per_group=2)
    table = explorer.open_table(log.root)
    start = threading.Barrier(8)

    def look(number: int) -> tuple[int, int, int]:
        start.wait()
        snapshot = table.snapshot(version=29 - number % 12)
        return snapshot.version, snapshot.num_files, len(_paths(snapshot))

    with ThreadPoolExecutor(8) as pool:
        for version, num_files, paths in pool.map(look, range(64)):
            assert num_files == paths == version + 1


def test_many_threads_share_a_snapshot(tmp_path: Path) -> None:
    log = _grown(tmp_path / "t", 30)
    log.checkpoint(20, _state(21), rows_per_group=2)
    snapshot = explorer.open_table(log.root).snapshot()
    questions: list[Callable[[], object]] = [
        lambda: snapshot.num_files,
        lambda: snapshot.size_in_bytes,
        lambda: snapshot.files().num_rows,
        lambda: snapshot.num_tombstones,
        lambda: snapshot.schema.names,
        lambda: snapshot.timestamp is not None,
    ]
    start = threading.Barrier(6)

    def ask(question: Callable[[], object]) -> object:
        start.wait()
        return question()

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(ask, questions))
    assert answers == [30, 3000, 30, 0, ("id", "part"), True]


def test_long_work_reports_itself_and_can_be_stopped(tmp_path: Path) -> None:
    log = _grown(tmp_path / "t", 600)
    table = explorer.open_table(log.root)
    reports: list[Progress] = []
    cancel = Cancel()

    def stop_later(report: Progress) -> None:
        reports.append(report)
        if report.done:
            cancel.cancel()

    with pytest.raises(CancelledError):
        table.snapshot(progress=stop_later, cancel=cancel)
    assert reports
    assert all(0 <= report.done <= (report.total or report.done) for report in reports)
    assert table.snapshot().num_files == 600


def test_work_that_was_cancelled_before_it_began(tmp_path: Path) -> None:
    cancel = Cancel()
    cancel.cancel()
    table = explorer.open_table(_grown(tmp_path / "t", 3).root)
    with pytest.raises(CancelledError):
        table.snapshot(cancel=cancel)


@pytest.mark.rule("feature-reader-all", "newer-unknown-blocks")
def test_refused_table_still_shows_what_it_holds(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    needs = ["deletionVectors", "teleportation"]
    protocol = {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": needs,
            "writerFeatures": needs,
        }
    }
    log.commit(0, [PROTOCOL, metadata(name="before"), add("a")])
    log.commit(1, [protocol, metadata(name="after")])
    table = explorer.open_table(log.root)
    with pytest.raises(UnsupportedError) as caught:
        table.snapshot()
    assert caught.value.kind == "unsupported_feature"
    assert "teleportation" in str(caught.value)
    assert table.protocol().reader_features == tuple(needs)
    assert table.metadata().name == "after"
    assert table.history().num_rows == 2
    assert table.listing().commits == (0, 1)
    # an older version needs nothing of it
    assert table.snapshot(version=0).num_files == 1
    assert table.protocol(version=0).reader_features is None
    assert table.metadata(version=0).name == "before"


@pytest.mark.rule("metadata-overwrites", "recon-latest-metadata", "recon-latest-protocol")
def test_protocol_and_metadata_are_those_of_the_version(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(name="zero")])
    log.commit(1, [metadata(name="one")])
    log.commit(2, [FEATURE_PROTOCOL])
    log.checkpoint(2, [FEATURE_PROTOCOL, metadata(name="one")])
    log.commit(3, [metadata(name="three")])
    for _ in range(2):
        table = explorer.open_table(log.root)
        for version, name, writer in (
            (0, "zero", 2),
            (1, "one", 2),
            (2, "one", 7),
            (3, "three", 7),
        ):
            assert table.metadata(version).name == name
            assert table.protocol(version).min_writer_version == writer
        for version in (-1, 4):
            with pytest.raises(DeltaError) as caught:
                table.protocol(version)
            assert caught.value.kind == "version_not_found"
    assert table.metadata().name == "three"


@pytest.mark.rule("action-protocol-readerfeatures", "action-protocol-writerfeatures")
def test_absent_feature_lists_are_not_empty_ones(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    empty = {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": [],
            "writerFeatures": [],
        }
    }
    log.commit(0, [PROTOCOL, metadata()])
    log.commit(1, [empty])
    log.checkpoint(1, [empty, metadata()])
    table = explorer.open_table(log.root)
    old, new = table.snapshot(version=0).protocol, table.snapshot().protocol
    assert (old.reader_features, old.writer_features) == (None, None)
    assert (new.reader_features, new.writer_features) == ((), ())


@pytest.mark.rule("file-remove-partitionvalues", "mapping-log-physical")
@pytest.mark.rule("mapping-name-log-physical", "older-003-remove-fields")
@pytest.mark.rule("older-004-remove-extended")
def test_partition_values_go_by_logical_names(tmp_path: Path) -> None:
    schema = (
        '{"type":"struct","fields":[{"name":"Logical ü","type":"string","nullable":true,'
        '"metadata":{"delta.columnMapping.id":1,"delta.columnMapping.physicalName":"col-1"}}]}'
    )
    mapped = metadata(
        schemaString=schema,
        partitionColumns=["Logical ü"],
        configuration={"delta.columnMapping.mode": "name"},
    )
    protocol = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}
    files = [add(f"f{at}", partitionValues={"col-1": f"v{at}"}) for at in range(5)]
    files.append(add("null", partitionValues={"col-1": None}))
    files.append(add("none", partitionValues={}))
    files.append(add("foreign", partitionValues={"stray": "x"}))
    log = LogFolder(tmp_path / "t")
    log.commit(0, [protocol, mapped, *files])
    log.commit(1, [remove("f0", partitionValues={"col-1": "v0"}), remove("bare")])
    wanted = {f"f{at}": [("Logical ü", f"v{at}")] for at in range(1, 5)} | {
        "null": [("Logical ü", None)],
        "none": [],
        "foreign": [("stray", "x")],
    }
    for _ in range(2):
        snapshot = explorer.open_table(log.root).snapshot()
        found = snapshot.files(["path", "partition_values"])
        found.validate(full=True)
        pairs = zip(found["path"].to_pylist(), found["partition_values"].to_pylist(), strict=True)
        assert dict(pairs) == wanted
        tombstones = snapshot.tombstones(["path", "partition_values"]).to_pylist()
        assert {row["path"]: row["partition_values"] for row in tombstones} == {
            "f0": [("Logical ü", "v0")],
            "bare": None,
        }
        physical = snapshot.physical_files("add", ["partition_values"]).to_pylist()
        assert [("col-1", "v1")] in [row["partition_values"] for row in physical]
        log.checkpoint(0, [protocol, mapped, *files], rows_per_group=3)


@pytest.mark.rule("dv-cardinality", "stats-live-rows")
def test_rows_are_physical_less_the_deleted_ones(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    counted = {"stats": '{"numRecords":10}'}
    log.commit(0, [FEATURE_PROTOCOL, metadata(), add("a", **counted), add("b", **counted)])
    log.commit(
        1, [remove("a"), add("a", deletionVector=vector(cardinality=4), **counted), add("c")]
    )
    log.commit(2, [remove("c")])
    table = explorer.open_table(log.root)
    for version, rows, deleted, vectors in ((0, 20, 0, 0), (1, None, 4, 1), (2, 16, 4, 1)):
        snapshot = table.snapshot(version=version)
        assert (snapshot.num_rows, snapshot.num_deleted_rows) == (rows, deleted)
        assert snapshot.num_deletion_vectors == vectors
    assert table.snapshot().files(["num_records"])["num_records"].to_pylist() == [10, 10]


def test_files_come_as_a_file_state_too(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    both = [add("a"), add("a", deletionVector=vector(), size=7), add("b")]
    log.commit(0, [FEATURE_PROTOCOL, metadata(), *both])
    state = explorer.open_table(log.root).snapshot().file_state
    assert state.count == 3
    assert sum(batch.num_rows for batch in state.batches(["path"])) == 3
    assert sorted(state.find("a", ["size"])["size"].to_pylist()) == [7, 100]
    assert state.find("b", ["size", "path"]).column_names == ["size", "path"]
    assert state.find("nothing", ["size"]).num_rows == 0


def test_columns_come_in_the_order_that_was_asked_for(tmp_path: Path) -> None:
    log = _grown(tmp_path / "t", 2)
    log.checkpoint(0, _state(1))
    snapshot = explorer.open_table(log.root).snapshot()
    wanted = ["num_records", "data_change", "path", "stats", "tags", "size", "clustering_provider"]
    assert snapshot.files(wanted).column_names == wanted
    with pytest.raises(explorer.DeltaError, match="No column is named"):
        snapshot.files([])
    assert snapshot.files().column_names == [
        "path",
        "size",
        "modification_time",
        "partition_values",
        "deletion_vector",
        "base_row_id",
        "default_row_commit_version",
    ]


def test_commit_that_vanishes_behind_the_listing_is_a_gap_not_a_missing_table(
    tmp_path: Path,
) -> None:
    log = _grown(tmp_path / "t", 3)
    table = explorer.open_table(log.root)
    listing = table.listing()
    (log.log / commit_name(1)).unlink()
    assert listing.commits == (0, 1, 2)
    with pytest.raises(DeltaError) as caught:
        table.snapshot()
    assert caught.value.kind == "log_gap"
    # what does not need it is still told
    assert table.history()["version"].to_pylist() == [2, 0]
    assert table.snapshot(version=0).num_files == 1


class _ToldNothing(LocalStore):
    """A folder that seems to stay as it is, as one might whose files are links."""

    def folder_stamp(self, *_: object) -> FolderStamp | None:
        """Always the same."""
        return (1,)


def test_listing_that_was_kept_is_given_up_where_a_commit_is_gone(tmp_path: Path) -> None:
    log = _grown(tmp_path / "t", 1001)
    table = Table(_ToldNothing(str(log.root)))
    assert table.history(1)["version"].to_pylist() == [1000]
    (log.log / commit_name(1000)).unlink()
    assert table.history(1)["version"].to_pylist() == [999]


def test_long_log_is_seen_as_it_is_at_every_look(tmp_path: Path) -> None:
    log = _grown(tmp_path / "t", 1001)
    table = explorer.open_table(log.root)
    assert table.snapshot().version == table.latest_version() == 1000
    assert table.history(1)["version"].to_pylist() == [1000]
    log.commit(1001, [add("new")])
    assert table.history(1)["version"].to_pylist() == [1001]
    assert table.snapshot().num_files == 1002
    held = table.held_bytes
    table.release()
    assert table.held_bytes == 0 <= held
    assert table.latest_version() == 1001
