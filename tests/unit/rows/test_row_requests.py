"""What rows of data files on an object store cost: how many requests, which of them
are under way at once, and no byte that is not needed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.errors import CorruptDataError, NotFoundError
from explorer.protocol.vectors.deletion_vectors import (
    render_relative_place,
    render_vector,
    render_vector_file,
)
from tests.data_tables import DataTable, field, struct
from tests.lying_pages import DICTIONARY_PAGE, NUM_VALUES, change_page
from tests.object_store import Bucket, Request, counts_of, open_counted, reads_of
from tests.tables import FEATURE_PROTOCOL, Action, LogFolder, add, metadata

_COLUMNS = tuple(f"c{at}" for at in range(6))


def _table(root: Path, files: int, rows: int, groups: int = 1) -> Bucket:
    noise = random.Random(11)  # so that it cannot be compressed away
    table = DataTable(root, struct(*(field(name, "long") for name in _COLUMNS)))
    for at in range(files):
        columns = {
            name: pa.array([noise.getrandbits(62) for _ in range(rows)]) for name in _COLUMNS
        }
        place = root / f"{at}.parquet"
        pq.write_table(pa.table(columns), place, row_group_size=rows // groups)
        table.add(place.name, size=place.stat().st_size)
    table.write()
    return _uploaded(root)


def _uploaded(root: Path) -> Bucket:
    bucket = Bucket()
    bucket.upload(root, "t")
    return bucket


def test_small_data_files_are_one_request_each_at_once(tmp_path: Path) -> None:
    bucket = _table(tmp_path / "t", files=5, rows=10)
    snapshot = open_counted(bucket).snapshot()
    with bucket.meeting(5, reads_of(".parquet")):
        assert counts_of(bucket, lambda: explorer.read_rows(snapshot)) == {"range": 5}
    assert explorer.read_rows(snapshot).num_rows == 50


def test_large_data_file_costs_its_end_and_each_run_of_columns(tmp_path: Path) -> None:
    bucket = _table(tmp_path / "t", files=2, rows=60_000)
    snapshot = open_counted(bucket).snapshot()
    assert counts_of(bucket, lambda: explorer.read_rows(snapshot)) == {"range": 2 * 2}
    assert counts_of(bucket, lambda: explorer.read_rows(snapshot, ["c0"])) == {"range": 2 * 2}
    # two columns far from each other, at once
    columns = ["c0", "c3"]
    bucket.forget()
    with bucket.meeting(4, lambda asked: asked.kind == "range" and not _is_end(bucket, asked)):
        assert explorer.read_rows(snapshot, columns).num_rows == 120_000
    assert bucket.counts() == {"range": 2 * (1 + 2)}


def _is_end(bucket: Bucket, asked: Request) -> bool:
    return asked.end == bucket.size(asked.key)


def test_no_byte_of_a_data_file_is_fetched_twice_or_beyond_its_columns(tmp_path: Path) -> None:
    bucket = _table(tmp_path / "t", files=1, rows=60_000, groups=3)
    snapshot = open_counted(bucket).snapshot()
    bucket.forget()
    assert explorer.read_rows(snapshot, ["c1"]).num_rows == 60_000
    place = tmp_path / "t" / "0.parquet"
    footer = pq.ParquetFile(place).metadata
    wanted = sum(footer.row_group(at).column(1).total_compressed_size for at in range(3))
    ranges = sorted((asked.start or 0, asked.end or 0) for asked in bucket.requests)
    assert all(end <= start for (_, end), (start, _) in pairwise(ranges))
    assert sum(end - start for start, end in ranges) <= wanted + 2**17


def test_few_rows_open_few_files(tmp_path: Path) -> None:
    bucket = _table(tmp_path / "t", files=12, rows=20)
    snapshot = open_counted(bucket).snapshot()
    assert counts_of(bucket, lambda: explorer.read_rows(snapshot, limit=5)) == {"range": 1}
    found = explorer.read_rows(snapshot, limit=30)
    assert found.num_rows == 30


def test_file_whose_size_the_log_has_wrong_is_read_all_the_same(tmp_path: Path) -> None:
    for claimed in (1, 700, 10**9, 0, -1):
        root = tmp_path / str(claimed)
        root.mkdir()
        pq.write_table(pa.table({"id": range(20)}), root / "a.parquet")
        log = LogFolder(root / "t")
        (root / "a.parquet").rename(log.root / "a.parquet")
        log.commit(0, [FEATURE_PROTOCOL, metadata(), add("a.parquet", size=claimed)])
        snapshot = open_counted(_uploaded(log.root)).snapshot()
        assert explorer.read_rows(snapshot, ["id"])["id"].to_pylist() == [*range(20)]


def test_vectors_of_one_file_are_one_request_for_all_data_files(tmp_path: Path) -> None:
    unique = UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")
    hidden: Sequence[list[int]] = [[0, 1], [5], [7, 8, 9], [2]]
    contents = [render_vector(positions) for positions in hidden]
    data, offsets = render_vector_file(contents)
    log = LogFolder(tmp_path / "t")
    (log.root / f"deletion_vector_{unique}.bin").write_bytes(data)
    actions: list[Action] = []
    for at, (content, offset) in enumerate(zip(contents, offsets, strict=True)):
        place = log.root / f"{at}.parquet"
        pq.write_table(pa.table({"id": range(10 * at, 10 * at + 10)}), place)
        vector = {
            "storageType": "u",
            "pathOrInlineDv": render_relative_place(unique, ""),
            "offset": offset,
            "sizeInBytes": len(content),
            "cardinality": len(hidden[at]),
        }
        size = place.stat().st_size
        stats = '{"numRecords":10}'
        actions.append(add(place.name, size=size, stats=stats, deletionVector=vector))
    log.commit(0, [FEATURE_PROTOCOL, metadata(), *actions])
    bucket = _uploaded(log.root)
    snapshot = open_counted(bucket).snapshot()
    bucket.forget()
    found = explorer.read_rows(snapshot, ["id"])["id"].to_pylist()
    assert bucket.counts() == {"range": 4 + 1}
    assert bucket.counts(".bin") == {"range": 1}
    wanted = [10 * at + row for at in range(4) for row in range(10) if row not in hidden[at]]
    assert sorted(found) == wanted


def test_file_that_is_gone_is_told_when_its_turn_comes(tmp_path: Path) -> None:
    bucket = _table(tmp_path / "t", files=12, rows=20)
    snapshot = open_counted(bucket).snapshot()
    bucket.delete("t/2.parquet")
    assert explorer.read_rows(snapshot, limit=40).num_rows == 40
    with pytest.raises(NotFoundError) as caught:
        explorer.read_rows(snapshot)
    assert caught.value.kind == "data_missing"
    assert "2.parquet" in caught.value.problem


@pytest.mark.parametrize("rows", [10, 60_000], ids=["small", "large"])
def test_pages_are_looked_at_inside_of_what_was_fetched(rows: int, tmp_path: Path) -> None:
    table = DataTable(tmp_path / "t", struct(field("s", "string")))
    place = table.root / "x.parquet"
    pq.write_table(pa.table({"s": [f"{at}" for at in range(rows)]}), place)
    change_page(place, "dictionary", (DICTIONARY_PAGE, NUM_VALUES), 2**31 - 1)
    table.add(place.name, size=place.stat().st_size)
    table.write()
    bucket = _uploaded(table.root)
    snapshot = open_counted(bucket).snapshot()

    def read() -> None:
        with pytest.raises(CorruptDataError, match="a dictionary claims more values"):
            explorer.read_rows(snapshot)

    assert counts_of(bucket, read) == {"range": 1 if rows == 10 else 2}
