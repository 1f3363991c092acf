"""Sizes of files against the target, bytes by partition, overlap, and what OPTIMIZE did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from explorer.inspect import Layout
from widgets.markup import NOTHING, Markup, html
from widgets.screens.files.parts import render_partition
from widgets.screens.layout._ask import (
    FREE_COMMITS,
    find_partition,
    largest_partitions,
    read_depth,
    read_effects,
    read_layout,
)
from widgets.screens.layout._partition_view import PartitionPart, chosen_partition
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
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.state import PageState, render_list
from widgets.text import format_count, visible
from widgets.ui.boxes import (
    build_card,
    build_filled_card,
    build_split,
    build_stack,
    close_side,
    open_side,
)
from widgets.ui.copy_as import command_line, python_line, render_copy_as, sql_name
from widgets.ui.exporting import Export
from widgets.ui.exports import EXPORT_BUTTONS, convert
from widgets.ui.paging import Pages
from widgets.ui.pieces import render_key_figures, render_section
from widgets.ui.place_links import LINKED, PlaceLinks
from widgets.ui.records import read_records
from widgets.ui.table import Row, render_above_list, render_table
from widgets.ui.view import AtVersion, Offer, Pane, Request, View, Words, at_version

EFFECTS_SHOWN = 200


@dataclass(frozen=True, slots=True)
class _AllCommits:
    """The whole log of a table, up to its latest version."""

    service: TableService
    latest: int


class LayoutView:
    """What the log says of sizes at once; overlap and history follow."""

    def __init__(self, services: PageServices, state: PageState) -> None:
        self._state = state
        sizes = Pane(_render_layout, head=_render_head)
        self._partitions = Pane(
            self._render_partitions,
            noun="partitions",
            start=self._find_chosen,
            export=_export_partitions,
        )
        self._partition = PartitionPart(services, state)
        depth = Pane(_render_depth, head=_DEPTH_HEAD)
        self._links = PlaceLinks(state, has_address=services.runner.is_background)
        effects = Pane(partial(_render_effects, self._links), head=_EFFECTS_HEAD)
        self._views = (
            View(services, state, "layout", _SIZES, sizes, self._partitions),
            View(services, state, "layout", _DEPTH, depth),
            View(services, state, "layout", _EFFECTS, effects),
        )
        card = build_filled_card(self._partitions.live)
        self._split = build_split(card, self._partition.panel)
        self._partition.panel.param.watch(lambda _: self._fit_side(), "visible")
        self._views[0].listen(self._fit_split)
        self._fit_side()
        self.panel = build_stack(
            build_card(sizes.live),
            self._split,
            *(build_filled_card(pane.live) for pane in (depth, effects)),
        )
        self._partitions.live.on("partition", self._partition.choose)
        effects.live.on("version", self._compare)

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        for view in self._views:
            view.show(service)
        self._partition.show(service)

    def _fit_side(self) -> None:
        fit = open_side if self._partition.panel.visible else close_side
        fit(self._split, self._partition.panel)
        self._fit_split()

    def _fit_split(self) -> None:
        """An empty split would leave a gap in the stack."""
        self._split.visible = bool(self._partitions.live.html) or self._partition.panel.visible

    def _find_chosen(self, _: AtVersion, layout: Layout) -> int:
        """The row of the chosen partition: the list begins at its page."""
        return find_partition(layout.partitions, dict(chosen_partition(self._state))) or 0

    def _render_partitions(self, _: AtVersion, layout: Layout, pages: Pages) -> Markup:
        rows = read_records(layout.partitions.slice(*pages.span(layout.partitions.num_rows)))
        chosen, columns = dict(chosen_partition(self._state)), layout.partition_columns
        listed = self._links.rows(
            [build_partition_row(row, columns, chosen) for row in rows],
            lambda name: {"layout": render_list("layout", {"partition": name})},
        )
        return _render_partitions(layout, listed, pages)

    def _compare(self, version: str) -> None:
        chosen = self._state.find_version(version)
        if chosen is not None:
            self._state.compare(chosen)


def _render_layout(asked: AtVersion, layout: Layout, _: Pages) -> Markup:
    uri = asked.service.uri
    commands = {
        "CLI": command_line("layout", uri, ["--version", str(layout.version)]),
        "Python": python_line(
            uri,
            "import explorer.inspect as look\n"
            f"look.file_layout(table.snapshot(version={layout.version})).partitions",
        ),
        "Spark SQL": f"OPTIMIZE {sql_name(uri)}",
    }
    return html(
        '<p class="dx-lead">{}</p>{}{}{}',
        visible(layout.sentence),
        render_key_figures(layout_figures(layout)),
        render_section("Files by size", render_sizes(read_records(layout.sizes), layout.target)),
        render_copy_as("layout", commands),
    )


def _render_partitions(layout: Layout, listed: Sequence[Row], pages: Pages) -> Markup:
    if not layout.num_files:
        return NOTHING
    total = layout.partitions.num_rows
    drawn = NOTHING
    if total > 1:
        largest = read_records(largest_partitions(layout.partitions, AREAS))
        drawn = render_partition_map(largest, layout) + _LEGEND
    return html(
        '<div class="dx-head"><h3>Bytes and rows by partition</h3>'
        '<span class="dx-hint">those first that gain most per byte rewritten{}</span>'
        "{}</div>{}{}{}{}",
        "; click one for its files" if layout.partition_columns else "",
        EXPORT_BUTTONS,
        html(
            '<p class="{}">{}</p>',
            "dx-wrong" if layout.has_too_many_partitions else "dx-muted",
            visible(layout.partition_verdict),
        )
        if layout.partition_verdict
        else NOTHING,
        drawn,
        render_above_list(pages.render(total)),
        render_table("Partitions, best gain first", PARTITION_COLUMNS, listed),
    )


def _render_depth(_: AtVersion, frame: pa.Table, __: Pages) -> Markup:
    rows = [build_depth_row(row) for row in read_records(frame)]
    return render_table("Overlap by column", DEPTH_COLUMNS, rows, empty="No column has an order.")


def _offer_effects(asked: _AllCommits) -> Markup | None:
    return None if asked.latest < FREE_COMMITS else _EFFECTS_OFFER


def _render_effects(links: PlaceLinks, _: _AllCommits, frame: pa.Table, __: Pages) -> Markup:
    shown = read_records(frame.slice(0, EFFECTS_SHOWN))
    rows = links.compared([*map(build_effect_row, shown)])
    more = frame.num_rows - EFFECTS_SHOWN
    note = (
        html('<p class="dx-muted">{:,} older ones are not listed.</p>', more)
        if more > 0
        else NOTHING
    )
    table = render_table(
        "What each OPTIMIZE did, newest first", EFFECT_COLUMNS, rows,
        empty="No OPTIMIZE in the remaining log.",
    )  # fmt: skip
    return (_CLICK if rows else NOTHING) + html('<div class="dx-effects">{}</div>', table) + note


def _export_partitions(_: AtVersion, layout: Layout) -> Export:
    frame = layout.partitions
    types = {field.name: field.type for field in frame.schema} | {"partition": pa.string()}

    def build_row(row: Mapping[str, Any]) -> list[object]:
        return [render_partition(row["partition"]), *list(row.values())[1:]]

    return Export(
        stem=f"partitions-{layout.version}", read=lambda _: convert(frame, types, build_row)
    )


def _render_head(asked: AtVersion, _: Layout | None) -> Markup:
    return html(
        '<div class="dx-head"><h3>Layout of version {}</h3></div>', format_count(asked.version)
    )


_DEPTH_HEAD = html(
    '<div class="dx-head"><h3>Overlap by column</h3><span class="dx-hint">among the files of one '
    "partition; one file for one value where they do not overlap</span></div>"
)
_EFFECTS_HEAD = html("<h3>What each OPTIMIZE did</h3>")
_EFFECTS_OFFER = html(
    '<p class="dx-muted">The whole history is read for it.</p>'
    '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="effects" '
    'data-value="">Find every OPTIMIZE of the log</button></div>'
)
_CLICK = html('<p class="dx-muted">Click one to compare it with the version before.</p>')
_LEGEND = html(
    '<p class="dx-legend"><i class="dx-heat-none"></i>in files that are large enough'
    '<i class="dx-heat-full"></i>in small files</p>'
)

_SIZES: Request[AtVersion, Layout] = Request(
    question=at_version,
    read=lambda asked, watch, _: read_layout(asked.service, asked.version, watch),
    words=Words(
        label="Reading the sizes of the files",
        stopped="Stopped before the sizes of all files were read.",
        again="Read the sizes",
    ),
    follows=LINKED,
)
_DEPTH: Request[AtVersion, pa.Table] = Request(
    question=at_version,
    read=lambda asked, watch, _: read_depth(asked.service, asked.version, watch),
    words=Words(
        label="Reading the ranges of the files",
        stopped="Stopped before the ranges of all files were compared.",
        again="Compare the ranges",
    ),
)
_EFFECTS: Request[_AllCommits, pa.Table] = Request(
    question=lambda service, state: _AllCommits(service, state.latest or 0),
    read=lambda asked, watch, _: read_effects(asked.service, watch),
    words=Words(
        label="Reading the history",
        stopped="Stopped before the whole history was read.",
        again="Find every OPTIMIZE of the log",
    ),
    follows=LINKED,
    offer=Offer(action="effects", render=_offer_effects),
)
