"""The exact figures of the selected column beside what statistics say, on demand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from explorer.inspect import StatisticsReport
from widgets.markup import Markup, html
from widgets.screens.rows.ask_spark import ExactColumn, profile_column
from widgets.screens.rows.spark_parts import profile_figures, render_profile
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.state import PageState
from widgets.ui.copy_as import python_line, render_copy_as
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_problems
from widgets.ui.records import read_records
from widgets.ui.view import AtVersion, Offer, Pane, Request, View, Words


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of a version; `estimate` is its row of `column_statistics`."""

    service: TableService
    version: int
    path: str
    estimate: Mapping[str, Any]


def build_profile(
    services: PageServices, state: PageState, report: View[AtVersion, StatisticsReport]
) -> tuple[View[_Column, ExactColumn], Pane[_Column, ExactColumn]]:
    """The selected column, as far as the report knows it."""

    def column(service: TableService, state: PageState) -> _Column | None:
        if report.answer is None or state.version is None:
            return None
        rows = read_records(report.answer.columns)
        known = next((row for row in rows if row["path"] == state.column), None)
        return None if known is None else _Column(service, state.version, state.column, known)

    request = Request(
        question=column,
        read=lambda asked, watch, _: profile_column(
            asked.service, asked.version, asked.path, watch
        ),
        words=_WORDS,
        follows=("column",),
        offer=Offer(action="profile", render=lambda _: _OFFER),
    )
    pane = Pane(_render_profile, head=_HEAD)
    return View(services, state, "statistics", request, pane, after=(report,)), pane


def _render_profile(asked: _Column, found: ExactColumn, _: Pages) -> Markup:
    estimate = {**asked.estimate, "num_rows": found.num_rows}
    column = found.profile.column
    call = f"pipeline.profile(table.snapshot(version={asked.version}), [{column!r}])"
    commands = {"Python": python_line(asked.service.uri, f"from explorer import pipeline\n{call}")}
    return html(
        "{}{}{}{}",
        render_problems(found.problems),
        profile_figures(found.profile),
        render_profile(found.profile, estimate),
        render_copy_as("profile", commands),
    )


_HEAD = html("<h3>Exact figures</h3>")
_OFFER = html(
    '<p class="dx-muted">Statistics may be cut, missing, or count deleted rows. '
    "Every row of this column is read for the exact figures, on Spark in this machine.</p>"
    '<div class="dx-buttons"><button type="button" class="dx-outlined" '
    'data-do="profile" data-value="">Profile this column exactly</button></div>'
)
_WORDS = Words(
    label="Starting Spark",
    stopped="Stopped before every row of this column was read.",
    again="Profile this column exactly",
)
