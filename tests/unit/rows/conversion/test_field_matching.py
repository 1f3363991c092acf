"""Columns of data files found by name and by id."""

from __future__ import annotations

import pyarrow as pa
import pytest

from explorer.errors import CorruptDataError
from explorer.protocol.schema import StructField, parse_type_name
from explorer.rows.conversion.field_matching import has_ids, match_fields

LONG = parse_type_name("long")


def wanted(name, physical=None, number=None):
    metadata = {}
    if physical is not None:
        metadata["delta.columnMapping.physicalName"] = physical
    if number is not None:
        metadata["delta.columnMapping.id"] = number
    return StructField(name=name, data_type=LONG, metadata=metadata)


def found(name, number=None):
    metadata = None if number is None else {"PARQUET:field_id": str(number)}
    return pa.field(name, pa.int64(), metadata=metadata)


@pytest.mark.rule("log-missing-columns", "mapping-none-display-names")
def test_without_mapping_names_count_and_missing_ones_are_missing():
    assert match_fields([found("b"), found("a")], [wanted("a"), wanted("c")], "none") == (1, None)


@pytest.mark.rule("mapping-name-ids-unused", "mapping-name-physical")
def test_in_name_mode_physical_names_count_and_ids_do_not():
    columns = [found("a", 2), found("col-1", 9)]
    assert match_fields(columns, [wanted("a", "col-1", 2)], "name") == (1,)


@pytest.mark.rule("mapping-id-field-id", "mapping-id-missing-null", "mapping-id-never-by-name")
def test_in_id_mode_ids_count_and_names_never_do():
    columns = [found("a"), found("col-1"), found("other", 5)]
    fields = [wanted("a", "col-1", 1), wanted("b", "col-2", 5), wanted("other")]
    assert match_fields(columns, fields, "id") == (None, 2, None)


def test_name_that_differs_only_by_case_will_do():
    assert match_fields([found("ID")], [wanted("id")], "none") == (0,)
    assert match_fields([found("ID"), found("id")], [wanted("id")], "none") == (1,)


@pytest.mark.rule("log-missing-columns")
def test_name_of_another_column_is_never_taken_for_one_that_differs_by_case():
    fields = [wanted("a"), wanted("A")]
    assert match_fields([found("a")], fields, "none") == (0, None)
    assert match_fields([found("a")], [wanted("A")], "none", siblings=fields) == (None,)


@pytest.mark.parametrize(
    ("columns", "mode"),
    [
        ([found("x"), found("x")], "none"),
        ([found("X"), found("xX"[:1].upper())], "none"),
        ([found("p", 3), found("q", 3)], "id"),
    ],
)
def test_column_that_is_there_twice_is_refused(columns, mode):
    with pytest.raises(CorruptDataError, match="2 columns"):
        match_fields(columns, [wanted("x", "x", 3)], mode)


def test_ids_are_found_on_any_level():
    deep = pa.field("s", pa.struct([pa.field("l", pa.list_(found("element", 4)))]))
    assert has_ids([found("a"), deep])
    assert not has_ids([found("a"), pa.field("m", pa.map_(pa.string(), pa.int8()))])
