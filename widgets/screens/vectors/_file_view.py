"""One file's deletion vector: which rows, by which commit, and the rows as they were."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
from pyroaring import BitMap64

from explorer.progress import Watch
from widgets.markup import NOTHING, Markup, html, join
from widgets.screens.rows.ask import Rows, plain_rows
from widgets.screens.vectors._ask import (
    FileVector,
    HiddenBy,
    build_bins,
    count_below,
    read_file_vector,
    read_hiding_commits,
    read_rows_at,
)
from widgets.screens.vectors._parts import (
    COMMIT_COLUMNS,
    build_commit_row,
    file_sentence,
    render_bins_table,
    render_hidden_rows,
    render_strip,
)
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.state import PageState, parse_version
from widgets.text import UNKNOWN, cut, format_count
from widgets.ui.boxes import build_card
from widgets.ui.copy_as import command_line, python_line, render_copy_as
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_detail_head
from widgets.ui.table import PAGE_ROWS, render_pager, render_table
from widgets.ui.view import Offer, Pane, Request, View, Words

FREE_COMMITS = 1_000
"""Commits that are read for a file without being asked for: that takes a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    """The rows that the strip shows."""

    first: int
    last: int

    @property
    def count(self) -> int:
        """How many they are."""
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class _Path:
    """A file of a version, by its path."""

    service: TableService
    version: int
    path: str


@dataclass(frozen=True, slots=True)
class _Vector:
    """The deletion vector of a file, which hides at least one row."""

    service: TableService
    file: FileVector


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """A page of the hidden rows at `positions` within a window of a file."""

    file: FileVector
    positions: BitMap64
    window: _Window
    offset: int = 0

    @property
    def total(self) -> int:
        """How many there are on all pages."""
        return count_below(self.positions, self.window.last + 1) - self._before

    @property
    def page(self) -> list[int]:
        """The positions of those on this page, ascending."""
        start = self._before + self.offset
        end = self._before + min(self.offset + PAGE_ROWS, self.total)
        return list(self.positions[start:end])

    @property
    def _before(self) -> int:
        return count_below(self.positions, self.window.first)


