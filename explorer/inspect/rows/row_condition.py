"""The condition that the values of a row meet, as SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from explorer.protocol.schema import STRING
from explorer.protocol.schema_walk import render_path
from explorer.protocol.values.calendar_days import Day, Moment
from explorer.rows.python_values import plain_values
from explorer.scan.predicate.predicate import Constant, render_value

_LONGEST = 2_000
"""Characters of a text that still stand in a condition."""


def row_condition(rows: pa.Table, at: int, names: Sequence[str]) -> str | None:
    """A condition that holds the columns `names` to the values of the row `at`.

    None where one of them cannot be asked for: a number with a fraction, which is not exact, what
    is nested, and long text.
    """
    parts = []
    for name in names:
        column = rows.column(name).slice(at, 1)
        (value,) = plain_values(column)
        literal = None if value is None else _literal(value, column.type)
        if value is None:
            parts.append(f"{render_path((name,))} IS NULL")
        elif literal is None:
            return None
        else:
            parts.append(f"{render_path((name,))} = {literal}")
    return " AND ".join(parts) or None


def key_columns(rows: pa.Table) -> list[str]:
    """The columns that tell these rows apart by themselves, those named like a key first: what a
    row may be asked for by."""
    found = []
    for name in rows.column_names:
        column = rows.column(name)
        if column.null_count or not _can_be_key(column.type):
            continue
        values = plain_values(column)
        if len(set(values)) == len(values):
            found.append(name)
    return sorted(found, key=lambda name: not is_named_like_a_key(name))


def is_named_like_a_key(name: str) -> bool:
    """Whether a column is called `id`, `order_id`, `orderId`, `uuid` and so on."""
    words = name.lower().replace("-", "_").split("_")
    return name.endswith("Id") or words[-1] in {"id", "key", "uuid", "guid", "pk"}


def _can_be_key(kind: pa.DataType) -> bool:
    types = pa.types
    checks: tuple[Callable[[pa.DataType], bool], ...] = (
        types.is_integer,
        types.is_decimal,
        types.is_string,
        types.is_large_string,
        types.is_date,
        types.is_timestamp,
    )
    return any(check(kind) for check in checks)


def _literal(value: Any, kind: pa.DataType) -> str | None:
    types = pa.types
    if types.is_date(kind):
        return render_value(Constant(value=Day(value), data_type=STRING))
    if types.is_timestamp(kind):
        moment = Moment(number=value, is_instant=kind.tz is not None)
        return render_value(Constant(value=moment, data_type=STRING))
    match value:
        case bool() | int() | Decimal() | bytes():
            return render_value(Constant(value=value, data_type=STRING))
        case str() if len(value) <= _LONGEST:
            return render_value(Constant(value=value, data_type=STRING))
    return None
