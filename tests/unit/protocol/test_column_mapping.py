"""Column mapping: where it counts, physical names and ids."""

from __future__ import annotations

from typing import Any

import pytest

from explorer.protocol.actions import Protocol
from explorer.protocol.features.column_mapping import (
    column_mapping_mode,
    field_id,
    physical_name,
    physical_path,
    physical_schema,
    validate_mapping,
)
from explorer.protocol.schema import ArrayType, StructField, StructType, parse_type_name
from explorer.protocol.schema_walk import walk_fields


def protocol(reader=3, writer=7, readers=(), writers=()):
    return Protocol(
        min_reader_version=reader,
        min_writer_version=writer,
        reader_features=None if readers is None else tuple(readers),
        writer_features=None if writers is None else tuple(writers),
    )


def by_number(reader, writer):
    return protocol(reader, writer, None, None)


def listing(*names):
    return protocol(readers=names, writers=names)


def column(name="a", kind="long", **metadata: Any):
    return StructField(name=name, data_type=parse_type_name(kind), metadata=metadata)


@pytest.mark.rule("action-protocol-reader2-mapping-equivalent", "feature-reader-version-2")
@pytest.mark.rule("feature-reader-version-inherit", "mapping-honored-only-if-supported")
@pytest.mark.rule("mapping-needs-protocol", "mapping-read-property", "mapping-support-readers")
@pytest.mark.parametrize(
    ("given", "mapped"),
    [
        (by_number(1, 2), False),
        (by_number(1, 6), False),
        (by_number(2, 5), True),
        (by_number(2, 2), True),
        (protocol(2, 7, None, ["columnMapping"]), True),
        (protocol(2, 7, None, []), False),
        (listing("columnMapping"), True),
        (listing("deletionVectors"), False),
        (protocol(writers=["columnMapping", "icebergCompatV1"]), True),
        (protocol(readers=["columnMapping"]), True),
        (protocol(1, 7, None, ["columnMapping"]), True),
        (protocol(writers=["icebergCompatV1"]), False),
    ],
    ids=str,
)
def test_mapping_counts_only_where_the_protocol_supports_it(given, mapped):
    configuration = {"delta.columnMapping.mode": "name"}
    assert column_mapping_mode(given, configuration) == ("name" if mapped else "none")
    assert column_mapping_mode(given, {}) == "none"


MAPPED = column(**{"delta.columnMapping.id": 4, "delta.columnMapping.physicalName": "col-4"})


@pytest.mark.rule("mapping-id", "mapping-physicalname")
def test_a_mapped_column_has_a_physical_name_and_an_id():
    assert physical_name(MAPPED, "name") == "col-4"
    assert physical_name(MAPPED, "id") == "col-4"
    assert physical_name(MAPPED, "none") == "a"
    assert physical_name(column(), "name") == "a"
    assert (field_id(MAPPED), field_id(column())) == (4, None)
    assert field_id(column(**{"delta.columnMapping.id": True})) is None


@pytest.mark.rule("mapping-physicalname")
def test_physical_paths_keep_the_ways_into_arrays_and_maps():
    outer = StructField(
        name="o",
        data_type=ArrayType(element_type=StructType(fields=(MAPPED,)), contains_null=True),
        metadata={"delta.columnMapping.physicalName": "col-1", "delta.columnMapping.id": 1},
    )
    schema = StructType(fields=(outer,))
    paths = [physical_path(place, "name") for place in walk_fields(schema)]
    assert paths == [("col-1",), ("col-1", "element", "col-4")]
    assert [place.names for place in walk_fields(physical_schema(schema, "id"))] == paths
    assert physical_schema(schema, "none") is schema
    assert validate_mapping(schema, "name") == []


@pytest.mark.rule("mapping-id", "mapping-physicalname")
def test_columns_without_name_or_id_and_shared_ids_are_problems():
    twin = StructField(name="b", data_type=MAPPED.data_type, metadata=MAPPED.metadata)
    schema = StructType(fields=(MAPPED, twin, column("c")))
    texts = [item.problem for item in validate_mapping(schema, "name")]
    assert texts == [
        "The column `b` and `a` share the physical name col-4.",
        "The column `b` and `a` share the column id 4.",
        "The column `c` has no physical name.",
        "The column `c` has no column id.",
    ]
    assert validate_mapping(schema, "none") == []


@pytest.mark.rule("mapping-id")
@pytest.mark.parametrize(("number", "fits"), [(2**31 - 1, True), (2**31, False)])
def test_id_of_more_than_32_bits_is_a_problem(number, fits):
    names = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": "col-4"}
    found = validate_mapping(StructType(fields=(column(**names),)), "id")
    assert ["32 bits" in item.problem for item in found] == [True] * (not fits)
