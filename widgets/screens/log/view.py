"""The files of the log folder, by kind."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.plain_arrays import read_flags
from widgets.choices import Choices, Sort
from widgets.markup import Markup, esc, html, join
from widgets.session.page_services import PageServices
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
from widgets.ui.copy_as import render_copy_as, view_commands
from widgets.ui.exporting import Export
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_problem_below
from widgets.ui.place_links import CELL_LINK, LINKED, PlaceLinks
from widgets.ui.records import read_records
from widgets.ui.table import Cell, Column, Row, render_table
from widgets.ui.view import Pane, Request, View, Words

COLUMNS = (
    Column(key="name", label="File", sortable=True, mono=True),
    Column(key="kind", label="Kind", sortable=True),
    Column(key="version", label="Version", align="right", sortable=True),
    Column(key="size", label="Size", align="right", sortable=True),
    Column(key="modified", label="Modified (UTC)", sortable=True, wide=True),
    Column(key="note", label="Note"),
)
_SORTABLE = {column.key for column in COLUMNS if column.sortable}
_FIRST = ("name", True)
"""How the files are sorted where nobody has asked for another order: the newest first."""

_DOT = "\N{MIDDLE DOT}"


@dataclass(frozen=True, slots=True)
class _Log:
    """The log folder of a table."""

    service: TableService


class LogView:
    """What lies in `_delta_log`."""

    def __init__(self, services: PageServices, state: PageState) -> None:
        self._state = state
        self._links = PlaceLinks(state, has_address=services.runner.is_background)
        self._chosen = Choices(state, "log", self._choose)
        self._table = Pane(self._render_log, noun="log files", export=self._export)
        request = replace(_LOG, top=lambda _: _render_top(self._chosen.text))
        self._view = View(services, state, "log", request, self._table)
        self.panel = build_card(self._view.top, self._table.live)
        self.show = self._view.show
        self._view.top.on("filter", self._chosen.look_for)
        self._table.live.on("sort", self._set_sort)
        self._table.live.on("commit", self._open_commit)

    def _choose(self, _: frozenset[str]) -> None:
        """Other files of the same log are shown."""
        if self._view.question is not None:
            self._view.top.html = _render_top(self._chosen.text)
        self._table.rewind()

    @property
    def _sort(self) -> Sort:
        return self._chosen.sort(_SORTABLE, _FIRST)

    def _set_sort(self, key: str) -> None:
        if key in _SORTABLE:
            by, descending = self._sort
            self._chosen.sort_by((key, not descending if key == by else False), _FIRST)

    def _open_commit(self, text: str) -> None:
        version = self._state.find_version(text)
        if version is not None:
            self._state.param.update(version=version, view="commit")

    def _found(self, frame: pa.Table) -> pa.Table:
        if text := self._chosen.text:
            found = np.zeros(frame.num_rows, dtype=np.bool_)
            for name in ("name", "kind", "note"):
                hit = pc.match_substring(frame[name], text, ignore_case=True)
                found |= read_flags(hit)
            frame = frame.filter(pa.array(found))
        key, descending = self._sort
        return frame.sort_by([(key, "descending" if descending else "ascending")])

    def _render_log(self, asked: _Log, frame: pa.Table, pages: Pages) -> Markup:
        found = self._found(frame)
        shown = read_records(found.slice(*pages.span(found.num_rows)))
        kinds = Counter(frame["kind"].to_pylist()).most_common()
        return html(
            '<p class="dx-lead">{} files, {}</p><p class="dx-muted">{}</p>{}{}{}',
            format_count(frame.num_rows),
            format_bytes(pc.sum(frame["size"]).as_py() or 0),
            f" {_DOT} ".join(f"{kind} {format_count(count)}" for kind, count in kinds),
            render_table(
                "Files of the log", COLUMNS, [*map(self._row, shown)], sort=self._sort,
                empty="No file matches the filter.",
            ),
            pages.render(found.num_rows),
            render_copy_as("log", view_commands("log", asked.service.uri, 0)),
        )  # fmt: skip

    def _row(self, entry: dict[str, Any]) -> Row:
        version, moment, note = entry["version"], entry["modified"], str(entry["note"] or "")
        name = cut_middle(str(entry["name"]), 70)
        shown = _render_name(name)
        latest = self._state.latest
        if entry["kind"] == "commit" and latest is not None and version <= latest:
            to = {"view": "commit", "version": version}
            shown = self._links.render("commit", str(version), shown, to=to, attributes=CELL_LINK)
        return Row(
            cells=(
                Cell(text=name, title=cut(str(entry["name"]), 1000), shown=shown),
                Cell(text=str(entry["kind"])),
                Cell(text="\N{EN DASH}" if version is None else format_count(version)),
                Cell(text=format_bytes(entry["size"]), title=f"{entry['size']} bytes"),
                Cell(text=format_minute(moment), title=format_time(moment)),
                Cell(text=cut(note, 120), title=cut(note, 500)),
            )
        )

    def _export(self, _: _Log, frame: pa.Table) -> Export:
        return Export.of("log-files", self._found(frame))


def _render_top(text: str) -> Markup:
    return html(
        '<div class="dx-head"><h3>Log files</h3>'
        '<input type="search" data-do="filter" aria-label="Filter log files" '
        'placeholder="Filter by name, kind or note" value="{}">'
        "{}</div>",
        text,
        EXPORT_BUTTONS,
    )


_LOG: Request[_Log, pa.Table] = Request(
    question=lambda service, _: _Log(service),
    read=lambda asked, _, __: asked.service.read_log_files(),
    words=Words(
        label="Listing the log",
        stopped="Stopped before the log was listed.",
        again="List the log",
    ),
    follows=LINKED,
    failed=render_problem_below,
)

_ZEROS = re.compile(r"(?:^|(?<=\.))(0{4,})(?=[0-9]{4,}\.)")
"""Leading zeros of a version or part, but for those of its last four digits."""


def _render_name(name: str) -> Markup:
    """The name of a file of the log, which gives up leading zeros before its ending where there
    is little room, and may be broken before each dot."""
    parts = enumerate(_ZEROS.split(name))
    return join(
        html('<span class="dx-zeros">{}</span>', part)
        if at % 2
        else esc(part).replace(".", html("<wbr>."))
        for at, part in parts
    )
