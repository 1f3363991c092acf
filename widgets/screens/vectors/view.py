"""Deletion vectors of a version: density by file, cost, and the selected file's rows."""

from __future__ import annotations

from functools import partial

from widgets.choices import Choices, Sort
from widgets.markup import NOTHING, Markup, html
from widgets.screens.vectors._ask import Vectors, read_vectors
from widgets.screens.vectors._file_view import FilePart
from widgets.screens.vectors._parts import (
    DENSITY_COLUMNS,
    EXPORTED,
    build_density_row,
    vector_figures,
    vectors_sentence,
)
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.state import PageState
from widgets.text import format_count
from widgets.ui.boxes import build_card, build_even_split, close_side, open_even_side
from widgets.ui.copy_as import command_line, python_line, render_copy_as
from widgets.ui.exporting import Export
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_key_figures
from widgets.ui.place_links import LINKED, PlaceLinks
from widgets.ui.plan_links import render_step_link
from widgets.ui.plan_navigation import open_plan
from widgets.ui.records import read_records
from widgets.ui.table import render_above_list, render_table
from widgets.ui.view import AtVersion, Pane, Request, View, Words, at_version

_SORTABLE = {column.key for column in DENSITY_COLUMNS if column.sortable}


_DEFAULT_SORT = ("fraction_deleted", True)


class VectorsView:
    """The files with a vector, and beside them the one that is selected."""

    def __init__(self, services: PageServices, state: PageState) -> None:
        self._state = state
        self._links = PlaceLinks(state, has_address=services.runner.is_background)
        self._chosen = Choices(state, "vectors", lambda _: self._put_in_order())
        self._ordered = _DEFAULT_SORT
        answer = Pane(self._render_vectors, head=_render_head, noun="files", export=_export)
        self._vectors = View(services, state, "vectors", _VECTORS, answer)
        self._file = FilePart(services, state)
        self.panel = build_even_split(build_card(answer.live), self._file.panel)
        self._file.panel.param.watch(lambda _: self._fit_side(), "visible")
        self._fit_side()
        self._vectors.listen(self._put_in_order)
        answer.live.on("file", self._choose)
        answer.live.on("sort", self._set_sort)
        answer.live.on("plan-now", partial(open_plan, state))

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._vectors.show(service)
        self._file.show(service)

    def _fit_side(self) -> None:
        fit = open_even_side if self._file.panel.visible else close_side
        fit(self.panel, self._file.panel)

    def _choose(self, path: str) -> None:
        self._state.file = "" if path == self._state.file else path

    @property
    def _sort(self) -> Sort:
        return self._chosen.sort(_SORTABLE, _DEFAULT_SORT)

    def _set_sort(self, key: str) -> None:
        if key in _SORTABLE:
            by, descending = self._sort
            descending = not descending if key == by else key != "path"
            self._chosen.sort_by((key, descending), _DEFAULT_SORT)

    def _put_in_order(self) -> None:
        """The files that are shown are to be in the order that was chosen; those that are read
        come in the usual one."""
        vectors = self._vectors.answer
        if vectors is None:
            self._ordered = _DEFAULT_SORT
        elif self._ordered != self._sort:
            key, descending = self._ordered = self._sort
            order = "descending" if descending else "ascending"
            self._vectors.change(vectors.sorted([(key, order), ("path", "ascending")]))

    def _render_vectors(self, asked: AtVersion, vectors: Vectors, pages: Pages) -> Markup:
        lead = html('<p class="dx-lead">{}</p>', vectors_sentence(vectors))
        total = vectors.frame.num_rows
        if not total:
            return lead
        entries = read_records(vectors.frame.slice(*pages.span(total)))
        rows = self._links.rows(
            [build_density_row(entry, self._state.file) for entry in entries],
            lambda path: {"file": path},
        )
        uri, version = asked.service.uri, asked.version
        commands = {
            "CLI": command_line("dv", uri, ["--version", str(version)]),
            "Python": python_line(
                uri,
                "import explorer.inspect as look\n"
                f"look.deletion_vectors(table.snapshot(version={version}))",
            ),
        }
        return html(
            '{}{}<div class="dx-buttons">{}</div>{}{}',
            lead,
            render_key_figures(vector_figures(vectors)),
            _PURGE,
            render_above_list(render_copy_as("vectors", commands), pages.render(total)),
            render_table("Files with a deletion vector", DENSITY_COLUMNS, rows, sort=self._sort),
        )


def _export(asked: AtVersion, vectors: Vectors) -> Export:
    return Export.of(f"deletion-vectors-{asked.version}", vectors.frame.select(list(EXPORTED)))


def _render_head(asked: AtVersion, vectors: Vectors | None) -> Markup:
    hint, buttons = "", NOTHING
    if vectors is not None and vectors.frame.num_rows:
        hint, buttons = "click a file for its rows", EXPORT_BUTTONS
    return html(
        '<div class="dx-head"><h3>Deletion vectors of version {}</h3>'
        '<span class="dx-hint">{}</span>{}</div>',
        format_count(asked.version),
        hint,
        buttons,
    )


_PURGE = render_step_link("optimize", {"what": "purge"})
_VECTORS: Request[AtVersion, Vectors] = Request(
    question=at_version,
    read=lambda asked, watch, tell: read_vectors(asked.service, asked.version, watch, tell),
    words=Words(
        label="Reading the log",
        stopped="Stopped before the deletion vectors of all files were found.",
        again="Find the deletion vectors",
    ),
    follows=LINKED,
)
