"""Nested columns of old files as columns of the table."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.errors import CorruptDataError
from explorer.protocol.arrow_types import row_schema
from explorer.protocol.schema import parse_schema
from explorer.rows.conversion.columns import ColumnPlace, build_converter
from tests.data_tables import array, field, map_of, mapped, struct


def converted(stored: pa.Array, kind, mode="none", via=None):
    """`stored` as a column of the type `kind`; by way of a Parquet file where `via` is one."""
    if via is not None:
        pq.write_table(pa.table({"c": stored}), via)
        stored = pq.ParquetFile(via).read().column("c").chunk(0)
    schema = parse_schema(json.dumps(struct(field("c", kind))))
    target = row_schema(schema).field("c").type
    place = ColumnPlace(mode=mode, names=("c",), file="f.parquet")
    convert = build_converter(stored.type, schema.fields[0].data_type, target, place)
    found = convert(stored)
    found.validate(full=True)
    assert found.type == target
    return found.to_pylist()


OLD = pa.struct([("dropped", pa.string()), ("b", pa.int32()), ("a", pa.string())])
NEW = struct(field("a", "string"), field("added", "double"), field("b", "long"))
OLD_ROW = {"dropped": "x", "b": 1, "a": "y"}
NEW_ROW = {"a": "y", "added": None, "b": 1}


@pytest.mark.rule("log-missing-columns", "newer-void-no-feature", "newer-widening-convert-old")
@pytest.mark.rule("schema-type-void")
@pytest.mark.parametrize(
    ("stored", "kind", "rows"),
    [
        (pa.array([OLD_ROW, None], OLD), NEW, [NEW_ROW, None]),
        (
            pa.array([[OLD_ROW, None], [], None], pa.list_(OLD)),
            array(NEW),
            [[NEW_ROW, None], [], None],
        ),
        (
            pa.array([[("k", OLD_ROW)], None, []], pa.map_(pa.string(), OLD)),
            map_of("string", NEW),
            [[("k", NEW_ROW)], None, []],
        ),
        (
            pa.array([[(1, [2, None])]], pa.map_(pa.int8(), pa.list_(pa.int16()))),
            map_of("long", array("integer")),
            [[(1, [2, None])]],
        ),
        (
            pa.array([[[OLD_ROW]], [None]], pa.large_list(pa.list_(OLD, 1))),
            array(array(NEW)),
            [[[NEW_ROW]], [None]],
        ),
        (pa.array([OLD_ROW, None], OLD), struct(field("other", "long")), [{"other": None}, None]),
        (pa.array([OLD_ROW, None], OLD), struct(), [{}, None]),
        (pa.array([[1.5]], pa.list_(pa.float32())), array("double"), [[1.5]]),
        (pa.array([OLD_ROW], OLD), struct(field("a", "void")), [{"a": None}]),
    ],
)
def test_nested_fields_are_found_added_dropped_reordered_and_widened(stored, kind, rows):
    assert converted(stored, kind) == rows


@pytest.mark.rule("log-missing-columns")
@pytest.mark.parametrize("start", [0, 1, 2])
def test_slices_keep_their_own_rows(start):
    rows = [[OLD_ROW], None, [OLD_ROW, OLD_ROW], []]
    wanted = [[NEW_ROW], None, [NEW_ROW, NEW_ROW], []]
    assert converted(pa.array(rows, pa.list_(OLD))[start:], array(NEW)) == wanted[start:]
    pairs = [[("k", OLD_ROW)], None, [("l", None)], []]
    stored = pa.array(pairs, pa.map_(pa.string(), OLD))[start:]
    found = converted(stored, map_of("string", NEW))
    assert found == [[("k", NEW_ROW)], None, [("l", None)], []][start:]
    structs = pa.array([{"l": row} for row in rows], pa.struct([("l", pa.list_(OLD))]))[start:]
    found = converted(structs, struct(field("l", array(NEW))))
    assert found == [{"l": row} for row in wanted[start:]]


@pytest.mark.rule("mapping-id-field-id", "mapping-id-missing-null", "mapping-id-never-by-name")
@pytest.mark.rule("mapping-name-ids-unused", "mapping-name-physical")
def test_fields_inside_arrays_and_maps_are_found_by_id_alone(tmp_path):
    def stored(name, number):
        return pa.field(name, pa.int32(), metadata={"PARQUET:field_id": str(number)})

    inner = pa.struct([stored("a", 8), stored("x", 7), pa.field("c", pa.int32())])
    kind = struct(
        mapped("renamed", "integer", "x", 7),
        mapped("a", "integer", "a", 9),
        mapped("c", "integer", "c", 10),
    )
    row, wanted = {"a": 1, "x": 2, "c": 3}, {"renamed": 2, "a": None, "c": None}
    place = tmp_path / "f.parquet"
    assert converted(pa.array([[row]], pa.list_(inner)), array(kind), "id", place) == [[wanted]]
    found = converted(
        pa.array([[("k", row)]], pa.map_(pa.string(), inner)), map_of("string", kind), "id", place
    )
    assert found == [[("k", wanted)]]
    by_name = {"renamed": 2, "a": 1, "c": 3}
    assert converted(pa.array([[row]], pa.list_(inner)), array(kind), "name", place) == [[by_name]]


@pytest.mark.rule("newer-widening-refuse-unsupported")
@pytest.mark.parametrize(
    ("stored", "kind"),
    [
        (pa.array(["1"]), "long"),
        (pa.array([1]), array("long")),
        (pa.array([1]), struct(field("a", "long"))),
        (pa.array([[1]]), map_of("long", "long")),
        (pa.array([[(1, 2)]], pa.map_(pa.int64(), pa.int64())), array("long")),
        (pa.array([["1"]]), array("long")),
        (pa.array([1]), "variant"),
        (pa.array([{"metadata": b"", "other": 1}]), "variant"),
    ],
)
def test_type_without_a_rule_is_refused_by_column_file_and_types(stored, kind):
    with pytest.raises(CorruptDataError) as caught:
        converted(stored, kind)
    assert "`c" in caught.value.problem
    assert "f.parquet" in caught.value.problem


def test_place_of_a_nested_misfit_is_named():
    kind = array(struct(field("a", map_of("string", "long"))))
    inner = pa.struct([("a", pa.map_(pa.string(), pa.string()))])
    with pytest.raises(CorruptDataError, match=r"`c\.element\.a\.value`"):
        converted(pa.array([[{"a": [("k", "v")]}]], pa.list_(inner)), kind)
