"""Files of a version as rows, and one file's statistics."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from explorer.protocol.schema_walk import render_path
from explorer.protocol.values.utc_times import render_value_times
from widgets.markup import NOTHING, Markup, html, join
from widgets.screens.files._ask import Origin
from widgets.session.tables import FieldNames, FileDetails
from widgets.text import (
    UNKNOWN,
    cut,
    cut_path,
    format_bytes,
    format_count,
    format_many,
    format_minute,
    format_share,
    format_time,
)
from widgets.ui.pieces import render_definition
from widgets.ui.table import Cell, Column, Row, render_table

COLUMNS = (
    Column(key="path", label="File", sortable=True, mono=True),
    Column(key="partition_values", label="Partition", mono=True),
    Column(key="size", label="Size", align="right", sortable=True),
    Column(key="num_records", label="Rows in file", align="right", sortable=True),
    Column(key="deleted_rows", label="Soft-deleted", align="right", sortable=True),
    Column(key="modification_time", label="Modified (UTC)", sortable=True, wide=True),
)
EXPORTED = {
    "path": pa.string(),
    "partition": pa.string(),
    "size": pa.int64(),
    "num_records": pa.int64(),
    "deleted_rows": pa.int64(),
    "modification_time": pa.timestamp("ms", "UTC"),
    "deletion_vector": pa.string(),
}
"""Columns of an export."""

STATISTICS_SHOWN = 100
"""Columns of statistics that are listed; wider tables have the rest in the JSON."""

_STATISTICS = (
    Column(key="column", label="Column", mono=True),
    Column(key="min", label="Min"),
    Column(key="max", label="Max"),
    Column(key="nulls", label="Null count", align="right"),
)
_VECTORS = {"u": "in a file of the table", "i": "inline in the log", "p": "at an absolute path"}


def build_file_row(entry: Mapping[str, Any], selected: str | None) -> Row:
    """One file as a row that can be opened."""
    path = str(entry["path"])
    partition = render_partition(entry["partition_values"])
    deleted = deleted_rows(entry)
    moment = entry["modification_time"]
    return Row(
        action="file",
        value=path,
        selected=path == selected,
        cells=(
            Cell(text=cut_path(path, 40), title=cut(path, 1000)),
            Cell(text=cut(partition, 60) or "\N{EN DASH}", title=cut(partition, 1000)),
            Cell(text=format_bytes(entry["size"]), title=f"{format_count(entry['size'])} bytes"),
            _count_cell(entry["num_records"]),
            Cell(text="\N{EN DASH}", title="no deletion vector", muted=True)
            if entry["deletion_vector"] is None
            else _count_cell(deleted),
            Cell(text=format_minute(moment), title=format_time(moment)),
        ),
    )


def build_export_row(entry: Mapping[str, Any]) -> list[object]:
    """One file in the order of `EXPORTED`."""
    return [
        entry["path"],
        render_partition(entry["partition_values"]),
        entry["size"],
        entry["num_records"],
        deleted_rows(entry),
        entry["modification_time"],
        _vector_text(entry["deletion_vector"]),
    ]


def deleted_rows(entry: Mapping[str, Any]) -> int | None:
    """Rows that the file's deletion vector hides; 0 without one."""
    vector = entry["deletion_vector"]
    if vector is None:
        return 0
    cardinality = vector.get("cardinality")
    return cardinality if isinstance(cardinality, int) else None


def render_partition(values: object) -> str:
    """`region=emea, day=2026-11-01`; null is written as null, not as text."""
    pairs: Any = values.items() if isinstance(values, Mapping) else (values or ())
    return ", ".join(f"{name}={'null' if value is None else value}" for name, value in pairs)


def render_facts(
    entry: Mapping[str, Any], details: FileDetails, vector_link: Markup = NOTHING
) -> Markup:
    """What the log says of one file beside its statistics; `vector_link` leads to the rows that
    its deletion vector hides."""
    rows, deleted = entry["num_records"], deleted_rows(entry)
    live = rows - deleted if isinstance(rows, int) and isinstance(deleted, int) else None
    pairs = [
        ("Path", str(entry["path"])),
        ("Partition", render_partition(entry["partition_values"]) or "not partitioned"),
        ("Size", f"{format_bytes(entry['size'])} ({format_count(entry['size'])} bytes)"),
        ("Rows in the file", format_count(rows)),
        ("Rows that are live", format_count(live)),
        ("Modified", format_time(entry["modification_time"])),
    ]
    if details.tags:
        pairs.append(("Tags", render_partition(details.tags)))
    items = join(render_definition(name, cut(value, 2000)) for name, value in pairs)
    vector = _vector_sentence(entry["deletion_vector"], rows)
    shown = None if entry["deletion_vector"] is None else html("{}. {}", vector, vector_link)
    return html(
        '<dl class="dx-file">{}{}</dl>', items, render_definition("Deletion vector", vector, shown)
    )


