"""Coverage by column, the ranges of one column, and the files that a condition leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from explorer.inspect import StatisticsReport
from explorer.inspect.files.statistics import null_count_in_words
from explorer.protocol.values.utc_times import render_value_times
from widgets.markup import Markup, html, join
from widgets.text import cut, cut_path, format_bytes, format_count, format_many, format_share
from widgets.ui.bars import Axes, Bar, render_bars
from widgets.ui.table import Cell, Column, Row, render_table

DASH = "\N{EN DASH}"

COVERAGE_COLUMNS = (
    Column(key="path", label="Column", mono=True),
    Column(key="type", label="Type", mono=True, wide=True),
    Column(key="files", label="Files with a range", align="right"),
    Column(key="min", label="Min"),
    Column(key="max", label="Max"),
    Column(key="nulls", label="Null count", align="right"),
)
EXPORTED_COLUMNS = (
    "path", "type", "num_files", "files_with_bounds", "files_with_null_count", "min", "max",
    "null_count",
)  # fmt: skip
REASON_COLUMNS = (
    Column(key="fate", label="A query"),
    Column(key="path", label="File", mono=True, wide=True),
    Column(key="size", label="Size", align="right"),
    Column(key="why", label="Why", wraps=True),
)
EXPORTED_REASONS = ("path", "size", "kept", "reason")
PART_COLUMNS = (
    Column(key="first", label="From"),
    Column(key="last", label="To"),
    Column(key="files", label="Files that may hold it", align="right"),
)
_NUMBERS = ("byte", "short", "integer", "long", "float", "double", "decimal")
_EXAMPLES = 3


def coverage_sentence(report: StatisticsReport, entries: Sequence[Mapping[str, Any]]) -> str:
    """What the statistics cover, in one sentence."""
    files = report.num_files
    if not files:
        return "This version holds no files, and so no statistics."
    full = [entry for entry in entries if entry["files_with_bounds"] == files]
    none = [entry for entry in entries if not entry["files_with_bounds"]]
    some = len(entries) - len(full) - len(none)
    every = f"every one of the {format_count(files)} files" if files > 1 else "the only file"
    if len(entries) == 1 and full:
        text = f"The only column has a range in {every}"
    else:
        text = (
            f"{format_count(len(full))} of {format_many(len(entries), 'column')} "
            f"{'has' if len(full) == 1 else 'have'} a range in {every}"
        )
    if some:
        text += f", {format_count(some)} in some of them"
    if none:
        text += f", {format_count(len(none))} in none: a condition on these skips nothing"
    if missing := report.files_without_count:
        does = "does not say how many rows it has"
        do = "do not say how many rows they have"
        text += f"; {format_many(missing, 'file')} {does if missing == 1 else do}"
    if names := report.partition_columns:
        noun, do = ("column", "does") if len(names) == 1 else ("columns", "do")
        text += (
            f". The partition {noun} {cut(', '.join(names), 200)} {do} not need one: each file "
            f"has one value of {'it' if len(names) == 1 else 'each'}"
        )
    return text + "."


def build_coverage_row(entry: Mapping[str, Any], selected: str) -> Row:
    """One column, which opens its ranges."""
    path, files, bounded = str(entry["path"]), entry["num_files"], entry["files_with_bounds"]
    return Row(
        action="column",
        value=path,
        selected=path == selected,
        cells=(
            Cell(text=cut(path, 60), title=cut(path, 500)),
            Cell(text=cut(str(entry["type"]), 40), title=cut(str(entry["type"]), 1000)),
            Cell(
                text=f"{format_count(bounded)} of {format_count(files)}",
                share=bounded / files if files else None,
                muted=not bounded,
            ),
            *(_bound(value, str(entry["type"])) for value in render_bounds(entry)),
            _null_count(entry),
        ),
    )


def render_bounds(entry: Mapping[str, Any]) -> list[str | None]:
    """Min and max of a column as people read them; text stays as it is."""
    bounds = [None if entry[name] is None else str(entry[name]) for name in ("min", "max")]
    return render_value_times(bounds) if str(entry["type"]).startswith("timestamp") else bounds


def _null_count(entry: Mapping[str, Any]) -> Cell:
    files, counted = entry["num_files"], entry["files_with_null_count"]
    text = null_count_in_words(entry["null_count"], counted, files)
    lacking = format_many(files - counted, "file")
    return Cell(
        text=text or format_count(None),
        title=f"as far as files say; {lacking} without a count" if counted < files else None,
        muted=text is None,
    )


def _bound(value: object, kind: str) -> Cell:
    if value is None:
        return Cell(text=DASH, title="no file has one", muted=True)
    is_number = kind.startswith(_NUMBERS)
    return Cell(text=cut(str(value), 40), title=cut(str(value), 500), is_number=is_number)


def render_ranges(column: str, ranges: Any) -> Markup:
    """The parts of a column's range, with the files that may hold them."""
    if not ranges.parts:
        return html(
            '<p class="dx-lead">No file has a range of this column, so that a condition on it '
            "skips no file by it.</p>"
        )
    mean, files = ranges.mean_files, ranges.num_files
    lead = (
        f"One value may be in {mean:,.1f} of {format_count(files)} files on average "
        f"({format_share(round(100 * mean), 100 * files)}), over the range of the column."
    )
    notes = []
    if ranges.unbounded:
        one = ranges.unbounded == 1
        notes.append(
            f"{format_many(ranges.unbounded, 'file')} {'has' if one else 'have'} no range: "
            f"{'it is' if one else 'they are'} always read."
        )
    if ranges.cut:
        notes.append(
            f"{format_many(ranges.cut, 'file')} {'has' if ranges.cut == 1 else 'have'} a bound of "
            "32 characters or more, which is "
            "where writers cut text: it may be a prefix of the true value."
        )
    bars = [
        Bar(
            value=part.num_files,
            title=f"{_span(part)}: {format_many(part.num_files, 'file')}",
        )
        for part in ranges.parts
    ]
    first, last = ranges.parts[0].first, ranges.parts[-1].last
    label = f"Files by the range of {cut(column, 100)}, from {cut(first, 60)} to {cut(last, 60)}"
    rows = [
        Row(cells=(Cell(text=cut(part.first, 60)), Cell(text=cut(part.last, 60)),
                   Cell(text=format_count(part.num_files))))
        for part in ranges.parts
    ]  # fmt: skip
    table = render_table("Files by part of the range", PART_COLUMNS, rows)
    said = join(html('<p class="dx-muted">{}</p>', note) for note in notes)
    return html(
        '<p class="dx-lead">{}</p>{}'
        "{}"
        "<details><summary>As a table</summary><div>{}</div></details>",
        lead,
        said,
        render_bars(
            label,
            bars,
            axes=Axes(
                across=cut(column, 60), up="files", ticks=[(0, cut(first, 60)), (1, cut(last, 60))]
            ),
        ),
        table,
    )


