"""Rows of small tables: what is asked for, what is refused, and when reading stops."""

from __future__ import annotations

import pickle
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.errors import CancelledError, DeltaError
from explorer.progress import Cancel
from explorer.rows.data_file.data_file import data_files
from explorer.rows.data_file.read_file import read_file
from explorer.rows.read import plan_rows, preview, read_rows
from tests.data_tables import DataTable, array, field, struct

SCHEMA = struct(field("id", "long"), field("name", "string"), field("part", "integer"))


def numbered(first: int, last: int) -> pa.Table:
    ids = list(range(first, last))
    return pa.table({"id": ids, "name": [f"n{number}" for number in ids]})


@pytest.fixture
def orders(tmp_path: Path) -> explorer.Snapshot:
    table = DataTable(tmp_path / "t", SCHEMA, partitionColumns=["part"])
    table.add("a.parquet", numbered(0, 5), partitionValues={"part": "1"})
    table.add("b.parquet", numbered(5, 8), partitionValues={"part": None})
    return explorer.open_table(table.write()).snapshot()


@pytest.mark.rule("log-data-files-partition-dirs-not-required")
@pytest.mark.rule("log-data-files-partition-values-from-log")
def test_all_columns_come_in_the_order_of_the_schema(orders):
    rows = read_rows(orders)
    assert rows.column_names == ["id", "name", "part"]
    assert rows.schema.field("part").type == pa.int32()
    assert rows.to_pylist()[4:6] == [
        {"id": 4, "name": "n4", "part": 1},
        {"id": 5, "name": "n5", "part": None},
    ]


def test_columns_come_in_the_order_in_which_they_are_named(orders):
    rows = read_rows(orders, columns=["part", "id"], metadata_columns=["_row_index", "_file_path"])
    assert rows.column_names == ["part", "id", "_row_index", "_file_path"]
    assert rows.to_pylist()[6] == {
        "part": None,
        "id": 6,
        "_row_index": 1,
        "_file_path": "b.parquet",
    }


def test_no_column_at_all_still_counts_rows(orders):
    assert read_rows(orders, columns=[]).num_rows == 8
    assert read_rows(orders, columns=["part"]).num_rows == 8


def test_condition_may_look_at_columns_that_are_not_wanted(orders):
    rows = read_rows(orders, columns=["name"], where="id >= 4 and part is null")
    assert rows.column("name").to_pylist() == ["n5", "n6", "n7"]
    assert read_rows(orders, where="part = 1", limit=2).num_rows == 2


def test_limit_cuts_inside_a_file_and_across_files(orders):
    assert [read_rows(orders, limit=limit).num_rows for limit in (0, 1, 6, 8, 100)] == [
        0,
        1,
        6,
        8,
        8,
    ]


def test_files_behind_the_limit_are_not_opened(orders):
    (Path(orders.uri) / "b.parquet").unlink()
    assert read_rows(orders, limit=5).num_rows == 5
    with pytest.raises(DeltaError):
        read_rows(orders, limit=6)


def test_preview_says_whether_it_is_cut(orders):
    assert (preview(orders, limit=7).rows.num_rows, preview(orders, limit=7).is_cut) == (7, True)
    whole = preview(orders, limit=8)
    assert (whole.rows.num_rows, whole.is_cut) == (8, False)


def test_a_limit_may_be_greater_than_any_table(orders):
    assert read_rows(orders, limit=2**80).num_rows == 8
    assert preview(orders, limit=2**63 - 1).rows.num_rows == 8


def test_missing_file_is_named_with_version_and_remedy(orders):
    (Path(orders.uri) / "a.parquet").unlink()
    with pytest.raises(DeltaError) as caught:
        read_rows(orders)
    assert caught.value.kind == "data_missing"
    assert "a.parquet of version 0 does not exist" in caught.value.problem
    assert "vacuum" in caught.value.reason
    assert caught.value.remedy


