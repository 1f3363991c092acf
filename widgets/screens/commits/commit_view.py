"""The selected commit beside the timeline, and its actions below it on demand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from explorer.errors import Problem
from widgets.figures.commits import Commits
from widgets.markup import NOTHING, Markup, html
from widgets.screens.commits._commit_parts import (
    CommitFigures,
    render_commit,
    render_commit_buttons,
    render_commit_figures,
    render_commit_head,
    render_commit_title,
)
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.state import HistoryState, Notice, PageState, parse_version
from widgets.text import (
    UNKNOWN,
    cut,
    cut_middle,
    format_bytes,
    format_count,
)
from widgets.ui.boxes import build_card
from widgets.ui.exporting import Export
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.live_html import LiveHtml
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_notice, render_problem, render_waiting
from widgets.ui.records import read_records
from widgets.ui.table import PAGE_ROWS, Cell, Column, Row, render_table
from widgets.ui.view import AtVersion, Pane, Request, View, Words, at_version

ACTION_COLUMNS = (
    Column(key="line", label="Line", align="right"),
    Column(key="action", label="Action"),
    Column(key="path", label="What", mono=True),
    Column(key="size", label="Size", align="right"),
    Column(key="num_records", label="Rows", align="right"),
)
RAW_SHOWN = 50
"""Lines of raw JSON at once; the table pages through the rest."""


class CommitView:
    """What one commit did."""

    def __init__(self, services: PageServices, state: PageState, history: HistoryState) -> None:
        self._services = services
        self._state = state
        self._history = history
        self._service: TableService | None = None
        self._info: Mapping[str, Any] | None = None
        self._failure: Problem | None = None
        self._head = LiveHtml(margin=0)
        self._body = LiveHtml(margin=0)
        self._buttons = LiveHtml(margin=0)
        self.panel = build_card(self._head, self._body, self._buttons, place="dx-second")
        self.actions = ActionsView(services, state)
        self._head.on("step", self._step)
        self._buttons.on("actions", lambda _: self.actions.open("table"))
        self._buttons.on("raw", lambda _: self.actions.open("raw"))
        self._buttons.on("files", self._show_files)
        self._buttons.on("compare", self._compare)
        state.param.watch(lambda *_: self._select(), "version")
        history.param.watch(lambda *_: self._draw(), ["commits", "live"])

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._service = service
        self.actions.show(service)
        self._select()

    def _show_files(self, _: str) -> None:
        self._state.view = "files"

    def _compare(self, other: str) -> None:
        if other == "latest":
            version, latest = self._state.version, self._state.latest
            self._state.param.update(older=version, version=latest, view="compare")
        elif other == "previous":
            self._state.param.update(older=None, view="compare")

    def _step(self, by: str) -> None:
        if by in {"-1", "1"}:
            self._state.step(int(by))

    def _select(self) -> None:
        service, version = self._service, self._state.version
        if service is None or version is None:
            return
        self._info, self._failure = None, None
        self._head.html = render_commit_head(version, self._state.latest or 0)
        self._draw()

        def done(info: Mapping[str, Any]) -> None:
            if self._is_current(service, version):
                self._info = info
                self._draw()

        def failed(problem: Problem) -> None:
            if self._is_current(service, version):
                self._failure = problem
                self._draw()

        self._services.runner.run(lambda: service.read_commit(version), done, failed)

    def _render_early(self, version: int) -> Markup:
        """What the timeline knows already, while the commit itself is read."""
        waiting = render_waiting(f"Reading version {format_count(version)}")
        entry = _entry(self._history, version)
        if entry is None:
            return waiting
        return (
            render_commit_title(version, entry)
            + render_commit_figures(_figures(self._history, version))
            + waiting
        )

    def _is_current(self, service: TableService, version: int) -> bool:
        return service is self._service and version == self._state.version

    def _draw(self) -> None:
        if self._service is None or self._state.version is None:
            return
        if self._failure is not None:
            self._body.html = html(
                '<h3 class="dx-version">Version {}</h3>', format_count(self._state.version)
            ) + render_problem(self._failure)
            self._buttons.html = NOTHING
        elif self._info is None:
            self._body.html = self._render_early(self._state.version)
        else:
            figures = _figures(self._history, self._state.version)
            self._body.html = render_commit(self._info, figures, self._service.uri)
            place = str(self._info.get("log_file") or "")
            line = self._info.get("line")
            evidence = f"{place}:{line}" if isinstance(line, int) else place
            self._buttons.html = render_commit_buttons(evidence)


def _entry(history: HistoryState, version: int) -> Mapping[str, Any] | None:
    """The commit's row of the timeline, with the names that a commit's record has."""
    commits: Commits | None = history.commits
    at = None if commits is None else commits.position(version)
    if commits is None or at is None:
        return None
    entry = read_records(commits.frame.slice(at, 1))[0]
    return {**entry, "user": entry["user_name"]}


def _figures(history: HistoryState, version: int) -> CommitFigures | None:
    entry = _entry(history, version)
    if entry is None:
        return None
    at, sizes = history.commits.position(version), history.live.get("bytes")
    after = None if sizes is None or np.isnan(sizes[at]) else int(sizes[at])
    names = ("files_added", "files_removed", "rows_added", "rows_removed",
             "bytes_added", "bytes_removed")  # fmt: skip
    return CommitFigures(size_after=after, **{name: entry[name] for name in names})


class ActionsView:
    """The lines of the selected commit: where everything above is written."""

    def __init__(self, services: PageServices, state: PageState) -> None:
        self._mode = "table"
        self._line: int | None = None
        self._is_open = False
        request: Request[AtVersion, pa.Table] = Request(
            question=lambda service, state: at_version(service, state) if self._is_open else None,
            read=lambda asked, _, __: asked.service.read_actions(asked.version),
            words=_WORDS,
        )
        self._pane = Pane(self._render_lines, head=self._render_head, noun="lines", export=_export)
        self._view = View(services, state, "timeline", request, self._pane)
        self.panel = build_card(self._pane.live, place="dx-third")
        self.panel.visible = False
        self._view.listen(self._fit_card)
        self._pane.live.on("line", self._choose)
        self._pane.live.on("close", lambda _: self._close())
        self._pane.live.on("mode", self.open)

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._is_open = False
        self._view.show(service)

    def open(self, mode: str) -> None:
        """Show the actions as a table, or as raw JSON."""
        if mode in {"table", "raw"}:
            self._mode, self._line, self._is_open = mode, None, True
            self._view.refresh()
            self._pane.rewind()

    def _close(self) -> None:
        self._is_open = False
        self._view.refresh()

    def _fit_card(self) -> None:
        self.panel.visible = self._view.question is not None
        if self._view.answer is None:
            self._line = None

    def _choose(self, line: str) -> None:
        chosen = parse_version(line)
        self._line = None if chosen == self._line else chosen
        self._view.refresh()

    def _render_lines(self, _: AtVersion, frame: pa.Table, pages: Pages) -> Markup:
        pages.limit = RAW_SHOWN if self._mode == "raw" else PAGE_ROWS
        page = read_records(frame.slice(*pages.span(frame.num_rows)))
        body = _render_raw(page) if self._mode == "raw" else self._render_rows(page)
        return body + pages.render(frame.num_rows)

    def _render_head(self, asked: AtVersion, frame: pa.Table | None) -> Markup:
        other, label = ("raw", "Raw JSON") if self._mode == "table" else ("table", "As a table")
        return html(
            '<div class="dx-head" data-reveal="{}">'
            "<h3>Actions of version {}</h3>"
            '<span class="dx-hint">one line of the log file each; click one for its JSON</span>'
            '<button type="button" data-do="mode" data-value="{}">{}</button>'
            "{}"
            '<button type="button" class="dx-icon dx-close" data-do="close" data-value="" '
            'aria-label="Close" title="Close"></button></div>',
            asked.version,
            format_count(asked.version),
            other,
            label,
            NOTHING if frame is None else EXPORT_BUTTONS,
        )

    def _render_rows(self, page: list[dict[str, Any]]) -> Markup:
        rows = [_action_row(entry, self._line) for entry in page]
        table = render_table("Actions of the commit", ACTION_COLUMNS, rows)
        chosen = next((entry for entry in page if entry["line"] == self._line), None)
        return table + (_render_line(chosen) if chosen else NOTHING)


_WORDS = Words(
    label="Reading the commit",
    stopped="Stopped before the commit was read.",
    again="Read the commit",
)


def _export(asked: AtVersion, frame: pa.Table) -> Export:
    names = ["line", "action", "path", "size", "num_records", "json", "file"]
    return Export.of(f"version-{asked.version}", frame.select(names))


def _action_row(entry: Mapping[str, Any], chosen: int | None) -> Row:
    what = str(entry["path"] or entry.get("summary") or "")
    return Row(
        action="line",
        value=str(entry["line"]),
        selected=entry["line"] == chosen,
        cells=(
            Cell(text=format_count(entry["line"])),
            Cell(text=cut(str(entry["action"]), 40)),
            Cell(text=cut_middle(what, 90), title=cut(what, 500)),
            _number_cell(entry["size"], format_bytes(entry["size"])),
            _number_cell(entry["num_records"], format_count(entry["num_records"])),
        ),
    )


def _number_cell(value: int | None, text: str) -> Cell:
    if value is None:
        return Cell(text="\N{EN DASH}", title=UNKNOWN, muted=True)
    return Cell(text=text, title=format_count(value))


def _render_line(entry: Mapping[str, Any]) -> Markup:
    pretty = _pretty(str(entry["json"]))
    place = f"{entry['file']}, line {entry['line']}"
    return html(
        '<p class="dx-evidence" data-reveal="{}"><code>{}</code></p>'
        '<pre tabindex="0" aria-label="JSON of the action">{}</pre>',
        place,
        place,
        pretty,
    )


def _render_raw(page: list[dict[str, Any]]) -> Markup:
    if not page:
        return render_notice(Notice(level="info", problem="The commit holds no line."))
    lines = "\n".join(str(entry["json"]) for entry in page)
    return html('<pre tabindex="0" aria-label="Raw lines of the log file">{}</pre>', lines)


def _pretty(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text  # cut at the limit, or no JSON: shown as it is
