"""Any two versions compared in layers, and what restoring the older one would do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from explorer.errors import DeltaError, Problem
from explorer.progress import Watch
from widgets.choices import Choices
from widgets.markup import NOTHING, Markup, html, join
from widgets.screens.compare._ask import (
    FILE_KINDS,
    FREE_STATISTICS,
    FileKind,
    Files,
    Opened,
    Pair,
    Settings,
    read_file_changes,
    read_settings,
    read_statistics_changes,
)
from widgets.screens.compare._moves import render_moves
from widgets.screens.compare._parts import (
    EXPORTED_FILES,
    FILE_COLUMNS,
    SCHEMA_COLUMNS,
    SETTING_COLUMNS,
    STATISTICS_COLUMNS,
    build_file_row,
    build_schema_row,
    build_setting_rows,
    build_statistics_row,
    compare_figures,
    compare_sentence,
    file_facts,
    same_sentence,
)
from widgets.screens.compare._restore_view import RestorePart
from widgets.screens.compare._rows_view import RowPart
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.state import LONGEST_TEXT, PageState, parse_version
from widgets.text import cut, format_count, last_part
from widgets.ui.boxes import build_card, build_filled_card, build_stack
from widgets.ui.copy_as import command_line, python_line, render_copy_as
from widgets.ui.exporting import Export
from widgets.ui.exports import EXPORT_BUTTONS, convert
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_key_figures, render_problem, render_problem_below
from widgets.ui.records import read_records
from widgets.ui.table import Row, render_table
from widgets.ui.view import Offer, Pane, Request, View, Words

LISTED = 500
"""Columns and settings that are listed; the command line gives any number."""


class CompareView:
    """From the version to compare with to the selected one."""

    def __init__(self, services: PageServices, state: PageState) -> None:
        self._services = services
        self._state = state
        self._chosen = Choices(state, "differences", self._choose_otherwise)
        answer, schema, settings = Pane(self._render_answer), Pane(_schema), Pane(_settings)
        self._file_pane = Pane(
            self._render_files, head=self._render_file_head, noun="files", export=self._export
        )
        statistics = Pane(_render_statistics, head=_STATISTICS_HEAD)
        self._settings = View(
            services, state, "compare", _opening(services), answer, schema, settings
        )
        self._files = View(
            services, state, "compare", self._files_request(), self._file_pane,
            after=(self._settings,),
        )  # fmt: skip
        self._statistics = View(
            services, state, "compare", self._statistics_request(), statistics, after=(self._files,)
        )
        self._rows = RowPart(services, state, self._files)
        self._restore = RestorePart(services, state, self._settings)
        self._files.listen(self._hear_files)
        self._rows.listen(self._settings.refresh)  # its sentence begins with them
        shown = (
            self._rows.differences, schema, settings, self._rows.pane, self._file_pane, statistics
        )  # fmt: skip
        self.panel = build_stack(
            build_card(self._settings.top, answer.live),
            *(build_filled_card(pane.live) for pane in shown),
            self._restore.panel,
        )
        self._settings.top.on_together("sides", self._pick)
        self._settings.top.on("swap", lambda _: self._swap())
        self._file_pane.live.on("kind", self._choose)

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        for view in (self._settings, self._files, self._statistics, *self._rows.views,
                     self._restore.view):  # fmt: skip
            view.show(service)

    def _pick(self, typed: Mapping[str, str]) -> None:
        """Compare what was typed: versions, and with another table or again with this one."""
        asked, before = self._settings.question, self._state.other
        chosen: dict[str, Any] = {}
        place = typed.get("other", before).strip()
        if len(place) > LONGEST_TEXT:
            self._complain("The place is longer than any that is taken.")
            return
        try:
            other = before if place == before else self._services.remember(place) if place else ""
        except DeltaError as error:
            self._complain(cut(f"{error.problem} {error.reason}", 300))
            return
        if other != before:
            chosen = {"other": other, "older": None}
        for name in ("older", "version"):
            if name not in typed:
                continue
            text, is_of_other = typed[name], name == "older" and bool(other)
            version = parse_version(text) if is_of_other else self._state.find_version(text)
            if version is None and not (is_of_other and not text.strip()):
                self._complain(
                    f"{cut(text, 40)!r} is not a version." if is_of_other
                    else self._state.tell_no_version(text)
                )  # fmt: skip
                return
            chosen[name] = version
        self._state.param.update(**chosen)
        if place != before == other and asked is not None:
            self.show(asked.service)  # the same place, now with credentials or with others

    def _complain(self, wrong: str) -> None:
        if self._settings.question is not None:
            self._settings.top.html = _render_pickers(self._settings.question, wrong)

    def _swap(self) -> None:
        asked = self._settings.question
        if asked is not None and asked.older >= 0 and not asked.other:
            self._state.param.update(older=asked.newer, version=asked.older)

    def _hear_files(self) -> None:
        self._settings.refresh()  # its sentence counts the files once they are known

    def _files_request(self) -> Request[Opened, Files]:
        def opened(*_: object) -> Opened | None:
            pair, settings = self._settings.question, self._settings.answer
            return None if pair is None or settings is None else Opened(pair, settings)

        return Request(
            question=opened,
            read=lambda asked, watch, _: read_file_changes(asked.settings, watch),
            words=_FILES_WORDS,
        )

    def _statistics_request(self) -> Request[Opened, pa.Table]:
        return Request(
            question=lambda *_: None if self._files.answer is None else self._files.question,
            read=lambda asked, watch, _: read_statistics_changes(asked.settings, watch),
            words=_STATISTICS_WORDS,
            offer=Offer(action="statistics", render=_offer_statistics),
        )

    def _render_answer(self, asked: Pair, settings: Settings, _: Pages) -> Markup:
        files, uri = self._files.answer, asked.service.uri
        older, newer = settings.older.version, settings.newer.version
        against = ["--against", asked.other] if asked.other else []
        place = f"explorer.open_table({asked.other!r})" if asked.other else "table"
        commands = {
            "CLI": command_line("diff", uri, [str(older), str(newer), *against]),
            "Python": python_line(
                uri,
                f"found = explorer.diff(table.snapshot(version={older}), "
                f"{place}.snapshot(version={newer}))\nfound.files, found.rows, found.schema",
            ),
        }
        moves = NOTHING if files is None or files.moves is None else render_moves(files.moves)
        same = same_sentence(settings, files)
        return html(
            '<p class="dx-lead">{}</p>{}{}{}{}{}',
            compare_sentence(_start(asked, settings), settings, files, self._rows.found),
            join(html('<p class="dx-muted">{}</p>', note) for note in settings.notes),
            html('<p class="dx-muted">{}</p>', same) if same else NOTHING,
            render_key_figures(compare_figures(settings, files, self._rows.found)),
            moves,
            render_copy_as("compare", commands),
        )

    def _render_files(self, asked: Opened, files: Files, pages: Pages) -> Markup:
        if not files.num_files:
            return NOTHING
        total = sum(files.count(kind) for kind in self._kinds)
        rows = [
            build_file_row(kind, entry, is_of_two_tables=asked.settings.is_of_two_tables)
            for kind, some in files.slices(self._kinds, *pages.span(total))
            for entry in read_records(some)
        ]
        table = render_table(
            "Files that differ", FILE_COLUMNS, rows, empty="No file differs in this way."
        )
        return table + pages.render(total)

    def _render_file_head(self, asked: Opened, files: Files | None) -> Markup:
        if files is None:
            return html("<h3>Files</h3>")
        if not files.num_files:
            return NOTHING  # the sentence says that no file differs
        shown = {"": "All", "added": "Added", "removed": "Removed", "changed": "Kept, differ"}
        if asked.settings.is_of_two_tables:
            shown = {"": "All", "added": "Only in the second", "removed": "Only in the first",
                     "changed": "In both, differ"}  # fmt: skip
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
            self._chosen.choose(files=kind)

    def _choose_otherwise(self, names: frozenset[str]) -> None:
        if "files" in names:
            self._file_pane.rewind()

    @property
    def _kinds(self) -> tuple[FileKind, ...]:
        kind = self._chosen.get("files", FILE_KINDS)
        return tuple(one for one in FILE_KINDS if not kind or one == kind)

    def _export(self, asked: Opened, files: Files) -> Export:
        kinds = self._kinds

        def read(_: Watch) -> Iterator[pa.Table]:
            total = sum(files.count(kind) for kind in kinds)
            for kind, some in files.slices(kinds, 0, total):
                yield from convert(some, EXPORTED_FILES, partial(file_facts, kind))

        return Export(stem=f"files-{asked.pair.older}-to-{asked.pair.newer}", read=read)


def _pair(service: TableService, state: PageState) -> Pair | None:
    if state.version is None:
        return None
    if state.other:
        return Pair(service, state.version, state.older, state.other)
    older = state.older if state.older is not None else state.version - 1
    return Pair(service, older, state.version)


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


def _render_pickers(asked: Pair, wrong: str = "") -> Markup:
    said = html('<p class="dx-wrong" role="alert">{}</p>', wrong) if wrong else NOTHING
    sides = (("older", "from", max(asked.older, 0)), ("version", "to", asked.newer))
    if asked.other:
        sides = (("version", "from", asked.older), ("older", "to", asked.newer))
    pickers = join(
        html(
            '<label class="dx-picker">{} version <input type="text" inputmode="numeric" '
            'data-do="{}" data-when="enter" value="{}" placeholder="newest" '
            'aria-label="{} version"></label>',
            word,
            name,
            "" if version is None else version,
            word.capitalize(),
        )
        for name, word, version in sides
    )
    return html(
        '<div class="dx-head" data-together="sides" data-of="{}"><h3>Compare</h3>{}{}'
        '<label class="dx-picker dx-other">of table <input type="text" data-do="other" '
        'data-when="enter" value="{}" placeholder="this one, or another\'s place" '
        'aria-label="Other table"></label>'
        '<span class="dx-hint">press Enter</span></div>{}',
        asked.service.uri,
        pickers,
        NOTHING if asked.other else _SWAP,
        asked.other,
        said,
    )


_SWAP = html('<button type="button" data-do="swap" data-value="">Swap</button>')


def _start(asked: Pair, settings: Settings) -> str:
    older, newer = (format_count(side.version) for side in (settings.older, settings.newer))
    if not asked.other:
        return f"From version {older} to {newer}"
    return f"From version {older} here to version {newer} of {cut(last_part(asked.other), 60)}"


def _render_nothing(asked: Pair) -> Markup | None:
    """What is said of versions that cannot be compared."""
    if asked.other or asked.older not in {asked.newer, -1}:
        return None
    text = "Both are the same version: choose another one to compare it with."
    if asked.older < 0:
        text = "Version 0 is the first one: there is none before it to compare it with."
    return html('<p class="dx-lead">{}</p>', text)


def _opening_words(asked: Pair) -> Words:
    versions = f"versions {format_count(asked.older)} and {format_count(asked.newer)}"
    return Words(
        label="Opening both tables" if asked.other else f"Opening {versions}",
        stopped="Stopped before both versions were open.",
        again="Compare them",
    )


def _schema(_: Pair, settings: Settings, __: Pages) -> Markup:
    layer = settings.schema
    if isinstance(layer, Problem):
        return _SCHEMA_HEAD + render_problem(layer)
    if not layer:
        return NOTHING  # told among what is the same
    rows = [build_schema_row(change) for change in layer[:LISTED]]
    return _SCHEMA_HEAD + render_table("Schema", SCHEMA_COLUMNS, rows) + _more(len(layer))


_SCHEMA_HEAD = html("<h3>Schema</h3>")


def _settings(_: Pair, settings: Settings, __: Pages) -> Markup:
    head = html("<h3>Properties and protocol</h3>")
    problems = [
        layer for layer in (settings.properties, settings.protocol) if isinstance(layer, Problem)
    ]
    properties = () if isinstance(settings.properties, Problem) else settings.properties
    protocol = None if isinstance(settings.protocol, Problem) else settings.protocol
    rows: list[Row] = build_setting_rows(properties, protocol)
    said = join(map(render_problem, problems))
    if not rows:
        return head + said if problems else NOTHING  # told among what is the same
    table = render_table("Properties and protocol", SETTING_COLUMNS, rows[:LISTED])
    return head + said + table + _more(len(rows))


def _offer_statistics(asked: Opened) -> Markup | None:
    return None if asked.settings.num_files <= FREE_STATISTICS else _STATISTICS_OFFER


def _render_statistics(_: Opened, frame: pa.Table, __: Pages) -> Markup:
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
    return note + table + _more(frame.num_rows)


def _more(count: int) -> Markup:
    if count <= LISTED:
        return NOTHING
    return html('<p class="dx-muted">{:,} more are not listed.</p>', count - LISTED)


def _opening(services: PageServices) -> Request[Pair, Settings]:
    return Request(
        question=_pair,
        read=lambda asked, watch, tell: read_settings(services, asked, watch, tell),
        words=_opening_words,
        follows=("version", "older", "other"),
        top=_render_pickers,
        offer=Offer(render=_render_nothing),
        failed=render_problem_below,
    )
