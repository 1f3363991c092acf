"""Row ids and row commit versions, kept in files or made from the action."""

from __future__ import annotations

import pyarrow as pa
import pytest

import explorer
from explorer.errors import DeltaError
from explorer.protocol.vectors.deletion_vectors import build_inline_descriptor, render_descriptor
from explorer.rows.read import read_rows
from tests.data_tables import DataTable, field, struct

ONE = struct(field("a", "long"))
NAMES = {
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": "_id",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_version",
}
BOTH = ("_row_id", "_row_commit_version")


def tracked(tmp_path, features=("rowTracking", "domainMetadata", "deletionVectors"), **kw):
    return DataTable(tmp_path / "t", ONE, features=features, configuration=NAMES, **kw)


def read(table, columns=(), metadata_columns=BOTH, **kw):
    snapshot = explorer.open_table(table.write()).snapshot()
    rows = read_rows(snapshot, columns, metadata_columns=metadata_columns, **kw)
    return [tuple(row.values()) for row in rows.to_pylist()]


@pytest.mark.rule("file-add-baserowid", "file-add-defaultrowcommitversion")
@pytest.mark.rule("row-default-commit-version", "row-default-id", "row-id-physical-position")
@pytest.mark.rule("row-read-default-commit-version", "row-read-default-id")
def test_default_ids_count_physical_positions_hidden_rows_included(tmp_path):
    table = tracked(tmp_path)
    vector = render_descriptor(build_inline_descriptor([0, 2]))
    action = {"baseRowId": 100, "defaultRowCommitVersion": 7, "deletionVector": vector}
    table.add("x.parquet", pa.table({"a": [0, 1, 2, 3]}), **action)
    assert read(table) == [(101, 7), (103, 7)]


@pytest.mark.rule("row-materialized-commit-version", "row-materialized-commit-version-null")
@pytest.mark.rule("row-materialized-id", "row-materialized-id-null")
@pytest.mark.rule("row-read-materialized-commit-version", "row-read-materialized-id")
def test_ids_in_the_file_win_where_they_are_not_null(tmp_path):
    table = tracked(tmp_path)
    rows = pa.table({"a": [0, 1, 2], "_id": [5, None, 9], "_version": [None, 2, 3]})
    table.add("x.parquet", rows, baseRowId=100, defaultRowCommitVersion=7)
    assert read(table) == [(5, 7), (101, 2), (9, 3)]
    assert read(table, metadata_columns=["_row_commit_version"]) == [(7,), (2,), (3,)]


@pytest.mark.rule("row-materialized-commit-version", "row-materialized-id-hidden")
def test_hidden_columns_are_no_columns_of_the_table(tmp_path):
    table = tracked(tmp_path)
    rows = pa.table({"_id": [5], "a": [0], "_version": [3]})
    table.add("x.parquet", rows, baseRowId=1, defaultRowCommitVersion=1)
    assert read(table, columns=None, metadata_columns=()) == [(0,)]


@pytest.mark.rule("row-id-physical-position", "row-read-default-id")
def test_a_condition_keeps_the_ids_of_its_rows(tmp_path):
    table = tracked(tmp_path)
    table.add("x.parquet", pa.table({"a": [0, 5, 9]}), baseRowId=10, defaultRowCommitVersion=0)
    assert read(table, where="a > 4") == [(11, 0), (12, 0)]


@pytest.mark.rule("row-materialized-id-omitted")
def test_what_the_log_does_not_say_is_unknown(tmp_path):
    table = tracked(tmp_path)
    table.add("x.parquet", pa.table({"a": [0], "_id": [4]}))
    table.add("y.parquet", pa.table({"a": [0]}), baseRowId=8)
    assert read(table) == [(4, None), (8, None)]


@pytest.mark.parametrize("name", BOTH)
def test_table_without_the_feature_has_no_ids(tmp_path, name):
    table = DataTable(tmp_path / "t", ONE, configuration=NAMES)
    table.add("x.parquet", pa.table({"a": [0], "_id": [4]}), baseRowId=1)
    with pytest.raises(DeltaError, match="rowTracking"):
        read(table, metadata_columns=[name])


def test_metadata_column_may_not_hide_a_column_of_its_name(tmp_path):
    table = DataTable(tmp_path / "t", struct(field("_row_index", "long")))
    table.add("x.parquet", pa.table({"_row_index": [9]}))
    assert read(table, ["_row_index"], ()) == [(9,)]
    with pytest.raises(DeltaError, match="two columns"):
        read(table, ["_row_index"], ["_row_index"])


@pytest.mark.parametrize(
    "stored",
    [pa.table({"a": [0], "_id": ["x"]}), pa.table([[0], [1], [2]], names=["a", "_id", "_id"])],
    ids=["text", "twice"],
)
def test_ids_that_cannot_be_read_are_refused(tmp_path, stored):
    table = tracked(tmp_path)
    table.add("x.parquet", stored, baseRowId=1)
    with pytest.raises(DeltaError) as caught:
        read(table)
    assert caught.value.kind == "data_corrupt"


def test_id_beyond_64_bits_is_refused(tmp_path):
    table = tracked(tmp_path)
    table.add("x.parquet", pa.table({"a": [0, 1]}), baseRowId=2**63 - 1)
    with pytest.raises(DeltaError, match="overflow"):
        read(table)
