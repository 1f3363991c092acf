"""New data files of users: one partition each, of about one size, whole or not there."""

from __future__ import annotations

import math
from pathlib import Path
from uuid import UUID

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.errors import InvalidArgumentError, StorageError
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.arrow_types import delta_schema
from explorer.protocol.schema import render_schema
from explorer.storage.local import LocalStore
from explorer.writing.files import new_file, row_files
from explorer.writing.files._partition_keys import split_by_partition
from explorer.writing.files.row_files import RowFiles, RowForm, names_of, row_form
from tests.arrow_memory import counted_memory

STATEMENT = UUID("6f1b4b7e-5f0c-4d0e-9d8e-0a1b2c3d4e5f")
PROTOCOL = Protocol(min_reader_version=1, min_writer_version=2)
MAPPED = Protocol(min_reader_version=2, min_writer_version=5)


def form_of(schema: pa.Schema, partition_by: tuple[str, ...] = (), **settings: object) -> RowForm:
    metadata = Metadata(
        id="t", schema_string=render_schema(delta_schema(schema)), partition_columns=partition_by
    )
    return row_form(PROTOCOL, metadata, **settings)  # type: ignore[arg-type]


def write(folder: Path, form: RowForm, rows: pa.Table, **settings: int) -> pa.Table:
    with RowFiles(LocalStore(str(folder)), form, STATEMENT, **settings) as files:
        for batch in rows.to_batches():
            files.add(batch)
    return pa.Table.from_batches([files.written()])


def rows_of(folder: Path, written: pa.Table) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for path in names_of(written):
        found += pq.read_table(folder / path, partitioning=None).to_pylist()
    return found


def data_files(folder: Path) -> list[str]:
    return sorted(each.relative_to(folder).as_posix() for each in folder.rglob("*.parquet"))


def test_every_partition_gets_a_file_of_its_own_and_null_is_written_like_an_empty_text(
    tmp_path: Path,
) -> None:
    rows = pa.table({"id": [1, 2, 3, 4, 5], "land": ["DE", "", None, "DE", "a/b"]})
    written = write(tmp_path, form_of(rows.schema, ("land",)), rows)
    found = {
        dict(values)["land"]: count
        for values, count in zip(
            written["partition_values"].to_pylist(), written["num_rows"].to_pylist(), strict=True
        )
    }
    assert found == {"DE": 2, None: 2, "a/b": 1}
    folders = {path.partition("/")[0] for path in names_of(written)}
    assert folders == {"land=DE", "land=__HIVE_DEFAULT_PARTITION__", "land=a%2Fb"}
    assert sorted(row["id"] for row in rows_of(tmp_path, written)) == [1, 2, 3, 4, 5]
    assert all("land" not in row for row in rows_of(tmp_path, written))


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (pa.array([2_932_897, -719_529], pa.date32()), ["+10000-01-01", "-0001-12-31"]),
        (pa.array([1], pa.timestamp("us", "UTC")), ["1970-01-01T00:00:00.000001Z"]),
        (pa.array([1], pa.timestamp("us")), ["1970-01-01 00:00:00.000001"]),
        (pa.array([0.1], pa.float32()), ["0.1"]),
        (pa.array([math.nan, math.nan, math.inf]), ["NaN", "Infinity"]),
        (pa.array(["-12345678901234567890.1"]).cast(pa.decimal128(38, 1)), None),
        (pa.array([True, None, False]), ["true", None, "false"]),
        (pa.array([b"abc"]), ["abc"]),
    ],
)
def test_partition_values_are_written_as_the_log_has_them(
    values: pa.Array, texts: list[str | None] | None
) -> None:
    batch = pa.record_batch({"p": values})
    found = [key[0] for key, _ in split_by_partition(batch, ["p"])]
    assert found == (texts or [str(value) for value in values.to_pylist()])


def test_a_binary_value_that_is_no_text_cannot_be_partitioned_by() -> None:
    batch = pa.record_batch({"p": pa.array([b"\xff\xfe"])})
    with pytest.raises(InvalidArgumentError, match="binary partition value"):
        list(split_by_partition(batch, ["p"]))


