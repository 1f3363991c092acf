"""Reachability as pieces of the page: one axis of time, its ranges, versions and windows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.inspect.reach.wording import range_in_words, state_in_words, until_in_words
from widgets.markup import NOTHING, Markup, html, join
from widgets.text import (
    cut,
    cut_path,
    format_bytes,
    format_count,
    format_minute,
    format_moment,
    format_time,
    read_moment,
)
from widgets.ui.bars import render_tick
from widgets.ui.records import read_records
from widgets.ui.table import Cell, Column, Row

DASH = "\N{EN DASH}"

MOST_TICKS = 8
_DAY_MS = 86_400_000.0
_STEPS = tuple(
    _DAY_MS * days for days in (1 / 24, 1 / 8, 1 / 4, 1 / 2, 1, 2, 7, 14, 28, 91, 182, 364)
)
"""Milliseconds between ticks."""

DRAWN = 2000
"""Ranges that are drawn on the axis: more would be narrower than a pixel."""

RANGE_COLUMNS = (
    Column(key="what", label="Of"),
    Column(key="versions", label="Versions", align="right"),
    Column(key="state", label="State"),
    Column(key="until", label="Stays at least until (UTC)"),
    Column(key="spark", label="Delta Spark 4.1+"),
)
WINDOW_COLUMNS = (
    Column(key="property", label="Retention", mono=True),
    Column(key="value", label="Is"),
    Column(key="source", label="By"),
    Column(key="cutoff", label="Reaches back to (UTC)"),
    Column(key="first", label="From version", align="right"),
    Column(key="meaning", label="What it means", wraps=True, wide=True),
)
VERSION_COLUMNS = (
    Column(key="version", label="Version", align="right"),
    Column(key="timestamp", label="Committed (UTC)"),
    Column(key="travel", label="Time travel"),
    Column(key="travel_until", label="Until (UTC)", wide=True),
    Column(key="feed", label="Change feed"),
    Column(key="feed_until", label="Until (UTC)", wide=True),
    Column(key="spark", label="Delta Spark 4.1+"),
)
EVIDENCE_COLUMNS = (
    Column(key="version", label="Version", align="right"),
    Column(key="action", label="Action"),
    Column(key="role", label="Names it as"),
    Column(key="time", label="Time (UTC)"),
    Column(key="place", label="Recorded in", mono=True),
)
SIZE_COLUMNS = (
    Column(key="part", label="Part"),
    Column(key="files", label="Files", align="right"),
    Column(key="bytes", label="Bytes", align="right"),
    Column(key="meaning", label="What it is", wraps=True),
)
FOREIGN_COLUMNS = (
    Column(key="path", label="File", mono=True),
    Column(key="kind", label="Kind"),
    Column(key="bytes", label="Size", align="right"),
    Column(key="vacuum", label="Vacuum"),
    Column(key="reference", label="In Delta Spark"),
    Column(key="reason", label="Why", wraps=True, wide=True),
)

_TONES = {
    "promised": "good", "readable": "good", "unprotected": "unseen",
    "readable, unprotected": "risk", "not read yet": "none", "not enabled": "none",
    "refused": "none",
}  # fmt: skip


def tone_of(state: str, *, spark_refuses: bool | None = None) -> str:
    """Which colour or hatching a state has; its word always stands beside it."""
    tone = _TONES.get(state, "gone")
    return "files" if tone == "good" and spark_refuses else tone


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A part of the axis, from 0 to 1."""

    start: float
    end: float
    tone: str
    title: str


