"""The columns of a version, what writers must keep, and which files hold each column."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from explorer.errors import Problem
from explorer.inspect import ColumnPresence
from explorer.progress import Progress
from widgets.markup import NOTHING, Markup, html
from widgets.screens.schema._ask import (
    SchemaFacts,
    read_presence,
    read_presence_of_files,
    read_schema_facts,
)
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
from widgets.session.asking import Question
from widgets.session.desk import Desk
from widgets.session.tables import TableService
from widgets.state import PageState
from widgets.text import format_count, visible
from widgets.ui.boxes import build_card, build_filled_card, build_stack
from widgets.ui.exporting import Export, Exports
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.live_html import LiveHtml
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_problem, render_section, render_waiting
from widgets.ui.progress import render_progress
from widgets.ui.records import read_records
from widgets.ui.table import Column, Row, render_table
from widgets.ui.ways import command_line, python_line, render_ways

LISTED = 200
"""Rules, and files without a column, that are listed; the export has every one."""


class SchemaView:
    """Fields and rules by the log at once, statistics beside them, footers on demand."""

    def __init__(self, desk: Desk, state: PageState) -> None:
        self._state = state
        self._service: TableService | None = None
        self._version: int | None = None
        self._facts: SchemaFacts | None = None
        self._found: ColumnPresence | None = None
        self._question, self._files_question = Question(desk.runner), Question(desk.runner)
        self._fields, self._rules = LiveHtml(margin=0), LiveHtml(margin=0)
        self._presence = LiveHtml(margin=0)
        self._pages = Pages(self._fields, "fields", self._draw_fields)
        self._presence_pages = Pages(self._presence, "fields", self._draw_presence)
        self.panel = build_stack(
            build_card(self._fields), build_card(self._presence), build_filled_card(self._rules)
        )
        self._exports = Exports(desk, state, self._fields, self._chosen)
        self._presence_exports = Exports(desk, state, self._presence, self._chosen_presence)
        self._presence.on("footers", lambda _: self._ask(read_presence_of_files, _FOOTERS))
        self._presence.on("cancel", lambda _: self._ask(read_presence, _STATISTICS))
        self._presence.on("file", self._choose)
        state.param.watch(lambda *_: self._refresh(), ["version", "view"])

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._service, self._version = service, None
        self._refresh()

    def _refresh(self) -> None:
        service, version = self._service, self._state.version
        if service is None or version is None or self._state.view != "schema":
            return
        if self._version == version:
            return
        self._version, self._facts, self._found = version, None, None
        self._pages.rewind()
        self._presence_pages.rewind()
        self._rules.html = NOTHING
        self._fields.html = _render_head(version) + render_waiting("Reading the schema")
        self._question.ask(lambda _: read_schema_facts(service, version), self._tell, self._fail)
        self._ask(read_presence, _STATISTICS)

    def _fail(self, problem: Problem) -> None:
        if self._version is not None:
            self._fields.html = _render_head(self._version) + render_problem(problem)

    def _tell(self, facts: SchemaFacts) -> None:
        self._facts = facts
        self._draw_fields()
        if isinstance(facts.rules, Problem):
            self._rules.html = _RULES + render_problem(facts.rules)
            return
        self._rules.html = _RULES + _render_listed(
            "Rules for writers", RULE_COLUMNS, facts.rules, build_rule_row,
            empty="Writers may write whatever fits the types.",
        )  # fmt: skip

    def _draw_fields(self) -> None:
        facts, service, version = self._facts, self._service, self._version
        if facts is None or service is None or version is None:
            return
        total = facts.fields.num_rows
        offset, limit = self._pages.span(total)
        rows = [build_field_row(row) for row in read_records(facts.fields.slice(offset, limit))]
        table = render_table("Columns of the table", FIELD_COLUMNS, rows, empty="No columns.")
        ways = {
            "a command": command_line("schema", service.uri, ["--version", str(version)]),
            "Python": python_line(
                service.uri, f"import explorer.inspect as look\nlook.schema(table, {version})"
            ),
        }
        self._fields.html = html(
            '{}<p class="dx-lead">{}</p>{}{}{}',
            _render_head(version),
            schema_sentence(read_records(facts.fields)),
            table,
            self._pages.render(total),
            render_ways("schema", ways),
        )

    def _ask(self, read: Any, label: str) -> None:
        service, version = self._service, self._version
        if service is None or version is None:
            return

        def report(progress: Progress) -> None:
            self._presence.html = _PRESENCE + render_progress(progress)

        def failed(problem: Problem) -> None:
            self._presence.html = _PRESENCE + render_problem(problem)

        report(Progress(done=0, total=None, label=label))
        self._files_question.ask(
            lambda watch: read(service, version, watch), self._tell_presence, failed, report
        )

    def _tell_presence(self, found: ColumnPresence) -> None:
        self._found = found
        self._draw_presence()

    def _draw_presence(self) -> None:
        found, service = self._found, self._service
        if found is None or service is None:
            return
        total = found.columns.num_rows
        offset, limit = self._presence_pages.span(total)
        rows = [build_presence_row(row) for row in read_records(found.columns.slice(offset, limit))]
        has_read = bool(found.files_read or found.unread.num_rows)
        call = "columns_by_files" if has_read else "columns_by_statistics"
        ways = {
            "a command": command_line(
                "schema", service.uri, ["--version", str(found.version), "--files"]
            ),
            "Python": python_line(
                service.uri,
                "import explorer.inspect as look\n"
                f"look.{call}(table.snapshot(version={found.version})).sentence",
            ),
        }
        self._presence.html = (
            html('{}<p class="dx-lead">{}</p>', _PRESENCE, visible(found.sentence))
            + (NOTHING if has_read or not found.num_files else _OFFER)
            + render_table("Files that hold each column", PRESENCE_COLUMNS, rows)
            + self._presence_pages.render(total)
            + _render_details(found)
            + render_ways("presence", ways)
        )

    def _choose(self, path: str) -> None:
        self._state.param.update(file=path, view="files")

    def _chosen(self) -> Export | None:
        facts = self._facts
        return None if facts is None else Export.of(f"schema-{self._version}", facts.fields)

    def _chosen_presence(self) -> Export | None:
        found = self._found
        return None if found is None else Export.of(f"columns-{found.version}", found.columns)


def _render_details(found: ColumnPresence) -> Markup:
    parts = NOTHING
    for title, columns, frame, build in (
        ("Files without a column", ABSENT_COLUMNS, found.absent, build_absent_row),
        ("In files, and read by no column", UNUSED_COLUMNS, found.unused, build_unused_row),
        ("Files that were not read", UNREAD_COLUMNS, found.unread, build_unread_row),
    ):
        if frame.num_rows:
            parts += render_section(title, _render_listed(title, columns, frame, build))
    return parts


def _render_listed(
    title: str, columns: tuple[Column, ...], frame: pa.Table, build: Any, empty: str = ""
) -> Markup:
    rows: list[Row] = [build(row) for row in read_records(frame.slice(0, LISTED))]
    more = frame.num_rows - LISTED
    note = html('<p class="dx-muted">{:,} more are not listed.</p>', more) if more > 0 else NOTHING
    return render_table(title, columns, rows, empty=empty) + note


def _render_head(version: int) -> Markup:
    return html(
        '<div class="dx-head"><h3>Schema of version {}</h3><span class="dx-hint"></span>{}</div>',
        format_count(version),
        EXPORT_BUTTONS,
    )


_STATISTICS = "Reading the statistics of the files"
_FOOTERS = "Reading the footers of the files"
_RULES = html("<h3>What writers must keep</h3>")
_PRESENCE = html(
    '<div class="dx-head"><h3>Which files hold each column</h3>'
    '<span class="dx-hint">why values are NULL or names are strange</span>{}</div>',
    EXPORT_BUTTONS,
)
_OFFER = html(
    '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="footers" '
    'data-value="">Read the footers of the files</button></div>'
    '<p class="dx-muted">A thousand files at most are opened; of each only its end is read.</p>'
)
