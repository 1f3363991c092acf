"""Data files as other projects write them: bounds without NaN, dictionaries, page indexes,
times of every unit, decimals as integers; a row group for every two rows, so that whatever
a file says of itself decides over rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from tests.data_tables import DataTable, array, field, struct

_TIMES = [
    datetime(1969, 12, 31, 23, 59, 59, 999000),  # noqa: DTZ001  # as it is written
    datetime(1970, 1, 1),  # noqa: DTZ001  # as above
    datetime(2026, 11, 25, 12, 0, 0, 5000),  # noqa: DTZ001  # as above
    datetime(9999, 12, 31, 23, 59, 59),  # noqa: DTZ001  # as above
]
_MICROSECOND = timedelta(microseconds=1)
_FLOATS = [0.0, -0.0, 1.0, -2.5, math.nan, math.nan, math.inf, -math.inf]
_VALUES: dict[str, list[Any]] = {
    "by": [-128, 0, 1, 127],
    "sh": [-32768, 0, 300, 32767],
    "i": [-(2**31), -1, 0, 2**31 - 1],
    "k": [-(2**63), -1, 0, 2**53 + 1, 2**63 - 1],
    "f": [*_FLOATS, 0.10000000149011612],
    "d": [*_FLOATS, 0.1, 1e300],
    "de": [Decimal("-99999.99"), Decimal("0.00"), Decimal("0.01"), Decimal("99999.99")],
    "big": [Decimal(f"-{'9' * 28}.{'9' * 10}"), Decimal("0." + "0" * 10), Decimal("1.5")],
    "s": ["", "a", "ab", "a" * 70, "a" * 69 + "b", "é", "\U0001f600", "\uffff"],
    "b": [b"", b"\0", b"\x7f", b"\x80", b"\xff" * 70],
    "day": [date(1, 1, 1), date(1969, 12, 31), date(2026, 11, 25), date(9999, 12, 31)],
    "flag": [False, True],
}
_TYPES = {
    "by": ("byte", pa.int8()),
    "sh": ("short", pa.int16()),
    "i": ("integer", pa.int32()),
    "k": ("long", pa.int64()),
    "f": ("float", pa.float32()),
    "d": ("double", pa.float64()),
    "de": ("decimal(7,2)", pa.decimal128(7, 2)),
    "big": ("decimal(38,10)", pa.decimal128(38, 10)),
    "s": ("string", pa.string()),
    "b": ("binary", pa.binary()),
    "day": ("date", pa.date32()),
    "flag": ("boolean", pa.bool_()),
}
_INSIDE = ("k", "d", "s", "t")

# by name, what pyarrow is told, and the unit of times
STYLES: Mapping[str, tuple[dict[str, Any], str]] = {
    "dictionaries": ({"write_page_index": True}, "us"),
    "plain": ({"use_dictionary": False, "store_decimal_as_integer": True}, "us"),
    "milliseconds": ({"write_page_index": True}, "ms"),
    "int96": ({"use_deprecated_int96_timestamps": True}, "us"),
    "without bounds": ({"write_statistics": False}, "us"),
}


def foreign_table(root: Path, random: Random, rows: int) -> Path:
    """A table with a file of so many random rows in each style, numbered by `id`."""
    inside = struct(
        field("in", struct(*(field(name, _kind(name)) for name in _INSIDE))),
        field("k", "long"),
        field("f", "float"),
    )
    kinds = [field("id", "long"), *(field(name, _kind(name)) for name in (*_TYPES, "t", "n"))]
    table = DataTable(
        root,
        struct(*kinds, field("o", inside), field("l", array("double"))),
        features=("timestampNtz",),
    )
    for at, (style, (written, unit)) in enumerate(STYLES.items()):
        held = _rows(random, range(at * rows, (at + 1) * rows), unit)
        table.add(
            f"{style.replace(' ', '-')}.parquet", held, written=written | {"row_group_size": 2}
        )
    return table.write()


def _kind(name: str) -> str:
    return _TYPES[name][0] if name in _TYPES else {"t": "timestamp", "n": "timestamp_ntz"}[name]


def _rows(random: Random, ids: range, unit: str) -> pa.Table:
    draws = _draws(random, unit)
    columns = {name: pa.array([draw() for _ in ids], kind) for name, (draw, kind) in draws.items()}
    inner = pa.struct([(name, draws[name][1]) for name in _INSIDE])
    outer = pa.struct([("in", inner), ("k", pa.int64()), ("f", pa.float32())])

    def nested() -> dict[str, Any] | None:
        found = {"in": {name: draws[name][0]() for name in _INSIDE}}
        found["in"] = found["in"] if random.random() < 0.8 else None  # type: ignore[assignment]
        found |= {name: draws[name][0]() for name in ("k", "f")}
        return found if random.random() < 0.8 else None

    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            **columns,
            "o": pa.array([nested() for _ in ids], outer),
            "l": pa.array([[draws["d"][0]()] for _ in ids], pa.list_(pa.float64())),
        }
    )


def _draws(random: Random, unit: str) -> dict[str, tuple[Callable[[], Any], pa.DataType]]:
    """By column, what makes a value of it and its type."""
    times = _TIMES + ([time + _MICROSECOND for time in _TIMES] if unit == "us" else [])
    every = {name: (_VALUES[name], kind) for name, (_, kind) in _TYPES.items()} | {
        "t": ([time.replace(tzinfo=UTC) for time in times], pa.timestamp(unit, "UTC")),
        "n": (times, pa.timestamp(unit)),
    }
    return {name: (_draw(random, values), kind) for name, (values, kind) in every.items()}


def _draw(random: Random, values: list[Any]) -> Callable[[], Any]:
    return lambda: None if random.random() < 0.15 else random.choice(values)
