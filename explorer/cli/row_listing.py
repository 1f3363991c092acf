"""Rows of any table as a listing for people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console

from explorer.cli.listings import Column, Row, print_listing
from explorer.cli.row_values import row_objects
from explorer.cli.wording import printable

if TYPE_CHECKING:
    import pyarrow as pa

_CELL = 10
"""A column of a listing needs at least this many characters of the terminal."""
_NULL = "null"


def list_rows(console: Console, rows: pa.Table) -> int:
    """All rows with as many columns as fit, the first ones; how many columns do not."""
    names = rows.column_names
    shown = names[: max(console.width // _CELL, 1)]
    found = list(row_objects(rows.select(shown)))
    if found:
        print_listing(console, [_column(name, found) for name in shown], found)
    return len(names) - len(shown)


def _column(name: str, rows: Sequence[Row]) -> Column:
    numbers = all(type(row[name]) in (int, float, type(None)) for row in rows)
    return Column(
        title=printable(name, 60),
        render=lambda row: _cell(row[name]),
        style=lambda row: "dim" if row[name] is None else "",
        align="right" if numbers else "left",
        shrinks=True,
    )


def _cell(value: Any) -> str:
    match value:
        case None:
            return _NULL
        case bool():
            return str(value).lower()
        case str():
            return value or '""'  # a column without any text would be left out
        case list() | dict():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return str(value)
