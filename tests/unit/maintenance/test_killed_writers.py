"""What a writer that was killed leaves in the folders of the data: vacuum takes it by its age."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

import explorer
import explorer.inspect as look
from explorer.maintenance import Approval, execute, plan_vacuum
from explorer.table.times import utc_time
from tests.data_tables import DataTable, field, struct
from tests.row_values import counted_rows
from tests.unit.maintenance.lake import DAY_MS, Lake, ms_ago, planned, start, vacuum

_KILLED = """
import os, sys
import explorer
from explorer.maintenance import Approval, execute, plan_optimize

rename = os.replace
def dying(source, target, **options):
    if str(target).startswith(f"{sys.argv[1]}/"):
        os._exit(9)
    rename(source, target, **options)
os.replace = dying
plan = plan_optimize(explorer.open_table(sys.argv[1]))
execute(plan, Approval(plan.digest), state_dir=sys.argv[2])
"""


def table_with_small_files(root: Path) -> Path:
    table = DataTable(
        root, struct(field("id", "long"), field("part", "string")), partitionColumns=["part"]
    )
    for number in range(4):
        rows = pa.table({"id": pa.array(range(number * 10, number * 10 + 5), pa.int64())})
        table.add(f"part=a/{number}.parquet", rows, partitionValues={"part": "a"})
    return table.write()


@pytest.mark.slow
def test_file_of_an_optimize_that_was_killed_is_named_and_goes_with_the_next_vacuum(
    tmp_path: Path,
) -> None:
    place = table_with_small_files(tmp_path / "t")
    before = counted_rows(explorer.read_rows(explorer.open_table(place).snapshot()))
    command = [sys.executable, "-c", _KILLED, str(place), str(tmp_path / "theirs")]
    assert subprocess.run(command, check=False, timeout=120).returncode == 9
    (left,) = (found.relative_to(place).as_posix() for found in place.rglob(".tmp-*"))
    assert left.startswith("part=a/")
    table = explorer.open_table(place)
    assert table.latest_version() == 0
    now_ms = time.time_ns() // 1_000_000
    for days, told in ((1, "may belong to a writer"), (8, "never finished it")):
        at = now_ms + days * DAY_MS
        (row,) = look.foreign_files(table, now=utc_time(at)).files.to_pylist()
        assert (row["path"], row["kind"]) == (left, "temporary file")
        assert told in row["reason"]
        assert row["vacuum_deletes"] is (days == 8)
        assert row["deletable_from"] is not None
        assert row["reference_deletes"] is False
        why = look.why_here(table, left, now=utc_time(at))
        assert (why.kind, why.reference_from) == ("unfinished file", None)
        assert why.deletable_from == row["deletable_from"]
        plan = plan_vacuum(table, clock=lambda at=at: at, state_dir=tmp_path / "ours")
        assert list(planned(plan)) == ([left] if days == 8 else [])
    receipt = execute(plan, Approval(plan.digest), clock=lambda: at, state_dir=tmp_path / "ours")
    assert receipt.status == "completed", receipt.problem
    assert not (place / left).exists()
    assert counted_rows(explorer.read_rows(explorer.open_table(place).snapshot())) == before


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def test_unfinished_files_go_by_their_age_where_nothing_but_their_name_hides_them(
    lake: Lake,
) -> None:
    start(lake, lake.add("p=1/live.parquet"))
    name = f".tmp-{'0a' * 16}"
    staged = "rows-0123abcd-0123-4abc-8abc-0123456789ab"
    attempt = "_temporary/0/_temporary/attempt_1/p=1"
    old = [
        name,
        f"p=1/{name}",
        f"_change_data/{name}",
        f"{staged}/{attempt}/part-0.parquet",
        f"{staged}/{attempt}/.part-0.parquet.crc",
        f"{staged}/.part-0.parquet.crc",
    ]
    foreign = [
        f"_hidden/{name}",
        f".staging/{name}",
        f"p=2/{name}/part.parquet",
        f"p=1/{name}.parquet",
        f"p=1/x{name}",
        "p=1/.tmp-mine",
        f"rows-mine/{attempt}/part-0.parquet",
        f"{staged}0/{attempt}/part-0.parquet",
        f"my-{staged}/{attempt}/part-0.parquet",
        f"p=1/{staged}/{attempt}/part-0.parquet",
        f"_{staged}/part-0.parquet",
        f"{staged.upper()}/{attempt}/part-0.parquet",
        f"sub/{name}",
        "sub/_delta_log/00000000000000000000.json",
    ]
    for path in (*old, *foreign):
        lake.file(path, age_days=8)
    young = f"p=1/.tmp-{'0b' * 16}"
    # what a job has written is needed as long as it writes
    other = "rows-9123abcd-0123-4abc-8abc-0123456789ab"
    at_work = f"{other}/{attempt}/part-1.parquet"
    needed = [f"{other}/_temporary/0/task_0/part-0.parquet", f"{other}/p=1/part-2.parquet"]
    for path in (young, at_work):
        lake.file(path, age_days=6)
    for path in needed:
        lake.file(path, age_days=8)
    plan = vacuum(lake)
    assert set(planned(plan)) == set(old)
    assert all("never finished it" in reason for reason in planned(plan).values())
    left = {row["path"]: row for row in plan.files.to_pylist() if row["action"] == "leave"}
    assert set(left) == {young, at_work, *needed, *foreign}
    for path in (young, at_work, *needed):
        assert int(left[path]["deletable_from"].timestamp() * 1000) == ms_ago(6) + 7 * DAY_MS
    assert all(left[path]["deletable_from"] is None for path in foreign)
    # the reference passes over what is hidden, and takes what has a dot in the middle
    assert plan.effect["reference_deletes_also"]["num_files"] == 1
    assert lake.execute(plan).status == "completed"
    assert all(lake.there(path) for path in (young, at_work, *needed, *foreign))
    assert vacuum(lake, mode="lite").files.num_rows == 0
