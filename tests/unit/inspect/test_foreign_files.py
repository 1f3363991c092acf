"""What lies in a table's folder that Delta does not manage, held against vacuum."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import explorer
import explorer.inspect as look
from explorer import maintenance
from explorer.errors import CancelledError
from explorer.maintenance import plan_vacuum
from explorer.progress import Cancel
from explorer.protocol.vectors.deletion_vectors import parse_relative_place
from explorer.table.times import utc_time
from tests.demo_story import LATELY, copy_demo
from tests.tables import vector
from tests.unit.maintenance.lake import NOW_MS, Lake, planned, start, vacuum

NOW = utc_time(NOW_MS)
PLACE = "ab^-aqEH.-t@S}K{vb[*k^"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def folder(lake: Lake) -> look.Folder:
    return look.foreign_files(lake.table, now=NOW)


def by_path(found: look.Folder) -> dict[str, dict[str, Any]]:
    return {row["path"]: row for row in found.files.to_pylist()}


def parts(found: look.Folder) -> dict[str, tuple[int, int]]:
    return {row["part"]: (row["num_files"], row["bytes"]) for row in found.sizes.to_pylist()}


def on_disk(root: Path) -> int:
    return sum(place.lstat().st_size for place in root.rglob("*") if place.is_file())


def test_table_without_foreign_files_says_so(lake: Lake) -> None:
    start(lake, lake.add("a"), lake.add("b"))
    lake.file(parse_relative_place(PLACE))
    hidden = lake.add("a", deletionVector=vector(PLACE, offset=1))
    lake.commit(1, [lake.remove("a", age_days=20), hidden], age_days=20)
    found = folder(lake)
    assert found.files.num_rows == 0
    assert found.sentence.endswith("Delta manages every file here.")


def test_each_kind_is_told_and_what_either_vacuum_would_do(lake: Lake) -> None:
    start(lake, lake.add("a"))
    old = {
        "orphan.parquet": "orphaned data file",
        "_change_data/lost.parquet": "orphaned change data",
        "deletion_vector_00000000-0000-4000-8000-000000000000.bin": "orphaned deletion vector",
        "metadata/v1.metadata.json": "Iceberg metadata",
        "metadata/snap-1.avro": "Iceberg metadata",
        "_SUCCESS": "marker of a job",
        ".part-0.parquet.crc": "checksum of a file system",
        "_temporary/0/part.parquet": "temporary file",
        "_notes/plan.md": "hidden",
        "notes.txt": "other",
        "sub/_delta_log/00000000000000000000.json": "file of another Delta table",
        "sub/part.parquet": "file of another Delta table",
    }
    for name in old:
        lake.file(name, age_days=8)
    lake.file("new.parquet", age_days=1)
    lake.file("new.txt", age_days=1)
    (lake.root / "link").symlink_to(lake.root / "a")
    rows = by_path(folder(lake))
    young = {"new.parquet": "orphaned data file", "new.txt": "other"}
    expected = old | young | {"link": "link or odd name"}
    assert {path: row["kind"] for path, row in rows.items()} == expected
    # what our vacuum would do is what its plan says
    deleted = planned(vacuum(lake))
    assert {path for path, row in rows.items() if row["vacuum_deletes"]} == set(deleted)
    assert rows["new.parquet"]["deletable_from"] > NOW
    # the reference takes whatever is old and not hidden
    theirs = {path for path, row in rows.items() if row["reference_deletes"]}
    more = {"metadata/v1.metadata.json", "metadata/snap-1.avro", "notes.txt"}
    # a danger worth seeing: it would take the files of a table below this one
    assert theirs == set(deleted) | more | {"sub/part.parquet"}


def test_every_byte_of_the_folder_belongs_to_one_part(lake: Lake) -> None:
    start(lake, lake.add("live"), lake.add("old"), lake.add("young"))
    lake.file("_change_data/c.parquet", age_days=2, size=7)
    change = {"path": "_change_data/c.parquet", "partitionValues": {}, "size": 7}
    lake.commit(1, [lake.remove("old", age_days=8)], age_days=8)
    lake.commit(
        2, [lake.remove("young", age_days=2), {"cdc": {**change, "dataChange": False}}], age_days=2
    )
    lake.file("orphan.parquet", age_days=9, size=11)
    lake.file("notes.txt", age_days=9, size=13)
    found = parts(folder(lake))
    log = on_disk(lake.root / "_delta_log")
    assert found == {
        "live": (1, 100),
        "kept": (1, 100),
        "change data": (1, 7),
        "deletable": (1, 100),
        "orphaned": (1, 11),
        "foreign": (1, 13),
        "log": (3, log),
    }
    assert sum(size for _, size in found.values()) == on_disk(lake.root)


@pytest.mark.slow
def test_after_a_vacuum_the_folder_is_the_table(tmp_path: Path) -> None:
    now = LATELY
    copy_demo(tmp_path / "demo", now)
    table = explorer.open_table(tmp_path / "demo")
    before = look.foreign_files(table)
    assert sum(size for _, size in parts(before).values()) == on_disk(tmp_path / "demo")
    assert parts(before)["deletable"][0] > 0
    plan = plan_vacuum(table, state_dir=tmp_path / "state")
    deletable, orphaned = parts(before)["deletable"], parts(before)["orphaned"]
    assert len(planned(plan)) == deletable[0] + orphaned[0]
    approval = maintenance.Approval(plan.digest)
    maintenance.execute(plan, approval, state_dir=tmp_path / "state")
    after = look.foreign_files(explorer.open_table(tmp_path / "demo"))
    assert (parts(after)["deletable"], parts(after)["orphaned"]) == ((0, 0), (0, 0))
    assert parts(after)["live"] == parts(before)["live"]


def test_table_of_nothing_but_its_log_is_measured(lake: Lake) -> None:
    start(lake)
    found = parts(folder(lake))
    assert found["live"] == (0, 0)
    assert found["log"][0] == 1


def test_cancel_stops_it(lake: Lake) -> None:
    start(lake, lake.add("a"))
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(CancelledError):
        look.foreign_files(lake.table, cancel=cancel)