class _Axis:
    """Time from the oldest moment that is known to now, as places from 0 to 1: where windows
    reach far beyond the versions, from as long before these as they have been.

    A version whose commit is gone lies where the next one does whose time is known.
    """

    def __init__(
        self, timestamps: pa.ChunkedArray, cutoffs: Sequence[datetime], now: datetime
    ) -> None:
        milliseconds = pc.cast(timestamps, pa.int64())
        self.is_known = np.asarray(milliseconds.is_valid())
        self._end = now.timestamp() * 1000
        times = milliseconds.cast(pa.float64(), safe=False).to_numpy()
        filled = np.where(self.is_known, times, self._end)
        self._times = np.minimum.accumulate(filled[::-1])[::-1]
        self.begin = min([self._end, *(cutoff.timestamp() * 1000 for cutoff in cutoffs)])
        if self.is_known.any():
            oldest = float(times[self.is_known].min())
            self.begin = min(oldest, max(self.begin, 2 * oldest - self._end))

    def place(self, milliseconds: float) -> float:
        """Where a moment lies."""
        length = max(self._end - self.begin, 1.0)
        return min(max((milliseconds - self.begin) / length, 0.0), 1.0)

    def ticks(self) -> list[tuple[float, str]]:
        """Places with their times, at even steps; the last is now."""
        length = self._end - self.begin
        step = next((step for step in _STEPS if length / step <= MOST_TICKS), _STEPS[-1])
        step *= max(1, math.ceil(length / step / MOST_TICKS))
        found = []
        moment = math.ceil(self.begin / step) * step
        while moment < self._end - length * 0.16:  # room for the word, on a narrow page too
            at = read_moment(moment)
            if at is not None:
                text = f"{at:%H:%M}" if step < _DAY_MS and at.hour else f"{at.date()}"
                found.append((self.place(moment), text))
            moment += step
        return [*found, (1.0, "now")]

    def start(self, version: int) -> float:
        """Where a version begins."""
        if version or self.is_known[0]:
            return self.place(float(self._times[version]))
        return 0.0  # what is gone without a time is seen all the same

    def end(self, version: int) -> float:
        """Where the next one begins, or now."""
        return self.start(version + 1) if version + 1 < len(self._times) else 1.0


def render_axis(found: Any, now: datetime, selected: int | None) -> Markup:
    """Time travel, change feed and both retention windows above one axis of time."""
    windows = [row for row in read_records(found.windows) if row["cutoff"] is not None]
    cutoffs = [row["cutoff"] for row in windows]
    axis = _Axis(found.versions.column("timestamp"), cutoffs, now)
    if not axis.is_known.any():
        return NOTHING
    ranges = read_records(found.ranges.slice(0, DRAWN))
    lines = [
        (label, [_stretch(row, axis) for row in ranges if row["what"] == what])
        for what, label in (("time travel", "Time travel"), ("change feed", "Change feed"))
    ]
    lines += [(row["property"].removeprefix("delta."), [_window(row, axis)]) for row in windows]
    mark = None
    if selected is not None and selected < len(axis.is_known) and axis.is_known[selected]:
        mark = axis.start(selected)
    drawn = join(_render_line(label, stretches, mark) for label, stretches in lines)
    if mark is not None:
        name = f"version {format_count(selected)}"
        drawn = html('<span></span><div class="dx-ticks dx-over">{}</div>{}',
                     render_tick(mark, name), drawn)  # fmt: skip
    tones = {stretch.tone for _, stretches in lines for stretch in stretches}
    begin = read_moment(axis.begin)
    return html(
        '<div class="dx-axis" role="img" aria-label="Time travel, change feed and retention '
        'windows from {} to now">{}<span></span>'
        '<div class="dx-ticks">{}</div>'
        "</div>{}",
        format_time(begin),
        drawn,
        join(render_tick(place, label) for place, label in axis.ticks()),
        _render_legend(tones),
    )


def _stretch(row: Mapping[str, Any], axis: _Axis) -> Stretch:
    refuses = row["spark_refuses"]
    words = state_in_words(row["state"], spark_refuses=refuses)
    return Stretch(
        start=axis.start(row["first"]),
        end=axis.end(row["last"]),
        tone=tone_of(row["state"], spark_refuses=refuses),
        title=f"{versions_text(row)}: {words}{', refused by Delta Spark 4.1+' if refuses else ''}",
    )


def _window(row: Mapping[str, Any], axis: _Axis) -> Stretch:
    return Stretch(
        start=axis.place(row["cutoff"].timestamp() * 1000),
        end=1.0,
        tone="window" if row["is_enforced"] else "none",
        title=f"{row['property']}: {row['value']}, since {format_time(row['cutoff'])}",
    )


