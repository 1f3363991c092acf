"""Conditions on a column of each type, in the words of delta-spark, DuckDB and Polars."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random
from typing import Any, TypeAlias

import polars as pl
import pyarrow as pa
from polars.datatypes import DataType, DataTypeClass

PolarsType: TypeAlias = DataType | DataTypeClass

NAN, INF = math.nan, math.inf

_TIMES = [
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(1582, 10, 15, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
    datetime(2024, 2, 29, 12, 0, 0, 1, UTC),
    datetime(2024, 2, 29, 12, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999999, UTC),
]
_FLOATS = [NAN, INF, -INF, -0.0, 0.0, 0.5, 1.0, -1.5, 5.0, 1e30]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A type of Delta by its name in a schema, with values worth asking for; what Arrow, Spark,
    DuckDB and Polars call it."""

    delta: str
    arrow: pa.DataType
    spark: str
    duckdb: str
    polars: PolarsType
    values: Sequence[Any]


def _kind(
    delta: str,
    arrow: pa.DataType,
    values: Sequence[Any],
    polars: PolarsType,
    **names: str,
) -> Kind:
    spark = names.get("spark", delta.upper())
    duckdb = names.get("duckdb", spark)
    return Kind(delta=delta, arrow=arrow, spark=spark, duckdb=duckdb, polars=polars, values=values)


def _decimal(digits: int, scale: int) -> Kind:
    most = Decimal((0, (9,) * digits, -scale))  # without the 28 digits of the context
    small = [Decimal(number).scaleb(-scale) for number in (-1, 0, 1, 150)]
    values = [*small, most, most.copy_negate()]
    name = f"decimal({digits},{scale})"
    return _kind(name, pa.decimal128(digits, scale), values, pl.Decimal(digits, scale))


_DOUBLE = _kind("double", pa.float64(), _FLOATS, pl.Float64)
_TEXT = _kind(
    "string",
    pa.string(),
    ["", "a", "a" * 40 + "b", "a" * 40 + "c", "é", "\uffff", "\U0001f600", "z" * 5000],
    pl.String,
    duckdb="VARCHAR",
)
_LONG = _kind(
    "long", pa.int64(), [0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63)], pl.Int64, spark="BIGINT"
)
KINDS = {
    "flag": _kind("boolean", pa.bool_(), [False, True], pl.Boolean),
    "tiny": _kind("byte", pa.int8(), [0, 1, -128, 127], pl.Int8, spark="TINYINT"),
    "small": _kind("short", pa.int16(), [0, 300, -(2**15), 2**15 - 1], pl.Int16, spark="SMALLINT"),
    "whole": _kind("integer", pa.int32(), [0, 5, -(2**31), 2**31 - 1], pl.Int32, spark="INT"),
    "large": _LONG,
    "single": _kind("float", pa.float32(), _FLOATS, pl.Float32),
    "double": _DOUBLE,
    "price": _decimal(9, 2),
    "amount": _decimal(18, 4),
    "huge": _decimal(38, 6),
    "text": _TEXT,
    "bytes": _kind(
        "binary",
        pa.binary(),
        [b"", b"\x00", b"\x7f", b"\x80\x00", b"\xff" * 9],
        pl.Binary,
        duckdb="BLOB",
    ),
    "day": _kind("date", pa.date32(), [time.date() for time in _TIMES], pl.Date),
    "moment": _kind(
        "timestamp",
        pa.timestamp("us", "UTC"),
        _TIMES,
        pl.Datetime("us", "UTC"),
        duckdb="TIMESTAMPTZ",
    ),
    "clock": _kind(
        "timestamp_ntz",
        pa.timestamp("us"),
        [time.replace(tzinfo=None) for time in _TIMES],
        pl.Datetime("us"),
        duckdb="TIMESTAMP",
    ),
}
NESTED = {("nested", "double"): _DOUBLE, ("nested", "text"): _TEXT, ("nested", "large"): _LONG}
_INNER = pa.struct([(path[1], kind.arrow) for path, kind in NESTED.items()])
_LIST, _MAP = pa.list_(pa.float64()), pa.map_(pa.string(), pa.float64())
SCHEMA = pa.schema(
    [
        *((name, kind.arrow) for name, kind in KINDS.items()),
        ("nested", _INNER),
        ("listed", _LIST),
        ("mapped", _MAP),
    ]
)
PLACES: dict[tuple[str, ...], Kind] = (
    {(name,): kind for name, kind in KINDS.items()}
    | NESTED
    | {
        ("listed", "0"): _DOUBLE,
        ("mapped", "k"): _DOUBLE,
    }
)
"""What can be compared: a column, a field of a struct, the first value of the list, the value of
a key of the map."""


