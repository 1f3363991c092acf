"""What statistics cover, and what they save: columns, their ranges, the skipping simulator."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.inspect import StatisticsReport
from widgets.markup import NOTHING, Markup, html
from widgets.screens.statistics._parts import (
    COVERAGE_COLUMNS,
    EXPORTED_COLUMNS,
    build_coverage_row,
    coverage_sentence,
    render_ranges,
)
from widgets.screens.statistics._profile_view import build_profile
from widgets.screens.statistics._scan_view import ScanPart
from widgets.screens.statistics.ask import ColumnRanges, read_coverage, read_ranges
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.state import PageState
from widgets.text import cut, format_count
from widgets.ui.boxes import build_card, build_filled_card, build_stack
from widgets.ui.copy_as import command_line, python_line, render_copy_as
from widgets.ui.exporting import Export
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_detail_head, render_problems
from widgets.ui.place_links import LINKED, PlaceLinks
from widgets.ui.records import read_records
from widgets.ui.table import render_above_list, render_table
from widgets.ui.view import AtVersion, Pane, Request, View, Words, at_version


@dataclass(frozen=True, slots=True)
class _Column:
    """The selected column of a version."""

    service: TableService
    version: int
    path: str


class StatisticsView:
    """The simulator, the columns, and the one that is selected."""

    def __init__(self, services: PageServices, state: PageState) -> None:
        self._state = state
        self._links = PlaceLinks(state, has_address=services.runner.is_background)
        coverage = Pane(
            self._render_coverage, head=_render_head, noun="columns", start=self._find_selected,
            export=_export_coverage,
        )  # fmt: skip
        ranges = Pane(_render_column, head=_render_column_head)
        report = View(services, state, "statistics", _COVERAGE, coverage)
        scan = ScanPart(services, state, report)
        profile, exact = build_profile(services, state, report)
        self._views = (
            report,
            scan.view,
            View(services, state, "statistics", _RANGES, ranges),
            profile,
        )
        self.panel = build_stack(
            scan.panel, build_card(coverage.live), build_filled_card(ranges.live),
            build_filled_card(exact.live),
        )  # fmt: skip
        coverage.live.on("column", self._choose)
        ranges.live.on("close", lambda _: self._choose(""))

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        for view in self._views:
            view.show(service)

    def _choose(self, column: str) -> None:
        self._state.column = "" if column == self._state.column else column

    def _find_selected(self, _: AtVersion, report: StatisticsReport) -> int:
        names = report.columns.column("path").to_pylist()
        return names.index(self._state.column) if self._state.column in names else 0

    def _render_coverage(self, asked: AtVersion, report: StatisticsReport, pages: Pages) -> Markup:
        entries = read_records(report.columns)
        offset, limit = pages.span(len(entries))
        shown = entries[offset : offset + limit]
        rows = self._links.rows(
            [build_coverage_row(entry, self._state.column) for entry in shown],
            lambda column: {"column": column},
        )
        uri = asked.service.uri
        commands = {
            "CLI": command_line("stats", uri, ["--version", str(asked.version)]),
            "Python": python_line(
                uri,
                "import explorer.inspect as look\n"
                f"look.column_statistics(table.snapshot(version={asked.version})).columns",
            ),
        }
        return html(
            '<p class="dx-lead">{}</p>{}{}{}',
            coverage_sentence(report, entries),
            render_problems(report.problems),
            # the ranges of a column are the next stop of the Tab key after the list
            render_above_list(
                render_copy_as("statistics", commands), pages.render(len(entries))
            ),
            render_table(
                "Columns and their statistics", COVERAGE_COLUMNS, rows,
                empty="No column has statistics.",
            ),
        )  # fmt: skip


def _export_coverage(asked: AtVersion, report: StatisticsReport) -> Export:
    return Export.of(f"statistics-{asked.version}", report.columns.select(list(EXPORTED_COLUMNS)))


def _render_head(asked: AtVersion, report: StatisticsReport | None) -> Markup:
    return html(
        '<div class="dx-head"><h3>Statistics of version {}</h3>'
        '<span class="dx-hint">click a column for its ranges</span>'
        "{}</div>",
        format_count(asked.version),
        NOTHING if report is None else EXPORT_BUTTONS,
    )


def _column(service: TableService, state: PageState) -> _Column | None:
    if state.version is None or not state.column:
        return None
    return _Column(service, state.version, state.column)


def _render_column_head(asked: _Column, _: ColumnRanges | None) -> Markup:
    return render_detail_head(
        asked.path,
        html("<h3>Ranges of a column</h3>"),
        html("<code>{}</code>", cut(asked.path, 200)),
    )


def _render_column(asked: _Column, ranges: ColumnRanges, _: Pages) -> Markup:
    return render_ranges(asked.path, ranges)


_COVERAGE: Request[AtVersion, StatisticsReport] = Request(
    question=at_version,
    read=lambda asked, watch, tell: read_coverage(asked.service, asked.version, watch, tell),
    words=Words(
        label="Reading the statistics",
        stopped="Stopped before the statistics of all files were read.",
        again="Read the statistics",
    ),
    follows=LINKED,
)
_RANGES: Request[_Column, ColumnRanges] = Request(
    question=_column,
    read=lambda asked, watch, _: read_ranges(asked.service, asked.version, asked.path, watch),
    words=Words(
        label="Reading the ranges of this column",
        stopped="Stopped before the ranges of all files were read.",
        again="Read the ranges",
    ),
    follows=("version", "column"),
)
