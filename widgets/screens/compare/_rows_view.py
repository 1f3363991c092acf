"""Rows of two versions: what statistics say at once, exact counts and rows on demand."""

from __future__ import annotations

from dataclasses import dataclass

from widgets.markup import NOTHING, Markup, html
from widgets.screens.compare._ask import Files, Opened, Pair
from widgets.screens.compare._parts import ROW_COLUMNS, build_row_rows
from widgets.screens.rows.ask_spark import ExactRows, count_rows_exactly
from widgets.screens.rows.spark_parts import render_exact_rows
from widgets.session.page_services import PageServices
from widgets.state import PageState
from widgets.ui.copy_as import python_line, render_copy_as
from widgets.ui.paging import Pages
from widgets.ui.table import render_table
from widgets.ui.view import Offer, Pane, Request, View, Words


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of two versions; `estimate` is what statistics say of them."""

    pair: Pair
    estimate: Markup


class RowPart:
    """A card of the comparison, empty until its estimate is known."""

    def __init__(
        self, services: PageServices, state: PageState, files: View[Opened, Files]
    ) -> None:
        def rows(*_: object) -> _Rows | None:
            opened, found = files.question, files.answer
            if opened is None or found is None:
                return None
            by = build_row_rows(found.rows)
            return _Rows(opened.pair, render_table("Rows by what changed them", ROW_COLUMNS, by))

        request: Request[_Rows, ExactRows] = Request(
            question=rows,
            read=lambda asked, watch, _: count_rows_exactly(
                asked.pair.service, asked.pair.older, asked.pair.newer, watch
            ),
            words=_WORDS,
            offer=Offer(action="exact", render=lambda _: _OFFER),
        )
        self.pane = Pane(_render_rows, head=_render_head)
        self.view = View(services, state, "compare", request, self.pane, after=(files,))


def _render_head(asked: _Rows, found: ExactRows | None) -> Markup:
    return html("<h3>Rows</h3>{}", asked.estimate if found is None else NOTHING)


def _render_rows(asked: _Rows, found: ExactRows, _: Pages) -> Markup:
    older, newer = asked.pair.older, asked.pair.newer
    commands = {
        "Python": python_line(
            asked.pair.service.uri,
            "from explorer import pipeline\n"
            f"found = pipeline.diff_rows(table.snapshot(version={older}), "
            f"table.snapshot(version={newer}))\nfound.inserted, found.deleted, found.updated",
        ),
    }
    return html(
        "{}<h4>By statistics</h4>{}{}",
        render_exact_rows(found),
        asked.estimate,
        render_copy_as("exact-rows", commands),
    )


_WORDS = Words(
    label="Starting Spark",
    stopped="Stopped before the rows were counted.",
    again="Count the rows that differ, and show some",
)
_OFFER = html(
    '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="exact" '
    'data-value="">Count the rows that differ, and show some</button></div>'
    '<p class="dx-muted">Files that only one version has are read, on Spark in this machine.</p>'
)
