"""Rows of the table itself, and the versions that changed them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from explorer.rows.row_values import row_objects
from widgets.markup import NOTHING, Markup, esc, html, join
from widgets.screens.rows.ask import Rows
from widgets.text import UNKNOWN, cut, format_count, format_many, format_minute, format_time
from widgets.theme import lane_of
from widgets.ui.exporting import Export
from widgets.ui.exports import build_frame
from widgets.ui.table import Cell, Column, Row

COLUMNS_SHOWN = 500
"""Columns of a row; wider rows are read on the command line, or by columns that are chosen."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """How rows are laid out: which columns hold `numbers` and `instants`, how many of the first
    are `pinned` and stay in sight, by which one they are sorted and whether descending, and what a
    click on a row does, with the `selected` one. `can_arrange` puts the buttons for it into the
    head."""

    numbers: Set[str] | None = None
    instants: Set[str] = frozenset()
    pinned: int = 0
    sort: tuple[str, bool] | None = None
    can_arrange: bool = False
    action: str | None = None
    first: int = 0
    selected: int | None = None


def render_rows(
    caption: str,
    names: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    grid: Grid | None = None,
) -> Markup:
    """Rows with all their columns, as far as they are shown, within the height of a window, so
    that the scroll bars are in sight."""
    grid = grid or Grid()
    shown = names[:COLUMNS_SHOWN]
    looks = [_look(name, at, rows, grid) for at, name in enumerate(shown)]
    heads = join(_render_head(name, look, grid) for name, look in zip(shown, looks, strict=True))
    body = join(_render_line(at, row, shown, looks, grid) for at, row in enumerate(rows))
    if not rows:
        body = html('<tr><td class="dx-empty" colspan="{}">No row.</td></tr>', len(shown) or 1)
    left = len(names) - len(shown)
    note = (
        html('<p class="dx-muted">Not shown: {}.</p>', format_many(left, "more column"))
        if left
        else NOTHING
    )
    return html(
        '<div class="dx-scroll dx-grid" tabindex="0" role="group" aria-label="{}"><table>'
        "<caption>{}</caption><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>{}",
        caption,
        caption,
        heads,
        body,
        note,
    )


@dataclass(frozen=True, slots=True)
class _Look:
    """The classes and the style of the cells of a column."""

    classes: str
    style: Markup
    is_pinned: bool


def _look(name: str, at: int, rows: Sequence[Mapping[str, Any]], grid: Grid) -> _Look:
    numbers = grid.numbers
    is_number = _is_number(name, rows) if numbers is None else name in numbers
    classes = "dx-right" if is_number else "dx-left"
    if name in grid.instants:
        classes += " dx-instant"
    if at < grid.pinned:
        return _Look(f"{classes} dx-pinned", html(' style="--at:{}"', at), is_pinned=True)
    return _Look(classes, NOTHING, is_pinned=False)


def _render_head(name: str, look: _Look, grid: Grid) -> Markup:
    label = esc(cut(name, 40))
    if not grid.can_arrange:
        return html(
            '<th scope="col" class="{}" title="{}"{}>{}</th>',
            look.classes,
            cut(name, 500),
            look.style,
            label,
        )
    is_sorted = grid.sort is not None and grid.sort[0] == name
    order = ("descending" if grid.sort and grid.sort[1] else "ascending") if is_sorted else "none"
    return html(
        '<th scope="col" class="{}" aria-sort="{}" title="{}"{}>'
        '<button type="button" class="dx-sort" data-do="sort" data-value="{}">{}</button>'
        '<button type="button" class="dx-pin" data-do="pin" data-value="{}" aria-pressed="{}" '
        'aria-label="Keep {} in sight" title="{}"></button></th>',
        look.classes,
        order,
        cut(name, 500),
        look.style,
        name,
        label,
        name,
        "true" if look.is_pinned else "false",
        cut(name, 60),
        "Let it scroll" if look.is_pinned else "Keep in sight",
    )


def _render_line(
    at: int, row: Mapping[str, Any], shown: Sequence[str], looks: Sequence[_Look], grid: Grid
) -> Markup:
    cells = join(
        _render_value(value_cell(row[name]), look) for name, look in zip(shown, looks, strict=True)
    )
    if grid.action is None:
        return html("<tr>{}</tr>", cells)
    number = grid.first + at
    current = html(' aria-current="true"') if number == grid.selected else NOTHING
    return html(
        '<tr tabindex="0" data-do="{}" data-value="{}"{}>{}</tr>',
        grid.action,
        number,
        current,
        cells,
    )


def _render_value(cell: Cell, look: _Look) -> Markup:
    title = html(' title="{}"', cell.title) if cell.title not in {None, cell.text} else NOTHING
    muted = " dx-muted" if cell.muted else ""
    return html('<td class="{}{}"{}{}>{}</td>', look.classes, muted, title, look.style, cell.text)


def rows_export(name: str, found: Rows) -> Export:
    """The rows to be saved: numbers as they are, all else as text."""
    rows = [
        [
            value if value is None or isinstance(value, int | float) else plain_text(value)
            for value in row.values()
        ]
        for row in row_objects(found.frame)
    ]
    return Export.of(name, build_frame(found.names, rows))


def _is_number(name: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    values = [row[name] for row in rows if row[name] is not None]
    return bool(values) and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in values
    )


def value_cell(value: Any, *, is_instant: bool = False) -> Cell:
    """One value of a row; null is told from the text null."""
    if value is None:
        return Cell(text="null", muted=True)
    text = plain_text(value)
    return Cell(text=cut(text, 60), title=cut(text, 1000), is_instant=is_instant)


def plain_text(value: Any) -> str:
    """A value as text: structs, lists and maps as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def build_version_row(row: Mapping[str, Any], selected: int | None) -> Row:
    """One version that changed matching rows; a click leads to its commit."""
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
