"""Whether the log is sound, what opening the table costs, and what would mend it."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from explorer.inspect import Health
from widgets.markup import NOTHING, html, join
from widgets.screens.health._ask import read_health, read_health_of_files
from widgets.screens.health._parts import (
    BYTES_COLUMNS,
    MISSING_COLUMNS,
    build_bytes_row,
    build_missing_row,
    health_figures,
    render_finding,
    render_growth,
)
from widgets.session.desk import Desk
from widgets.session.tables import TableService
from widgets.state import PageState
from widgets.text import visible
from widgets.ui.boxes import build_card, build_filled_card, build_stack
from widgets.ui.exporting import Export, Exports
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.live_html import LiveHtml
from widgets.ui.paging import Pages
from widgets.ui.pending import Pending, Words, untold
from widgets.ui.pieces import render_key_figures
from widgets.ui.records import read_records
from widgets.ui.table import render_table
from widgets.ui.ways import command_line, python_line, render_ways
from widgets.ui.wishing import follow_wish

FINDINGS_SHOWN = 200
"""Findings that are listed; the export has every one."""


class HealthView:
    """The log's answer at once; that of the files when it is asked for."""

    def __init__(self, desk: Desk, state: PageState) -> None:
        self._state = state
        self._service: TableService | None = None
        self._asked: tuple[TableService, int | None] | None = None
        self._found: Health | None = None
        self._answer, self._missing = LiveHtml(margin=0), LiveHtml(margin=0)
        self._question = Pending(desk, self._answer)
        self._bytes = LiveHtml(margin=0)
        self._pages = Pages(self._missing, "files", self._draw_missing)
        self.panel = build_stack(
            build_card(self._answer), build_filled_card(self._missing),
            build_filled_card(self._bytes),
        )  # fmt: skip
        self._answer.on("files", lambda _: self._ask_files())
        self._answer.on("wish", partial(follow_wish, state))
        self._exports = Exports(desk, state, self._answer, self._chosen)
        self._missing.on("file", self._choose)
        self._missing_exports = Exports(desk, state, self._missing, self._chosen_missing)
        state.param.watch(lambda *_: self._refresh(), ["latest", "view"])

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._service, self._asked = service, None
        self._refresh()

    def _refresh(self) -> None:
        service = self._service
        if service is None or self._state.view != "health":
            return
        if self._asked != (service, self._state.latest):
            self._asked = (service, self._state.latest)
            self._ask()

    def _ask(self) -> None:
        service = self._service
        if service is None:
            return
        self._found = None
        self._missing.html = self._bytes.html = NOTHING
        work = partial(read_health, service)
        self._question.ask(_LOG, work, self._tell, head=_HEAD)

    def _ask_files(self) -> None:
        """The answer of the log stays; stopped, it is all that there is again."""
        service, known = self._service, self._found
        if service is None or known is None:
            return
        self._question.ask(
            _FILES,
            untold(lambda watch: read_health_of_files(service, watch)),
            self._tell,
            head=html('{}<p class="dx-lead">{}</p>', _HEAD, visible(known.sentence)),
            stopped=lambda: self._tell(known),
        )

    def _tell(self, found: Health) -> None:
        service = self._service
        if service is None:
            return
        self._found = found
        self._pages.rewind()
        findings = read_records(found.findings.slice(0, FINDINGS_SHOWN))
        items = join(map(render_finding, findings))
        listed = html('<ul class="dx-findings">{}</ul>', items) if items else NOTHING
        more = found.findings.num_rows - FINDINGS_SHOWN
        flags = ["--files"] if found.has_listed else []
        call = "look.files_health(table)" if found.has_listed else "look.log_health(table)"
        ways = {
            "a command": command_line("health", service.uri, flags),
            "Python": python_line(service.uri, f"import explorer.inspect as look\n{call}.findings"),
        }
        self._answer.html = (
            html(
                '{}<p class="dx-lead">{}</p>{}',
                _HEAD,
                visible(found.sentence),
                render_key_figures(health_figures(found, datetime.now(UTC))),
            )
            + (NOTHING if found.is_checkpoint_read or not found.opens else _CHECKPOINT_LEFT)
            + listed
            + (
                html('<p class="dx-muted">{:,} more are not listed.</p>', more)
                if more > 0
                else NOTHING
            )
            + (NOTHING if found.has_listed else _OFFER)
            + render_ways("health", ways)
        )
        total = sum(found.log_bytes.column("bytes").to_pylist())
        rows = [build_bytes_row(row, total) for row in read_records(found.log_bytes)]
        table = render_table("Log files by kind", BYTES_COLUMNS, rows, empty="The log is empty.")
        growth = render_growth(read_records(found.log_growth))
        self._bytes.html = html("<h3>Bytes of the log by kind</h3>{}{}", table, growth)
        self._draw_missing()

    def _draw_missing(self) -> None:
        missing = None if self._found is None else self._found.missing
        if missing is None or not missing.num_rows:
            self._missing.html = NOTHING
            return
        offset, limit = self._pages.span(missing.num_rows)
        rows = [build_missing_row(row) for row in read_records(missing.slice(offset, limit))]
        self._missing.html = (
            html(
                '<div class="dx-head">'
                "<h3>Files that the latest version needs and that are gone</h3>"
                '<span class="dx-hint">click one to ask why</span>'
                "{}</div>",
                EXPORT_BUTTONS,
            )
            + render_table("Missing files", MISSING_COLUMNS, rows)
            + self._pages.render(missing.num_rows)
        )

    def _choose(self, path: str) -> None:
        self._state.param.update(file=path, view="reach")

    def _chosen(self) -> Export | None:
        return None if self._found is None else Export.of("findings", self._found.findings)

    def _chosen_missing(self) -> Export | None:
        missing = None if self._found is None else self._found.missing
        return None if missing is None else Export.of("missing-files", missing)


_LOG = Words(
    label="Looking at the log",
    stopped="Stopped before the whole log was looked at.",
    again="Look at the log",
)
_FILES = Words(
    label="Reading the whole checkpoint and listing the folder",
    stopped="Stopped before every file was looked for.",
    again="Look at the files",
)
_HEAD = html(
    '<div class="dx-head"><h3>Log health</h3><span class="dx-hint"></span>{}</div>', EXPORT_BUTTONS
)
_CHECKPOINT_LEFT = html(
    '<p class="dx-muted">The checkpoint is large, and its content was not read to see whether it '
    "can be.</p>"
)
_OFFER = html(
    '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="files" '
    'data-value="">Look at the files too</button></div>'
)
