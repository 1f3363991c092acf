"""Which commits the timeline and its table show: chosen once, for both, and in the address."""

from __future__ import annotations

from functools import partial

from explorer.log.plain_arrays import Flags
from widgets.figures.commits import Commits
from widgets.figures.filters import (
    EFFECT,
    EFFECTS,
    FIELDS,
    TEXT,
    build_shown,
    list_effects,
    list_values,
)
from widgets.markup import NOTHING, Markup, esc, html, join
from widgets.state import HistoryState, PageState, parse_filter, parse_version, render_filter
from widgets.text import cut, format_count
from widgets.ui.live_html import LiveHtml

LONGEST = 500
"""Characters of one part of a filter."""

_LABELS = {"operation": "operations", "engine": "engines", "user": "users", EFFECT: "changes"}
_ANY = "any"
"""What stands for no choice; a choice begins with a mark, so that no value is taken for it."""

_MARK = "="


def read_shown(commits: Commits, only: str) -> Flags | None:
    """The commits that the filter of an address lets through; None for all."""
    wanted = parse_filter(only)
    if not wanted:
        return None
    return build_shown(commits, wanted, parse_version(wanted.get(TEXT, "")))


class CommitFilter:
    """A list for each field, and a text for all of them; what is chosen is in the state."""

    def __init__(self, state: PageState, history: HistoryState) -> None:
        self._state = state
        self._history = history
        self.panel = LiveHtml(margin=0)
        for name in _LABELS:
            self.panel.on(name, partial(self._choose, name))
        self.panel.on("filter", self._type)
        self.panel.on("clear", lambda _: state.param.update(only=""))
        history.param.watch(lambda *_: self._draw(), "commits")
        state.param.watch(lambda *_: self._draw(), "only")
        self._draw()

    def _choose(self, name: str, value: str) -> None:
        wanted = parse_filter(self._state.only)
        wanted.pop(name, None)
        if value.startswith(_MARK):
            wanted[name] = value.removeprefix(_MARK)
        self._state.only = render_filter(wanted)

    def _type(self, text: str) -> None:
        wanted = parse_filter(self._state.only)
        wanted.pop(TEXT, None)
        if text.strip():
            wanted[TEXT] = text.strip()[:LONGEST]
        self._state.only = render_filter(wanted)

    def _draw(self) -> None:
        commits: Commits | None = self._history.commits
        wanted = parse_filter(self._state.only)
        selects = (
            ""
            if commits is None
            else join(
                _render_select(name, values, wanted.get(name))
                for name, values in (
                    *((name, list_values(commits, name)) for name in FIELDS),
                    (EFFECT, list_effects(commits)),
                )
            )
        )
        clear = html('<button type="button" data-do="clear" data-value="">Show all</button>')
        self.panel.html = html(
            '<div class="dx-head dx-filter"><input type="search" data-do="filter" '
            'aria-label="Filter commits" value="{}" '
            'placeholder="Search version, operation, user, engine, condition or message">'
            "{}{}</div>",
            wanted.get(TEXT, ""),
            selects,
            clear if wanted else NOTHING,
        )


def _render_select(name: str, values: list[tuple[str, int]], wanted: str | None) -> Markup:
    label = _LABELS[name]
    options = html('<option value="{}">All {}</option>', _ANY, label)
    # of a field more values are found than there is room for, but there are no other effects
    if wanted is not None and name != EFFECT and wanted not in dict(values):
        values = [*values, (wanted, 0)]
    for value, count in values:
        chosen = " selected" if value == wanted else ""
        shown = esc(
            cut(EFFECTS.get(value, value) if name == EFFECT else value, 60) or "not recorded"
        )
        options += html(
            '<option value="{}{}"{}>{} ({})</option>',
            _MARK,
            value,
            chosen,
            shown,
            format_count(count),
        )
    return html('<select data-do="{}" aria-label="Show {}">{}</select>', name, label, options)
