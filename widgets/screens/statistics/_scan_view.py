"""The skipping simulator: a condition, the files that it leaves, and why each stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from explorer import ScanPlan
from explorer.progress import Watch
from widgets.markup import NOTHING, Markup, html, join
from widgets.screens.statistics._parts import (
    EXPORTED_REASONS,
    REASON_COLUMNS,
    build_reason_row,
    scan_sentence,
)
from widgets.screens.statistics.ask import plan_scan
from widgets.session.desk import Desk
from widgets.session.tables import TableService
from widgets.state import LONGEST_TEXT, PageState
from widgets.text import cut, format_bytes
from widgets.ui.boxes import build_card
from widgets.ui.exporting import Export, Exports
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.live_html import LiveHtml
from widgets.ui.paging import Pages
from widgets.ui.pending import Pending, Words
from widgets.ui.pieces import render_asked_problem, render_problems
from widgets.ui.records import read_records
from widgets.ui.table import render_table
from widgets.ui.ways import command_line, python_line, render_ways, sql_name

EXPORT_ROWS = 50_000
"""Files whose reasons are worked out at once."""

_WHICH = {"all": "All", "kept": "Read", "skipped": "Skipped"}


class ScanPart:
    """A card that asks for a condition; what is typed goes into the address."""

    def __init__(self, desk: Desk, state: PageState) -> None:
        self._state = state
        self._service: TableService | None = None
        self._asked: tuple[TableService, int, str] | None = None
        self._plan: ScanPlan | None = None
        self._which = "all"
        self._examples: Sequence[str] = ()
        self._input, self._answer = LiveHtml(margin=0), LiveHtml(margin=0)
        self._files = LiveHtml(margin=0)
        self._question = Pending(desk, self._answer)
        self._pages = Pages(self._files, "files", self._draw_files)
        self.panel = build_card(self._input, self._answer, self._files)
        self._input.on("where", self._type)
        self._answer.on("where", self._type)
        self._files.on("which", self._choose)
        self._exports = Exports(desk, state, self._files, self._chosen)

    def show(self, service: TableService, version: int) -> None:
        """The view is in front, on this version, with the condition of the page."""
        where = self._state.where
        if self._asked == (service, version, where):
            return
        self._service, self._asked, self._plan = service, (service, version, where), None
        self._which = "all"
        self._pages.rewind()
        self._input.html = _render_input(where)
        self._files.html = NOTHING
        if not where:
            self._question.drop()
            self._draw_examples()
            return
        self._question.ask(
            _PLAN,
            lambda watch, tell: plan_scan(service, version, where, watch, tell),
            self._draw,
            failed=render_asked_problem,
        )

    def offer(self, examples: Sequence[str]) -> None:
        """Conditions that make sense on this table."""
        self._examples = examples
        if not self._state.where:
            self._draw_examples()

    def _draw_examples(self) -> None:
        buttons = join(
            html(
                '<button type="button" class="dx-outlined" data-do="where" '
                'data-value="{}"><code>{}</code></button>',
                text,
                cut(text, 60),
            )
            for text in self._examples
        )
        tries = html('<div class="dx-buttons">{}</div>', buttons) if buttons else NOTHING
        self._answer.html = html(
            '<p class="dx-muted">Which files would a query with this condition have to read, and '
            "why? No file is opened for the answer.</p>{}",
            tries,
        )

    def _type(self, where: str) -> None:
        if len(where) <= LONGEST_TEXT:
            self._state.where = where.strip()

    def _draw(self, plan: ScanPlan) -> None:
        service, where = self._service, self._state.where
        if service is None:
            return
        self._plan = plan
        self._which = "kept" if plan.num_kept else "all"
        version = str(plan.version)
        total = plan.bytes_kept + plan.bytes_skipped
        share = plan.bytes_kept / total if total else 0.0
        meter = html(
            '<div class="dx-meter" role="img" aria-label="{} of '
            '{} have to be read"><i style="--share:{:.1%}"></i></div>',
            format_bytes(plan.bytes_kept),
            format_bytes(total),
            share,
        )
        ways = {
            "a command": command_line("skip", service.uri, [where, "--version", version]),
            "Python": python_line(
                service.uri,
                f"plan = explorer.plan_scan(table.snapshot(version={version}), {where!r})\n"
                "plan.num_kept, plan.reasons()",
            ),
            "Spark SQL": f"SELECT * FROM {sql_name(service.uri)} VERSION AS OF {version} "
            f"WHERE {where}",
        }
        self._answer.html = html(
            '<p class="dx-lead">{}</p>{}{}{}',
            scan_sentence(plan),
            meter,
            render_problems(plan.problems),
            render_ways("scan", ways),
        )
        self._draw_files()

    def _draw_files(self) -> None:
        plan = self._plan
        if plan is None:
            return
        counts = {"all": plan.num_files, "kept": plan.num_kept, "skipped": plan.num_skipped}
        total = counts[self._which]
        offset, limit = self._pages.span(total)
        frame = plan.reasons(self._which, offset, limit)  # type: ignore[arg-type]
        rows = [build_reason_row(entry) for entry in read_records(frame)]
        table = render_table(
            "Files and why they are read", REASON_COLUMNS, rows, empty="No such file."
        )
        buttons = join(
            html(
                '<button type="button" data-do="which" data-value="{}" '
                'aria-pressed="{}">{} {:,}</button>',
                name,
                str(name == self._which).lower(),
                label,
                counts[name],
            )
            for name, label in _WHICH.items()
        )
        self._files.html = (
            html(
                '<div class="dx-head dx-below"><h4>Files</h4><span class="dx-hint"></span>'
                '<span class="dx-segments" role="group" aria-label="Which files">{}</span>'
                "{}</div>",
                buttons,
                EXPORT_BUTTONS,
            )
            + table
            + self._pages.render(total)
        )

    def _choose(self, which: str) -> None:
        if which in _WHICH:
            self._which = which
            self._pages.rewind()
            self._draw_files()

    def _chosen(self) -> Export | None:
        plan, which = self._plan, self._which
        if plan is None:
            return None

        def read(_: Watch) -> Iterator[pa.Table]:
            for offset in range(0, max(plan.num_files, 1), EXPORT_ROWS):
                yield plan.reasons(which, offset, EXPORT_ROWS).select(EXPORTED_REASONS)  # type: ignore[arg-type]

        return Export(stem=f"files-of-a-query-{plan.version}", read=read)


_PLAN = Words(
    label="Asking the statistics of each file",
    stopped="Stopped before every file was asked.",
    again="Ask every file",
)


def _render_input(where: str) -> Markup:
    return html(
        '<div class="dx-head"><h3>Skipping simulator</h3>'
        '<input type="search" class="dx-code" data-do="where" data-when="enter" '
        'value="{}" aria-label="Condition of a query" '
        "placeholder=\"region = 'emea' AND amount > 10, then Enter\"></div>",
        where,
    )
