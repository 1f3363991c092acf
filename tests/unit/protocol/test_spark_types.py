"""Names of types that no revision has and Spark reads, and a schema that is not there."""

from __future__ import annotations

import json

import pytest

from explorer.errors import CorruptLogError
from explorer.protocol.schema import (
    PrimitiveType,
    StructType,
    UnknownType,
    parse_schema,
    parse_type_name,
    render_schema,
)


@pytest.mark.parametrize("name", ["varchar(5)", "char(5)", "char( 5 )"])
def test_types_of_text_with_a_length_are_strings_that_keep_them_as_spark_does(name: str) -> None:
    text = json.dumps(
        {
            "type": "struct",
            "fields": [{"name": "p", "type": name, "nullable": True, "metadata": {"a": 1}}],
        }
    )
    (column,) = parse_schema(text).fields
    assert column.data_type == PrimitiveType(name="string")
    assert column.metadata == {"__CHAR_VARCHAR_TYPE_STRING": name, "a": 1}
    assert parse_schema(render_schema(parse_schema(text))) == parse_schema(text)


@pytest.mark.slow
def test_a_type_with_a_length_is_kept_in_a_long_schema_too() -> None:
    column = {"name": "p", "type": "char(5)", "nullable": True, "metadata": {}}
    padding = {"name": "x" * 2**23, "type": "string", "nullable": True, "metadata": {}}
    first, _ = parse_schema(json.dumps({"type": "struct", "fields": [column, padding]})).fields
    assert first.metadata == {"__CHAR_VARCHAR_TYPE_STRING": "char(5)"}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("timestamp_ltz", PrimitiveType(name="timestamp")),
        # as Spark, which knows these names in lower case alone, and with a length
        ("timestamp_LTZ", UnknownType(text="timestamp_LTZ")),
        ("VARCHAR(5)", UnknownType(text="VARCHAR(5)")),
        ("varchar", UnknownType(text="varchar")),
    ],
)
def test_names_of_types_are_those_that_spark_reads(name: str, kind: object) -> None:
    assert parse_type_name(name) == kind


def test_a_table_that_does_not_say_its_schema_has_no_columns() -> None:
    assert parse_schema(None) == StructType()
    with pytest.raises(CorruptLogError):
        parse_schema("")
