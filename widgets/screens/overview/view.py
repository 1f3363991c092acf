"""The overview: figures at once, rows when they are counted."""

from __future__ import annotations

from widgets.markup import Markup, html
from widgets.screens.overview._ask import TableFacts, read_facts
from widgets.screens.overview._parts import render_facts
from widgets.session.page_services import PageServices
from widgets.session.tables import RowFigures, TableService
from widgets.state import PageState
from widgets.ui.boxes import build_stack
from widgets.ui.view import AtVersion, Pane, Request, View, Words, at_version


class OverviewView:
    """What a table is at the selected version."""

    def __init__(self, services: PageServices, state: PageState) -> None:
        facts = Pane(self._render_facts, head=_HEAD)
        self._facts = View(services, state, "overview", _FACTS, facts)
        self._rows = View(services, state, "overview", _ROWS, Pane(lambda *_: Markup("")))
        self._rows.listen(self._facts.refresh)
        self._views = (self._facts, self._rows)
        self.panel = build_stack(facts.live)

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        for view in self._views:
            view.show(service)

    def _render_facts(self, asked: AtVersion, facts: TableFacts, _: object) -> Markup:
        rows = self._rows.answer if self._rows.question == asked else None
        return render_facts(facts, asked.version, rows)


_HEAD = html('<h2 class="dx-view-name">Overview</h2>')

_FACTS: Request[AtVersion, TableFacts] = Request(
    question=at_version,
    read=lambda asked, _, __: read_facts(asked.service, asked.version),
    words=Words(
        label="Reading the table",
        stopped="Stopped before the table was read.",
        again="Read the table",
    ),
)
_ROWS: Request[AtVersion, RowFigures] = Request(
    question=at_version,
    read=lambda asked, _, __: asked.service.read_rows(asked.version),
    words=Words(
        label="Counting the rows",
        stopped="Stopped before all rows were counted.",
        again="Count the rows",
    ),
)