_LEGEND = {
    "good": "can be read",
    "files": "files there, but Delta Spark 4.1+ refuses it",
    "risk": "only until the next vacuum",
    "unseen": "its files were not looked for, any vacuum may have deleted them",
    "gone": "gone",
    "none": "not enabled, not supported or not known",
    "window": "retention window",
}


def _render_legend(tones: Set[str]) -> Markup:
    """Of the colours that are drawn."""
    told = join(
        html('<i class="dx-tone-{}"></i>{}', tone, word)
        for tone, word in _LEGEND.items()
        if tone in tones
    )
    return html('<p class="dx-legend">{}</p>', told)


def _render_line(label: str, stretches: Sequence[Stretch], mark: float | None) -> Markup:
    # what is gone is seen, however short it was: it lies above its neighbours
    drawn = sorted(stretches, key=lambda stretch: stretch.tone == "gone")
    parts = join(
        html(
            '<i class="dx-tone-{}" title="{}" style="left:{:.3%};width:{:.3%}"></i>',
            stretch.tone,
            stretch.title,
            stretch.start,
            max(stretch.end - stretch.start, 0.002),
        )
        for stretch in drawn
    )
    line = NOTHING if mark is None else html('<b style="left:{:.3%}"></b>', mark)
    return html('<span>{}</span><div class="dx-line">{}{}</div>', label, parts, line)


def versions_text(row: Mapping[str, Any]) -> str:
    """`version 3` or `versions 0–12`."""
    if row["first"] == row["last"]:
        return f"version {format_count(row['first'])}"
    return f"versions {format_count(row['first'])}\N{EN DASH}{format_count(row['last'])}"


def build_range_row(row: Mapping[str, Any], now: datetime) -> Row:
    """Versions with the same answer, at the time that it holds for."""
    text = range_in_words(row, now, format_minute) or DASH
    refuses = row["spark_refuses"]
    return Row(
        cells=(
            Cell(text=row["what"]),
            Cell(text=versions_text(row).partition(" ")[2]),
            Cell(
                text=state_in_words(row["state"], spark_refuses=refuses),
                tone=tone_of(row["state"], spark_refuses=refuses),
            ),
            Cell(text=text, muted=text == DASH),
            Cell(text=_SPARK[refuses], muted=not refuses),
        )
    )


def build_window_row(row: Mapping[str, Any]) -> Row:
    """One retention window."""
    first = row["first_version"]
    value = str(row["value"])
    return Row(
        cells=(
            Cell(text=row["property"]),
            Cell(text=cut(value, 40), title=cut(value, 300)),
            Cell(text=row["source"]),
            Cell(text=format_minute(row["cutoff"]), muted=not row["is_enforced"]),
            Cell(text=DASH if first is None else format_count(first)),
            Cell(text=row["meaning"]),
        )
    )


_MAY_BE_GONE = ", any vacuum may have deleted its files"
_SPARK = {True: "refused", False: "readable", None: DASH}
_NOT_FOR_SPARK = (
    " Delta Spark 4.1 and newer refuses to travel there, because of "
    "delta.deletedFileRetentionDuration."
)


def _spark_refuses(row: Mapping[str, Any]) -> bool | None:
    """Whether the retention alone keeps Delta Spark from a version; None where that is unknown, or
    where nothing is left to be read."""
    refuses: bool | None = None if tone_of(row["travel"]) == "gone" else row["spark_refuses"]
    return refuses


def build_version_row(row: Mapping[str, Any], selected: int | None, now: datetime) -> Row:
    """One version; a click selects it."""
    refuses = _spark_refuses(row)
    until = {
        what: until_in_words(row[what], row[f"{what}_until"], now, format_minute) or DASH
        for what in ("travel", "feed")
    }
    return Row(
        action="version",
        value=str(row["version"]),
        selected=row["version"] == selected,
        cells=(
            Cell(text=format_count(row["version"])),
            Cell(text=format_minute(row["timestamp"]), title=format_time(row["timestamp"]),
                 muted=row["timestamp"] is None),
            Cell(text=state_in_words(row["travel"], spark_refuses=refuses),
                 tone=tone_of(row["travel"], spark_refuses=refuses)),
            Cell(text=until["travel"]),
            Cell(text=state_in_words(row["feed"]), tone=tone_of(row["feed"])),
            Cell(text=until["feed"]),
            Cell(text=_SPARK[refuses], muted=not refuses),
        ),
    )  # fmt: skip


