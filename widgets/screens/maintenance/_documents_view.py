"""What was planned and done before: the plans and receipts that were kept of this table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal
from weakref import WeakSet

from explorer.errors import Problem
from widgets.markup import Markup, html, join
from widgets.screens.maintenance._receipt_parts import (
    PLAN_COLUMNS,
    RECEIPT_COLUMNS,
    build_plan_row,
    build_receipt_row,
)
from widgets.screens.maintenance._run_view import RunWatcher
from widgets.session.maintenance import Documents
from widgets.session.operations import find_operation
from widgets.session.page_services import PageServices
from widgets.session.runs import Run
from widgets.session.tables import TableService
from widgets.state import parse_version
from widgets.text import cut, format_count
from widgets.ui.boxes import build_card
from widgets.ui.live_html import LiveHtml
from widgets.ui.pieces import render_problem, render_waiting
from widgets.ui.table import Row, render_pager, render_table

ROWS = 10
"""Of a list that stands below the work, and not in its way."""

Open = Callable[[str], None]


class DocumentsView:
    """Two lists, one at a time; a row opens its document."""

    def __init__(
        self,
        services: PageServices,
        watcher: RunWatcher,
        *,
        on_plan: Open,
        on_receipt: Open,
        on_run: Open,
    ) -> None:
        self._services = services
        self._watcher = watcher
        self._followed: WeakSet[Run] = WeakSet()
        self._service: TableService | None = None
        self._found: Documents | None = None
        self._list: Literal["receipts", "plans"] = "receipts"
        self._offset = 0
        self._html = LiveHtml(margin=0)
        self.panel = build_card(self._html)
        self.panel.visible = services.maintenance.keeps_documents
        self._html.on("open", on_plan)
        self._html.on("receipt", on_receipt)
        self._html.on("run", on_run)
        self._html.on("list", self._choose)
        self._html.on("page", self._turn)

    def show(self, service: TableService) -> None:
        """Read what was kept of a table."""
        if self._service is None or self._service.uri != service.uri:
            self._found, self._offset = None, 0
            self._html.html = render_waiting("Looking for plans and receipts")
        self._service = service
        maintenance = self._services.maintenance
        if not maintenance.keeps_documents:
            return
        for run in maintenance.running(service.uri):
            self._follow(run)

        def done(found: Documents) -> None:
            if service is self._service:
                self._found = found
                self._draw()

        def failed(problem: Problem) -> None:
            if service is self._service:
                self._html.html = render_problem(problem)

        self._services.runner.run(lambda: maintenance.read_documents(service), done, failed)

    def _follow(self, run: Run) -> None:
        """Read again when a run has ended, whoever began it and whether it is watched or not."""
        if run in self._followed:
            return
        self._followed.add(run)

        def read_again() -> None:
            if self._service is not None and self._service.uri == run.plan.subject.uri:
                self.show(self._service)

        run.follow(lambda: None if run.outcome is None else self._services.runner.post(read_again))

    def _choose(self, name: str) -> None:
        if name in {"receipts", "plans"}:
            self._list = "plans" if name == "plans" else "receipts"
            self._offset = 0
            self._draw()

    def _turn(self, offset: str) -> None:
        at = parse_version(offset)
        if at is not None:
            self._offset = at
            self._draw()

    def _draw(self) -> None:
        found, service = self._found, self._service
        if found is None or service is None:
            return
        total = len(found.plans) if self._list == "plans" else len(found.receipts)
        self._offset = min(self._offset, max(0, total - 1) // ROWS * ROWS)
        self._html.html = (
            self._render_head(found)
            + self._render_running(service.uri)
            + self._render_list(found)
            + render_pager(self._list, self._offset, total, ROWS)
        )

    def _render_head(self, found: Documents) -> Markup:
        buttons = join(
            html(
                '<button type="button" data-do="list" data-value="{}" '
                'aria-pressed="{}">{} '
                "{}</button>",
                name,
                "true" if name == self._list else "false",
                label,
                format_count(number),
            )
            for name, label, number in (
                ("receipts", "Receipts", len(found.receipts)),
                ("plans", "Plans", len(found.plans)),
            )
        )
        return html(
            '<div class="dx-head"><h3>Receipts and plans</h3><span class="dx-hint">kept '
            "outside of the table, in the state folder of whoever runs this page</span>"
            '<span class="dx-segments" role="group" aria-label="Which documents">{}</span></div>',
            buttons,
        )

    def _render_running(self, uri: str) -> Markup:
        return join(
            html(
                '<div class="dx-underway" role="status"><span><strong>Under way: '
                "{}.</strong> {}</span>"
                '<button type="button" class="dx-outlined" data-do="run" '
                'data-value="{}">Show</button></div>',
                _title(run.plan.operation),
                cut(run.plan.summary, 160),
                run.plan.digest,
            )
            for run in self._services.maintenance.running(uri)
            if run is not self._watcher.run  # which is shown above
        )

    def _render_list(self, found: Documents) -> Markup:
        part = slice(self._offset, self._offset + ROWS)
        rows: list[Row]
        if self._list == "plans":
            became: dict[str, str] = {}
            for receipt in found.receipts:
                became.setdefault(receipt.digest, receipt.status)
            rows = [
                build_plan_row(plan, _title(plan.get("operation")), became.get(plan["digest"]))
                for plan in found.plans[part]
            ]
            return render_table(
                "Plans, newest first", PLAN_COLUMNS, rows, empty="No plan was kept yet."
            )
        rows = [build_receipt_row(one, _title(one.operation)) for one in found.receipts[part]]
        return render_table(
            "Receipts, newest first", RECEIPT_COLUMNS, rows, empty="Nothing was carried out yet."
        )


def _title(operation: Any) -> str:
    found = find_operation(operation) if isinstance(operation, str) else None
    return str(operation) if found is None else found.title
