"""One file's deletion vector: which rows, by which commit, and the rows as they were."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyroaring import BitMap64

from explorer.errors import Problem
from explorer.progress import Progress, Watch
from widgets.markup import NOTHING, Markup, html, join
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
from widgets.session.asking import Question
from widgets.session.desk import Desk
from widgets.session.tables import TableService
from widgets.state import PageState, parse_version
from widgets.text import UNKNOWN, cut, format_count
from widgets.ui.boxes import build_card
from widgets.ui.live_html import LiveHtml
from widgets.ui.paging import Pages
from widgets.ui.pending import Pending, Words, untold
from widgets.ui.pieces import render_detail_head, render_problem
from widgets.ui.progress import render_progress
from widgets.ui.table import render_table
from widgets.ui.ways import command_line, python_line, render_ways

_COMMITS = "By which commit"
_ROWS = "The rows as they were"
_WORDS = Words(
    label="Reading the deletion vector",
    stopped="Stopped before the deletion vector was read.",
    again="Read the deletion vector",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    """The rows that the strip shows."""

    first: int
    last: int

    @property
    def count(self) -> int:
        """How many they are."""
        return self.last - self.first + 1


class FilePart:
    """The card of the selected file; hidden while none is."""

    def __init__(self, desk: Desk, state: PageState) -> None:
        self._state = state
        self._asked: tuple[TableService, int, str] | None = None
        self._file: FileVector | None = None
        self._window = _Window(first=0, last=0)
        self._commits: tuple[HiddenBy, ...] | None = None
        self._by: int | None = None
        self._questions = [Question(desk.runner) for _ in range(2)]
        self._head, self._strip = LiveHtml(margin=0), LiveHtml(margin=0)
        self._vector_question = Pending(desk, self._head)
        self._commit_html, self._row_html = LiveHtml(margin=0), LiveHtml(margin=0)
        self._pages = Pages(self._row_html, "hidden rows", self._read_rows)
        self.panel = build_card(self._head, self._strip, self._commit_html, self._row_html)
        self.panel.visible = False
        self._head.on("close", self._close)
        self._strip.on("zoom", self._zoom)
        self._commit_html.on("find", lambda _: self._find_commits())
        self._commit_html.on("cancel", lambda _: self._offer_commits())
        self._commit_html.on("by", self._choose_commit)
        self._row_html.on("rows", lambda _: self._read_rows())
        self._row_html.on("cancel", lambda _: self._offer_rows())

    def show(self, service: TableService, version: int) -> None:
        """The view is in front, on this version, with the file of the page."""
        path = self._state.file
        if self._asked == (service, version, path):
            return
        self._asked, self._file, self._commits, self._by = (
            (service, version, path),
            None,
            None,
            None,
        )
        self._vector_question.drop()
        for question in self._questions:
            question.drop()
        for part in (self._strip, self._commit_html, self._row_html):
            part.html = NOTHING
        self.panel.visible = bool(path)
        if path:
            work = untold(lambda watch: read_file_vector(service, version, path, watch))
            self._vector_question.ask(_WORDS, work, self._answer, head=_render_head(path))

    def _close(self, _: str) -> None:
        self._state.file = ""

    def _answer(self, file: FileVector) -> None:
        service, version, path = self._asked or (None, 0, "")
        if service is None:
            return
        self._file = file
        self._window = _Window(first=0, last=max(file.num_positions - 1, 0))
        ways = {
            "a command": command_line(
                "dv", service.uri, ["--version", str(version), "--file", path]
            ),
            "Python": python_line(
                service.uri,
                "import explorer.inspect as look\n"
                f"look.hidden_rows(table.snapshot(version={version}), {path!r}).ranges",
            ),
        }
        sentence = file_sentence(len(file.positions), file.num_records)
        self._head.html = html(
            '{}<p class="dx-lead">{}</p>{}',
            _render_head(path),
            sentence,
            render_ways("vector", ways),
        )
        if file.positions:
            self._draw_strip()
            self._offer_commits()
            self._offer_rows()

    @property
    def _shown(self) -> BitMap64:
        """The positions that are drawn: all, or those of the selected commit."""
        chosen = [found.hidden for found in self._commits or () if found.version == self._by]
        return chosen[0] if chosen else (BitMap64() if self._file is None else self._file.positions)

    def _draw_strip(self) -> None:
        file, window = self._file, self._window
        if file is None:
            return
        bins = build_bins(self._shown, window.first, window.last)
        inside = sum(part.hidden for part in bins)
        by = "" if self._by is None else f" by version {format_count(self._by)}"
        text = (
            f"Rows {window.first:,} to {window.last:,} of {file.num_positions:,}: "
            f"{format_count(inside)} hidden{by}"
        )
        whole = window.count >= file.num_positions
        self._strip.html = html(
            '<div class="dx-head dx-below"><h4>Which rows</h4><span class="dx-hint">{}'
            "</span><span>{}</span></div>"
            "{}{}",
            text,
            _zoom_buttons(whole=whole, single=window.count <= 2),
            render_strip(bins),
            render_bins_table(bins),
        )

    def _zoom(self, wish: str) -> None:
        file, window = self._file, self._window
        if file is None:
            return
        first, _, last = wish.partition("-")
        count, step = window.count, max(window.count // 4, 1)
        moves = {
            "in": (window.first + step, window.last - step),
            "out": (window.first - count // 2 - 1, window.last + count // 2 + 1),
            "left": (window.first - step, window.last - step),
            "right": (window.first + step, window.last + step),
            "all": (0, file.num_positions - 1),
        }
        wanted = moves.get(wish, (parse_version(first), parse_version(last)))
        if wanted[0] is None or wanted[1] is None:
            return
        self._window = _fit(wanted[0], wanted[1], file.num_positions)
        self._draw_strip()
        self._offer_rows()

    def _offer_commits(self) -> None:
        self._questions[0].drop()
        self._commit_html.html = _render_offer(
            _COMMITS, "find", "Find the commits",
            "Every commit of the log is read for it, and each vector that the file had.",
        )  # fmt: skip

    def _find_commits(self) -> None:
        file, service = self._file, self._asked[0] if self._asked else None
        if file is None or service is None:
            return
        self._ask(
            self._questions[0],
            self._commit_html,
            _COMMITS,
            lambda watch: read_hiding_commits(service, file, watch),
            self._tell_commits,
        )

    def _tell_commits(self, found: tuple[HiddenBy, ...]) -> None:
        self._commits = found
        self._draw_commits()

    def _draw_commits(self) -> None:
        file, commits = self._file, self._commits
        if file is None or commits is None:
            return
        total = len(file.positions)
        rows = [build_commit_row(found, total, self._by) for found in reversed(commits)]
        table = render_table(
            "Commits that hid rows of the file", COMMIT_COLUMNS, rows,
            empty="No commit of the log that is left tells of it.",
        )  # fmt: skip
        note = (
            html('<p class="dx-muted">Click a commit to see its rows alone.</p>')
            if rows
            else NOTHING
        )
        self._commit_html.html = html("<h4>{}</h4>{}{}", _COMMITS, note, table)

    def _choose_commit(self, version: str) -> None:
        chosen = parse_version(version)
        self._by = None if chosen == self._by else chosen
        self._draw_commits()
        self._draw_strip()
        self._offer_rows()

    def _offer_rows(self) -> None:
        self._questions[1].drop()
        self._pages.rewind()
        self._row_html.html = _render_offer(
            _ROWS, "rows", "Show the hidden rows of this window",
            "They are still in the data file, which is read from its start as far as they lie.",
        )  # fmt: skip

    def _read_rows(self) -> None:
        file, shown, window = self._file, self._shown, self._window
        if file is None:
            return
        before = count_below(shown, window.first)
        total = count_below(shown, window.last + 1) - before
        if not total:
            self._row_html.html = html(
                '<h4>{}</h4><p class="dx-muted">No row of this window is hidden.</p>', _ROWS
            )
            return
        offset, limit = self._pages.span(total)
        positions = list(shown[before + offset : before + min(offset + limit, total)])
        facts = [(position, self._hidden_by(position)) for position in positions]

        def work(watch: Watch) -> Markup:
            names, rows = read_rows_at(file, positions, watch)
            return render_hidden_rows(names, rows, facts)

        def done(table: Markup) -> None:
            self._row_html.html = html("<h4>{}</h4>{}{}", _ROWS, table, self._pages.render(total))

        self._ask(self._questions[1], self._row_html, _ROWS, work, done)

    def _hidden_by(self, position: int) -> str:
        if self._commits is None:
            return "\N{EN DASH}"
        found = [one.version for one in self._commits if position in one.hidden]
        return f"version {format_count(found[0])}" if found else UNKNOWN

    def _ask(
        self,
        question: Question,
        part: LiveHtml,
        title: str,
        work: Callable[[Watch], object],
        done: Callable[..., None],
    ) -> None:
        def report(progress: Progress) -> None:
            part.html = html("<h4>{}</h4>{}", title, render_progress(progress))

        def failed(problem: Problem) -> None:
            part.html = html("<h4>{}</h4>{}", title, render_problem(problem))

        report(Progress(done=0, total=None, label="Reading"))
        question.ask(work, done, failed, report)


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
            wish,
            label,
            label,
            _render_key(key),
            " disabled" if disabled else "",
        )
        for wish, name, label, key, disabled in buttons
    )
    off = " disabled" if whole else ""
    return html(
        '{}<button type="button" data-do="zoom" data-value="all"{}>All rows</button>', drawn, off
    )


def _render_key(key: str) -> Markup:
    return html(' data-key="{}"', key) if key else NOTHING


def _render_offer(title: str, action: str, label: str, cost: str) -> Markup:
    return html(
        '<h4>{}</h4><p class="dx-muted">{}</p><div class="dx-buttons"><button '
        'type="button" class="dx-outlined" data-do="{}" data-value="">{}</button></div>',
        title,
        cost,
        action,
        label,
    )


def _render_head(path: str) -> Markup:
    hint = html("<code>{}</code>", cut(path, 300))
    return render_detail_head(path, html("<h3>Hidden rows of a file</h3>"), hint)
