"""How far time travel and the change feed reach, and why files are still here."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from explorer.errors import Problem
from explorer.inspect import Reachability
from explorer.progress import Progress
from widgets.markup import html
from widgets.screens.reach._ask import read_reach, read_reach_of_files
from widgets.screens.reach._files_view import FolderPart, ReasonPart
from widgets.screens.reach._parts import (
    RANGE_COLUMNS,
    VERSION_COLUMNS,
    WINDOW_COLUMNS,
    build_range_row,
    build_version_row,
    build_window_row,
    render_axis,
    selected_sentence,
)
from widgets.session.asking import Question
from widgets.session.desk import Desk
from widgets.session.tables import TableService
from widgets.state import PageState, parse_version
from widgets.text import visible
from widgets.ui.boxes import build_card, build_stack
from widgets.ui.exporting import Export, Exports
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.live_html import LiveHtml
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_problem, render_section
from widgets.ui.progress import render_progress
from widgets.ui.records import read_records
from widgets.ui.table import render_table
from widgets.ui.ways import command_line, python_line, render_ways

RANGES_SHOWN = 200
"""Ranges that are drawn and listed; the table of versions has every one."""


class ReachView:
    """The log's answer at once; that of the files when it is asked for."""

    def __init__(self, desk: Desk, state: PageState) -> None:
        self._state = state
        self._service: TableService | None = None
        self._asked: tuple[TableService, int | None] | None = None
        self._found: Reachability | None = None
        self._question = Question(desk.runner)
        self._answer, self._versions = LiveHtml(margin=0), LiveHtml(margin=0)
        self._pages = Pages(self._versions, "versions", self._draw_versions)
        self._reason, self._folder = ReasonPart(desk, state), FolderPart(desk, state)
        self.panel = build_stack(
            build_card(self._answer), self._reason.panel, build_card(self._versions),
            self._folder.panel,
        )  # fmt: skip
        self._answer.on("files", lambda _: self._ask_files())
        self._answer.on("cancel", lambda _: self._ask_log())
        self._versions.on("version", self._select)
        self._exports = Exports(desk, state, self._versions, self._chosen)
        state.param.watch(lambda *_: self._refresh(), ["version", "file", "latest", "view"])

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._service, self._asked = service, None
        self._refresh()

    def _refresh(self) -> None:
        service = self._service
        if service is None or self._state.view != "reach":
            return
        if self._asked != (service, self._state.latest):
            self._asked = (service, self._state.latest)
            self._folder.show(service)
            self._ask_log()
        else:
            self._draw()
        self._reason.show(service)

    def _ask_log(self) -> None:
        self._ask(read_reach, "Reading the log")

    def _ask_files(self) -> None:
        self._ask(read_reach_of_files, "Reading every commit and listing the folder")

    def _ask(self, read: Any, label: str) -> None:
        service = self._service
        if service is None:
            return

        def report(progress: Progress) -> None:
            self._answer.html = _HEAD + render_progress(progress)

        def failed(problem: Problem) -> None:
            self._answer.html = _HEAD + render_problem(problem)

        report(Progress(done=0, total=None, label=label))
        self._question.ask(lambda watch: read(service, watch), self._tell, failed, report)

    def _tell(self, found: Reachability) -> None:
        self._found = found
        selected = self._state.version
        # the newest first: what is at risk or gone lies behind it
        self._pages.reach(0 if selected is None else max(found.version - selected, 0))
        self._draw()

    def _draw(self) -> None:
        found, service = self._found, self._service
        if found is None or service is None:
            return
        ranges = read_records(found.ranges.slice(0, RANGES_SHOWN))
        selected = self._state.version
        chosen = ""
        if selected is not None and selected <= found.version:
            row = read_records(found.versions.slice(selected, 1))[0]
            chosen = html('<p class="dx-muted">{}</p>', selected_sentence(row))
        windows = [build_window_row(row) for row in read_records(found.windows)]
        outside = ""
        if found.files_outside:
            outside = html(
                '<p class="dx-muted">{:,} actions name files outside of the '
                "table's folder: nobody looked there.</p>",
                found.files_outside,
            )
        with_files = found.has_listed or found.problem is not None
        listed = "" if with_files else _OFFER
        flags = ["--files"] if with_files else []
        call = "look.reach_by_files(table)" if with_files else "look.reach_by_log(table)"
        ways = {
            "a command": command_line("reach", service.uri, flags),
            "Python": python_line(service.uri, f"import explorer.inspect as look\n{call}.sentence"),
        }
        self._answer.html = (
            html(
                '{}<p class="dx-lead">{}</p>{}{}{}{}',
                _HEAD,
                visible(found.sentence),
                chosen,
                render_axis(found, datetime.now(UTC), selected),
                outside,
                listed,
            )
            + render_section(
                "Ranges",
                render_table(
                    "Versions with the same answer",
                    RANGE_COLUMNS,
                    [build_range_row(row) for row in ranges],
                ),
            )
            + render_section(
                "Retention windows", render_table("Retention windows", WINDOW_COLUMNS, windows)
            )
            + render_ways("reach", ways)
        )
        self._draw_versions()

    def _draw_versions(self) -> None:
        found = self._found
        if found is None:
            return
        total = found.versions.num_rows
        offset, limit = self._pages.span(total)
        rows = [
            build_version_row(row, self._state.version)
            for row in read_records(_newest_first(found.versions, offset, limit))
        ]
        table = render_table("Versions, newest first", VERSION_COLUMNS, rows)
        self._versions.html = (
            html(
                '<div class="dx-head"><h3>Version by version</h3><span class="dx-hint"></span>'
                "{}</div>",
                EXPORT_BUTTONS,
            )
            + table
            + self._pages.render(total)
        )

    def _select(self, version: str) -> None:
        chosen = parse_version(version)
        if chosen is not None and chosen <= (self._state.latest or 0):
            self._state.version = chosen

    def _chosen(self) -> Export | None:
        if self._found is None:
            return None
        versions = self._found.versions
        return Export.of("reach", _newest_first(versions, 0, versions.num_rows))


def _newest_first(versions: pa.Table, offset: int, limit: int) -> pa.Table:
    end = max(versions.num_rows - offset, 0)
    start = max(end - limit, 0)
    return versions.slice(start, end - start).take(pa.array(range(end - start - 1, -1, -1)))


_HEAD = html('<div class="dx-head"><h3>How far versions reach back</h3></div>')
_OFFER = html(
    '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="files" '
    'data-value="">Look at the files themselves</button></div>'
    '<p class="dx-muted">Every commit is read and the folder is listed for it.</p>'
)