def _span(part: Any) -> str:
    if part.first == part.last:
        return cut(part.first, 60)
    return f"{cut(part.first, 60)} to {cut(part.last, 60)}"


def scan_sentence(plan: Any) -> str:
    """What a condition leaves to be read."""
    files, kept = format_count(plan.num_files), format_count(plan.num_kept)
    if not plan.num_files:
        return "There is no file to be read in this version."
    size = (
        f"{format_bytes(plan.bytes_kept)} of {format_bytes(plan.bytes_kept + plan.bytes_skipped)}"
    )
    verb = "has" if plan.num_kept == 1 else "have"
    if not plan.num_skipped:
        text = f"All {files} files have to be read: the statistics rule none out."
        if plan.num_files == 1:
            text = "The only file has to be read: the statistics do not rule it out."
    else:
        unit = "file" if plan.num_files == 1 else "files"
        text = f"{kept} of {files} {unit} {verb} to be read, {size}; "
        text += "the others hold no such row." if plan.num_kept else "none holds such a row."
    if more := plan.num_reference_skips:
        text += (
            f" Delta Spark would skip {format_count(more)} of them: it takes bounds as they are, "
            "although NaN may be left out of them and texts may be cut."
        )
    return text


def build_reason_row(entry: Mapping[str, Any]) -> Row:
    """One file, and why it is read or skipped."""
    kept, path, reason = bool(entry["kept"]), str(entry["path"]), str(entry["reason"])
    return Row(
        cells=(
            Cell(text="reads it" if kept else "skips it", muted=not kept),
            Cell(text=cut_path(path, 40), title=cut(path, 1000)),
            Cell(text=format_bytes(entry["size"]), title=format_count(entry["size"])),
            Cell(text=cut(reason, 300), title=cut(reason, 2000)),
        )
    )


def example_conditions(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Conditions on this table's own columns that some of its rows meet."""
    found = []
    for entry in entries:
        path, kind, least, most = (entry[name] for name in ("path", "type", "min", "max"))
        if most is None or least is None or len(str(most)) > CUT_EXAMPLE:
            continue
        if str(kind).startswith(_NUMBERS):
            found.append(f"{path} >= {most}")
        elif kind in {"date", "timestamp", "timestamp_ntz"}:
            found.append(f"{path} >= '{most}'")
        elif kind == "string":
            found.append(f"{path} = '{str(least).replace(chr(39), chr(39) * 2)}'")
    return found[:_EXAMPLES]


CUT_EXAMPLE = 31
"""Longer values make no example; those of text may be cut."""
