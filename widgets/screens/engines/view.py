"""Who can read and write the table: one sentence, every engine, and what each verdict rests on."""

from __future__ import annotations

from functools import partial
from typing import Any

from widgets.choices import Choices
from widgets.markup import NOTHING, Markup, html
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
from widgets.session.page_services import PageServices
from widgets.state import PageState
from widgets.text import format_count
from widgets.ui.boxes import build_card, build_split, close_side, open_side
from widgets.ui.copy_as import render_copy_as, view_commands
from widgets.ui.exporting import Export
from widgets.ui.exports import build_frame
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_detail_head, render_problem_below
from widgets.ui.place_links import LINKED, PlaceLinks
from widgets.ui.plan_navigation import open_plan_form
from widgets.ui.table import render_above_list, render_table
from widgets.ui.view import AtVersion, Pane, Request, View, Words, at_version

PAGE = 50
"""All engines that are known stand on one page; there is no reason to turn one."""


class EnginesView:
    """Verdicts follow the selected version; a refused table answers too."""

    def __init__(self, services: PageServices, state: PageState) -> None:
        self._links = PlaceLinks(state, has_address=services.runner.is_background)
        self._chosen = Choices(state, "engines", self._choose)
        self._table = Pane(self._render_table, noun="engines", limit=PAGE)
        self._head = Pane(self._render_head, export=self._export)
        detail = Pane(self._render_detail)
        self._view = View(services, state, "engines", _ENGINES, self._table, self._head, detail)
        self.show = self._view.show
        side = build_card(detail.live, place="dx-beside")
        self.panel = build_split(
            build_card(self._view.top, self._head.live, self._table.live), side
        )
        close_side(self.panel, side)
        detail.live.param.watch(
            lambda event: (open_side if event.new else close_side)(self.panel, side), "html"
        )
        self._head.live.on("verb", self._choose_verb)
        self._head.live.on("verdict", self._choose_verdict)
        self._head.live.on("filter", self._chosen.look_for)
        self._table.live.on("engine", self._open)
        detail.live.on("plan-request", partial(open_plan_form, state))
        detail.live.on("close", lambda _: self._open(""))

    @property
    def _verb(self) -> Verb:
        return "write" if self._chosen.get("verb") == "write" else "read"

    @property
    def _verdict(self) -> str:
        return self._chosen.get("verdict", VERDICTS)

    @property
    def _engine(self) -> str:
        return self._chosen.get("engine")

    def _choose(self, names: frozenset[str]) -> None:
        """Other engines are shown, or another one beside them."""
        if names - {"engine"}:
            self._table.rewind()
        self._view.refresh()

    def _choose_verb(self, verb: str) -> None:
        if verb in {"read", "write"}:
            self._chosen.choose(verb="" if verb == "read" else verb)

    def _choose_verdict(self, verdict: str) -> None:
        if verdict in VERDICTS or not verdict:
            self._chosen.choose(verdict=verdict)

    def _open(self, engine: str) -> None:
        answer = self._view.answer
        if not engine or (answer is not None and answer.releases(engine)):
            self._chosen.choose(engine=engine)

    def _place_of(self, engine: str) -> dict[str, str]:
        return {"engines": self._chosen.address(engine=engine)}

    def _found(self, answer: EngineAnswer) -> list[dict[str, Any]]:
        text = self._chosen.text
        return [
            row
            for row in answer.newest
            if (not self._verdict or row[f"can_{self._verb}"] == self._verdict)
            and (not text or matches(row, text))
        ]

    def _render_head(self, _: AtVersion, answer: EngineAnswer, __: Pages) -> Markup:
        return render_engines_head(answer, self._verb, self._verdict, self._chosen.text)

    def _render_table(self, asked: AtVersion, answer: EngineAnswer, pages: Pages) -> Markup:
        found = self._found(answer)
        offset, limit = pages.span(len(found))
        rows = [
            build_engine_row(
                row,
                self._verb,
                self._engine,
                answer.commits_of(row["engine"]),
                answer.last_version_of(row["engine"]),
            )
            for row in found[offset : offset + limit]
        ]
        return html(
            '{}<div class="dx-engines">{}</div>',
            render_above_list(
                render_copy_as(
                    "engines", view_commands("engines", asked.service.uri, asked.version)
                ),
                pages.render(len(found)),
            ),
            render_table(
                "Engines",
                COLUMNS,
                self._links.rows(rows, self._place_of),
                empty="No engine matches.",
            ),
        )

    def _render_detail(self, _: AtVersion, answer: EngineAnswer, __: Pages) -> Markup:
        releases = answer.releases(self._engine)
        if not releases:
            return NOTHING
        head = render_detail_head(self._engine, html("<h4>Based on</h4>"))
        return head + render_engine(releases)

    def _export(self, _: AtVersion, answer: EngineAnswer) -> Export:
        rows = [build_export_row(row) for row in self._found(answer)]
        return Export.of("engines", build_frame(EXPORTED, rows))


_ENGINES: Request[AtVersion, EngineAnswer] = Request(
    question=at_version,
    follows=LINKED,
    read=lambda asked, _, __: read_engines(asked.service, asked.version),
    words=Words(
        label="Asking what each engine is known to do",
        stopped="Stopped before every engine was asked about.",
        again="Ask about every engine",
    ),
    top=lambda asked: html("<h3>Engines and version {}</h3>", format_count(asked.version)),
    failed=render_problem_below,
)
