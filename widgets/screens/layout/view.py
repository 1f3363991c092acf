"""Sizes of files against the target, bytes by partition, overlap, and what OPTIMIZE did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from explorer.inspect import Layout
from widgets.markup import NOTHING, Markup, html
from widgets.screens.files.parts import render_partition
from widgets.screens.layout._ask import (
    FREE_COMMITS,
    largest_partitions,
    read_depth,
    read_effects,
    read_layout,
)
from widgets.screens.layout._parts import (
    AREAS,
    DEPTH_COLUMNS,
    EFFECT_COLUMNS,
    PARTITION_COLUMNS,
    build_depth_row,
    build_effect_row,
    build_partition_row,
    layout_figures,
    render_partition_map,
    render_sizes,
)
from widgets.session.desk import Desk
from widgets.session.tables import TableService
from widgets.state import PageState, parse_version
from widgets.text import format_count, visible
from widgets.ui.boxes import build_card, build_filled_card, build_stack
from widgets.ui.exporting import Export, Exports
from widgets.ui.exports import EXPORT_BUTTONS, convert
from widgets.ui.live_html import LiveHtml
from widgets.ui.paging import Pages
from widgets.ui.pending import Pending, Words, untold
from widgets.ui.pieces import render_key_figures, render_section
from widgets.ui.records import read_records
from widgets.ui.table import render_table
from widgets.ui.ways import command_line, python_line, render_ways, sql_name

EFFECTS_SHOWN = 200


class LayoutView:
    """What the log says of sizes at once; overlap and history follow."""

    def __init__(self, desk: Desk, state: PageState) -> None:
        self._state = state
        self._service: TableService | None = None
        self._version: int | None = None
        self._layout: Layout | None = None
        self._answer, self._partitions = LiveHtml(margin=0), LiveHtml(margin=0)
        self._depth, self._effects = LiveHtml(margin=0), LiveHtml(margin=0)
        self._sizes_question = Pending(desk, self._answer)
        self._depth_question = Pending(desk, self._depth)
        self._effects_question = Pending(desk, self._effects)
        self._pages = Pages(self._partitions, "partitions", self._draw_partitions)
        self.panel = build_stack(
            build_card(self._answer),
            *(build_filled_card(part) for part in (self._partitions, self._depth, self._effects)),
        )
        self._exports = Exports(desk, state, self._partitions, self._chosen)
        self._effects.on("effects", lambda _: self._read_effects())
        self._effects.on("version", self._compare)
        state.param.watch(lambda *_: self._refresh(), ["version", "view"])

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        self._service, self._version = service, None
        self._effects.html = NOTHING
        self._refresh()

    def _refresh(self) -> None:
        service, version = self._service, self._state.version
        if service is None or version is None or self._state.view != "layout":
            return
        if self._version == version:
            return
        self._version, self._layout = version, None
        self._pages.rewind()
        self._partitions.html = self._depth.html = NOTHING
        work = untold(lambda watch: read_layout(service, version, watch))
        self._sizes_question.ask(_SIZES_WORDS, work, self._tell, head=_render_head(version))
        self._read_depth(service, version)
        if not self._effects.html:
            self._offer_effects()
            if (self._state.latest or 0) < FREE_COMMITS:
                self._read_effects()

    def _tell(self, layout: Layout) -> None:
        service = self._service
        if service is None:
            return
        self._layout = layout
        ways = {
            "a command": command_line("layout", service.uri, ["--version", str(layout.version)]),
            "Python": python_line(
                service.uri,
                "import explorer.inspect as look\n"
                f"look.file_layout(table.snapshot(version={layout.version})).partitions",
            ),
            "Spark SQL": f"OPTIMIZE {sql_name(service.uri)}",
        }
        rows = read_records(layout.sizes)
        self._answer.html = html(
            '{}<p class="dx-lead">{}</p>{}{}{}',
            _render_head(layout.version),
            visible(layout.sentence),
            render_key_figures(layout_figures(layout)),
            render_section("Files by size", render_sizes(rows, layout.target)),
            render_ways("layout", ways),
        )
        self._draw_partitions()

    def _draw_partitions(self) -> None:
        layout = self._layout
        if layout is None or not layout.num_files:
            return
        total = layout.partitions.num_rows
        drawn = ""
        if total > 1:
            largest = read_records(largest_partitions(layout.partitions, AREAS))
            drawn = render_partition_map(largest, layout) + _LEGEND
        offset, limit = self._pages.span(total)
        rows = [
            build_partition_row(row) for row in read_records(layout.partitions.slice(offset, limit))
        ]
        table = render_table("Partitions, best gain first", PARTITION_COLUMNS, rows)
        self._partitions.html = html(
            '<div class="dx-head"><h3>Bytes by partition</h3>'
            '<span class="dx-hint">those first that gain most per byte written again</span>'
            "{}</div>"
            "{}{}{}",
            EXPORT_BUTTONS,
            drawn,
            table,
            self._pages.render(total),
        )

    def _read_depth(self, service: TableService, version: int) -> None:
        def done(frame: pa.Table) -> None:
            rows = [build_depth_row(row) for row in read_records(frame)]
            self._depth.html = _DEPTH + render_table(
                "Overlap by column", DEPTH_COLUMNS, rows, empty="No column has an order."
            )

        work = untold(lambda watch: read_depth(service, version, watch))
        self._depth_question.ask(_DEPTH_WORDS, work, done, head=_DEPTH)

    def _offer_effects(self) -> None:
        self._effects_question.drop()
        self._effects.html = html(
            '{}<p class="dx-muted">The whole history is read for it.</p>'
            '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="effects" '
            'data-value="">Find every OPTIMIZE of the log</button></div>',
            _EFFECTS,
        )

    def _read_effects(self) -> None:
        service = self._service
        if service is None:
            return

        def done(frame: pa.Table) -> None:
            rows = [build_effect_row(row) for row in read_records(frame.slice(0, EFFECTS_SHOWN))]
            more = frame.num_rows - EFFECTS_SHOWN
            note = (
                html('<p class="dx-muted">{:,} older ones are not listed.</p>', more)
                if more > 0
                else NOTHING
            )
            table = render_table(
                "What each OPTIMIZE did, newest first", EFFECT_COLUMNS, rows,
                empty="The log that is left knows no OPTIMIZE.",
            )  # fmt: skip
            self._effects.html = _EFFECTS + (_CLICK if rows else NOTHING) + table + note

        work = untold(lambda watch: read_effects(service, watch))
        self._effects_question.ask(_EFFECTS_WORDS, work, done, head=_EFFECTS)

    def _compare(self, version: str) -> None:
        chosen = parse_version(version)
        if chosen is not None and chosen <= (self._state.latest or 0):
            self._state.param.update(version=chosen, older=None, view="compare")

    def _chosen(self) -> Export | None:
        layout = self._layout
        if layout is None:
            return None
        frame = layout.partitions
        types = {field.name: field.type for field in frame.schema} | {"partition": pa.string()}

        def build_row(row: Mapping[str, Any]) -> list[object]:
            return [render_partition(row["partition"]), *list(row.values())[1:]]

        return Export(
            stem=f"partitions-{layout.version}", read=lambda _: convert(frame, types, build_row)
        )


_SIZES_WORDS = Words(
    label="Reading the sizes of the files",
    stopped="Stopped before the sizes of all files were read.",
    again="Read the sizes",
)
_DEPTH_WORDS = Words(
    label="Reading the ranges of the files",
    stopped="Stopped before the ranges of all files were compared.",
    again="Compare the ranges",
)
_EFFECTS_WORDS = Words(
    label="Reading the history",
    stopped="Stopped before the whole history was read.",
    again="Find every OPTIMIZE of the log",
)
_DEPTH = html(
    '<div class="dx-head"><h3>Overlap by column</h3><span class="dx-hint">among the files of one '
    "partition; one file for one value where they do not overlap</span></div>"
)
_EFFECTS = html("<h3>What each OPTIMIZE did</h3>")
_CLICK = html('<p class="dx-muted">Click one to compare it with the version before.</p>')
_LEGEND = html(
    '<p class="dx-legend"><i class="dx-heat-none"></i>in files that are large enough'
    '<i class="dx-heat-full"></i>in small files</p>'
)


def _render_head(version: int) -> Markup:
    return html('<div class="dx-head"><h3>Layout of version {}</h3></div>', format_count(version))
