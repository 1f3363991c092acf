"""Rows of two versions: what statistics say at once, exact counts and rows on demand."""

from __future__ import annotations

from explorer.errors import Problem
from explorer.progress import Progress
from widgets.markup import NOTHING, Markup, html
from widgets.screens.rows.ask_spark import ExactRows, count_rows_exactly
from widgets.screens.rows.spark_parts import render_exact_rows
from widgets.session.asking import Question
from widgets.session.desk import Desk
from widgets.session.tables import TableService
from widgets.ui.boxes import build_filled_card
from widgets.ui.live_html import LiveHtml
from widgets.ui.pieces import render_problem
from widgets.ui.progress import render_progress
from widgets.ui.ways import python_line, render_ways


class RowPart:
    """A card of the comparison, empty until its estimate is known."""

    def __init__(self, desk: Desk) -> None:
        self._question = Question(desk.runner)
        self._asked: tuple[TableService, int, int] | None = None
        self._estimate = NOTHING
        self._html = LiveHtml(margin=0)
        self.panel = build_filled_card(self._html)
        self._html.on("exact", lambda _: self._ask())
        self._html.on("cancel", lambda _: self._offer())

    def clear(self) -> None:
        """Other versions are compared."""
        self._question.drop()
        self._asked, self._html.html = None, NOTHING

    def show(self, service: TableService, older: int, newer: int, estimate: Markup) -> None:
        """The rows by statistics."""
        self._asked, self._estimate = (service, older, newer), estimate
        self._offer()

    def _offer(self) -> None:
        self._question.drop()
        self._html.html = html("<h3>Rows</h3>{}{}", self._estimate, _OFFER)

    def _ask(self) -> None:
        if self._asked is None:
            return
        service, older, newer = self._asked

        def report(progress: Progress) -> None:
            self._html.html = html("<h3>Rows</h3>{}{}", self._estimate, render_progress(progress))

        report(Progress(done=0, total=None, label="Starting Spark"))
        self._question.ask(
            lambda watch: count_rows_exactly(service, older, newer, watch),
            self._draw, self._fail, report,
        )  # fmt: skip

    def _fail(self, problem: Problem) -> None:
        self._html.html = html(
            "<h3>Rows</h3>{}{}{}", self._estimate, render_problem(problem), _OFFER
        )

    def _draw(self, found: ExactRows) -> None:
        if self._asked is None:
            return
        service, older, newer = self._asked
        ways = {
            "Python": python_line(
                service.uri,
                "from explorer import pipeline\n"
                f"found = pipeline.diff_rows(table.snapshot(version={older}), "
                f"table.snapshot(version={newer}))\nfound.inserted, found.deleted, found.updated",
            ),
        }
        self._html.html = html(
            "<h3>Rows</h3>{}<h4>By statistics</h4>{}{}",
            render_exact_rows(found),
            self._estimate,
            render_ways("exact-rows", ways),
        )


_OFFER = html(
    '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="exact" '
    'data-value="">Count the rows that differ, and show some</button></div>'
    '<p class="dx-muted">Files that only one version has are read, on Spark in this machine.</p>'
)