def render_origin(origin: Origin, link: Markup) -> Markup:
    """Which commit wrote a file; `link` leads to it."""
    if origin.version is None:
        said = f"not known: the log begins at version {format_count(origin.first)}"
        return html('<dl class="dx-file">{}</dl>', render_definition("Written by", said))
    operation = cut(origin.operation or "operation not recorded", 60)
    said = html("{}, {}", link, operation)
    return html('<dl class="dx-file">{}</dl>', render_definition("Written by", operation, said))


def render_statistics(details: FileDetails) -> Markup:
    """The statistics of a file, by the columns of the schema, and as the log has them."""
    stats = details.stats
    if not stats:
        return html('<p class="dx-muted">The log holds no statistics for this file.</p>')
    parsed = _parse(stats)
    raw = html(
        "<details><summary>Statistics as stored</summary><div><pre tabindex='0'>"
        "{}</pre></div></details>",
        cut(stats, 16384),
    )
    if parsed is None:
        return html('<p class="dx-muted">The statistics are not readable as JSON.</p>{}', raw)
    rows, hidden = _statistics_rows(parsed, details.columns)
    table = render_table(
        "Statistics of the file", _STATISTICS, rows, empty="No column has statistics."
    )
    notes = []
    if parsed.get("tightBounds") is False:
        notes.append("The bounds are wide: rows were deleted since they were taken.")
    if hidden:
        notes.append(f"Not listed: {format_many(hidden, 'more column')}.")
    said = join(html('<p class="dx-muted">{}</p>', note) for note in notes)
    return html('<div class="dx-fixed">{}</div>{}{}', table, said, raw)


def _statistics_rows(
    stats: Mapping[str, Any], columns: Mapping[FieldNames, FieldNames]
) -> tuple[list[Row], int]:
    """A row per column by its logical name, and how many columns are left out."""
    lowest, highest, nulls = (
        dict(_leaves(stats.get(key))) for key in ("minValues", "maxValues", "nullCount")
    )
    names = list(dict.fromkeys((*lowest, *highest, *nulls)))
    rows = []
    for name in names[:STATISTICS_SHOWN]:
        bounds = [_value(facts, name) for facts in (lowest, highest)]
        values = [text or "" for text in render_value_times(bounds)] + [_value(nulls, name)]
        cells = [
            Cell(text=cut(text, 80), title=cut(text, 500), is_number=_is_number(facts.get(name)))
            for text, facts in zip(values, (lowest, highest, nulls), strict=True)
        ]
        rows.append(Row(cells=[_column_cell(name, columns), *cells]))
    return rows, len(names) - len(rows)


def _column_cell(name: FieldNames, columns: Mapping[FieldNames, FieldNames]) -> Cell:
    """A column of the schema by its logical name, any other as the statistics have it."""
    deepest = max(map(len, columns), default=0)
    for end in range(min(len(name), deepest), 0, -1):
        if name[:end] in columns:
            text = render_path((*columns[name[:end]], *name[end:]))
            return Cell(text=cut(text, 80), title=cut(text, 500))
    text = render_path(name)
    return Cell(
        text=cut(text, 80), title=f"{cut(text, 500)}: not a column of this version", muted=True
    )


def _leaves(values: object) -> Sequence[tuple[FieldNames, object]]:
    """Columns with their names; a stack, for nesting has no limit in a log."""
    found: list[tuple[FieldNames, object]] = []
    waiting: list[tuple[FieldNames, object]] = [((), values)]
    while waiting and len(found) < 10 * STATISTICS_SHOWN:
        name, value = waiting.pop()
        if isinstance(value, Mapping):
            inner = [((*name, str(key)), child) for key, child in value.items()]
            waiting.extend(reversed(inner))
        elif name:
            found.append((name, value))
    return found


def _parse(stats: str) -> Mapping[str, Any] | None:
    try:
        parsed = json.loads(stats)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, Mapping) else None


def _value(values: Mapping[FieldNames, object], name: FieldNames) -> str:
    if name not in values or values[name] is None:
        return "\N{EN DASH}"
    value = values[name]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _vector_text(vector: Mapping[str, Any] | None) -> str | None:
    return (
        None
        if vector is None
        else f"{vector.get('storage_type')}:{vector.get('path_or_inline_dv')}"
    )


def _vector_sentence(vector: Mapping[str, Any] | None, rows: object) -> str:
    if vector is None:
        return "none"
    place = _VECTORS.get(str(vector.get("storage_type")), "of an unknown kind")
    count = vector.get("cardinality")
    share = ""
    if isinstance(count, int) and isinstance(rows, int) and rows:
        share = f" ({format_share(count, rows)})"
    size = format_bytes(vector.get("size_in_bytes"))
    hidden = format_many(count, "row") if isinstance(count, int) else "an unknown number of rows"
    return f"{hidden} soft-deleted{share}; {size}, {place}"


def _count_cell(count: int | None) -> Cell:
    return Cell(
        text=format_count(count),
        muted=count is None,
        title=None if count is not None else f"{UNKNOWN}: not in the statistics",
    )
