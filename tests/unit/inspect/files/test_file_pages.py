"""Pages of files."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import pytest

import explorer
import explorer.inspect as look
from explorer.errors import InvalidArgumentError
from explorer.table.snapshot import Snapshot
from tests.tables import FEATURE_PROTOCOL, LogFolder, add, metadata, vector

SIZES = {"b": 30, "a": 10, "d": 20, "C": 40}


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    folder = LogFolder(tmp_path / "table")
    folder.commit(0, [FEATURE_PROTOCOL, metadata(partitionColumns=["part"])])
    for version, (name, size) in enumerate(SIZES.items(), start=1):
        fields = {"partitionValues": {"part": None if name == "a" else f"Emea-{size}"}}
        if name != "d":
            fields["stats"] = json.dumps({"numRecords": size})
        if name == "b":
            fields["deletionVector"] = vector(cardinality=7)
        folder.commit(version, [add(f"{name}.parquet", size=size, **fields)])
    return explorer.open_table(folder.root).snapshot()


def names(page: look.FilesPage) -> str:
    return "".join(path[0] for path in page.rows.column("path").to_pylist())


@pytest.mark.parametrize(
    ("sort_by", "descending", "order"),
    [
        ("path", False, "Cabd"),
        ("path", True, "dbaC"),
        ("size", False, "adbC"),
        ("size", True, "Cbda"),
        ("num_records", False, "abCd"),
        ("num_records", True, "Cbad"),
        ("deleted_rows", True, "badC"),
        ("partition_values.part", False, "dbCa"),
    ],
)
def test_files_are_sorted_with_nulls_last(
    snapshot: Snapshot, sort_by: str, descending: bool, order: str
) -> None:
    page = look.files_page(snapshot, offset=0, limit=None, sort_by=sort_by, descending=descending)
    assert names(page) == order


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sort_by", "descending"),
    [("path", False), ("size", True), ("num_records", False), ("deleted_rows", True)],
)
def test_first_pages_of_many_files_are_those_of_all(
    tmp_path: Path, sort_by: str, descending: bool
) -> None:
    """Of files with the same size the one that the log has first comes first; a thousand files
    are told without sorting all, and no more."""
    folder = LogFolder(tmp_path / "table")
    files = [
        add(
            f"{at * 7919 % 5003:04}.parquet",
            size=at * 31 % 700,
            stats=json.dumps({"numRecords": at % 2000}) if at % 3 else None,
            deletionVector=vector(cardinality=1) if at < 1500 else None,
        )
        for at in range(5003)
    ]
    folder.commit(0, [FEATURE_PROTOCOL, metadata(), *files])
    every = explorer.open_table(folder.root).snapshot()
    by: dict[str, Any] = {"sort_by": sort_by, "descending": descending}
    expected = look.files_page(every, offset=0, limit=None, **by)
    fresh = explorer.open_table(folder.root).snapshot()
    for offset, limit in ((0, 10), (990, 10), (995, 10), (0, 0)):
        page = look.files_page(fresh, offset=offset, limit=limit, **by)
        assert page.total == expected.total == len(files)
        assert page.rows.equals(expected.rows.slice(offset, limit).combine_chunks())


def test_pages_follow_each_other_and_end(snapshot: Snapshot) -> None:
    pages = [look.files_page(snapshot, offset=at, limit=3) for at in (0, 3, 6)]
    assert [names(page) for page in pages] == ["Cab", "d", ""]
    assert {page.total for page in pages} == {4}


@pytest.mark.parametrize(
    ("text", "left"), [("D.PAR", "d"), ("emea-4", "C"), ("nowhere", ""), (".*", "")]
)
def test_a_filter_looks_into_paths_and_partition_values(
    snapshot: Snapshot, text: str, left: str
) -> None:
    page = look.files_page(snapshot, offset=0, limit=10, contains=text)
    assert (names(page), page.total) == (left, len(left))


def test_only_the_columns_asked_for_are_there(snapshot: Snapshot) -> None:
    page = look.files_page(snapshot, offset=1, limit=1, columns=["path", "stats"])
    assert page.rows.to_pylist() == [{"path": "a.parquet", "stats": '{"numRecords": 10}'}]


@pytest.mark.parametrize("sort_by", ["stats", "", "partition_value"])
def test_an_order_that_is_none_is_refused(snapshot: Snapshot, sort_by: str) -> None:
    with pytest.raises(InvalidArgumentError, match="sorted"):
        look.files_page(snapshot, offset=0, limit=1, sort_by=sort_by)


def test_an_empty_table_has_an_empty_page(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "empty")
    folder.commit(0, [FEATURE_PROTOCOL, metadata()])
    snapshot = explorer.open_table(folder.root).snapshot()
    page = look.files_page(snapshot, offset=0, limit=5, contains="x", sort_by="size")
    assert (page.rows.num_rows, page.total) == (0, 0)


@pytest.mark.slow
def test_what_is_kept_of_a_snapshot_goes_away_with_it(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "table")
    folder.commit(0, [FEATURE_PROTOCOL, metadata(), add("a")])
    table = explorer.open_table(folder.root)
    page = look.files_page(table.snapshot(), offset=0, limit=5)
    gc.collect()
    folder.commit(1, [add("b")])
    assert page.total == 1
    assert look.files_page(table.snapshot(), offset=0, limit=5).total == 2
