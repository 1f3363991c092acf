"""Schemas from and to their JSON text, and the walk over their fields."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from explorer.errors import CorruptLogError
from explorer.protocol.schema import (
    MAX_SCHEMA_DEPTH,
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
    render_schema,
    render_type,
)
from explorer.protocol.schema_walk import (
    leaf_fields,
    render_path,
    validate_schema,
    walk_fields,
    walk_types,
)

INTEGER = PrimitiveType(name="integer")
STRING = PrimitiveType(name="string")


def column(name, data_type="integer", nullable=True, metadata=None):
    return {"name": name, "type": data_type, "nullable": nullable, "metadata": metadata or {}}


def struct(*fields):
    return {"type": "struct", "fields": list(fields)}


def array(element, contains_null=True):
    return {"type": "array", "elementType": element, "containsNull": contains_null}


def map_of(key, value):
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def parse(value):
    return parse_schema(json.dumps(value))


def test_the_example_of_the_specification_is_read_field_by_field():
    schema = parse(
        struct(
            column("a", nullable=False),
            column("b", struct(column("d", nullable=False))),
            column("c", array("integer", contains_null=False)),
            column("f", map_of("string", "string")),
        )
    )
    inner = StructType(fields=(StructField(name="d", data_type=INTEGER, nullable=False),))
    assert schema.names == ("a", "b", "c", "f")
    assert schema.field("a") == StructField(name="a", data_type=INTEGER, nullable=False)
    assert schema.field("b").data_type == inner
    assert schema.field("c").data_type == ArrayType(element_type=INTEGER, contains_null=False)
    assert schema.field("f").data_type == MapType(
        key_type=STRING, value_type=STRING, value_contains_null=True
    )
    assert schema.field("A") is None


@pytest.mark.parametrize("name", sorted(PRIMITIVE_NAMES))
def test_every_primitive_name_stands_for_itself(name):
    assert parse_type_name(name) == PrimitiveType(name=name)
    assert render_type(parse_type_name(name)) == name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("decimal", DecimalType(precision=10, scale=0)),
        ("decimal(10,2)", DecimalType(precision=10, scale=2)),
        ("decimal( 38 , 38 )", DecimalType(precision=38, scale=38)),
        ("decimal(39,0)", UnknownType(text="decimal(39,0)")),
        ("decimal(0,0)", UnknownType(text="decimal(0,0)")),
        ("decimal(4,5)", UnknownType(text="decimal(4,5)")),
        ("null", PrimitiveType(name="void")),
        ("geometry", GeoType(name="geometry")),
        ("geometry(OGC:CRS84)", GeoType(name="geometry", parameters=("OGC:CRS84",))),
        (
            "geography(OGC:CRS84, spherical)",
            GeoType(name="geography", parameters=("OGC:CRS84", "spherical")),
        ),
        ("interval month", PrimitiveType(name="interval year to month")),
        ("interval day to minute", PrimitiveType(name="interval day to second")),
        ("interval second", PrimitiveType(name="interval day to second")),
        ("interval second to day", UnknownType(text="interval second to day")),
        ("interval month to second", UnknownType(text="interval month to second")),
        ("Integer", UnknownType(text="Integer")),
        ("money", UnknownType(text="money")),
        ("", UnknownType(text="")),
    ],
)
def test_names_with_parameters_and_unknown_names(text, expected):
    assert parse_type_name(text) == expected


def test_a_user_defined_type_is_read_as_the_sql_type_beneath_it():
    udt = {"type": "udt", "class": "Point", "pyClass": None, "sqlType": array("double")}
    assert parse(struct(column("p", udt))).field("p").data_type == ArrayType(
        element_type=PrimitiveType(name="double"), contains_null=True
    )


def test_a_primitive_in_an_object_is_read_as_in_the_variant_example():
    schema = parse(struct(column("v", array({"type": "variant"}))))
    assert schema.field("v").data_type.element_type == PrimitiveType(name="variant")


def test_metadata_may_be_absent():
    schema = parse_schema(
        '{"type":"struct","fields":[{"name":"a","type":"long","nullable":true},'
        '{"name":"b","type":"long","nullable":true,"metadata":null}]}'
    )
    assert [item.metadata for item in schema.fields] == [{}, {}]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[]", "an array"),
        ("null", "missing"),
        ('"struct"', "'struct'"),
        ('{"type":"array","elementType":"long","containsNull":true}', "type struct"),
        ('{"type":"struct"}', "fields of the schema must be an array, but are missing"),
        ('{"type":"struct","fields":{}}', "must be an array, but are an object"),
        ('{"type":"struct","fields":[7]}', "must be an object, but is 7"),
        (json.dumps(struct({"type": "long", "nullable": True})), "name of a field"),
        (json.dumps(struct(column(5))), "name of a field of the schema must be text, but is 5"),
        (json.dumps(struct({"name": "a", "nullable": True})), "type of `a`"),
        (json.dumps(struct(column("a", 5))), "type of `a`"),
        (json.dumps(struct(column("a", {"type": 5}))), "type of `a`"),
        (json.dumps(struct(column("a", nullable="yes"))), "`nullable` of `a`"),
        (json.dumps(struct(column("a", array("long", None)))), "`containsNull` of `a`"),
        (json.dumps(struct(column("a", array(None)))), "type of `a.element`"),
        (json.dumps(struct(column("a", map_of("long", [])))), "type of `a.value`"),
        (json.dumps(struct(column("a", metadata=["x"]))), "metadata of `a`"),
        (json.dumps(struct(column("a", {"type": "udt"}))), "type of `a`"),
        ('{"type":"struct","fields":[{"name":"\\ud800"}]}', "not JSON"),
    ],
)
def test_a_broken_schema_is_refused_with_the_place(text, reason):
    with pytest.raises(CorruptLogError) as caught:
        parse_schema(text)
    assert caught.value.kind == "schema_invalid"
    assert reason in caught.value.reason
    assert caught.value.remedy


def nested(depth, kind):
    """The text of a schema with `depth` types of one kind around a long."""
    open_struct = '{"type":"struct","fields":[{"name":"a","type":'
    close_struct = ',"nullable":true,"metadata":{}}]}'
    if kind == "struct":
        return open_struct * depth + '"long"' + close_struct * depth
    opened, closed = '{"type":"array","elementType":', ',"containsNull":true}'
    return open_struct + opened * depth + '"long"' + closed * depth + close_struct


@pytest.mark.parametrize("kind", ["array", "struct"])
@pytest.mark.parametrize("depth", [MAX_SCHEMA_DEPTH + 1, 300, 100_000])
def test_a_schema_nested_too_deep_is_refused(kind, depth):
    with pytest.raises(CorruptLogError) as caught:
        parse_schema(nested(depth, kind))
    assert caught.value.kind == "schema_invalid"


@pytest.mark.parametrize(("kind", "depth"), [("array", 99), ("struct", 100)])
def test_the_deepest_schema_can_be_walked_rendered_and_shown(kind, depth):
    schema = parse_schema(nested(depth, kind))
    assert parse_schema(render_schema(schema)) == schema
    assert len(list(walk_types(schema))) == depth + (2 if kind == "array" else 1)
    assert validate_schema(schema) == []
    assert render_type(schema).count("<") == depth + (1 if kind == "array" else 0)
    assert "PrimitiveType" in repr(schema)
    assert hash(schema) == hash(parse_schema(render_schema(schema)))


@pytest.mark.parametrize("side", ["keyType", "valueType"])
def test_both_sides_of_a_map_count_towards_the_depth(side):
    other = "valueType" if side == "keyType" else "keyType"
    opened = f'{{"type":"map","{other}":"long","valueContainsNull":true,"{side}":'
    for depth, allowed in ((MAX_SCHEMA_DEPTH - 1, True), (MAX_SCHEMA_DEPTH, False)):
        text = nested(1, "struct").replace('"long"', opened * depth + '"long"' + "}" * depth)
        if allowed:
            assert parse_schema(render_schema(parse_schema(text))) == parse_schema(text)
        else:
            with pytest.raises(CorruptLogError, match="nested more than"):
                parse_schema(text)


def test_metadata_nested_too_deep_is_refused():
    deep = '{"a":' * 300 + "1" + "}" * 300
    field = f'{{"name":"a","type":"long","nullable":true,"metadata":{deep}}}'
    with pytest.raises(CorruptLogError, match="cannot be written"):
        parse_schema(f'{{"type":"struct","fields":[{field}]}}')


def test_a_huge_name_is_not_repeated_in_the_error():
    with pytest.raises(CorruptLogError) as caught:
        parse(struct(column("x" * 1_000_000, struct(column("y" * 1_000_000, 5)))))
    assert len(str(caught.value)) < 1_000


def test_an_unknown_type_is_kept_and_written_back():
    odd = {"type": "tensor", "shape": [2, 3]}
    text = json.dumps(struct(column("a", "money"), column("b", odd)), separators=(",", ":"))
    schema = parse_schema(text)
    assert isinstance(schema.field("b").data_type, UnknownType)
    assert render_schema(schema) == text
    problems = [item.problem for item in validate_schema(schema)]
    assert len(problems) == 2
    assert "`a` has the unknown type `money`" in problems[0]
    assert "tensor" in problems[1]


def test_names_that_differ_only_in_case_are_a_problem_on_every_level():
    inner = struct(column("x"), column("X"), column("x"))
    schema = parse(struct(column("A"), column("a"), column("b", array(inner))))
    problems = validate_schema(schema)
    assert [item.kind for item in problems] == ["schema_invalid"] * 2
    assert "2 columns of the table are called `a`" in problems[0].problem
    assert "3 columns of `b.element` are called `x`" in problems[1].problem


def test_the_same_name_on_two_levels_is_no_problem():
    assert validate_schema(parse(struct(column("a", struct(column("a")))))) == []


def test_fields_are_walked_in_order_and_through_arrays_and_maps():
    schema = parse(
        struct(
            column("a.b", struct(column("c"))),
            column("m", map_of(struct(column("k")), array(struct(column("v"))))),
            column("z"),
        )
    )
    places = list(walk_fields(schema))
    assert [place.path for place in places] == [
        "`a.b`",
        "`a.b`.c",
        "m",
        "m.key.k",
        "m.value.element.v",
        "z",
    ]
    assert [place.depth for place in places] == [0, 1, 0, 1, 1, 0]
    assert [place.path for place in leaf_fields(schema)] == ["`a.b`.c", "m", "z"]


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (("a", "b_1"), "a.b_1"),
        (("a.b", "c"), "`a.b`.c"),
        (("we`ird",), "`we``ird`"),
        (("Größe",), "`Größe`"),
        (("",), "``"),
    ],
)
def test_a_path_quotes_what_is_no_plain_name(names, text):
    assert render_path(names) == text


def test_a_type_reads_like_sql():
    schema = parse(struct(column("a", map_of("string", array(struct(column("x", "decimal")))))))
    assert render_type(schema.fields[0].data_type) == "map<string, array<struct<x: decimal(10,0)>>>"


def schema_strings(table: Path):
    for log in sorted((table / "_delta_log").glob("*.json")):
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            if '"metaData"' in line:
                text = json.loads(line)["metaData"].get("schemaString")
                if text:
                    yield text


@pytest.mark.rule("schema-field-members", "schema-field-metadata", "schema-spark-json")
def test_every_schema_of_the_corpus_survives_the_round_trip(corpus):
    seen = 0
    for table in sorted((corpus / "tables").iterdir()):
        for text in schema_strings(table):
            seen += 1
            schema = parse_schema(text)
            assert validate_schema(schema) == [], table.name
            assert json.loads(render_schema(schema)) == with_metadata(json.loads(text)), table.name
    assert seen > 130


def with_metadata(value):
    """The schema as JSON with the empty metadata that some writers leave out."""
    if isinstance(value, list):
        return [with_metadata(item) for item in value]
    if isinstance(value, dict):
        inner = {key: with_metadata(item) for key, item in value.items()}
        return {"metadata": {}, **inner} if "nullable" in inner else inner
    return value


def _both_ways(text: str, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What comes of a text that counts as short, and of the same as a long one."""
    found: list[object] = []
    for longest in (2**40, 0):
        monkeypatch.setattr("explorer.protocol.schema._LONG_TEXT", longest)
        try:
            found.append(parse_schema(text))
        except CorruptLogError as error:
            found.append((error.kind, "not JSON" in error.reason))
    return found