class FilePart:
    """The card of the selected file; hidden while none is."""

    def __init__(self, services: PageServices, state: PageState) -> None:
        self._window: _Window | None = None
        self._by: int | None = None
        head, strip = Pane(_render_vector, head=_render_head), Pane(self._render_strip)
        self._vector = View(services, state, "vectors", _VECTOR, head, strip)
        commits = Pane(self._render_commits, head=_COMMITS_HEAD)
        self._commits = View(
            services, state, "vectors", self._commits_request(), commits, after=(self._vector,)
        )
        rows = Pane(self._render_rows, head=_ROWS_HEAD)
        self._rows = View(
            services,
            state,
            "vectors",
            self._rows_request(),
            rows,
            after=(self._vector, self._commits),
        )
        self.panel = build_card(head.live, strip.live, commits.live, rows.live, place="dx-beside")
        self.panel.visible = False
        self._vector.listen(self._fit_card)
        head.live.on("close", lambda _: state.param.update(file=""))
        strip.live.on("zoom", self._zoom)
        commits.live.on("by", self._choose_commit)
        rows.live.on("page", self._turn)

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        for view in (self._vector, self._commits, self._rows):
            view.show(service)

    def _fit_card(self) -> None:
        self.panel.visible = self._vector.question is not None
        if self._vector.answer is None:
            self._window = self._by = None

    def _commits_request(self) -> Request[_Vector, tuple[HiddenBy, ...]]:
        def vector(service: TableService, _: PageState) -> _Vector | None:
            file = self._vector.answer
            return None if file is None or not file.positions else _Vector(service, file)

        return Request(
            question=vector,
            read=lambda asked, watch, _: read_hiding_commits(asked.service, asked.file, watch),
            words=Words(
                label="Reading the commits",
                stopped="Stopped before every commit was read.",
                again="Find the commits",
            ),
            offer=Offer(action="find", render=_offer_commits),
        )

    def _rows_request(self) -> Request[_Rows, Rows]:
        def hidden(*_: object) -> _Rows | None:
            file = self._vector.answer
            if file is None or not file.positions:
                return None
            return _Rows(file=file, positions=self._shown(file), window=self._within(file))

        return Request(
            question=hidden,
            read=_read_rows,
            words=Words(
                label="Reading rows",
                stopped="Stopped before the rows were read.",
                again="Show the soft-deleted rows of this window",
            ),
            offer=Offer(action="rows", render=lambda _: _ROWS_OFFER),
        )

    def _within(self, file: FileVector) -> _Window:
        return self._window or _Window(first=0, last=max(file.num_positions - 1, 0))

    def _shown(self, file: FileVector) -> BitMap64:
        """The positions that are drawn: all, or those of the selected commit."""
        chosen = [one.hidden for one in self._commits.answer or () if one.version == self._by]
        return chosen[0] if chosen else file.positions

    def _render_strip(self, _: _Path, file: FileVector, __: Pages) -> Markup:
        if not file.positions:
            return NOTHING
        window = self._within(file)
        bins = build_bins(self._shown(file), window.first, window.last)
        inside = sum(part.hidden for part in bins)
        by = "" if self._by is None else f" by version {format_count(self._by)}"
        text = (
            f"Rows {window.first:,} to {window.last:,} of {file.num_positions:,}: "
            f"{format_count(inside)} soft-deleted{by}"
        )
        whole = window.count >= file.num_positions
        return html(
            '<div class="dx-head dx-below"><h4>Which rows</h4><span class="dx-hint">{}'
            "</span><span>{}</span></div>"
            "{}{}",
            text,
            _zoom_buttons(whole=whole, single=window.count <= 2),
            render_strip(bins),
            render_bins_table(bins),
        )

    def _zoom(self, move: str) -> None:
        file = self._vector.answer
        if file is None:
            return
        window = self._within(file)
        first, _, last = move.partition("-")
        count, step = window.count, max(window.count // 4, 1)
        moves = {
            "in": (window.first + step, window.last - step),
            "out": (window.first - count // 2 - 1, window.last + count // 2 + 1),
            "left": (window.first - step, window.last - step),
            "right": (window.first + step, window.last + step),
            "all": (0, file.num_positions - 1),
        }
        wanted = moves.get(move, (parse_version(first), parse_version(last)))
        if wanted[0] is None or wanted[1] is None:
            return
        self._window = _fit(wanted[0], wanted[1], file.num_positions)
        self._vector.refresh()
        self._rows.refresh()

    def _choose_commit(self, version: str) -> None:
        chosen = parse_version(version)
        self._by = None if chosen == self._by else chosen
        for view in (self._vector, self._commits, self._rows):
            view.refresh()

    def _render_commits(self, asked: _Vector, commits: tuple[HiddenBy, ...], _: Pages) -> Markup:
        total = len(asked.file.positions)
        rows = [build_commit_row(found, total, self._by) for found in reversed(commits)]
        table = render_table(
            "Commits that hid rows of the file", COMMIT_COLUMNS, rows,
            empty="No commit in the remaining log tells of it.",
        )  # fmt: skip
        return (_CLICK if rows else NOTHING) + table

    def _turn(self, offset: str) -> None:
        at, asked = parse_version(offset), self._rows.question
        if at is not None and asked is not None:
            last = max(asked.total - 1, 0)
            self._rows.ask(replace(asked, offset=min(at, last) // PAGE_ROWS * PAGE_ROWS))

    def _render_rows(self, asked: _Rows, found: Rows, _: Pages) -> Markup:
        if not asked.total:
            return html('<p class="dx-muted">No row of this window is soft-deleted.</p>')
        facts = [(position, self._hidden_by(position)) for position in asked.page]
        pager = render_pager("soft-deleted rows", asked.offset, asked.total)
        return render_hidden_rows(found, facts) + pager

    def _hidden_by(self, position: int) -> str:
        if self._commits.answer is None:
            return "\N{EN DASH}"
        found = [one.version for one in self._commits.answer if position in one.hidden]
        return f"version {format_count(found[0])}" if found else UNKNOWN


def _path(service: TableService, state: PageState) -> _Path | None:
    if state.version is None or not state.file:
        return None
    return _Path(service, state.version, state.file)


def _render_vector(asked: _Path, file: FileVector, _: Pages) -> Markup:
    uri = asked.service.uri
    commands = {
        "CLI": command_line("dv", uri, ["--version", str(asked.version), "--file", asked.path]),
        "Python": python_line(
            uri,
            "import explorer.inspect as look\n"
            f"look.hidden_rows(table.snapshot(version={asked.version}), {asked.path!r}).ranges",
        ),
    }
    return html(
        '<p class="dx-lead">{}</p>{}',
        file_sentence(len(file.positions), file.num_records),
        render_copy_as("vector", commands),
    )


def _read_rows(asked: _Rows, watch: Watch, _: object) -> Rows:
    return read_rows_at(asked.file, asked.page, watch) if asked.total else plain_rows(pa.table({}))


def _fit(first: int, last: int, count: int) -> _Window:
    """A window within the file, of at least one row."""
    last = min(max(last, first), first + count - 1)
    first, last = (first - min(first, 0), last - min(first, 0))
    over = max(last - (count - 1), 0)
    return _Window(first=max(first - over, 0), last=max(min(last, count - 1), 0))


def _zoom_buttons(*, whole: bool, single: bool) -> Markup:
    buttons = (
        ("left", "dx-previous", "Rows before", "", whole),
        ("right", "dx-next", "Rows after", "", whole),
        ("out", "dx-minus", "Zoom out", "-", whole),
        ("in", "dx-plus", "Zoom in", "+", single),
    )
    drawn = join(
        html(
            '<button type="button" class="dx-icon {}" data-do="zoom" data-value="{}" '
            'aria-label="{}" title="{}"{}'
            "{}></button>",
            name,
            move,
            label,
            label,
            _render_key(key),
            " disabled" if disabled else "",
        )
        for move, name, label, key, disabled in buttons
    )
    off = " disabled" if whole else ""
    return html(
        '{}<button type="button" data-do="zoom" data-value="all"{}>All rows</button>', drawn, off
    )


def _render_key(key: str) -> Markup:
    return html(' data-key="{}"', key) if key else NOTHING


def _render_offer(action: str, label: str, cost: str) -> Markup:
    return html(
        '<p class="dx-muted">{}</p><div class="dx-buttons"><button '
        'type="button" class="dx-outlined" data-do="{}" data-value="">{}</button></div>',
        cost,
        action,
        label,
    )


def _render_head(asked: _Path, _: FileVector | None) -> Markup:
    hint = html("<code>{}</code>", cut(asked.path, 300))
    return render_detail_head(asked.path, html("<h3>Soft-deleted rows of a file</h3>"), hint)


def _offer_commits(asked: _Vector) -> Markup | None:
    """The commits of a short log are read without being asked for."""
    return None if asked.file.snapshot.version < FREE_COMMITS else _COMMITS_OFFER


_COMMITS_HEAD = html("<h4>By which commit</h4>")
_COMMITS_OFFER = _render_offer(
    "find", "Find the commits",
    "Every commit of the log is read for it, and each vector that the file had.",
)  # fmt: skip
_ROWS_HEAD = html("<h4>The rows as they were</h4>")
_ROWS_OFFER = _render_offer(
    "rows", "Show the soft-deleted rows of this window",
    "They are still in the data file, which is read from its start as far as they lie.",
)  # fmt: skip
_CLICK = html('<p class="dx-muted">Click a commit to see its rows alone.</p>')
_VECTOR: Request[_Path, FileVector] = Request(
    question=_path,
    read=lambda asked, watch, _: read_file_vector(asked.service, asked.version, asked.path, watch),
    words=Words(
        label="Reading the deletion vector",
        stopped="Stopped before the deletion vector was read.",
        again="Read the deletion vector",
    ),
    follows=("version", "file"),
)
