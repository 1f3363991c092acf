"""The commits as a table: filtered, paged, one of them selected."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pyarrow as pa

from widgets.choices import Choices
from widgets.figures.commits import SORTINGS, Commits, Ints, Sorting, build_order
from widgets.markup import NOTHING, html
from widgets.screens.commits._removed_rows import RemovedRows
from widgets.screens.commits.filter_view import CommitFilter, read_shown
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.state import VIEW_OF_A_VERSION, HistoryState, PageState, parse_version
from widgets.text import (
    UNKNOWN,
    cut,
    format_change,
    format_count,
    format_file_change,
    format_many,
    format_minute,
    format_signed,
    format_signed_bytes,
    format_time,
)
from widgets.theme import lane_of
from widgets.ui.boxes import build_card
from widgets.ui.copy_as import render_copy_as, view_commands
from widgets.ui.exporting import Export, Exports
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.live_html import LiveHtml
from widgets.ui.paging import Pages
from widgets.ui.place_links import LINKED, PlaceLinks
from widgets.ui.records import read_records
from widgets.ui.table import Cell, Column, Row, render_above_list, render_table

COLUMNS = (
    Column(key="version", label="Version", align="right", sortable=True),
    Column(key="timestamp", label="Committed (UTC)"),
    Column(key="operation", label="Operation", shrinks=True),
    Column(key="user", label="User", wide=True, shrinks=True),
    Column(key="rows", label="Rows", align="right", sortable=True),
    Column(key="files", label="Files", align="right", sortable=True),
    Column(key="bytes", label="Size change", align="right", sortable=True),
)

_EXPORTED = (
    "version", "timestamp", "operation", "user_name", "engine_info", "predicate", "message",
    "files_added",
    "files_removed", "deletion_vectors_added",
    "rows_added", "rows_removed", "bytes_added", "bytes_removed",
    "is_checkpoint", "problem",
)  # fmt: skip


_FIRST = ("version", True)
"""How commits are sorted where nobody has asked for another order: the newest first."""


class CommitsView:
    """What the timeline shows, in words."""

    def __init__(self, services: PageServices, state: PageState, history: HistoryState) -> None:
        self._state = state
        self._history = history
        self._runner = services.runner
        self._links = PlaceLinks(state, has_address=services.runner.is_background)
        self._filter = CommitFilter(state, history)
        self._head = LiveHtml(
            html(
                '<div class="dx-head"><h3>Commits</h3><span class="dx-hint"></span>{}</div>',
                EXPORT_BUTTONS,
            ),
            margin=0,
        )
        self._table, self.copy_as = LiveHtml(margin=0), LiveHtml(margin=0)
        self._sorted = Choices(state, "commits", lambda _: self._refilter())
        self._removed = RemovedRows(services, history)
        self._uri = ""
        self._pages = Pages(self._table, "commits", self._draw)
        # what was chosen is the next stop of the Tab key after its list: commands stand elsewhere
        self.panel = build_card(self._head, self._filter.panel, self._table, place="dx-second")
        self._exports = Exports(services, state, self._head, self._chosen)
        self._table.on("select", self._select)
        self._table.on("sort", self._sort_by)
        history.param.watch(lambda *_: self._draw(), ["commits", "reading"])
        state.param.watch(lambda *_: self._follow(), "version")
        state.param.watch(lambda *_: self._refilter(), "only")
        held = [name for name in LINKED if name not in {"version", "only", "commits"}]
        state.param.watch(lambda *_: self._renew_links(), [*held, "view"])

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._uri = service.uri
        self._removed.show(service)

    def _renew_links(self) -> None:
        """What the links of the rows hold of the page is another."""
        if self._state.view == VIEW_OF_A_VERSION and self._history.commits is not None:
            # after what is in front has come
            self._runner.post(self._draw)

    def _refilter(self) -> None:
        self._pages.rewind()
        self._draw()

    @property
    def _sort(self) -> tuple[Sorting, bool]:
        by, descending = self._sorted.sort(SORTINGS, _FIRST)
        return cast("Sorting", by), descending

    def _sort_by(self, column: str) -> None:
        """Largest first; the same column again turns the order round."""
        if column in SORTINGS:
            by, descending = self._sort
            self._sorted.sort_by((column, not descending if column == by else True), _FIRST)

    def _select(self, version: str) -> None:
        chosen = parse_version(version)
        if chosen is not None:
            self._state.version = chosen

    def _follow(self) -> None:
        """Turn to the page of the selected commit."""
        commits: Commits | None = self._history.commits
        if commits is None:
            return
        shown = self._found(commits)
        at = np.flatnonzero(commits.version[shown] == self._state.version)
        if len(at):
            self._pages.reach(int(at[0]))
        self._draw()

    def _found(self, commits: Commits) -> Ints:
        """Rows that the filter lets through, in the order that was chosen."""
        order = build_order(commits, *self._sort)
        shown = read_shown(commits, self._state.only)
        return order if shown is None else order[shown[order]]

    def _draw(self) -> None:
        commits: Commits | None = self._history.commits
        if commits is None:
            self._table.html = self.copy_as.html = NOTHING
            return
        shown = self._found(commits)
        offset, limit = self._pages.span(len(shown))
        page = shown[offset : offset + limit]
        frame = commits.frame.take(pa.array(page))
        entries = read_records(frame)
        rows = self._links.rows(
            [_row(entry, self._state.version) for entry in entries],
            lambda version: {"version": int(version), "view": VIEW_OF_A_VERSION},
        )
        table = render_table(
            "Commits", COLUMNS, rows, sort=self._sort, empty="No commit matches the filter."
        )
        pager = render_above_list(self._pages.render(len(shown)))
        self._table.html = html('{}<div class="dx-commits">{}</div>', pager, table)
        commands = view_commands("timeline", self._state.table, self._state.version or 0)
        self.copy_as.html = render_copy_as("timeline", commands)
        # for whoever looks at it; what is listed may still be of the table before
        if self._state.view == VIEW_OF_A_VERSION and self._state.table == self._uri:
            self._removed.count(entries)

    def _chosen(self) -> Export | None:
        commits: Commits | None = self._history.commits
        if commits is None:
            return None
        found = self._found(commits)
        return Export(
            stem="commits",
            # what has been counted depends on which pages were looked at
            read=lambda _: commits.recorded.take(pa.array(found)).select(_EXPORTED),
        )


def _row(entry: dict[str, object], selected: int | None) -> Row:
    version, operation, moment = entry["version"], entry["operation"], entry["timestamp"]
    change = None
    if entry["bytes_added"] is not None and entry["bytes_removed"] is not None:
        change = int(entry["bytes_added"]) - int(entry["bytes_removed"])  # type: ignore[call-overload]
    name = str(operation or "not recorded")
    problem = entry["problem"]
    if problem:
        name = "not readable"
    return Row(
        action="select",
        value=str(version),
        selected=version == selected,
        cells=(
            Cell(text=format_count(version)),  # type: ignore[arg-type]
            Cell(text=format_minute(moment), title=format_time(moment)),  # type: ignore[arg-type]
            Cell(
                text=cut(name, 60),
                title=cut(str(problem or operation or name), 300),
                lane=lane_of(operation if isinstance(operation, str) else None),
            ),
            _text_cell(entry["user_name"]),
            _change_cell(
                entry["rows_added"],
                entry["rows_removed"],
                title=_missing_rows(entry["rows_added"], entry["rows_removed"]),
            ),
            _files_cell(
                entry["files_added"], entry["files_removed"], entry["deletion_vectors_added"]
            ),
            Cell(
                text=format_signed_bytes(change),
                title=None if change is None else f"{format_signed(change)} bytes",
                muted=change is None,
            ),
        ),
    )


def _text_cell(value: object) -> Cell:
    if not value:
        return Cell(text=UNKNOWN, muted=True)
    return Cell(text=cut(str(value), 80), title=cut(str(value), 300))


def _change_cell(added: object, removed: object, *, title: str | None = None) -> Cell:
    text = format_change(added, removed)  # type: ignore[arg-type]
    return Cell(text=text, title=title, muted=text == UNKNOWN)


def _files_cell(added: Any, removed: Any, vectors: Any) -> Cell:
    """What a commit did to files; what it has no room for is its title."""
    text = format_change(added, removed)
    if not vectors:
        return Cell(text=text, muted=text == UNKNOWN)
    return Cell(
        text=f"{text}, {format_many(vectors, 'vector')}",
        title=format_file_change(added, removed, vectors),
    )


def _missing_rows(added: object, removed: object) -> str | None:
    """How to learn what a commit does not record: some writers leave out the statistics of files
    that they remove."""
    missing = [word for word, number in (("added", added), ("removed", removed)) if number is None]
    if not missing:
        return None
    what = " and ".join(missing)
    return f"The commit does not record how many rows it {what}: open it to count them."