def test_long_schemas_are_parsed_like_short_ones_in_the_corpus(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = set()
    for commit in (corpus / "tables").glob("*/_delta_log/*.json"):
        for line in commit.read_bytes().splitlines():
            if b'"schemaString"' in line and line.startswith(b'{"metaData"'):
                texts.add(json.loads(line)["metaData"]["schemaString"])
    assert len(texts) > 80
    for text in texts:
        short, long = _both_ways(text, monkeypatch)
        assert isinstance(short, StructType)
        assert short == long


_PLAIN = '{"name":"a","type":"null","nullable":true,"metadata":{}}'


def _field_text(kind: str = '"long"', metadata: str = "{}", name: str = '"f"') -> str:
    return f'{{"name":{name},"type":{kind},"nullable":true,"metadata":{metadata}}}'


@pytest.mark.parametrize(
    "field",
    [
        _PLAIN,
        # what looks like a field and is none
        _field_text(metadata=f'{{"x":{_PLAIN}}}'),
        _field_text(metadata=f'{{"x":[{{"y":{_PLAIN}}}]}}'),
        _field_text(metadata=_PLAIN),
        _field_text(kind=_PLAIN),
        _field_text(kind=f'{{"type":"udt","sqlType":{_PLAIN}}}'),
        _field_text(kind=f'{{"type":"new","of":{_PLAIN}}}'),
        _field_text(kind=f'{{"type":"struct","fields":{_PLAIN}}}'),
        _field_text(kind=f'{{"type":"struct","fields":[{_PLAIN},{_PLAIN}]}}'),
        # what one decoder takes and the other does not, or takes otherwise
        _field_text(metadata='{"x":NaN}'),
        _field_text(metadata='{"x":-Infinity}'),
        _field_text(name='"\\ud800"'),
        _field_text(name='"\\ud83d\\ude00"'),
        _field_text(metadata='{"x":18446744073709551616,"y":-9223372036854775809}'),
        _field_text(metadata='{"x":18446744073709551615,"y":-9223372036854775808,"z":-0,"e":1e3}'),
        _field_text(metadata='{"x":' + "9" * 5000 + "}"),
        _field_text(metadata='{"x":1e999}'),
        _field_text(metadata='{"x":' + "[" * 300 + "]" * 300 + "}"),
        _field_text(metadata='{"x":' + "[" * 3000 + "]" * 3000 + "}"),
        _field_text(metadata='{"x":1,"x":2}'),
        _field_text(metadata="null"),
        _field_text(metadata="5"),
        _field_text(kind='"no such type"'),
        _field_text(kind='"decimal(5,2)"'),
        _field_text(name="5"),
        _PLAIN.replace("true", '"true"'),
        _PLAIN.replace("null", "a\\tb").replace('"nullable":true,', ""),
        _PLAIN.replace('"a"', '"a\tb"'),
        _PLAIN + ",",
        _PLAIN[:-1],
    ],
)
def test_long_schemas_are_parsed_like_short_ones(
    field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    short, long = _both_ways(f'{{"type":"struct","fields":[{field}]}}', monkeypatch)
    assert short == long
    if isinstance(short, StructType):
        assert isinstance(long, StructType)
        assert render_schema(short) == render_schema(long)
    short, long = _both_ways(field, monkeypatch)
    assert short == long
