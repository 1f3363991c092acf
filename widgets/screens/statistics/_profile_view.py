"""The exact figures of the selected column beside what statistics say, on demand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from explorer.errors import Problem
from explorer.progress import Progress
from widgets.markup import NOTHING, html
from widgets.screens.rows.ask_spark import ExactColumn, profile_column
from widgets.screens.rows.spark_parts import profile_figures, render_profile
from widgets.session.asking import Question
from widgets.session.desk import Desk
from widgets.session.tables import TableService
from widgets.ui.boxes import build_filled_card
from widgets.ui.live_html import LiveHtml
from widgets.ui.pieces import render_problem, render_problems
from widgets.ui.progress import render_progress
from widgets.ui.ways import python_line, render_ways


class ProfilePart:
    """A card below the ranges of a column."""

    def __init__(self, desk: Desk) -> None:
        self._question = Question(desk.runner)
        self._asked: tuple[TableService, int, str] | None = None
        self._estimate: Mapping[str, Any] = {}
        self._html = LiveHtml(margin=0)
        self.panel = build_filled_card(self._html)
        self._html.on("profile", lambda _: self._ask())
        self._html.on("cancel", lambda _: self._offer())

    def clear(self) -> None:
        """No column is selected."""
        self._question.drop()
        self._asked, self._html.html = None, NOTHING

    def show(
        self, service: TableService, version: int, column: str, estimate: Mapping[str, Any]
    ) -> None:
        """A column is selected; `estimate` is its row of `column_statistics`."""
        if self._asked != (service, version, column):
            self._asked, self._estimate = (service, version, column), estimate
            self._offer()

    def _offer(self) -> None:
        self._question.drop()
        self._html.html = html(
            '{}<p class="dx-muted">Statistics may be cut, missing, or count deleted rows. '
            "Every row of this column is read for the exact figures, on Spark in this machine.</p>"
            '<div class="dx-buttons"><button type="button" class="dx-outlined" '
            'data-do="profile" data-value="">Profile this column exactly</button></div>',
            _HEAD,
        )

    def _ask(self) -> None:
        if self._asked is None:
            return
        service, version, column = self._asked

        def report(progress: Progress) -> None:
            self._html.html = _HEAD + render_progress(progress)

        def failed(problem: Problem) -> None:
            self._html.html = _HEAD + render_problem(problem)

        report(Progress(done=0, total=None, label="Starting Spark"))
        self._question.ask(
            lambda watch: profile_column(service, version, column, watch),
            self._draw, failed, report,
        )  # fmt: skip

    def _draw(self, found: ExactColumn) -> None:
        if self._asked is None:
            return
        service, version, _ = self._asked
        estimate = {**self._estimate, "num_rows": found.num_rows}
        call = f"pipeline.profile(table.snapshot(version={version}), [{found.profile.column!r}])"
        ways = {"Python": python_line(service.uri, f"from explorer import pipeline\n{call}")}
        self._html.html = html(
            "{}{}{}{}{}",
            _HEAD,
            render_problems(found.problems),
            profile_figures(found.profile),
            render_profile(found.profile, estimate),
            render_ways("profile", ways),
        )


_HEAD = html("<h3>Exact figures</h3>")