def random_rows(random: Random, count: int) -> pa.Table:
    """Rows with few values in each column, so that there is something to skip."""
    few = {place: _few(random, kind) for place, kind in PLACES.items()}
    rows = []
    for _ in range(count):
        found = {place: random.choice(values) for place, values in few.items()}
        rows.append(
            {
                **{name: found[name,] for name in KINDS},
                "nested": {path[1]: found[path] for path in NESTED},
                "listed": [found["listed", "0"], random.choice(_FLOATS)],
                "mapped": [("k", found["mapped", "k"])],
            }
        )
    columns = [pa.array([row[field.name] for row in rows], field.type) for field in SCHEMA]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _few(random: Random, kind: Kind) -> list[Any]:
    values = random.sample(list(kind.values), min(len(kind.values), random.randint(1, 2)))
    return [*values, *([None] if random.random() < 0.3 else [])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """The same condition for each engine; `values` are those of the question marks of DuckDB."""

    spark: str
    duckdb: str
    values: tuple[Any, ...]
    polars: pl.Expr

    def __str__(self) -> str:
        """As Spark has it."""
        return self.spark if len(self.spark) < 300 else self.spark[:300] + "…"


_COMPARED: dict[str, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    "=": pl.Expr.eq,
    "<>": pl.Expr.ne,
    "<": pl.Expr.lt,
    "<=": pl.Expr.le,
    ">": pl.Expr.gt,
    ">=": pl.Expr.ge,
    "<=>": pl.Expr.eq_missing,
}


def random_condition(random: Random) -> Condition:
    """A comparison, or two of them."""
    if random.random() < 0.75:
        return _simple(random)
    one, other = _simple(random), _simple(random)
    word = random.choice(["AND", "OR"])
    return Condition(
        spark=f"({one.spark}) {word} ({other.spark})",
        duckdb=f"({one.duckdb}) {word} ({other.duckdb})",
        values=(*one.values, *other.values),
        polars=one.polars & other.polars if word == "AND" else one.polars | other.polars,
    )


def _simple(random: Random) -> Condition:
    place = random.choice(list(PLACES))
    shape = random.random()
    if shape < 0.08:
        return is_null(place)
    found = compare(place, random.choice(list(_COMPARED)), random.choice(PLACES[place].values))
    if shape < 0.75:
        return found
    if shape < 0.9:
        return Condition(
            spark=f"NOT ({found.spark})",
            duckdb=f"NOT ({found.duckdb})",
            values=found.values,
            polars=~found.polars,
        )
    return one_of(place, random.choices(PLACES[place].values, k=2))


def compare(place: tuple[str, ...], operator: str, value: Any) -> Condition:
    """One comparison with a value of the place's kind."""
    kind = PLACES[place]
    spark, duckdb, polars = _named(place)
    sign = "IS NOT DISTINCT FROM" if operator == "<=>" else operator
    return Condition(
        spark=f"{spark} {operator} {_literal(kind, value)}",
        duckdb=f"{duckdb} {sign} CAST(? AS {kind.duckdb})",
        values=(value,),
        polars=_COMPARED[operator](polars, pl.lit(value, dtype=kind.polars)),
    )


def one_of(place: tuple[str, ...], values: Sequence[Any]) -> Condition:
    """IN."""
    kind = PLACES[place]
    spark, duckdb, polars = _named(place)
    alike = [polars == pl.lit(value, dtype=kind.polars) for value in values]
    return Condition(
        spark=f"{spark} IN ({', '.join(_literal(kind, value) for value in values)})",
        duckdb=f"{duckdb} IN ({', '.join([f'CAST(? AS {kind.duckdb})'] * len(values))})",
        values=tuple(values),
        polars=pl.any_horizontal(alike),
    )


def is_null(place: tuple[str, ...]) -> Condition:
    """IS NULL."""
    spark, duckdb, polars = _named(place)
    return Condition(
        spark=f"{spark} IS NULL", duckdb=f"{duckdb} IS NULL", values=(), polars=polars.is_null()
    )


def _named(place: tuple[str, ...]) -> tuple[str, str, pl.Expr]:
    first = pl.col(place[0])
    match place:
        case ("listed", _):
            return "listed[0]", "listed[1]", first.list.get(0, null_on_oob=True)
        case ("mapped", key):
            return f"mapped['{key}']", f"mapped['{key}']", first.map.get(key)
        case (name,):
            return name, name, first
        case (name, field):
            return f"{name}.{field}", f"{name}.{field}", first.struct.field(field)
    raise AssertionError(place)


def _literal(kind: Kind, value: Any) -> str:
    """As Spark reads it."""
    match value:
        case bytes():
            return f"X'{value.hex()}'"
        case bool():
            return str(value)
        case datetime():
            text = value.isoformat(" ")
        case date():
            text = value.isoformat()
        case float():
            text = str(value).replace("nan", "NaN").replace("inf", "Infinity")
        case _:
            text = str(value)
    return f"CAST('{text}' AS {kind.spark})"
