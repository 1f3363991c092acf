"""Which values of a file become values of which type, and which never do."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from explorer.protocol.arrow_types import arrow_type
from explorer.protocol.schema import parse_type_name
from explorer.rows.conversion.leaf_values import leaf_converter

READ = [
    (pa.array([1], pa.int8()), "long", 1),
    (pa.array([-5], pa.int32()), "byte", -5),
    (pa.array([7], pa.int16()), "integer", 7),
    (pa.array([7], pa.int32()), "double", 7.0),
    (pa.array([7], pa.int32()), "decimal(12,2)", Decimal("7.00")),
    (pa.array([2**63 - 1], pa.int64()), "decimal(20,0)", Decimal(2**63 - 1)),
    (pa.array([1.5], pa.float32()), "double", 1.5),
    (pa.array([Decimal("1.25")], pa.decimal128(4, 2)), "decimal(6,3)", Decimal("1.250")),
    (pa.array([Decimal("1.25")], pa.decimal256(4, 2)), "decimal(4,2)", Decimal("1.25")),
    (pa.array([2**32 - 1], pa.uint32()), "long", 2**32 - 1),
    (pa.array([2**64 - 1], pa.uint64()), "decimal(20,0)", Decimal(2**64 - 1)),
    (pa.array([b"abc"]), "string", "abc"),
    (pa.array(["abc"], pa.large_string()), "string", "abc"),
    (pa.array(["abc"]).dictionary_encode(), "string", "abc"),
    (pa.array(["abc"]), "binary", b"abc"),
    (pa.array([b"abcd"], pa.binary(4)), "binary", b"abcd"),
    (pa.array([b"\x01\x01"]), "geometry(OGC:CRS84)", b"\x01\x01"),
    (pa.array([date(2024, 2, 29)]), "timestamp_ntz", datetime(2024, 2, 29)),  # noqa: DTZ001
    (pa.array([5], pa.int64()), "void", None),
]


@pytest.mark.rule("newer-void-no-feature", "newer-widening-convert-old", "newer-widening-date")
@pytest.mark.rule("newer-widening-decimal", "newer-widening-float", "newer-widening-int-to-decimal")
@pytest.mark.rule("newer-widening-int-to-double", "newer-widening-integers", "schema-type-void")
@pytest.mark.parametrize(("stored", "name", "value"), READ, ids=lambda item: str(item)[:30])
def test_value_is_read_as_the_type_of_the_table(stored, name, value):
    kind = parse_type_name(name)
    convert = leaf_converter(stored.type, kind)
    assert convert is not None
    found = convert(stored)
    assert found.type == arrow_type(kind)
    assert found.to_pylist() == [value]


@pytest.mark.rule("newer-widening-refuse-unsupported")
@pytest.mark.parametrize(
    ("stored", "name"),
    [
        (pa.string(), "long"),
        (pa.int64(), "string"),
        (pa.int64(), "integer"),
        (pa.int64(), "double"),
        (pa.int64(), "decimal(19,0)"),
        (pa.int32(), "decimal(9,0)"),
        (pa.int32(), "float"),
        (pa.float64(), "float"),
        (pa.float32(), "long"),
        (pa.uint64(), "long"),
        (pa.uint8(), "byte"),
        (pa.decimal128(10, 2), "decimal(9,2)"),
        (pa.decimal128(10, 2), "decimal(10,3)"),
        (pa.decimal128(10, 2), "double"),
        (pa.int64(), "timestamp"),
        (pa.timestamp("us"), "date"),
        (pa.date32(), "timestamp"),
        (pa.time64("us"), "long"),
        (pa.bool_(), "integer"),
        (pa.int32(), "boolean"),
        (pa.binary(4), "string"),
        (pa.list_(pa.int64()), "long"),
        (pa.struct([("a", pa.int64())]), "string"),
    ],
    ids=str,
)
def test_type_without_a_rule_is_never_converted(stored, name):
    assert leaf_converter(stored, parse_type_name(name)) is None


@pytest.mark.rule("schema-type-ntz", "schema-type-timestamp")
@pytest.mark.parametrize("name", ["timestamp", "timestamp_ntz"])
@pytest.mark.parametrize("zone", [None, "UTC", "America/Los_Angeles"])
@pytest.mark.parametrize(
    ("unit", "stored", "micros"),
    [
        ("s", -1, -1_000_000),
        ("ms", 1_700_000_000_123, 1_700_000_000_123_000),
        ("us", -7, -7),
        ("ns", 1_999, 1),
        ("ns", -1, -1),  # floored, as INT96 is: the microsecond in which it lies
        ("ns", -1_000, -1),
    ],
)
def test_timestamp_of_any_unit_and_zone_is_the_same_instant_in_microseconds(
    name, zone, unit, stored, micros
):
    array = pa.array([stored, None], pa.int64()).cast(pa.timestamp(unit, zone))
    found = leaf_converter(array.type, parse_type_name(name))(array)
    assert found.type == arrow_type(parse_type_name(name))
    assert found.cast(pa.int64()).to_pylist() == [micros, None]


@pytest.mark.parametrize(
    ("stored", "name"),
    [
        (pa.array([128], pa.int32()), "byte"),
        (pa.array([2**62], pa.int64()).cast(pa.timestamp("s")), "timestamp"),
        (pa.array([b"\xff"]), "string"),
    ],
    ids=str,
)
def test_value_that_does_not_fit_is_an_error_and_no_other_value(stored, name):
    with pytest.raises(pa.ArrowInvalid):
        leaf_converter(stored.type, parse_type_name(name))(stored)
