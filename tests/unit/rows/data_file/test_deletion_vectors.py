"""Deletion vectors from their files: real tables against a second reader, and false claims."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from deltalake import DeltaTable

import explorer
from explorer.errors import CorruptDataError, CorruptLogError, NotFoundError, UnsupportedError
from explorer.protocol.vectors.deletion_vectors import (
    DeletionVectorDescriptor,
    build_inline_descriptor,
    deletion_mask,
    render_relative_place,
    render_vector,
    render_vector_file,
)
from explorer.rows.data_file.data_file import FILE_COLUMNS, data_files
from explorer.rows.data_file.deletion_vectors import read_deletion_vector, read_deletion_vectors
from explorer.storage.local import LocalStore
from tests.corpus import TABLES, place_table, table_name

UNIQUE = UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")
FILE = f"ab/deletion_vector_{UNIQUE}.bin"
STORED = {"dv-relative", "dv-absolute", "dv-inline"}
WITH_VECTORS = [
    table
    for table in TABLES
    if table.get("num_rows_live") is not None and not STORED.isdisjoint(table["features"])
]


class CountingStore(LocalStore):
    """Writes down what is asked of it."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.asked: list[Any] = []

    def read(self, path: str, limit: int | None = None) -> bytes:
        self.asked.append((path, limit))
        return super().read(path, limit)

    def open_input(self, path: str) -> pa.NativeFile:
        self.asked.append(path)
        return super().open_input(path)


def write_vectors(root: Path, *wanted: list[int], gap: int = 0) -> list[DeletionVectorDescriptor]:
    """A file of vectors below `root`, the last of them behind a hole of `gap` bytes."""
    contents = [render_vector(positions) for positions in wanted]
    data, offsets = render_vector_file(contents)
    place = root / FILE
    place.parent.mkdir(parents=True)
    with place.open("wb") as file:
        file.write(data[: offsets[-1]])
        file.seek(gap, 1)
        file.write(data[offsets[-1] :])
    offsets[-1] += gap
    return [
        DeletionVectorDescriptor(
            storage_type="u",
            path_or_inline_dv=render_relative_place(UNIQUE, "ab"),
            offset=offset,
            size_in_bytes=len(content),
            cardinality=len(positions),
        )
        for positions, content, offset in zip(wanted, contents, offsets, strict=True)
    ]


def peer_masks(table: Path) -> Mapping[str, list[bool]]:
    """Live rows by the last part of the path, as deltalake says."""
    found = pa.table(DeltaTable(str(table)).deletion_vectors().read_all()).to_pylist()
    return {row["filepath"].rpartition("/")[2]: row["selection_vector"] for row in found}


@pytest.mark.rule("dv-format-bitmap", "dv-i-inline", "dv-p-absolute", "dv-storage-kinds")
@pytest.mark.rule("dv-u-path")
@pytest.mark.parametrize("table", WITH_VECTORS, ids=table_name)
def test_real_vectors_hide_what_the_peer_says(table: dict[str, Any], tmp_path: Path) -> None:
    place = place_table(table, tmp_path)
    snapshot = explorer.open_table(place).snapshot()
    files = list(data_files(snapshot.files(FILE_COLUMNS)))
    described = [(file.path, file.deletion_vector) for file in files if file.deletion_vector]
    vectors = read_deletion_vectors(snapshot.store, [vector for _, vector in described])
    found = {
        path.rpartition("/")[2]: [
            not hidden for hidden in deletion_mask(vector, 0, vector.max() + 1).to_pylist()
        ]
        for (path, _), vector in zip(described, vectors, strict=True)
    }
    wanted = peer_masks(place)
    assert found.keys() == wanted.keys()
    for name, live in found.items():
        assert live == wanted[name][: len(live)]
        assert all(wanted[name][len(live) :])