def test_rows_keep_their_partition_over_several_columns() -> None:
    count = 1000
    batch = pa.record_batch(
        {
            "a": pa.array([number % 7 for number in range(count)]),
            "b": pa.array([f"x{number % 3}" for number in range(count)]),
            "n": pa.array(range(count)),
        }
    )
    parts = dict(split_by_partition(batch, ["a", "b"]))
    assert len(parts) == 21
    for (first, second), part in parts.items():
        assert set(part["a"].to_pylist()) == {int(first or "")}
        assert set(part["b"].to_pylist()) == {second}
    assert sorted(number for part in parts.values() for number in part["n"].to_pylist()) == list(
        range(count)
    )


@pytest.mark.slow
def test_a_file_that_is_large_enough_is_followed_by_another(tmp_path: Path) -> None:
    rows = pa.table(
        {"id": range(600_000), "text": [f"{n * 7919 % 100_003:x}" for n in range(600_000)]}
    )
    written = write(tmp_path, form_of(rows.schema, target_bytes=2**19), rows)
    sizes = written["size"].to_pylist()
    assert len(sizes) > 2
    assert all(2**19 <= size < 2**21 for size in sizes[:-1])
    assert sorted(row["id"] for row in rows_of(tmp_path, written)) == list(range(600_000))


@pytest.mark.parametrize("worth", [0, 2**40])
def test_files_are_the_same_and_as_large_whether_threads_encode_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, worth: int
) -> None:
    count, each = 80_000, 3_000
    monkeypatch.setattr(new_file, "_WORTH_THREADS", worth)
    monkeypatch.setattr(new_file, "ROWS_PER_GROUP", each)
    ids = pa.array(np.random.default_rng(1).permutation(count))
    rows = pa.table({"id": ids, "n": pa.nulls(count, pa.string())})
    form = form_of(rows.schema, target_bytes=2**16)
    written = write(tmp_path, form, rows)

    assert pa.array([row["id"] for row in rows_of(tmp_path, written)]).equals(ids)
    sizes = [(tmp_path / path).stat().st_size for path in names_of(written)]
    assert written["size"].to_pylist() == sizes
    assert len(sizes) > 2
    assert all(2**16 <= size < 2**17 for size in sizes[:-1])
    groups = [pq.read_metadata(tmp_path / path) for path in names_of(written)]
    counts = [one.row_group(at).num_rows for one in groups for at in range(one.num_row_groups)]
    assert max(counts) == each
    assert sum(written["num_rows"].to_pylist()) == count


def test_rows_of_many_partitions_do_not_wait_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new_file, "_WORTH_THREADS", 0)
    monkeypatch.setattr(row_files, "_MOST_HELD", 2**15)
    rows = pa.table({"id": range(20_000), "p": [at % 50 for at in range(20_000)]})
    with RowFiles(LocalStore(str(tmp_path)), form_of(rows.schema, ("p",)), STATEMENT) as files:
        for batch in rows.to_batches(1_000):
            files.add(batch)
            assert sum(file.memory_bytes for file in files._open.values()) <= 2**15
    written = pa.Table.from_batches([files.written()])
    assert sorted(row["id"] for row in rows_of(tmp_path, written)) == list(range(20_000))


def test_a_few_rows_do_not_keep_in_memory_those_that_came_with_them(tmp_path: Path) -> None:
    """A file of few rows waits for more until the end."""
    each, times, rare = 5_000, 20, 2
    rows = pa.table({"id": range(each), "p": [int(at >= rare) for at in range(each)]})
    form = form_of(rows.schema, ("p",), target_bytes=2**16)
    with counted_memory() as pool, RowFiles(LocalStore(str(tmp_path)), form, STATEMENT) as files:
        for _ in range(times):
            files.add(rows.to_batches()[0])
        assert pool.bytes_allocated() < 3 * rows.nbytes < times * rows.nbytes / 3
    written = pa.Table.from_batches([files.written()])
    assert times * rare in written["num_rows"].to_pylist()
    assert sum(written["num_rows"].to_pylist()) == times * each


def test_files_that_a_store_takes_whole_are_ended_where_memory_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_files, "_MOST_HELD", 2**13)
    monkeypatch.setattr(row_files, "_MOST_ENCODED", 2**14)
    ids = sorted(np.random.default_rng(1).integers(0, 2**62, 8_000).tolist())
    rows = pa.table({"id": ids, "p": [at % 6 for at in range(8_000)]})
    with RowFiles(_Whole(str(tmp_path)), form_of(rows.schema, ("p",)), STATEMENT) as files:
        for batch in rows.to_batches(1_000):
            files.add(batch)
            assert sum(file.encoded_bytes for file in files._open.values()) <= 2**14
    written = pa.Table.from_batches([files.written()])
    assert written.num_rows > 6
    assert sorted(row["id"] for row in rows_of(tmp_path, written)) == ids


