"""The change data feed: how much each version changed, then the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from explorer.errors import Problem
from explorer.inspect import ChangeTotals
from widgets.choices import Choices
from widgets.markup import NOTHING, Markup, html
from widgets.screens.feed._ask import (
    KINDS,
    NEW_VERSIONS,
    count_changes,
    count_kinds,
    read_changed_rows,
)
from widgets.screens.feed._parts import TOTAL_COLUMNS, build_total_row
from widgets.screens.rows.ask import PREVIEW_ROWS, Rows
from widgets.screens.rows.parts import Grid, render_rows, rows_export
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.state import PageState
from widgets.text import format_count, visible
from widgets.ui.boxes import build_card, build_filled_card, build_stack
from widgets.ui.copy_as import command_line, python_line, render_copy_as
from widgets.ui.exporting import Export
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_problem_below, render_problems, render_segments
from widgets.ui.place_links import LINKED, PlaceLinks
from widgets.ui.records import read_records
from widgets.ui.table import render_above_list, render_table
from widgets.ui.view import Offer, Pane, Request, View, Words

PINNED = 2
"""Columns that stay in sight: what happened, and in which version."""


@dataclass(frozen=True, slots=True)
class _Range:
    """Versions of a table, both inclusive, and of what kind the rows are that are shown, see
    `KINDS`; of any where that is empty."""

    service: TableService
    first: int
    last: int
    kind: str = ""


class FeedView:
    """From the version to compare with to the selected one, both inclusive."""

    def __init__(self, services: PageServices, state: PageState) -> None:
        self._state = state
        links = PlaceLinks(state, has_address=services.runner.is_background)
        totals = Pane(partial(_render_totals, links), noun="versions", export=_export_totals)
        rows = Pane(_render_rows, head=self._render_rows_head, export=_export_rows)
        self._chosen = Choices(state, "feed", lambda _: self._rows.refresh())
        self._read: _Range | None = None
        self._totals = View(services, state, "feed", _TOTALS, totals)
        request = Request(
            question=self._counted,
            read=lambda asked, watch, _: read_changed_rows(
                asked.service, asked.first, asked.last, asked.kind, watch
            ),
            words=_ROWS_WORDS,
            offer=Offer(action="rows", render=self._offer_rows),
        )
        self._rows = View(services, state, "feed", request, rows, after=(self._totals,))
        self.panel = build_stack(
            build_card(self._totals.top, totals.live), build_filled_card(rows.live)
        )
        self._totals.top.on_together("ends", self._pick)
        self._rows.listen(self._note_read)
        rows.live.on("kind", self._choose_kind)
        totals.live.on("one", self._choose)
        totals.live.on("reach", lambda _: state.param.update(view="reach"))

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._totals.show(service)
        self._rows.show(service)

    def _counted(self, *_: object) -> _Range | None:
        """The range whose changes are counted, where there are any, and the kind that is chosen."""
        asked, found = self._totals.question, self._totals.answer
        if asked is None or found is None or not found.versions.num_rows:
            return None
        counts = count_kinds(found)
        return replace(
            asked, kind=self._chosen.get("kind", [kind for kind in KINDS if counts[kind]])
        )

    def _note_read(self) -> None:
        """Of a range whose rows were asked for, those of another kind are read unasked."""
        if self._rows.question is not None and self._rows.answer is not None:
            self._read = replace(self._rows.question, kind="")

    def _offer_rows(self, asked: _Range) -> Markup | None:
        is_read = replace(asked, kind="") == self._read
        return None if is_read or asked.first == asked.last else _OFFER

    def _pick(self, typed: Mapping[str, str]) -> None:
        asked = self._totals.question
        first = self._state.since if asked is None else asked.first
        ends = {"older": first, "version": self._state.version}
        for name in ends.keys() & typed.keys():
            ends[name] = self._state.find_version(typed[name])
            if ends[name] is None:
                if asked is not None:
                    wrong = self._state.tell_no_version(typed[name])
                    self._totals.top.html = _render_input(asked, wrong)
                return
        self._state.select_range(**ends)

    def _choose_kind(self, kind: str) -> None:
        asked = self._rows.question
        if asked is not None and self._rows.answer is not None and kind in {"", *KINDS}:
            self._rows.ask(replace(asked, kind=kind))
            self._chosen.choose(kind=kind)

    def _render_rows_head(self, asked: _Range, found: Rows | None) -> Markup:
        totals = self._totals.answer
        kinds = NOTHING
        if totals is not None and (found is not None or asked.kind):
            kinds = _render_kinds(asked.kind, totals)
        return html(
            '<div class="dx-head"><h3>The changed rows</h3><span class="dx-hint"></span>{}{}</div>',
            kinds,
            NOTHING if found is None else EXPORT_BUTTONS,
        )

    def _choose(self, version: str) -> None:
        chosen = self._state.find_version(version)
        if chosen is not None:
            self._state.select_range(chosen, chosen)


def _range(service: TableService, state: PageState) -> _Range | None:
    last = state.version
    if last is None:
        return None
    first = max(last - NEW_VERSIONS + 1, 0) if state.since is None else state.since
    return _Range(service, first, last)


def _render_totals(links: PlaceLinks, asked: _Range, totals: ChangeTotals, pages: Pages) -> Markup:
    total = totals.versions.num_rows
    shown = read_records(totals.versions.slice(*pages.span(total)))
    rows = links.rows(
        [*map(build_total_row, shown)],
        lambda version: {"older": int(version), "version": int(version), "other": ""},
    )
    uri, span = asked.service.uri, [str(totals.first), str(totals.last)]
    commands = {
        "CLI": command_line("changes", uri, [*span, "--count"]),
        "Python": python_line(
            uri,
            "import explorer.inspect as look\n"
            f"look.change_totals(table, {', '.join(span)}).versions",
        ),
    }
    return html(
        '<div class="dx-head"><p class="dx-lead">{}</p>'
        '<span class="dx-hint">{}</span>'
        "{}</div>"
        "{}{}{}",
        visible(totals.sentence),
        "click a version for its rows" if rows else "",
        EXPORT_BUTTONS if rows else NOTHING,
        render_problems(totals.problems),
        # the rows of a version are the next stop of the Tab key after the list
        render_above_list(render_copy_as("feed", commands), pages.render(total)),
        render_table("Changes by version", TOTAL_COLUMNS, rows) if rows else NOTHING,
    )


def _render_failure(problem: Problem) -> Markup:
    can_explain = problem.kind == "change_feed_unavailable"
    return render_problem_below(problem) + (_REACH if can_explain else NOTHING)


def _render_kinds(current: str, totals: ChangeTotals) -> Markup:
    """A choice by kind, where there is more than one."""
    counts = count_kinds(totals)
    options = [(kind, name, counts[kind]) for kind, name in _KIND_NAMES.items() if counts[kind]]
    if len(options) < 3 and not current:
        return NOTHING
    return render_segments("kind", current, options, "Which rows")


def _render_rows(asked: _Range, found: Rows, pages: Pages) -> Markup:
    total = len(found.rows)
    offset, limit = pages.span(total)
    uri, first, last = asked.service.uri, asked.first, asked.last
    commands = {
        "CLI": command_line("changes", uri, [str(first), str(last)]),
        "Python": python_line(uri, f"explorer.read_changes(table, {first}, {last})"),
    }
    if asked.kind:
        types = list(KINDS[asked.kind])
        filtered = f'changes.filter(pc.field("_change_type").isin({types!r}))'
        code = (
            f"import pyarrow.compute as pc\nchanges = explorer.read_changes(table, {first}, {last})"
        )
        commands = {"Python": python_line(uri, f"{code}\n{filtered}")}
    more = html(
        '<p class="dx-muted">These are the first {}; there are more.</p>', format_count(total)
    )
    return html(
        "{}{}{}{}{}",
        render_problems(found.problems),
        render_rows(
            "Changed rows",
            found.names,
            found.rows[offset : offset + limit],
            Grid(numbers=found.numbers, instants=found.instants, pinned=PINNED),
        ),
        pages.render(total),
        more if found.is_cut else NOTHING,
        render_copy_as("changed-rows", commands),
    )


def _export_totals(_: _Range, totals: ChangeTotals) -> Export:
    return Export.of(f"changes-{totals.first}-to-{totals.last}", totals.versions)


def _export_rows(asked: _Range, found: Rows) -> Export:
    kind = f"-{asked.kind}" if asked.kind else ""
    return rows_export(f"changed-rows-{asked.first}-to-{asked.last}{kind}", found)


def _render_input(asked: _Range, wrong: str = "") -> Markup:
    note = html('<div class="dx-wrong" role="alert">{}</div>', wrong) if wrong else NOTHING
    return html(
        '<div class="dx-head" data-together="ends" data-of="{}"><h3>Change feed</h3>'
        '<label class="dx-picker">from version <input type="text" inputmode="numeric" '
        'data-do="older" data-when="enter" value="{}" aria-label="From version"></label>'
        '<label class="dx-picker">to version <input type="text" inputmode="numeric" '
        'data-do="version" data-when="enter" value="{}" aria-label="To version"></label>'
        '<span class="dx-hint">both inclusive; press Enter</span></div>{}',
        asked.service.uri,
        asked.first,
        asked.last,
        note,
    )


_KIND_NAMES = {"": "All", "insert": "Inserted", "update": "Updated", "delete": "Deleted"}
_REACH = html(
    '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="reach" '
    'data-value="">How far the change feed reaches</button></div>'
)
_OFFER = html(
    '<div class="dx-buttons"><button type="button" class="dx-outlined" '
    'data-do="rows" data-value="">Show the first {} changed rows</button></div>',
    format_count(PREVIEW_ROWS),
)
_TOTALS: Request[_Range, ChangeTotals] = Request(
    question=_range,
    read=lambda asked, watch, _: count_changes(asked.service, asked.first, asked.last, watch),
    words=Words(
        label="Counting changes",
        stopped="Stopped before every version was counted.",
        again="Count the changes",
    ),
    follows=LINKED,
    top=_render_input,
    failed=_render_failure,
)
_ROWS_WORDS = Words(
    label="Reading changes",
    stopped="Stopped before the changed rows were read.",
    again="Read the changed rows",
)
