"""Files that bring rows: what is read is what was hashed, and a file that is not what it claims
to be is told."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.errors import CancelledError, ConflictError, DeltaError
from explorer.pipeline.planned_writes._file_inputs import open_inputs, rows_of_files
from explorer.progress import Cancel, Watch
from explorer.storage.parquet._thrift_compact import parse_struct, render_struct
from tests.lying_pages import DATA_PAGE, NUM_VALUES, SIZE, change_page

ROWS = pa.table({"id": list(range(100)), "land": ["DE", "FR"] * 50})


def parquet(place: Path, rows: pa.Table = ROWS, **more: Any) -> Path:
    pq.write_table(rows, place, row_group_size=40, **more)
    return place


def stream(place: Path, rows: pa.Table = ROWS) -> Path:
    with pa.OSFile(str(place), "wb") as sink, pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows, max_chunksize=30)
    return place


def arrow_file(place: Path, rows: pa.Table = ROWS) -> Path:
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with (
        pa.OSFile(str(place), "wb") as sink,
        pa.ipc.new_file(sink, rows.schema, options=options) as writer,
    ):
        writer.write_table(rows, max_chunksize=30)
    return place


def read(*places: Path) -> list[dict[str, Any]]:
    with open_inputs(places) as inputs:
        rows = rows_of_files(inputs)
        found = pa.Table.from_batches(rows.batches(), rows.arrow_schema).to_pylist()
        assert rows.num_rows == len(found)
        return found


def refused(*places: str | Path) -> DeltaError:
    with pytest.raises(DeltaError) as caught, open_inputs(places) as inputs:
        list(rows_of_files(inputs).batches())
    return caught.value


@pytest.mark.parametrize("write", [parquet, stream, arrow_file])
def test_every_kind_of_file_gives_its_rows_its_size_and_its_hash(
    write: Callable[[Path], Path], tmp_path: Path
) -> None:
    place = write(tmp_path / "given")
    assert read(place) == ROWS.to_pylist()
    with open_inputs([place]) as (item,):
        data = place.read_bytes()
        assert item.facts.sha256 == hashlib.sha256(data).hexdigest()
        assert (item.facts.size, item.facts.num_rows) == (len(data), 100)


def test_rows_may_be_read_again_for_another_try(tmp_path: Path) -> None:
    with open_inputs([stream(tmp_path / "a"), parquet(tmp_path / "b")]) as inputs:
        rows = rows_of_files(inputs)
        for _ in range(2):
            assert sum(batch.num_rows for batch in rows.batches()) == 200


def test_columns_of_several_files_are_matched_by_name(tmp_path: Path) -> None:
    inner = pa.struct([pa.field("x", pa.int64(), nullable=False)])
    fields = [pa.field("s", inner, nullable=False), pa.field("id", pa.int64(), nullable=False)]
    first = pa.table({"id": [1], "s": [{"x": 1}]})
    second = pa.Table.from_pylist([{"s": {"x": 2}, "id": 2}], pa.schema(fields))
    places = [parquet(tmp_path / "a", first), stream(tmp_path / "b", second)]
    assert read(*places) == [{"id": 1, "s": {"x": 1}}, {"id": 2, "s": {"x": 2}}]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"id": ["1"], "land": ["DE"]}, "`id` is int64 in the former and string here."),
        ({"id": [1]}, "`land` is missing in "),
        ({"id": [1], "land": ["DE"], "new": [1]}, "`new` is missing in "),
    ],
    ids=["type", "missing", "new"],
)
def test_files_of_other_columns_are_refused_by_the_column(
    tmp_path: Path, other: dict[str, list[Any]], said: str
) -> None:
    error = refused(parquet(tmp_path / "a"), parquet(tmp_path / "b", pa.table(other)))
    assert error.kind == "schema_mismatch"
    assert said in error.reason


def test_a_file_with_two_columns_of_one_name_is_refused(tmp_path: Path) -> None:
    rows = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    assert "several columns that are called `a`" in refused(stream(tmp_path / "a", rows)).problem


def test_a_file_without_rows_is_none_that_is_broken(tmp_path: Path) -> None:
    empty = ROWS.slice(0, 0)
    assert read(parquet(tmp_path / "a", empty), stream(tmp_path / "b", empty)) == []


def _cut(data: bytes) -> bytes:
    return data[: len(data) * 2 // 3]


def _between_batches(data: bytes) -> bytes:
    source = pa.BufferReader(data)
    reader = pa.ipc.open_stream(source)
    reader.read_next_batch()
    return data[: source.tell()]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_cut, "not be believed"),
        (_between_batches, "without the mark that ends a stream"),
        (lambda data: data + data, "such as a second one"),
        (lambda data: data[:3], "not be believed"),
        (lambda _: b"", "it is empty"),
        (lambda _: b"id,land\n1,DE\n", "not be believed"),
        (lambda _: b"PAR1", "not be believed"),
        (lambda _: b"ARROW1\0\0", "not be believed"),
        (lambda _: b"PAR1" + b"\xff" * 200 + b"PAR1", "not be believed"),
    ],
    ids=["cut", "between", "two", "head", "empty", "csv", "par", "arrow", "noise"],
)
def test_a_damaged_file_is_told(
    tmp_path: Path, change: Callable[[bytes], bytes], said: str
) -> None:
    place = stream(tmp_path / "given")
    place.write_bytes(change(place.read_bytes()))
    error = refused(place)
    assert error.kind == "data_corrupt"
    assert said in error.reason


@pytest.mark.parametrize("claimed", [99, 101, 2**40, -1])
def test_a_footer_that_claims_another_number_of_rows_is_told(tmp_path: Path, claimed: int) -> None:
    place = tmp_path / "given"
    pq.write_table(ROWS, place)
    data = place.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    footer = parse_struct(data[-8 - length : -8])
    footer[3] = footer[3][0], claimed
    group = footer[4][1][1][0]
    group[3] = group[3][0], claimed
    rendered = render_struct(footer)
    body = data[: -8 - length]
    place.write_bytes(body + rendered + len(rendered).to_bytes(4, "little") + b"PAR1")
    assert refused(place).kind == "data_corrupt"


@pytest.mark.parametrize("path", [(SIZE,), (DATA_PAGE, NUM_VALUES)], ids=["size", "values"])
def test_a_page_that_claims_what_it_cannot_hold_is_told(
    tmp_path: Path, path: tuple[int, ...]
) -> None:
    place = parquet(tmp_path / "given", use_dictionary=False)
    change_page(place, "data", path, 2**30)
    assert refused(place).kind == "data_corrupt"


def test_text_that_is_none_is_told_before_anybody_computes_with_it(tmp_path: Path) -> None:
    broken = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\x02\0\0\0"), pa.py_buffer(b"\xff\xfe")]
    )
    place = stream(tmp_path / "given", pa.table({"land": broken}))
    assert refused(place).kind == "data_corrupt"


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path, tmp_path / "nope", tmp_path / "pipe", "a\0b", ""):
        assert refused(place).problem.startswith("There is no file ")
    assert refused(os.fsdecode(b"\xff.parquet")).kind == "invalid_argument"
    assert "Name at least one." in refused().remedy


def test_a_file_that_is_named_twice_is_refused(tmp_path: Path) -> None:
    place = parquet(tmp_path / "a")
    (tmp_path / "link").symlink_to(place)
    for second in (place, tmp_path / "link", f"{tmp_path}/./a"):
        assert "is named twice" in refused(place, second).problem


def test_what_takes_the_name_of_a_file_is_not_read(tmp_path: Path) -> None:
    place = parquet(tmp_path / "a")
    with open_inputs([place]) as inputs:
        os.replace(stream(tmp_path / "b", ROWS.slice(0, 1)), place)
        assert sum(batch.num_rows for batch in rows_of_files(inputs).batches()) == 100


@pytest.mark.parametrize("write", [parquet, stream])
def test_a_file_that_changes_while_it_is_read_is_told(
    write: Callable[[Path], Path], tmp_path: Path
) -> None:
    place = write(tmp_path / "a")
    with open_inputs([place]) as inputs:
        batches = rows_of_files(inputs).batches()
        next(batches)
        with place.open("ab") as file:
            file.write(b"more")
        with pytest.raises(ConflictError, match="changed while it was read") as caught:
            list(batches)
    assert caught.value.kind == "plan_stale"


def test_hashing_can_be_stopped(tmp_path: Path) -> None:
    cancel = Cancel()
    cancel.cancel()
    with (
        pytest.raises(CancelledError),
        open_inputs([parquet(tmp_path / "a")], Watch(cancel=cancel)),
    ):
        pass
