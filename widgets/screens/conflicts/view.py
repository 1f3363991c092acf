"""Which commit stood in the way of a transaction that had read a version, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import explorer.inspect as look
from explorer.inspect.conflicts.recent_commits import MOST_BYTES, MOST_COMMITS
from explorer.progress import Watch
from widgets.markup import NOTHING, Markup, html
from widgets.screens.conflicts._ask import ConflictAnswers, read_conflicts
from widgets.screens.conflicts._parts import (
    CONFLICT_COLUMNS,
    OUTLOOK_COLUMNS,
    build_conflict_row,
    build_outlook_row,
)
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService, read_column_names
from widgets.state import LONGEST_TEXT, PageState
from widgets.text import cut, format_bytes, format_count, visible
from widgets.ui.boxes import build_card, build_stack
from widgets.ui.copy_as import command_line, python_line, render_copy_as
from widgets.ui.exporting import Export
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_asked_problem, render_name_offers
from widgets.ui.place_links import LINKED, PlaceLinks
from widgets.ui.records import read_records
from widgets.ui.table import render_table
from widgets.ui.view import AtVersion, Pane, Request, Tell, View, Words, at_version

Answer = ConflictAnswers | look.RecentConflicts
"""The latter of the newest version, which no commit follows."""


@dataclass(frozen=True, slots=True)
class _Transaction:
    """One that had read rows of a version of a table, whose newest version is `latest`."""

    service: TableService
    version: int
    where: str
    latest: int | None


class ConflictsView:
    """The selected version is the one that was read, the condition says which of its rows."""

    def __init__(self, services: PageServices, state: PageState) -> None:
        self._state = state
        links = PlaceLinks(state, has_address=services.runner.is_background)
        answer = Pane(partial(_render_answer, links), noun="conflicts", export=_export)
        request = replace(_CONFLICTS, top=lambda asked: _render_input(asked, self._names))
        self._view = View(services, state, "conflicts", request, answer)
        self._columns = View(services, state, "conflicts", _COLUMNS, Pane(lambda *_: NOTHING))
        self.panel = build_stack(build_card(self._view.top, answer.live))
        self._columns.listen(self._offer_names)
        self._view.top.on_together("transaction", self._pick)
        answer.live.on("version", self._compare)

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._view.show(service)
        self._columns.show(service)

    @property
    def _names(self) -> tuple[str, ...]:
        return self._columns.answer or ()

    def _offer_names(self) -> None:
        """The columns of the version are known, which the condition may name."""
        if self._view.question is not None and self._names:
            self._view.top.html = _render_input(self._view.question, self._names)

    def _pick(self, typed: Mapping[str, str]) -> None:
        where = typed.get("where", self._state.where).strip()
        version, asked = self._state.version, self._view.question
        if "read" in typed:
            version = self._state.find_version(typed["read"])
        if version is not None and len(where) <= LONGEST_TEXT:
            self._state.param.update(version=version, where=where)
        elif asked is not None:
            wrong = "The condition is longer than any that is taken."
            if version is None:
                wrong = self._state.tell_no_version(typed.get("read", ""))
            self._view.top.html = _render_input(asked, self._names, wrong)

    def _compare(self, version: str) -> None:
        chosen = self._state.find_version(version)
        if chosen is not None:
            self._state.compare(chosen)


def _transaction(service: TableService, state: PageState) -> _Transaction | None:
    if state.version is None:
        return None
    return _Transaction(service, state.version, state.where, state.latest)


def _read(asked: _Transaction, watch: Watch, tell: Tell) -> Answer:
    return read_conflicts(asked.service, asked.version, asked.where, watch, tell)


def _render_answer(links: PlaceLinks, asked: _Transaction, found: Answer, pages: Pages) -> Markup:
    if isinstance(found, look.RecentConflicts):
        return _render_recent(links, asked, found)
    return _render_conflicts(links, asked, found, pages)


def _render_recent(links: PlaceLinks, asked: _Transaction, found: look.RecentConflicts) -> Markup:
    """What each kind of transaction meets among the newest commits."""
    uri, number = asked.service.uri, found.num_commits
    rows = links.compared(
        [build_outlook_row(row, number) for row in read_records(found.frame)], linked=2
    )
    commands = {
        "CLI": command_line("conflicts", uri),
        "Python": python_line(
            uri, "import explorer.inspect as look\nlook.recent_conflicts(table).frame"
        ),
    }
    return html(
        '<div class="dx-head"><p class="dx-lead">{}</p><span class="dx-hint">{}</span>{}</div>'
        '{}<p class="dx-muted">{}</p>{}',
        _READ_NEWEST + visible(found.sentence) if asked.where else visible(found.sentence),
        "click a line to compare" if number else "",
        EXPORT_BUTTONS if number else NOTHING,
        render_table("Transactions and what they conflict with", OUTLOOK_COLUMNS, rows)
        if number
        else NOTHING,
        _tell_bound(number, where=asked.where),
        render_copy_as("conflicts", commands),
    )


_READ_NEWEST = html(
    "A transaction that read the newest version meets no conflict, whatever its condition. "
)


def _tell_bound(number: int, *, where: str) -> str:
    ask = (
        "For a transaction of yours, give the version that it read above: the one that was the "
        "newest when it began."
    )
    if where:
        ask = f"The condition counts for a transaction of yours. {ask}"
    if not number:
        return ask
    looked = "The newest commit was looked at"
    if number > 1:
        looked = f"The newest {format_count(number)} commits were looked at"
    most = f"{format_count(MOST_COMMITS)} at most, and {format_bytes(MOST_BYTES)} of them"
    return f"{looked} ({most}). {ask}"


def _render_conflicts(
    links: PlaceLinks, asked: _Transaction, found: ConflictAnswers, pages: Pages
) -> Markup:
    change, total = found.change, len(found.change.found)
    version, where = change.read_version, change.where
    listed = NOTHING
    if total:
        rows = read_records(change.frame.slice(*pages.span(total)))
        more = change.num_conflicts - total
        listed = html(
            "{}{}{}",
            render_table(
                "Conflicts, what a writer meets first first",
                CONFLICT_COLUMNS,
                links.compared([*map(build_conflict_row, rows)]),
            ),
            pages.render(total),
            html('<p class="dx-muted">{:,} more are not listed.</p>', more) if more else NOTHING,
        )
    uri = asked.service.uri
    arguments = ["--read-version", str(version), *(["--where", where] if where else [])]
    commands = {
        "CLI": command_line("conflicts", uri, arguments),
        "Python": python_line(
            uri,
            "import explorer.inspect as look\n"
            f"look.check_conflicts(table, {version}, where={where!r}).frame",
        ),
    }
    return html(
        '<div class="dx-head"><p class="dx-lead">{}</p><span class="dx-hint"></span>{}</div>{}{}{}',
        visible(change.sentence),
        EXPORT_BUTTONS if total else NOTHING,
        _render_meaning(found),
        listed,
        render_copy_as("conflicts", commands),
    )


def _render_meaning(found: ConflictAnswers) -> Markup:
    """Which transaction is meant, and what another one would have met."""
    change = found.change
    read = f"the rows where {cut(change.where, 200)}" if change.where else "all rows"
    said = found.append.sentence
    return html(
        '<p class="dx-muted">That is for a transaction that read {} of version {} and changed '
        "some. For one that only added rows and read none: {}</p>",
        read,
        format_count(change.read_version),
        said[:1].lower() + said[1:],
    )


def _export(_: _Transaction, found: Answer) -> Export | None:
    if isinstance(found, look.RecentConflicts):
        return Export.of("recent-conflicts", found.frame) if found.num_commits else None
    if not found.change.found:
        return None
    return Export.of(f"conflicts-{found.change.read_version}", found.change.frame)


def _render_input(asked: _Transaction, names: Sequence[str], wrong: str = "") -> Markup:
    note = html('<div class="dx-wrong" role="alert">{}</div>', wrong) if wrong else NOTHING
    return (
        html(
            '<div class="dx-head" data-together="transaction" data-of="{}">'
            "<h3>What would my transaction conflict with?</h3>"
            '<label class="dx-picker">it read version <input type="text" inputmode="numeric" '
            'data-do="read" data-when="enter" value="{}" '
            'aria-label="The version that was read"></label>'
            '<input type="search" class="dx-code" data-do="where" data-when="enter" '
            'value="{}" aria-label="Condition on the rows that were read"{} '
            'placeholder="condition on the rows it read; empty for all rows"></div>',
            asked.service.uri,
            asked.version,
            asked.where,
            render_name_offers(names),
        )
        + note
    )


_CONFLICTS: Request[_Transaction, Answer] = Request(
    question=_transaction,
    read=_read,
    words=Words(
        label="Reading the commits since",
        stopped="Stopped before every commit was looked at.",
        again="Look at the commits since",
    ),
    follows=("latest", *LINKED),
    failed=render_asked_problem,
)
_COLUMN_WORDS = Words(
    label="Reading the columns",
    stopped="Stopped before the columns were read.",
    again="Read the columns",
)
_COLUMNS: Request[AtVersion, tuple[str, ...]] = Request(
    question=at_version,
    read=lambda asked, _, __: read_column_names(asked.service, asked.version),
    words=_COLUMN_WORDS,
    # what keeps them from being read keeps the answer, too, which says so
    failed=lambda _: NOTHING,
)
