"""Each version that changed the schema, field by field."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pyarrow as pa

import explorer.inspect as look
from explorer.inspect.columns.schema_history import sides_in_words
from widgets.markup import NOTHING, Markup, html
from widgets.screens.schema._ask import read_schema_changes
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.state import VIEW_OF_A_VERSION, PageState
from widgets.text import cut, format_count, format_minute, visible
from widgets.ui.boxes import build_card
from widgets.ui.copy_as import command_line, python_line, render_copy_as
from widgets.ui.exporting import Export
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.paging import Pages
from widgets.ui.place_links import LINKED, PlaceLinks
from widgets.ui.records import read_records
from widgets.ui.table import Cell, Column, Row, render_table
from widgets.ui.view import AtVersion, Pane, Request, View, Words, at_version

COLUMNS = (
    Column(key="version", label="Version", align="right"),
    Column(key="time", label="Committed (UTC)", wide=True),
    Column(key="kind", label="Change"),
    Column(key="path", label="Column", mono=True),
    Column(key="what", label="Before and after", mono=True, wraps=True),
    Column(key="meaning", label="What it means", wraps=True, wide=True),
    Column(key="by", label="By", wide=True),
)
_ARROW = " \N{RIGHTWARDS ARROW} "
_DASH = "\N{EN DASH}"


class SchemaHistoryView:
    """The changes of the schema up to the selected version, newest first."""

    def __init__(self, services: PageServices, state: PageState) -> None:
        self._state = state
        links = PlaceLinks(state, has_address=services.runner.is_background)
        pane = Pane(partial(_render, links), head=_render_head, noun="changes", export=_export)
        self._view = View(services, state, "schema", _REQUEST, pane)
        self.card = build_card(pane.live)
        pane.live.on("commit", self._choose)

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._view.show(service)

    def _choose(self, version: str) -> None:
        if version.isdecimal():
            self._state.param.update(version=int(version), view=VIEW_OF_A_VERSION)


def _render_head(_: AtVersion, found: pa.Table | None) -> Markup:
    return html(
        '<div class="dx-head"><h3>History of the schema</h3>'
        '<span class="dx-hint">which version changed which column</span>{}</div>',
        NOTHING if found is None else EXPORT_BUTTONS,
    )


def _render(links: PlaceLinks, asked: AtVersion, found: pa.Table, pages: Pages) -> Markup:
    total, uri, version = found.num_rows, asked.service.uri, asked.version
    commands = {
        "CLI": command_line("schema", uri, ["--version", str(version), "--history"]),
        "Python": python_line(
            uri, f"import explorer.inspect as look\nlook.schema_history(table, {version})"
        ),
    }
    shown = read_records(found.slice(*pages.span(total)))
    rows = links.rows(
        [*map(build_change_row, shown)],
        lambda version: {"version": int(version), "view": VIEW_OF_A_VERSION},
    )
    return html(
        '<p class="dx-lead">{}</p>{}{}{}',
        visible(look.schema_history_sentence(found)),
        render_table("Changes of the schema", COLUMNS, rows),
        pages.render(total),
        render_copy_as("schema-history", commands),
    )


def build_change_row(entry: Mapping[str, Any]) -> Row:
    """One change of one field; a click leads to its commit, where the log has it."""
    version, kind = format_count(entry["version"]), str(entry["kind"])
    what = _ARROW.join(cut(side, 300) for side in sides_in_words(entry)) or _DASH
    path, meaning = str(entry["path"]), str(entry["meaning"])
    by = str(entry["user_name"] or entry["operation"] or _DASH)
    place = f"{entry['log_file']}:{entry['line']}" if entry["log_file"] else "by a checkpoint"
    tone = "risk" if kind == "unreadable" else None
    return Row(
        cells=(
            Cell(text=version if entry["version_exact"] else f"{version} or before", title=place),
            Cell(text=format_minute(entry["timestamp"])),
            Cell(text=kind, tone=tone),
            Cell(text=cut(path, 60) or _DASH, title=cut(path, 500), muted=not path),
            Cell(text=what, title=cut(what, 2000), muted=what == _DASH),
            Cell(text=cut(meaning, 300) or _DASH, muted=True),
            Cell(text=cut(by, 40), title=cut(by, 300)),
        ),
        action="commit" if entry["log_file"] else None,
        value=str(entry["version"]),
    )


def _export(asked: AtVersion, found: pa.Table) -> Export:
    return Export.of(f"schema-history-{asked.version}", found)


_REQUEST: Request[AtVersion, pa.Table] = Request(
    question=at_version,
    read=lambda asked, watch, _: read_schema_changes(asked.service, asked.version, watch),
    words=Words(
        label="Reading the schemas of all commits",
        stopped="Stopped before all commits were read.",
        again="Read the history of the schema",
    ),
    follows=LINKED,
)
