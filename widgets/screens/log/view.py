"""The files of the log folder, by kind."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import Problem
from explorer.log.plain_arrays import read_flags
from widgets.markup import NOTHING, Markup, html
from widgets.session.desk import Desk
from widgets.session.tables import TableService
from widgets.state import PageState
from widgets.text import (
    cut,
    cut_middle,
    format_bytes,
    format_count,
    format_minute,
    format_time,
)
from widgets.ui.boxes import build_card
from widgets.ui.exporting import Export, Exports
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.live_html import LiveHtml
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_problem_below, render_waiting
from widgets.ui.records import read_records
from widgets.ui.table import Cell, Column, Row, render_table
from widgets.ui.ways import render_ways, view_ways

COLUMNS = (
    Column(key="name", label="File", sortable=True, mono=True),
    Column(key="kind", label="Kind", sortable=True),
    Column(key="version", label="Version", align="right", sortable=True),
    Column(key="size", label="Size", align="right", sortable=True),
    Column(key="modified", label="Modified (UTC)", sortable=True, wide=True),
    Column(key="note", label="Note"),
)


_DOT = "\N{MIDDLE DOT}"


class LogView:
    """What lies in `_delta_log`."""

    def __init__(self, desk: Desk, state: PageState) -> None:
        self._desk = desk
        self._state = state
        self._service: TableService | None = None
        self._frame: pa.Table | None = None
        self._filter = ""
        self._sort: tuple[str, bool] = ("name", True)
        self._head = LiveHtml(margin=0)
        self._table, self._ways = LiveHtml(margin=0), LiveHtml(margin=0)
        self._pages = Pages(self._table, "log files", self._draw)
        self.panel = build_card(self._head, self._table, self._ways)
        self._head.on("filter", self._set_filter)
        self._exports = Exports(desk, state, self._head, self._chosen)
        self._table.on("sort", self._set_sort)
        state.param.watch(lambda *_: self._refresh(), "view")

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._service, self._frame = service, None
        self._refresh()

    def _refresh(self) -> None:
        service = self._service
        if service is None or self._state.view != "log" or self._frame is not None:
            return
        self._filter = ""
        self._pages.rewind()
        self._head.html = _render_head(None)
        self._table.html = render_waiting("Listing the log")

        def done(frame: pa.Table) -> None:
            if service is self._service:
                self._frame = frame
                self._head.html = _render_head(frame)
                self._draw()

        def failed(problem: Problem) -> None:
            if service is self._service:
                self._table.html = render_problem_below(problem)

        self._desk.runner.run(service.read_log_files, done, failed)

    def _set_filter(self, text: str) -> None:
        self._filter = text.strip()
        self._pages.rewind()
        self._draw()

    def _set_sort(self, key: str) -> None:
        if any(column.key == key and column.sortable for column in COLUMNS):
            self._sort = (key, not self._sort[1] if key == self._sort[0] else False)
            self._pages.rewind()
            self._draw()

    def _found(self, frame: pa.Table) -> pa.Table:
        if self._filter:
            found = np.zeros(frame.num_rows, dtype=np.bool_)
            for name in ("name", "kind", "note"):
                hit = pc.match_substring(frame[name], self._filter, ignore_case=True)
                found |= read_flags(hit)
            frame = frame.filter(pa.array(found))
        key, descending = self._sort
        return frame.sort_by([(key, "descending" if descending else "ascending")])

    def _draw(self) -> None:
        if self._frame is None:
            return
        found = self._found(self._frame)
        rows = [
            _row(entry) for entry in read_records(found.slice(*self._pages.span(found.num_rows)))
        ]
        self._table.html = render_table(
            "Files of the log", COLUMNS, rows, sort=self._sort, empty="No file matches the filter."
        ) + self._pages.render(found.num_rows)
        self._ways.html = render_ways("log", view_ways("log", self._state.table, 0))

    def _chosen(self) -> Export | None:
        return None if self._frame is None else Export.of("log-files", self._found(self._frame))


def _render_head(frame: pa.Table | None) -> Markup:
    lead = NOTHING
    if frame is not None:
        size = format_bytes(pc.sum(frame["size"]).as_py() or 0)
        kinds = Counter(frame["kind"].to_pylist()).most_common()
        counted = f" {_DOT} ".join(f"{kind} {format_count(count)}" for kind, count in kinds)
        lead = html(
            '<p class="dx-lead">{} files, {}</p><p class="dx-muted">{}</p>',
            format_count(frame.num_rows),
            size,
            counted,
        )
    return html(
        '<div class="dx-head"><h3>Log files</h3>'
        '<input type="search" data-do="filter" aria-label="Filter log files" '
        'placeholder="Filter by name, kind or note">'
        "{}</div>{}",
        EXPORT_BUTTONS,
        lead,
    )


def _row(entry: dict[str, object]) -> Row:
    version, moment, note = entry["version"], entry["modified"], str(entry["note"] or "")
    return Row(
        cells=(
            Cell(text=cut_middle(str(entry["name"]), 70), title=cut(str(entry["name"]), 1000)),
            Cell(text=str(entry["kind"])),
            Cell(text="\N{EN DASH}" if version is None else format_count(version)),  # type: ignore[arg-type]
            Cell(text=format_bytes(entry["size"]), title=f"{entry['size']} bytes"),  # type: ignore[arg-type]
            Cell(text=format_minute(moment), title=format_time(moment)),  # type: ignore[arg-type]
            Cell(text=cut(note, 120), title=cut(note, 500)),
        )
    )
