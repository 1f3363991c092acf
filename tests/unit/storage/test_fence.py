"""A log leads below its own root and the places that are allowed, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer import open_table
from explorer.errors import DeltaError
from explorer.rows.read import read_rows
from explorer.storage.open import open_read_store
from explorer.storage.ports import ReadStore
from tests.tables import PROTOCOL, LogFolder, add, metadata


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    for name in ("table/day=1", "allowed", "outside", "table-twin"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "x").write_bytes(b"x")
    (tmp_path / "table" / "x").write_bytes(b"x")
    (tmp_path / "table" / "leads-out").symlink_to(tmp_path / "outside")
    (tmp_path / "table" / "linked").symlink_to(tmp_path / "outside" / "x")
    (tmp_path / "table" / "near").symlink_to(tmp_path / "allowed" / "x")
    return tmp_path


READS: list[Callable[[ReadStore, str], object]] = [
    lambda store, path: store.read(path),
    lambda store, path: store.stat(path),
    lambda store, path: list(store.read_many([path])),
    lambda store, path: store.open_input(path),
]


@pytest.mark.parametrize("read", READS, ids=["read", "stat", "read_many", "open_input"])
@pytest.mark.parametrize(
    "path",
    [
        "{lake}/outside/x",
        "file:{lake}/outside/x",
        "FILE:///{lake}/outside/x",
        "/etc/hostname",
        "../outside/x",
        "day=1/../../outside/x",
        "{lake}/table/../outside/x",
        "{lake}/table-twin/x",
        "leads-out/x",
        "linked",
    ],
)
def test_what_lies_outside_is_refused_before_it_is_read(
    lake: Path, path: str, read: Callable[[ReadStore, str], object]
) -> None:
    store = open_read_store(str(lake / "table"), within=[str(lake / "allowed")])
    with pytest.raises(DeltaError) as refused:
        read(store, path.format(lake=lake))
    assert refused.value.kind == "storage_refused"


@pytest.mark.parametrize("read", READS, ids=["read", "stat", "read_many", "open_input"])
@pytest.mark.parametrize(
    "path", ["x", "day=1/x", "day=1/../x", "{lake}/table/x", "{lake}/allowed/x", "near"]
)
def test_what_is_allowed_is_read(
    lake: Path, path: str, read: Callable[[ReadStore, str], object]
) -> None:
    read(
        open_read_store(str(lake / "table"), within=[str(lake / "allowed")]), path.format(lake=lake)
    )


def test_a_commit_that_is_a_link_out_of_the_table_is_not_read(lake: Path) -> None:
    store = open_read_store(str(lake / "table"), within=[])
    with pytest.raises(DeltaError) as refused:
        store.read_heads("", ["linked"], 10)  # type: ignore[attr-defined]
    assert refused.value.kind == "storage_refused"


@pytest.mark.parametrize(
    ("path", "is_read"),
    [
        ("x", True),
        ("memory://fenced/table/x", True),
        ("memory://fenced/allowed/x", True),
        ("memory://fenced/outside/x", False),
        ("../outside/x", False),
        ("%2e%2e/outside/x", False),
        ("memory://fenced/allowed/../outside/x", False),
    ],
)
def test_the_same_holds_on_other_stores(path: str, is_read: bool) -> None:
    files = fsspec.filesystem("memory")
    for name in ("table", "allowed", "outside"):
        files.pipe_file(f"/fenced/{name}/x", b"x")
    store = open_read_store("memory://fenced/table", within=["memory://fenced/allowed"])
    if is_read:
        assert store.read(path) == b"x"
        return
    with pytest.raises(DeltaError) as refused:
        store.read(path)
    assert refused.value.kind == "storage_refused"


def test_a_refusal_shows_no_query_of_the_path() -> None:
    store = open_read_store("memory://fenced/table", within=[])
    with pytest.raises(DeltaError) as refused:
        store.read("https://user:hunter2@host/x?sig=hunter2")
    assert "hunter2" not in str(refused.value.as_dict())


def clone(lake: Path) -> Path:
    """A table with one data file that lies elsewhere."""
    file = lake / "outside" / "a.parquet"
    pq.write_table(pa.table({"id": [1, 2]}), file)
    log = LogFolder(lake / "clone")
    log.commit(0, [PROTOCOL, metadata(), add(str(file), size=file.stat().st_size)])
    return log.root


def test_rows_of_a_clone_are_read_only_below_allowed_places(lake: Path) -> None:
    place = clone(lake)
    assert read_rows(open_table(place).snapshot()).num_rows == 2
    allowed = open_table(place, within=[str(lake / "outside")])
    assert read_rows(allowed.snapshot()).num_rows == 2
    fenced = open_table(place, within=[str(lake / "allowed")]).snapshot()
    assert fenced.num_files == 1  # what the log says is shown all the same
    with pytest.raises(DeltaError) as refused:
        read_rows(fenced)
    assert refused.value.kind == "storage_refused"
