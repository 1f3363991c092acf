"""How far time travel and the change feed reach, and why files are still here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pyarrow as pa

from explorer.inspect import Reachability
from explorer.progress import Watch
from widgets.markup import NOTHING, Markup, html
from widgets.screens.reach._ask import read_reach, read_reach_of_files
from widgets.screens.reach._files_view import FolderPart, ReasonPart
from widgets.screens.reach._parts import (
    RANGE_COLUMNS,
    VERSION_COLUMNS,
    WINDOW_COLUMNS,
    build_range_row,
    build_version_row,
    build_window_row,
    render_axis,
    selected_sentence,
)
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.state import PageState
from widgets.text import format_many, visible
from widgets.ui.boxes import build_card, build_filled_card, build_stack
from widgets.ui.copy_as import command_line, python_line, render_copy_as
from widgets.ui.exporting import Export
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_folded
from widgets.ui.place_links import LINKED, PlaceLinks
from widgets.ui.records import read_records
from widgets.ui.table import render_table
from widgets.ui.view import Pane, Request, View, Words

RANGES_SHOWN = 200
"""Ranges that are drawn and listed; the table of versions has every one."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """How far a table reaches back from its latest version: by the log, or by its files too."""

    service: TableService
    latest: int | None
    has_files: bool = False


class ReachView:
    """The log's answer at once; that of the files when it is asked for."""

    def __init__(self, services: PageServices, state: PageState) -> None:
        self._state = state
        self._links = PlaceLinks(state, has_address=services.runner.is_background)
        answer = Pane(self._render_reach, head=_HEAD)
        versions = Pane(
            self._render_versions, noun="versions", start=self._find_selected,
            export=_export_versions,
        )  # fmt: skip
        self._reach = View(services, state, "reach", _REACH, answer, versions)
        reason, folder = ReasonPart(services, state), FolderPart(services, state)
        self._views = (self._reach, reason.view, folder.view)
        self.panel = build_stack(
            build_card(answer.live), reason.panel, build_filled_card(versions.live), folder.panel
        )
        answer.live.on("files", lambda _: self._ask_files())
        versions.live.on("version", self._select)

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        for view in self._views:
            view.show(service)

    def _ask_files(self) -> None:
        asked, found = self._reach.question, self._reach.answer
        if asked is not None and found is not None:
            self._reach.ask(replace(asked, has_files=True), known=found.sentence)

    def _select(self, version: str) -> None:
        chosen = self._state.find_version(version)
        if chosen is not None:
            self._state.version = chosen

    def _find_selected(self, _: _Asked, found: Reachability) -> int:
        """Newest first, as what is at risk or gone is older than it."""
        selected = self._state.version
        return 0 if selected is None else max(found.version - selected, 0)

    def _render_reach(self, asked: _Asked, found: Reachability, _: Pages) -> Markup:
        ranges = read_records(found.ranges.slice(0, RANGES_SHOWN))
        windows = read_records(found.windows)
        selected = self._state.version
        chosen = NOTHING
        if selected is not None and selected <= found.version:
            row = read_records(found.versions.slice(selected, 1))[0]
            chosen = html("<p>{}</p>", selected_sentence(row, found.now))
        outside = html(
            '<p class="dx-muted">Not checked: files outside the table\'s folder, named by {}.</p>',
            format_many(found.files_outside, "action"),
        )
        with_files = found.has_listed or found.problem is not None
        uri = asked.service.uri
        call = "look.reach_by_files(table)" if with_files else "look.reach_by_log(table)"
        commands = {
            "CLI": command_line("reach", uri, ["--files"] if with_files else []),
            "Python": python_line(uri, f"import explorer.inspect as look\n{call}.sentence"),
        }
        # whoever has chosen another version asks about it
        is_asked = selected is not None and selected != found.version
        words = html("<p>{}</p>{}", visible(found.sentence), NOTHING if is_asked else chosen)
        problem = html('<p class="dx-wrong">{}</p>', visible(found.problem or ""))
        return html(
            '<p class="dx-lead">{}</p>{}{}{}{}{}{}{}{}{}',
            found.headline,
            render_axis(found, datetime.now(UTC), selected),
            chosen if is_asked else NOTHING,
            problem if found.problem else NOTHING,
            render_folded("Reasons and limits", words),
            outside if found.files_outside else NOTHING,
            NOTHING if with_files else _OFFER,
            render_folded(
                "Ranges of versions",
                render_table(
                    "Versions with the same answer",
                    RANGE_COLUMNS,
                    [build_range_row(row, found.now) for row in ranges],
                ),
            ),
            render_folded(
                "Retention windows",
                render_table(
                    "Retention windows", WINDOW_COLUMNS, [*map(build_window_row, windows)]
                ),
            ),
            render_copy_as("reach", commands),
        )

    def _render_versions(self, _: _Asked, found: Reachability, pages: Pages) -> Markup:
        total = found.versions.num_rows
        shown = read_records(_newest_first(found.versions, *pages.span(total)))
        rows = self._links.rows(
            [build_version_row(row, self._state.version, found.now) for row in shown],
            lambda version: {"version": int(version)},
        )
        return html(
            '<div class="dx-head"><h3>Version by version</h3><span class="dx-hint"></span>'
            "{}</div>{}{}",
            EXPORT_BUTTONS,
            render_table("Versions, newest first", VERSION_COLUMNS, rows),
            pages.render(total),
        )


def _export_versions(_: _Asked, found: Reachability) -> Export:
    versions = found.versions
    return Export.of("reach", _newest_first(versions, 0, versions.num_rows))


def _read(asked: _Asked, watch: Watch, _: object) -> Reachability:
    read = read_reach_of_files if asked.has_files else read_reach
    return read(asked.service, watch)


def _newest_first(versions: pa.Table, offset: int, limit: int) -> pa.Table:
    end = max(versions.num_rows - offset, 0)
    start = max(end - limit, 0)
    return versions.slice(start, end - start).take(pa.array(range(end - start - 1, -1, -1)))


_HEAD = html('<div class="dx-head"><h3>How far versions reach back</h3></div>')
_OFFER = html(
    '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="files" '
    'data-value="">Look at the files themselves</button></div>'
    '<p class="dx-muted">Every commit is read and the folder is listed for it.</p>'
)
_LOG_WORDS = Words(
    label="Reading the log",
    stopped="Stopped before the log was read.",
    again="Read the log",
)
_FILES_WORDS = Words(
    label="Reading every commit and listing the folder",
    stopped="Stopped before every file was looked for.",
    again="Look at the files",
)
_REACH: Request[_Asked, Reachability] = Request(
    question=lambda service, state: _Asked(service, state.latest),
    read=_read,
    words=lambda asked: _FILES_WORDS if asked.has_files else _LOG_WORDS,
    follows=("latest", *LINKED),
)
