"""The change data feed: how much each version changed, then the rows."""

from __future__ import annotations

from explorer.errors import Problem
from explorer.inspect import ChangeTotals
from explorer.progress import Progress
from widgets.markup import NOTHING, Markup, html
from widgets.screens.feed._ask import NEW_VERSIONS, count_changes, read_changed_rows
from widgets.screens.feed._parts import TOTAL_COLUMNS, build_total_row
from widgets.screens.rows.ask import PREVIEW_ROWS, Rows
from widgets.screens.rows.parts import render_rows
from widgets.session.asking import Question
from widgets.session.desk import Desk
from widgets.session.tables import TableService
from widgets.state import PageState, parse_version
from widgets.text import cut, format_count, visible
from widgets.ui.boxes import build_card, build_filled_card, build_stack
from widgets.ui.exporting import Export, Exports
from widgets.ui.exports import EXPORT_BUTTONS, build_frame
from widgets.ui.live_html import LiveHtml
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_problem, render_problems
from widgets.ui.progress import render_progress
from widgets.ui.records import read_records
from widgets.ui.table import render_table
from widgets.ui.ways import command_line, python_line, render_ways


class FeedView:
    """From the version to compare with to the selected one, both inclusive."""

    def __init__(self, desk: Desk, state: PageState) -> None:
        self._state = state
        self._service: TableService | None = None
        self._asked: tuple[TableService, int, int] | None = None
        self._totals: ChangeTotals | None = None
        self._found: Rows | None = None
        self._question, self._row_question = Question(desk.runner), Question(desk.runner)
        self._input, self._answer = LiveHtml(margin=0), LiveHtml(margin=0)
        self._rows = LiveHtml(margin=0)
        self._pages = Pages(self._answer, "versions", self._draw)
        self._row_pages = Pages(self._rows, "rows", self._draw_rows)
        self.panel = build_stack(
            build_card(self._input, self._answer), build_filled_card(self._rows)
        )
        for name in ("older", "version"):
            self._input.on(name, lambda text, name=name: self._pick(name, text))  # type: ignore[misc]
        self._answer.on("one", self._choose)
        self._answer.on("cancel", lambda _: self._stop())
        self._answer.on("again", lambda _: self._count())
        self._answer.on("reach", lambda _: self._explain())
        self._rows.on("rows", lambda _: self._read_rows())
        self._rows.on("cancel", lambda _: self._offer_rows())
        self._exports = Exports(desk, state, self._answer, self._chosen)
        self._row_exports = Exports(desk, state, self._rows, self._chosen_rows)
        state.param.watch(lambda *_: self._refresh(), ["version", "older", "view"])

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._service, self._asked = service, None
        self._refresh()

    def _refresh(self) -> None:
        service, last = self._service, self._state.version
        if service is None or last is None or self._state.view != "feed":
            return
        older = self._state.older
        first = max(last - NEW_VERSIONS + 1, 0) if older is None else older
        if self._asked == (service, first, last):
            return
        self._asked = (service, first, last)
        self._input.html = _render_input(first, last)
        self._rows.html = NOTHING
        self._count()

    def _pick(self, name: str, text: str) -> None:
        version = parse_version(text)
        if version is not None and version <= (self._state.latest or 0):
            first = self._state.older if self._asked is None else self._asked[1]
            self._state.param.update(**{"older": first, name: version})
        elif self._asked is not None:
            wrong = f"{cut(text, 40)!r} is no version of this table."
            self._input.html = _render_input(*self._asked[1:], wrong)

    def _count(self) -> None:
        if self._asked is None:
            return
        service, first, last = self._asked

        def report(progress: Progress) -> None:
            self._answer.html = render_progress(progress)

        self._totals = self._found = None
        self._row_question.drop()
        self._pages.rewind()
        report(Progress(done=0, total=None, label="Counting changes"))
        self._question.ask(
            lambda watch: count_changes(service, first, last, watch),
            self._tell, self._fail, report,
        )  # fmt: skip

    def _stop(self) -> None:
        self._question.drop()
        self._answer.html = html(
            '<p class="dx-muted">Stopped before every version was counted.</p>'
            '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="again" '
            'data-value="">Count the changes</button></div>'
        )

    def _fail(self, problem: Problem) -> None:
        button = html(
            '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="reach" '
            'data-value="">How far the change feed reaches</button></div>'
        )
        can_explain = problem.kind == "change_feed_unavailable"
        self._answer.html = render_problem(problem) + (button if can_explain else NOTHING)

    def _explain(self) -> None:
        self._state.view = "reach"

    def _tell(self, totals: ChangeTotals) -> None:
        self._totals = totals
        self._draw()
        if not totals.versions.num_rows:
            return
        if totals.first == totals.last:
            self._read_rows()
        else:
            self._offer_rows()

    def _draw(self) -> None:
        totals, service = self._totals, self._service
        if totals is None or service is None:
            return
        total = totals.versions.num_rows
        offset, limit = self._pages.span(total)
        rows = [build_total_row(row) for row in read_records(totals.versions.slice(offset, limit))]
        span = [str(totals.first), str(totals.last)]
        table = render_table("Changes by version", TOTAL_COLUMNS, rows) if rows else NOTHING
        ways = {
            "a command": command_line("changes", service.uri, [*span, "--count"]),
            "Python": python_line(
                service.uri,
                "import explorer.inspect as look\n"
                f"look.change_totals(table, {', '.join(span)}).versions",
            ),
        }
        self._answer.html = html(
            '<div class="dx-head"><p class="dx-lead">{}</p>'
            '<span class="dx-hint">{}</span>'
            "{}</div>"
            "{}"
            "{}{}{}",
            visible(totals.sentence),
            "click a version for its rows" if rows else "",
            EXPORT_BUTTONS if rows else NOTHING,
            render_problems(totals.problems),
            table,
            self._pages.render(total),
            render_ways("feed", ways),
        )

    def _choose(self, version: str) -> None:
        chosen = parse_version(version)
        if chosen is not None and chosen <= (self._state.latest or 0):
            self._state.param.update(older=chosen, version=chosen)

    def _offer_rows(self) -> None:
        self._row_question.drop()
        self._rows.html = html(
            '{}<div class="dx-buttons"><button type="button" class="dx-outlined" '
            'data-do="rows" data-value="">Show the first {} changed '
            "rows</button></div>",
            _ROWS,
            format_count(PREVIEW_ROWS),
        )

    def _read_rows(self) -> None:
        if self._asked is None:
            return
        service, first, last = self._asked

        def report(progress: Progress) -> None:
            self._rows.html = _ROWS + render_progress(progress)

        def failed(problem: Problem) -> None:
            self._rows.html = _ROWS + render_problem(problem)

        self._row_pages.rewind()
        report(Progress(done=0, total=None, label="Reading changes"))
        self._row_question.ask(
            lambda watch: read_changed_rows(service, first, last, watch),
            self._tell_rows, failed, report,
        )  # fmt: skip

    def _tell_rows(self, found: Rows) -> None:
        self._found = found
        self._draw_rows()

    def _draw_rows(self) -> None:
        found, asked = self._found, self._asked
        if found is None or asked is None:
            return
        total = len(found.rows)
        offset, limit = self._row_pages.span(total)
        table = render_rows("Changed rows", found.names, found.rows[offset : offset + limit])
        service, first, last = asked
        ways = {
            "a command": command_line("changes", service.uri, [str(first), str(last)]),
            "Python": python_line(service.uri, f"explorer.read_changes(table, {first}, {last})"),
        }
        more = (
            html(
                '<p class="dx-muted">These are the first {}; there are more.</p>',
                format_count(total),
            )
            if found.is_cut
            else NOTHING
        )
        self._rows.html = html(
            '<div class="dx-head"><h3>The changed rows</h3><span class="dx-hint"></span>'
            "{}</div>{}{}{}{}"
            "{}",
            EXPORT_BUTTONS,
            render_problems(found.problems),
            table,
            self._row_pages.render(total),
            more,
            render_ways("changed-rows", ways),
        )

    def _chosen(self) -> Export | None:
        totals = self._totals
        if totals is None:
            return None
        return Export.of(f"changes-{totals.first}-to-{totals.last}", totals.versions)

    def _chosen_rows(self) -> Export | None:
        found, asked = self._found, self._asked
        if found is None or asked is None:
            return None
        frame = build_frame(found.names, [list(row.values()) for row in found.rows])
        return Export.of(f"changed-rows-{asked[1]}-to-{asked[2]}", frame)


_ROWS = html("<h3>The changed rows</h3>")


def _render_input(first: int, last: int, wrong: str = "") -> Markup:
    note = html('<div class="dx-wrong" role="alert">{}</div>', wrong) if wrong else NOTHING
    return html(
        '<div class="dx-head"><h3>Change feed</h3>'
        '<label class="dx-picker">from version <input type="text" inputmode="numeric" '
        'data-do="older" data-when="enter" value="{}" aria-label="From version"></label>'
        '<label class="dx-picker">to version <input type="text" inputmode="numeric" '
        'data-do="version" data-when="enter" value="{}" aria-label="To version"></label>'
        '<span class="dx-hint">both inclusive; press Enter</span></div>{}',
        first,
        last,
        note,
    )
