"""The skipping simulator: a condition, the files that it leaves, and why each stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from explorer import ScanPlan
from explorer.inspect import StatisticsReport
from explorer.progress import Watch
from widgets.choices import Choices
from widgets.markup import NOTHING, Markup, html, join
from widgets.screens.statistics._parts import (
    EXPORTED_REASONS,
    REASON_COLUMNS,
    build_reason_row,
    example_conditions,
    scan_sentence,
)
from widgets.screens.statistics.ask import plan_scan
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.state import LONGEST_TEXT, PageState
from widgets.text import cut, format_bytes
from widgets.ui.boxes import build_card
from widgets.ui.copy_as import command_line, python_line, render_copy_as, sql_name
from widgets.ui.exporting import Export
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.paging import Pages
from widgets.ui.pieces import (
    example_condition,
    render_asked_problem,
    render_name_offers,
    render_problems,
)
from widgets.ui.records import read_records
from widgets.ui.table import render_table
from widgets.ui.view import AtVersion, Offer, Pane, Request, Tell, View, Words

EXPORT_ROWS = 50_000
"""Files whose reasons are worked out at once."""

_WHICH = {"all": "All", "kept": "Read", "skipped": "Skipped"}


@dataclass(frozen=True, slots=True)
class _Condition:
    """A condition on the rows of a version; empty where none is typed."""

    service: TableService
    version: int
    where: str


def _usual(plan: ScanPlan) -> str:
    """Which files are shown where nobody has chosen: those that are read, if any are."""
    return "kept" if plan.num_kept else "all"


class ScanPart:
    """A card that asks for a condition; what is typed goes into the address."""

    def __init__(
        self, services: PageServices, state: PageState, report: View[AtVersion, StatisticsReport]
    ) -> None:
        self._state = state
        self._report = report
        self._choices = Choices(state, "statistics", lambda _: self._files.rewind())
        self._names: list[str] = []
        request = Request(
            question=_condition,
            read=_read,
            words=_WORDS,
            follows=("version", "where"),
            top=lambda asked: _render_input(asked, self._names),
            offer=Offer(render=self._offer),
            failed=render_asked_problem,
        )
        answer = Pane(_render_plan)
        self._files = Pane(self._render_files, noun="files", export=self._export)
        self.view = View(
            services, state, "statistics", request, answer, self._files, after=(report,)
        )
        self.panel = build_card(self.view.top, answer.live, self._files.live)
        report.listen(self._offer_names)
        self.view.top.on("where", self._type)
        answer.live.on("where", self._type)
        self._files.live.on("which", self._choose)

    def _offer_names(self) -> None:
        """The columns of the version are known, which the condition may name."""
        report, asked = self._report.answer, self.view.question
        names = [] if report is None else report.columns.column("path").to_pylist()
        if asked is not None and names and names != self._names:
            self._names = names
            self.view.top.html = _render_input(asked, names)

    def _offer(self, asked: _Condition) -> Markup | None:
        """Without a condition: some that make sense on this table."""
        if asked.where:
            return None
        report = self._report.answer
        entries = [] if report is None else read_records(report.columns.slice(0, 100))
        buttons = join(
            html(
                '<button type="button" class="dx-outlined" data-do="where" '
                'data-value="{}"><code>{}</code></button>',
                text,
                cut(text, 60),
            )
            for text in example_conditions(entries)
        )
        tries = html('<div class="dx-buttons">{}</div>', buttons) if buttons else NOTHING
        return html(
            '<p class="dx-muted">Which files would a query with this condition have to read, and '
            "why? No file is opened for the answer.</p>{}",
            tries,
        )

    def _type(self, where: str) -> None:
        if len(where) <= LONGEST_TEXT:
            self._state.where = where.strip()

    def _choose(self, which: str) -> None:
        plan = self.view.answer
        if which in _WHICH and plan is not None:
            self._choices.choose(which="" if which == _usual(plan) else which)

    def _chosen(self, plan: ScanPlan) -> str:
        return self._choices.get("which", _WHICH) or _usual(plan)

    def _render_files(self, _: _Condition, plan: ScanPlan, pages: Pages) -> Markup:
        which = self._chosen(plan)
        counts = {"all": plan.num_files, "kept": plan.num_kept, "skipped": plan.num_skipped}
        frame = plan.reasons(which, *pages.span(counts[which]))  # type: ignore[arg-type]
        rows = [build_reason_row(entry) for entry in read_records(frame)]
        buttons = join(
            html(
                '<button type="button" data-do="which" data-value="{}" '
                'aria-pressed="{}">{} {:,}</button>',
                name,
                str(name == which).lower(),
                label,
                counts[name],
            )
            for name, label in _WHICH.items()
        )
        return html(
            '<div class="dx-head dx-below"><h4>Files</h4><span class="dx-hint"></span>'
            '<span class="dx-segments" role="group" aria-label="Which files">{}</span>'
            "{}</div>{}{}",
            buttons,
            EXPORT_BUTTONS,
            render_table(
                "Files and why they are read", REASON_COLUMNS, rows, empty="No such file."
            ),
            pages.render(counts[which]),
        )

    def _export(self, _: _Condition, plan: ScanPlan) -> Export:
        which = self._chosen(plan)

        def read(_: Watch) -> Iterator[pa.Table]:
            for offset in range(0, max(plan.num_files, 1), EXPORT_ROWS):
                yield plan.reasons(which, offset, EXPORT_ROWS).select(EXPORTED_REASONS)  # type: ignore[arg-type]

        return Export(stem=f"files-of-a-query-{plan.version}", read=read)


def _condition(service: TableService, state: PageState) -> _Condition | None:
    return None if state.version is None else _Condition(service, state.version, state.where)


def _read(asked: _Condition, watch: Watch, tell: Tell) -> ScanPlan:
    return plan_scan(asked.service, asked.version, asked.where, watch, tell)


def _render_plan(asked: _Condition, plan: ScanPlan, _: Pages) -> Markup:
    uri, where, version = asked.service.uri, asked.where, str(plan.version)
    total = plan.bytes_kept + plan.bytes_skipped
    share = plan.bytes_kept / total if total else 0.0
    meter = html(
        '<div class="dx-meter" role="img" aria-label="{} of '
        '{} have to be read"><i style="--share:{:.1%}"></i></div>',
        format_bytes(plan.bytes_kept),
        format_bytes(total),
        share,
    )
    commands = {
        "CLI": command_line("skip", uri, [where, "--version", version]),
        "Python": python_line(
            uri,
            f"plan = explorer.plan_scan(table.snapshot(version={version}), {where!r})\n"
            "plan.num_kept, plan.reasons()",
        ),
        "Spark SQL": f"SELECT * FROM {sql_name(uri)} VERSION AS OF {version} WHERE {where}",
    }
    return html(
        '<p class="dx-lead">{}</p>{}{}{}',
        scan_sentence(plan),
        meter,
        render_problems(plan.problems),
        render_copy_as("scan", commands),
    )


_WORDS = Words(
    label="Asking the statistics of each file",
    stopped="Stopped before every file was asked.",
    again="Ask every file",
)


def _render_input(asked: _Condition, names: Sequence[str]) -> Markup:
    return html(
        '<div class="dx-head"><h3>Skipping simulator</h3>'
        '<input type="search" class="dx-code" data-do="where" data-when="enter" '
        'value="{}" aria-label="Condition of a query"{} '
        'placeholder="{}"></div>',
        asked.where,
        render_name_offers(names),
        example_condition(names),
    )
