"""One partition as pieces of the page: its values, its figures, what a compaction would do."""

from __future__ import annotations

from collections.abc import Mapping

import explorer.inspect as look
from widgets.markup import Markup, html, join
from widgets.screens.layout._parts import render_sizes
from widgets.text import cut, format_bytes, format_count, format_share, visible
from widgets.ui.copy_as import command_line, python_line, render_copy_as, sql_name
from widgets.ui.pieces import render_definition
from widgets.ui.plan_links import render_plan_link
from widgets.ui.records import read_records

_COLUMNS_SHOWN = 100
_TICKS = 3
"""Labels below the sizes of a card as narrow as the detail."""


def render_partition_facts(found: look.PartitionLayout, files_link: Markup) -> Markup:
    """What the log says of a partition; `files_link` leads to its files."""
    values = _render_values(found.partition)
    lead = html('{}<p class="dx-lead">{}</p>', values, visible(found.sentence))
    if not found.num_files:
        return lead
    deleted, rows = found.num_deleted_rows, found.num_rows
    soft_deleted = format_count(deleted)
    if deleted and rows is not None:
        soft_deleted += f" ({format_share(deleted, rows + deleted)})"
    pairs = [
        ("Bytes", _exact(found.size_in_bytes)),
        ("Rows", format_count(rows)),
        ("Soft-deleted", soft_deleted),
        ("Average file", format_bytes(found.size_in_bytes // found.num_files)),
        ("Smallest file", _exact(found.smallest)),
        ("Median file", format_bytes(found.median)),
        ("Largest file", _exact(found.largest)),
    ]
    files = html("{}. {}", format_count(found.num_files), files_link)
    shown = render_definition("Files", format_count(found.num_files), files)
    shown += join(render_definition(name, value) for name, value in pairs)
    return html(
        '{}{}<div class="dx-below"><dl class="dx-file">{}</dl></div><h4>Its files by size</h4>{}',
        lead,
        _render_plan(found),
        shown,
        render_sizes(read_records(found.sizes), found.target, ticks=_TICKS),
    )


def _render_values(values: Mapping[str, str | None]) -> Markup:
    """By column; null is told from a text that says so."""
    shown = join(
        render_definition(
            cut(name, 200),
            "null" if value is None else cut(value, 2000),
            html('<span class="dx-muted">null</span>') if value is None else None,
        )
        for name, value in list(values.items())[:_COLUMNS_SHOWN]
    )
    return html('<div class="dx-below"><dl class="dx-file">{}</dl></div>', shown)


def render_partition_commands(uri: str, found: look.PartitionLayout) -> Markup:
    """How to ask for the same, and how to compact it, without the page."""
    asked = f"table.snapshot(version={found.version}), {dict(found.partition)!r}"
    commands = {
        "Python": python_line(
            uri, f"import explorer.inspect as look\nlook.partition_layout({asked})"
        )
    }
    if found.condition is not None and found.num_files:
        commands["CLI"] = command_line("optimize", uri, ["--where", found.condition])
        commands["Spark SQL"] = f"OPTIMIZE {sql_name(uri)} WHERE {found.condition}"
    return render_copy_as("partition", commands)


def _render_plan(found: look.PartitionLayout) -> Markup:
    if not found.files_saved:
        return html("")
    if found.condition is None:
        return html('<p class="dx-muted">No condition can name it: {}</p>', _NO_VALUE)
    link = render_plan_link(
        "Plan Optimize of this partition", "optimize", {"where": found.condition}
    )
    return html('<div class="dx-buttons">{}</div>', link)


_NO_VALUE = "one of its values is none of the column's type."


def _exact(size: int | None) -> str:
    return format_bytes(size) if size is None else f"{format_bytes(size)} ({format_count(size)} B)"
