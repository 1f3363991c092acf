"""Rows of any table as a listing for people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console

from explorer.cli.printing.listings import Column, Row, count_fitting, print_listing
from explorer.cli.printing.wording import printable

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_COLUMNS = 100
_SHORT = len("update_postimage")
"""Characters that a cell keeps on a narrow terminal."""
_NULL = "null"
_CHANGE_COLUMNS = ("_change_type", "_commit_version")


def list_rows(console: Console, rows: pa.Table) -> int:
    """All rows with as many of the first columns as fit with their whole names; how many do
    not."""
    from explorer.rows.row_values import plain_objects  # noqa: PLC0415  # `--help` prints no rows

    names = rows.column_names[:_MOST_COLUMNS]
    found = list(plain_objects(rows.select(names)))
    columns = [_column(name, found) for name in names]
    fitting = count_fitting(console, columns, found)
    if found:
        print_listing(console, columns[:fitting], found)
    return int(rows.num_columns) - fitting


def list_changes(console: Console, rows: pa.Table) -> int:
    """`list_rows` of changed rows: what happened and in which version comes first, the time of
    that last, because the screen may be narrow."""
    others = [name for name in rows.column_names if name not in _CHANGE_COLUMNS]
    others.sort(key="_commit_timestamp".__eq__)
    return list_rows(console, rows.select([*_CHANGE_COLUMNS, *others]))


def _column(name: str, rows: Sequence[Row]) -> Column:
    numbers = all(type(row[name]) in (int, float, type(None)) for row in rows)
    return Column(
        title=printable(name, 60),
        render=lambda row: _cell(row[name]),
        style=lambda row: "dim" if row[name] is None else "",
        align="right" if numbers else "left",
        shrinks=any(len(_cell(row[name])) > _SHORT for row in rows),
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
