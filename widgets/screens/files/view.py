"""The files of a version: a page at a time, sorted, filtered, one opened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

import explorer.inspect as look
from explorer.errors import Problem
from explorer.progress import Watch
from widgets.markup import NOTHING, Markup, html
from widgets.screens.files.parts import (
    COLUMNS,
    EXPORTED,
    build_export_row,
    build_file_row,
    render_file,
)
from widgets.session.desk import Desk
from widgets.session.tables import FileQuery, TableService
from widgets.state import PageState, parse_version
from widgets.text import format_count
from widgets.ui.boxes import build_card, build_split, close_side, open_side
from widgets.ui.exporting import Export, Exports
from widgets.ui.exports import EXPORT_BUTTONS, convert
from widgets.ui.live_html import LiveHtml
from widgets.ui.pending import Pending, Words, untold
from widgets.ui.pieces import (
    render_detail_head,
    render_problem,
    render_problem_below,
    render_waiting,
)
from widgets.ui.records import read_records
from widgets.ui.table import PAGE_ROWS, render_pager, render_table
from widgets.ui.ways import render_ways, view_ways

EVERY_FILE = 2**31
"""More than a version can hold."""

_SORTABLE = {column.key for column in COLUMNS if column.sortable}


class FilesView:
    """Live files by the log; nothing of them is opened."""

    def __init__(self, desk: Desk, state: PageState) -> None:
        self._desk = desk
        self._state = state
        self._service: TableService | None = None
        self._query: FileQuery | None = None
        self._page: look.FilesPage | None = None
        self._path: tuple[int, str] | None = None
        self._head = LiveHtml(margin=0)
        self._table = LiveHtml(margin=0)
        self._detail, self._ways = LiveHtml(margin=0), LiveHtml(margin=0)
        self._question = Pending(desk, self._table, keeps=True)
        self._side = build_card(self._detail)
        self.panel = build_split(build_card(self._head, self._table, self._ways), self._side)
        close_side(self.panel, self._side)
        self._head.on("filter", self._set_filter)
        self._exports = Exports(desk, state, self._head, self._chosen)
        self._table.on("page", self._turn)
        self._table.on("sort", self._sort)
        self._table.on("file", self._open)
        self._detail.on("close", lambda _: state.param.update(file=""))
        state.param.watch(lambda *_: self._refresh(), ["version", "view", "file"])

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
            self._page, self._table.html = None, NOTHING
            self._close()
            self._ask(FileQuery(version=version))
            self._ways.html = render_ways("files", view_ways("files", self._service.uri, version))
        self._select()

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
            self._page = page
            self._draw()

        def failed(problem: Problem) -> Markup:
            self._page = None
            return render_problem_below(problem)

        work = untold(lambda watch: service.read_files(query, watch))
        self._question.ask(_words(query.version), work, done, failed=failed)

    def _draw(self) -> None:
        query, page = self._query, self._page
        if query is None or page is None:
            return
        rows = [build_file_row(entry, self._state.file) for entry in read_records(page.rows)]
        empty = "No file matches the filter." if query.contains else "This version holds no files."
        self._table.html = render_table(
            "Files of the version", COLUMNS, rows,
            sort=(query.sort_by, query.descending), empty=empty,
        ) + render_pager("files", query.offset, page.total)  # fmt: skip

    def _open(self, path: str) -> None:
        self._state.file = "" if path == self._state.file else path

    def _select(self) -> None:
        """Show the file that the address names, whichever page of the table it is on."""
        service, version, path = self._service, self._state.version, self._state.file
        if service is None or version is None or self._state.view != "files":
            return
        if not path:
            self._close()
            return
        if self._path == (version, path):
            return
        self._path = (version, path)
        self._draw()
        open_side(self.panel, self._side)
        self._detail.html = _render_detail_head(path) + render_waiting("Reading statistics")

        def work() -> Markup:
            rows = read_records(service.read_files(_query_of(version, path)).rows)
            entry = next((row for row in rows if row["path"] == path), None)
            if entry is None:
                return _NOT_THERE
            return render_file(entry, service.read_file(version, path))

        def done(about: Markup) -> None:
            if self._path == (version, path):
                self._detail.html = _render_detail_head(path) + about

        def failed(problem: Problem) -> None:
            if self._path == (version, path):
                self._detail.html = _render_detail_head(path) + render_problem(problem)

        self._desk.runner.run(work, done, failed)

    def _close(self) -> None:
        self._path = None
        close_side(self.panel, self._side)
        self._draw()

    def _chosen(self) -> Export | None:
        service, query = self._service, self._query
        if service is None or query is None:
            return None

        def read(watch: Watch) -> Iterator[pa.Table]:
            everything = replace(query, offset=0, limit=EVERY_FILE)
            return convert(service.read_files(everything, watch).rows, EXPORTED, build_export_row)

        return Export(stem=f"files-{query.version}", read=read)


_NOT_THERE = html('<p class="dx-muted">This version does not hold the file.</p>')


def _words(version: int) -> Words:
    return Words(
        label=f"Reading the files of version {format_count(version)}",
        stopped="Stopped before the files were read.",
        again="Read the files",
    )


def _query_of(version: int, path: str) -> FileQuery:
    return FileQuery(version=version, contains=path, limit=PAGE_ROWS)


def _render_head(version: int) -> Markup:
    return html(
        '<div class="dx-head"><h3>Files of version {}</h3>'
        '<input type="search" data-do="filter" aria-label="Filter files" '
        'placeholder="Filter by path or partition value">'
        "{}</div>",
        format_count(version),
        EXPORT_BUTTONS,
    )


def _render_detail_head(path: str) -> Markup:
    return render_detail_head(path, html("<h3>File</h3>"))
