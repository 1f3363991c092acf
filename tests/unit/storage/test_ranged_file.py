"""A file whose bytes come by requests: which ranges are asked for, and what is answered."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.errors import DeltaError, NotFoundError, StorageError
from explorer.storage.open import open_read_store
from explorer.storage.parquet.file_bytes import ParquetBytes
from explorer.storage.ports import RangeStore, ReadStore
from explorer.storage.ranged_file import RangedFile, merge_ranges
from tests.object_store import Bucket

_SIZE = 2**20
_DATA = bytes(range(256)) * (_SIZE // 256)


def _store(bucket: Bucket) -> RangeStore:
    store: ReadStore = open_read_store("counted://t", bucket.options)
    assert isinstance(store, RangeStore)
    return store


def _file() -> tuple[Bucket, RangedFile]:
    bucket = Bucket()
    bucket.put("t/x", _DATA)
    return bucket, RangedFile(_store(bucket), "x", _SIZE)


def _asked(bucket: Bucket) -> list[tuple[int | None, int | None]]:
    return sorted((found.start, found.end) for found in bucket.requests)


@given(
    st.lists(st.tuples(st.integers(0, 2 * _SIZE), st.integers(1, _SIZE)), max_size=8),
    st.lists(st.tuples(st.integers(0, _SIZE + 9), st.integers(0, _SIZE)), max_size=8),
)
def test_every_read_answers_as_the_whole_would(
    expected: list[tuple[int, int]], reads: list[tuple[int, int]]
) -> None:
    bucket, file = _file()
    file.keep(_SIZE - 100, _DATA[-100:])
    file.expect([(start, start + size) for start, size in expected])
    before = len(bucket.requests)
    whole = io.BytesIO(_DATA)
    for start, size in reads:
        assert file.seek(start) == whole.seek(start)
        assert file.read(size) == whole.read(size)
        assert file.tell() == whole.tell()
    assert len(bucket.requests) - before <= len(reads)


def test_what_was_expected_is_read_without_a_request() -> None:
    bucket, file = _file()
    file.expect([(10, 20), (100, 200), (500_000, 600_000)])
    # the hole between the first two is smaller than a request is dear
    assert _asked(bucket) == [(10, 200), (500_000, 600_000)]
    bucket.forget()
    for start, end in ((10, 20), (100, 200), (500_000, 600_000), (510_000, 510_001)):
        file.seek(start)
        assert bytes(file.read_buffer(end - start)) == _DATA[start:end]
    assert bucket.requests == []
    file.expect([(100, 200), (700_000, 700_100)])
    assert _asked(bucket) == [(700_000, 700_100)]


def test_nothing_beyond_what_is_read_is_fetched() -> None:
    bucket, file = _file()
    file.seek(5)
    assert file.read(3) == _DATA[5:8]
    assert _asked(bucket) == [(5, 8)]


def test_large_range_comes_in_pieces_at_once() -> None:
    bucket = Bucket()
    bucket.put("t/x", bytes(40 * 2**20))
    file = RangedFile(_store(bucket), "x", 40 * 2**20)
    with bucket.meeting(5, lambda asked: asked.kind == "range"):
        file.expect([(0, 40 * 2**20)])
    assert file.holds([(0, 40 * 2**20)])
    assert all((end or 0) - (start or 0) == 2**23 for start, end in _asked(bucket))


def test_merged_ranges_hold_all_and_nothing_far_between() -> None:
    assert merge_ranges([]) == []
    assert merge_ranges([(5, 9), (0, 3), (2, 6)]) == [(0, 9)]
    assert merge_ranges([(0, 1), (2**20, 2**20 + 1)]) == [(0, 1), (2**20, 2**20 + 1)]


def test_object_that_became_shorter_is_an_error(tmp_path: Path) -> None:
    place = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": range(100_000)}), place)
    bucket = Bucket()
    bucket.put("t/a", place.read_bytes())
    stored = ParquetBytes(_store(bucket), "a")
    with stored.open() as source:
        reader = pq.ParquetFile(source.file)
        bucket.put("t/a", place.read_bytes()[:1000])
        source.expect([0], [0])
        with pytest.raises((OSError, DeltaError)):
            reader.read()


def test_size_that_is_claimed_saves_asking_for_it(tmp_path: Path) -> None:
    place = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": range(100)}), place)
    size = place.stat().st_size
    for claimed, wanted in ((size, {"range": 1}), (None, {"head": 1, "range": 1})):
        bucket = Bucket()
        bucket.put("t/a", place.read_bytes())
        with ParquetBytes(_store(bucket), "a", claimed).open() as source:
            assert pq.ParquetFile(source.file).read().num_rows == 100
        assert bucket.counts() == wanted
    # and where it is wrong, the store is asked after all
    for claimed in (1, size - 1, size + 1, 10**9):
        bucket = Bucket()
        bucket.put("t/a", place.read_bytes())
        with ParquetBytes(_store(bucket), "a", claimed).open() as source:
            assert source.file.size() == size
            assert pq.ParquetFile(source.file).read().num_rows == 100


def test_file_without_an_end_of_parquet_is_left_to_its_reader() -> None:
    for data in (b"", b"PAR1", b"x" * 3000, b"x" * 3000 + b"\xff\xff\xff\xffPAR1"):
        bucket = Bucket()
        bucket.put("t/a", data)
        with ParquetBytes(_store(bucket), "a", 3000).open() as source:
            assert source.file.size() == len(data)
            with pytest.raises(pa.ArrowException):
                pq.ParquetFile(source.file)


def test_missing_object_is_not_found() -> None:
    for size in (None, 100):
        with (
            pytest.raises(NotFoundError),
            ParquetBytes(_store(Bucket()), "a", size).open(),
        ):
            pass


def test_empty_object_is_read_though_no_range_of_it_can_be() -> None:
    bucket = Bucket()
    bucket.put("t/empty", b"")
    store = _store(bucket)
    assert store.read("empty") == store.read("empty", 100) == b""
    with pytest.raises(StorageError):
        store.read_ranges("empty", [(0, 1)])
