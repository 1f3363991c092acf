"""Rows of any table as values for JSON, one object a row.

Numbers and truth values are themselves; times and dates are ISO 8601, with a
`Z` where they are instants, also in years that Python's own types do not have;
decimals are text with all their digits, binary is hexadecimal text, and so are
numbers that JSON lacks (`NaN`, `Infinity`). A map is an object where its keys
are text, else a list of `{"key", "value"}`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from explorer.protocol.calendar_days import SECOND_US, render_day, render_moment

if TYPE_CHECKING:
    import pyarrow as pa

_Render = Callable[[Any], Any]

_BATCH_ROWS = 1000


def row_objects(rows: pa.Table) -> Iterator[dict[str, Any]]:
    """Each row as an object by column name."""
    names = rows.column_names
    for batch in rows.to_batches(max_chunksize=_BATCH_ROWS):
        columns = [_values(batch.column(at)) for at in range(len(names))]
        for at in range(batch.num_rows):
            yield {name: column[at] for name, column in zip(names, columns, strict=True)}


def _values(column: pa.Array) -> list[Any]:
    from explorer.rows.python_values import plain_values  # noqa: PLC0415  # as below

    render = _renderer(column.type)
    plain = plain_values(column)
    return [None if value is None else render(value) for value in plain]


def _renderer(kind: pa.DataType) -> _Render:
    import pyarrow as pa  # noqa: PLC0415  # `--help` does without Arrow

    types = pa.types
    if types.is_timestamp(kind):
        return _time_renderer(kind.unit, "Z" if kind.tz else "")
    if types.is_date32(kind):
        return render_day
    if types.is_struct(kind):
        fields = {item.name: _maybe(_renderer(item.type)) for item in kind}
        return lambda value: {name: render(value[name]) for name, render in fields.items()}
    if types.is_map(kind):
        return _map_renderer(kind)
    if types.is_list(kind):
        inner = _maybe(_renderer(kind.value_type))
        return lambda value: [inner(item) for item in value]
    return _plain


def _map_renderer(kind: pa.DataType) -> _Render:
    key, value = _maybe(_renderer(kind.key_type)), _maybe(_renderer(kind.item_type))
    if kind.key_type == "string":
        return lambda pairs: {name: value(item) for name, item in pairs}
    return lambda pairs: [{"key": key(name), "value": value(item)} for name, item in pairs]


def _time_renderer(unit: str, zone: str) -> _Render:
    digits = {"s": 0, "ms": 3, "us": 6, "ns": 9}[unit]

    def render(value: int) -> str:
        seconds, fraction = divmod(value, 10**digits)
        shown = f".{fraction:0{digits}}" if digits else ""
        return f"{render_moment(seconds * SECOND_US, 'T')}{shown}{zone}"

    return render


def _maybe(render: _Render) -> _Render:
    return lambda value: None if value is None else render(value)


def _plain(value: Any) -> Any:
    match value:
        case float():
            return value if math.isfinite(value) else _NOT_IN_JSON[str(value)]
        case Decimal():
            return format(value, "f")
        case bytes():
            return value.hex()
        case _:
            return value


_NOT_IN_JSON = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
