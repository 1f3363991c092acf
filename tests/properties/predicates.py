"""Random predicates about the values that a table really has, and about their neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, localcontext
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from explorer.protocol.schema import StructType
from explorer.protocol.schema_walk import leaf_fields, render_path

_WITHOUT_ORDER = ("variant", "void", "ArrayType", "MapType")
_OPERATORS = ("=", "<>", "<", "<=", ">", ">=", "<=>")


@dataclass(frozen=True)
class Leaf:
    """A column or a field reached through structs, with some of its values."""

    name: str
    kind: str
    values: Sequence[Any]


def leaves(schema: StructType, rows: pa.Table, random: Random) -> list[Leaf]:
    found = []
    for place in leaf_fields(schema):
        column = rows.column(place.names[0])
        if len(place.names) > 1:
            column = pc.struct_field(column, list(place.names[1:]))
        kind = getattr(place.field.data_type, "name", type(place.field.data_type).__name__)
        step = max(len(column) // 200, 1)
        if kind in _WITHOUT_ORDER:
            column = column.slice(0, 0)
        values = [value for value in column[::step].to_pylist() if value is not None]
        random.shuffle(values)
        found.append(Leaf(render_path(place.names), kind, values[:40]))
    return found


def predicates(found: Sequence[Leaf], random: Random, count: int) -> Iterator[str]:
    for _ in range(count):
        yield _condition(found, random, random.choice((0, 0, 1, 1, 2)))


def _condition(found: Sequence[Leaf], random: Random, depth: int) -> str:
    if depth == 0:
        return _simple(random.choice(found), random)
    inner = [_condition(found, random, depth - 1) for _ in range(random.randint(1, 3))]
    text = f" {random.choice(('AND', 'OR'))} ".join(f"({part})" for part in inner)
    wrap = random.choice(("{}", "{}", "NOT ({})", "({}) IS NULL", "({}) IS NOT TRUE"))
    return wrap.format(text)


def _simple(leaf: Leaf, random: Random) -> str:
    literals = [text for value in leaf.values for text in _literals(value, leaf.kind, random)]
    if not literals or random.random() < 0.15:
        return f"{leaf.name} IS {random.choice(('NULL', 'NOT NULL'))}"
    first, second = random.choice(literals), random.choice(literals)
    shapes = [f"{leaf.name} {operator} {first}" for operator in _OPERATORS]
    shapes += [f"{leaf.name} BETWEEN {first} AND {second}"] * 2
    shapes += [f"{leaf.name} IN ({first}, {second})", f"{leaf.name} NOT IN ({first}, NULL)"]
    shapes += [f"{leaf.name} <=> NULL", f"NOT (NULL <=> {leaf.name})", f"{leaf.name} < NULL"]
    if leaf.kind == "string":
        shapes += [f"{leaf.name} LIKE {pattern}" for pattern in _patterns(leaf, random)]
    return random.choice(shapes)


def _patterns(leaf: Leaf, random: Random) -> list[str]:
    text = random.choice(leaf.values)[:40]
    plain = text.replace("%", r"\%").replace("_", r"\_") if "\\" not in text else ""
    cut = plain[: random.randint(0, len(plain))].rstrip("\\")
    return [_quoted(f"{cut}%"), _quoted(f"{cut}_%"), _quoted(plain)]


def _literals(value: Any, kind: str, random: Random) -> list[str]:  # noqa: PLR0911
    match value:
        case bool():
            return ["TRUE", "FALSE"]
        case int():
            return [str(value + step) for step in (-1, 0, 1)] + [f"{value}.5"]
        case float():
            ends = [f"CAST('{name}' AS DOUBLE)" for name in ("NaN", "Infinity", "-Infinity")]
            if not math.isfinite(value):
                return ends
            return [f"CAST('{value + step!r}' AS DOUBLE)" for step in (-0.5, 0, 0.5)] + ends[:1]
        case Decimal():
            unit = Decimal(1).scaleb(int(value.as_tuple().exponent))
            steps = (-1, 0, 1) if abs(value) < 10**27 else (0,)
            with localcontext(prec=50):  # as many digits as a column may have, and more
                return [format(value + step * unit, "f") for step in steps]
        case str():
            longer = [value, value + "x", value[: random.randint(0, len(value))]]
            return [_quoted(text) for text in longer]
        case bytes():
            return [f"X'{value.hex()}'"]
        case datetime():
            name = "TIMESTAMP" if value.tzinfo else "TIMESTAMP_NTZ"
            plain = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
            moves = (timedelta(0), timedelta(microseconds=1), timedelta(milliseconds=1))
            times = [plain + move for move in moves if plain.year < 9999]
            return [f"{name} '{time.isoformat(sep=' ')}'" for time in times or [plain]]
        case date():
            days = [value + timedelta(days=step) for step in (-1, 0, 1) if 1 < value.year < 9999]
            return [f"DATE '{day.isoformat()}'" for day in days or [value]]
        case _:
            return []


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
