"""The rows that a commit changed: the first of them, an update as one row with both its values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from explorer.inspect.rows.row_choice import choose_fairly
from widgets.markup import NOTHING, Markup, html, join
from widgets.screens.commit._actions_view import SCREENS
from widgets.screens.commit._ask import ROWS_SHOWN, ChangedRows, OneCommit, read_changed_rows
from widgets.screens.rows.ask import Rows
from widgets.screens.rows.parts import plain_text, value_cell
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.state import PageState
from widgets.text import cut, format_count, format_many
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_problem
from widgets.ui.table import Cell, Column, Row, render_table
from widgets.ui.view import Offer, Pane, Request, View, Words

COLUMNS_SHOWN = 40
TYPE = "_change_type"
BEFORE, AFTER = "update_preimage", "update_postimage"

_WORDS_OF = {
    "insert": ("inserted", "good"),
    "delete": ("deleted", "gone"),
    BEFORE: ("before update", "none"),
    AFTER: ("after update", "window"),
}
_UPDATED = ("updated", "window")

_FOUND = {
    "change data": "from the change data that it recorded",
    "files": "from its files and deletion vectors",
    "comparison": "by comparing the files that it removed with those that it added",
}


class ChangedRowsView:
    """The first rows that the selected commit changed."""

    def __init__(
        self,
        services: PageServices,
        state: PageState,
        question: Callable[[TableService, PageState], OneCommit | None],
    ) -> None:
        request: Request[OneCommit, ChangedRows] = Request(
            question=question,
            read=lambda asked, watch, _: read_changed_rows(asked, watch),
            words=_WORDS,
            offer=Offer(render=_render_offer, action="rows"),
        )
        pane = Pane(render_changed_rows, head=html("<h4>Rows</h4>"))
        self._view = View(services, state, SCREENS, request, pane)
        self.panel = pane.live

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._view.show(service)

    @property
    def counts(self) -> Mapping[str, int] | None:
        """The rows that the commit changed by their type, once they are known."""
        found = self._view.answer
        return None if found is None else found.found.counts

    def listen(self, listener: Callable[[], object]) -> None:
        """Call `listener` whenever the rows become known, or are no longer."""
        self._view.listen(listener)

    def refresh(self) -> None:
        """What is asked of the selected commit may have become known."""
        self._view.refresh()


_WORDS = Words(
    label="Reading the rows that changed",
    stopped="Stopped before the rows were found.",
    again="Show the rows",
)


def _render_offer(asked: OneCommit) -> Markup | None:
    if asked.is_free:
        return None
    return html(
        '<p class="dx-muted">The commit has many files, or does not say how many: finding its '
        "rows may take long.</p>"
        '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="rows" '
        'data-value="">Show the first {} rows</button></div>',
        ROWS_SHOWN,
    )


def render_changed_rows(asked: OneCommit, changed: ChangedRows, _: Pages) -> Markup:
    """The rows, and how they were found."""
    found = changed.found
    problems = join(render_problem(problem) for problem in found.problems)
    if found.route == "none":
        return problems + html('<p class="dx-muted">No row changed.</p>')
    if found.route == "too many":
        return problems + html(
            "<p>Its files were written again, with rows that stayed the same among them, and are "
            "too large to compare here.</p>"
            '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="compare" '
            'data-value="previous">Compare with version {}</button></div>',
            format_count(asked.version - 1),
        )
    entries = _fold(changed.rows.rows, is_paired=found.is_paired)
    kinds = [kind for _, _, kind in entries]
    shown = [entries[at] for at in choose_fairly(kinds, ROWS_SHOWN)]
    is_cut = found.is_cut or len(entries) > len(shown)
    told = _told(len(shown), is_cut=is_cut, counts=found.counts)
    names = [name for name in changed.rows.names if name != TYPE]
    return (
        problems
        + html('<p class="dx-muted">{}; found {}.</p>', told, _FOUND[found.route])
        + html(
            '<div class="dx-rows" tabindex="0" role="region" aria-label="Rows of the commit">{}'
            "</div>",
            _render_table(names, shown, changed.rows),
        )
        + _render_left(len(names))
        + (_render_way_to_all(asked.version, found.route) if is_cut else NOTHING)
    )


def _render_way_to_all(version: int, route: str) -> Markup:
    """Where the rows are that have no room here."""
    if route == "change data":
        way, label = html('data-do="feed" data-value=""'), "All of them in Change feed"
    elif version > 0:
        way, label = html('data-do="compare" data-value="previous"'), "More of them in Compare"
    else:
        return NOTHING
    return html('<div class="dx-buttons"><button type="button" {}>{}</button></div>', way, label)


def _told(shown: int, *, is_cut: bool, counts: Mapping[str, int] | None) -> str:
    """How many rows are shown of how many, and how many of each kind there are; both sides of an
    update are one row."""
    if counts is None:
        return f"The first {shown} rows" if is_cut else format_many(shown, "row")
    kinds = [(counts.get(name, 0), word) for name, word in _COUNTED.items()]
    other = sum(counts.values()) - sum(number for number, _ in kinds) - counts.get(BEFORE, 0)
    kinds.append((other, "of another kind"))
    told = [f"{format_count(number)} {word}" for number, word in kinds if number > 0]
    total = sum(number for number, _ in kinds)
    some = f"{format_count(shown)} of " if is_cut else ""
    if len(told) == 1:
        number, _, word = told[0].partition(" ")
        return f"{some}{number} {word} {'row' if total == 1 else 'rows'}"
    return f"{some}{format_many(total, 'row')}: {', '.join(told)}"


_COUNTED = {AFTER: "updated", "insert": "inserted", "delete": "deleted"}


Entry = tuple[Mapping[str, Any] | None, Mapping[str, Any], str]
"""What a row was before, what it is, and what happened to it; None where only one side is known."""


def _fold(rows: Sequence[Mapping[str, Any]], *, is_paired: bool) -> list[Entry]:
    entries: list[Entry] = []
    before: Mapping[str, Any] | None = None
    for row in rows:
        kind = str(row[TYPE])
        if is_paired and kind == BEFORE:
            before = row
        elif is_paired and kind == AFTER and before is not None:
            entries.append((before, row, "update"))
            before = None
        else:
            entries.append((None, row, kind))
    return entries


def _render_table(names: Sequence[str], entries: Sequence[Entry], of: Rows) -> Markup:
    numbers, instants = of.numbers, of.instants
    shown = names[:COLUMNS_SHOWN]
    columns = [Column(key="what", label="What")]
    columns += [
        Column(
            key=str(at),
            label=cut(name, 40),
            align="right" if name in numbers else "left",
        )
        for at, name in enumerate(shown)
    ]
    rows = [Row(cells=_cells(entry, shown, instants)) for entry in entries]
    return render_table("Rows that the commit changed", columns, rows)


def _cells(entry: Entry, names: Sequence[str], instants: Collection[str]) -> tuple[Cell, ...]:
    before, row, kind = entry
    word, tone = _UPDATED if kind == "update" else _WORDS_OF.get(kind, (cut(kind, 40), "none"))
    what = Cell(text=word, tone=tone)
    if before is None:
        return (what, *(value_cell(row[name], is_instant=name in instants) for name in names))
    return (
        what,
        *(_changed_cell(before[name], row[name], is_instant=name in instants) for name in names),
    )


def _changed_cell(before: Any, after: Any, *, is_instant: bool) -> Cell:
    """Both values where they differ; one that stayed is quiet."""
    if before == after:
        return replace(value_cell(after, is_instant=is_instant), muted=True)
    old, new = ("null" if value is None else plain_text(value) for value in (before, after))
    return Cell(
        text=f"{cut(old, 40)} \N{RIGHTWARDS ARROW} {cut(new, 40)}",
        title=cut(f"{old} \N{RIGHTWARDS ARROW} {new}", 1000),
        tone="window",
        is_instant=is_instant,
    )


def _render_left(number: int) -> Markup:
    left = number - COLUMNS_SHOWN
    if left <= 0:
        return NOTHING
    return html('<p class="dx-muted">{} more columns are not shown.</p>', format_count(left))
