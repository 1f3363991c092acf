"""Partition values as columns."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from explorer.errors import CorruptLogError, DeltaError
from explorer.protocol.arrow_types import arrow_type
from explorer.protocol.schema import StructField, parse_type_name
from explorer.rows.data_file.partition_columns import constant_column, partition_scalar


def column_of(text, name):
    kind = parse_type_name(name)
    item = StructField(name="p", data_type=kind)
    column = constant_column(partition_scalar(text, item, arrow_type(kind)), 2)
    column.validate(full=True)
    assert column.type == arrow_type(kind)
    first, second = column.to_pylist()
    assert first == second or math.isnan(first)
    return first


VALUES = [
    ("string", "a b/ü☃", "a b/ü☃"),
    ("byte", "-128", -128),
    ("short", "32767", 32767),
    ("integer", "-2147483648", -(2**31)),
    ("long", "9223372036854775807", 2**63 - 1),
    ("float", "3.4028235E38", 3.4028234663852886e38),
    ("double", "-Infinity", -math.inf),
    ("double", "1.0E-5", 1e-5),
    ("boolean", "true", True),
    ("boolean", "false", False),
    ("decimal(8,3)", "-1.25", Decimal("-1.250")),
    ("decimal(38,0)", "9" * 38, Decimal("9" * 38)),
    ("decimal(10,4)", "1.20000", Decimal("1.2000")),
    ("date", "0001-01-01", date(1, 1, 1)),
    ("date", "9999-12-31", date(9999, 12, 31)),
    ("binary", "\x01\x7fé", b"\x01\x7f\xc3\xa9"),
    # as delta-spark reads them: neither escapes of their own nor Base64
    ("binary", "\\u0001", b"\\u0001"),
    ("binary", "AQI=", b"AQI="),
    # the specification's two spellings; without a zone the manifest of the corpus means UTC
    ("timestamp", "2024-03-10 00:30:00.123456", datetime(2024, 3, 10, 0, 30, 0, 123456, UTC)),
    ("timestamp", "2024-03-10T00:30:00.123456Z", datetime(2024, 3, 10, 0, 30, 0, 123456, UTC)),
    ("timestamp", "1969-12-31 23:59:59", datetime(1969, 12, 31, 23, 59, 59, 0, UTC)),
    ("timestamp_ntz", "2024-03-10 00:30:00.5", datetime(2024, 3, 10, 0, 30, 0, 500_000)),  # noqa: DTZ001
    # columns that were once dates, integers or narrower
    ("timestamp_ntz", "2024-03-10", datetime(2024, 3, 10)),  # noqa: DTZ001
    ("double", "7", 7.0),
    ("decimal(12,2)", "7", Decimal("7.00")),
]


@pytest.mark.rule("older-003-add-partitionvalues", "older-004-partition-timestamp-no-micros")
@pytest.mark.rule("partition-binary", "partition-boolean", "partition-date", "partition-numeric")
@pytest.mark.rule("partition-string", "partition-strings", "partition-timestamp")
@pytest.mark.rule("partition-timestamp-no-zone", "partition-timestamp-ntz")
@pytest.mark.parametrize(("name", "text", "value"), VALUES)
def test_value_of_the_log_is_a_value_of_its_type(name, text, value):
    assert column_of(text, name) == value


@pytest.mark.rule("partition-numeric")
def test_not_a_number_is_one_of_the_numbers():
    assert math.isnan(column_of("NaN", "float"))


@pytest.mark.rule("partition-empty-is-null")
@pytest.mark.parametrize("name", sorted({name for name, _, _ in VALUES}))
@pytest.mark.parametrize("text", [None, ""])
def test_null_and_the_empty_string_are_null_for_every_type(name, text):
    assert column_of(text, name) is None


@pytest.mark.rule("partition-boolean", "partition-date", "partition-numeric", "partition-timestamp")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("byte", "128"),
        ("long", "9223372036854775808"),
        ("long", "1e3"),
        ("integer", "٣"),
        ("float", "1e39"),
        ("double", "1_0"),
        ("decimal(4,2)", "100.00"),
        ("decimal(4,2)", "1.005"),
        ("decimal(4,2)", "NaN"),
        ("decimal(4,2)", "1E+999999"),
        ("date", "20240310"),
        ("date", "2024-02-30"),
        ("date", "00010000-01-01"),
        ("timestamp", "2024-W10"),
        ("timestamp", "2024-03-10 00:30:00.1234567"),
        ("boolean", "1"),
    ],
)
def test_text_that_is_no_value_of_the_type_is_refused(name, text):
    with pytest.raises(CorruptLogError):
        column_of(text, name)


@pytest.mark.rule("newer-variant-no-partition", "newer-void-no-feature")
def test_type_that_cannot_be_partitioned_by_is_refused():
    with pytest.raises(DeltaError) as caught:
        column_of("{}", "variant")
    assert caught.value.kind == "unsupported_feature"
    assert column_of(None, "void") is None


def test_empty_column_keeps_its_type():
    item = StructField(name="p", data_type=parse_type_name("long"))
    assert constant_column(partition_scalar("1", item, pa.int64()), 0).type == pa.int64()
