"""Exact counts of rows, and the exact figures of a column, as pieces of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from explorer.protocol.values.utc_times import render_value_times
from widgets.markup import NOTHING, Markup, html
from widgets.screens.rows.parts import Grid, plain_text, render_rows
from widgets.text import cut, format_count, format_share
from widgets.ui.bars import Axes, Bar, render_bars
from widgets.ui.pieces import KeyFigure, render_key_figures, render_section
from widgets.ui.table import Cell, Column, Row, render_table

_METHODS = {
    "row ids": "rows are the same by their row ids",
    "keys": "rows are the same by their keys",
    "rows": "rows are the same if all of their values are, so that an update is a deletion and "
    "an insertion",
}
_ESTIMATES = (
    Column(key="figure", label="Figure"),
    Column(key="estimate", label="By statistics", mono=True),
    Column(key="exact", label="Exact, by the rows", mono=True),
)
_TOP = (
    Column(key="value", label="Most frequent", mono=True),
    Column(key="rows", label="Rows", align="right"),
    Column(key="share", label="Share", align="right"),
)


def exact_sentence(found: Any) -> str:
    """How many rows differ, and by what they were told apart."""
    counts = [
        f"{format_count(found.count(kind))} {kind}"
        for kind in ("inserted", "deleted", "updated")
        if found.count(kind)
    ]
    diff = found.diff
    text = f"Exactly: {', '.join(counts)}." if counts else "Exactly: no row differs."
    if diff.num_files:
        source = "the change data between" if diff.source == "change data" else "files"
        text += f" By reading {source} ({format_count(diff.num_files)} differ)"
        text += f"; {_METHODS[diff.method]}."
    if diff.moved:
        text += f" {format_count(diff.moved)} rows were written again as they were."
    return text


def render_exact_rows(found: Any) -> Markup:
    """The sentence, and a few rows of each kind."""
    samples = NOTHING
    for kind, rows in found.samples.items():
        shown = len(rows.rows)
        title = f"{kind.capitalize()} rows" + (
            f", {format_count(shown)} of {format_count(found.count(kind))}" if rows.is_cut else ""
        )
        grid = Grid(numbers=rows.numbers, instants=rows.instants)
        samples += render_section(title, render_rows(title, rows.names, rows.rows, grid))
    return html('<p class="dx-lead">{}</p>{}', exact_sentence(found), samples)


def render_profile(profile: Any, estimate: Mapping[str, Any]) -> Markup:
    """The exact figures beside what statistics say: `estimate` has num_rows, null_count, min
    and max, None for what they do not say."""
    rows = [
        _figure("Rows", estimate["num_rows"], profile.rows),
        _figure("Nulls", estimate["null_count"], profile.nulls),
        _figure("Min", estimate["min"], profile.minimum),
        _figure("Max", estimate["max"], profile.maximum),
        _figure("Different values", None, profile.distinct),
        *(
            _figure(f"{share:.0%} of rows are at most", None, value)
            for share, value in profile.quantiles or ()
        ),
    ]
    table = render_table("Exact figures beside the estimate", _ESTIMATES, rows)
    source = "the log alone" if profile.source == "log" else "every row"
    return html(
        '<p class="dx-muted">The exact figures come from {}; deleted rows are left out.</p>{}{}{}',
        source,
        table,
        _histogram(profile),
        _top(profile),
    )


def profile_figures(profile: Any) -> Markup:
    """The main figures of a column."""
    rows, nulls = profile.rows, profile.nulls
    share = format_share(nulls, rows) if rows and nulls is not None else ""
    return render_key_figures(
        [
            KeyFigure(name="Rows", value=format_count(rows), remark="exact"),
            KeyFigure(name="Nulls", value=format_count(nulls), remark=share),
            KeyFigure(name="Different values", value=format_count(profile.distinct),
                      remark="exact"),
        ]
    )  # fmt: skip


def _figure(name: str, estimate: Any, exact: Any) -> Row:
    both = [None if value is None else _text(value) for value in (estimate, exact)]
    return Row(
        cells=(
            Cell(text=name),
            *(
                Cell(text="\N{EN DASH}", muted=True)
                if value is None
                else Cell(text=cut(value, 60), title=cut(value, 1000))
                for value in both
            ),
        )
    )


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return format_count(value)
    if isinstance(value, datetime):
        text = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        zone = "" if value.tzinfo is None else "Z"
        return str(render_value_times([f"{text.isoformat()}{zone}"])[0])
    if isinstance(value, date):
        return value.isoformat()
    return plain_text(value)


def _histogram(profile: Any) -> Markup:
    bins: Sequence[Any] = profile.histogram or ()
    if len(bins) < 2:
        return NOTHING
    bars = [
        Bar(
            value=part.count,
            title=f"{_text(part.low)} to {_text(part.high)}: {format_count(part.count)} rows",
        )
        for part in bins
    ]
    first, last = cut(_text(bins[0].low), 60), cut(_text(bins[-1].high), 60)
    axes = Axes(across="value", up="rows", ticks=[(0, first), (1, last)])
    return render_section("Rows by value", render_bars("Rows by value", bars, axes=axes))


def _top(profile: Any) -> Markup:
    if not profile.top:
        return NOTHING
    rows = [
        Row(
            cells=(
                Cell(text=cut(_text(value), 60), title=cut(_text(value), 1000)),
                Cell(text=format_count(count)),
                Cell(text=format_share(count, profile.rows or 0)),
            )
        )
        for value, count in profile.top
    ]
    return render_section("Most frequent", render_table("Most frequent values", _TOP, rows))