def selected_sentence(row: Mapping[str, Any], now: datetime) -> str:
    """What holds for the selected version."""
    travel = row["travel"]
    until = until_in_words(travel, row["travel_until"], now, format_minute)
    stays = f", at least until {until}" if until else ""
    stays = ", without end" if until == "no end" else stays
    if "unprotected" in travel:
        stays = ", but only until the next vacuum" if "readable" in travel else _MAY_BE_GONE
    refuses = _spark_refuses(row)
    number = format_count(row["version"])
    # that it is not protected is said by until when it stays
    words = state_in_words(travel, spark_refuses=refuses).removesuffix(", not protected")
    spark = _NOT_FOR_SPARK if refuses else ""
    return (
        f"Version {number}: {words}{stays}; its change feed: {state_in_words(row['feed'])}.{spark}"
    )


def build_evidence_row(row: Mapping[str, Any]) -> Row:
    """A line of the log that names the file."""
    return Row(
        cells=(
            Cell(text=format_count(row["version"])),
            Cell(text=str(row["action"])),
            Cell(text=str(row["role"])),
            Cell(text=format_minute(row["time"]), muted=row["time"] is None),
            Cell(text=cut(f"{row['log_file']}:{row['line']}", 80)),
        )
    )


def reason_facts(found: Any) -> list[tuple[str, str]]:
    """What the store and the rules say of one file."""
    versions = ", ".join(
        versions_text({"first": first, "last": last}).partition(" ")[2]
        for first, last in found.versions[:20]
    )
    there = {True: "yes", False: "no", None: "nobody looked"}[found.is_there]
    return [
        ("Path", cut(found.path, 1000)),
        ("Kind", found.kind),
        ("Is there", there),
        ("Size", format_bytes(found.size)),
        ("Modified", format_time(found.modified)),
        ("Versions that need it", versions or "none"),
        ("Deletable from", _from(found.deletable_from)),
        ("In Delta Spark from", _from(found.reference_from)),
    ]


def _from(moment: datetime | None) -> str:
    return "it is kept" if moment is None else format_time(moment)


def build_size_row(row: Mapping[str, Any], total: int) -> Row:
    """One part of the folder."""
    return Row(
        cells=(
            Cell(text=row["part"], share=row["bytes"] / total if total else 0.0),
            Cell(text=format_count(row["num_files"])),
            Cell(text=format_bytes(row["bytes"]), title=format_count(row["bytes"])),
            Cell(text=row["meaning"]),
        )
    )


_LEAVES = "leaves it"


def _fate(since: datetime | None, *, deletes: bool | None) -> str:
    if deletes:
        return "deletes it now"
    if deletes is None:
        return DASH  # unknown
    return _LEAVES if since is None else f"from {format_moment(since)}"


def build_foreign_row(row: Mapping[str, Any]) -> Row:
    """A file that no version knows; a click asks why it is here."""
    path = str(row["path"])
    goes = _fate(row["deletable_from"], deletes=row["vacuum_deletes"])
    theirs = _fate(row["reference_from"], deletes=row["reference_deletes"])
    return Row(
        action="file",
        value=path,
        cells=(
            Cell(text=cut_path(path, 52), title=cut(path, 1000)),
            Cell(text=str(row["kind"])),
            Cell(text=format_bytes(row["bytes"]), muted=row["bytes"] is None),
            Cell(text=goes, muted=goes == _LEAVES),
            Cell(text=theirs, muted=theirs in {_LEAVES, DASH}),
            Cell(text=cut(str(row["reason"]), 200)),
        ),
    )
