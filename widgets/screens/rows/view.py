"""Rows of a version that meet a condition, and when such rows were changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from explorer.inspect import RowHistory
from explorer.progress import Watch
from explorer.protocol.schema_walk import render_path
from widgets.choices import Choices
from widgets.markup import NOTHING, Markup, html
from widgets.screens.rows._blame_view import BlameView
from widgets.screens.rows._columns import Columns, name_columns, read_columns, render_columns
from widgets.screens.rows.ask import (
    CHANGES_SHOWN,
    PREVIEW_ROWS,
    Rows,
    plain_rows,
    read_preview,
    search_rows,
)
from widgets.screens.rows.parts import (
    UNREAD_COLUMNS,
    VERSION_COLUMNS,
    Grid,
    build_unread_row,
    build_version_row,
    render_rows,
    rows_export,
)
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.state import LONGEST_TEXT, PageState, parse_version
from widgets.text import cut, format_count, visible
from widgets.ui.boxes import build_card, build_filled_card, build_stack
from widgets.ui.copy_as import command_line, python_line, render_copy_as, sql_name
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.paging import Pages
from widgets.ui.pieces import (
    example_condition,
    render_asked_problem,
    render_name_offers,
    render_problems,
    render_section,
)
from widgets.ui.place_links import LINKED, PlaceLinks
from widgets.ui.records import read_records
from widgets.ui.table import render_above_list, render_table
from widgets.ui.view import Offer, Pane, Request, View, Words

LISTED = 200
"""Versions and unread files that are listed; the command line gives any number."""


@dataclass(frozen=True, slots=True)
class _Condition:
    """A condition on the rows of a version; empty for all of them."""

    service: TableService
    version: int
    where: str


@dataclass(frozen=True, slots=True)
class _Search:
    """A condition on the rows of all versions; empty where none is typed."""

    service: TableService
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """The versions that changed such rows, and the first of those changes."""

    history: RowHistory
    changes: Rows


class RowsView:
    """A look at the rows at once; their history when it is asked for."""

    def __init__(self, services: PageServices, state: PageState) -> None:
        self._state = state
        self._links = PlaceLinks(state, has_address=services.runner.is_background)
        self._chosen = Choices(state, "rows", self._choose_otherwise)
        rows = Pane(
            self._render_preview,
            export=lambda asked, found: rows_export(f"rows-{asked.version}", found),
        )
        past = Pane(self._render_history, head=_PAST)
        changes = Pane(_render_changes, noun="changes")
        self._shown = rows
        self._names: tuple[str, ...] = ()
        request = replace(_ROWS, top=lambda asked: _render_input(asked, self._names))
        self._rows = View(services, state, "rows", request, rows)
        self._blame = BlameView(services, state)
        self._history = View(
            services, state, "rows", replace(_HISTORY, question=self._searched), past, changes,
            after=(self._rows,),
        )  # fmt: skip
        # who asks who deleted rows sees at once what tells it, and not below those that are left
        self.panel = build_stack(
            build_card(self._rows.top, past.live), build_filled_card(changes.live),
            build_card(rows.live), self._blame.card,
        )  # fmt: skip
        self._rows.top.on("where", self._type)
        self._rows.listen(self._follow)
        rows.live.on("sort", self._sort)
        rows.live.on("row", self._choose_row)
        rows.live.on("pin", lambda name: self._arrange(self._columns.pin(name)))
        rows.live.on("hide", lambda name: self._arrange(self._columns.toggle(name)))
        rows.live.on("columns", lambda text: self._arrange(self._columns.search(text)))
        rows.live.on("all", lambda _: self._arrange(self._columns.show_all()))
        past.live.on("version", self._open_commit)

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._names = ()
        self._rows.show(service)
        self._blame.show(service)
        self._history.show(service)

    def _searched(self, service: TableService, state: PageState) -> _Search | None:
        """What can be searched for: not a condition that has just been found to be none."""
        problem = self._rows.problem
        if problem is not None and problem.kind == "invalid_argument":
            return None
        return _Search(service, state.where)

    def _follow(self) -> None:
        """Other rows have come, or none: the columns that are gone cannot be arranged."""
        asked, found = self._rows.question, self._rows.answer
        self._blame.leave()
        if found is not None and found.names != self._names and asked is not None:
            self._names = found.names
            self._rows.top.html = _render_input(asked, self._names)

    @property
    def _columns(self) -> Columns:
        """How the columns are arranged, of those that are there."""
        found = self._rows.answer
        return read_columns(self._chosen).among(() if found is None else found.names)

    def _arrange(self, columns: Columns) -> None:
        found = self._rows.answer
        if found is not None:
            self._chosen.choose(**name_columns(columns.among(found.names)))

    def _sort(self, name: str) -> None:
        found = self._rows.answer
        if found is not None and name in found.names:
            self._arrange(self._columns.sort_by(name))

    def _choose_otherwise(self, names: frozenset[str]) -> None:
        """The same rows in another order, or other columns of them."""
        if names & {"by", "order"}:
            self._blame.leave()
            self._shown.rewind()
        self._rows.refresh()

    def _choose_row(self, number: str) -> None:
        asked, found, at = self._rows.question, self._rows.answer, parse_version(number)
        if asked is not None and found is not None and at is not None and at < len(found.rows):
            self._blame.choose(asked.service, asked.version, self._columns.sorted(found), at)
            self._rows.refresh()

    def _render_preview(self, asked: _Condition, found: Rows, pages: Pages) -> Markup:
        columns = read_columns(self._chosen).among(found.names)
        return _render_preview(asked, found, pages, columns, self._blame.row)

    def _type(self, where: str) -> None:
        if len(where) <= LONGEST_TEXT:
            self._state.where = where.strip()

    def _open_commit(self, version: str) -> None:
        chosen = self._state.find_version(version)
        if chosen is not None:
            self._state.param.update(version=chosen, view="timeline")

    def _render_history(self, asked: _Search, found: _Found, _: Pages) -> Markup:
        history = found.history
        shown = read_records(history.versions.slice(0, LISTED))
        rows = self._links.rows(
            [build_version_row(row, self._state.version) for row in shown],
            lambda version: {"version": int(version), "view": "timeline"},
        )
        unread = NOTHING
        if history.unread.num_rows:
            listed = read_records(history.unread.slice(0, LISTED))
            unread = render_section(
                f"Not searched: {history.unread.num_rows:,}",
                render_table(
                    "Files that could not be read", UNREAD_COLUMNS,
                    [build_unread_row(row) for row in listed],
                ),
            )  # fmt: skip
        uri = asked.service.uri
        commands = {
            "CLI": command_line("rows", uri, [history.where]),
            "Python": python_line(
                uri, f"import explorer.inspect as look\nlook.search_rows(table, {history.where!r})"
            ),
        }
        return html(
            '<p class="dx-lead">{}</p>{}{}{}',
            visible(history.sentence),
            render_table(
                "Versions that changed such rows", VERSION_COLUMNS, rows,
                empty="No version that was searched changed such a row.",
            ),
            unread,
            render_copy_as("history", commands),
        )  # fmt: skip


def _condition(service: TableService, state: PageState) -> _Condition | None:
    return None if state.version is None else _Condition(service, state.version, state.where)


def _render_preview(
    asked: _Condition, found: Rows, pages: Pages, columns: Columns, selected: int | None
) -> Markup:
    version, where, total = asked.version, asked.where, len(found.rows)
    offset, limit = pages.span(total)
    ordered = columns.sorted(found)
    grid = Grid(
        numbers=found.numbers,
        instants=found.instants,
        pinned=columns.num_pinned(found.names),
        sort=columns.sort,
        can_arrange=True,
        action="row",
        first=offset,
        selected=selected,
    )
    names = columns.shown(found.names)
    uri = asked.service.uri
    arguments = ["--version", str(version), *(["--where", where] if where else [])]
    commands = {
        "CLI": command_line("preview", uri, arguments),
        "Python": python_line(
            uri,
            f"snapshot = table.snapshot(version={version})\n"
            f"explorer.preview(snapshot, where={where or None!r}).rows",
        ),
        "Spark SQL": f"SELECT * FROM {sql_name(uri)} VERSION AS OF {version}"
        + (f" WHERE {where}" if where else ""),
    }
    return html(
        '<div class="dx-head"><p class="dx-lead">{}</p>'
        '<span class="dx-hint">{}</span>{}'
        "</div>{}{}{}{}",
        visible(_sentence(found, version, where, columns.sort)),
        "click a row to ask who set its values" if total else NOTHING,
        EXPORT_BUTTONS,
        render_problems(found.problems),
        render_columns(columns, found.names),
        # who set the values of a row is the next stop of the Tab key after the list
        render_above_list(render_copy_as("rows", commands), pages.render(total)),
        render_rows("Rows", names, ordered.rows[offset : offset + limit], grid),
    )


def _offer_search(asked: _Search) -> Markup:
    return _SEARCH_OFFER if asked.where else _NO_CONDITION


def _read_history(asked: _Search, watch: Watch, _: object) -> _Found:
    history = search_rows(asked.service, asked.where, watch)
    shown = history.rows.slice(0, CHANGES_SHOWN)
    first = [name for name in _CHANGE if name in shown.column_names]
    rest = [name for name in shown.column_names if name not in first]
    return _Found(history=history, changes=plain_rows(shown.select([*first, *rest])))


def _render_changes(_: _Search, found: _Found, pages: Pages) -> Markup:
    changes, total = found.changes, len(found.changes.rows)
    if not total:
        return NOTHING
    offset, limit = pages.span(total)
    more = found.history.rows.num_rows - total
    return html(
        "<h3>The changed rows</h3>{}{}{}",
        render_rows(
            "Changed rows",
            changes.names,
            changes.rows[offset : offset + limit],
            Grid(numbers=changes.numbers, instants=changes.instants),
        ),
        pages.render(total),
        html('<p class="dx-muted">{:,} more changes are not listed.</p>', more)
        if more
        else NOTHING,
    )


_CHANGE = ("_change_type", "_commit_version", "_commit_timestamp")
"""What a change says of itself, before the row."""

_PAST = html('<h3 class="dx-below">When were such rows written, changed or deleted?</h3>')


def _sentence(found: Rows, version: int, where: str, sort: tuple[str, bool] | None = None) -> str:
    text = _counted(found, version, where)
    if sort is not None and found.is_cut:
        text += (
            f" They alone are sorted by {cut(sort[0], 60)}: rows that are not read may come first."
        )
    return text


def _counted(found: Rows, version: int, where: str) -> str:
    count = len(found.rows)
    rows = f"{format_count(count)} {'row' if count == 1 else 'rows'}"
    at = f"of version {format_count(version)}"
    if found.is_cut:
        return f"The first {format_count(PREVIEW_ROWS)} rows {at}{' that match' if where else ''}."
    if where:
        return f"{rows} {at} {'matches' if count == 1 else 'match'}."
    return f"All {rows} {at}."


def _render_input(asked: _Condition, names: Sequence[str]) -> Markup:
    return html(
        '<div class="dx-head"><h3>Rows of version {}</h3>'
        '<input type="search" class="dx-code" data-do="where" data-when="enter" '
        'value="{}" aria-label="Condition on rows"{} '
        'placeholder="{}"></div>',
        format_count(asked.version),
        asked.where,
        render_name_offers(written := [render_path((name,)) for name in names]),
        example_condition(written),
    )


_NO_CONDITION = html(
    '<p class="dx-muted">Give a condition above to search all versions for '
    "the commits that wrote, changed or deleted such rows.</p>"
)
_SEARCH_OFFER = html(
    '<p class="dx-muted">All versions are searched; only files that may hold such '
    'a row are read, a thousand at most.</p><div class="dx-buttons"><button type="button" '
    'class="dx-outlined" data-do="search" data-value="">Search all versions</button></div>'
)
_ROWS: Request[_Condition, Rows] = Request(
    question=_condition,
    read=lambda asked, watch, _: read_preview(asked.service, asked.version, asked.where, watch),
    words=Words(
        label="Reading rows",
        stopped="Stopped before the rows were read.",
        again="Read the rows",
    ),
    follows=("version", "where"),
    failed=render_asked_problem,
)
_HISTORY: Request[_Search, _Found] = Request(
    question=lambda service, state: _Search(service, state.where),
    read=_read_history,
    words=Words(
        label="Searching all versions",
        stopped="Stopped before all versions were searched.",
        again="Search all versions",
    ),
    follows=LINKED,
    offer=Offer(action="search", render=_offer_search),
)
