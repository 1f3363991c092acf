"""Rows of tables whose protocol lists a feature for readers in one of its two lists alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.protocol.vectors.deletion_vectors import build_inline_descriptor, render_descriptor
from tests.data_tables import DataTable, field, mapped, struct

ROWS = [{"id": number, "name": f"n{number}"} for number in range(5)]
ID, NAME = "col-0a5b7f6e-0d5c-4b6e-8a54-6d8f7f3f1a01", "col-5ed0c2f4-93f1-4a4b-9a70-2f2e1b0c7d02"
SCHEMA = struct(mapped("id", "long", ID, 1), mapped("name", "string", NAME, 2))


def protocol(readers: list[str] | None, writers: list[str]) -> dict[str, Any]:
    body = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": writers}
    if readers is not None:
        body |= {"minReaderVersion": 3, "readerFeatures": readers}
    return body


def halves(name: str) -> dict[str, dict[str, Any]]:
    return {
        "both": protocol([name], [name]),
        "readers": protocol([name], []),
        "writers": protocol([], [name]),
        "writers of reader version 1": protocol(None, [name]),
    }


def file_of(ids: list[int]) -> pa.Table:
    names = [f"n{number}" for number in ids]
    fields = [
        pa.field(ID, pa.int64(), metadata={"PARQUET:field_id": "1"}),
        pa.field(NAME, pa.string(), metadata={"PARQUET:field_id": "2"}),
    ]
    return pa.Table.from_arrays(
        [pa.array(ids, pa.int64()), pa.array(names)], schema=pa.schema(fields)
    )


def mapped_table(root: Path, given: dict[str, Any], mode: str = "name") -> explorer.Snapshot:
    configuration = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "2"}
    table = DataTable(root, SCHEMA, protocol=given, configuration=configuration)
    table.add("a.parquet", file_of([0, 1, 2, 3, 4]))
    return explorer.open_table(table.write()).snapshot()


def half_told(snapshot: explorer.Snapshot, name: str) -> bool:
    return any(
        f"`{name}`" in item.problem and "counts as supported" in item.reason
        for item in snapshot.problems
    )


def test_mapped_table_that_lists_the_mapping_for_writers_alone_is_read_by_physical_names(
    tmp_path: Path,
) -> None:
    given = protocol([], ["columnMapping", "icebergCompatV1"])
    snapshot = mapped_table(tmp_path / "t", given)
    assert half_told(snapshot, "columnMapping")
    assert explorer.read_rows(snapshot).to_pylist() == ROWS
    assert explorer.read_rows(snapshot, where="id = 3").to_pylist() == ROWS[3:4]
    assert not any("in common" in item.problem for item in snapshot.problems)


@pytest.mark.parametrize("mode", ["name", "id"])
@pytest.mark.parametrize("where", halves("x"))
def test_columns_are_found_by_the_mapping_whichever_list_has_it(
    tmp_path: Path, where: str, mode: str
) -> None:
    snapshot = mapped_table(tmp_path / "t", halves("columnMapping")[where], mode)
    assert explorer.read_rows(snapshot).to_pylist() == ROWS
    assert half_told(snapshot, "columnMapping") is (where != "both")


@pytest.mark.parametrize("where", halves("x"))
def test_deleted_rows_stay_deleted_whichever_list_has_the_vectors(
    tmp_path: Path, where: str
) -> None:
    schema = struct(field(ID, "long"), field(NAME, "string"))
    table = DataTable(tmp_path / "t", schema, protocol=halves("deletionVectors")[where])
    vector = render_descriptor(build_inline_descriptor([0, 2]))
    table.add("a.parquet", file_of([0, 1, 2, 3, 4]), deletionVector=vector)
    snapshot = explorer.open_table(table.write()).snapshot()
    assert explorer.read_rows(snapshot).column(ID).to_pylist() == [1, 3, 4]
    assert half_told(snapshot, "deletionVectors") is (where != "both")


TYPES: dict[str, tuple[Any, pa.Array, list[Any]]] = {
    "timestampNtz": (
        field("v", "timestamp_ntz"),
        pa.array([1_000_000], pa.timestamp("us")),
        ["1970-01-01 00:00:01"],
    ),
    "typeWidening": (
        field("v", "long", **{"delta.typeChanges": [{"fromType": "integer", "toType": "long"}]}),
        pa.array([7], pa.int32()),
        ["7"],
    ),
    "typeWidening-preview": (
        field(
            "v",
            "long",
            **{"delta.typeChanges": [{"fromType": "integer", "toType": "long", "tableVersion": 1}]},
        ),
        pa.array([7], pa.int32()),
        ["7"],
    ),
    **{
        name: (
            field("v", "variant"),
            pa.array(
                [{"metadata": b"\x01\x00\x00", "value": b"\x0c\x07"}],
                pa.struct([("metadata", pa.binary()), ("value", pa.binary())]),
            ),
            ["7"],
        )
        for name in (
            "variantType",
            "variantType-preview",
            "variantShredding",
            "variantShredding-preview",
        )
    },
    **{
        name: (field("v", "long"), pa.array([7], pa.int64()), ["7"])
        for name in ("v2Checkpoint", "vacuumProtocolCheck")
    },
}


@pytest.mark.parametrize("name", TYPES)
def test_values_are_the_same_whichever_list_has_their_feature(tmp_path: Path, name: str) -> None:
    column, values, told = TYPES[name]
    for number, (where, given) in enumerate(halves(name).items()):
        table = DataTable(tmp_path / str(number), struct(column), protocol=given)
        table.add("a.parquet", pa.table({"v": values}))
        snapshot = explorer.open_table(table.write()).snapshot()
        found = explorer.read_rows(snapshot).column("v").to_pylist()
        assert [str(value) for value in found] == told, where
        assert half_told(snapshot, name) is (where != "both"), where


def test_mapped_files_of_a_table_without_any_mapping_are_told_and_not_guessed(
    tmp_path: Path,
) -> None:
    plain = {"minReaderVersion": 1, "minWriterVersion": 2}
    snapshot = mapped_table(tmp_path / "t", plain)
    assert any("does not have column mapping" in item.problem for item in snapshot.problems)
    assert explorer.read_rows(snapshot).column("id").null_count == 5
    assert any("no column in common" in item.problem for item in snapshot.problems)