@pytest.mark.parametrize(
    "wrong",
    [
        {"columns": ["nmae"]},
        {"columns": ["ID"]},
        {"columns": [["id"]]},
        {"columns": ["id", "id"]},
        {"columns": "id"},
        {"metadata_columns": "_row_index"},
        {"limit": -1},
        {"limit": 1.5},
        {"limit": True},
        {"metadata_columns": ["_row"]},
        {"where": "price > 1"},
        {"where": 5},
        {"where": "name = '\ud800'"},
        {"where": f"name LIKE '{'_' * 100_000}'"},
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_refused(orders, wrong):
    with pytest.raises(DeltaError) as caught:
        read_rows(orders, **wrong)
    assert caught.value.kind == "invalid_argument"


def test_a_misspelt_name_is_answered_with_the_likely_one(orders):
    with pytest.raises(DeltaError, match="Did you mean 'name'"):
        read_rows(orders, columns=["nmae"])


def test_progress_counts_files_and_work_can_be_cancelled(orders):
    seen = []
    read_rows(orders, progress=seen.append)
    assert [(report.done, report.total) for report in seen] == [(0, 2), (1, 2), (2, 2)]
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(CancelledError):
        read_rows(orders, cancel=cancel)


def test_batches_are_made_while_they_are_asked_for(orders):
    batches = plan_rows(orders).batches()
    assert next(batches).num_rows == 5
    (Path(orders.uri) / "b.parquet").unlink()
    with pytest.raises(DeltaError):
        next(batches)


def test_a_file_can_be_read_by_another_process(orders):
    scan = plan_rows(orders, ["id", "part"], "id > 3", ["_row_index"])
    task = (orders.store, list(data_files(scan.files)), scan.request)
    store, files, request = pickle.loads(pickle.dumps(task))
    found = [batch for file in files for batch in read_file(store, file, request)]
    assert pa.Table.from_batches(found) == pa.Table.from_batches(scan.batches())


def test_a_version_without_files_has_no_rows_but_columns(tmp_path):
    snapshot = explorer.open_table(DataTable(tmp_path / "t", SCHEMA).write()).snapshot()
    rows = read_rows(snapshot)
    assert (rows.num_rows, rows.column_names) == (0, ["id", "name", "part"])
    assert read_rows(snapshot, where="id > 1").num_rows == 0


@pytest.mark.rule("metadata-format-provider", "older-003-format-providers")
def test_data_files_of_another_format_are_refused(tmp_path):
    table = DataTable(tmp_path / "t", SCHEMA, format={"provider": "orc", "options": {}})
    snapshot = explorer.open_table(table.write()).snapshot()
    with pytest.raises(DeltaError, match="'orc'") as caught:
        read_rows(snapshot)
    assert caught.value.kind == "unsupported_feature"


def test_partition_column_that_the_schema_lacks_is_refused(tmp_path):
    table = DataTable(tmp_path / "t", SCHEMA, partitionColumns=["Part"])
    with pytest.raises(DeltaError) as caught:
        read_rows(explorer.open_table(table.write()).snapshot())
    assert caught.value.kind == "schema_invalid"


@pytest.mark.parametrize("nested", [False, True])
def test_columns_of_one_name_are_refused(tmp_path, nested):
    twice = struct(field("a", "long"), field("a", "string"))
    table = DataTable(tmp_path / "t", struct(field("s", array(twice))) if nested else twice)
    with pytest.raises(DeltaError) as caught:
        read_rows(explorer.open_table(table.write()).snapshot())
    assert caught.value.kind == "schema_invalid"


def test_column_of_unknown_type_is_refused_and_can_be_left_out(tmp_path):
    table = DataTable(tmp_path / "t", struct(field("a", "long"), field("b", "money")))
    table.add("a.parquet", pa.table({"a": [1], "b": [2]}))
    snapshot = explorer.open_table(table.write()).snapshot()
    with pytest.raises(DeltaError, match="money of column `b`"):
        read_rows(snapshot)
    assert read_rows(snapshot, columns=["a"]).to_pylist() == [{"a": 1}]


@pytest.mark.rule("newer-widening-history", "newer-widening-refuse-unsupported")
def test_unsupported_type_change_is_refused_and_can_be_left_out(tmp_path):
    change = {"delta.typeChanges": [{"fromType": "string", "toType": "long"}]}
    kind = struct(field("a", "long", **change), field("b", "long"))
    table = DataTable(tmp_path / "t", kind, features=("typeWidening",))
    table.add("a.parquet", pa.table({"a": [1], "b": [2]}))
    snapshot = explorer.open_table(table.write()).snapshot()
    with pytest.raises(DeltaError, match="unsupported type change of column `a`"):
        read_rows(snapshot)
    assert read_rows(snapshot, columns=["b"]).to_pylist() == [{"b": 2}]


@pytest.mark.rule("log-missing-columns")
def test_not_null_column_that_an_old_file_lacks_is_null(tmp_path):
    table = DataTable(tmp_path / "t", struct(field("a", "long"), field("b", "long", False)))
    table.add("a.parquet", pa.table({"a": [1]}))
    rows = read_rows(explorer.open_table(table.write()).snapshot())
    assert rows.to_pylist() == [{"a": 1, "b": None}]
    assert rows.schema.field("b").nullable


@pytest.mark.rule("file-add-path-uri-decoded", "file-path-decoded-once")
def test_file_whose_path_is_encoded_is_found_by_decoding_once(tmp_path):
    table = DataTable(tmp_path / "t", struct(field("a", "long")))
    place = table.add("p=a%2520b/x%20y.parquet")
    real = place.parent.parent / "p=a%20b" / "x y.parquet"
    real.parent.mkdir()
    pq.write_table(pa.table({"a": [1]}), real)
    assert read_rows(explorer.open_table(table.write()).snapshot()).num_rows == 1


@pytest.mark.rule("file-add-path")
@pytest.mark.parametrize("form", ["{}", "file:{}", "file://{}", "file://localhost{}"])
def test_file_of_a_shallow_clone_lies_outside_of_the_table(tmp_path, form):
    other = tmp_path / "other folder" / "x.parquet"
    other.parent.mkdir()
    pq.write_table(pa.table({"a": [7]}), other)
    table = DataTable(tmp_path / "t", struct(field("a", "long")))
    table.add(form.format(str(other).replace(" ", "%20")))
    rows = read_rows(explorer.open_table(table.write()).snapshot())
    assert rows.to_pylist() == [{"a": 7}]


@pytest.mark.rule("file-add-path", "file-add-path-uri-decoded")
@pytest.mark.parametrize("form", ["x%20y.parquet", "memory://rows/t/x%20y.parquet"])
def test_rows_of_a_remote_store_are_read_by_ranges(tmp_path, form):
    table = DataTable(tmp_path / "t", struct(field("a", "long")))
    table.add(form)
    pq.write_table(pa.table({"a": [7]}), table.root / "x y.parquet")
    memory = fsspec.filesystem("memory")
    memory.put(str(table.write()), "/rows/t", recursive=True)
    try:
        rows = read_rows(explorer.open_table("memory://rows/t").snapshot())
    finally:
        memory.rm("/rows", recursive=True)
    assert rows.to_pylist() == [{"a": 7}]


def test_file_of_another_store_is_refused(tmp_path):
    table = DataTable(tmp_path / "t", struct(field("a", "long")))
    table.add("s3://bucket/x.parquet")
    with pytest.raises(DeltaError, match="another store") as caught:
        read_rows(explorer.open_table(table.write()).snapshot())
    assert caught.value.kind == "store_unsupported"


@pytest.mark.rule("file-add-path-uri-decoded")
@pytest.mark.parametrize("path", ["%FF.parquet", "file:x.parquet", "file://host/x.parquet"])
def test_path_that_names_no_place_is_refused(tmp_path, path):
    table = DataTable(tmp_path / "t", struct(field("a", "long")))
    table.add(path)
    with pytest.raises(DeltaError, match="cannot be read") as caught:
        read_rows(explorer.open_table(table.write()).snapshot())
    assert caught.value.kind == "log_corrupt"
