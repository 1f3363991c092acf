"""Which columns of the rows are shown, in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote

from widgets.choices import Choices
from widgets.markup import NOTHING, Markup, html, join
from widgets.screens.rows.ask import Rows, sort_rows
from widgets.text import cut, format_count, format_many

LISTED = 80
"""Columns that are listed to choose from; a search finds the others."""
LONGEST_SEARCH = 200
"""Characters of a name that are looked for."""
_FEW = 8
"""Columns that need no search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """What a person has arranged: columns that stay in sight, that are hidden, whose names hold
    `contains` in any case, and by which one the rows are sorted, whether descending."""

    pinned: tuple[str, ...] = ()
    hidden: frozenset[str] = frozenset()
    contains: str = ""
    sort: tuple[str, bool] | None = None

    def among(self, names: Sequence[str]) -> Columns:
        """Without what these columns have not."""
        known = frozenset(names)
        return replace(
            self,
            pinned=tuple(name for name in self.pinned if name in known),
            hidden=self.hidden & known,
            sort=self.sort if self.sort is not None and self.sort[0] in known else None,
        )

    def pin(self, name: str) -> Columns:
        """Keep a column in sight, or let it scroll."""
        if name in self.pinned:
            return replace(self, pinned=tuple(item for item in self.pinned if item != name))
        return replace(self, pinned=(*self.pinned, name), hidden=self.hidden - {name})

    def toggle(self, name: str) -> Columns:
        """Hide a column, also a pinned one, or show it again."""
        if name in self.pinned:
            return replace(self.pin(name), hidden=self.hidden | {name})
        return replace(self, hidden=self.hidden ^ {name})

    def show_all(self) -> Columns:
        """Hide none, and search for none; what is pinned and sorted stays so."""
        return replace(self, hidden=frozenset(), contains="")

    def search(self, text: str) -> Columns:
        """Show those whose names hold a text, beside those that are pinned."""
        return replace(self, contains=text.strip()[:LONGEST_SEARCH])

    def sort_by(self, name: str) -> Columns:
        """Sort by a column: ascending, then descending, then not at all."""
        if self.sort is None or self.sort[0] != name:
            return replace(self, sort=(name, False))
        return replace(self, sort=None if self.sort[1] else (name, True))

    def matching(self, names: Sequence[str]) -> list[str]:
        """Those whose names hold what is searched for."""
        return [name for name in names if self.contains.lower() in name.lower()]

    def shown(self, names: Sequence[str]) -> list[str]:
        """Those that are shown, pinned ones first."""
        kept = [name for name in self.pinned if name in names]
        return kept + [
            name
            for name in self.matching(names)
            if name not in self.hidden and name not in self.pinned
        ]

    def num_pinned(self, names: Sequence[str]) -> int:
        """How many of the shown ones stay in sight."""
        return sum(name in names for name in self.pinned)

    def sorted(self, found: Rows) -> Rows:
        """The rows in their order."""
        if self.sort is None:
            return found
        return sort_rows(found, self.sort[0], descending=self.sort[1])


def read_columns(chosen: Choices) -> Columns:
    """How an address arranges columns, whether or not they are there."""
    by = chosen.get("by")
    return Columns(
        pinned=tuple(dict.fromkeys(_parse_names(chosen.get("pinned")))),
        hidden=frozenset(_parse_names(chosen.get("hidden"))),
        contains=chosen.text[:LONGEST_SEARCH],
        sort=(by, chosen.get("order") == "descending") if by else None,
    )


def name_columns(columns: Columns) -> dict[str, str]:
    """An arrangement as it stands in an address."""
    by, descending = columns.sort or ("", False)
    return {
        "text": columns.contains,
        "by": by,
        "order": "descending" if descending else "",
        "pinned": _render_names(columns.pinned),
        "hidden": _render_names(sorted(columns.hidden)),
    }


def _render_names(names: Sequence[str]) -> str:
    """Names with commas between, which may hold commas themselves."""
    return ",".join(name.replace("%", "%25").replace(",", "%2C") for name in names)


def _parse_names(text: str) -> list[str]:
    return [unquote(name) for name in text.split(",") if name]


def render_columns(columns: Columns, names: Sequence[str]) -> Markup:
    """What finds, hides and shows columns."""
    shown, matching = len(columns.shown(names)), columns.matching(names)
    if len(names) < _FEW and shown == len(names) and not columns.contains:
        return NOTHING
    listed = join(_render_choice(name, columns) for name in matching[:LISTED])
    more = len(matching) - LISTED
    left = html('<p class="dx-muted">{:,} more: type a part of the name.</p>', more)
    told = format_many(len(names), "column")
    if shown != len(names):
        told = f"{format_count(shown)} of {told}"
    undo = html('<button type="button" data-do="all" data-value="">Show all columns</button>')
    return html(
        '<div class="dx-head dx-below"><input type="search" data-do="columns" value="{}" '
        'aria-label="Search in column names" placeholder="Search in column names">'
        '<span class="dx-hint" role="status">{}</span>{}</div>'
        '<details class="dx-choose"><summary>Choose columns</summary><div>{}{}</div></details>',
        columns.contains,
        told,
        NOTHING if shown == len(names) else undo,
        html('<div class="dx-shown-columns">{}</div>', listed) if listed else "No matches.",
        left if more > 0 else NOTHING,
    )


def _render_choice(name: str, columns: Columns) -> Markup:
    is_shown = name in columns.pinned or name not in columns.hidden
    return html(
        '<button type="button" class="dx-shown-column" data-do="hide" data-value="{}" '
        'aria-pressed="{}" title="{}">{}</button>',
        name,
        "true" if is_shown else "false",
        cut(name, 500),
        cut(name, 40),
    )
