"""Type widening: which changes a reader converts, and which it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from explorer.errors import UnsupportedError
from explorer.protocol.features.type_widening import (
    check_type_changes,
    is_widened_by_appends,
    is_widening,
    type_changes,
    validate_type_changes,
)
from explorer.protocol.schema import StructField, StructType, parse_type_name

URI = "file:/tmp/t"


def column(name="a", kind="long", **metadata: Any):
    return StructField(name=name, data_type=parse_type_name(kind), metadata=metadata)


@pytest.mark.rule("newer-widening-date", "newer-widening-decimal", "newer-widening-float")
@pytest.mark.rule("newer-widening-int-to-decimal", "newer-widening-int-to-double")
@pytest.mark.rule("newer-widening-integers")
@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        ("byte", "short", True),
        ("byte", "long", True),
        ("integer", "long", True),
        ("long", "integer", False),
        ("float", "double", True),
        ("integer", "double", True),
        ("long", "double", False),
        ("byte", "float", False),
        ("date", "timestamp_ntz", True),
        ("date", "timestamp", False),
        ("decimal(6,2)", "decimal(10,4)", True),
        ("decimal(6,2)", "decimal(7,4)", False),
        ("decimal(6,2)", "decimal(10,1)", False),
        ("integer", "decimal(10,0)", True),
        ("integer", "decimal(12,2)", True),
        ("integer", "decimal(11,2)", False),
        ("long", "decimal(20,0)", True),
        ("long", "decimal(19,0)", False),
        ("string", "decimal(20,0)", False),
        ("void", "string", True),
    ],
)
def test_only_the_changes_of_the_specification_are_widening(before, after, allowed):
    assert is_widening(parse_type_name(before), parse_type_name(after)) is allowed


@pytest.mark.rule("newer-widening-history", "newer-widening-refuse-unsupported")
def test_recorded_changes_are_found_and_bad_ones_are_refused():
    good = {"fromType": "short", "toType": "integer", "fieldPath": "element.value"}
    schema = StructType(fields=(column(**{"delta.typeChanges": [good]}),))
    (change,) = type_changes(schema)
    assert change.path == ("a", "element", "value")
    assert validate_type_changes(schema) == []
    check_type_changes(schema, URI)
    for bad in ([{"fromType": "string", "toType": "long"}], [{}], [5], "x"):
        broken = StructType(fields=(column(**{"delta.typeChanges": bad}),))
        with pytest.raises(UnsupportedError, match="unsupported type change of column `a"):
            check_type_changes(broken, URI)


@pytest.mark.parametrize(
    ("before", "after", "widened"),
    [
        ("byte", "long", True),
        ("float", "double", True),
        ("date", "timestamp_ntz", True),
        ("decimal(6,2)", "decimal(9,3)", True),
        ("decimal(6,2)", "decimal(6,2)", True),
        ("integer", "double", True),
        ("integer", "decimal(10,0)", True),
        ("integer", "decimal(9,0)", False),
        ("long", "double", False),
        ("long", "integer", False),
        ("void", "long", False),
        ("string", "long", False),
    ],
)
def test_rows_widen_a_column_to_what_a_statement_may_widen_it_to(before, after, widened):
    assert is_widened_by_appends(parse_type_name(before), parse_type_name(after)) is widened
