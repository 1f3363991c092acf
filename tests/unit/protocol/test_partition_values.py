"""Partition values as strings and back, and the folders named after them."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.errors import CorruptLogError, InvalidArgumentError
from explorer.protocol.values.calendar_days import Day, Moment
from explorer.protocol.values.partition_values import (
    parse_partition_value,
    render_partition_folder,
    render_partition_value,
)

DAYS = st.integers(-(2**31), 2**31 - 1).map(Day)
MOMENTS = st.integers(-(2**63), 2**63 - 1).map(lambda number: Moment(number, True))

PAIRS = [
    ("string", "x/y é", "x/y é"),
    ("long", -(2**63), "-9223372036854775808"),
    ("integer", 7, "7"),
    ("double", 1.5, "1.5"),
    ("float", -math.inf, "-Infinity"),
    ("decimal(10,2)", Decimal("3.10"), "3.10"),
    ("decimal(38,0)", Decimal("1E+20"), "100000000000000000000"),
    ("boolean", True, "true"),
    ("boolean", False, "false"),
    ("date", Day(0), "1970-01-01"),
    ("date", Day(-719_529), "-0001-12-31"),
    ("date", Day(2_932_897), "+10000-01-01"),
    ("date", Day(2**31 - 1), "+5881580-07-11"),
    ("timestamp_ntz", Moment(0, False), "1970-01-01 00:00:00"),
    ("timestamp_ntz", Moment(123_456, False), "1970-01-01 00:00:00.123456"),
    ("timestamp_ntz", Moment(-(2**63), False), "-290308-12-21 19:59:05.224192"),
    ("timestamp", Moment(1_710_030_600_000_000, True), "2024-03-10T00:30:00.000000Z"),
    ("timestamp", Moment(253_402_318_799_000_000, True), "+10000-01-01T04:59:59.000000Z"),
    ("binary", b"\x01z{", "\x01z{"),
]


@pytest.mark.rule("partition-binary", "partition-boolean", "partition-date", "partition-numeric")
@pytest.mark.rule("partition-string", "partition-strings", "partition-timestamp-ntz")
@pytest.mark.parametrize(("type_name", "value", "text"), PAIRS)
def test_value_is_rendered_as_the_log_has_it_and_comes_back(
    type_name: str, value: object, text: str
) -> None:
    assert render_partition_value(value) == text
    assert parse_partition_value(text, type_name) == value


@pytest.mark.rule("partition-empty-is-null")
@pytest.mark.parametrize("type_name", ["string", "long", "date", "binary", "timestamp"])
@pytest.mark.parametrize("text", ["", None])
def test_empty_string_is_null_for_every_type(type_name: str, text: str | None) -> None:
    assert parse_partition_value(text, type_name) is None


@pytest.mark.rule("partition-empty-is-null")
def test_null_and_the_empty_string_are_rendered_alike() -> None:
    assert render_partition_value(None) is render_partition_value("") is None


def test_not_a_number_has_a_name() -> None:
    assert render_partition_value(math.nan) == "NaN"
    assert math.isnan(parse_partition_value("NaN", "double"))


def test_times_of_python_are_rendered_as_those_of_the_log() -> None:
    assert render_partition_value(date(1, 1, 1)) == "0001-01-01"
    local = datetime(1970, 1, 1, 0, 0, 0, 123456)  # noqa: DTZ001  # a time on the wall
    assert render_partition_value(local) == "1970-01-01 00:00:00.123456"


def test_time_of_another_zone_is_rendered_in_utc() -> None:
    there = datetime(2024, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    assert render_partition_value(there) == "2024-01-01T00:00:00.000000Z"


@pytest.mark.rule("older-004-partition-timestamp-no-micros", "partition-timestamp")
@pytest.mark.rule("partition-timestamp-no-zone")
@pytest.mark.parametrize(
    "text", ["1970-01-01 00:00:00", "1970-01-01 00:00:00.000", "1970-01-01T00:00:00.000000Z"]
)
def test_timestamp_is_read_in_every_form_that_writers_use(text: str) -> None:
    assert parse_partition_value(text, "timestamp") == Moment(0, True)


@pytest.mark.rule("partition-date", "partition-timestamp", "partition-timestamp-ntz")
@pytest.mark.parametrize(
    ("text", "type_name", "signed"),
    [
        ("10000-01-01", "date", "+10000-01-01"),
        ("5881580-07-11", "date", "+5881580-07-11"),
        ("10000-01-01 01:59:59.999999", "timestamp", "+10000-01-01T01:59:59.999999Z"),
        ("294247-01-10 04:00:54", "timestamp", "+294247-01-10T04:00:54.000000Z"),
        ("10000-01-01 00:00:00", "timestamp_ntz", "+10000-01-01 00:00:00"),
    ],
)
def test_long_years_need_no_sign(text: str, type_name: str, signed: str) -> None:
    found = parse_partition_value(text, type_name)
    assert found == parse_partition_value(signed, type_name)
    assert render_partition_value(found) == signed


@pytest.mark.parametrize(
    ("text", "type_name"),
    [
        ("x", "long"),
        ("1_000", "long"),
        ("yes", "boolean"),
        ("2024-13-01", "date"),
        ("00010000-01-01", "date"),
        ("5881580-07-12", "date"),
        ("+5881580-07-12", "date"),
        ("+300000-01-01T00:00:00Z", "timestamp"),
        ("+10000-01-01 00:00:00", "timestamp_nanos_ntz"),
        ("soon", "timestamp"),
        ("1,5", "decimal(10,2)"),
        ("one", "double"),
    ],
)
def test_text_of_another_type_is_refused_with_both_named(text: str, type_name: str) -> None:
    with pytest.raises(CorruptLogError) as caught:
        parse_partition_value(text, type_name)
    assert text in caught.value.reason
    assert type_name in caught.value.reason


def test_binary_that_is_no_text_cannot_be_rendered() -> None:
    with pytest.raises(InvalidArgumentError, match="UTF-8"):
        render_partition_value(b"\xff")


@pytest.mark.parametrize(
    ("value", "folder"),
    [
        ("DE", "c=DE"),
        (None, "c=__HIVE_DEFAULT_PARTITION__"),
        ("", "c=__HIVE_DEFAULT_PARTITION__"),
        ("a=b/c:d", "c=a%3Db%2Fc%3Ad"),
        ("%20", "c=%2520"),
        ('quo"te', "c=quo%22te"),
        ("new\nline", "c=new%0Aline"),
        ("ä☃", "c=ä☃"),
        (" lead", "c= lead"),
    ],
)
def test_folder_is_named_as_the_reference_names_it(value: str | None, folder: str) -> None:
    assert render_partition_folder("c", value) == folder


@given(st.one_of(st.integers(-(2**63), 2**63 - 1), DAYS, MOMENTS, st.booleans()))
def test_value_of_any_simple_type_comes_back(value: object) -> None:
    type_name = {int: "long", Day: "date", Moment: "timestamp", bool: "boolean"}[type(value)]
    assert parse_partition_value(render_partition_value(value), type_name) == value


_MOST: Final = 10**38 - 1


@given(st.integers(-_MOST, _MOST).map(lambda digits: Decimal(f"{digits}E-4")))
def test_decimal_keeps_every_digit(value: Decimal) -> None:
    assert parse_partition_value(render_partition_value(value), "decimal(38,4)") == value


@given(st.floats(allow_nan=False))
def test_double_keeps_every_bit(value: float) -> None:
    assert parse_partition_value(render_partition_value(value), "double") == value
