"""What statistics cover, and what they save: columns, their ranges, the skipping simulator."""

from __future__ import annotations

from explorer.inspect import StatisticsReport
from widgets.markup import NOTHING, Markup, html
from widgets.screens.statistics._parts import (
    COVERAGE_COLUMNS,
    EXPORTED_COLUMNS,
    build_coverage_row,
    coverage_sentence,
    example_conditions,
    render_ranges,
)
from widgets.screens.statistics._profile_view import ProfilePart
from widgets.screens.statistics._scan_view import ScanPart
from widgets.screens.statistics.ask import ColumnRanges, read_coverage, read_ranges
from widgets.session.desk import Desk
from widgets.session.tables import TableService
from widgets.state import PageState
from widgets.text import cut, format_count
from widgets.ui.boxes import build_card, build_filled_card, build_stack
from widgets.ui.exporting import Export, Exports
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.live_html import LiveHtml
from widgets.ui.paging import Pages
from widgets.ui.pending import Pending, Words, untold
from widgets.ui.pieces import render_detail_head, render_problems
from widgets.ui.records import read_records
from widgets.ui.table import render_table
from widgets.ui.ways import command_line, python_line, render_ways


class StatisticsView:
    """The simulator, the columns, and the one that is selected."""

    def __init__(self, desk: Desk, state: PageState) -> None:
        self._state = state
        self._service: TableService | None = None
        self._version: int | None = None
        self._column: str | None = None
        self._report: StatisticsReport | None = None
        self._coverage, self._ranges = LiveHtml(margin=0), LiveHtml(margin=0)
        self._report_question = Pending(desk, self._coverage)
        self._range_question = Pending(desk, self._ranges)
        self._scan, self._profile = ScanPart(desk, state), ProfilePart(desk)
        self._pages = Pages(self._coverage, "columns", self._draw)
        self.panel = build_stack(
            self._scan.panel, build_card(self._coverage), build_filled_card(self._ranges),
            self._profile.panel,
        )  # fmt: skip
        self._coverage.on("column", self._choose)
        self._exports = Exports(desk, state, self._coverage, self._chosen)
        self._ranges.on("close", lambda _: self._choose(""))
        state.param.watch(lambda *_: self._refresh(), ["version", "where", "column", "view"])

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._service, self._version = service, None
        self._refresh()

    def _refresh(self) -> None:
        service, version = self._service, self._state.version
        if service is None or version is None or self._state.view != "statistics":
            return
        if self._version != version:
            self._version, self._report, self._column = version, None, None
            self._profile.clear()
            self._pages.rewind()
            self._report_question.ask(
                _COVERAGE,
                lambda watch, tell: read_coverage(service, version, watch, tell),
                self._cover,
                head=_render_head(version),
            )
        self._scan.show(service, version)
        if self._column != self._state.column:
            self._column = self._state.column
            self._draw()
            self._offer_profile()
            self._read_ranges(service, version, self._column)

    def _cover(self, report: StatisticsReport) -> None:
        self._report = report
        self._scan.offer(example_conditions(read_records(report.columns.slice(0, 100))))
        names = report.columns.column("path").to_pylist()
        if self._column in names:
            self._pages.reach(names.index(self._column))
        self._draw()
        self._offer_profile()

    def _offer_profile(self) -> None:
        report, service, version = self._report, self._service, self._version
        if report is None or service is None or version is None:
            return
        entries = [row for row in read_records(report.columns) if row["path"] == self._column]
        if entries:
            self._profile.show(service, version, str(self._column), entries[0])
        else:
            self._profile.clear()

    def _draw(self) -> None:
        report, service, version = self._report, self._service, self._version
        if report is None or service is None or version is None:
            return
        entries = read_records(report.columns)
        offset, limit = self._pages.span(len(entries))
        rows = [
            build_coverage_row(entry, self._column or "")
            for entry in entries[offset : offset + limit]
        ]
        table = render_table(
            "Columns and their statistics", COVERAGE_COLUMNS, rows,
            empty="No column has statistics.",
        )  # fmt: skip
        ways = {
            "a command": command_line("stats", service.uri, ["--version", str(version)]),
            "Python": python_line(
                service.uri,
                "import explorer.inspect as look\n"
                f"look.column_statistics(table.snapshot(version={version})).columns",
            ),
        }
        self._coverage.html = html(
            '{}<p class="dx-lead">{}</p>{}{}{}{}',
            _render_head(version),
            coverage_sentence(report, entries),
            render_problems(report.problems),
            table,
            self._pages.render(len(entries)),
            render_ways("statistics", ways),
        )

    def _choose(self, column: str) -> None:
        self._state.column = "" if column == self._state.column else column

    def _read_ranges(self, service: TableService, version: int, column: str) -> None:
        self._range_question.drop()
        if not column:
            self._ranges.html = NOTHING
            return
        head = render_detail_head(
            column, html("<h3>Ranges of a column</h3>"), html("<code>{}</code>", cut(column, 200))
        )

        def done(ranges: ColumnRanges) -> None:
            self._ranges.html = head + render_ranges(column, ranges)

        work = untold(lambda watch: read_ranges(service, version, column, watch))
        self._range_question.ask(_RANGES, work, done, head=head)

    def _chosen(self) -> Export | None:
        if self._report is None:
            return None
        frame = self._report.columns.select(list(EXPORTED_COLUMNS))
        return Export.of(f"statistics-{self._version}", frame)


_COVERAGE = Words(
    label="Reading the statistics",
    stopped="Stopped before the statistics of all files were read.",
    again="Read the statistics",
)
_RANGES = Words(
    label="Reading the ranges of this column",
    stopped="Stopped before the ranges of all files were read.",
    again="Read the ranges",
)


def _render_head(version: int) -> Markup:
    return html(
        '<div class="dx-head"><h3>Statistics of version {}</h3>'
        '<span class="dx-hint">click a column for its ranges</span>'
        "{}</div>",
        format_count(version),
        EXPORT_BUTTONS,
    )
