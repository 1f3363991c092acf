"""Who can read and write the table: one sentence, every engine, and what each verdict rests on."""

from __future__ import annotations

from functools import partial
from typing import Any

from explorer.errors import Problem
from widgets.markup import NOTHING, html
from widgets.screens.engines._parts import (
    COLUMNS,
    EXPORTED,
    VERDICTS,
    Verb,
    build_engine_row,
    build_export_row,
    matches,
    render_engine,
    render_engines_head,
)
from widgets.screens.engines.ask import EngineAnswer, read_engines
from widgets.session.desk import Desk
from widgets.session.tables import TableService
from widgets.state import PageState, parse_version
from widgets.text import format_count
from widgets.ui.boxes import build_card, build_split, close_side, open_side
from widgets.ui.exporting import Export, Exports
from widgets.ui.exports import build_frame
from widgets.ui.live_html import LiveHtml
from widgets.ui.pieces import render_detail_head, render_problem_below, render_waiting
from widgets.ui.table import render_pager, render_table
from widgets.ui.ways import render_ways, view_ways
from widgets.ui.wishing import follow_wish

PAGE = 50
"""All engines that are known stand on one page; there is no reason to turn one."""


class EnginesView:
    """Verdicts follow the selected version; a refused table answers too."""

    def __init__(self, desk: Desk, state: PageState) -> None:
        self._desk = desk
        self._state = state
        self._service: TableService | None = None
        self._shown: int | None = None
        self._answer: EngineAnswer | None = None
        self._verb: Verb = "read"
        self._verdict = ""
        self._filter = ""
        self._offset = 0
        self._engine: str | None = None
        self._title = LiveHtml(margin=0)
        self._head = LiveHtml(margin=0)
        self._table = LiveHtml(margin=0)
        self._detail = LiveHtml(margin=0)
        self._side = build_card(self._detail)
        self.panel = build_split(build_card(self._title, self._head, self._table), self._side)
        close_side(self.panel, self._side)
        self._listen()

    def _listen(self) -> None:
        self._head.on("verb", self._choose_verb)
        self._head.on("verdict", self._choose_verdict)
        self._head.on("filter", self._set_filter)
        self._exports = Exports(self._desk, self._state, self._head, self._chosen)
        self._table.on("engine", self._open)
        self._table.on("page", self._turn)
        self._detail.on("wish", partial(follow_wish, self._state))
        self._detail.on("close", lambda _: self._close())
        self._state.param.watch(lambda *_: self._refresh(), ["version", "view"])

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._service, self._shown = service, None
        self._refresh()

    def _refresh(self) -> None:
        service, version = self._service, self._state.version
        if service is None or version is None or self._state.view != "engines":
            return
        if self._shown == version:
            return
        self._shown = version
        self._title.html = html("<h3>Engines and version {}</h3>", format_count(version))
        self._head.html = NOTHING
        self._table.html = render_waiting("Asking what each engine is known to do")

        def done(answer: EngineAnswer) -> None:
            if service is self._service and version == self._shown:
                self._answer = answer
                self._draw_head()
                self._draw()
                self._draw_detail()

        def failed(problem: Problem) -> None:
            if service is self._service and version == self._shown:
                self._answer = None
                self._table.html = render_problem_below(problem)

        self._desk.runner.run(lambda: read_engines(service, version), done, failed)

    def _choose_verb(self, verb: str) -> None:
        if verb in {"read", "write"}:
            self._verb, self._offset = ("read" if verb == "read" else "write"), 0
            self._draw_head()
            self._draw()

    def _choose_verdict(self, verdict: str) -> None:
        if verdict in VERDICTS or not verdict:
            self._verdict, self._offset = verdict, 0
            self._draw_head()
            self._draw()

    def _set_filter(self, text: str) -> None:
        self._filter, self._offset = text.strip(), 0
        self._draw()

    def _turn(self, offset: str) -> None:
        at = parse_version(offset)
        if at is not None:
            self._offset = at
            self._draw()

    def _found(self, answer: EngineAnswer) -> list[dict[str, Any]]:
        return [
            row
            for row in answer.newest
            if (not self._verdict or row[f"can_{self._verb}"] == self._verdict)
            and (not self._filter or matches(row, self._filter))
        ]

    def _draw_head(self) -> None:
        if self._answer is not None:
            self._head.html = render_engines_head(
                self._answer.newest, self._verb, self._verdict, self._answer.sentence
            )

    def _draw(self) -> None:
        if self._answer is None:
            return
        found = self._found(self._answer)
        self._offset = min(self._offset, max(0, len(found) - 1) // PAGE * PAGE)
        page = found[self._offset : self._offset + PAGE]
        rows = [build_engine_row(row, self._verb, self._engine) for row in page]
        table = render_table("Engines", COLUMNS, rows, empty="No engine matches.")
        pager = render_pager("engines", self._offset, len(found), PAGE)
        ways = view_ways("engines", self._state.table, self._shown or 0)
        self._table.html = html(
            '<div class="dx-engines">{}</div>{}{}', table, pager, render_ways("engines", ways)
        )

    def _open(self, engine: str) -> None:
        self._engine = engine
        self._draw()
        self._draw_detail()

    def _draw_detail(self) -> None:
        if self._answer is None or self._engine is None:
            return
        releases = self._answer.releases(self._engine)
        if not releases:
            self._close()
            return
        open_side(self.panel, self._side)
        head = render_detail_head(self._engine, html("<h4>What it rests on</h4>"))
        self._detail.html = head + render_engine(releases)

    def _close(self) -> None:
        self._engine = None
        close_side(self.panel, self._side)
        self._draw()

    def _chosen(self) -> Export | None:
        if self._answer is None:
            return None
        rows = [build_export_row(row) for row in self._found(self._answer)]
        return Export.of("engines", build_frame(EXPORTED, rows))