@pytest.mark.rule("dv-files-many-per-file", "dv-offset")
def test_vectors_of_one_file_are_one_request(tmp_path: Path) -> None:
    wanted = [[1, 2], [7], list(range(0, 1000, 3))]
    descriptors = write_vectors(tmp_path, *wanted)
    store = CountingStore(str(tmp_path))
    found = read_deletion_vectors(store, [*descriptors[::-1], build_inline_descriptor([9])])
    assert [list(vector) for vector in found] == [*wanted[::-1], [9]]
    assert store.asked == [(FILE, (tmp_path / FILE).stat().st_size)]


@pytest.mark.rule("dv-offset", "dv-storage-version")
def test_vector_far_inside_a_large_file_is_read_alone(tmp_path: Path) -> None:
    *_, far = write_vectors(tmp_path, [1], [5, 6], gap=10**9)
    store = CountingStore(str(tmp_path))
    assert list(read_deletion_vector(store, far)) == [5, 6]
    assert store.asked == [FILE]
    (tmp_path / FILE).open("r+b").write(b"\2")
    with pytest.raises(CorruptDataError, match="version byte"):
        read_deletion_vector(store, far)


@pytest.mark.rule("dv-absolutepath-p", "dv-p-absolute")
def test_absolute_path_outside_of_the_table_is_read(tmp_path: Path) -> None:
    (descriptor,) = write_vectors(tmp_path / "else where", [3, 8])
    path = f"file:{tmp_path}/else%20where/{FILE}"
    outside = replace(descriptor, storage_type="p", path_or_inline_dv=path)
    store = LocalStore(str(tmp_path / "table"))
    assert list(read_deletion_vector(store, outside)) == [3, 8]
    other = replace(outside, path_or_inline_dv=f"s3://bucket/{FILE}")
    with pytest.raises(UnsupportedError, match="another store"):
        read_deletion_vector(store, other)


@pytest.mark.rule("dv-cardinality", "dv-offset", "dv-sizeinbytes", "dv-storagetype")
@pytest.mark.parametrize(
    ("change", "refusal", "problem"),
    [
        ({"size_in_bytes": 2**31 - 1}, UnsupportedError, "larger than is read"),
        ({"size_in_bytes": 2**28}, CorruptDataError, "too short"),
        ({"size_in_bytes": 2**20}, CorruptDataError, "too short"),
        ({"offset": 2**31 - 1}, CorruptDataError, "too short"),
        ({"offset": -1}, CorruptLogError, "no valid numbers"),
        ({"cardinality": 10**15}, CorruptDataError, "does not fit the log"),
        ({"storage_type": "q"}, UnsupportedError, "unknown way"),
    ],
    ids=str,
)
def test_false_claim_is_refused(
    tmp_path: Path, change: dict[str, Any], refusal: type[Exception], problem: str
) -> None:
    (descriptor,) = write_vectors(tmp_path, [1, 5])
    with pytest.raises(refusal, match=problem):
        read_deletion_vector(LocalStore(str(tmp_path)), replace(descriptor, **change))


def test_missing_file_is_missing_data(tmp_path: Path) -> None:
    (descriptor,) = write_vectors(tmp_path, [1, 5])
    (tmp_path / FILE).unlink()
    with pytest.raises(NotFoundError, match="vacuum") as missing:
        read_deletion_vector(LocalStore(str(tmp_path)), descriptor)
    assert missing.value.kind == "data_missing"


@pytest.mark.rule("dv-format-numbuckets")
def test_sound_checksum_does_not_vouch_for_a_bitmap(tmp_path: Path) -> None:
    (descriptor,) = write_vectors(tmp_path, [1])
    content = render_vector([1])[:4] + (2**60).to_bytes(8, "little") + bytes(20)
    framed = len(content).to_bytes(4, "big") + content + zlib.crc32(content).to_bytes(4, "big")
    (tmp_path / FILE).write_bytes(b"\1" + framed)
    with pytest.raises(CorruptDataError, match="claims 1152921504606846976 bitmaps"):
        read_deletion_vector(
            LocalStore(str(tmp_path)), replace(descriptor, size_in_bytes=len(content))
        )
