"""The files of a plan, some at a time."""

from __future__ import annotations

import pyarrow as pa
import pytest

from explorer.maintenance.plan.file_list import FILES_SCHEMA, build_files, join_files
from widgets.screens.maintenance._ask_files import ActionCount, PlanFiles, PlanFilesQuery


def paths(*names: str) -> pa.Array:
    return pa.array(names, pa.string())


@pytest.fixture
def files() -> PlanFiles:
    return PlanFiles(
        join_files(
            [
                build_files(
                    paths("b.parquet", "a.parquet", "c.parquet"),
                    action="delete",
                    reason="it is Stray",
                    bytes=pa.array([20, 10, None], pa.int64()),
                ),
                build_files(
                    paths("_x/old.bin"), action="leave", reason="foreign", bytes=pa.array([7])
                ),
            ]
        )
    )


def listed(files: PlanFiles, **query: object) -> list[str]:
    return files.read(PlanFilesQuery(**query)).rows["path"].to_pylist()  # type: ignore[arg-type]


def test_what_is_lost_comes_first_and_an_unknown_size_is_not_zero(files: PlanFiles) -> None:
    assert files.count() == [
        ActionCount(action="delete", num_files=3, num_bytes=None),
        ActionCount(action="leave", num_files=1, num_bytes=7),
    ]


def test_files_are_turned_page_by_page(files: PlanFiles) -> None:
    first = files.read(PlanFilesQuery(limit=3))
    assert (first.total, first.rows.num_rows) == (4, 3)
    assert listed(files, limit=3, offset=3) == ["c.parquet"]


def test_files_are_sorted_and_unknown_sizes_come_last(files: PlanFiles) -> None:
    largest = ["b.parquet", "a.parquet", "_x/old.bin", "c.parquet"]
    assert listed(files, sort_by="bytes", descending=True) == largest
    assert listed(files, sort_by="bytes") == ["_x/old.bin", "a.parquet", "b.parquet", "c.parquet"]


def test_files_are_found_by_action_path_and_reason(files: PlanFiles) -> None:
    assert listed(files, action="leave") == ["_x/old.bin"]
    assert listed(files, contains="STRAY") == ["a.parquet", "b.parquet", "c.parquet"]
    assert listed(files, contains="old") == ["_x/old.bin"]
    assert listed(files, action="delete", contains="b.par") == ["b.parquet"]
    assert listed(files, action="add") == []


def test_a_plan_without_files_has_none() -> None:
    none = PlanFiles(pa.Table.from_batches([], FILES_SCHEMA))
    assert none.count() == []
    assert listed(none, contains="x") == []


@pytest.mark.slow
def test_a_million_files_stay_columns(files: PlanFiles) -> None:
    names = pa.array([f"part-{number:07}.parquet" for number in range(1_000_000)])
    sizes = pa.array(range(1_000_000), pa.int64())
    many = PlanFiles(build_files(names, action="delete", reason="unused", bytes=sizes))
    page = many.read(PlanFilesQuery(sort_by="bytes", descending=True, contains="part-09"))
    assert page.total == 100_000
    assert page.rows["path"][0].as_py() == "part-0999999.parquet"
