"""Choosing a table: the picker in the sidebar, and the start page without one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import zip_longest

from explorer.progress import Progress
from widgets.choices import Choices, Sort
from widgets.markup import NOTHING, Markup, html, join
from widgets.screens.start._parts import (
    SORTABLE,
    begins_descending,
    build_summary_row,
    columns_below,
    count_findings,
    filter_summaries,
    render_findings,
    shared_folder,
    sort_summaries,
    sum_up,
)
from widgets.session.page_services import PageServices
from widgets.state import LISTED, PageState
from widgets.text import cut, cut_middle, format_count, last_part
from widgets.ui.boxes import build_filled_card, build_stack
from widgets.ui.live_html import LiveHtml
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_problem, render_waiting
from widgets.ui.place_links import PlaceLinks
from widgets.ui.table import Cell, Column, Row, render_table

Open = Callable[[str], None]

_FIRST = ("health", False)
"""How the list is sorted where nobody has asked for another order: what cannot be read and what
has errors first, as they are what somebody is to see."""

_COLUMNS = (Column(key="table", label="Table", mono=True),)


def short_name(uri: str) -> str:
    """The last part of a place, for narrow lists."""
    return cut_middle(last_part(uri), 40)


class Picker:
    """The open table among those served and opened lately, and a field for another."""

    def __init__(
        self, services: PageServices, state: PageState, on_open: Open, person: str | None = None
    ) -> None:
        self._services = services
        self._state = state
        self._on_open = on_open
        self._person = person
        self.tables = LiveHtml(margin=0)
        self.beside = LiveHtml(margin=0)
        self.tables.on("choose", self._chosen)
        self.beside.on("open", self._pasted)
        state.param.watch(lambda *_: self._draw(), "table")
        self._draw()

    def _draw(self) -> None:
        current = self._state.table
        choices = self._services.choices()
        if current and current not in choices:
            choices = (current, *choices)
        self.tables.html = self._render_tables(choices, current)
        another = _ANOTHER if current else NOTHING
        self.beside.html = another + _render_person(self._person)

    def _render_tables(self, choices: tuple[str, ...], current: str) -> Markup:
        summaries = self._services.summaries
        is_searching = summaries is not None and summaries.progress is not None
        listed = NOTHING
        if len(choices) > 1 or is_searching:
            listed = html('<a href="./{}">All tables</a>', LISTED)
        chosen = NOTHING
        if current and len(choices) > 1:
            listed_ones = choices[:MOST_CHOICES]
            if current not in listed_ones:
                listed_ones = (current, *listed_ones[:-1])
            labels = _distinct({uri: short_name(uri) for uri in listed_ones})
            options = join(
                html(
                    '<option value="{}"{}>{}</option>',
                    uri,
                    html(" selected") if uri == current else NOTHING,
                    label,
                )
                for uri, label in labels.items()
            )
            chosen = html('<label>Table<select data-do="choose">{}</select></label>', options)
        return html('<div class="dx-tables">{}{}</div>', listed, chosen) if listed else NOTHING

    def _chosen(self, uri: str) -> None:
        if uri and uri != self._state.table:
            self._on_open(uri)

    def _pasted(self, text: str) -> None:
        if text.strip():
            self._on_open(text.strip())


def _render_person(person: str | None) -> Markup:
    """Who has signed in, and the way out."""
    if person is None:
        return NOTHING
    return html(
        '<div class="dx-person" title="{}"><span>{}</span><a href="./logout">Sign out</a></div>',
        cut(person, 200),
        cut(person, 20),
    )


class StartView:
    """What a page without a table shows: the tables to choose from, and a field for another."""

    def __init__(self, services: PageServices, state: PageState, on_open: Open) -> None:
        self._services = services
        self._state = state
        self._links = PlaceLinks(state, has_address=services.runner.is_background)
        self._summaries = services.summaries
        self._field = LiveHtml(_FIELD, margin=0)
        self._list = LiveHtml(margin=0)
        self._recent = LiveHtml(margin=0)
        self._pages = Pages(self._list, "tables", self._fill)
        self._chosen = Choices(state, "tables", lambda _: self._choose_otherwise())
        listed = build_filled_card(self._list)
        self.panel = build_stack(listed, self._field, self._recent)
        self._field.on("open", lambda text: self._open(text, on_open))
        for part in (self._list, self._recent):
            part.on("choose", on_open)
        self._list.on("filter", self._chosen.look_for)
        self._list.on("finding", self._choose_finding)
        self._list.on("sort", self._sorted)
        self._list.on("refresh", lambda _: self._refresh())
        state.param.watch(lambda *_: self._show(), ["table", "opening"])
        self._is_drawing = False
        self._is_left = False
        self._show()

    def close(self) -> None:
        """The page is gone."""
        self._is_left = True
        if self._summaries is not None:
            self._summaries.leave(self._changed)

    def _show(self) -> None:
        if self._summaries is not None and not (self._state.table or self._state.opening):
            self._summaries.follow(self._changed)
        self._fill()

    def _open(self, text: str, on_open: Open) -> None:
        if text.strip():
            on_open(text.strip())

    def _changed(self) -> None:
        """Something more is known; told from another thread, and many times a second."""
        if not self._is_drawing and not self._is_left:
            self._is_drawing = True
            self._services.runner.post(self._draw_later)

    def _draw_later(self) -> None:
        self._is_drawing = False
        self._fill()

    def _refresh(self) -> None:
        if self._summaries is not None:
            self._summaries.refresh()
            self._fill()

    def _choose_otherwise(self) -> None:
        self._pages.rewind()
        self._fill()

    @property
    def _finding(self) -> str:
        return cut(self._chosen.get("finding"), 200)

    def _choose_finding(self, finding: str) -> None:
        self._chosen.choose(finding="" if finding == self._finding else cut(finding, 200))

    @property
    def _sort(self) -> Sort:
        return self._chosen.sort(SORTABLE, _FIRST)

    def _sorted(self, key: str) -> None:
        if key in SORTABLE:
            by, descending = self._sort
            descending = not descending if by == key else begins_descending(key)
            self._chosen.sort_by((key, descending), _FIRST)

    def _fill(self) -> None:
        if self._state.table or self._state.opening:
            return  # nobody sees it
        listed = () if self._summaries is None else self._summaries.places()
        self._list.html = self._render_list() if listed or self._is_searched() else NOTHING
        recent = [uri for uri in self._services.choices() if uri not in set(listed)]
        rows = [
            Row(cells=(Cell(text=cut_middle(uri, 110), title=uri),), action="choose", value=uri)
            for uri in recent
        ]
        table = render_table("Tables opened lately", _COLUMNS, self._links.tables(rows))
        self._recent.html = (
            html(
                '<section class="dx-start dx-recent"><h3>{}</h3>{}</section>',
                "Recent tables",
                table,
            )
            if rows
            else NOTHING
        )

    def _is_searched(self) -> bool:
        summaries = self._summaries
        return summaries is not None and (
            summaries.progress is not None or bool(summaries.problems())
        )

    def _render_list(self) -> Markup:
        assert self._summaries is not None  # asked for only where there is something to list
        every = self._summaries.list()
        text, finding = self._chosen.text, self._finding
        counted = count_findings(filter_summaries(every, text))
        shown = sort_summaries(filter_summaries(every, text, finding), self._sort)
        offset, limit = self._pages.span(len(shown))
        now = datetime.now(UTC)
        folder = shared_folder(every)
        columns = columns_below(folder, every)
        rows = [
            build_summary_row(one, now, folder, len(columns))
            for one in shown[offset : offset + limit]
        ]
        progress = self._summaries.progress
        waiting = NOTHING if progress is None else render_waiting(_in_words(progress))
        problems = join(render_problem(problem) for problem in self._summaries.problems())
        is_filtered = text or finding
        table = render_table(
            "Tables", columns, self._links.tables(rows), sort=self._sort,
            empty="No table fits the filter." if is_filtered else "No table was found.",
        )  # fmt: skip
        return html(
            '<h3>Tables</h3><p class="dx-muted">{}</p>{}'
            '<div class="dx-head"><input type="search" data-do="filter" data-as="catalog" '
            'value="{}" aria-label="Filter the tables" '
            'placeholder="Filter by name or place" autocomplete="off" spellcheck="false">'
            '<button type="button" data-do="refresh" data-value="">Refresh</button></div>'
            '{}{}<div class="dx-catalog">{}</div>{}',
            sum_up(every, folder),
            problems,
            text,
            render_findings(counted, finding),
            waiting,
            table,
            self._pages.render(len(shown)),
        )


def _in_words(progress: Progress) -> str:
    of = "" if progress.total is None else f" of {format_count(progress.total)}"
    return f"{progress.label}: {format_count(progress.done)}{of}"


MOST_CHOICES = 200
"""Tables of the list in the navigation; the page of all tables has every one."""

_ANOTHER = html(
    '<label class="dx-beside">Open another table<input type="text" data-do="open" '
    'data-when="enter" data-clears data-as="beside" placeholder="Path or URL, then Enter" '
    'autocomplete="off" spellcheck="false"></label>'
)
_FIELD = html("""
<section class="dx-start"><h2>Open a Delta table</h2>
<p class="dx-muted">Paste the path of the folder that holds <code>_delta_log</code>, or a URL
such as <code>s3://bucket/orders</code>. Nothing in the table is changed.</p>
<div class="dx-head"><input type="text" data-do="open" data-when="enter"
aria-label="Path or URL of a table" placeholder="Path or URL, then Enter"
autocomplete="off" spellcheck="false"></div></section>
""")


def _distinct(labels: dict[str, str]) -> dict[str, str]:
    """Labels that differ: two tables called `orders` are told apart by their place."""
    alike: dict[str, list[str]] = {}
    for uri, label in labels.items():
        alike.setdefault(label, []).append(uri)
    told: dict[str, str] = {}
    for label, uris in alike.items():
        marks = [""] if len(uris) == 1 else _marks(uris)
        told |= {uri: f"{label}{mark}" for uri, mark in zip(uris, marks, strict=True)}
    return {uri: told[uri] for uri in labels}


def _marks(uris: Sequence[str]) -> list[str]:
    """What tells places of one name apart, behind the name, where narrow lists show it: the
    nearest folder that differs in all of them, else all folders."""
    parts = [uri.rstrip("/").split("/")[:-1][::-1] for uri in uris]
    for folders in zip_longest(*parts, fillvalue=""):
        if len({*folders}) == len(uris):
            return [f" ({cut_middle(folder, 30) or '/'})" for folder in folders]
    return [f" ({cut_middle(uri.rstrip('/').rpartition('/')[0], 60)})" for uri in uris]
