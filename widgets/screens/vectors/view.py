"""Deletion vectors of a version: density by file, cost, and the selected file's rows."""

from __future__ import annotations

from functools import partial

from widgets.markup import Markup, html
from widgets.screens.vectors._ask import Vectors, read_vectors
from widgets.screens.vectors._file_view import FilePart
from widgets.screens.vectors._parts import (
    DENSITY_COLUMNS,
    EXPORTED,
    build_density_row,
    vector_figures,
    vectors_sentence,
)
from widgets.session.desk import Desk
from widgets.session.tables import TableService
from widgets.state import PageState
from widgets.text import format_count
from widgets.ui.boxes import build_card, build_stack
from widgets.ui.exporting import Export, Exports
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.live_html import LiveHtml
from widgets.ui.paging import Pages
from widgets.ui.pending import Pending, Words
from widgets.ui.pieces import render_key_figures
from widgets.ui.records import read_records
from widgets.ui.table import render_table
from widgets.ui.ways import command_line, python_line, render_ways
from widgets.ui.wishes import render_wish
from widgets.ui.wishing import follow_wish

_SORTABLE = {column.key for column in DENSITY_COLUMNS if column.sortable}


class VectorsView:
    """The files with a vector, and below them the one that is selected."""

    def __init__(self, desk: Desk, state: PageState) -> None:
        self._state = state
        self._service: TableService | None = None
        self._version: int | None = None
        self._vectors: Vectors | None = None
        self._sort = ("fraction_deleted", True)
        self._html = LiveHtml(margin=0)
        self._question = Pending(desk, self._html)
        self._pages = Pages(self._html, "files", self._draw)
        self._file = FilePart(desk, state)
        self.panel = build_stack(build_card(self._html), self._file.panel)
        self._html.on("file", self._choose)
        self._html.on("sort", self._set_sort)
        self._html.on("wish", partial(follow_wish, state))
        self._exports = Exports(desk, state, self._html, self._chosen)
        state.param.watch(lambda *_: self._refresh(), ["version", "file", "view"])

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._service, self._version = service, None
        self._refresh()

    def _refresh(self) -> None:
        service, version = self._service, self._state.version
        if service is None or version is None or self._state.view != "vectors":
            return
        if self._version != version:
            self._version, self._vectors = version, None
            self._pages.rewind()
            self._question.ask(
                _WORDS,
                lambda watch, tell: read_vectors(service, version, watch, tell),
                self._answer,
                head=_render_head(version),
            )
        else:
            self._draw()
        self._file.show(service, version)

    def _answer(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._draw()

    def _draw(self) -> None:
        vectors, service, version = self._vectors, self._service, self._version
        if vectors is None or service is None or version is None:
            return
        lead = html('<p class="dx-lead">{}</p>', vectors_sentence(vectors))
        if not vectors.frame.num_rows:
            self._html.html = html(
                "<h3>Deletion vectors of version {}</h3>{}", format_count(version), lead
            )
            return
        total = vectors.frame.num_rows
        offset, limit = self._pages.span(total)
        entries = read_records(vectors.frame.slice(offset, limit))
        rows = [build_density_row(entry, self._state.file) for entry in entries]
        table = render_table("Files with a deletion vector", DENSITY_COLUMNS, rows, sort=self._sort)
        ways = {
            "a command": command_line("dv", service.uri, ["--version", str(version)]),
            "Python": python_line(
                service.uri,
                "import explorer.inspect as look\n"
                f"look.deletion_vectors(table.snapshot(version={version}))",
            ),
        }
        self._html.html = html(
            '{}{}{}{}{}<div class="dx-buttons">{}</div>{}',
            _render_head(version),
            lead,
            render_key_figures(vector_figures(vectors)),
            table,
            self._pages.render(total),
            _PURGE,
            render_ways("vectors", ways),
        )

    def _choose(self, path: str) -> None:
        self._state.file = "" if path == self._state.file else path

    def _set_sort(self, key: str) -> None:
        vectors = self._vectors
        if key not in _SORTABLE or vectors is None:
            return
        descending = not self._sort[1] if key == self._sort[0] else key != "path"
        self._sort = (key, descending)
        order = "descending" if descending else "ascending"
        self._vectors = vectors.sorted([(key, order), ("path", "ascending")])
        self._pages.rewind()
        self._draw()

    def _chosen(self) -> Export | None:
        if self._vectors is None:
            return None
        frame = self._vectors.frame.select(list(EXPORTED))
        return Export.of(f"deletion-vectors-{self._version}", frame)


_WORDS = Words(
    label="Reading the log",
    stopped="Stopped before the deletion vectors of all files were found.",
    again="Find the deletion vectors",
)
_PURGE = render_wish("Plan a purge", "optimize", {"what": "purge"})


def _render_head(version: int) -> Markup:
    return html(
        '<div class="dx-head"><h3>Deletion vectors of version {}</h3>'
        '<span class="dx-hint">click a file for its rows</span>'
        "{}</div>",
        format_count(version),
        EXPORT_BUTTONS,
    )
