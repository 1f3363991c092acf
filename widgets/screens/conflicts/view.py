"""Which commit stood in the way of a transaction that had read a version, and why."""

from __future__ import annotations

from widgets.markup import NOTHING, Markup, html
from widgets.screens.conflicts._ask import ConflictAnswers, read_conflicts
from widgets.screens.conflicts._parts import CONFLICT_COLUMNS, build_conflict_row
from widgets.session.desk import Desk
from widgets.session.tables import TableService
from widgets.state import LONGEST_TEXT, PageState, parse_version
from widgets.text import cut, visible
from widgets.ui.boxes import build_card, build_stack
from widgets.ui.exporting import Export, Exports
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.live_html import LiveHtml
from widgets.ui.paging import Pages
from widgets.ui.pending import Pending, Words
from widgets.ui.pieces import render_asked_problem
from widgets.ui.records import read_records
from widgets.ui.table import render_table
from widgets.ui.ways import command_line, python_line, render_ways


class ConflictsView:
    """The selected version is the one that was read, the condition says which of its rows."""

    def __init__(self, desk: Desk, state: PageState) -> None:
        self._state = state
        self._service: TableService | None = None
        self._asked: tuple[TableService, int, str, int | None] | None = None
        self._found: ConflictAnswers | None = None
        self._input, self._answer = LiveHtml(margin=0), LiveHtml(margin=0)
        self._question = Pending(desk, self._answer)
        self._pages = Pages(self._answer, "conflicts", self._draw)
        self.panel = build_stack(build_card(self._input, self._answer))
        self._input.on("read", self._pick)
        self._input.on("where", self._type)
        self._answer.on("version", self._compare)
        self._exports = Exports(desk, state, self._answer, self._chosen)
        state.param.watch(lambda *_: self._refresh(), ["version", "where", "latest", "view"])

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._service, self._asked = service, None
        self._refresh()

    def _refresh(self) -> None:
        service, version = self._service, self._state.version
        if service is None or version is None or self._state.view != "conflicts":
            return
        asked = (service, version, self._state.where, self._state.latest)
        if self._asked != asked:
            self._asked = asked
            self._input.html = _render_input(version, self._state.where)
            self._ask()

    def _pick(self, text: str) -> None:
        version = parse_version(text)
        if version is not None and version <= (self._state.latest or 0):
            self._state.version = version
        elif self._state.version is not None:
            wrong = f"{cut(text, 40)!r} is no version of this table."
            self._input.html = _render_input(self._state.version, self._state.where, wrong)

    def _type(self, where: str) -> None:
        if len(where) <= LONGEST_TEXT:
            self._state.where = where.strip()

    def _ask(self) -> None:
        if self._asked is None:
            return
        service, version, where, _ = self._asked

        self._found = None
        self._pages.rewind()
        self._question.ask(
            _WORDS,
            lambda watch, tell: read_conflicts(service, version, where, watch, tell),
            self._tell,
            failed=render_asked_problem,
        )

    def _tell(self, found: ConflictAnswers) -> None:
        self._found = found
        self._draw()

    def _draw(self) -> None:
        found, service = self._found, self._service
        if found is None or service is None:
            return
        change, total = found.change, len(found.change.found)
        version, where = change.read_version, change.where
        listed = ""
        if total:
            offset, limit = self._pages.span(total)
            rows = read_records(change.frame.slice(offset, limit))
            more = change.num_conflicts - total
            listed = (
                render_table(
                    "Conflicts, what a writer meets first first",
                    CONFLICT_COLUMNS,
                    [build_conflict_row(row) for row in rows],
                )
                + self._pages.render(total)
                + (
                    html('<p class="dx-muted">{:,} more are not listed.</p>', more)
                    if more
                    else NOTHING
                )
            )
        arguments = ["--read-version", str(version), *(["--where", where] if where else [])]
        ways = {
            "a command": command_line("conflicts", service.uri, arguments),
            "Python": python_line(
                service.uri,
                "import explorer.inspect as look\n"
                f"look.check_conflicts(table, {version}, where={where!r}).frame",
            ),
        }
        self._answer.html = html(
            '<div class="dx-head"><p class="dx-lead">{}</p>'
            '<span class="dx-hint"></span>{}</div>'
            "{}{}{}",
            visible(change.sentence),
            EXPORT_BUTTONS if total else NOTHING,
            self._render_append(found),
            listed,
            render_ways("conflicts", ways),
        )

    def _render_append(self, found: ConflictAnswers) -> Markup:
        if found.change.newest_version <= found.change.read_version:
            return html(
                '<p class="dx-muted">Give the version that your transaction read above: the one '
                "that was the newest when it began.</p>"
            )
        said = found.append.sentence
        return html('<p class="dx-muted">Had it only added rows and read none: {}</p>', said)

    def _compare(self, version: str) -> None:
        chosen = parse_version(version)
        if chosen is not None and chosen <= (self._state.latest or 0):
            self._state.param.update(version=chosen, older=None, view="compare")

    def _chosen(self) -> Export | None:
        found = self._found
        if found is None or not found.change.found:
            return None
        return Export.of(f"conflicts-{found.change.read_version}", found.change.frame)


_WORDS = Words(
    label="Reading the commits since",
    stopped="Stopped before every commit was looked at.",
    again="Look at the commits since",
)


def _render_input(version: int, where: str, wrong: str = "") -> Markup:
    note = html('<div class="dx-wrong" role="alert">{}</div>', wrong) if wrong else NOTHING
    return (
        html(
            '<div class="dx-head"><h3>Which transaction conflicted with mine?</h3>'
            '<label class="dx-picker">mine read version <input type="text" inputmode="numeric" '
            'data-do="read" data-when="enter" value="{}" '
            'aria-label="The version that was read"></label>'
            '<input type="search" class="dx-code" data-do="where" data-when="enter" '
            'value="{}" aria-label="Condition on the rows that were read" '
            "placeholder=\"region = 'emea', then Enter; empty for all rows\"></div>",
            version,
            where,
        )
        + note
    )
