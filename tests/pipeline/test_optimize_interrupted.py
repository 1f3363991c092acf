"""An optimize that is broken off, killed, cancelled, or meets other writers: the table is that
of before or after, and the same plan goes on where it ended."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

import explorer
from explorer.errors import StorageError
from explorer.maintenance import StateFolder, plan_optimize
from explorer.pipeline.rewrite import rewrite
from explorer.progress import Cancel, Progress
from explorer.storage.local import LocalStore
from tests.data_tables import DataTable, field, struct
from tests.pipeline.optimized import (
    WRITING,
    Run,
    before_commit,
    data_files,
    live_files,
    opened,
    ordered,
    rows_of,
    simple,
)
from tests.tables import LogFolder

pytestmark = pytest.mark.spark


class Broken(BaseException):
    """Stands for a kill: nothing of ours catches it."""


@pytest.mark.parametrize("at", ["begin", "written", "committed"])
def test_run_that_was_broken_off_is_finished_by_running_it_again(
    run: Run, tmp_path: Path, at: str
) -> None:
    place = simple(tmp_path / "t")
    before = rows_of(place)
    plan = plan_optimize(
        opened(place), target_size=opened(place).snapshot().size_in_bytes, batch_size=1
    )
    steps = [step for step in plan.steps if step.kind == "rewrite_files"]
    assert len(steps) == 2

    def break_off(report: Progress | None = None) -> None:
        words = {"begin": steps[0].reason, "committed": "Readers can check"}
        if report is None or (at in words and report.label.startswith(words[at])):
            raise Broken

    table = before_commit(place, 6, break_off) if at == "written" else opened(place)
    with pytest.raises(Broken):
        run(plan, progress=break_off, table=table)
    table = opened(place)
    assert table.latest_version() == (6 if at == "committed" else 5)
    assert rows_of(place) == before
    receipt = run(plan)
    assert receipt.status == "completed", receipt.problem
    assert opened(place).latest_version() == 7
    assert rows_of(place) == before
    live = live_files(place)
    # what the first run left is gone too; the older versions keep theirs
    assert data_files(place) == live | {
        unquote(path)
        for path in opened(place).snapshot(version=5).files(["path"])["path"].to_pylist()
    }
    assert run(plan) == receipt


def test_process_that_is_killed_leaves_a_table_that_the_same_plan_finishes(
    run: Run, tmp_path: Path
) -> None:
    place = simple(tmp_path / "t", files=40)  # so many take a session
    before = rows_of(place)
    plan = plan_optimize(opened(place))
    state = StateFolder(tmp_path / "state")
    state.save_plan(plan)
    command = [sys.executable, "-m", "explorer.cli", "optimize", str(place)]
    command += ["--apply", plan.digest, "--state-dir", str(tmp_path / "state")]
    child = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not any(line["event"] == "batch" for line in state.read_journal(plan.digest)):
        assert time.monotonic() < deadline
        assert child.poll() is None
        time.sleep(0.02)
    time.sleep(random.Random(place.name).random())
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    assert rows_of(place) == before
    receipt = run(plan)
    assert receipt.status == "completed", receipt.problem
    assert rows_of(place) == before
    assert opened(place).snapshot().num_files == 2


def test_rows_that_come_meanwhile_are_no_matter(run: Run, tmp_path: Path) -> None:
    place = simple(tmp_path / "t")
    before = rows_of(place)
    new = pa.table({"id": pa.array([7777], pa.int64()), "p": ["new"], "v": ["new"]})
    table = before_commit(place, 6, lambda: write_deltalake(place, new, mode="append"))
    assert run(plan_optimize(opened(place)), table=table).status == "completed"
    assert opened(place).latest_version() == 7
    assert rows_of(place) == before + Counter({(7777, "new", "new"): 1})


def test_file_that_is_deleted_meanwhile_stops_its_batch_and_no_other(
    run: Run, tmp_path: Path
) -> None:
    place = simple(tmp_path / "t")
    size = opened(place).snapshot().size_in_bytes
    plan = plan_optimize(opened(place), target_size=size, batch_size=1)
    first = [row["path"] for row in plan.files.to_pylist() if row["reason"].startswith("group 0:")]
    last = [row["path"] for row in plan.files.to_pylist() if row["reason"].startswith("group 1:")]
    listed = opened(place).snapshot().files(["path"])["path"].to_pylist()
    logged = {unquote(path): path for path in listed}
    gone = pq.read_table(place / last[0], partitioning=None).column("id").to_pylist()
    before = {row: n for row, n in rows_of(place).items() if row[0] not in gone}
    remove = {"path": logged[last[0]], "deletionTimestamp": 1, "dataChange": True}
    log = LogFolder.__new__(LogFolder)
    log.root, log.log = place, place / "_delta_log"
    table = before_commit(place, 7, lambda: log.commit(7, [{"remove": remove}]))
    receipt = run(plan, table=table)
    assert receipt.status == "partly"
    assert receipt.problem is not None
    assert receipt.problem.kind == "commit_conflict"
    assert [step.status for step in receipt.steps[:4]] == ["done", "done", "done", "not begun"]
    live = live_files(place)
    assert not live & {*first}
    assert {*last[1:]} < live
    assert rows_of(place) == Counter(before)
    # what was written for the second batch is gone again
    assert data_files(place) == live | {*first, *last}
    assert run(plan).status == "refused"
    assert run(plan_optimize(opened(place))).status == "completed"
    assert rows_of(place) == Counter(before)


def test_run_that_is_cancelled_commits_nothing_more(run: Run, tmp_path: Path) -> None:
    place = simple(tmp_path / "t")
    old = data_files(place)
    cancel = Cancel()

    def look(report: Progress) -> None:
        if report.label == WRITING and report.done == report.total:
            cancel.cancel()

    receipt = run(plan_optimize(opened(place)), progress=look, cancel=cancel)
    assert receipt.status == "cancelled"
    assert opened(place).latest_version() == 5
    assert data_files(place) == old


def test_plan_that_two_carry_out_at_once_is_done_once_and_loses_no_file(
    run: Run, spark: SparkSession, tmp_path: Path
) -> None:
    place = simple(tmp_path / "t")
    before, old = rows_of(place), data_files(place)
    plan = plan_optimize(opened(place))
    other = Run(spark=spark, state=tmp_path / "another machine")
    table = before_commit(place, 6, lambda: other(plan))
    receipt = run(plan, table=table)
    assert receipt.status == "refused"
    assert receipt.problem is not None
    assert receipt.problem.kind == "commit_conflict"
    assert opened(place).latest_version() == 6
    assert data_files(place) == old | live_files(place)
    assert rows_of(place) == before
    # its own transaction is found now, and not made twice
    assert run(plan).status == "completed"
    assert opened(place).latest_version() == 6


@pytest.mark.parametrize("by_shuffle", [False, True], ids=["in tasks", "by a shuffle"])
def test_missing_file_commits_nothing_and_leaves_no_file(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_shuffle: bool
) -> None:
    if by_shuffle:
        monkeypatch.setattr(rewrite, "SORTED_IN_A_TASK", 0)
    place = simple(tmp_path / "t")
    old, before = live_files(place), rows_of(place)
    wishes: dict[str, Any] = {"zorder_by": ["id"], "target_size": 1500} if by_shuffle else {}
    plan = plan_optimize(opened(place), **wishes)
    gone = place / min(old)
    content = gone.read_bytes()
    gone.unlink()
    receipt = run(plan)
    assert receipt.status == "failed"
    assert receipt.problem is not None
    assert receipt.problem.kind == "data_missing"
    assert opened(place).latest_version() == 5
    assert data_files(place) == old - {gone.relative_to(place).as_posix()}
    gone.write_bytes(content)
    assert run(plan).status == "completed"
    assert rows_of(place) == before
    assert data_files(place) == old | live_files(place)


@pytest.mark.parametrize("by_shuffle", [False, True], ids=["in tasks", "by a shuffle"])
def test_null_in_a_column_that_is_not_null_stops_tasks_and_is_told_with_file_and_row(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_shuffle: bool
) -> None:
    if by_shuffle:
        monkeypatch.setattr(rewrite, "SORTED_IN_A_TASK", 0)
    schema = struct(field("k", "long"), field("late", struct(field("x", "long", False))))
    made = DataTable(tmp_path / "t", schema)
    for number in range(3):
        late = pa.array([{"x": 1}, {"x": None if number == 1 else 2}])
        made.add(f"f{number}.parquet", pa.table({"k": [number, number], "late": late}))
    place = made.write()
    old = data_files(place)
    wishes: dict[str, Any] = {"zorder_by": ["k"], "target_size": 500} if by_shuffle else {}
    receipt = run(plan_optimize(opened(place), **wishes))
    assert receipt.status == "failed"
    assert receipt.problem is not None
    told = f"{receipt.problem.problem} {receipt.problem.reason}"
    assert "The data file f1.parquet holds null in the column `late.x`" in told
    assert "at position 1 of the file" in told
    assert opened(place).latest_version() == 0
    assert data_files(place) == old


class _FailsAfterTheFirst(LocalStore):
    """In a task it fails when any other file of a shuffle is begun than the first, which then
    is there: no task still writes when the job fails and what it left is removed."""

    def open_output(self, path: str) -> Any:
        if not path.endswith(".c000.zstd.parquet"):
            until = time.monotonic() + 60
            while time.monotonic() < until and not any(Path(self.uri).rglob("*.c000.zstd.parquet")):
                time.sleep(0.05)
            raise StorageError("The store failed.", reason="A test made it.", remedy="None.")
        return super().open_output(path)


def test_files_of_a_shuffle_that_failed_half_way_are_removed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewrite, "SORTED_IN_A_TASK", 0)
    place = ordered(tmp_path / "t", rows=400)
    old = data_files(place)
    size = opened(place).snapshot().size_in_bytes
    plan = plan_optimize(opened(place), zorder_by=["x", "y"], target_size=size // 4 + 1)
    receipt = run(plan, table=explorer.Table(_FailsAfterTheFirst(str(place))))
    assert receipt.status == "failed"
    assert receipt.problem is not None
    assert receipt.problem.kind == "storage_failed"
    (result,) = (step.result for step in receipt.steps if step.result)
    assert result["staged_removed"] >= 1
    assert data_files(place) == old
    assert run(plan).status == "completed"
