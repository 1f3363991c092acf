"""Every file of a plan with its reason: paged, sorted, filtered, exported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa

from explorer.errors import Problem
from explorer.maintenance.plan.plan import Plan
from explorer.progress import Watch
from widgets.markup import NOTHING, html
from widgets.screens.maintenance._ask_files import (
    SORTABLE,
    ActionCount,
    PlanFiles,
    PlanFilesPage,
    PlanFilesQuery,
)
from widgets.screens.maintenance._plan_parts import (
    ACTION_COLUMN,
    EXPORTED,
    FILE_COLUMNS,
    TIME_COLUMN,
    build_export_row,
    build_file_row,
    render_files_head,
)
from widgets.session.asking import Question
from widgets.session.page_services import PageServices
from widgets.state import PageState, parse_version
from widgets.ui.boxes import build_stack
from widgets.ui.exporting import Export, Exports
from widgets.ui.exports import convert
from widgets.ui.live_html import LiveHtml
from widgets.ui.pieces import render_problem, render_waiting
from widgets.ui.records import read_records
from widgets.ui.table import render_pager, render_table

EVERY_FILE = 2**31
"""More than a plan can hold."""


class PlanFilesView:
    """The file list of the plan that is reviewed; invisible where it has none."""

    def __init__(self, services: PageServices, state: PageState) -> None:
        self._question = Question(services.runner)
        self._files: PlanFiles | None = None
        self._counts: Sequence[ActionCount] = ()
        self._query = PlanFilesQuery()
        self._name = "plan"
        self._head = LiveHtml(margin=0)
        self._table = LiveHtml(margin=0)
        self.panel = build_stack(self._head, self._table)
        self.panel.visible = False
        self._head.on("action", self._choose)
        self._head.on("filter", self._filter)
        self._exports = Exports(services, state, self._head, self._chosen)
        self._table.on("page", self._turn)
        self._table.on("sort", self._sort)

    def show(self, plan: Plan) -> None:
        """Review the files of a plan; what is lost stands in front."""
        self.clear()
        if not plan.files.num_rows:
            return
        self.panel.visible = True
        self._name = f"{plan.operation}-{plan.digest[:12]}"
        self._table.html = render_waiting("Sorting the files")
        arrow = plan.files

        def work(_: Watch) -> tuple[PlanFiles, list[ActionCount]]:
            files = PlanFiles(arrow)
            return files, files.count()

        def done(found: tuple[PlanFiles, list[ActionCount]]) -> None:
            self._files, self._counts = found
            self._query = PlanFilesQuery(action=self._counts[0].action)
            self._draw_head()
            self._ask(self._query)

        self._question.ask(work, done, self._fail)

    def clear(self) -> None:
        """No plan is reviewed."""
        self.panel.visible = False
        self._question.drop()
        self._files, self._counts = None, ()
        self._head.html = self._table.html = NOTHING

    def _choose(self, action: str) -> None:
        known = {count.action for count in self._counts}
        if action in known or not action:
            self._ask(replace(self._query, action=action or None, offset=0))
            self._draw_head()

    def _filter(self, text: str) -> None:
        self._ask(replace(self._query, contains=text.strip(), offset=0))

    def _turn(self, offset: str) -> None:
        at = parse_version(offset)
        if at is not None:
            self._ask(replace(self._query, offset=at))

    def _sort(self, key: str) -> None:
        if key in SORTABLE:
            again = key == self._query.sort_by
            descending = not self._query.descending if again else key == "bytes"
            self._ask(replace(self._query, sort_by=key, descending=descending, offset=0))

    def _ask(self, query: PlanFilesQuery) -> None:
        files = self._files
        if files is None:
            return
        self._query = query

        self._question.ask(lambda _: files.read(query), partial(self._draw, query), self._fail)

    def _draw_head(self) -> None:
        counts = [(one.action, one.num_files, one.num_bytes) for one in self._counts]
        self._head.html = render_files_head(counts, self._query.action)

    def _draw(self, query: PlanFilesQuery, page: PlanFilesPage) -> None:
        mixed = query.action is None
        timed = self._files is not None and self._files.has_times
        rows = [
            build_file_row(entry, with_action=mixed, with_time=timed)
            for entry in read_records(page.rows)
        ]
        columns = [*FILE_COLUMNS]
        columns = [ACTION_COLUMN, *columns] if mixed else columns
        columns = [*columns, TIME_COLUMN] if timed else columns
        table = render_table(
            "Files of the plan",
            columns,
            rows,
            sort=(query.sort_by, query.descending),
            empty="No file matches the filter.",
        )
        pager = render_pager("files", query.offset, page.total, query.limit)
        self._table.html = html('<div class="dx-plan-table">{}</div>{}', table, pager)

    def _chosen(self) -> Export | None:
        files, name = self._files, self._name
        if files is None:
            return None

        def read(_: Watch) -> Iterator[pa.Table]:
            everything = replace(self._query, offset=0, limit=EVERY_FILE)
            return convert(files.read(everything).rows, EXPORTED, build_export_row)

        return Export(stem=name, read=read)

    def _fail(self, problem: Problem) -> None:
        self._table.html = render_problem(problem)
