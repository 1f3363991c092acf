"""Deletion vectors as pieces of the page: density, the strip over a file's rows, its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from widgets.markup import NOTHING, Markup, html
from widgets.screens.rows.ask import Rows
from widgets.screens.rows.parts import COLUMNS_SHOWN, value_cell
from widgets.text import (
    UNKNOWN,
    cut,
    cut_middle,
    cut_path,
    format_bytes,
    format_count,
    format_many,
    format_share,
    format_short,
)
from widgets.theme import lane_of
from widgets.ui.bars import Axes, Bar, render_bars
from widgets.ui.pieces import KeyFigure
from widgets.ui.table import Cell, Column, Row, render_table

DASH = "\N{EN DASH}"
DENSITY_COLUMNS = (
    Column(key="path", label="File", mono=True, sortable=True),
    Column(key="fraction_deleted", label="Share", align="right", sortable=True),
    Column(key="cardinality", label="Soft-deleted", align="right", sortable=True),
    Column(key="num_records", label="Rows in file", align="right", sortable=True),
    Column(key="bytes_hidden", label="A purge frees", align="right", sortable=True),
    Column(key="size_in_bytes", label="Vector", align="right", sortable=True, wide=True),
    Column(key="vector_path", label="Stored", wide=True),
)
EXPORTED = (
    "path", "cardinality", "num_records", "fraction_deleted", "size", "bytes_hidden",
    "storage_type", "vector_path", "offset", "size_in_bytes", "problem",
)  # fmt: skip
COMMIT_COLUMNS = (
    Column(key="version", label="Version", align="right"),
    Column(key="operation", label="Operation"),
    Column(key="rows", label="Rows soft-deleted", align="right"),
    Column(key="share", label="Of the soft-deleted rows", align="right"),
)


def vectors_sentence(vectors: Any) -> str:
    """What deletion vectors do to this version, in one sentence."""
    count, files = vectors.frame.num_rows, vectors.num_files
    if not count:
        return "No file of this version has a deletion vector: every row in its files is live."
    if vectors.num_hidden is None:
        rows = "an unknown number of rows"
    else:
        rows = f"{format_short(vectors.num_hidden)} rows"
        if vectors.num_rows is not None:
            rows += f" ({format_share(vectors.num_hidden, vectors.num_hidden + vectors.num_rows)})"
    has = "has a deletion vector" if count == 1 else "have deletion vectors"
    verb = "is" if vectors.num_hidden == 1 else "are"
    return (
        f"{format_count(count)} of {format_count(files)} files {has}: {rows} {verb} soft-deleted."
    )


def vector_figures(vectors: Any) -> list[KeyFigure]:
    """What they cost readers, and what a purge would save."""
    count, partly = vectors.frame.num_rows, vectors.frame.column("bytes_hidden").null_count
    more = "at least, " if partly else ""
    return [
        KeyFigure(name="Files with a vector", value=format_count(count),
                  remark=f"of {format_count(vectors.num_files)}"),
        KeyFigure(name="Soft-deleted rows", value=format_short(vectors.num_hidden),
                  remark="still in the data files", exact=format_count(vectors.num_hidden)),
        KeyFigure(name="Vectors to read", value=format_bytes(vectors.vector_bytes),
                  remark=f"in {format_many(vectors.vector_files, 'file')} beside the data files"),
        KeyFigure(name="A purge rewrites", value=format_bytes(vectors.bytes_rewritten),
                  remark="all files with a vector"),
        KeyFigure(name="A purge frees", value=format_bytes(vectors.bytes_freed),
                  remark=f"{more}estimated by the share of rows"),
    ]  # fmt: skip


def build_density_row(entry: Mapping[str, Any], selected: str) -> Row:
    """One file with a vector, which opens its rows."""
    path, share = str(entry["path"]), entry["fraction_deleted"]
    place, problem = entry["vector_path"], entry["problem"]
    stored = str(place) if place else "in the log"
    return Row(
        action="file",
        value=path,
        selected=path == selected,
        cells=(
            Cell(text=cut_path(path, 48), title=cut(path, 1000)),
            Cell(text=UNKNOWN, muted=True) if share is None
            else Cell(text=f"{share:.1%}", share=share),
            _count(entry["cardinality"]),
            _count(entry["num_records"]),
            Cell(text=format_bytes(entry["bytes_hidden"]), muted=entry["bytes_hidden"] is None),
            Cell(text=format_bytes(entry["size_in_bytes"])),
            Cell(text=cut(str(problem), 60) if problem else cut_middle(stored, 36),
                 title=cut(str(problem or stored), 500), muted=not place),
        ),
    )  # fmt: skip


def _count(value: int | None) -> Cell:
    return Cell(text=format_count(value), muted=value is None)


def file_sentence(hidden: int, records: int | None) -> str:
    """What the vector of one file hides."""
    if not hidden:
        return "No row of this file is soft-deleted."
    rows = "row is" if hidden == 1 else "rows are"
    if records is None:
        return (
            f"{format_count(hidden)} {rows} soft-deleted; how many the file holds is not recorded."
        )
    share = format_share(hidden, records)
    return f"{format_count(hidden)} of {format_count(records)} {rows} soft-deleted ({share})."


def render_strip(bins: Sequence[Any]) -> Markup:
    """The strip over the rows of a window; each part zooms in."""
    if not bins:
        return NOTHING
    first, last = bins[0].first, bins[-1].last
    single = all(part.first == part.last for part in bins)
    bars = [
        Bar(
            value=part.hidden / (part.last - part.first + 1),
            title=_part_title(part),
            action=None if single else "zoom",
            target=f"{part.first}-{part.last}",
            marked=True,
        )
        for part in bins
    ]
    label = f"Soft-deleted rows by position, from {first:,} to {last:,}"
    middle = (first + last) // 2
    places = dict.fromkeys((first, middle, last))
    ticks = [((place - first) / max(last - first, 1), f"{place:,}") for place in places]
    axes = Axes(
        across="row of the file", up="share soft-deleted", ticks=ticks, heights=("0%", "100%")
    )
    return render_bars(label, bars, top=1.0, axes=axes)


def _part_title(part: Any) -> str:
    if part.first == part.last:
        return f"row {part.first:,}: {'soft-deleted' if part.hidden else 'live'}"
    return f"rows {part.first:,} to {part.last:,}: {format_count(part.hidden)} soft-deleted"


def render_bins_table(bins: Sequence[Any]) -> Markup:
    """Hidden rows by part of the file as a table, folded."""
    columns = (
        Column(key="first", label="From row", align="right"),
        Column(key="last", label="To row", align="right"),
        Column(key="hidden", label="Soft-deleted", align="right"),
    )
    rows = [
        Row(cells=tuple(Cell(text=format_count(at)) for at in (part.first, part.last, part.hidden)))
        for part in bins
        if part.hidden
    ]
    table = render_table(
        "Soft-deleted rows by position", columns, rows, empty="None is soft-deleted here."
    )
    return html("<details><summary>As a table</summary><div>{}</div></details>", table)


def build_commit_row(found: Any, total: int, selected: int | None) -> Row:
    """One commit that hid rows of the file."""
    version = format_count(found.version)
    if found.since < found.version and found.since == 0:
        version = f"{version} or before"
    elif found.since < found.version:
        version = f"{format_count(found.since)} to {version}"
    count = len(found.hidden)
    name = str(found.operation or "not recorded")
    return Row(
        action="by",
        value=str(found.version),
        selected=found.version == selected,
        cells=(
            Cell(text=version),
            Cell(text=cut(name, 60), title=cut(name, 300), lane=lane_of(found.operation)),
            Cell(text=format_count(count)),
            Cell(text=format_share(count, total), share=count / total if total else None),
        ),
    )


def render_hidden_rows(found: Rows, facts: Sequence[tuple[int, str]]) -> Markup:
    """Rows as they were before they were hidden; `facts` are the position of each and the
    version that hid it."""
    names, rows, numbers, instants = found.names, found.rows, found.numbers, found.instants
    shown = names[:COLUMNS_SHOWN]
    columns = [
        Column(key="position", label="Row", align="right"),
        Column(key="version", label="Soft-deleted by", align="right"),
        *(
            Column(key=str(at), label=cut(name, 40), align="right" if name in numbers else "left")
            for at, name in enumerate(shown)
        ),
    ]
    drawn = [
        Row(cells=(Cell(text=format_count(position)), Cell(text=version),
                   *(value_cell(row[name], is_instant=name in instants) for name in shown)))
        for row, (position, version) in zip(rows, facts, strict=True)
    ]  # fmt: skip
    left = len(names) - len(shown)
    note = (
        html('<p class="dx-muted">Not shown: {}.</p>', format_many(left, "more column"))
        if left
        else NOTHING
    )
    return render_table("Soft-deleted rows as they were", columns, drawn) + note
