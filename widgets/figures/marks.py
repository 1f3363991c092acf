"""What stands on the timeline: commits, and what happened to the table and its log."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.plain_arrays import Flags, read_flags
from widgets.figures.commits import Cells, Commits
from widgets.text import (
    UNKNOWN,
    cut,
    format_bytes_change,
    format_change,
    format_count,
    format_short,
    format_time,
    read_moment,
)
from widgets.theme import LANES, Palette

CHECKPOINTS = "CHECKPOINT"
EVENTS = "CHANGES"
"""The lanes of the log's own files, and of what changed the table itself."""

POINTS = 400
"""Beyond some hundreds the marks of one kind form a line anyway."""

PROTOCOL, SCHEMA, METADATA, RESTORE = "protocol", "schema", "properties", "restore"
_SHAPES = {PROTOCOL: "triangle", SCHEMA: "square", METADATA: "circle", RESTORE: "inverted_triangle"}
LEGEND = {
    "checkpoint": "\N{BLACK DIAMOND}",
    "log compaction": "\N{WHITE DIAMOND}",
    PROTOCOL: "\N{BLACK UP-POINTING TRIANGLE}",
    SCHEMA: "\N{BLACK SQUARE}",
    METADATA: "\N{BLACK CIRCLE}",
    RESTORE: "\N{BLACK DOWN-POINTING TRIANGLE}",
}
"""The kinds of marks with their shapes, as text can show them."""


def build_marks(palette: Palette, commits: Commits, cells: Cells) -> dict[str, object]:
    """The commits, one by one or by cell."""
    known = ~np.isnan(cells.touched)
    touched = np.where(known, cells.touched, 0.0)
    names = [LANES[int(lane)] for lane in cells.lane]
    frame = commits.frame.take(pa.array(cells.last))
    single = cells.count == 1
    return {
        "x": cells.x,
        "y": names,
        "color": [palette.lane(name) for name in names],
        "size": 5.0 + np.minimum(3.2 * np.log10(1 + touched), 11.0),
        # Hollow where the commit does not say how many files it touched; pale, so that marks
        # which overlap are each seen by their outline.
        "fill": np.where(known, 0.4, 0.0),
        "newest": commits.version[cells.last],
        "what": _what(commits, cells),
        "when": [_when(commits, i, j) for i, j in zip(cells.first, cells.last, strict=True)],
        "operation": _texts(frame, "operation", single),
        "user": _texts(frame, "user_name", single),
        "predicate": _conditions(frame, single),
        "files": _changes(frame, "files", single),
        "rows": _changes(frame, "rows", single),
        "bytes": _changes(frame, "bytes", single),
    }


def _what(commits: Commits, cells: Cells) -> list[str]:
    parts = zip(cells.first, cells.last, cells.count, strict=True)
    return [
        format_count(int(commits.version[last]))
        if count == 1
        else f"{format_count(int(commits.version[first]))} to "
        f"{format_count(int(commits.version[last]))}, {count:,} commits"
        for first, last, count in parts
    ]


def _when(commits: Commits, first: int, last: int) -> str:
    end = format_time(read_moment(float(commits.time[last])))
    if first == last:
        return end
    return f"{format_time(read_moment(float(commits.time[first])))} to {end}"


def _texts(frame: pa.Table, name: str, single: np.ndarray) -> list[str]:
    values = frame[name].to_pylist()
    return [
        cut(value or UNKNOWN, 60) if one else "several"
        for value, one in zip(values, single, strict=True)
    ]


def _conditions(frame: pa.Table, single: np.ndarray) -> list[str]:
    values = frame["predicate"].to_pylist()
    return [
        cut(value, 120) if one and value else "\N{EN DASH}"
        for value, one in zip(values, single, strict=True)
    ]


def _changes(frame: pa.Table, name: str, single: np.ndarray) -> list[str]:
    added, removed = frame[f"{name}_added"].to_pylist(), frame[f"{name}_removed"].to_pylist()
    return [
        (format_bytes_change if name == "bytes" else format_change)(plus, minus)
        if one
        else "zoom in to see"
        for plus, minus, one in zip(added, removed, single, strict=True)
    ]


