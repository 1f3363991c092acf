"""Rows of two versions side by side, with the cells that changed marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import explorer.inspect as look
from explorer.rows.row_values import plain_objects, row_objects
from explorer.table.counts import are
from widgets.markup import NOTHING, Markup, html, join
from widgets.screens.rows.ask import Rows, plain_rows
from widgets.screens.rows.parts import value_cell
from widgets.text import MINUS, cut
from widgets.ui.pieces import render_segments

COLUMNS_SHOWN = 500
_SIGNS = {"changed": ("\N{PLUS-MINUS SIGN}", "changed"), "inserted": ("+", "inserted"),
          "deleted": (MINUS, "deleted")}  # fmt: skip
_NAMES = {"changed": "Changed", "inserted": "Inserted", "deleted": "Deleted"}
_NAMES_OF_TABLES = {
    "changed": "With other values",
    "inserted": "Only in the second",
    "deleted": "Only in the first",
}
_SIGNS_OF_TABLES = {
    "changed": ("\N{PLUS-MINUS SIGN}", "with other values"),
    "inserted": ("+", "only in the second table"),
    "deleted": (MINUS, "only in the first table"),
}


def count_differences(found: look.RowDifferences) -> dict[str, int]:
    """Rows that differ by kind; both sides of one count once."""
    parts = {"changed": found.after, "inserted": found.inserted, "deleted": found.deleted}
    return {kind: int(rows.num_rows) for kind, rows in parts.items()}


def render_kinds(found: look.RowDifferences, current: str) -> Markup:
    """A choice by kind, where there is more than one."""
    counts = {kind: count for kind, count in count_differences(found).items() if count}
    if len(counts) < 2:
        return NOTHING
    names = _NAMES_OF_TABLES if found.is_of_two_tables else _NAMES
    options = [("", "All", sum(counts.values()))]
    options += [(kind, names[kind], count) for kind, count in counts.items()]
    buttons = render_segments("rows", current, options, "Which rows")
    return html('<div class="dx-head dx-below">{}</div>', buttons)


def render_differences(
    found: look.RowDifferences, offset: int, limit: int, kind: str = ""
) -> Markup:
    """Rows from `offset` on: changed ones first, then inserted, then deleted ones; those of one
    `kind` alone where that is given."""
    names = _order(found)[:COLUMNS_SHOWN]
    signs = _SIGNS_OF_TABLES if found.is_of_two_tables else _SIGNS
    columns = plain_rows(found.after.slice(0, 0))
    sides = {name: _side(name, columns) for name in names}
    heads = join(
        html(
            '<th scope="col" class="{}" title="{}">{}</th>',
            sides[name],
            cut(name, 500),
            cut(name, 40),
        )
        for name in names
    )
    lines = join(
        _render_line((kind, *signs[kind]), old, new, sides)
        for kind, old, new in _page(found, offset, limit, kind)
    )
    left = found.after.num_columns - len(names)
    note = html('<p class="dx-muted">{} not shown.</p>', are(left, "more column"))
    return html(
        '<div class="dx-scroll dx-grid" tabindex="0" role="group" aria-label="Rows that differ">'
        "<table><caption>Rows that differ</caption><thead><tr>"
        '<th scope="col"><span class="dx-unseen">What happened</span></th>{}</tr></thead>'
        "<tbody>{}</tbody></table></div>{}",
        heads,
        lines,
        note if left else NOTHING,
    )


def _order(found: look.RowDifferences) -> list[str]:
    """The key, then columns that changed in the first rows, then the others."""
    names = list(found.after.column_names)
    first = zip(
        row_objects(found.before.slice(0, 200)), row_objects(found.after.slice(0, 200)), strict=True
    )
    changed = {name for old, new in first for name in names if old[name] != new[name]}
    rank = {name: 2 - (name in changed) for name in names} | dict.fromkeys(found.key, 0)
    return sorted(names, key=lambda name: rank[name])


def _side(name: str, columns: Rows) -> str:
    """The classes of the cells of a column."""
    side = "dx-right" if name in columns.numbers else "dx-left"
    return f"{side} dx-instant" if name in columns.instants else side


def _page(
    found: look.RowDifferences, offset: int, limit: int, only: str
) -> Iterator[tuple[str, Mapping[str, Any] | None, Mapping[str, Any] | None]]:
    pairs = [
        ("changed", found.before, found.after),
        ("inserted", None, found.inserted),
        ("deleted", found.deleted, None),
    ]
    for kind, before, after in pairs:
        rows = before if after is None else after
        if rows is None or only not in {"", kind}:
            continue
        count = rows.num_rows
        if offset < count and limit > 0:
            sides = [
                [None] * min(limit, count - offset)
                if side is None
                else list(plain_objects(side.slice(offset, limit)))
                for side in (before, after)
            ]
            for old, new in zip(*sides, strict=True):
                yield kind, old, new
            limit -= min(limit, count - offset)
        offset = max(0, offset - count)


def _render_line(
    said: tuple[str, str, str],
    old: Mapping[str, Any] | None,
    new: Mapping[str, Any] | None,
    sides: Mapping[str, str],
) -> Markup:
    kind, sign, word = said
    cells = join(_render_cell(name, side, old, new) for name, side in sides.items())
    return html(
        '<tr class="dx-{}"><td class="dx-sign" title="{}">{}<span class="dx-unseen"> {}</span>'
        "</td>{}</tr>",
        kind,
        word,
        sign,
        word,
        cells,
    )


def _render_cell(
    name: str, side: str, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None
) -> Markup:
    values = [row[name] for row in (old, new) if row is not None]
    if len(values) == 2 and values[0] != values[1]:
        before, after = (value_cell(value) for value in values)
        return html(
            '<td class="{} dx-differs" title="{}"><del>{}</del> <ins>{}</ins></td>',
            side,
            f"{before.title or before.text} \N{RIGHTWARDS ARROW} {after.title or after.text}",
            before.text,
            after.text,
        )
    cell = value_cell(values[-1])
    quiet = " dx-muted" if cell.muted or len(values) == 2 else ""
    return html('<td class="{}{}" title="{}">{}</td>', side, quiet, cell.title or "", cell.text)
