"""Variants as text, as the reference renders them, and as Python values."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from explorer.errors import UnsupportedError
from explorer.protocol.values.variant import (
    Float32,
    Temporal,
    Variant,
    parse_field_names,
    parse_variant,
)
from explorer.protocol.values.variant_rendering import MAX_TEXT, plain_variant, render_variant

# What org.apache.spark.types.variant.Variant of Spark 4.2 makes of these values in UTC.
REFERENCE = {
    "1c0000000000000000": "0.0",
    "1c0000000000000080": "-0.0",
    "1c000000000000f03f": "1.0",
    "1c000000000000f83f": "1.5",
    "1c0000000000005940": "100.0",
    "1c00000000d0126341": "1.0E7",
    "1c000000e0cf126341": "9999999.0",
    "1ccdccccdc298c6741": "1.23456789E7",
    "1c000000205fa00242": "1.0E10",
    "1cfca9f1d24d62503f": "0.001",
    "1c817c09151c5e503f": "9.99E-4",
    "1cf168e388b5f8e43e": "1.0E-5",
    "1cffffffffffffef7f": "1.7976931348623157E308",
    "1c0100000000000000": "4.9E-324",
    "1c0000000000001000": "2.2250738585072014E-308",
    "1cfca9f1d24d62603f": "0.002",
    "1cc976be9f0c24fe40": "123456.789",
    "1c000000000000f87f": '"NaN"',
    "1c000000000000f07f": '"Infinity"',
    "1c000000000000f0ff": '"-Infinity"',
    "1c9a9999999999b93f": "0.1",
    "1c50efe2d6e41a4b44": "1.0E21",
    "1c0080e03779c34143": "1.0E16",
    "1c0000000000004043": "9.007199254740992E15",
    "1c6666666666661140": "4.35",
    "1cbbbdd7d9df7cdb3d": "1.0E-10",
    "3800000000": "0.0",
    "3800000080": "-0.0",
    "380000803f": "1.0",
    "380000c03f": "1.5",
    "38cdcccc3d": "0.1",
    "388096184b": "1.0E7",
    "387f96184b": "9999999.0",
    "38ffff7f7f": "3.4028235E38",
    "3801000000": "1.4E-45",
    "380000804b": "1.6777216E7",
    "380000004c": "3.3554432E7",
    "386f12833a": "0.001",
    "38e3c2813a": "9.9E-4",
    "38f9021550": "1.0E10",
    "380000c07f": '"NaN"',
    "380000807f": '"Infinity"',
    "200239300000": "123.45",
    "200005000000": "5",
    "2009ffffffff": "-0.000000001",
    "2009ffc99a3b": "0.999999999",
    "24124ef330a64b9bb601": "0.123456789012345678",
    "240324faffffffffffff": "-1.5",
    "200264000000": "1",
    "282601000000000000000000000000000000": "0.00000000000000000000000000000000000001",
    "2826ffffffff3f228a097ac4865aa84c3b4b": "0.99999999999999999999999999999999999999",
    "280a000000c015128bb92f63d360f3ffffff": "-100000000000000000000",
    "280000000000a036f400d946dad510ee8507": "10000000000000000000000000000000000000",
    "280700000000000000000000000000000000": "0",
    "280800000000000000000000000000000000": "0",
    "2c00000000": '"1970-01-01"',
    "2cffffffff": '"1969-12-31"',
    "2c204e0000": '"2024-10-04"',
    "2ca0c02c00": '"9999-12-31"',
    "2ca1c02c00": '"+10000-01-01"',
    "2cc606f5ff": '"0001-01-01"',
    "2cc506f5ff": '"0000-12-31"',
    "2c5805f5ff": '"0000-01-01"',
    "2c5705f5ff": '"-0001-12-31"',
    "2c00cbf3ff": '"-0221-09-04"',
    "2cffffff7f": '"+5881580-07-11"',
    "2c00000080": '"-5877641-06-23"',
    "300000000000000000": '"1970-01-01 00:00:00+00:00"',
    "340000000000000000": '"1970-01-01 00:00:00"',
    "300100000000000000": '"1970-01-01 00:00:00.000001+00:00"',
    "340100000000000000": '"1970-01-01 00:00:00.000001"',
    "30ffffffffffffffff": '"1969-12-31 23:59:59.999999+00:00"',
    "34ffffffffffffffff": '"1969-12-31 23:59:59.999999"',
    "3040420f0000000000": '"1970-01-01 00:00:01+00:00"',
    "3440420f0000000000": '"1970-01-01 00:00:01"',
    "3020a1070000000000": '"1970-01-01 00:00:00.5+00:00"',
    "3420a1070000000000": '"1970-01-01 00:00:00.5"',
    "3040222018240a0600": '"2023-11-14 22:13:20.123456+00:00"',
    "3440222018240a0600": '"2023-11-14 22:13:20.123456"',
    "30c0142018240a0600": '"2023-11-14 22:13:20.12+00:00"',
    "34c0142018240a0600": '"2023-11-14 22:13:20.12"',
    "30a0c61f18240a0600": '"2023-11-14 22:13:20.1+00:00"',
    "34a0c61f18240a0600": '"2023-11-14 22:13:20.1"',
    "30006073cc0c448403": '"+10000-01-01 00:00:00+00:00"',
    "34006073cc0c448403": '"+10000-01-01 00:00:00"',
    "300040d400014023ff": '"0001-01-01 00:00:00+00:00"',
    "340040d400014023ff": '"0001-01-01 00:00:00"',
    "300000e9563e2323ff": '"0000-01-01 00:00:00+00:00"',
    "340000e9563e2323ff": '"0000-01-01 00:00:00"',
    "300020d5ca8f0623ff": '"-0001-01-01 00:00:00+00:00"',
    "340020d5ca8f0623ff": '"-0001-01-01 00:00:00"',
    "30ffffffffffffff7f": '"+294247-01-10 04:00:54.775807+00:00"',
    "34ffffffffffffff7f": '"+294247-01-10 04:00:54.775807"',
    "300000000000000080": '"-290308-12-21 19:59:05.224192+00:00"',
    "340000000000000080": '"-290308-12-21 19:59:05.224192"',
    "300087930300000000": '"1970-01-01 00:01:00+00:00"',
    "340087930300000000": '"1970-01-01 00:01:00"',
    "5000112233445566778899aabbccddeeff": '"00112233-4455-6677-8899-aabbccddeeff"',
    "3c0400000000fffe01": '"AP/+AQ=="',
    "4000000000": '""',
    "40070000006122625c632f64": '"a\\"b\\\\c/d"',
    "400c00000000011f7fc280e280a8e280a9": '"\\u0000\\u0001\\u001F\x7f\x80\u2028\u2029"',
    "400500000008090a0c0d": '"\\b\\t\\n\\f\\r"',
    "4009000000c3a9e282acf09f9880": '"\xe9\u20ac\U0001f600"',
    "40040000003c3e2627": '"<>&\'"',
    "0c80": "-128",
    "0c7f": "127",
    "100080": "-32768",
    "14ffffff7f": "2147483647",
    "180000000000000080": "-9223372036854775808",
    "04": "true",
    "08": "false",
    "00": "null",
}


@pytest.mark.parametrize(("value", "text"), REFERENCE.items(), ids=REFERENCE)
def test_text_is_that_of_the_reference(value: str, text: str) -> None:
    assert render_variant(parse_variant(bytes.fromhex(value), ())) == text


@pytest.mark.parametrize(
    ("variant", "text"),
    [
        (1e23, "1.0E23"),
        (Float32(1.1754943508222875e-38), "1.1754944E-38"),
        (Temporal("time", 0), '"00:00:00"'),
        (Temporal("time", 86_399_500_000), '"23:59:59.5"'),
        (Temporal("timestamp_nanos", 1), '"1970-01-01 00:00:00.000000001+00:00"'),
        (Temporal("timestamp_ntz_nanos", -1), '"1969-12-31 23:59:59.999999999"'),
    ],
)
def test_text_where_the_reference_has_none_or_is_older(variant: Variant, text: str) -> None:
    """Java 17 does not yet find the shortest digits; Spark has no times and nanoseconds."""
    assert render_variant(variant) == text


def test_objects_and_arrays_have_no_blanks_and_keep_their_order() -> None:
    variant: Variant = {"b": [1, None, {}], 'a"': [], "": "x"}
    assert render_variant(variant) == '{"b":[1,null,{}],"a\\"":[],"":"x"}'


@pytest.mark.parametrize(
    ("variant", "wanted"),
    [
        (Temporal("date", 20_000), date(2024, 10, 4)),
        (Temporal("time", 1_500_000), time(0, 0, 1, 500_000)),
        (Temporal("timestamp", -1), datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)),
        (Temporal("timestamp_ntz", 10**6), datetime(1970, 1, 1, 0, 0, 1)),  # noqa: DTZ001
        (Temporal("timestamp_nanos", 2000), datetime(1970, 1, 1, 0, 0, 0, 2, UTC)),
        ({"a": [Decimal("1.50"), Float32(0.5), b"x"]}, {"a": [Decimal("1.50"), 0.5, b"x"]}),
    ],
    ids=str,
)
def test_python_values_are_python_s_own(variant: Variant, wanted: Any) -> None:
    found = plain_variant(variant)
    assert (found, type(found)) == (wanted, type(wanted))


def test_single_precision_becomes_a_plain_float() -> None:
    assert type(plain_variant(Float32(0.5))) is float


@pytest.mark.parametrize(
    "variant",
    [
        Temporal("date", 2_932_897),
        Temporal("timestamp", -(2**63)),
        Temporal("timestamp_ntz_nanos", 1001),
    ],
    ids=str,
)
def test_time_that_python_cannot_hold_is_refused_not_rounded(variant: Variant) -> None:
    with pytest.raises(UnsupportedError, match="no Python value"):
        plain_variant(variant)


def test_long_name_in_every_element_is_refused_before_it_fills_the_memory() -> None:
    name = "n" * 100_000
    names = parse_field_names(
        b"\x81\x01\0\0" + bytes(3) + len(name).to_bytes(3, "little") + name.encode()
    )
    element = bytes.fromhex("0201 00 0001 00")
    count = MAX_TEXT // len(name) + 1
    ends = b"".join((len(element) * at).to_bytes(4, "little") for at in range(count + 1))
    value = b"\x1f" + count.to_bytes(4, "little") + ends + element * count
    with pytest.raises(UnsupportedError, match="too long"):
        render_variant(parse_variant(value, names))
