"""What restoring a version would do to the newest one: planned on demand, never executed."""

from __future__ import annotations

from explorer.errors import Problem
from explorer.maintenance import Plan, Verdict
from explorer.progress import Progress
from widgets.markup import NOTHING, Markup, html, join
from widgets.screens.compare._ask import plan_restore
from widgets.session.asking import Question
from widgets.session.desk import Desk
from widgets.session.tables import TableService
from widgets.state import Notice
from widgets.text import cut, cut_middle, format_bytes, format_count, visible
from widgets.ui.boxes import build_card
from widgets.ui.live_html import LiveHtml
from widgets.ui.paging import Pages
from widgets.ui.pieces import (
    render_definitions,
    render_notice,
    render_problem,
    render_section,
)
from widgets.ui.progress import render_progress
from widgets.ui.records import read_records
from widgets.ui.table import Cell, Column, Row, render_table
from widgets.ui.ways import command_line, python_line, render_ways, sql_name

FILE_COLUMNS = (
    Column(key="action", label="What"),
    Column(key="path", label="File", mono=True),
    Column(key="bytes", label="Size", align="right"),
    Column(key="reason", label="Why", wraps=True),
)
_ACTIONS = {"add": "comes back", "remove": "leaves"}


class RestorePart:
    """A card at the foot of the comparison."""

    def __init__(self, desk: Desk) -> None:
        self._question = Question(desk.runner)
        self._service: TableService | None = None
        self._version = 0
        self._plan: Plan | None = None
        self._html = LiveHtml(margin=0)
        self._files = LiveHtml(margin=0)
        self._pages = Pages(self._files, "files", self._draw_files)
        self.panel = build_card(self._html, self._files)
        self._html.on("plan", lambda _: self._ask())
        self._html.on("cancel", lambda _: self._offer())

    def show(self, service: TableService, version: int) -> None:
        """Another version is compared with."""
        self._service, self._version = service, version
        self._offer()

    def _offer(self) -> None:
        self._question.drop()
        self._plan, self._files.html = None, NOTHING
        self._html.html = html(
            "{}<p>Whether each file of that version is still there is looked up; "
            'nothing is changed.</p><div class="dx-buttons"><button type="button" '
            'class="dx-outlined" data-do="plan" data-value="">Show what it would do</button></div>',
            self._head(),
        )

    def _head(self) -> Markup:
        return html(
            "<h3>What restoring version {} would do</h3>", format_count(max(self._version, 0))
        )

    def _ask(self) -> None:
        service, version = self._service, self._version
        if service is None or version < 0:
            return

        def report(progress: Progress) -> None:
            self._html.html = self._head() + render_progress(progress)

        report(Progress(done=0, total=None, label="Looking at the files of both versions"))
        self._question.ask(
            lambda watch: plan_restore(service, version, watch), self._draw, self._fail, report
        )

    def _fail(self, problem: Problem) -> None:
        self._html.html = self._head() + render_problem(problem)

    def _draw(self, plan: Plan) -> None:
        service = self._service
        if service is None:
            return
        self._plan = plan
        self._pages.rewind()
        version, effect = self._version, plan.effect
        refused = join(_render_verdict(verdict) for verdict in plan.verdicts)
        pairs = [
            ("Rows removed", _rows(effect["rows_removed"], at_most=effect["rows_at_most"])),
            ("Rows returned", _rows(effect["rows_returned"], at_most=effect["rows_at_most"])),
            *(
                (label, cut(", ".join(effect[key]), 400))
                for label, key in _COLUMN_MOVES
                if effect[key]
            ),
            ("Comes back", _files_and_bytes(effect["files_added_again"],
                                            effect["bytes_added_again"])),
            ("Leaves", _files_and_bytes(effect["files_removed"], effect["bytes_removed"])),
            ("Schema and properties", "come back too" if effect["changes_metadata"]
             else "stay as they are"),
            ("Protocol", "stays as it is; it never gets lower"),
            ("Planned on", f"version {format_count(plan.anchor.version)}, the newest"),
            ("Undo", f"restore version {format_count(plan.anchor.version)}"),
        ]  # fmt: skip
        ways = {
            "a command": command_line("restore", service.uri, ["--version", str(version)]),
            "Python": python_line(
                service.uri,
                "from explorer import maintenance\n"
                f"plan = maintenance.plan_restore(table, {version})",
            ),
            "Spark SQL": f"RESTORE TABLE {sql_name(service.uri)} TO VERSION AS OF {version}",
        }
        guards = [(verdict.guard, verdict.message) for verdict in plan.verdicts]
        self._html.html = html(
            '{}<p class="dx-lead">{}</p>{}{}{}{}',
            self._head(),
            visible(plan.summary),
            refused,
            render_definitions(pairs),
            render_section("What was looked at", render_definitions(guards)),
            render_ways("restore", ways),
        )
        self._draw_files()

    def _draw_files(self) -> None:
        plan = self._plan
        if plan is None:
            return
        total = plan.files.num_rows
        offset, limit = self._pages.span(total)
        rows = [_row(entry) for entry in read_records(plan.files.slice(offset, limit))]
        table = render_table("Files of the plan", FILE_COLUMNS, rows, empty="No file is touched.")
        self._files.html = table + self._pages.render(total)


def _render_verdict(verdict: Verdict) -> Markup:
    """What keeps the plan from being carried out, or should be known before."""
    if verdict.outcome == "allow":
        return NOTHING
    level = "error" if verdict.outcome == "refuse" else "warning"
    word = "It is refused" if verdict.outcome == "refuse" else "Take note"
    return render_notice(
        Notice(
            level=level,  # type: ignore[arg-type]
            problem=f"{word}: {cut(verdict.message, 600)}",
            remedy=cut(verdict.remedy, 600),
        )
    )


_COLUMN_MOVES = (
    ("Columns removed", "columns_removed"),
    ("Columns returned", "columns_returned"),
    ("Columns as before", "columns_changed"),
)


def _rows(number: int | None, *, at_most: bool) -> str:
    if number is None:
        return "not known"
    return f"at most {format_count(number)}" if at_most and number else format_count(number)


def _files_and_bytes(files: int, size: int) -> str:
    return f"{format_count(files)} {'file' if files == 1 else 'files'}, {format_bytes(size)}"


def _row(entry: dict[str, object]) -> Row:
    path, size = str(entry["path"]), entry["bytes"]
    known = size if isinstance(size, int) else None
    return Row(
        cells=(
            Cell(text=_ACTIONS.get(str(entry["action"]), str(entry["action"]))),
            Cell(text=cut_middle(path, 60), title=cut(path, 1000)),
            Cell(text=format_bytes(known), title=format_count(known)),
            Cell(text=cut(str(entry["reason"]), 200)),
        )
    )
