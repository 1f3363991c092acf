"""Delta types as Arrow types and back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.errors import InvalidArgumentError, UnsupportedError
from explorer.protocol.arrow_types import (
    arrow_schema,
    arrow_type,
    delta_schema,
    file_schema,
    row_schema,
)
from explorer.protocol.schema import (
    PRIMITIVE_NAMES,
    ArrayType,
    DecimalType,
    GeoType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    UnknownType,
    parse_schema,
    parse_type_name,
)

VARIANT = pa.struct(
    [
        pa.field("metadata", pa.binary(), nullable=False),
        pa.field("value", pa.binary(), nullable=False),
    ]
)


BYTE = PrimitiveType(name="byte")


def one(data_type, **kw):
    return StructType(fields=(StructField(name="a", data_type=data_type, **kw),))


@pytest.mark.rule("older-003-timestamp-no-zone", "older-003-types-no-long-decimal")
@pytest.mark.rule("older-004-type-long", "schema-type-binary", "schema-type-boolean")
@pytest.mark.rule("schema-type-byte", "schema-type-date", "schema-type-decimal")
@pytest.mark.rule("schema-type-double", "schema-type-float", "schema-type-integer")
@pytest.mark.rule("schema-type-long", "schema-type-ntz", "schema-type-short", "schema-type-string")
@pytest.mark.rule("schema-type-timestamp")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("string", pa.string()),
        ("long", pa.int64()),
        ("integer", pa.int32()),
        ("short", pa.int16()),
        ("byte", pa.int8()),
        ("float", pa.float32()),
        ("double", pa.float64()),
        ("decimal(38,18)", pa.decimal128(38, 18)),
        ("boolean", pa.bool_()),
        ("binary", pa.binary()),
        ("date", pa.date32()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestamp_ntz", pa.timestamp("us")),
        ("timestamp_nanos", pa.timestamp("ns", "UTC")),
        ("timestamp_nanos_ntz", pa.timestamp("ns")),
        ("variant", VARIANT),
        ("void", pa.null()),
        ("geometry(OGC:CRS84)", pa.binary()),
        ("interval year to month", pa.int32()),
        ("interval day to second", pa.duration("us")),
    ],
)
def test_each_type_has_its_arrow_type(name, expected):
    assert arrow_type(parse_type_name(name)) == expected


def test_no_primitive_type_is_left_out():
    for name in PRIMITIVE_NAMES:
        assert arrow_type(PrimitiveType(name=name)) is not None


@pytest.mark.rule("schema-array-type", "schema-field-members", "schema-map-type")
@pytest.mark.rule("schema-struct-object")
def test_nested_types_use_the_standard_names_and_keep_nullability():
    schema = parse_schema(
        json.dumps(
            {
                "type": "struct",
                "fields": [
                    {
                        "name": "m",
                        "nullable": False,
                        "metadata": {},
                        "type": {
                            "type": "map",
                            "keyType": "string",
                            "valueType": {
                                "type": "array",
                                "elementType": "long",
                                "containsNull": False,
                            },
                            "valueContainsNull": True,
                        },
                    }
                ],
            }
        )
    )
    result = arrow_schema(schema)
    kind = result.field("m").type
    assert not result.field("m").nullable
    assert (kind.key_field.name, kind.key_field.nullable) == ("key", False)
    assert (kind.item_field.name, kind.item_field.nullable) == ("value", True)
    assert (kind.item_type.value_field.name, kind.item_type.value_field.nullable) == (
        "element",
        False,
    )
    assert delta_schema(result) == schema


def test_rows_that_were_read_may_be_null_anywhere_and_have_variants_as_text():
    inner = one(PrimitiveType(name="variant"), nullable=False)
    schema = one(ArrayType(element_type=inner, contains_null=False), nullable=False)
    found = row_schema(schema).field("a")
    assert found.nullable
    assert found.type.value_field.nullable
    assert found.type.value_type == pa.struct([pa.field("a", pa.string(), nullable=True)])
    pairs = MapType(
        key_type=PrimitiveType(name="long"), value_type=inner, value_contains_null=False
    )
    kind = row_schema(one(pairs)).field("a").type
    assert (kind.key_field.nullable, kind.item_field.nullable) == (False, True)


def test_an_unknown_type_is_refused_by_name_and_place():
    inner = one(ArrayType(element_type=UnknownType(text="money"), contains_null=True))
    with pytest.raises(UnsupportedError) as caught:
        arrow_schema(StructType(fields=(StructField(name="s", data_type=inner),)))
    assert "unsupported type money of column `s.a.element`" in caught.value.problem
    assert caught.value.kind == "unsupported_feature"


@pytest.mark.rule("schema-column-metadata-various", "schema-field-metadata")
def test_column_metadata_becomes_field_metadata_and_comes_back():
    metadata = {
        "comment": "42",
        "delta.columnMapping.id": 7,
        "delta.columnMapping.physicalName": "col-7",
        "delta.identity.allowExplicitInsert": False,
        "delta.typeChanges": [{"fromType": "byte", "toType": "short"}],
    }
    schema = one(PrimitiveType(name="short"), metadata=metadata)
    result = arrow_schema(schema)
    assert result.field("a").metadata[b"comment"] == b"42"
    assert result.field("a").metadata[b"delta.columnMapping.id"] == b"7"
    assert delta_schema(result) == schema


def test_metadata_that_should_be_json_and_is_not_is_refused():
    broken = pa.schema([pa.field("a", pa.int64(), metadata={"delta.columnMapping.id": "x"})])
    with pytest.raises(InvalidArgumentError, match=r"delta\.columnMapping\.id"):
        delta_schema(broken)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (pa.large_string(), PrimitiveType(name="string")),
        (pa.string_view(), PrimitiveType(name="string")),
        (pa.dictionary(pa.int32(), pa.string()), PrimitiveType(name="string")),
        (pa.binary(16), PrimitiveType(name="binary")),
        (pa.timestamp("ns", "Europe/Berlin"), PrimitiveType(name="timestamp")),
        (pa.timestamp("s"), PrimitiveType(name="timestamp_ntz")),
        (pa.date64(), PrimitiveType(name="date")),
        (pa.decimal256(20, 3), DecimalType(precision=20, scale=3)),
        (pa.null(), PrimitiveType(name="void")),
        (pa.uint8(), PrimitiveType(name="short")),
        (pa.uint16(), PrimitiveType(name="integer")),
        (pa.uint32(), PrimitiveType(name="long")),
        (pa.uint64(), DecimalType(precision=20, scale=0)),
        (pa.float16(), PrimitiveType(name="float")),
        (pa.run_end_encoded(pa.int32(), pa.large_binary()), PrimitiveType(name="binary")),
        (pa.list_(pa.int8(), 3), ArrayType(element_type=BYTE, contains_null=True)),
        (
            pa.large_list(pa.int8()),
            ArrayType(element_type=PrimitiveType(name="byte"), contains_null=True),
        ),
    ],
)
def test_arrow_kin_become_the_plain_delta_type(kind, expected):
    assert delta_schema(pa.schema([("a", kind)])).fields[0].data_type == expected


@pytest.mark.parametrize(
    "kind",
    [
        pa.time64("us"),
        pa.time32("s"),
        pa.duration("ns"),
        pa.decimal256(50, 0),
        pa.decimal128(5, -2),
        pa.month_day_nano_interval(),
        pa.dense_union([pa.field("a", pa.int8())]),
        pa.uuid(),
        pa.json_(),
        pa.bool8(),
    ],
    ids=str,
)
def test_an_arrow_type_that_delta_lacks_is_refused_by_name(kind):
    with pytest.raises(InvalidArgumentError) as caught:
        delta_schema(pa.schema([("price", kind)]))
    assert str(kind) in caught.value.problem
    assert "`price`" in caught.value.problem
    assert "ast" in caught.value.remedy


def test_an_arrow_type_that_delta_lacks_is_refused_with_the_whole_way_to_it():
    kind = pa.struct([("of_day", pa.map_(pa.string(), pa.list_(pa.time32("ms"))))])
    with pytest.raises(InvalidArgumentError, match=r"`shop\.of_day\.value\.element`"):
        delta_schema(pa.schema([("shop", kind)]))


def test_an_arrow_type_may_be_hostile_and_is_refused():
    kind = pa.int8()
    for _ in range(5_000):
        kind = pa.list_(kind)
    with pytest.raises(InvalidArgumentError, match="nested too deep"):
        delta_schema(pa.schema([("a", kind)]))


def test_every_unsigned_number_fits_the_type_that_takes_its_place():
    for bits in (8, 16, 32, 64):
        kind = getattr(pa, f"uint{bits}")()
        taken = arrow_type(delta_schema(pa.schema([("a", kind)])).fields[0].data_type)
        assert pa.array([0, 2**bits - 1], kind).cast(taken).cast(kind).to_pylist()[1] == 2**bits - 1


def mapped(name, number, data_type, physical):
    return StructField(
        name=name,
        data_type=data_type,
        metadata={
            "delta.columnMapping.id": number,
            "delta.columnMapping.physicalName": physical,
        },
    )


@pytest.mark.rule("mapping-write-field-id", "mapping-write-physical-names", "newer-void-no-feature")
def test_data_files_get_physical_names_field_ids_and_no_void_columns(tmp_path):
    inner = StructType(fields=(mapped("x", 2, PrimitiveType(name="long"), "col-x"),))
    schema = StructType(
        fields=(
            mapped("s", 1, inner, "col-s"),
            mapped("nothing", 3, PrimitiveType(name="void"), "col-n"),
        )
    )
    stored = file_schema(schema, "name")
    assert stored.names == ["col-s"]
    pq.write_table(pa.table({"col-s": [{"col-x": 1}]}, schema=stored), tmp_path / "f.parquet")
    read = pq.read_schema(tmp_path / "f.parquet")
    assert read.field("col-s").metadata[b"PARQUET:field_id"] == b"1"
    assert read.field("col-s").type.field("col-x").metadata[b"PARQUET:field_id"] == b"2"


def test_what_lies_in_arrays_and_maps_gets_the_ids_that_the_column_keeps_for_it(tmp_path):
    """As for readers of Iceberg; the name of a column may look like a way into it."""
    kind = parse_type_name("long")
    inner = ArrayType(element_type=kind, contains_null=True)
    deep = MapType(key_type=kind, value_type=inner, value_contains_null=True)
    ids = {f"a.value.{way}": at for at, way in enumerate(("key", "value", "value.element"), 5)}
    field = mapped("m", 1, deep, "a.value")
    field = replace(field, metadata={**field.metadata, "delta.columnMapping.nested.ids": ids})
    stored = file_schema(StructType(fields=(field,)), "name")
    pq.write_table(stored.empty_table(), tmp_path / "f.parquet")
    read = pq.read_schema(tmp_path / "f.parquet").field("a.value").type
    parts = (read.key_field, read.item_field, read.item_type.value_field)
    assert [part.metadata[b"PARQUET:field_id"] for part in parts] == [b"5", b"6", b"7"]
    assert file_schema(StructType(fields=(field,)), "none").field("m").metadata is None


@pytest.mark.rule("mapping-none-display-names")
def test_data_files_of_an_unmapped_table_have_display_names_and_no_ids():
    schema = StructType(fields=(mapped("a", 1, GeoType(name="geometry"), "col-a"),))
    stored = file_schema(schema, "none")
    assert stored.names == ["a"]
    assert stored.field("a").metadata is None


def last_schema(table: Path):
    text = None
    for log in sorted((table / "_delta_log").glob("*.json")):
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            if '"metaData"' in line:
                text = json.loads(line)["metaData"].get("schemaString") or text
    return None if text is None else parse_schema(text)


def test_every_schema_of_the_corpus_has_an_arrow_schema(corpus):
    seen = 0
    for table in sorted((corpus / "tables").iterdir()):
        if (schema := last_schema(table)) is not None:
            seen += 1
            assert tuple(arrow_schema(schema).names) == schema.names
    assert seen > 120


def test_the_rows_shipped_with_a_table_fit_its_arrow_schema(corpus):
    table = corpus / "tables" / "dat-all_primitive_types"
    rows = pq.read_table(corpus / "expected" / "dat-all_primitive_types" / "latest")
    wanted = arrow_schema(last_schema(table))
    assert rows.select(wanted.names).cast(wanted).num_rows == 5
