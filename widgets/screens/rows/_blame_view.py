"""Which commit last set each value of a row that was clicked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import explorer.inspect as look
from widgets.markup import NOTHING, Markup, html, join
from widgets.screens.rows.ask import Rows, read_blame
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.state import VIEW_OF_A_VERSION, PageState
from widgets.text import cut, format_count, format_minute, visible
from widgets.theme import lane_of
from widgets.ui.boxes import build_filled_card
from widgets.ui.copy_as import command_line, python_line, render_copy_as
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_asked_problem, render_detail_head
from widgets.ui.place_links import LINKED, PlaceLinks
from widgets.ui.records import read_records
from widgets.ui.table import Cell, Column, Row, render_table
from widgets.ui.view import Offer, Pane, Request, View, Words

COLUMNS = (
    Column(key="column", label="Column", mono=True),
    Column(key="value", label="Value", mono=True),
    Column(key="kind", label="Set"),
    Column(key="version", label="Version", align="right"),
    Column(key="time", label="Committed (UTC)", wide=True),
    Column(key="operation", label="Operation"),
    Column(key="user", label="User"),
    Column(key="why", label="Remark", wraps=True),
)
_DASH = "\N{EN DASH}"
_ALL = "all values"
"""The row is told apart by everything that it holds."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of a version: its place in the list, the condition that finds it, and by which
    columns it may be told apart; without a condition nothing finds it."""

    service: TableService
    version: int
    at: int
    key: str
    keys: tuple[str, ...]
    where: str | None


class BlameView:
    """A card that is there once a row was clicked; files are read when it is asked."""

    def __init__(self, services: PageServices, state: PageState) -> None:
        self._state = state
        self._chosen: tuple[TableService, int, Rows, int, str] | None = None
        links = PlaceLinks(state, has_address=services.runner.is_background)
        pane: Pane[_Row, look.RowBlame] = Pane(
            partial(_render, links), head=_render_head, noun="columns"
        )
        request = Request(
            question=self._question,
            read=lambda asked, watch, _: read_blame(
                asked.service, asked.version, asked.where or "", watch
            ),
            words=_WORDS,
            follows=LINKED,
            offer=Offer(action="blame", render=_render_offer),
            failed=render_asked_problem,
        )
        self._view = View(services, state, "rows", request, pane)
        self.card = build_filled_card(pane.live)
        pane.live.on("key", self._tell_apart)
        pane.live.on("close", lambda _: self.leave())
        pane.live.on("commit", self._open)

    @property
    def row(self) -> int | None:
        """The place of the row in the list."""
        return None if self._chosen is None else self._chosen[3]

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._chosen = None
        self._view.show(service)

    def choose(self, service: TableService, version: int, rows: Rows, at: int) -> None:
        """Offer to blame a row."""
        keys = look.key_columns(rows.frame)
        self._chosen = (service, version, rows, at, keys[0] if keys else "")
        self._view.refresh()

    def leave(self) -> None:
        """Show nothing."""
        if self._chosen is not None:
            self._chosen = None
            self._view.refresh()

    def _tell_apart(self, key: str) -> None:
        if self._chosen is not None and (key == "" or key in self._chosen[2].names):
            self._chosen = (*self._chosen[:4], key)
            self._view.refresh()

    def _open(self, version: str) -> None:
        chosen = self._state.find_version(version)
        if chosen is not None:
            self._state.param.update(version=chosen, view=VIEW_OF_A_VERSION)

    def _question(self, *_: object) -> _Row | None:
        if self._chosen is None:
            return None
        service, version, rows, at, key = self._chosen
        keys = tuple(look.key_columns(rows.frame))
        names = [key] if key else [*rows.names]
        where = look.row_condition(rows.frame, at, names)
        if where is None and not key:  # what cannot be asked for is left out
            exact = [
                name for name in names if look.row_condition(rows.frame, at, [name]) is not None
            ]
            where = look.row_condition(rows.frame, at, exact)
        return _Row(service, version, at, key, keys, where)


def _render_head(asked: _Row, _: look.RowBlame | None) -> Markup:
    options = join(
        html(
            '<option value="{}"{}>{}</option>',
            name,
            html(" selected") if name == asked.key else NOTHING,
            cut(name, 60) or _ALL,
        )
        for name in (*asked.keys, "")
    )
    heading = html("<h3>Who set the values of row {}</h3>", format_count(asked.at + 1))
    return html(
        '{}<label class="dx-picker">told apart by <select data-do="key">{}</select></label>'
        " <code>{}</code>",
        render_detail_head(f"row-{asked.at}", heading),
        options,
        cut(asked.where or "", 200),
    )


def _render_offer(asked: _Row) -> Markup:
    return _NO_CONDITION if asked.where is None else _OFFER


def _render(links: PlaceLinks, asked: _Row, found: look.RowBlame, pages: Pages) -> Markup:
    total, uri, where = found.cells.num_rows, asked.service.uri, found.where
    shown = read_records(found.cells.slice(*pages.span(total)))
    rows = links.rows(
        [build_cell_row({**row, "value": found.texts[row["column"]]}) for row in shown],
        lambda version: {"version": int(version), "view": VIEW_OF_A_VERSION},
        linked=3,
    )
    commands = {
        "CLI": command_line("rows", uri, [where, "--blame", "--version", str(found.version)]),
        "Python": python_line(
            uri,
            "import explorer.inspect as look\n"
            f"look.blame_row(table, {where!r}, {found.version}).cells",
        ),
    }
    return html(
        '<p class="dx-lead">{}</p>{}{}{}',
        visible(found.sentence),
        render_table(
            "Commit of each value",
            COLUMNS,
            rows,
        ),
        pages.render(total),
        render_copy_as("blame", commands),
    )


def build_cell_row(entry: Mapping[str, Any]) -> Row:
    """One value and its commit; a click leads there."""
    version, value, why = entry["version"], entry["value"], str(entry["reason"] or "")
    operation, user = entry["operation"], entry["user_name"]
    is_known = version is not None
    return Row(
        cells=(
            Cell(text=cut(str(entry["column"]), 60), title=cut(str(entry["column"]), 500)),
            Cell(text="null", muted=True)
            if value is None
            else Cell(text=cut(str(value), 60), title=cut(str(value), 1000)),
            Cell(text=str(entry["kind"]) if is_known else "not known", muted=not is_known),
            Cell(text=format_count(version) if is_known else _DASH),
            Cell(text=format_minute(entry["timestamp"]) if is_known else _DASH),
            Cell(text=cut(str(operation or _DASH), 40), lane=lane_of(operation))
            if is_known
            else Cell(text=_DASH),
            Cell(text=cut(str(user or _DASH), 60)),
            Cell(text=cut(why, 300) or _DASH, muted=not why),
        ),
        action="commit" if is_known else None,
        value=str(version),
    )


_WORDS = Words(
    label="Searching the commits",
    stopped="Stopped before the commits were found.",
    again="Find the commits",
)
_OFFER = html(
    '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="blame" '
    'data-value="">Find the commit that set each value</button></div>'
    '<p class="dx-muted">Versions are searched backwards; files that cannot hold the row are not '
    "read, and a thousand of the others at most.</p>"
)
_NO_CONDITION = html(
    '<p class="dx-muted">Not known: no condition finds this row, because it has only numbers with '
    "a fraction, nested values or long text.</p>"
)
