"""The commits as a table: filtered, paged, one of them selected."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from widgets.components.boxes import build_card
from widgets.components.live_html import LiveHtml
from widgets.components.paging import Pages
from widgets.components.records import read_records
from widgets.components.table import Cell, Column, Row, render_table
from widgets.figures.commits import Commits, Flags, Ints, read_flags
from widgets.state import HistoryState, PageState, parse_version
from widgets.text import (
    UNKNOWN,
    cut,
    format_change,
    format_count,
    format_minute,
    format_signed,
    format_signed_bytes,
    format_time,
    render_csv,
)
from widgets.theme import lane_of

COLUMNS = (
    Column(key="version", label="Version", align="right"),
    Column(key="timestamp", label="Committed (UTC)"),
    Column(key="operation", label="Operation"),
    Column(key="user", label="User"),
    Column(key="files", label="Files", align="right"),
    Column(key="rows", label="Rows", align="right", wide=True),
    Column(key="bytes", label="Size change", align="right"),
)

_SEARCHED = ("operation", "user_name", "engine_info")
_EXPORTED = (
    "version", "timestamp", "operation", "user_name", "engine_info", "files_added",
    "files_removed", "rows_added", "rows_removed", "bytes_added", "bytes_removed",
    "is_checkpoint", "problem",
)  # fmt: skip


class CommitsView:
    """What the timeline shows, in words."""

    def __init__(self, state: PageState, history: HistoryState) -> None:
        self._state = state
        self._history = history
        self._filter = ""
        self._head = LiveHtml(
            '<div class="dx-head"><h3>Commits</h3><input type="search" data-do="filter" '
            'aria-label="Filter commits" '
            'placeholder="Filter by version, user, operation or engine">'
            '<button type="button" data-do="export" data-value="">CSV</button></div>',
            margin=0,
        )
        self._table = LiveHtml(margin=0)
        self._pages = Pages(self._table, "commits", self._draw)
        self.panel = build_card(self._head, self._table, place="dx-fourth")
        self._head.on("filter", self._set_filter)
        self._head.on("export", lambda _: self._export())
        self._table.on("select", self._select)
        history.param.watch(lambda *_: self._draw(), "commits")
        state.param.watch(lambda *_: self._follow(), "version")

    def _set_filter(self, text: str) -> None:
        self._filter = text.strip()
        self._pages.rewind()
        self._draw()

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
        """Rows that the filter lets through, newest first."""
        newest_first: Ints = np.arange(len(commits.version))[::-1]
        if not self._filter:
            return newest_first
        found: Ints = newest_first[_matches(commits, self._filter)[newest_first]]
        return found

    def _draw(self) -> None:
        commits: Commits | None = self._history.commits
        if commits is None:
            self._table.html = ""
            return
        shown = self._found(commits)
        offset, limit = self._pages.span(len(shown))
        page = shown[offset : offset + limit]
        frame = commits.frame.take(pa.array(page))
        rows = [_row(entry, self._state.version) for entry in read_records(frame)]
        self._table.html = render_table(
            "Commits, newest first", COLUMNS, rows, empty="No commit matches the filter."
        ) + self._pages.render(len(shown))

    def _export(self) -> None:
        commits: Commits | None = self._history.commits
        if commits is None:
            return
        frame = commits.frame.take(pa.array(self._found(commits))).select(_EXPORTED)
        rows = [[_plain(value) for value in row.values()] for row in read_records(frame)]
        self._head.download("commits.csv", render_csv(list(_EXPORTED), rows))


def _plain(value: object) -> object:
    return value.isoformat() if hasattr(value, "isoformat") else value


def _matches(commits: Commits, text: str) -> Flags:
    matches: Flags = np.zeros(len(commits.version), dtype=np.bool_)
    for name in _SEARCHED:
        hit = pc.match_substring(commits.frame[name], text, ignore_case=True)
        matches |= read_flags(hit)
    version = parse_version(text)
    return matches if version is None else matches | (commits.version == version)


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
            _change_cell(entry["files_added"], entry["files_removed"]),
            _change_cell(entry["rows_added"], entry["rows_removed"]),
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


def _change_cell(added: object, removed: object) -> Cell:
    text = format_change(added, removed)  # type: ignore[arg-type]
    return Cell(text=text, muted=text == UNKNOWN)