def build_points(commits: Commits, chosen: Flags, lane: str | None) -> dict[str, object]:
    """The chosen commits in one lane, or each in that of its operation."""
    at = thin_out(np.flatnonzero(chosen))
    lanes = [lane or LANES[int(commits.lane[i])] for i in at]
    problems = [cut(text or "", 120) for text in commits.frame["problem"].take(at).to_pylist()]
    versions = [format_short(int(commits.version[i])) for i in at]
    return {"x": commits.x[at], "y": lanes, "what": versions, "problem": problems}


def thin_out(at: np.ndarray, limit: int = POINTS) -> np.ndarray:
    """At most `limit` of these."""
    return at[:: max(1, -(-len(at) // limit))]


def find_events(commits: Commits) -> dict[str, Flags]:
    """Which commits changed the protocol, the schema or the properties, and which restored.

    A commit with metadata changed the schema where the one before it had another; where none
    before it is read, what it changed is not known and counts as properties.
    """
    names = commits.frame.column_names
    none = np.zeros(len(commits.version), dtype=np.bool_)
    metadata = read_flags(commits.frame["has_metadata"]) if "has_metadata" in names else none
    protocol = read_flags(commits.frame["has_protocol"]) if "has_protocol" in names else none
    schema = none.copy()
    if "schema_fingerprint" in names:
        at = np.flatnonzero(metadata)
        prints = commits.frame["schema_fingerprint"].take(pa.array(at)).to_pylist()
        differs = [
            here is not None and before is not None and here != before
            for before, here in pairwise(prints)
        ]
        schema[at[1:]] = differs
    operations = pc.utf8_upper(pc.utf8_trim_whitespace(commits.frame["operation"]))
    return {
        PROTOCOL: protocol,
        SCHEMA: schema,
        METADATA: metadata & ~schema,
        RESTORE: read_flags(pc.equal(operations, "RESTORE")),
    }


def build_events(commits: Commits, low: float, high: float) -> dict[str, object]:
    """What changed the table itself, in the lane `EVENTS`: one mark for commits that are as near
    as a mark is wide, in the shape of the first of their kinds, for shapes on top of each other
    cannot be told apart."""
    found = find_events(commits)
    inside = (commits.x >= low) & (commits.x <= high)
    chosen = np.flatnonzero(np.logical_or.reduce(list(found.values())) & inside)
    groups: list[list[int]] = []
    begun = -np.inf
    for at, place in zip(chosen.tolist(), commits.x[chosen].tolist(), strict=True):
        if place - begun <= (high - low) / EVENTS_BESIDE:
            groups[-1].append(at)
        else:
            groups.append([at])
            begun = place
    kinds = [[kind for kind, flags in found.items() if flags[group].any()] for group in groups]
    return {
        "x": [float(commits.x[group[0]]) for group in groups],
        "y": [EVENTS] * len(groups),
        "shape": [_SHAPES[some[0]] for some in kinds],
        "what": [", ".join(_listed(commits, group)) for group in groups],
        "kind": [", ".join(some) for some in kinds],
    }


EVENTS_BESIDE = 40
"""Marks that have room beside each other: each is 9 px wide, and a plot 400 to 900."""

_VERSIONS_NAMED = 4


def _listed(commits: Commits, group: list[int]) -> list[str]:
    names = [format_count(int(commits.version[at])) for at in group]
    more = len(names) - _VERSIONS_NAMED
    return names if more <= 0 else [*names[:_VERSIONS_NAMED], f"and {more:,} more"]


def build_compactions(
    commits: Commits, compactions: Sequence[tuple[int, int]], low: float, high: float
) -> dict[str, object]:
    """The log compactions, where the last commit of each stands."""
    x, what = [], []
    for first, last in compactions:
        at = commits.position(last)
        if at is not None and low <= commits.x[at] <= high:
            x.append(float(commits.x[at]))
            what.append(f"{format_count(first)} to {format_count(last)}")
    step = max(1, -(-len(x) // POINTS))
    x, what = x[::step], what[::step]
    return {"x": x, "y": [CHECKPOINTS] * len(x), "what": what}
