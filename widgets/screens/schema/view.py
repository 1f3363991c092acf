"""The columns of a version, when they changed, what writers must keep, and which files hold
each column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from explorer.errors import Problem
from explorer.inspect import ColumnPresence
from explorer.progress import Watch
from widgets.markup import NOTHING, Markup, html
from widgets.screens.schema._ask import (
    SchemaFacts,
    read_presence,
    read_presence_of_files,
    read_schema_facts,
)
from widgets.screens.schema._history_view import SchemaHistoryView
from widgets.screens.schema._parts import (
    ABSENT_COLUMNS,
    FIELD_COLUMNS,
    PRESENCE_COLUMNS,
    RULE_COLUMNS,
    UNREAD_COLUMNS,
    UNUSED_COLUMNS,
    build_absent_row,
    build_field_row,
    build_presence_row,
    build_rule_row,
    build_unread_row,
    build_unused_row,
    schema_sentence,
)
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.state import PageState
from widgets.text import format_count, visible
from widgets.ui.boxes import build_card, build_filled_card, build_stack
from widgets.ui.copy_as import command_line, python_line, render_copy_as
from widgets.ui.exporting import Export
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_problem, render_section
from widgets.ui.place_links import LINKED, PlaceLinks
from widgets.ui.records import read_records
from widgets.ui.table import Column, Row, render_table
from widgets.ui.view import AtVersion, Pane, Request, View, Words, at_version

LISTED = 200
"""Rules, and files without a column, that are listed; the export has every one."""


@dataclass(frozen=True, slots=True)
class _Presence:
    """Which files of a version hold each column: by statistics, or by their footers."""

    service: TableService
    version: int
    has_footers: bool = False


class SchemaView:
    """Fields and rules by the log at once, statistics beside them, footers on demand."""

    def __init__(self, services: PageServices, state: PageState) -> None:
        self._state = state
        fields = Pane(_render_fields, head=_render_head, noun="fields", export=_export_fields)
        rules = Pane(_render_rules)
        links = PlaceLinks(state, has_address=services.runner.is_background)
        presence = Pane(
            partial(_render_presence, links), head=_render_presence_head, noun="fields",
            export=_export_presence,
        )  # fmt: skip
        self._facts = View(services, state, "schema", _FACTS, fields, rules)
        self._presence = View(services, state, "schema", _PRESENCE, presence)
        self._history = SchemaHistoryView(services, state)
        self.panel = build_stack(
            build_card(fields.live),
            self._history.card,
            build_filled_card(rules.live),
            build_card(presence.live),
        )
        presence.live.on("footers", lambda _: self._ask_footers())
        presence.live.on("file", self._choose)

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._facts.show(service)
        self._history.show(service)
        self._presence.show(service)

    def _ask_footers(self) -> None:
        asked, found = self._presence.question, self._presence.answer
        if asked is not None and found is not None:
            self._presence.ask(replace(asked, has_footers=True), known=found.sentence)

    def _choose(self, path: str) -> None:
        self._state.param.update(file=path, view="files")


def _render_head(asked: AtVersion, facts: SchemaFacts | None) -> Markup:
    return html(
        '<div class="dx-head"><h3>Schema of version {}</h3><span class="dx-hint"></span>{}</div>',
        format_count(asked.version),
        NOTHING if facts is None else EXPORT_BUTTONS,
    )


def _render_fields(asked: AtVersion, facts: SchemaFacts, pages: Pages) -> Markup:
    total = facts.fields.num_rows
    shown = read_records(facts.fields.slice(*pages.span(total)))
    uri, version = asked.service.uri, asked.version
    commands = {
        "CLI": command_line("schema", uri, ["--version", str(version)]),
        "Python": python_line(
            uri, f"import explorer.inspect as look\nlook.schema(table, {version})"
        ),
    }
    return html(
        '<p class="dx-lead">{}</p>{}{}{}',
        schema_sentence(read_records(facts.fields)),
        render_table(
            "Columns of the table", FIELD_COLUMNS, [*map(build_field_row, shown)],
            empty="No columns.",
        ),
        pages.render(total),
        render_copy_as("schema", commands),
    )  # fmt: skip


def _render_rules(_: AtVersion, facts: SchemaFacts, __: Pages) -> Markup:
    if isinstance(facts.rules, Problem):
        return _RULES_HEAD + render_problem(facts.rules)
    return _RULES_HEAD + _render_listed(
        "Rules for writers", RULE_COLUMNS, facts.rules, build_rule_row,
        empty="Writers may write whatever fits the types.",
    )  # fmt: skip


def _render_presence_head(_: _Presence, found: ColumnPresence | None) -> Markup:
    return html(
        '<div class="dx-head"><h3>Which files hold each column</h3>'
        '<span class="dx-hint">why values are NULL or names are strange</span>{}</div>',
        NOTHING if found is None else EXPORT_BUTTONS,
    )


def _render_presence(
    links: PlaceLinks, asked: _Presence, found: ColumnPresence, pages: Pages
) -> Markup:
    total = found.columns.num_rows
    shown = read_records(found.columns.slice(*pages.span(total)))
    has_read = bool(found.files_read or found.unread.num_rows)
    call = "columns_by_files" if has_read else "columns_by_statistics"
    uri = asked.service.uri
    commands = {
        "CLI": command_line("schema", uri, ["--version", str(found.version), "--files"]),
        "Python": python_line(
            uri,
            "import explorer.inspect as look\n"
            f"look.{call}(table.snapshot(version={found.version})).sentence",
        ),
    }
    return html(
        '<p class="dx-lead">{}</p>{}{}{}{}{}',
        visible(found.sentence),
        NOTHING if has_read or not found.num_files else _OFFER,
        render_table(
            "Files that hold each column", PRESENCE_COLUMNS, [*map(build_presence_row, shown)]
        ),
        pages.render(total),
        _render_details(links, found),
        render_copy_as("presence", commands),
    )


def _export_fields(asked: AtVersion, facts: SchemaFacts) -> Export:
    return Export.of(f"schema-{asked.version}", facts.fields)


def _export_presence(_: _Presence, found: ColumnPresence) -> Export:
    return Export.of(f"columns-{found.version}", found.columns)


def _render_details(links: PlaceLinks, found: ColumnPresence) -> Markup:
    parts = NOTHING
    for title, columns, frame, build in (
        ("Files without a column", ABSENT_COLUMNS, found.absent, build_absent_row),
        ("In files, and read by no column", UNUSED_COLUMNS, found.unused, build_unused_row),
        ("Files that were not read", UNREAD_COLUMNS, found.unread, build_unread_row),
    ):
        if frame.num_rows:
            parts += render_section(
                title, _render_listed(title, columns, frame, build, links=links)
            )
    return parts


def _render_listed(
    title: str,
    columns: tuple[Column, ...],
    frame: pa.Table,
    build: Any,
    empty: str = "",
    *,
    links: PlaceLinks | None = None,
) -> Markup:
    """Rows of a table; those that can be chosen lead to a file, which the second cell names."""
    rows: list[Row] = [build(row) for row in read_records(frame.slice(0, LISTED))]
    if links is not None:
        rows = links.rows(rows, lambda path: {"file": path, "view": "files"}, linked=1)
    more = frame.num_rows - LISTED
    note = html('<p class="dx-muted">{:,} more are not listed.</p>', more) if more > 0 else NOTHING
    return render_table(title, columns, rows, empty=empty) + note


_RULES_HEAD = html("<h3>What writers must keep</h3>")
_OFFER = html(
    '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="footers" '
    'data-value="">Read the footers of the files</button></div>'
    '<p class="dx-muted">A thousand files at most are opened; of each only its end is read.</p>'
)


def _presence(service: TableService, state: PageState) -> _Presence | None:
    return None if state.version is None else _Presence(service, state.version)


def _read_presence(asked: _Presence, watch: Watch, _: object) -> ColumnPresence:
    read = read_presence_of_files if asked.has_footers else read_presence
    return read(asked.service, asked.version, watch)


def _presence_words(asked: _Presence) -> Words:
    of = "footers" if asked.has_footers else "statistics"
    return Words(
        label=f"Reading the {of} of the files",
        stopped=f"Stopped before the {of} of all files were read.",
        again=f"Read the {of}",
    )


_FACTS: Request[AtVersion, SchemaFacts] = Request(
    question=at_version,
    read=lambda asked, _, __: read_schema_facts(asked.service, asked.version),
    words=Words(
        label="Reading the schema",
        stopped="Stopped before the schema was read.",
        again="Read the schema",
    ),
)
_PRESENCE: Request[_Presence, ColumnPresence] = Request(
    question=_presence, read=_read_presence, words=_presence_words, follows=LINKED
)
