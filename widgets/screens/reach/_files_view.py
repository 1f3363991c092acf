"""Why a file is still here, and what lies in the table's folder."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from explorer.inspect import FileReason, Folder
from widgets.markup import NOTHING, Markup, html
from widgets.screens.reach._ask import read_file_reason, read_folder
from widgets.screens.reach._parts import (
    EVIDENCE_COLUMNS,
    FOREIGN_COLUMNS,
    SIZE_COLUMNS,
    build_evidence_row,
    build_foreign_row,
    build_size_row,
    reason_facts,
)
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.state import LONGEST_TEXT, PageState
from widgets.text import visible
from widgets.ui.boxes import build_card
from widgets.ui.copy_as import command_line, python_line, render_copy_as
from widgets.ui.exporting import Export
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_asked_problem, render_definitions, render_section
from widgets.ui.place_links import LINKED, PlaceLinks
from widgets.ui.records import read_records
from widgets.ui.table import render_table
from widgets.ui.view import Offer, Pane, Request, View, Words

EVIDENCE_SHOWN = 200
"""Lines of the log that are listed; the command line's `why` gives any number."""


@dataclass(frozen=True, slots=True)
class _File:
    """A path below a table; empty where none is typed."""

    service: TableService
    path: str


@dataclass(frozen=True, slots=True)
class _Latest:
    """A table at its latest version."""

    service: TableService
    latest: int | None


class ReasonPart:
    """A card that asks for a path; what is typed goes into the address."""

    def __init__(self, services: PageServices, state: PageState) -> None:
        self._state = state
        answer = Pane(_render_reason)
        self.view = View(services, state, "reach", _REASON, answer)
        self.panel = build_card(self.view.top, answer.live)
        self.view.top.on("file", self._type)

    def _type(self, file: str) -> None:
        if len(file) <= LONGEST_TEXT:
            self._state.file = file.strip()


class FolderPart:
    """A card about everything below the table's root, listed on demand."""

    def __init__(self, services: PageServices, state: PageState) -> None:
        links = PlaceLinks(state, has_address=services.runner.is_background)
        answer = Pane(_render_folder, head=_FOLDER_HEAD)
        files = Pane(partial(_render_foreign, links), noun="files", export=_export_foreign)
        self.view = View(services, state, "reach", _FOLDER, answer, files)
        self.panel = build_card(answer.live, files.live)
        answer.live.on("maintain", lambda _: state.param.update(view="maintenance"))
        files.live.on("file", lambda path: state.param.update(file=path))


def _render_reason(asked: _File, found: FileReason, _: Pages) -> Markup:
    rows = [
        build_evidence_row(row) for row in read_records(found.evidence.slice(0, EVIDENCE_SHOWN))
    ]
    evidence = render_table(
        "Lines of the log that name the file", EVIDENCE_COLUMNS, rows,
        empty="No remaining commit names it.",
    )  # fmt: skip
    more = found.evidence.num_rows - EVIDENCE_SHOWN
    note = html('<p class="dx-muted">{:,} more lines are not listed.</p>', more)
    commands = {
        "CLI": command_line("why", asked.service.uri, [asked.path]),
        "Python": python_line(
            asked.service.uri,
            f"import explorer.inspect as look\nlook.why_here(table, {asked.path!r})",
        ),
    }
    return html(
        '<p class="dx-lead" data-reveal="{}">{}</p>{}{}{}{}',
        asked.path,
        found.sentence,
        render_definitions(reason_facts(found), code=("Path",)),
        render_section("Where that is recorded", evidence),
        note if more > 0 else NOTHING,
        render_copy_as("why", commands),
    )


def _render_folder(asked: _Latest, folder: Folder, _: Pages) -> Markup:
    # whoever asks why the folder is so large looks for the largest
    sizes = sorted(read_records(folder.sizes), key=lambda row: -row["bytes"])
    total = sum(row["bytes"] for row in sizes)
    uri = asked.service.uri
    commands = {
        "CLI": command_line("foreign", uri),
        "Python": python_line(
            uri, "import explorer.inspect as look\nlook.foreign_files(table).files"
        ),
    }
    return html(
        '<p class="dx-lead">{}</p>{}'
        '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="maintain" '
        'data-value="">Plan a vacuum in Maintenance</button></div>'
        "{}",
        visible(folder.sentence),
        render_table(
            "Parts of the folder", SIZE_COLUMNS, [build_size_row(row, total) for row in sizes]
        ),
        render_copy_as("folder", commands),
    )


def _render_foreign(links: PlaceLinks, _: _Latest, folder: Folder, pages: Pages) -> Markup:
    total = folder.files.num_rows
    shown = read_records(folder.files.slice(*pages.span(total)))
    rows = links.rows([*map(build_foreign_row, shown)], lambda path: {"file": path})
    return html(
        '<div class="dx-head dx-below"><h4>Files that no version knows</h4>'
        '<span class="dx-hint">click one to ask why it is here</span>'
        "{}</div>{}{}",
        EXPORT_BUTTONS,
        render_table(
            "Files that no version knows", FOREIGN_COLUMNS, rows,
            empty="Every file in the folder belongs to the table.",
        ),
        pages.render(total),
    )  # fmt: skip


def _export_foreign(_: _Latest, folder: Folder) -> Export:
    return Export.of("foreign-files", folder.files)


def _render_input(asked: _File) -> Markup:
    return html(
        '<div class="dx-head"><h3>Why is this file still here?</h3>'
        '<input type="search" class="dx-code" data-do="file" data-when="enter" '
        'value="{}" aria-label="Path of a file" '
        'placeholder="Name or path of a file, then Enter"></div>',
        asked.path,
    )


_NO_PATH = html(
    '<p class="dx-muted">The path of any file below the table, as it lies there or as the '
    "log has it: which versions need it, and from when on it may be deleted.</p>"
)
_FOLDER_HEAD = html("<h3>What lies in the folder</h3>")
_FOLDER_OFFER = html(
    "<p>Where the bytes of the folder go, what a vacuum would find, and what "
    "Delta does not manage. Every commit is read and the folder is listed for it.</p>"
    '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="folder" '
    'data-value="">List the folder</button></div>'
)
_REASON: Request[_File, FileReason] = Request(
    question=lambda service, state: _File(service, state.file),
    read=lambda asked, watch, _: read_file_reason(asked.service, asked.path, watch),
    words=Words(
        label="Looking for the file in the log",
        stopped="Stopped before every commit was looked at.",
        again="Look for the file",
    ),
    follows=("file",),
    top=_render_input,
    offer=Offer(render=lambda asked: None if asked.path else _NO_PATH),
    failed=render_asked_problem,
)
_FOLDER: Request[_Latest, Folder] = Request(
    question=lambda service, state: _Latest(service, state.latest),
    read=lambda asked, watch, _: read_folder(asked.service, watch),
    words=Words(
        label="Listing the folder",
        stopped="Stopped before the folder was listed.",
        again="List the folder",
    ),
    follows=("latest", *LINKED),
    offer=Offer(action="folder", render=lambda _: _FOLDER_OFFER),
)