@pytest.mark.slow
def test_more_partitions_than_files_may_be_open_lose_no_row(tmp_path: Path) -> None:
    rows = pa.table({"id": range(900), "p": [number % 450 for number in range(900)]})
    written = write(tmp_path, form_of(rows.schema, ("p",)), rows)
    assert sum(written["num_rows"].to_pylist()) == 900
    assert sorted(row["id"] for row in rows_of(tmp_path, written)) == list(range(900))


def test_names_of_two_runs_and_of_two_tasks_differ(tmp_path: Path) -> None:
    rows = pa.table({"id": [1]})
    form = form_of(rows.schema)
    names = [
        names_of(write(tmp_path, form, rows, task=task, run=run))[0]
        for task in (0, 1)
        for run in (0, 1)
    ]
    assert len(set(names)) == 4


def test_no_rows_make_no_file(tmp_path: Path) -> None:
    rows = pa.table({"id": pa.array([], pa.int64())})
    assert write(tmp_path, form_of(rows.schema), rows).num_rows == 0
    assert data_files(tmp_path) == []


def test_columns_and_fields_inside_of_them_have_physical_names_and_ids(tmp_path: Path) -> None:
    def field(name: str, kind: object, number: int) -> dict[str, object]:
        mapping = {
            "delta.columnMapping.id": number,
            "delta.columnMapping.physicalName": f"c{number}",
        }
        return {"name": name, "type": kind, "nullable": True, "metadata": mapping}

    inner = {"type": "struct", "fields": [field("deep", "long", 3)]}
    nested = {"type": "array", "elementType": inner, "containsNull": True}
    schema = {"type": "struct", "fields": [field("id", "long", 1), field("list", nested, 2)]}
    metadata = Metadata(
        id="t",
        schema_string=orjson.dumps(schema).decode(),
        configuration={"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "3"},
    )
    kind = pa.list_(pa.struct([("deep", pa.int64())]))
    rows = pa.table({"id": [1, 2], "list": pa.array([[{"deep": 5}, None], None], kind)})
    written = write(tmp_path, row_form(MAPPED, metadata), rows)
    table = pq.read_table(tmp_path / names_of(written)[0])
    assert table.to_pylist() == [{"c1": 1, "c2": [{"c3": 5}, None]}, {"c1": 2, "c2": None}]
    assert table.schema.field("c1").metadata[b"PARQUET:field_id"] == b"1"


class _Whole(LocalStore):
    """Takes no file piece by piece, as object stores."""

    open_output = None  # type: ignore[assignment]


class _Full(LocalStore):
    """A disk that takes a number of files."""

    def __init__(self, root: str, room: int) -> None:
        super().__init__(root)
        self._room = room

    def open_output(self, path: str):  # type: ignore[no-untyped-def]
        if not self._room:
            raise StorageError("The disk is full.", reason="No room.", remedy="Make room.")
        self._room -= 1
        return super().open_output(path)


def test_a_full_disk_leaves_no_file_of_the_attempt_behind(tmp_path: Path) -> None:
    rows = pa.table({"id": range(10), "p": range(10)})
    form = form_of(rows.schema, ("p",))
    with (
        pytest.raises(StorageError),
        RowFiles(_Full(str(tmp_path), 4), form, STATEMENT) as files,
    ):
        files.add(rows.to_batches()[0])
    assert data_files(tmp_path) == []
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == []


def test_an_error_of_whoever_brings_the_rows_leaves_no_file_behind(tmp_path: Path) -> None:
    rows = pa.table({"id": range(200_000), "text": [f"{n:x}" * 3 for n in range(200_000)]})
    form = form_of(rows.schema, target_bytes=2**16)
    begun: list[str] = []

    def bring_rows() -> None:
        with RowFiles(LocalStore(str(tmp_path)), form, STATEMENT) as files:
            files.add(rows.combine_chunks().to_batches()[0])
            begun.extend(data_files(tmp_path))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        bring_rows()
    assert len(begun) > 1
    assert data_files(tmp_path) == []
