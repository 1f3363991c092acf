"""Rows of the table itself, and the versions that changed them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from widgets.markup import NOTHING, Markup, html
from widgets.text import UNKNOWN, cut, format_count, format_minute, format_time
from widgets.theme import lane_of
from widgets.ui.table import Cell, Column, Row, render_table

COLUMNS_SHOWN = 40
"""Columns of a row; wider rows are read on the command line."""

VERSION_COLUMNS = (
    Column(key="version", label="Version", align="right"),
    Column(key="timestamp", label="Committed (UTC)"),
    Column(key="operation", label="Operation"),
    Column(key="inserted", label="Inserted", align="right"),
    Column(key="updated", label="Updated", align="right"),
    Column(key="deleted", label="Deleted", align="right"),
    Column(key="user", label="User"),
    Column(key="log_file", label="Recorded in", mono=True, wide=True),
)
UNREAD_COLUMNS = (
    Column(key="version", label="Version", align="right"),
    Column(key="path", label="File", mono=True),
    Column(key="reason", label="Why", wraps=True),
)


def render_rows(caption: str, names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Markup:
    """Rows with all their columns, as far as they are shown."""
    shown = names[:COLUMNS_SHOWN]
    columns = [
        Column(
            key=str(at), label=cut(name, 40), align="right" if _is_number(name, rows) else "left"
        )
        for at, name in enumerate(shown)
    ]
    drawn = [Row(cells=tuple(value_cell(row[name]) for name in shown)) for row in rows]
    left = len(names) - len(shown)
    note = (
        html('<p class="dx-muted">{:,} more columns are not shown.</p>', left) if left else NOTHING
    )
    return render_table(caption, columns, drawn, empty="No row.") + note


def _is_number(name: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    values = [row[name] for row in rows if row[name] is not None]
    return bool(values) and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in values
    )


def value_cell(value: Any) -> Cell:
    """One value of a row; null is told from the text null."""
    if value is None:
        return Cell(text="null", muted=True)
    text = plain_text(value)
    return Cell(text=cut(text, 60), title=cut(text, 1000))


def plain_text(value: Any) -> str:
    """A value as text: structs, lists and maps as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def build_version_row(row: Mapping[str, Any], selected: int | None) -> Row:
    """One version that changed matching rows; a click selects it."""
    operation, user = row["operation"], row["user_name"]
    counts = [row[name] for name in ("inserted", "updated", "deleted")]
    return Row(
        action="version",
        value=str(row["version"]),
        selected=row["version"] == selected,
        cells=(
            Cell(text=format_count(row["version"])),
            Cell(text=format_minute(row["timestamp"]), title=format_time(row["timestamp"])),
            Cell(text=cut(str(operation or "not recorded"), 60), lane=lane_of(operation)),
            *(Cell(text=format_count(count), muted=not count) for count in counts),
            Cell(text=cut(str(user or UNKNOWN), 80), muted=not user),
            Cell(text=cut(str(row["log_file"] or UNKNOWN), 80)),
        ),
    )


def build_unread_row(row: Mapping[str, Any]) -> Row:
    """What could not be searched, and why."""
    path, version = str(row["path"] or ""), row["version"]
    return Row(
        cells=(
            Cell(text=format_count(version)),
            Cell(text=cut(path, 80), title=cut(path, 1000)),
            Cell(text=cut(str(row["reason"]), 400)),
        )
    )
