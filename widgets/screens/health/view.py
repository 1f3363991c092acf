"""Whether the log is sound, what opening the table costs, and what would mend it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from explorer.inspect import Health
from explorer.progress import Watch
from widgets.markup import NOTHING, Markup, html, join
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
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.state import PageState
from widgets.text import visible
from widgets.ui.boxes import build_card, build_filled_card, build_stack
from widgets.ui.copy_as import command_line, python_line, render_copy_as
from widgets.ui.exporting import Export
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_key_figures
from widgets.ui.place_links import LINKED, PlaceLinks
from widgets.ui.plan_navigation import open_plan
from widgets.ui.records import read_records
from widgets.ui.table import render_table
from widgets.ui.view import Pane, Request, Tell, View, Words

FINDINGS_SHOWN = 200
"""Findings that are listed; the export has every one."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """The health of a table up to its latest version: by the log alone, or by its files too."""

    service: TableService
    latest: int | None
    has_files: bool = False


class HealthView:
    """The log's answer at once; that of the files when it is asked for."""

    def __init__(self, services: PageServices, state: PageState) -> None:
        self._state = state
        answer = Pane(_render_health, head=_render_head, export=_export_findings)
        links = PlaceLinks(state, has_address=services.runner.is_background)
        missing = Pane(partial(_render_missing, links), noun="files", export=_export_missing)
        log_bytes = Pane(_render_bytes)
        self._view = View(services, state, "health", _HEALTH, answer, missing, log_bytes)
        self.panel = build_stack(
            build_card(answer.live), build_filled_card(missing.live),
            build_filled_card(log_bytes.live),
        )  # fmt: skip
        self.show = self._view.show
        answer.live.on("files", lambda _: self._ask_files())
        answer.live.on("plan-now", partial(open_plan, state))
        missing.live.on("file", self._choose)

    def _ask_files(self) -> None:
        asked, found = self._view.question, self._view.answer
        if asked is not None and found is not None:
            self._view.ask(replace(asked, has_files=True), known=found.sentence)

    def _choose(self, path: str) -> None:
        self._state.param.update(file=path, view="reach")


def _read(asked: _Asked, watch: Watch, tell: Tell) -> Health:
    if asked.has_files:
        return read_health_of_files(asked.service, watch)
    return read_health(asked.service, watch, tell)


def _render_health(asked: _Asked, found: Health, _: Pages) -> Markup:
    items = join(map(render_finding, read_records(found.findings.slice(0, FINDINGS_SHOWN))))
    more = found.findings.num_rows - FINDINGS_SHOWN
    flags = ["--files"] if found.has_listed else []
    call = "look.files_health(table)" if found.has_listed else "look.log_health(table)"
    uri = asked.service.uri
    commands = {
        "CLI": command_line("health", uri, flags),
        "Python": python_line(uri, f"import explorer.inspect as look\n{call}.findings"),
    }
    return html(
        '<p class="dx-lead">{}</p>{}{}{}{}{}{}',
        visible(found.sentence),
        render_key_figures(health_figures(found, datetime.now(UTC))),
        NOTHING if found.is_checkpoint_read or not found.opens else _CHECKPOINT_LEFT,
        html('<ul class="dx-findings">{}</ul>', items) if items else NOTHING,
        html('<p class="dx-muted">{:,} more are not listed.</p>', more) if more > 0 else NOTHING,
        NOTHING if found.has_listed else _OFFER,
        render_copy_as("health", commands),
    )


def _render_head(_: _Asked, found: Health | None) -> Markup:
    return html(
        '<div class="dx-head"><h3>Health</h3><span class="dx-hint"></span>{}</div>',
        NOTHING if found is None else EXPORT_BUTTONS,
    )


def _render_missing(links: PlaceLinks, _: _Asked, found: Health, pages: Pages) -> Markup:
    missing = found.missing
    if missing is None or not missing.num_rows:
        return NOTHING
    shown = read_records(missing.slice(*pages.span(missing.num_rows)))
    rows = links.rows(
        [*map(build_missing_row, shown)], lambda path: {"file": path, "view": "reach"}, linked=1
    )
    return html(
        '<div class="dx-head">'
        "<h3>Files that the latest version needs and that are gone</h3>"
        '<span class="dx-hint">click one to ask why</span>'
        "{}</div>{}{}",
        EXPORT_BUTTONS,
        render_table("Missing files", MISSING_COLUMNS, rows),
        pages.render(missing.num_rows),
    )


def _render_bytes(_: _Asked, found: Health, __: Pages) -> Markup:
    total = sum(found.log_bytes.column("bytes").to_pylist())
    rows = [build_bytes_row(row, total) for row in read_records(found.log_bytes)]
    return html(
        "<h3>Bytes of the log by kind</h3>{}{}",
        render_table("Log files by kind", BYTES_COLUMNS, rows, empty="The log is empty."),
        render_growth(read_records(found.log_growth)),
    )


def _export_findings(_: _Asked, found: Health) -> Export:
    return Export.of("findings", found.findings)


def _export_missing(_: _Asked, found: Health) -> Export | None:
    return None if found.missing is None else Export.of("missing-files", found.missing)


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
_CHECKPOINT_LEFT = html(
    '<p class="dx-muted">The checkpoint is large, and its content was not read to see whether it '
    "can be.</p>"
)
_OFFER = html(
    '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="files" '
    'data-value="">Look at the files too</button></div>'
)
_HEALTH: Request[_Asked, Health] = Request(
    question=lambda service, state: _Asked(service, state.latest),
    read=_read,
    words=lambda asked: _FILES if asked.has_files else _LOG,
    follows=("latest", *LINKED),
)
