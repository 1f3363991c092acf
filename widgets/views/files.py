"""The files of a version: a page at a time, sorted, filtered, one opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import explorer.inspect as look
from explorer.errors import Problem
from widgets.components.boxes import build_card, build_split, close_side, open_side
from widgets.components.files import (
    COLUMNS,
    EXPORTED,
    build_export_row,
    build_file_row,
    render_file,
)
from widgets.components.live_html import LiveHtml
from widgets.components.pieces import render_problem, render_waiting
from widgets.components.records import read_records
from widgets.components.table import render_pager, render_table
from widgets.services.desk import Desk
from widgets.services.tables import FileQuery, TableService
from widgets.state import PageState, parse_version
from widgets.text import esc, format_count, render_csv

EXPORT_LIMIT = 100_000
"""Files in one CSV: some 20 MB, which a browser still takes in one message."""

_SORTABLE = {column.key for column in COLUMNS if column.sortable}


class FilesView:
    """Live files by the log; nothing of them is opened."""

    def __init__(self, desk: Desk, state: PageState) -> None:
        self._desk = desk
        self._state = state
        self._service: TableService | None = None
        self._query: FileQuery | None = None
        self._page: look.FilesPage | None = None
        self._path: str | None = None
        self._head = LiveHtml(margin=0)
        self._table = LiveHtml(margin=0)
        self._detail = LiveHtml(margin=0)
        self._side = build_card(self._detail)
        self.panel = build_split(build_card(self._head, self._table), self._side)
        close_side(self.panel, self._side)
        self._head.on("filter", self._set_filter)
        self._head.on("export", lambda _: self._export())
        self._table.on("page", self._turn)
        self._table.on("sort", self._sort)
        self._table.on("file", self._open)
        self._detail.on("close", lambda _: self._close())
        state.param.watch(lambda *_: self._refresh(), ["version", "view"])

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._service, self._query = service, None
        self._refresh()

    def _refresh(self) -> None:
        version = self._state.version
        if self._service is None or version is None or self._state.view != "files":
            return
        if self._query is None or self._query.version != version:
            self._head.html = _render_head(version)
            self._table.html = render_waiting(
                f"Reading the files of version {format_count(version)}"
            )
            self._close()
            self._ask(FileQuery(version=version))

    def _set_filter(self, text: str) -> None:
        if self._query is not None:
            self._ask(replace(self._query, contains=text.strip() or None, offset=0))

    def _turn(self, offset: str) -> None:
        at = parse_version(offset)
        if at is not None and self._query is not None:
            self._ask(replace(self._query, offset=at))

    def _sort(self, key: str) -> None:
        if key in _SORTABLE and self._query is not None:
            # Names begin at A, numbers at the largest: what is looked for comes first.
            first = key != "path"
            again = key == self._query.sort_by
            descending = not self._query.descending if again else first
            self._ask(replace(self._query, sort_by=key, descending=descending, offset=0))

    def _ask(self, query: FileQuery) -> None:
        service = self._service
        if service is None:
            return
        self._query = query

        def done(page: look.FilesPage) -> None:
            if service is self._service and query == self._query:
                self._page = page
                self._draw()

        def failed(problem: Problem) -> None:
            if service is self._service and query == self._query:
                self._page = None
                self._table.html = render_problem(problem)

        self._desk.runner.run(lambda: service.read_files(query), done, failed)

    def _draw(self) -> None:
        query, page = self._query, self._page
        if query is None or page is None:
            return
        rows = [build_file_row(entry, self._path) for entry in read_records(page.rows)]
        empty = "No file matches the filter." if query.contains else "This version holds no files."
        self._table.html = render_table(
            "Files of the version", COLUMNS, rows,
            sort=(query.sort_by, query.descending), empty=empty,
        ) + render_pager("files", query.offset, page.total)  # fmt: skip

    def _open(self, path: str) -> None:
        service, page, version = self._service, self._page, self._state.version
        if service is None or page is None or version is None:
            return
        entry = next((one for one in read_records(page.rows) if one["path"] == path), None)
        if entry is None:
            return
        self._path = path
        self._draw()
        open_side(self.panel, self._side)
        self._detail.html = _render_detail_head(path) + render_waiting("Reading statistics")

        def done(details: Mapping[str, Any]) -> None:
            if path == self._path:
                self._detail.html = _render_detail_head(path) + render_file(entry, details)

        def failed(problem: Problem) -> None:
            if path == self._path:
                self._detail.html = _render_detail_head(path) + render_problem(problem)

        self._desk.runner.run(lambda: service.read_file(version, path), done, failed)

    def _close(self) -> None:
        self._path = None
        close_side(self.panel, self._side)
        self._draw()

    def _export(self) -> None:
        service, query = self._service, self._query
        if service is None or query is None:
            return
        everything = replace(query, offset=0, limit=EXPORT_LIMIT)

        def work() -> str:
            page = service.read_files(everything)
            rows = [build_export_row(entry) for entry in read_records(page.rows)]
            if page.total > EXPORT_LIMIT:
                cut_off = (
                    f"cut: {EXPORT_LIMIT} of {page.total} files; `delta-explorer files` has all"
                )
                rows.append([cut_off])
            return render_csv(list(EXPORTED), rows)

        name = f"files-{query.version}.csv"
        self._desk.runner.run(work, lambda text: self._head.download(name, text), self._fail)

    def _fail(self, problem: Problem) -> None:
        self._table.html = render_problem(problem)


def _render_head(version: int) -> str:
    return (
        f'<div class="dx-head"><h3>Files of version {format_count(version)}</h3>'
        '<input type="search" data-do="filter" aria-label="Filter files" '
        'placeholder="Filter by path or partition value">'
        '<button type="button" data-do="export" data-value="">CSV</button></div>'
    )


def _render_detail_head(path: str) -> str:
    return (
        f'<div class="dx-head" data-reveal="{esc(path)}"><h3>File</h3>'
        '<span class="dx-hint"></span>'
        '<button type="button" class="dx-icon dx-close" data-do="close" data-value="" '
        'aria-label="Close" title="Close"></button></div>'
    )
