"""Rows of a version that meet a condition, and when such rows were changed."""

from __future__ import annotations

from explorer.errors import Problem
from explorer.inspect import RowHistory
from explorer.progress import Progress
from widgets.markup import NOTHING, Markup, html
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
    build_unread_row,
    build_version_row,
    plain_text,
    render_rows,
)
from widgets.session.asking import Question
from widgets.session.desk import Desk
from widgets.session.tables import TableService
from widgets.state import LONGEST_TEXT, PageState, parse_version
from widgets.text import format_count, visible
from widgets.ui.boxes import build_card, build_filled_card, build_stack
from widgets.ui.exporting import Export, Exports
from widgets.ui.exports import EXPORT_BUTTONS, build_frame
from widgets.ui.live_html import LiveHtml
from widgets.ui.paging import Pages
from widgets.ui.pieces import (
    render_asked_problem,
    render_problem,
    render_problems,
    render_section,
)
from widgets.ui.progress import render_progress
from widgets.ui.records import read_records
from widgets.ui.table import render_table
from widgets.ui.ways import command_line, python_line, render_ways, sql_name

LISTED = 200
"""Versions and unread files that are listed; the command line gives any number."""


class RowsView:
    """A look at the rows at once; their history when it is asked for."""

    def __init__(self, desk: Desk, state: PageState) -> None:
        self._state = state
        self._service: TableService | None = None
        self._asked: tuple[int, str] | None = None
        self._found: Rows | None = None
        self._history: RowHistory | None = None
        self._changes: Rows | None = None
        self._question, self._search = Question(desk.runner), Question(desk.runner)
        self._input, self._answer = LiveHtml(margin=0), LiveHtml(margin=0)
        self._past, self._change_html = LiveHtml(margin=0), LiveHtml(margin=0)
        self._pages = Pages(self._answer, "rows", self._draw)
        self._change_pages = Pages(self._change_html, "changes", self._draw_changes)
        self.panel = build_stack(
            build_card(self._input, self._answer), build_filled_card(self._past),
            build_filled_card(self._change_html),
        )  # fmt: skip
        self._input.on("where", self._type)
        self._answer.on("cancel", lambda _: self._stop())
        self._answer.on("again", lambda _: self._read())
        self._exports = Exports(desk, state, self._answer, self._chosen)
        self._past.on("search", lambda _: self._find())
        self._past.on("cancel", lambda _: self._offer())
        self._past.on("version", self._select)
        state.param.watch(lambda *_: self._refresh(), ["version", "where", "view"])

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._service, self._asked, self._history = service, None, None
        self._refresh()

    def _refresh(self) -> None:
        version, where = self._state.version, self._state.where
        if self._service is None or version is None or self._state.view != "rows":
            return
        if self._asked == (version, where):
            return
        is_other = self._asked is None or self._asked[1] != where
        self._asked = (version, where)
        self._input.html = _render_input(version, where)
        self._read()
        if is_other:
            self._offer()
        else:
            self._draw_history()

    def _type(self, where: str) -> None:
        if len(where) <= LONGEST_TEXT:
            self._state.where = where.strip()

    def _read(self) -> None:
        service = self._service
        if service is None or self._asked is None:
            return
        version, where = self._asked
        self._found = None
        self._pages.rewind()

        def report(progress: Progress) -> None:
            self._answer.html = render_progress(progress)

        report(Progress(done=0, total=None, label="Reading rows"))
        self._question.ask(
            lambda watch: read_preview(service, version, where, watch),
            self._tell, self._fail, report,
        )  # fmt: skip

    def _stop(self) -> None:
        self._question.drop()
        self._answer.html = html(
            '<p class="dx-muted">Stopped before the rows were read.</p><div class="dx-buttons">'
            '<button type="button" class="dx-outlined" data-do="again" data-value="">Read the rows'
            "</button></div>"
        )

    def _fail(self, problem: Problem) -> None:
        self._answer.html = render_asked_problem(problem)

    def _tell(self, found: Rows) -> None:
        self._found = found
        self._draw()

    def _draw(self) -> None:
        found, service = self._found, self._service
        if found is None or service is None or self._asked is None:
            return
        version, where = self._asked
        total = len(found.rows)
        offset, limit = self._pages.span(total)
        table = render_rows("Rows", found.names, found.rows[offset : offset + limit])
        condition = f" WHERE {where}" if where else ""
        arguments = ["--version", str(version), *(["--where", where] if where else [])]
        ways = {
            "a command": command_line("preview", service.uri, arguments),
            "Python": python_line(
                service.uri,
                f"snapshot = table.snapshot(version={version})\n"
                f"explorer.preview(snapshot, where={where or None!r}).rows",
            ),
            "Spark SQL": f"SELECT * FROM {sql_name(service.uri)} VERSION AS OF {version}"
            + condition,
        }
        lead = visible(_sentence(found, version, where))
        self._answer.html = html(
            '<div class="dx-head"><p class="dx-lead">{}</p>'
            '<span class="dx-hint"></span>{}'
            "</div>{}{}{}"
            "{}",
            lead,
            EXPORT_BUTTONS,
            render_problems(found.problems),
            table,
            self._pages.render(total),
            render_ways("rows", ways),
        )

    def _chosen(self) -> Export | None:
        found = self._found
        if found is None or self._asked is None:
            return None
        rows = [
            [
                value if value is None or isinstance(value, int | float) else plain_text(value)
                for value in row.values()
            ]
            for row in found.rows
        ]
        return Export.of(f"rows-{self._asked[0]}", build_frame(found.names, rows))

    def _offer(self) -> None:
        self._search.drop()
        self._history, self._changes, self._change_html.html = None, None, NOTHING
        if not self._state.where:
            self._past.html = html(
                '{}<p class="dx-muted">Give a condition above to search all versions for '
                "the commits that wrote, changed or deleted such rows.</p>",
                _PAST,
            )
            return
        self._past.html = html(
            '{}<p class="dx-muted">All versions are searched; only files that may hold such '
            'a row are read, a thousand at most.</p><div class="dx-buttons"><button type="button" '
            'class="dx-outlined" data-do="search" data-value="">Search all versions</button></div>',
            _PAST,
        )

    def _find(self) -> None:
        service, where = self._service, self._state.where
        if service is None or not where:
            return

        def report(progress: Progress) -> None:
            self._past.html = _PAST + render_progress(progress)

        def failed(problem: Problem) -> None:
            self._past.html = _PAST + render_problem(problem)

        report(Progress(done=0, total=None, label="Searching all versions"))
        self._search.ask(
            lambda watch: search_rows(service, where, watch), self._tell_history, failed, report
        )

    def _tell_history(self, history: RowHistory) -> None:
        self._history = history
        shown = history.rows.slice(0, CHANGES_SHOWN)
        first = [name for name in _CHANGE if name in shown.column_names]
        rest = [name for name in shown.column_names if name not in first]
        self._changes = plain_rows(shown.select([*first, *rest]))
        self._change_pages.rewind()
        self._draw_history()
        self._draw_changes()

    def _draw_history(self) -> None:
        history, service = self._history, self._service
        if history is None or service is None:
            return
        rows = [
            build_version_row(row, self._state.version)
            for row in read_records(history.versions.slice(0, LISTED))
        ]
        table = render_table(
            "Versions that changed such rows", VERSION_COLUMNS, rows,
            empty="No version that was searched changed such a row.",
        )  # fmt: skip
        unread = ""
        if history.unread.num_rows:
            listed = read_records(history.unread.slice(0, LISTED))
            unread = render_section(
                f"Not searched: {history.unread.num_rows:,}",
                render_table(
                    "Files that could not be read", UNREAD_COLUMNS,
                    [build_unread_row(row) for row in listed],
                ),
            )  # fmt: skip
        ways = {
            "a command": command_line("rows", service.uri, [history.where]),
            "Python": python_line(
                service.uri,
                f"import explorer.inspect as look\nlook.search_rows(table, {history.where!r})",
            ),
        }
        self._past.html = html(
            '{}<p class="dx-lead">{}</p>{}{}{}',
            _PAST,
            visible(history.sentence),
            table,
            unread,
            render_ways("history", ways),
        )

    def _draw_changes(self) -> None:
        changes, history = self._changes, self._history
        if changes is None or history is None or not changes.rows:
            return
        total = len(changes.rows)
        offset, limit = self._change_pages.span(total)
        table = render_rows("Changed rows", changes.names, changes.rows[offset : offset + limit])
        more = history.rows.num_rows - total
        note = (
            html('<p class="dx-muted">{:,} more changes are not listed.</p>', more)
            if more
            else NOTHING
        )
        self._change_html.html = html(
            "<h3>The changed rows</h3>{}{}{}", table, self._change_pages.render(total), note
        )

    def _select(self, version: str) -> None:
        chosen = parse_version(version)
        if chosen is not None and chosen <= (self._state.latest or 0):
            self._state.version = chosen


_CHANGE = ("_change_type", "_commit_version", "_commit_timestamp")
"""What a change says of itself, before the row."""

_PAST = html("<h3>When were such rows written, changed or deleted?</h3>")


def _sentence(found: Rows, version: int, where: str) -> str:
    count = len(found.rows)
    rows = f"{format_count(count)} {'row' if count == 1 else 'rows'}"
    at = f"of version {format_count(version)}"
    if found.is_cut:
        return f"The first {format_count(PREVIEW_ROWS)} rows {at}{' that match' if where else ''}."
    if where:
        return f"{rows} {at} {'matches' if count == 1 else 'match'}."
    return f"All {rows} {at}."


def _render_input(version: int, where: str) -> Markup:
    return html(
        '<div class="dx-head"><h3>Rows of version {}</h3>'
        '<input type="search" class="dx-code" data-do="where" data-when="enter" '
        'value="{}" aria-label="Condition on rows" '
        'placeholder="order_id = 4711, then Enter"></div>',
        format_count(version),
        where,
    )
