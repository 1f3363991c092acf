# ruff: noqa: E501  # long lists of values are read across
"""Store assignment: Arrow and Spark make the same of every value, for every pair of plain types.

Spark is the judge, by its own casts. Each source type has its extremes and values drawn at random
each day; a value that one of the two refuses, the other refuses too.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

from explorer.pipeline.writing.spark_casts import cast_column
from explorer.protocol.arrow_types import arrow_type
from explorer.protocol.schema import DataType, DecimalType, parse_type_name, render_type
from explorer.writing.gate._assignment import is_assignable, spark_alone_casts
from explorer.writing.gate._plain_casts import cast_plain
from explorer.writing.gate.plan import ValueCast
from tests.sampling import SEED

TYPES = [
    parse_type_name(name)
    for name in (
        "byte", "short", "integer", "long", "float", "double", "decimal(3,1)", "decimal(20,0)",
        "decimal(38,6)", "decimal(38,38)", "boolean", "string", "binary", "date", "timestamp",
        "timestamp_ntz",
    )
]  # fmt: skip
BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64, "date": 32}
EDGES = sorted(
    {
        sign * (base + step)
        for base in (0, 1, 10, 2**7, 2**8, 2**15, 2**24, 2**31, 2**53, 2**63, 106_751_991, 86_400_000_000)
        for step in (-1, 0, 1)
        for sign in (-1, 1)
    }
)  # fmt: skip
FLOATS = [
    0.0, -0.0, 0.5, -0.5, 1.5, 2.5, 0.05, 9.95, -9.95, 99.95, 1e-45, 1e-40, 5e-324, 1e38, 3.4028235e38,
    3.4028235677973366e38, 1e39, 1.7976931348623157e308, 2.0**31, 2.0**63, -(2.0**63), 9.007199254740993e15,
    math.inf, -math.inf, math.nan, 1e23, 16777217.0,
]  # fmt: skip
TEXTS = [
    "", " ", "0", "-0", "+5", " 7\t", "\x007", "7\x7f", "\u00a07", "\u2003 7", "٣", "1.0", "1.", ".5", ".", "-.5e1",
    "1e3", "1E+3", "1e-400", "1e400", "1e", "0x10", "0x1p4", "0X1.8P1d", "1d", "1f", "1.5D", "1L", "NaN", "nan",
    " NaN ", "inf", "-Infinity", "+INF", "infinit", "T", "yes", "No", "0 ", "truee", "127", "128", "-129",
    "9223372036854775807", "9223372036854775808", "000000000000000000000000127", "99.95", "0.05", "1e37", "1e38",
    "0.00000000000000000000000000000000000000499", "0e99999999999", "2026", "2026-1", "2026-01-31", "2026-02-30",
    "2026-1-1T", "2026-01-01 nothing", "20260101", "-0001-01-01", "+10000-01-01", "5881580-07-11", "5881580-07-12",
    "0000-01-01", "12-01-01", "2026-01", "2026-13", "2026-00-01", "2026-01-1 ", "today", "epoch", "now", "\U0001d7d9",
    "3.4028235677973366e38", "3.4028236e38", "16777217", "16777217.0000001", "1.401298464324817e-45", "7e-46",
]  # fmt: skip
DECIMALS = [
    "0",
    "-0",
    "0.05",
    "0.5",
    "99.95",
    "-99.949",
    "1e-38",
    "0.1",
    "1e20",
    "16777217",
    "0.30000001192092896",
]


def values_of(kind: DataType) -> list[Any]:
    """The extremes of a type."""
    name = render_type(kind)
    if isinstance(kind, DecimalType):
        most = Decimal((0, (9,) * kind.precision, -kind.scale))
        return [
            most,
            most.copy_negate(),
            *filter(None, (_fitting(text, kind) for text in DECIMALS)),
        ]
    if name in BITS or name.startswith("timestamp"):
        end = 1 << (BITS.get(name, 64) - 1)
        return [number for number in {*EDGES, -end, end - 1} if -end <= number < end]
    if name == "float":
        return [
            float(np.float32(value)) for value in FLOATS if not 3.4028235e38 < abs(value) < math.inf
        ]
    texts = TEXTS
    return {
        "double": FLOATS,
        "boolean": [True, False],
        "string": texts,
        "binary": [b"", b"a", "ü".encode(), b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x00"],
    }[name]  # fmt: skip


def _fitting(text: str, kind: DecimalType) -> Decimal | None:
    found = Decimal(text)
    digits, exponent = len(found.as_tuple().digits), int(found.as_tuple().exponent)
    places = max(-exponent, 0)
    return (
        found if places <= kind.scale and digits + exponent <= kind.precision - kind.scale else None
    )


def more_of(kind: DataType) -> st.SearchStrategy[Any]:
    """Any value of a type."""
    name = render_type(kind)
    if isinstance(kind, DecimalType):
        end = 10**kind.precision - 1
        return st.integers(-end, end).map(
            lambda number: Decimal((number < 0, tuple(map(int, str(abs(number)))), -kind.scale))
        )
    if name in BITS or name.startswith("timestamp"):
        end = 1 << (BITS.get(name, 64) - 1)
        near = st.integers(-(2**18), 2**18)
        days = st.integers(-200_000, 200_000)
        extra = days.map(lambda day: day * 86_400_000_000) if name.startswith("timestamp") else near
        return (st.integers(-end, end - 1) | near | extra).filter(
            lambda number: -end <= number < end
        )
    return {
        "float": st.floats(width=32),
        "double": st.floats() | st.integers(-(2**40), 2**40).map(lambda number: number / 16),
        "boolean": st.booleans(),
        "binary": st.binary(max_size=6),
        "string": st.text(max_size=6)
        | st.floats().map(str)
        | st.decimals(allow_nan=False, allow_infinity=False).map(str)
        | st.integers(-(2**65), 2**65).map(str)
        | st.from_regex(r"[ +-]?[0-9]{4,7}-[0-9]{1,2}-[0-9]{1,2}[T ]?", fullmatch=True)
        | st.from_regex(r"[+-]?[0-9]{0,20}\.?[0-9]{0,20}(?:[eE][+-]?[0-9]{1,3})?[dfDF]?", fullmatch=True),
    }[name]  # fmt: skip


def array_of(values: list[Any], kind: DataType) -> pa.Array:
    """Values as an array: dates and times are numbers of days and microseconds."""
    wanted = arrow_type(kind)
    numbers = {"date": pa.int32()}.get(render_type(kind), pa.int64())
    if pa.types.is_temporal(wanted):
        return pa.array([*values, None], numbers).view(wanted)
    return pa.array([*values, None], wanted)


def plain(values: pa.Array, lost: Any) -> Iterator[Any]:
    """Values that compare by their bits; `refused` for those that are."""
    if pa.types.is_temporal(values.type):
        values = values.cast(pa.int32() if pa.types.is_date(values.type) else pa.int64())
    for value, is_lost in zip(values.to_pylist(), lost, strict=True):
        if is_lost:
            yield "refused"
        elif isinstance(value, float):
            yield "NaN" if math.isnan(value) else struct.pack("<d", value)
        else:
            yield value


def _is_same(value: Any, ours: Any, theirs: Any, source: DataType, target: DataType) -> bool:
    if ours == theirs:
        return True
    is_float = render_type(source) in {"float", "double"}
    if not (is_float and isinstance(target, DecimalType) and isinstance(ours, Decimal)):
        return False
    # Java before version 19 does not always write the shortest digits of a double
    (number,) = struct.unpack("<d", value)
    return isinstance(theirs, Decimal) and abs(ours - theirs) <= Decimal(math.ulp(number))


@pytest.mark.sampled(one_in=8)
@pytest.mark.parametrize("source", TYPES, ids=render_type)
def test_arrow_and_spark_store_the_same(spark: SparkSession, source: DataType) -> None:
    targets = [kind for kind in TYPES if kind != source and is_assignable(source, kind)]
    targets = [kind for kind in targets if not spark_alone_casts(source, kind)]

    @seed(SEED)
    @settings(max_examples=3, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(st.lists(more_of(source), min_size=0, max_size=80))
    def hold(more: list[Any]) -> None:
        given_values = array_of([*values_of(source), *more], source)
        frame = spark.createDataFrame(pa.table({"c": given_values}))
        casts = [ValueCast(path=("c",), source=source, target=kind) for kind in targets]
        columns = [
            cast_column(fn.col("c"), cast, lambda _: fn.lit(None)).alias(str(at))
            for at, cast in enumerate(casts)
        ]
        theirs = frame.select(*columns).toArrow()
        for at, target in enumerate(targets):
            said = theirs.column(str(at)).combine_chunks()
            refused = [
                not valid and there
                for valid, there in zip(
                    said.is_valid().to_pylist(), given_values.is_valid().to_pylist(), strict=True
                )
            ]
            ours = cast_plain(given_values, source, target)
            lost = [False] * len(given_values) if ours.lost is None else ours.lost.tolist()
            found = list(plain(ours.values, lost))
            wanted = list(plain(said, refused))
            shown = plain(given_values, [False] * len(lost))
            triples = zip(shown, found, wanted, strict=True)
            differ = [found for found in triples if not _is_same(*found, source, target)]
            assert differ[:5] == [], render_type(target)

    hold()
