"""Sizes of files as pieces of the page: classes, partitions, overlap, each OPTIMIZE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow.compute as pc

from explorer.inspect import Layout
from widgets.markup import NOTHING, Markup, html
from widgets.screens.files.parts import render_partition
from widgets.screens.layout._treemap import Area, render_treemap
from widgets.state import name_partition
from widgets.text import (
    UNKNOWN,
    cut,
    format_bytes,
    format_count,
    format_many,
    format_minute,
    format_share,
    format_time,
)
from widgets.ui.bars import Axes, Bar, render_bars
from widgets.ui.pieces import KeyFigure
from widgets.ui.table import Cell, Column, Row, render_table

DASH = "\N{EN DASH}"
AREAS = 80
"""Partitions that are drawn one by one; the others are one area."""
NAMED = 20
"""Those drawn where the others hold most bytes: each then has room for its name."""

SIZE_COLUMNS = (
    Column(key="from", label="From", align="right"),
    Column(key="below", label="Below", align="right"),
    Column(key="files", label="Files", align="right"),
    Column(key="bytes", label="Bytes", align="right"),
)
PARTITION_COLUMNS = (
    Column(key="partition", label="Partition", mono=True),
    Column(key="files", label="Files", align="right"),
    Column(key="bytes", label="Bytes", align="right"),
    Column(key="rows", label="Rows", align="right"),
    Column(key="small", label="Small files", align="right"),
    Column(key="small_bytes", label="To rewrite", align="right"),
    Column(key="after", label="Files after", align="right", wide=True),
    Column(key="saved", label="Files saved", align="right"),
    Column(key="rate", label="Files saved per GiB rewritten", align="right", wide=True),
)
DEPTH_COLUMNS = (
    Column(key="column", label="Column", mono=True),
    Column(key="mean", label="Files for one value, of its partition", align="right"),
    Column(key="most", label="Most", align="right"),
    Column(key="alone", label="Files that overlap no other", align="right"),
    Column(key="without", label="Files without a range", align="right", wide=True),
)
EFFECT_COLUMNS = (
    Column(key="version", label="Version", align="right"),
    Column(key="timestamp", label="Committed (UTC)"),
    Column(key="files", label="Files", align="right"),
    Column(key="bytes", label="Bytes", align="right"),
    Column(key="mean", label="Mean size", align="right"),
    Column(key="verdict", label="Verdict", wraps=True),
    Column(key="vectors", label="Vectors removed", align="right", wide=True),
    Column(key="engine", label="By", wide=True, wraps=True),
)
ARROW = " \N{RIGHTWARDS ARROW} "


_WORTH = ("small_bytes", "files_saved")


def layout_figures(layout: Layout) -> list[KeyFigure]:
    """Sizes against the target."""
    partitions = layout.partitions
    small = sum(partitions.column("small_files").to_pylist())
    saved = sum(partitions.column("files_saved").to_pylist())
    worth = zip(*(partitions.column(name).to_pylist() for name in _WORTH), strict=True)
    rewritten = sum(size for size, gained in worth if gained)
    total = pc.sum(partitions.column("bytes")).as_py() or 0
    is_partitioned = any(partitions.column("partition").slice(0, 1).to_pylist())
    return [
        KeyFigure(name="Files", value=format_count(layout.num_files),
                  remark=f"in {format_many(partitions.num_rows, 'partition')}"
                  if is_partitioned else "not partitioned"),
        KeyFigure(name="Median size", value=format_bytes(layout.median),
                  remark="half of the files are smaller", exact=format_count(layout.median)),
        KeyFigure(name="Target size", value=format_bytes(layout.target),
                  remark=layout.target_source + (
                      ", more than the whole table" if 0 < total < layout.target else "")),
        KeyFigure(name="Small files", value=format_count(small),
                  remark="all of the files" if 0 < small == layout.num_files
                  else f"{format_share(small, layout.num_files)} of the files"),
        KeyFigure(name="OPTIMIZE saves", value=format_many(saved, "file"),
                  remark=f"and writes {format_bytes(rewritten)}" if saved
                  else "there is nothing to compact"),
    ]  # fmt: skip


def render_sizes(rows: Sequence[Mapping[str, Any]], target: int, *, ticks: int = 6) -> Markup:
    """Files by size; every class between the least and the greatest has its bar, and about so many
    `ticks` have room below."""
    if not rows:
        return NOTHING
    known = {row["from_bytes"]: row for row in rows}
    bars = []
    start, last = rows[0]["from_bytes"], rows[-1]["from_bytes"]
    while start <= last:
        row = known.get(start)
        end = max(start * 2, 2)
        count = 0 if row is None else row["num_files"]
        size = 0 if row is None else row["bytes"]
        bars.append(
            Bar(
                value=count,
                title=f"{format_bytes(start)} to {format_bytes(end)}: "
                f"{format_many(count, 'file')}, {format_bytes(size)}",
                marked=end <= target,
            )
        )
        start = end
    label = f"Files by size, from {format_bytes(rows[0]['from_bytes'])}"
    listed = [
        Row(cells=(Cell(text=format_bytes(row["from_bytes"])),
                   Cell(text=format_bytes(row["below_bytes"])),
                   Cell(text=format_count(row["num_files"])),
                   Cell(text=format_bytes(row["bytes"]))))
        for row in rows
    ]  # fmt: skip
    table = render_table("Files by size", SIZE_COLUMNS, listed)
    return html(
        "{}"
        '<p class="dx-legend"><i class="dx-tone-small"></i>below the target<i '
        'class="dx-tone-window"></i>large enough</p>'
        "<details><summary>As a table</summary><div>{}</div></details>",
        render_bars(
            label,
            bars,
            axes=Axes(
                across="size of a file",
                up="files",
                ticks=_size_ticks(rows[0]["from_bytes"], len(bars), ticks),
            ),
        ),
        table,
    )


def _size_ticks(start: int, count: int, most: int) -> list[tuple[float, str]]:
    """The bounds of the classes, as many as have room."""
    every = max(1, -(-count // most))
    ticks, bound = [], start
    for at in range(count + 1):
        if at % every == 0 or at == count:
            ticks.append((at / count, format_bytes(bound)))
        bound = max(bound * 2, 2)
    if count % every and count > every:  # the last but one would stand too near
        del ticks[-2]
    return ticks


def render_partition_map(rows: Sequence[Mapping[str, Any]], layout: Layout) -> Markup:
    """Bytes by partition; the more of them lie in small files, the warmer. `rows` are the largest
    ones; the others are one area as long as they hold less than these.

    Else that area would be nearly all of the map, and leave specks without a name for what can be
    told apart. Then only the largest are drawn, in proportion among themselves, and words say how
    much that is of the whole.
    """
    others = layout.partitions.num_rows - len(rows)
    areas = [_build_area(partition_text(row), row) for row in rows]
    if not others:
        return render_treemap("Bytes by partition", areas)
    everything = {name: pc.sum(layout.partitions.column(name)).as_py() for name in _SUMMED}
    rest = _without(everything, rows)
    if 2 * rest["bytes"] < everything["bytes"]:
        areas.append(_build_area(format_many(others, "other partition"), rest))
        return render_treemap("Bytes by partition", areas)
    if not everything["bytes"]:
        return NOTHING  # nothing has an area
    largest = rows[:NAMED]
    others = layout.partitions.num_rows - len(largest)
    rest = _without(everything, largest)
    drawn = everything["bytes"] - rest["bytes"]
    label = f"Bytes of the {format_many(len(largest), 'largest partition')}"
    return html(
        '{}<p class="dx-muted">Drawn: the {} by bytes, {} of the table. {}: {}.</p>',
        render_treemap(label, areas[:NAMED]),
        format_many(len(largest), "largest partition"),
        format_share(drawn, everything["bytes"]),
        format_many(others, "other partition").capitalize(),
        _tell_bytes(rest),
    )


def _without(everything: Mapping[str, int], rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    return {name: whole - sum(row[name] for row in rows) for name, whole in everything.items()}


_SUMMED = ("num_files", "bytes", "small_bytes")


def _build_area(name: str, facts: Mapping[str, Any]) -> Area:
    size, small = facts["bytes"], facts["small_bytes"]
    heat = small / size if size else 0.0
    return Area(value=size, name=name, note=_tell_bytes(facts), heat=heat)


def _tell_bytes(facts: Mapping[str, Any]) -> str:
    size, small = facts["bytes"], facts["small_bytes"]
    return (
        f"{format_bytes(size)} in {format_many(facts['num_files'], 'file')}, "
        f"{'all' if small == size else format_share(small, size)} of it in small ones"
    )


def partition_text(row: Mapping[str, Any]) -> str:
    """The values of a partition, or that there is none."""
    return cut(render_partition(row["partition"]), 200) or "the whole table"


def build_partition_row(
    row: Mapping[str, Any], columns: Sequence[str], selected: Mapping[str, str | None]
) -> Row:
    """One partition, and what putting its small files together gains; where the table has partition
    `columns` it can be opened."""
    name = partition_text(row)
    rate, saved = row["saved_per_gib"], row["files_saved"]
    held = dict(row["partition"])
    values = {column: held.get(column) or None for column in columns}
    return Row(
        action="partition" if columns else None,
        value=name_partition(values),
        selected=bool(columns) and values == selected,
        cells=(
            Cell(text=cut(name, 60), title=name),
            Cell(text=format_count(row["num_files"])),
            Cell(text=format_bytes(row["bytes"]), title=format_count(row["bytes"])),
            Cell(text=format_count(row["num_rows"]), muted=row["num_rows"] is None),
            Cell(text=format_count(row["small_files"]),
                 share=row["small_files"] / row["num_files"] if row["num_files"] else 0.0),
            Cell(text=format_bytes(row["small_bytes"]) if saved else DASH, muted=not saved),
            Cell(text=format_count(row["files_after"]) if saved else DASH, muted=not saved),
            Cell(text=format_count(saved), muted=not saved),
            Cell(text=f"{rate:,.0f}" if rate else DASH, muted=not rate),
        )
    )  # fmt: skip


def build_depth_row(row: Mapping[str, Any]) -> Row:
    """How far the files overlap in one column. The bar is empty where no two of them do, and
    full where all those of each partition do: files of two partitions never overlap."""
    mean, whole, most = row["mean_depth"], row["mean_partition_files"], row["max_depth"]
    name = str(row["column"])
    suffix = " (clustered by)" if row["is_clustering"] else ""
    if mean is None:
        depth = Cell(text=UNKNOWN, muted=True)
    else:
        share = (mean - 1) / (whole - 1) if whole > 1 else 0.0
        depth = Cell(text=f"{mean:,.1f} of {whole:,.1f}", share=share)
    return Row(
        cells=(
            Cell(text=cut(name, 60) + suffix, title=cut(name, 500)),
            depth,
            Cell(text=format_count(most), muted=most is None),
            Cell(text=format_count(row["files_alone"])),
            Cell(text=format_count(row["files_without_bounds"])),
        )
    )  # fmt: skip


def build_effect_row(row: Mapping[str, Any]) -> Row:
    """What one OPTIMIZE put in the place of what."""
    engine = str(row["engine_info"] or UNKNOWN)
    vectors = row["deletion_vectors_removed"]
    verdict = str(row["verdict"] or UNKNOWN)
    return Row(
        action="version",
        value=str(row["version"]),
        cells=(
            Cell(text=format_count(row["version"])),
            Cell(text=format_minute(row["timestamp"]), title=format_time(row["timestamp"])),
            _sides(row, "files", format_count),
            _sides(row, "bytes", format_bytes),
            _sides(row, "mean", format_bytes),
            Cell(text=verdict, tone=_tone_of(verdict)),
            Cell(text=format_count(vectors), muted=vectors is None),
            Cell(text=cut(engine, 40), title=cut(engine, 300)),
        ),
    )


def _tone_of(verdict: str) -> str | None:
    return "risk" if verdict == "no fewer files" or verdict.startswith("undone") else None


def _sides(row: Mapping[str, Any], fact: str, shown: Any) -> Cell:
    before, after = row[f"{fact}_before"], row[f"{fact}_after"]
    if before is None and after is None:
        return Cell(text=UNKNOWN, muted=True)
    return Cell(text=f"{shown(before)}{ARROW}{shown(after)}")
