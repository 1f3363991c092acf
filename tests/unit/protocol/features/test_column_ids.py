"""Ids and physical names of columns."""

from __future__ import annotations

import pyarrow as pa
import pytest

from explorer.protocol.arrow_types import delta_schema
from explorer.protocol.features.clustering import (
    clustering_columns,
    clustering_domain,
    clustering_in,
)
from explorer.protocol.features.column_ids import assign_columns, highest_column_id
from explorer.protocol.features.column_mapping import field_id, physical_name
from explorer.protocol.schema import StructType
from explorer.protocol.schema_walk import walk_fields

_INNER = pa.struct([("x", pa.int64()), ("y", pa.int64())])
_SCHEMA = delta_schema(
    pa.schema([("a", pa.int64()), ("m", pa.map_(_INNER, pa.list_(_INNER))), ("b", pa.int8())])
)


def test_ids_go_by_the_order_of_fields_outer_ones_first():
    found, highest = assign_columns(_SCHEMA, 10)
    numbers = {place.path: field_id(place.field) for place in walk_fields(found)}
    assert list(numbers.values()) == [11, 12, 13, 14, 15, 16, 17]
    assert numbers["m.key.x"] == 13
    assert highest == highest_column_id(found) == 17
    assert [physical_name(place.field, "name") for place in walk_fields(found)] == [
        place.field.name for place in walk_fields(_SCHEMA)
    ]


def test_a_column_keeps_what_it_has_and_new_ones_come_above_every_id():
    known, _ = assign_columns(StructType(fields=_SCHEMA.fields[:1]), 40)
    schema = StructType(fields=(*known.fields, *_SCHEMA.fields[1:]))
    found, highest = assign_columns(schema, 0, lambda field: f"col-{field.name}")
    assert found.fields[0] == known.fields[0]
    assert field_id(found.fields[1]) == 42
    assert physical_name(found.fields[2], "id") == "col-b"
    assert highest == 47
    assert assign_columns(found, 3) == (found, highest)


@pytest.mark.parametrize("paths", [(), (("a",), ("s", "ü`.x"))], ids=str)
def test_clustering_columns_are_read_back(paths):
    domain = clustering_domain(paths)
    assert clustering_columns(domain.configuration) == paths
    assert clustering_in({domain.domain: domain}) == paths
    assert clustering_in({}) == ()
