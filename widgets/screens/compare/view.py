"""Any two versions compared in layers, and what restoring the older one would do."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa

from explorer.errors import Problem
from explorer.progress import Watch
from widgets.markup import NOTHING, Markup, html, join
from widgets.screens.compare._ask import (
    FILE_KINDS,
    FREE_STATISTICS,
    Files,
    Settings,
    read_file_changes,
    read_settings,
    read_statistics_changes,
)
from widgets.screens.compare._parts import (
    EXPORTED_FILES,
    FILE_COLUMNS,
    ROW_COLUMNS,
    SCHEMA_COLUMNS,
    SETTING_COLUMNS,
    STATISTICS_COLUMNS,
    build_file_row,
    build_row_rows,
    build_schema_row,
    build_setting_rows,
    build_statistics_row,
    compare_figures,
    compare_sentence,
    file_facts,
)
from widgets.screens.compare._restore_view import RestorePart
from widgets.screens.compare._rows_view import RowPart
from widgets.session.desk import Desk
from widgets.session.tables import TableService
from widgets.state import PageState, parse_version
from widgets.text import cut, format_count
from widgets.ui.boxes import build_card, build_filled_card, build_stack
from widgets.ui.exporting import Export, Exports
from widgets.ui.exports import EXPORT_BUTTONS, convert
from widgets.ui.live_html import LiveHtml
from widgets.ui.paging import Pages
from widgets.ui.pending import Pending, Words, untold
from widgets.ui.pieces import render_key_figures, render_problem
from widgets.ui.records import read_records
from widgets.ui.table import Row, render_table
from widgets.ui.ways import command_line, python_line, render_ways

LISTED = 500
"""Columns and settings that are listed; the command line gives any number."""


class CompareView:
    """From the version to compare with to the selected one."""

    def __init__(self, desk: Desk, state: PageState) -> None:
        self._state = state
        self._service: TableService | None = None
        self._shown: tuple[int, int] | None = None
        self._settings: Settings | None = None
        self._files: Files | None = None
        self._kinds = FILE_KINDS
        self._pickers, self._answer = LiveHtml(margin=0), LiveHtml(margin=0)
        self._file_part = LiveHtml(margin=0)
        self._rows = RowPart(desk)
        self._schema_part, self._setting_part = LiveHtml(margin=0), LiveHtml(margin=0)
        self._statistics_part = LiveHtml(margin=0)
        self._opening = Pending(desk, self._answer)
        self._comparing = Pending(desk, self._file_part)
        self._reading = Pending(desk, self._statistics_part)
        self._restore = RestorePart(desk)
        self._layers = [self._schema_part, self._setting_part, self._file_part,
                        self._statistics_part]  # fmt: skip
        self._pages = Pages(self._file_part, "files", self._draw_files)
        cards = [build_filled_card(part) for part in self._layers]
        cards.insert(2, self._rows.panel)
        self.panel = build_stack(
            build_card(self._pickers, self._answer), *cards, self._restore.panel
        )
        for name in ("older", "version"):
            self._pickers.on(name, lambda text, name=name: self._pick(name, text))  # type: ignore[misc]
        self._pickers.on("swap", lambda _: self._swap())
        self._file_part.on("kind", self._choose)
        self._exports = Exports(desk, state, self._file_part, self._chosen)
        self._statistics_part.on("statistics", lambda _: self._read_statistics())
        state.param.watch(lambda *_: self._refresh(), ["version", "older", "view"])

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._service, self._shown = service, None
        self._refresh()

    def _refresh(self) -> None:
        service, newer = self._service, self._state.version
        if service is None or newer is None or self._state.view != "compare":
            return
        older = self._state.older if self._state.older is not None else newer - 1
        if self._shown == (older, newer):
            return
        self._shown, self._settings, self._files = (older, newer), None, None
        self._kinds = FILE_KINDS
        self._pages.rewind()
        self._pickers.html = _render_pickers(max(older, 0), newer)
        self._restore.show(service, older)
        self._rows.clear()
        for question in (self._opening, self._comparing, self._reading):
            question.drop()
        for part in self._layers:
            part.html = NOTHING
        self._restore.panel.visible = False
        if older in {newer, -1}:
            self._answer.html = _render_nothing(older)
            return
        words = Words(
            label=f"Opening versions {format_count(older)} and {format_count(newer)}",
            stopped="Stopped before both versions were open.",
            again="Compare them",
        )
        self._opening.ask(
            words,
            lambda watch, tell: read_settings(service, older, newer, watch, tell),
            self._compare,
        )

    def _pick(self, name: str, text: str) -> None:
        version = parse_version(text)
        if version is not None and version <= (self._state.latest or 0):
            setattr(self._state, name, version)
        elif self._shown is not None:
            self._pickers.html = _render_pickers(
                *self._shown, wrong=f"{cut(text, 40)!r} is no version of this table."
            )

    def _swap(self) -> None:
        if self._shown is not None and self._shown[0] >= 0:
            older, newer = self._shown
            self._state.param.update(older=newer, version=older)

    def _compare(self, settings: Settings) -> None:
        self._settings = settings
        self._restore.panel.visible = True
        self._schema_part.html = _render_layer(
            "Schema", SCHEMA_COLUMNS, settings.schema, build_schema_row,
            "The schemas are the same, field by field."
        )  # fmt: skip
        self._setting_part.html = _render_settings(settings)
        self._draw_answer()
        work = untold(lambda watch: read_file_changes(settings, watch))
        self._comparing.ask(_FILES_WORDS, work, self._compare_files, head=_FILES_HEAD)

    def _compare_files(self, files: Files) -> None:
        self._files = files
        self._draw_answer()
        self._draw_files()
        rows = render_table("Rows by what changed them", ROW_COLUMNS, build_row_rows(files.rows))
        if self._service is not None and self._shown is not None:
            self._rows.show(self._service, *self._shown, rows)
        if self._settings is not None and self._settings.num_files <= FREE_STATISTICS:
            self._read_statistics()
        else:
            self._statistics_part.html = _STATISTICS_HEAD + _STATISTICS_OFFER

    def _draw_answer(self) -> None:
        service, settings, files = self._service, self._settings, self._files
        if service is None or settings is None or self._shown is None:
            return
        older, newer = self._shown
        lead = compare_sentence(older, newer, settings, files)
        notes = join(html('<p class="dx-muted">{}</p>', note) for note in settings.notes)
        ways = {
            "a command": command_line("diff", service.uri, [str(older), str(newer)]),
            "Python": python_line(
                service.uri,
                f"found = explorer.diff(table.snapshot(version={older}), "
                f"table.snapshot(version={newer}))\nfound.files, found.rows, found.schema",
            ),
        }
        self._answer.html = html(
            '<p class="dx-lead">{}</p>{}{}{}',
            lead,
            notes,
            render_key_figures(compare_figures(settings, files)),
            render_ways("compare", ways),
        )

    def _draw_files(self) -> None:
        files = self._files
        if files is None:
            return
        total = sum(files.count(kind) for kind in self._kinds)
        offset, limit = self._pages.span(total)
        rows = [
            build_file_row(kind, entry)
            for kind, some in files.slices(self._kinds, offset, limit)
            for entry in read_records(some)
        ]
        table = render_table("Files that differ", FILE_COLUMNS, rows, empty="No file differs.")
        self._file_part.html = self._render_file_head(files) + table + self._pages.render(total)

    def _render_file_head(self, files: Files) -> Markup:
        shown = {"": "All", "added": "Came", "removed": "Went", "changed": "Changed"}
        current = self._kinds[0] if len(self._kinds) == 1 else ""
        buttons = join(
            html(
                '<button type="button" data-do="kind" data-value="{}" '
                'aria-pressed="{}">{}</button>',
                kind,
                str(kind == current).lower(),
                label,
            )
            for kind, label in shown.items()
        )
        route = {
            "log": "found in the commits between",
            "shared checkpoint": "found in the commits after a checkpoint that both rest on",
        }.get(files.changes.route, "found by comparing all files of both versions")
        return html(
            '<div class="dx-head"><h3>Files</h3><span class="dx-hint">{}</span>'
            '<span class="dx-segments" role="group" aria-label="Which files">{}</span>'
            "{}</div>",
            route,
            buttons,
            EXPORT_BUTTONS,
        )

    def _choose(self, kind: str) -> None:
        if not kind or kind in FILE_KINDS:
            self._kinds = tuple(one for one in FILE_KINDS if not kind or one == kind)
            self._pages.rewind()
            self._draw_files()

    def _chosen(self) -> Export | None:
        files, shown, kinds = self._files, self._shown, self._kinds
        if files is None or shown is None:
            return None

        def read(_: Watch) -> Iterator[pa.Table]:
            total = sum(files.count(kind) for kind in kinds)
            for kind, some in files.slices(kinds, 0, total):
                yield from convert(some, EXPORTED_FILES, partial(file_facts, kind))

        return Export(stem=f"files-{shown[0]}-to-{shown[1]}", read=read)

    def _read_statistics(self) -> None:
        settings = self._settings
        if settings is None:
            return

        def done(frame: pa.Table) -> None:
            self._statistics_part.html = _render_statistics(frame)

        work = untold(lambda watch: read_statistics_changes(settings, watch))
        self._reading.ask(_STATISTICS_WORDS, work, done, head=_STATISTICS_HEAD)


_FILES_HEAD = html("<h3>Files</h3>")
_STATISTICS_HEAD = html("<h3>Statistics</h3>")
_FILES_WORDS = Words(
    label="Looking for the files that differ",
    stopped="Stopped before the files were compared.",
    again="Compare the files",
)
_STATISTICS_WORDS = Words(
    label="Reading the statistics of both versions",
    stopped="Stopped before the statistics of both versions were read.",
    again="Read the statistics",
)
_STATISTICS_OFFER = html(
    '<p class="dx-muted">The statistics of all files of both versions are read for it.</p>'
    '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="statistics" '
    'data-value="">Read the statistics</button></div>'
)


def _render_pickers(older: int, newer: int, wrong: str = "") -> Markup:
    said = html('<p class="dx-wrong" role="alert">{}</p>', wrong) if wrong else NOTHING
    return html(
        '<div class="dx-head"><h3>Compare</h3>'
        '<label class="dx-picker">from version <input type="text" inputmode="numeric" '
        'data-do="older" data-when="enter" value="{}" aria-label="From version"></label>'
        '<label class="dx-picker">to version <input type="text" inputmode="numeric" '
        'data-do="version" data-when="enter" value="{}" aria-label="To version"></label>'
        '<button type="button" data-do="swap" data-value="">Swap</button>'
        '<span class="dx-hint">type a version and press Enter</span></div>{}',
        older,
        newer,
        said,
    )


def _render_nothing(older: int) -> Markup:
    text = "Both are the same version: choose another one to compare it with."
    if older < 0:
        text = "Version 0 is the first one: there is none before it to compare it with."
    return html('<p class="dx-lead">{}</p>', text)


def _render_layer(title: str, columns: Any, layer: Any, build: Any, same: str) -> Markup:
    head = html("<h3>{}</h3>", title)
    if isinstance(layer, Problem):
        return head + render_problem(layer)
    if not layer:
        return html('{}<p class="dx-muted">{}</p>', head, same)
    return (
        head
        + render_table(title, columns, [build(one) for one in layer[:LISTED]])
        + _more(len(layer))
    )


def _render_settings(settings: Settings) -> Markup:
    head = html("<h3>Properties and protocol</h3>")
    problems = [
        layer for layer in (settings.properties, settings.protocol) if isinstance(layer, Problem)
    ]
    properties = () if isinstance(settings.properties, Problem) else settings.properties
    protocol = None if isinstance(settings.protocol, Problem) else settings.protocol
    rows: list[Row] = build_setting_rows(properties, protocol)
    said = join(map(render_problem, problems))
    if not rows:
        same = NOTHING if problems else html('<p class="dx-muted">They are the same.</p>')
        return head + said + same
    table = render_table("Properties and protocol", SETTING_COLUMNS, rows[:LISTED])
    return head + said + table + _more(len(rows))


def _render_statistics(frame: pa.Table) -> Markup:
    entries = read_records(frame.slice(0, LISTED))
    rows = [build_statistics_row(entry) for entry in entries]
    table = render_table(
        "Statistics by column", STATISTICS_COLUMNS, rows, empty="No column has statistics."
    )
    note = (
        html('<p class="dx-muted">One value where both versions say the same.</p>')
        if rows
        else NOTHING
    )
    return _STATISTICS_HEAD + note + table + _more(frame.num_rows)


def _more(count: int) -> Markup:
    if count <= LISTED:
        return NOTHING
    return html('<p class="dx-muted">{:,} more are not listed.</p>', count - LISTED)
