"""What the log on an object store costs: how many requests of which kind, and which of
them are under way at once. The numbers are the promise; more of them is a fault."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import explorer
import explorer.inspect as look
from explorer.errors import CorruptLogError
from explorer.log.checkpoint import parquet_part
from explorer.maintenance import Plan, plan_vacuum
from tests.object_store import Bucket, Request, counts_of, open_counted, reads_of
from tests.tables import (
    FEATURE_PROTOCOL,
    Action,
    CheckpointForm,
    LogFolder,
    add,
    commit_name,
    metadata,
)

AT = 4
"""The version of the checkpoints; the log ends five commits later."""
LATEST = AT + 5
FILES = 4000
"""Far more than fit into the end of a checkpoint that is read at once."""


def _files(number: int) -> list[Action]:
    noise = random.Random(7)  # so that it cannot be compressed away
    return [
        add(f"{at:05}-{noise.randbytes(16).hex()}", stats=f'{{"x":"{noise.randbytes(100).hex()}"}}')
        for at in range(number)
    ]


def _log(root: Path, *, commits: int = LATEST + 1) -> LogFolder:
    log = LogFolder(root)
    log.commit(0, [FEATURE_PROTOCOL, metadata(), add("0")])
    for version in range(1, commits):
        log.commit(version, [{"commitInfo": {"operation": "WRITE"}}, add(str(version))])
    return log


def _bucket(log: LogFolder, latency: float = 0.0) -> Bucket:
    bucket = Bucket(latency)
    bucket.upload(log.root, "t")
    return bucket


def _checkpointed(root: Path, form: CheckpointForm, number: int = FILES, **layout: int) -> Bucket:
    log = _log(root)
    log.checkpoint(AT, [FEATURE_PROTOCOL, metadata(), *_files(number)], form=form, **layout)
    log.hint(AT)
    return _bucket(log)


def test_opening_a_table_without_a_checkpoint_reads_listing_and_commits(tmp_path: Path) -> None:
    bucket = _bucket(_log(tmp_path / "t"))
    # the hint or the first commit tells that a log is there
    assert counts_of(bucket, lambda: open_counted(bucket)) == {"range": 2}
    table = open_counted(bucket)
    assert counts_of(bucket, table.snapshot) == {"list": 1, "get": LATEST + 1}
    snapshot = table.snapshot()
    everything = counts_of(bucket, lambda: (snapshot.num_files, snapshot.files()))
    assert (snapshot.num_files, everything) == (LATEST + 1, {})


def test_opening_costs_two_reads_at_once_the_listing_the_checkpoint_and_the_commits_after_it(
    tmp_path: Path,
) -> None:
    bucket = _checkpointed(tmp_path / "t", "classic")
    assert counts_of(bucket, lambda: open_counted(bucket)) == {"range": 2}
    table = open_counted(bucket)
    # of the checkpoint: its end, and the transactions at its beginning
    assert counts_of(bucket, table.snapshot) == {"list": 1, "get": 5, "range": 2}
    assert bucket.counts(".checkpoint.parquet") == {"range": 2}
    snapshot = table.snapshot()
    assert counts_of(bucket, lambda: snapshot.num_files) == {"range": 1}
    assert counts_of(bucket, lambda: snapshot.files(["path"])) == {}
    assert counts_of(bucket, snapshot.files) == {"range": 1}
    assert counts_of(bucket, lambda: snapshot.files(["path", "stats"])) == {"range": 1}
    assert snapshot.num_files == FILES + 5


def test_paths_of_a_new_table_are_one_column_chunk(tmp_path: Path) -> None:
    bucket = _checkpointed(tmp_path / "t", "classic")
    snapshot = open_counted(bucket).snapshot()
    assert counts_of(bucket, lambda: snapshot.files(columns=["path"])) == {"range": 1}
    (asked,) = bucket.requests
    (place,) = (tmp_path / "t" / "_delta_log").glob("*.checkpoint.parquet")
    group = pq.ParquetFile(place).metadata.row_group(0)
    leaves = [group.column(at) for at in range(group.num_columns)]
    wanted = [leaf for leaf in leaves if leaf.path_in_schema == "add.path"]
    nulls = [leaf for leaf in leaves if leaf.path_in_schema.startswith("add.deletionVector.")]
    size = sum(leaf.total_compressed_size for leaf in wanted)
    assert asked.start is not None
    assert asked.end is not None
    # with the hole up to the column that tells whether there are deletion vectors
    last = nulls[-1].data_page_offset + nulls[-1].total_compressed_size
    assert size <= asked.end - asked.start <= last - wanted[0].dictionary_page_offset


def test_small_checkpoint_is_one_request_for_everything(tmp_path: Path) -> None:
    bucket = _checkpointed(tmp_path / "t", "classic", 100)
    table = open_counted(bucket)
    bucket.forget()
    snapshot = table.snapshot()
    assert snapshot.files().num_rows == snapshot.num_files == 105
    assert snapshot.tombstones().num_rows == 0
    assert bucket.counts() == {"list": 1, "get": 5, "range": 1}


def test_multi_part_checkpoint_costs_each_part_the_same(tmp_path: Path) -> None:
    bucket = _checkpointed(tmp_path / "t", "multi-part", parts=3)
    table = open_counted(bucket)
    assert counts_of(bucket, table.snapshot) == {"list": 1, "get": 5, "range": 3 * 2}
    snapshot = table.snapshot()
    assert counts_of(bucket, lambda: snapshot.files(["path"])) == {"range": 3}


@pytest.mark.parametrize("form", ["v2-json", "v2-parquet"])
def test_sidecars_are_read_when_files_are_asked_for(form: CheckpointForm, tmp_path: Path) -> None:
    bucket = _checkpointed(tmp_path / "t", form, sidecars=4)
    table = open_counted(bucket)
    # a top level of Parquet may be repeated in the hint, which is looked at for that; one in
    # JSON is asked for up to a limit
    opening = {
        "v2-json": {"list": 1, "get": 5, "range": 1},
        "v2-parquet": {"list": 1, "get": 5, "range": 2},
    }
    assert counts_of(bucket, table.snapshot) == opening[form]
    assert bucket.counts("_last_checkpoint") == ({"range": 1} if form == "v2-parquet" else {})
    snapshot = table.snapshot()
    assert counts_of(bucket, lambda: snapshot.files(["path"])) == {"range": 4 * 2}
    assert bucket.counts("_sidecars") == {"range": 4 * 2}
    assert snapshot.num_files == FILES + 5


def test_protocol_and_metadata_read_no_file_action(tmp_path: Path) -> None:
    bucket = _checkpointed(tmp_path / "t", "classic")
    table = open_counted(bucket)
    assert counts_of(bucket, table.protocol) == {"list": 1, "get": 5, "range": 2}
    assert counts_of(bucket, table.metadata) == {"list": 1}


def test_refresh_reads_the_listing_and_what_is_new(tmp_path: Path) -> None:
    bucket = _checkpointed(tmp_path / "t", "classic")
    table = open_counted(bucket)
    assert table.snapshot().num_files == FILES + 5
    assert counts_of(bucket, table.snapshot) == {"list": 1}
    for version in range(LATEST + 1, LATEST + 6):
        bucket.put(f"t/_delta_log/{commit_name(version)}", b'{"remove":{"path":"%d"}}' % AT)
    found: list[explorer.Snapshot] = []
    assert counts_of(bucket, lambda: found.append(table.snapshot())) == {"list": 1, "get": 5}
    assert counts_of(bucket, lambda: found[0].files(["path"])) == {}
    assert found[0].num_files == FILES + 5


def test_listing_comes_in_pages_of_a_thousand_and_once(tmp_path: Path) -> None:
    log = _log(tmp_path / "t", commits=3)
    for number in range(2500):
        log.write(f"{number}.foreign", b"")
    bucket = _bucket(log)
    table = open_counted(bucket)
    assert counts_of(bucket, table.snapshot) == {"list": 3, "get": 3}


@pytest.fixture
def long_log(tmp_path: Path) -> Bucket:
    """A log of 1,150 commits, which takes two pages to list."""
    log = _log(tmp_path / "t", commits=1150)
    log.checkpoint(1140, [FEATURE_PROTOCOL, metadata(), *_files(10)])
    return _bucket(log)


def _append(bucket: Bucket, versions: Iterable[int]) -> None:
    for version in versions:
        bucket.put(f"t/_delta_log/{commit_name(version)}", b'{"add":%s}' % _ADDED % version)


_ADDED = b'{"path":"n%d","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}'


def test_refresh_of_a_long_log_lists_only_its_end(long_log: Bucket) -> None:
    table = open_counted(long_log)
    assert counts_of(long_log, table.snapshot) == {"list": 2, "get": 9, "range": 1}
    _append(long_log, range(1150, 1155))
    assert counts_of(long_log, table.snapshot) == {"list": 1, "get": 5}
    # near the end of a hundred, and across it
    _append(long_log, range(1155, 1195))
    assert counts_of(long_log, table.snapshot) == {"list": 2, "get": 40}
    _append(long_log, range(1195, 1205))
    found: list[explorer.Snapshot] = []
    assert counts_of(long_log, lambda: found.append(table.snapshot())) == {"list": 2, "get": 10}
    fresh = open_counted(long_log).snapshot()
    assert (found[0].version, found[0].num_files) == (1204, 10 + 9 + 55)
    assert (fresh.version, fresh.num_files) == (1204, 10 + 9 + 55)
    assert found[0].segment == fresh.segment


def test_refresh_of_a_long_log_sees_a_commit_that_is_missing(long_log: Bucket) -> None:
    table = open_counted(long_log)
    table.snapshot()
    _append(long_log, [*range(1150, 1199), 1200])
    for opened in (table, open_counted(long_log)):
        with pytest.raises(CorruptLogError) as caught:
            opened.snapshot()
        assert caught.value.kind == "log_gap"


def test_refresh_of_a_long_log_that_was_made_anew_reads_the_new_one(long_log: Bucket) -> None:
    table = open_counted(long_log)
    table.snapshot()
    long_log.put(f"t/_delta_log/{commit_name(1149)}", b'{"add":%s}' % _ADDED % 7, 1)
    long_log.delete(f"t/_delta_log/{1140:020}.checkpoint.parquet")
    assert table.snapshot().num_files == 1150
    for version in range(5, 1150):
        long_log.delete(f"t/_delta_log/{commit_name(version)}")
    assert (table.snapshot().version, table.snapshot().num_files) == (4, 5)


def test_history_reads_the_heads_and_no_times(tmp_path: Path) -> None:
    bucket = _bucket(_log(tmp_path / "t", commits=80))
    table = open_counted(bucket)
    assert counts_of(bucket, lambda: table.history(50)) == {"list": 1, "range": 50}
    assert table.history(50)["timestamp"].null_count == 0
    snapshot = table.snapshot()
    assert counts_of(bucket, lambda: snapshot.timestamp) == {"list": 1}
    assert snapshot.timestamp is not None


def test_history_of_commits_with_late_provenance_reads_on_at_once(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    for version in range(8):
        start = [FEATURE_PROTOCOL, metadata()] if version == 0 else []
        actions = [*_files(40), {"commitInfo": {"operation": "WRITE"}}]
        log.commit(version, [*start, *actions])
    bucket = _bucket(log)
    table = open_counted(bucket)
    bucket.forget()
    with bucket.meeting(8, lambda asked: asked.kind == "get"):
        assert table.history(8)["operation"].to_pylist() == ["WRITE"] * 8
    assert bucket.counts() == {"list": 1, "range": 8, "get": 8}


@pytest.mark.parametrize("hinted", [True, False])
def test_what_tells_that_a_log_is_there_is_requested_at_once(hinted: bool, tmp_path: Path) -> None:
    log = _log(tmp_path / "t", commits=2)
    if hinted:
        log.checkpoint(1, [FEATURE_PROTOCOL, metadata(), add("0"), add("1")])
        log.hint(1)
    bucket = _bucket(log)
    with bucket.meeting(2, reads_of("_delta_log")):
        open_counted(bucket)


def test_commits_are_requested_at_once(tmp_path: Path) -> None:
    bucket = _bucket(_log(tmp_path / "t", commits=30))
    table = open_counted(bucket)
    with bucket.meeting(30, reads_of(".json")):
        assert table.snapshot().num_files == 30
    assert bucket.most_at_once == 30


def test_commits_are_requested_beside_the_checkpoint(tmp_path: Path) -> None:
    bucket = _checkpointed(tmp_path / "t", "classic", 100)
    table = open_counted(bucket)
    with bucket.meeting(6, reads_of("0000")):
        assert table.snapshot().num_files == 105


def test_parts_of_a_checkpoint_are_requested_at_once(tmp_path: Path) -> None:
    bucket = _checkpointed(tmp_path / "t", "multi-part", parts=3)
    table = open_counted(bucket)
    # their ends, then their beginnings
    with bucket.meeting(3, reads_of(".checkpoint.")):
        snapshot = table.snapshot()
    with bucket.meeting(3, reads_of(".checkpoint.")):
        assert snapshot.files(["path"]).num_rows == FILES + 5


def test_sidecars_are_requested_at_once(tmp_path: Path) -> None:
    bucket = _checkpointed(tmp_path / "t", "v2-json", sidecars=6)
    snapshot = open_counted(bucket).snapshot()
    with bucket.meeting(6, reads_of("_sidecars")):
        assert snapshot.files(["path"]).num_rows == FILES + 5


def test_small_row_groups_of_a_checkpoint_are_requested_together(tmp_path: Path) -> None:
    bucket = _checkpointed(tmp_path / "t", "classic", rows_per_group=1000)
    snapshot = open_counted(bucket).snapshot()
    assert counts_of(bucket, lambda: snapshot.files(["path"])) == {"range": 1}
    assert snapshot.num_files == FILES + 5


def test_row_groups_of_a_checkpoint_are_requested_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_part, "ROWS_AT_ONCE", 1000)
    bucket = _checkpointed(tmp_path / "t", "classic", rows_per_group=1000)
    snapshot = open_counted(bucket).snapshot()
    with bucket.meeting(4, reads_of(".checkpoint.")):
        assert counts_of(bucket, lambda: snapshot.files(["path"])) == {"range": 4}
    assert snapshot.num_files == FILES + 5


def test_planning_a_scan_reads_columns_of_the_checkpoint_alone(tmp_path: Path) -> None:
    bucket = _checkpointed(tmp_path / "t", "classic")
    snapshot = open_counted(bucket).snapshot()
    # keys, what else is said of files, and the text of the statistics, which are not parsed
    assert counts_of(bucket, lambda: explorer.plan_scan(snapshot, "id > 5")) == {"range": 3}
    assert bucket.counts(".checkpoint.parquet") == {"range": 3}


def test_health_lists_the_log_once_and_reads_each_file_once(tmp_path: Path) -> None:
    bucket = _checkpointed(tmp_path / "t", "classic")
    table = open_counted(bucket)
    # the two folders within the log are not there; the hint, the heads of the commits up to the
    # checkpoint, and the checkpoint's end, few actions and paths
    asked = counts_of(bucket, lambda: look.log_health(table))
    assert asked == {"list": 3, "get": 5, "range": 1 + (AT + 1) + 3}
    assert counts_of(bucket, lambda: look.log_health(table)) == {"list": 3}


def test_plan_of_a_vacuum_reads_each_commit_once_and_none_that_opening_read(tmp_path: Path) -> None:
    bucket = _bucket(_log(tmp_path / "t"))
    table = open_counted(bucket)
    # the log and what lies below the root
    assert counts_of(bucket, lambda: plan_vacuum(table)) == {"list": 2, "get": LATEST + 1}
    assert counts_of(bucket, lambda: plan_vacuum(table)) == {"list": 2}
    opened = open_counted(bucket)
    opened.snapshot()
    assert counts_of(bucket, lambda: plan_vacuum(opened)) == {"list": 2}
    assert counts_of(bucket, lambda: opened.history(50)) == {"list": 1}


def test_both_ways_of_a_vacuum_and_its_listing_ask_at_once(tmp_path: Path) -> None:
    log = _log(tmp_path / "t")
    files = [*_files(FILES), add(str(AT))]
    log.checkpoint(AT, [FEATURE_PROTOCOL, metadata(), *files], form="classic")
    bucket = _bucket(log)
    for version in range(AT):  # a log that begins with its checkpoint
        bucket.delete(f"t/_delta_log/{commit_name(version)}")
    table = open_counted(bucket)
    table.snapshot()
    bucket.forget()

    def is_first(asked: Request) -> bool:
        """The listing of the root, the paths for both ways, and for the second the commit at the
        checkpoint, which opening does not read."""
        first = asked.kind == "range" and (asked.start or 0) < 1000
        return asked.key in {"t/", f"t/_delta_log/{commit_name(AT)}"} or first

    with bucket.meeting(4, is_first):
        plan = plan_vacuum(table)
    assert not [verdict for verdict in plan.verdicts if verdict.outcome == "refuse"]
    # of the checkpoint: the paths and the times for the first way, the paths for the second; its
    # end was read when the table was opened
    assert bucket.counts() == {"list": 2, "get": 1, "range": 3}


def test_commit_that_appears_after_opening_is_read_by_both_ways_of_a_vacuum(tmp_path: Path) -> None:
    bucket = _bucket(_log(tmp_path / "t"))
    table = open_counted(bucket)
    table.snapshot()
    bucket.put("t/new", b"x", 1)
    assert list(_deleted(plan_vacuum(table))) == []  # not the name of a file of a table
    bucket.put("t/new.parquet", b"x", 1)
    assert list(_deleted(plan_vacuum(table))) == ["new.parquet"]
    body = b'{"add":%s}' % _ADDED.replace(b"n%d", b"new.parquet")
    bucket.put(f"t/_delta_log/{commit_name(LATEST + 1)}", body)
    bucket.forget()
    plan = plan_vacuum(table)
    assert (plan.anchor.version, list(_deleted(plan))) == (LATEST + 1, [])
    assert bucket.counts() == {"list": 2, "get": 1}


def test_commit_that_was_replaced_after_opening_is_read_again_and_refuses_the_vacuum(
    tmp_path: Path,
) -> None:
    bucket = _bucket(_log(tmp_path / "t"))
    table = open_counted(bucket)
    table.snapshot()
    key = f"t/_delta_log/{commit_name(3)}"
    old = (tmp_path / "t" / "_delta_log" / commit_name(3)).read_bytes()
    stamp = (tmp_path / "t" / "_delta_log" / commit_name(3)).stat().st_mtime_ns // 1_000_000
    assert old.count(b'"path": "3"') == 1
    # as long as the old one, and of the same time
    bucket.put(key, old.replace(b'"path": "3"', b'"path": "x"'), stamp)
    bucket.put("t/3", b"x", 1)
    bucket.put("t/x", b"x", 1)
    bucket.forget()
    plan = plan_vacuum(table)
    assert bucket.counts(".json") == {"get": 1}
    assert plan.steps == ()
    assert "second route" in {item.guard for item in plan.verdicts if item.outcome == "refuse"}


def _deleted(plan: Plan) -> list[str]:
    rows = plan.files.to_pylist()
    return [row["path"] for row in rows if row["action"] == "delete"]
