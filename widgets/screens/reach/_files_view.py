"""Why a file is still here, and what lies in the table's folder."""

from __future__ import annotations

from explorer.errors import Problem
from explorer.inspect import FileReason, Folder
from explorer.progress import Progress
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
from widgets.session.asking import Question
from widgets.session.desk import Desk
from widgets.session.tables import TableService
from widgets.state import LONGEST_TEXT, PageState
from widgets.text import visible
from widgets.ui.boxes import build_card
from widgets.ui.exporting import Export, Exports
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.live_html import LiveHtml
from widgets.ui.paging import Pages
from widgets.ui.pieces import (
    render_asked_problem,
    render_definitions,
    render_problem,
    render_section,
)
from widgets.ui.progress import render_progress
from widgets.ui.records import read_records
from widgets.ui.table import render_table
from widgets.ui.ways import command_line, python_line, render_ways

EVIDENCE_SHOWN = 200
"""Lines of the log that are listed; the command line's `why` gives any number."""


class ReasonPart:
    """A card that asks for a path; what is typed goes into the address."""

    def __init__(self, desk: Desk, state: PageState) -> None:
        self._state = state
        self._asked: tuple[TableService, str] | None = None
        self._question = Question(desk.runner)
        self._input, self._answer = LiveHtml(margin=0), LiveHtml(margin=0)
        self.panel = build_card(self._input, self._answer)
        self._input.on("file", self._type)
        self._answer.on("cancel", lambda _: self._stop())

    def show(self, service: TableService) -> None:
        """The view is in front, with the file of the page."""
        file = self._state.file
        if self._asked == (service, file):
            return
        self._asked = (service, file)
        self._input.html = _render_input(file)
        if not file:
            self._stop()
            return

        def report(progress: Progress) -> None:
            self._answer.html = render_progress(progress)

        report(Progress(done=0, total=None, label="Looking for the file in the log"))
        self._question.ask(
            lambda watch: read_file_reason(service, file, watch), self._draw, self._fail, report
        )

    def _type(self, file: str) -> None:
        if len(file) <= LONGEST_TEXT:
            self._state.file = file.strip()

    def _stop(self) -> None:
        self._question.drop()
        self._answer.html = html(
            '<p class="dx-muted">The path of any file below the table, as it lies there or as the '
            "log has it: which versions need it, and from when on it may be deleted.</p>"
        )

    def _fail(self, problem: Problem) -> None:
        self._answer.html = render_asked_problem(problem)

    def _draw(self, found: FileReason) -> None:
        service, file = self._asked or (None, "")
        if service is None:
            return
        rows = [
            build_evidence_row(row) for row in read_records(found.evidence.slice(0, EVIDENCE_SHOWN))
        ]
        evidence = render_table(
            "Lines of the log that name the file", EVIDENCE_COLUMNS, rows,
            empty="No remaining commit names it.",
        )  # fmt: skip
        more = found.evidence.num_rows - EVIDENCE_SHOWN
        note = (
            html('<p class="dx-muted">{:,} more lines are not listed.</p>', more)
            if more > 0
            else NOTHING
        )
        ways = {
            "a command": command_line("why", service.uri, [file]),
            "Python": python_line(
                service.uri, f"import explorer.inspect as look\nlook.why_here(table, {file!r})"
            ),
        }
        self._answer.html = html(
            '<p class="dx-lead" data-reveal="{}">{}</p>{}{}{}{}',
            file,
            found.sentence,
            render_definitions(reason_facts(found), code=("Path",)),
            render_section("Where that is recorded", evidence),
            note,
            render_ways("why", ways),
        )


class FolderPart:
    """A card about everything below the table's root, listed on demand."""

    def __init__(self, desk: Desk, state: PageState) -> None:
        self._state = state
        self._service: TableService | None = None
        self._folder: Folder | None = None
        self._question = Question(desk.runner)
        self._answer, self._files = LiveHtml(margin=0), LiveHtml(margin=0)
        self._pages = Pages(self._files, "files", self._draw_files)
        self.panel = build_card(self._answer, self._files)
        self._answer.on("folder", lambda _: self._ask())
        self._answer.on("cancel", lambda _: self._offer())
        self._answer.on("maintain", self._maintain)
        self._files.on("file", self._choose)
        self._exports = Exports(desk, state, self._files, self._chosen)

    def show(self, service: TableService) -> None:
        """A table, or a newer version of it, is in front."""
        self._service = service
        self._offer()

    def _offer(self) -> None:
        self._question.drop()
        self._folder, self._files.html = None, NOTHING
        self._answer.html = html(
            "{}<p>Where the bytes of the folder go, what a vacuum would find, and what "
            "Delta does not manage. Every commit is read and the folder is listed for it.</p>"
            '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="folder" '
            'data-value="">List the folder</button></div>',
            _FOLDER,
        )

    def _ask(self) -> None:
        service = self._service
        if service is None:
            return

        def report(progress: Progress) -> None:
            self._answer.html = _FOLDER + render_progress(progress)

        def failed(problem: Problem) -> None:
            self._answer.html = _FOLDER + render_problem(problem)

        report(Progress(done=0, total=None, label="Listing the folder"))
        self._question.ask(lambda watch: read_folder(service, watch), self._draw, failed, report)

    def _draw(self, folder: Folder) -> None:
        service = self._service
        if service is None:
            return
        self._folder = folder
        self._pages.rewind()
        sizes = read_records(folder.sizes)
        total = sum(row["bytes"] for row in sizes)
        table = render_table(
            "Parts of the folder", SIZE_COLUMNS, [build_size_row(row, total) for row in sizes]
        )
        ways = {
            "a command": command_line("foreign", service.uri),
            "Python": python_line(
                service.uri, "import explorer.inspect as look\nlook.foreign_files(table).files"
            ),
        }
        self._answer.html = html(
            '{}<p class="dx-lead">{}</p>{}'
            '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="maintain" '
            'data-value="">Plan a vacuum in Maintenance</button></div>'
            "{}",
            _FOLDER,
            visible(folder.sentence),
            table,
            render_ways("folder", ways),
        )
        self._draw_files()

    def _draw_files(self) -> None:
        folder = self._folder
        if folder is None:
            return
        total = folder.files.num_rows
        offset, limit = self._pages.span(total)
        rows = [build_foreign_row(row) for row in read_records(folder.files.slice(offset, limit))]
        table = render_table(
            "Files that no version knows", FOREIGN_COLUMNS, rows,
            empty="Every file in the folder belongs to the table.",
        )  # fmt: skip
        self._files.html = (
            html(
                '<div class="dx-head dx-below"><h4>Files that no version knows</h4>'
                '<span class="dx-hint">click one to ask why it is here</span>'
                "{}</div>",
                EXPORT_BUTTONS,
            )
            + table
            + self._pages.render(total)
        )

    def _maintain(self, _: str) -> None:
        self._state.view = "maintenance"

    def _choose(self, path: str) -> None:
        self._state.file = path

    def _chosen(self) -> Export | None:
        return None if self._folder is None else Export.of("foreign-files", self._folder.files)


_FOLDER = html("<h3>What lies in the folder</h3>")


def _render_input(file: str) -> Markup:
    return html(
        '<div class="dx-head"><h3>Why is this file still here?</h3>'
        '<input type="search" class="dx-code" data-do="file" data-when="enter" '
        'value="{}" aria-label="Path of a file" '
        'placeholder="part-00000.parquet, then Enter"></div>',
        file,
    )
