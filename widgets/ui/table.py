"""A table of text as HTML: sortable headers, selectable rows, pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from widgets.markup import NOTHING, Markup, esc, html, join
from widgets.text import format_count, format_many

PAGE_ROWS = 25
"""Rows a page: more are scrolled past, and every row costs the browser time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column; `label` is ours, never a table's; where it ends in "(UTC)", its times can be shown
    by the clock of whoever reads. A `wide` one is left out where
    the table has little room; one that `wraps` holds sentences; one that `shrinks` gives its room
    to the others, and its cells have the whole text as their title."""

    key: str
    label: str
    align: Literal["left", "right"] = "left"
    sortable: bool = False
    mono: bool = False
    wide: bool = False
    wraps: bool = False
    shrinks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Plain text, escaped when it is drawn. `title` is shown on hover; `lane` puts
    the colour of an operation beside it, `share` (0 to 1) a bar before it, `tone` a colour
    that says the same as the text; `shown` is how the text looks where that is more than text.
    One that `is_number` stands on the right in a column of other values too.
    One that `is_instant` can be shown by the clock of whoever reads, also among values that stay
    as they are written."""

    text: str
    title: str | None = None
    lane: str | None = None
    muted: bool = False
    share: float | None = None
    tone: str | None = None
    is_number: bool = False
    is_instant: bool = False
    shown: Markup | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row; with an `action` it can be clicked and focused. One with a `link`, the address of
    where that leads, opens in a tab of its own too; its cell at `linked` is the link."""

    cells: Sequence[Cell]
    action: str | None = None
    value: str = ""
    selected: bool = False
    link: str | None = None
    linked: int = 0


def render_table(
    caption: str,
    columns: Sequence[Column],
    rows: Sequence[Row],
    *,
    sort: tuple[str, bool] | None = None,
    empty: str = "Nothing to show.",
) -> Markup:
    """The table; `sort` is the key of the sorted column and whether it descends."""
    head = join(_render_header(column, sort) for column in columns)
    body = join(_render_row(columns, row) for row in rows)
    if not rows:
        body = html('<tr><td class="dx-empty" colspan="{}">{}</td></tr>', len(columns), empty)
    return html(
        '<div class="dx-scroll"><table><caption>{}</caption>'
        "<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>",
        caption,
        head,
        body,
    )


def render_pager(noun: str, offset: int, total: int, limit: int = PAGE_ROWS) -> Markup:
    """`1-25 of 8,412 files` and the buttons to move."""
    if total == 0:
        return NOTHING
    last = min(offset + limit, total)
    newest = (total - 1) // limit * limit
    buttons = (
        ("first", "First page", 0, offset > 0),
        ("previous", "Previous page", max(0, offset - limit), offset > 0),
        ("next", "Next page", offset + limit, last < total),
        ("last", "Last page", newest, last < total),
    )
    drawn = join(
        html(
            '<button type="button" class="dx-icon dx-{}" data-do="page" data-as="{}"'
            ' data-value="{}" aria-label="{}" title="{}"{}>'
            "</button>",
            name,
            name,
            to,
            label,
            label,
            "" if enabled else " disabled",
        )
        for name, label, to, enabled in buttons
    )
    shown = f"{format_count(offset + 1)}\N{EN DASH}{format_count(last)}"
    text = f"{shown} of {format_many(total, noun.removesuffix('s'))}"
    return html('<nav class="dx-pager" aria-label="Pages"><span>{}</span>{}</nav>', text, drawn)


def render_above_list(*parts: Markup) -> Markup:
    """A line above a list whose rows open a detail: its pager and its commands. What was chosen
    is then the next stop of the Tab key after the rows."""
    return html('<div class="dx-above-list">{}</div>', join(parts))


def _render_header(column: Column, sort: tuple[str, bool] | None) -> Markup:
    sorted_here = sort is not None and sort[0] == column.key
    order = ("descending" if sort and sort[1] else "ascending") if sorted_here else "none"
    label = esc(column.label.removesuffix(_ZONE))
    zone = _ZONE_BUTTON if column.label.endswith(_ZONE) else NOTHING
    if column.sortable:
        label = html(
            '<button type="button" class="dx-sort" data-do="sort" data-value="{}">{}</button>',
            column.key,
            label,
        )
        return html(
            '<th scope="col" class="{}" aria-sort="{}">{}{}</th>',
            _classes(column),
            order,
            label,
            zone,
        )
    return html('<th scope="col" class="{}">{}{}</th>', _classes(column), label, zone)


_ZONE: Final = " (UTC)"
"""How the label of a column of times ends."""
_ZONE_BUTTON = html(
    ' <button type="button" class="dx-zone" data-zone aria-pressed="false" '
    'title="Show local time, or UTC again">(UTC)</button>'
)
_TIME = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d(?::\d\d)?)(?: UTC)?")


def _render_text(column: Column, text: str) -> Markup:
    """The text of a cell; a time of a column of times can be shown by the reader's clock."""
    found = _TIME.fullmatch(text) if column.label.endswith(_ZONE) else None
    if found is None:
        return esc(text)
    shown = f"{found[1]} {found[2]}"
    return html('<time datetime="{}T{}Z" title="{} UTC">{}</time>', *found.groups(), shown, shown)


def _render_row(columns: Sequence[Column], row: Row) -> Markup:
    cells = join(
        _render_cell(column, cell, row.link if at == row.linked else None)
        for at, (column, cell) in enumerate(zip(columns, row.cells, strict=True))
    )
    if row.action is None:
        return html("<tr>{}</tr>", cells)
    current = html(' aria-current="true"') if row.selected else NOTHING
    return html(
        '<tr tabindex="0" data-do="{}" data-value="{}"{}>{}</tr>',
        row.action,
        row.value,
        current,
        cells,
    )


def _render_cell(column: Column, cell: Cell, link: str | None) -> Markup:
    title = html(' title="{}"', cell.title) if cell.title else NOTHING
    dot = html('<i class="dx-dot dx-{}"></i>', cell.lane.lower()) if cell.lane else NOTHING
    muted = (" dx-muted" if cell.muted else "") + (" dx-instant" if cell.is_instant else "")
    bar = html('<i class="dx-dot dx-tone-{}"></i>', cell.tone) if cell.tone else NOTHING
    if cell.share is not None:
        share = min(max(cell.share, 0.0), 1.0)
        bar = html('<i class="dx-share" style="--share:{:.1%}"></i>', share)
    shown = _render_text(column, cell.text) if cell.shown is None else cell.shown
    if link is not None:
        # the row is the stop of the Tab key, and a drag over the text selects it
        shown = html(
            '<a href="{}" class="dx-cell-link" tabindex="-1" draggable="false">{}</a>', link, shown
        )
    return html(
        '<td class="{}{}"{}>{}{}{}</td>',
        _classes(column, is_number=cell.is_number),
        muted,
        title,
        dot,
        bar,
        shown,
    )


def _classes(column: Column, *, is_number: bool = False) -> str:
    names = ["dx-right" if is_number else f"dx-{column.align}"]
    names += ["dx-mono"] if column.mono else []
    names += ["dx-wide"] if column.wide else []
    names += ["dx-wraps"] if column.wraps else []
    names += ["dx-shrinks"] if column.shrinks else []
    return " ".join(names)
