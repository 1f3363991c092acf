"""A table of text as HTML: sortable headers, selectable rows, pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from widgets.text import esc, format_count

PAGE_ROWS = 25
"""Rows a page: more are scrolled past, and every row costs the browser time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column; `label` is ours, never a table's. A `wide` one is left out where
    the page is narrow; one that `wraps` holds sentences."""

    key: str
    label: str
    align: Literal["left", "right"] = "left"
    sortable: bool = False
    mono: bool = False
    wide: bool = False
    wraps: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Plain text, escaped when it is drawn. `title` is shown on hover; `lane` puts
    the colour of an operation beside it, `share` (0 to 1) a bar before it, `tone` a colour
    that says the same as the text."""

    text: str
    title: str | None = None
    lane: str | None = None
    muted: bool = False
    share: float | None = None
    tone: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row; with an `action` it can be clicked and focused."""

    cells: Sequence[Cell]
    action: str | None = None
    value: str = ""
    selected: bool = False


def render_table(
    caption: str,
    columns: Sequence[Column],
    rows: Sequence[Row],
    *,
    sort: tuple[str, bool] | None = None,
    empty: str = "Nothing to show.",
) -> str:
    """The table; `sort` is the key of the sorted column and whether it descends."""
    head = "".join(_render_header(column, sort) for column in columns)
    body = "".join(_render_row(columns, row) for row in rows)
    if not rows:
        body = f'<tr><td class="dx-empty" colspan="{len(columns)}">{esc(empty)}</td></tr>'
    return (
        f'<div class="dx-scroll"><table><caption>{esc(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def render_pager(noun: str, offset: int, total: int, limit: int = PAGE_ROWS) -> str:
    """`1-25 of 8,412 files` and the buttons to move."""
    if total == 0:
        return ""
    last = min(offset + limit, total)
    newest = (total - 1) // limit * limit
    buttons = (
        ("first", "First page", 0, offset > 0),
        ("previous", "Previous page", max(0, offset - limit), offset > 0),
        ("next", "Next page", offset + limit, last < total),
        ("last", "Last page", newest, last < total),
    )
    drawn = "".join(
        f'<button type="button" class="dx-icon dx-{name}" data-do="page" data-as="{name}"'
        f' data-value="{to}" aria-label="{label}" title="{label}"{"" if enabled else " disabled"}>'
        "</button>"
        for name, label, to, enabled in buttons
    )
    text = (
        f"{format_count(offset + 1)}\N{EN DASH}{format_count(last)} of {format_count(total)} {noun}"
    )
    return f'<nav class="dx-pager" aria-label="Pages"><span>{esc(text)}</span>{drawn}</nav>'


def _render_header(column: Column, sort: tuple[str, bool] | None) -> str:
    sorted_here = sort is not None and sort[0] == column.key
    order = ("descending" if sort and sort[1] else "ascending") if sorted_here else "none"
    label = esc(column.label)
    if column.sortable:
        label = (
            f'<button type="button" class="dx-sort" data-do="sort" '
            f'data-value="{esc(column.key)}">{label}</button>'
        )
        return f'<th scope="col" class="{_classes(column)}" aria-sort="{order}">{label}</th>'
    return f'<th scope="col" class="{_classes(column)}">{label}</th>'


def _render_row(columns: Sequence[Column], row: Row) -> str:
    cells = "".join(
        _render_cell(column, cell) for column, cell in zip(columns, row.cells, strict=True)
    )
    if row.action is None:
        return f"<tr>{cells}</tr>"
    current = ' aria-current="true"' if row.selected else ""
    return (
        f'<tr tabindex="0" data-do="{esc(row.action)}" data-value="{esc(row.value)}"{current}>'
        f"{cells}</tr>"
    )


def _render_cell(column: Column, cell: Cell) -> str:
    title = f' title="{esc(cell.title)}"' if cell.title else ""
    dot = f'<i class="dx-dot dx-{esc(cell.lane.lower())}"></i>' if cell.lane else ""
    muted = " dx-muted" if cell.muted else ""
    bar = f'<i class="dx-dot dx-tone-{esc(cell.tone)}"></i>' if cell.tone else ""
    if cell.share is not None:
        share = min(max(cell.share, 0.0), 1.0)
        bar = f'<i class="dx-share" style="--share:{share:.1%}"></i>'
    return f'<td class="{_classes(column)}{muted}"{title}>{dot}{bar}{esc(cell.text)}</td>'


def _classes(column: Column) -> str:
    names = [f"dx-{column.align}"]
    names += ["dx-mono"] if column.mono else []
    names += ["dx-wide"] if column.wide else []
    names += ["dx-wraps"] if column.wraps else []
    return " ".join(names)
