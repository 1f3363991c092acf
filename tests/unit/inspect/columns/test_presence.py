"""Which files hold which columns: a problem made, and its innocent twin beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import explorer
import explorer.inspect as look
from explorer.errors import CancelledError
from explorer.progress import Cancel, Progress
from tests.data_tables import DataTable, array, field, mapped, struct

NAME_MODE = {"delta.columnMapping.mode": "name"}
ID_MODE = {"delta.columnMapping.mode": "id"}
PLAIN = struct(field("id", "long"), field("note", "string"))
RENAMED = struct(mapped("id", "long", "id", 1), mapped("note", "string", "col-8f2b", 2))


def ids(**columns: object) -> pa.Table:
    return pa.table({"id": pa.array([1, 2], pa.int64()), **columns})


def with_id(name: str, kind: pa.DataType, number: int) -> pa.Field:
    return pa.field(name, kind, metadata={"PARQUET:field_id": str(number)})


def by_files(place: Path, **options: int) -> look.ColumnPresence:
    return look.columns_by_files(explorer.open_table(place).snapshot(), **options)


def column(found: look.ColumnPresence, path: str) -> dict[str, object]:
    return next(row for row in found.columns.to_pylist() if row["path"] == path)


def test_a_column_that_older_files_lack_is_told_from_one_that_stores_nulls(tmp_path: Path) -> None:
    lacking = DataTable(tmp_path / "lacking", PLAIN)
    lacking.add("old.parquet", ids())
    lacking.add("new.parquet", ids(note=["a", "b"]))
    storing = DataTable(tmp_path / "storing", PLAIN)
    storing.add("old.parquet", ids(note=pa.nulls(2, pa.string())))
    storing.add("new.parquet", ids(note=["a", "b"]))
    problem, innocent = by_files(lacking.write()), by_files(storing.write())
    assert "note is missing in 1: their rows show NULL there" in problem.sentence
    assert (column(problem, "note")["files_with"], column(problem, "note")["files_without"]) == (
        1,
        1,
    )
    assert problem.absent.column("file").to_pylist() == ["old.parquet"]
    assert "what is NULL there was stored as NULL" in innocent.sentence
    assert innocent.absent.num_rows == 0


def test_the_log_alone_says_only_that_all_values_are_null(tmp_path: Path) -> None:
    table = DataTable(tmp_path / "t", PLAIN)
    stats = {"numRecords": 2, "nullCount": {"id": 0, "note": 2}}
    table.add("a.parquet", stats=json.dumps(stats))
    full = DataTable(tmp_path / "u", PLAIN)
    stats = {"numRecords": 2, "nullCount": {"id": 0, "note": 1}}
    full.add("a.parquet", stats=json.dumps(stats))
    problem, innocent = (
        look.columns_by_statistics(explorer.open_table(one.write()).snapshot())
        for one in (table, full)
    )
    assert "note is all NULL in 1 of 1 file" in problem.sentence
    assert "Only the footers say" in problem.sentence
    assert column(problem, "note")["files_without"] is None
    assert "no file has only NULL" in innocent.sentence


def test_a_physical_name_is_told_from_a_name_that_is_the_columns_own(tmp_path: Path) -> None:
    renamed = DataTable(
        tmp_path / "t", RENAMED, features=("columnMapping",), configuration=NAME_MODE
    )
    renamed.add("a.parquet", ids(**{"col-8f2b": ["x", "y"]}))
    same = DataTable(
        tmp_path / "u",
        struct(mapped("id", "long", "id", 1), mapped("note", "string", "note", 2)),
        features=("columnMapping",),
        configuration=NAME_MODE,
    )
    same.add("a.parquet", ids(note=["x", "y"]))
    problem, innocent = by_files(renamed.write()), by_files(same.write())
    assert "note is named `col-8f2b` in files" in problem.sentence
    assert "without column mapping shows those names" in problem.sentence
    assert column(problem, "note")["files_without"] == 0
    assert "the same names in files and in the table" in innocent.sentence


def test_a_file_written_without_mapping_is_told_from_one_of_before_the_column(
    tmp_path: Path,
) -> None:
    found = []
    for name, rows in (("problem", ids(note=["x", "y"])), ("innocent", ids())):
        table = DataTable(
            tmp_path / name, RENAMED, features=("columnMapping",), configuration=NAME_MODE
        )
        table.add("a.parquet", rows)
        found.append(by_files(table.write()))
    assert "under its logical name" in found[0].sentence
    assert found[0].unused.to_pylist() == [
        {"name_in_files": "note", "field_id": None, "num_files": 1}
    ]
    assert "under its logical name" not in found[1].sentence
    assert found[1].unused.num_rows == 0


def test_files_without_ids_are_told_where_columns_go_by_ids(tmp_path: Path) -> None:
    found = []
    for name, fields in (
        ("problem", [pa.field("id", pa.int64()), pa.field("col-8f2b", pa.string())]),
        ("innocent", [with_id("a", pa.int64(), 1), with_id("b", pa.string(), 2)]),
    ):
        table = DataTable(
            tmp_path / name, RENAMED, features=("columnMapping",), configuration=ID_MODE
        )
        rows = pa.table([pa.array([1]), pa.array(["x"])], schema=pa.schema(fields))
        table.add("a.parquet", rows)
        found.append(by_files(table.write()))
    assert "have no field ids" in found[0].sentence
    assert column(found[0], "id")["files_without"] == 1
    assert "stored as NULL" in found[1].sentence


def test_a_field_inside_a_list_counts_as_absent_with_what_holds_it(tmp_path: Path) -> None:
    shape = struct(field("id", "long"), field("items", array(struct(field("price", "long")))))
    table = DataTable(tmp_path / "t", shape)
    priced = pa.array([[{"price": 1}], []], pa.list_(pa.struct([("price", pa.int64())])))
    named = pa.array([[{"name": "a"}], []], pa.list_(pa.struct([("name", pa.string())])))
    table.add("whole.parquet", ids(items=priced))
    table.add("inside.parquet", ids(items=named))
    table.add("without.parquet", ids())
    found = by_files(table.write())
    assert column(found, "items")["files_without"] == 1
    assert column(found, "items.element.price")["files_without"] == 2
    told = [(row["column"], row["file"]) for row in found.absent.to_pylist()]
    assert told == [("items.element.price", "inside.parquet"), ("items", "without.parquet")]


def test_partition_columns_are_not_looked_for_in_files(tmp_path: Path) -> None:
    table = DataTable(tmp_path / "t", PLAIN, partitionColumns=["note"])
    table.add("note=a/a.parquet", ids(), partitionValues={"note": "a"})
    found = by_files(table.write())
    assert column(found, "note")["is_partition"] is True
    assert column(found, "note")["files_without"] is None
    assert "Every column is in the 1 file that was read" in found.sentence


def test_what_cannot_be_read_or_was_not_is_said(tmp_path: Path) -> None:
    table = DataTable(tmp_path / "t", PLAIN)
    table.add("a.parquet", ids(note=["x", "y"]))
    (tmp_path / "t" / "b.parquet").write_bytes(b"no parquet at all")
    table.add("b.parquet")
    table.add("gone.parquet")
    place = table.write()
    found = by_files(place)
    assert set(found.unread.column("file").to_pylist()) == {"b.parquet", "gone.parquet"}
    assert "2 of 3 files were not read; 2 of them cannot be read." in found.sentence
    assert "2 of 3 files were not read." in by_files(place, most_files=1).sentence


def test_footers_are_counted_and_can_be_left(tmp_path: Path) -> None:
    table = DataTable(tmp_path / "t", PLAIN)
    for at in range(3):
        table.add(f"{at}.parquet", ids())
    snapshot = explorer.open_table(table.write()).snapshot()
    seen: list[Progress] = []
    look.columns_by_files(snapshot, progress=seen.append)
    assert (seen[-1].done, seen[-1].total) == (3, 3)
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(CancelledError):
        look.columns_by_files(snapshot, cancel=cancel)
