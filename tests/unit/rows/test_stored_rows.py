"""Rows as data files hold them, read to be written again."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import explorer
from explorer.errors import CorruptDataError, UnsupportedError
from explorer.rows.data_file.data_file import FILE_COLUMNS, data_files
from explorer.rows.data_file.read_file import read_file
from explorer.rows.stored_rows import keeps_row_ids, stored_request, written_schema
from tests.data_tables import DataTable, field, mapped, struct


def stored(place: Path) -> pa.Table:
    """Every row, with the schema that it would be written with."""
    snapshot = explorer.open_table(place).snapshot()
    request, schema = stored_request(snapshot), written_schema(snapshot.protocol, snapshot.metadata)
    found = [
        pa.Table.from_arrays(batch.columns, schema=schema)
        for file in data_files(snapshot.files(FILE_COLUMNS))
        for batch in read_file(snapshot.store, file, request)
    ]
    return pa.concat_tables(found)


def variants(*names: str) -> pa.Table:
    group = pa.struct(
        [(name, pa.int64() if name == "typed_value" else pa.binary()) for name in names]
    )
    values = [{"metadata": b"\x01\x00\x00", "value": b"\x0c\x07"}, None]
    return pa.table({"v": pa.array(values, group)})


def test_variants_stay_as_they_are_encoded(tmp_path: Path) -> None:
    made = DataTable(tmp_path / "t", struct(field("v", "variant")), features=("variantType",))
    made.add("a", variants("value", "metadata"))
    rows = stored(made.write())
    assert rows["v"].to_pylist() == [{"metadata": b"\x01\x00\x00", "value": b"\x0c\x07"}, None]
    assert rows.schema.field("v").type.names == ["metadata", "value"]


def test_shredded_variants_are_refused(tmp_path: Path) -> None:
    made = DataTable(tmp_path / "t", struct(field("v", "variant")), features=("variantType",))
    made.add("a", variants("value", "metadata", "typed_value"))
    place = made.write()
    with pytest.raises(UnsupportedError, match="stored in parts"):
        stored(place)


def test_columns_have_physical_names_ids_and_no_void_or_partition(tmp_path: Path) -> None:
    schema = struct(
        mapped("id", "long", "p1", 1),
        mapped("part", "string", "p2", 2),
        mapped("nothing", "void", "p3", 3),
    )
    made = DataTable(
        tmp_path / "t",
        schema,
        features=("columnMapping",),
        configuration={"delta.columnMapping.mode": "name"},
        partitionColumns=["part"],
    )
    made.add("a", pa.table({"p1": [1]}), partitionValues={"p2": "x"})
    rows = stored(made.write())
    assert rows.to_pydict() == {"p1": [1]}
    assert rows.schema.field("p1").metadata == {b"PARQUET:field_id": b"1"}


def test_row_from_before_a_column_that_must_not_be_null_is_not_written_again(
    tmp_path: Path,
) -> None:
    made = DataTable(tmp_path / "t", struct(field("id", "long"), field("late", "long", False)))
    made.add("a", pa.table({"id": [1]}))
    place = made.write()
    with pytest.raises(CorruptDataError, match=r"null in the column `late`.*at position 0"):
        stored(place)
    snapshot = explorer.open_table(place).snapshot()
    assert explorer.read_rows(snapshot).to_pydict() == {"id": [1], "late": [None]}


def test_ids_are_kept_only_where_tracking_is_enabled_and_need_their_columns(tmp_path: Path) -> None:
    for number, configuration in enumerate(({}, {"delta.enableRowTracking": "true"})):
        made = DataTable(
            tmp_path / str(number),
            struct(field("id", "long")),
            features=("rowTracking", "domainMetadata"),
            configuration=configuration,
        )
        snapshot = explorer.open_table(made.write()).snapshot()
        assert keeps_row_ids(snapshot.protocol, snapshot.metadata) == bool(configuration)
        if not configuration:
            assert stored_request(snapshot).metadata_columns == ()
            continue
        with pytest.raises(UnsupportedError, match="no column is named"):
            stored_request(snapshot)
