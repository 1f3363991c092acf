"""Rows of any table as values for JSON, one object a row.

Numbers and truth values are themselves; times and dates are ISO 8601, with a
`Z` where they are instants, also in years that Python's own types do not have;
decimals are text with all their digits, binary is hexadecimal text, and so are
numbers that JSON lacks (`NaN`, `Infinity`). A map is an object where its keys
are text, else a list of `{"key", "value"}`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from explorer.protocol.values.calendar_days import SECOND_US, render_day, render_moment
from explorer.protocol.values.utc_times import fraction_digits

if TYPE_CHECKING:
    import pyarrow as pa

_Render = Callable[[Any], Any]

_BATCH_ROWS = 1000
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}


WriteTime = Callable[[int, str, bool], str]
"""A time as text: its number since 1970, the unit of that (`us`), and whether it is an instant."""


def write_iso(number: int, unit: str, is_instant: bool) -> str:  # noqa: FBT001  # of the type
    """`2026-11-01T10:22:03.000000Z`, with all digits that the unit has."""
    clock, digits = _clock_of(number, unit, "T")
    return f"{clock}{f'.{digits}' if digits else ''}{'Z' if is_instant else ''}"


def _write_plain(number: int, unit: str, is_instant: bool, digits: int) -> str:  # noqa: FBT001
    """`2026-11-01 10:22:03.120 UTC`, with so many digits of the second."""
    clock, fraction = _clock_of(number, unit, " ")
    shown = fraction[:digits].ljust(digits, "0")
    return f"{clock}{f'.{shown}' if digits else ''}{' UTC' if is_instant else ''}"


def row_objects(rows: pa.Table) -> Iterator[dict[str, Any]]:
    """Each row as an object by column name."""
    return _objects(rows, [write_iso] * rows.num_columns)


def plain_objects(rows: pa.Table) -> Iterator[dict[str, Any]]:
    """The same with times as people read them, `2026-11-01 10:22:03.120 UTC`: those of one column
    have as many digits of the second as one of them needs, in threes; none where all are zero."""
    digits = [_fraction_digits(column) for column in rows.columns]
    return _objects(rows, [partial(_write_plain, digits=number) for number in digits])


def _objects(rows: pa.Table, writers: Sequence[WriteTime]) -> Iterator[dict[str, Any]]:
    names = rows.column_names
    for batch in rows.to_batches(max_chunksize=_BATCH_ROWS):
        columns = [_values(batch.column(at), writers[at]) for at in range(len(names))]
        for at in range(batch.num_rows):
            yield {name: column[at] for name, column in zip(names, columns, strict=True)}


def _fraction_digits(column: pa.ChunkedArray) -> int:
    """How many digits the times in a column need, also those within structs, lists and maps."""
    import pyarrow as pa  # noqa: PLC0415  # `--help` does without Arrow
    import pyarrow.compute as pc  # noqa: PLC0415

    kind, types = column.type, pa.types
    if types.is_timestamp(kind):
        unit = _DIGITS[kind.unit]
        fractions = {number % 10**unit for number in pc.unique(column.cast("int64")).to_pylist()
                     if number is not None}  # fmt: skip
        return fraction_digits([f"{fraction:0{unit}}" for fraction in fractions]) if unit else 0
    if types.is_struct(kind):
        return max((_fraction_digits(part) for part in column.flatten()), default=0)
    if types.is_list(kind):
        return _fraction_digits(pa.chunked_array([pc.list_flatten(column).combine_chunks()]))
    if types.is_map(kind):
        pairs = [(chunk.keys, chunk.items) for chunk in column.chunks if len(chunk)]
        sides = [pa.chunked_array([part]) for pair in pairs for part in pair]
        return max((_fraction_digits(side) for side in sides), default=0)
    return 0


def _values(column: pa.Array, write_time: WriteTime) -> list[Any]:
    from explorer.rows.python_values import plain_values  # noqa: PLC0415  # as below

    render = _renderer(column.type, write_time)
    plain = plain_values(column)
    return [None if value is None else render(value) for value in plain]


def _renderer(kind: pa.DataType, write_time: WriteTime) -> _Render:
    import pyarrow as pa  # noqa: PLC0415  # `--help` does without Arrow

    types = pa.types
    if types.is_timestamp(kind):
        return lambda value: write_time(value, kind.unit, kind.tz is not None)
    if types.is_date32(kind):
        return render_day
    if types.is_struct(kind):
        fields = {item.name: _maybe(_renderer(item.type, write_time)) for item in kind}
        return lambda value: {name: render(value[name]) for name, render in fields.items()}
    if types.is_map(kind):
        return _map_renderer(kind, write_time)
    if types.is_list(kind):
        inner = _maybe(_renderer(kind.value_type, write_time))
        return lambda value: [inner(item) for item in value]
    return _plain


def _map_renderer(kind: pa.DataType, write_time: WriteTime) -> _Render:
    key, value = (_maybe(_renderer(side, write_time)) for side in (kind.key_type, kind.item_type))
    if kind.key_type == "string":
        return lambda pairs: {name: value(item) for name, item in pairs}
    return lambda pairs: [{"key": key(name), "value": value(item)} for name, item in pairs]


def _clock_of(number: int, unit: str, separator: str) -> tuple[str, str]:
    """Day and time of day, and the digits of the fraction of a second."""
    digits = _DIGITS[unit]
    seconds, fraction = divmod(number, 10**digits)
    return render_moment(seconds * SECOND_US, separator), f"{fraction:0{digits}}" if digits else ""


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
