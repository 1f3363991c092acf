"""How the columns of a table change with the rows that come."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from explorer.errors import InvalidArgumentError
from explorer.protocol.actions import Protocol
from explorer.protocol.arrow_types import delta_schema
from explorer.protocol.features.clustering import CLUSTERING_DOMAIN, clustering_columns
from explorer.protocol.features.column_mapping import field_id, physical_name
from explorer.protocol.schema import StructType, render_type
from explorer.protocol.schema_walk import walk_fields
from explorer.transaction.read_version import ReadVersion
from explorer.writing.schema.new_table import NewTable, build_new_table
from explorer.writing.schema.schema_change import merge_schema, overwrite_schema
from tests.unit.writing.schema.test_new_table import columns

WIDENING = {"delta.enableTypeWidening": "true"}
MAPPED = {"delta.columnMapping.mode": "name"}


def arrow(*fields, **named) -> StructType:
    return delta_schema(pa.schema([*fields, *named.items()]))


def base_of(table: NewTable) -> ReadVersion:
    domains = {item.domain: item for item in table.domains}
    return ReadVersion(
        version=3,
        protocol=table.protocol,
        metadata=table.metadata,
        timestamp=1,
        domains=domains,
    )


def table(schema: StructType, **asked) -> ReadVersion:
    return base_of(build_new_table(schema, now_ms=1, **asked))


def shape(schema: StructType) -> str:
    return render_type(schema)


def refused(made) -> InvalidArgumentError:
    with pytest.raises(InvalidArgumentError) as caught:
        made()
    assert caught.value.remedy
    return caught.value


# --- merging


def test_rows_with_the_same_columns_change_nothing_whatever_their_case_and_order():
    base = table(arrow(a=pa.int64(), b=pa.struct([("x", pa.string())])))
    assert merge_schema(base, arrow(B=pa.struct([("X", pa.string())]), A=pa.int64())) is None
    assert merge_schema(base, arrow(a=pa.int64())) is None


def test_new_columns_come_to_the_end_of_their_struct_and_may_be_null():
    inner = pa.struct([pa.field("x", pa.int64(), nullable=False)])
    base = table(arrow(pa.field("s", inner), l=pa.list_(inner_nullable()), m=a_map()))
    wide = pa.struct([pa.field("new", pa.int8(), nullable=False), ("X", pa.int64())])
    change = merge_schema(
        base,
        arrow(
            pa.field("z", pa.date32(), nullable=False),
            pa.field("S", wide),
            l=pa.list_(wide),
            m=pa.map_(pa.string(), wide),
        ),
    )
    assert shape(change.schema) == (
        "struct<s: struct<x: long, new: byte>, l: array<struct<x: long, new: byte>>, "
        "m: map<string, struct<x: long, new: byte>>, z: date>"
    )
    new = [place.field for place in walk_fields(change.schema) if place.field.name in ("new", "z")]
    assert [field.nullable for field in new] == [True] * 4
    assert change.schema.fields[0].data_type.fields[0].nullable is False
    assert change.actions == (change.metadata,)
    assert change.metadata.id == base.metadata.id


def inner_nullable():
    return pa.struct([("x", pa.int64())])


def a_map():
    return pa.map_(pa.string(), inner_nullable())


def test_void_columns_take_the_type_that_comes_and_void_rows_keep_the_one_that_is_there():
    base = table(arrow(a=pa.null(), b=pa.int64()), properties=MAPPED)
    change = merge_schema(base, arrow(a=inner_nullable(), b=pa.null()))
    assert shape(change.schema) == "struct<a: struct<x: long>, b: long>"
    assert [field_id(place.field) for place in walk_fields(change.schema)] == [1, 3, 2]
    assert change.metadata.configuration["delta.columnMapping.maxColumnId"] == "3"


def test_types_stay_without_type_widening_and_for_what_is_no_widening():
    base = table(arrow(a=pa.int32(), b=pa.int64(), c=pa.string()))
    wider = arrow(a=pa.int64(), b=pa.int32(), c=pa.int64())
    assert merge_schema(base, wider) is None
    base = table(arrow(b=pa.int64(), c=pa.string(), d=pa.int64()), properties=WIDENING)
    assert merge_schema(base, arrow(b=pa.int32(), c=pa.int64(), d=pa.float64())) is None


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        (pa.int8(), pa.int64(), ("byte", "long")),
        (pa.float32(), pa.float64(), ("float", "double")),
        (pa.decimal128(6, 2), pa.decimal128(9, 3), ("decimal(6,2)", "decimal(9,3)")),
        (pa.int32(), pa.float64(), ("integer", "double")),
    ],
    ids=str,
)
def test_a_wider_type_is_recorded_where_the_table_lets_types_be_widened(old, new, names):
    base = table(
        arrow(a=old, l=pa.list_(pa.map_(pa.string(), old)), s=pa.struct([("x", old)])),
        properties=WIDENING,
    )
    change = merge_schema(
        base, arrow(a=new, l=pa.list_(pa.map_(pa.string(), new)), s=pa.struct([("x", new)]))
    )
    entry = {"fromType": names[0], "toType": names[1]}
    first, second, third = change.schema.fields
    assert first.metadata == {"delta.typeChanges": [entry]}
    assert second.metadata == {"delta.typeChanges": [{**entry, "fieldPath": "element.value"}]}
    assert third.metadata == {}
    assert third.data_type.fields[0].metadata == {"delta.typeChanges": [entry]}


def test_a_second_widening_is_recorded_behind_the_first():
    base = table(arrow(a=pa.int8()), properties=WIDENING)
    first = merge_schema(base, arrow(a=pa.int16()))
    second = merge_schema(replace(base, metadata=first.metadata), arrow(a=pa.int32()))
    recorded = second.schema.fields[0].metadata["delta.typeChanges"]
    assert [entry["toType"] for entry in recorded] == ["short", "integer"]


def test_a_date_column_becomes_a_timestamp_only_where_the_table_supports_that_type():
    base = table(arrow(a=pa.date32()), properties=WIDENING)
    error = refused(lambda: merge_schema(base, arrow(a=pa.timestamp("us"))))
    assert "upgrade timestampNtz" in error.remedy
    base = table(
        arrow(a=pa.date32()),
        properties={**WIDENING, "delta.feature.timestampNtz": "supported"},
    )
    assert shape(merge_schema(base, arrow(a=pa.timestamp("us"))).schema) == (
        "struct<a: timestamp_ntz>"
    )


def test_a_variant_column_brings_its_feature_and_a_timestamp_without_zone_does_not():
    base = table(arrow(a=pa.int64()))
    change = merge_schema(base, columns('"name":"v","type":"variant"'))
    assert change.protocol.reader_features == ("variantType",)
    assert change.actions == (change.metadata, change.protocol)
    error = refused(lambda: merge_schema(base, arrow(t=pa.timestamp("us"))))
    assert "timestampNtz" in error.problem


@pytest.mark.rule("mapping-maxcolumnid-monotonic", "mapping-new-column-guid")
@pytest.mark.rule("mapping-new-column-id")
def test_new_columns_get_ids_above_the_highest_and_names_of_their_own():
    base = table(arrow(a=pa.int64(), s=inner_nullable()), properties=MAPPED)
    known = {place.names: place.field for place in walk_fields(table_schema(base))}
    base = replace(
        base,
        metadata=replace(
            base.metadata,
            configuration={
                **base.metadata.configuration,
                "delta.columnMapping.maxColumnId": "40",
            },
        ),
    )
    wide = pa.struct([("x", pa.int64()), ("y z", pa.int64())])
    change = merge_schema(base, arrow(s=wide, t=inner_nullable()))
    found = {place.names: place.field for place in walk_fields(change.schema)}
    assert [field_id(found[name]) for name in (("s", "y z"), ("t",), ("t", "x"))] == [41, 42, 43]
    assert all(physical_name(found[name], "name").startswith("col-") for name in found)
    assert found[("a",)] == known[("a",)]
    assert found[("s", "x")] == known[("s", "x")]
    assert change.metadata.configuration["delta.columnMapping.maxColumnId"] == "43"


def table_schema(base: ReadVersion) -> StructType:
    return NewTable(protocol=base.protocol, metadata=base.metadata).schema


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (pa.int64(), inner_nullable()),
        (inner_nullable(), pa.int64()),
        (pa.list_(pa.int64()), pa.map_(pa.string(), pa.int64())),
        (pa.list_(pa.int64()), pa.list_(inner_nullable())),
    ],
    ids=str,
)
def test_a_struct_does_not_become_another_type(old, new):
    error = refused(lambda: merge_schema(table(arrow(a=old)), arrow(a=new)))
    assert error.problem.startswith("The column a")
    assert error.kind == "schema_mismatch"


@pytest.mark.parametrize(
    ("incoming", "words"),
    [
        (arrow(pa.field("b", pa.int64()), B=pa.int64()), "called `b`"),
        (arrow(**{"b c": pa.int64()}), "b c"),
        (arrow(s=pa.struct([("b,c", pa.int64())])), "b,c"),
        (arrow(l=pa.list_(pa.null())), "no type in an array"),
    ],
    ids=str,
)
def test_columns_that_no_table_may_have_do_not_come_by_a_merge(incoming, words):
    error = refused(lambda: merge_schema(table(arrow(a=pa.int64())), incoming))
    assert words in f"{error.problem} {error.reason}"


def test_an_odd_name_that_the_table_has_already_stands_in_no_ones_way():
    base = table(arrow(a=pa.int64()))
    text = base.metadata.schema_string.replace('"a"', '"a b"')
    base = replace(base, metadata=replace(base.metadata, schema_string=text))
    assert shape(merge_schema(base, arrow(c=pa.int8())).schema) == "struct<a b: long, c: byte>"


def test_a_column_of_an_expression_keeps_its_type():
    base = table(
        arrow(a=pa.int32(), b=pa.int32()),
        properties={**WIDENING, "delta.constraints.c": "a > 0"},
    )
    assert "a > 0" in refused(lambda: merge_schema(base, arrow(a=pa.int64()))).problem
    assert merge_schema(base, arrow(b=pa.int64())) is not None


def test_what_rows_say_of_another_table_does_not_come_with_them():
    incoming = columns(
        '"name":"b","type":"long","nullable":false,"metadata":{"comment":"c",'
        '"delta.columnMapping.id":9,"delta.columnMapping.physicalName":"p","CURRENT_DEFAULT":"1",'
        '"delta.generationExpression":"a","__CHAR_VARCHAR_TYPE_STRING":"x","mine":"m"}'
    )
    change = merge_schema(table(arrow(a=pa.int64())), incoming)
    assert change.schema.fields[1].metadata == {
        "comment": "c",
        "__CHAR_VARCHAR_TYPE_STRING": "x",
        "mine": "m",
    }


# --- overwriting


def test_overwriting_takes_the_columns_that_come_and_keeps_the_table():
    schema = columns(
        '"name":"a","type":"long","nullable":false,"metadata":{"comment":"c"}',
        '"name":"b","type":"date"',
    )
    base = table(schema, partition_by=["b"], properties={"owner": "x"}, name="n")
    change = overwrite_schema(base, arrow(b=pa.string(), c=pa.int8()))
    assert shape(change.schema) == "struct<b: string, c: byte>"
    before, after = base.metadata, change.metadata
    assert after == replace(before, schema_string=after.schema_string)
    assert overwrite_schema(base, arrow(c=pa.int8()), partition_by=()).metadata == replace(
        before,
        schema_string=overwrite_schema(
            base, arrow(c=pa.int8()), partition_by=()
        ).metadata.schema_string,
        partition_columns=(),
    )


def test_overwriting_with_the_same_columns_changes_nothing():
    assert overwrite_schema(table(arrow(a=pa.int64())), arrow(a=pa.int64())) is None
    mapped = table(arrow(a=pa.int64(), s=inner_nullable()), properties=MAPPED)
    assert overwrite_schema(mapped, arrow(a=pa.int64(), s=inner_nullable())) is None


def test_a_column_that_stays_the_same_keeps_its_id_and_its_name_in_files():
    base = table(
        arrow(a=pa.int64(), b=pa.int64(), s=pa.struct([("x", pa.int64()), ("y", pa.int8())])),
        properties=MAPPED,
    )
    incoming = arrow(
        s=pa.struct([("Y", pa.int16()), ("x", pa.int64())]), a=pa.string(), B=pa.int64()
    )
    change = overwrite_schema(base, incoming)
    known = {place.names: place.field for place in walk_fields(table_schema(base))}
    found = {place.names: place.field for place in walk_fields(change.schema)}
    for new, old in ((("s",), ("s",)), (("s", "x"), ("s", "x")), (("B",), ("b",))):
        assert field_id(found[new]) == field_id(known[old])
        assert physical_name(found[new], "name") == physical_name(known[old], "name")
    assert [field_id(found[name]) for name in (("s", "Y"), ("a",))] == [6, 7]


def test_a_constraint_needs_its_columns():
    base = table(arrow(a=pa.int32(), b=pa.int8()), properties={"delta.constraints.c": "a > 0"})
    error = refused(lambda: overwrite_schema(base, arrow(b=pa.int8())))
    assert "which would be gone" in error.problem
    assert overwrite_schema(base, arrow(A=pa.int64())) is not None


def test_the_layout_needs_its_columns():
    base = table(arrow(a=pa.int32(), b=pa.int8()), partition_by=["a"])
    assert "a" in refused(lambda: overwrite_schema(base, arrow(b=pa.int8()))).problem
    base = table(arrow(a=pa.int32(), b=pa.int8()), cluster_by=["a"])
    assert "a" in refused(lambda: overwrite_schema(base, arrow(b=pa.int8()))).problem
    change = overwrite_schema(base, arrow(b=pa.int8()), cluster_by=())
    assert clustering_columns(change.domains[0].configuration) == ()
    assert change.kept_domains == {CLUSTERING_DOMAIN}


def test_clustering_columns_follow_their_names_in_files():
    base = table(arrow(a=pa.int32(), b=pa.int8()), cluster_by=["a"], properties=MAPPED)
    assert overwrite_schema(base, arrow(a=pa.int32(), c=pa.int8())).domains == ()
    change = overwrite_schema(base, arrow(a=pa.int64(), c=pa.int8()))
    name = physical_name(change.schema.fields[0], "name")
    assert clustering_columns(change.domains[0].configuration) == ((name,),)


def test_a_table_may_become_clustered_when_its_rows_are_replaced():
    base = table(arrow(a=pa.int32(), b=pa.int8()), partition_by=["b"])
    change = overwrite_schema(base, arrow(a=pa.int32(), b=pa.int8()), cluster_by=["a"])
    assert change.metadata.partition_columns == ()
    assert "clustering" in change.protocol.writer_features
    assert change.actions == (change.metadata, change.protocol, *change.domains)


def test_a_table_whose_schema_cannot_be_read_does_not_count_as_empty():
    base = ReadVersion(
        version=1,
        protocol=Protocol(min_reader_version=1, min_writer_version=2),
        metadata=replace(table(arrow(a=pa.int8())).metadata, schema_string="{"),
    )
    with pytest.raises(Exception, match="schema"):
        merge_schema(base, arrow(a=pa.int8()))
