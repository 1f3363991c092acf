"""What stands on the timeline: commits, and what happened to the table and its log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.plain_arrays import Flags, read_flags
from widgets.figures.cells import Cells, Stretch, find_ends
from widgets.figures.commits import Commits
from widgets.text import (
    UNKNOWN,
    cut,
    format_bytes_change,
    format_change,
    format_count,
    format_file_change,
    format_short,
    format_time,
    read_moment,
)
from widgets.theme import LANES, Palette

CHECKPOINTS = "CHECKPOINT"
EVENTS = "METADATA"
"""The lanes of the log's own files, and of what changed the table itself."""

PROTOCOL, SCHEMA, METADATA, RESTORE = "protocol", "schema", "properties", "restore"
_SHAPES = {PROTOCOL: "triangle", SCHEMA: "square", METADATA: "star", RESTORE: "inverted_triangle"}
LEGEND = {
    "checkpoint": "\N{BLACK DIAMOND}",
    "log compaction": "\N{WHITE DIAMOND}",
    PROTOCOL: "\N{BLACK UP-POINTING TRIANGLE}",
    SCHEMA: "\N{BLACK SQUARE}",
    METADATA: "\N{BLACK STAR}",
    RESTORE: "\N{BLACK DOWN-POINTING TRIANGLE}",
}
"""The kinds of marks with their shapes, as text can show them."""


_SMALLEST, _CHOSEN_WIDTH, _CHOSEN_HEIGHT, _CROSS = 5.0, 12.0, 16.0, 12.0
_THICK = 8.0
"""Pixels: a mark that is chosen and at least so wide has a thick outline."""

_BETWEEN = 2.0
"""Pixels: an outline, half of it on each side of a mark, and as much between two marks."""


def build_marks(
    palette: Palette, commits: Commits, cells: Cells, stretch: Stretch
) -> dict[str, object]:
    """The commits, one by one or by cell.

    A mark is as high as its commits touched files, in pixels, and as wide where there is room;
    its width is one of the axis, so that no zoom lays it over the next one. `wide` is that of
    the mark when it is chosen, and `outline` what is drawn around it then, in pixels.
    """
    known = ~np.isnan(cells.touched)
    touched = np.where(known, cells.touched, 0.0)
    names = [LANES[int(lane)] for lane in cells.lane]
    frame = commits.frame.take(pa.array(cells.last))
    single = cells.count == 1
    height = _SMALLEST + np.minimum(3.2 * np.log10(1 + touched), 11.0)
    room = cells.room - _BETWEEN
    readable = cells.problem < 0
    return {
        "x": cells.x,
        "y": names,
        "color": [palette.lane(name) for name in names],
        "height": height,
        "width": np.minimum(height, room) * stretch.pixel,
        "wide": np.minimum(_CHOSEN_WIDTH, room) * stretch.pixel,
        # a thick line around a narrow mark hides it, and looks as if it hid the next ones
        "outline": np.where(room >= _THICK, 2.0, 1.0),
        # Hollow where the commit does not say how many files it touched; what cannot be read
        # has a cross instead.
        "fill": np.where(known & readable, 0.62, 0.0),
        "line": readable.astype(np.float64),
        "oldest": commits.version[cells.first],
        "newest": commits.version[cells.last],
        "count": cells.count,
        "what": _what(commits, cells),
        "when": [_when(commits, i, j) for i, j in zip(cells.first, cells.last, strict=True)],
        "operation": _texts(frame, "operation", single),
        "user": _texts(frame, "user_name", single),
        "predicate": _conditions(frame, single),
        "files": _file_changes(frame, single),
        "rows": _changes(frame, "rows", single),
        "bytes": _changes(frame, "bytes", single),
    }


def build_chosen(marks: Mapping[str, Any], lane: str, version: int) -> dict[str, object]:
    """The mark of the commit that is chosen, as it is drawn then; none where it is not visible."""
    oldest, newest = np.asarray(marks["oldest"]), np.asarray(marks["newest"])
    holds = (oldest <= version) & (version <= newest)
    found = [at for at in np.flatnonzero(holds).tolist() if marks["y"][at] == lane][:1]
    return {
        "x": [marks["x"][at] for at in found],
        "y": [lane for _ in found],
        "color": [marks["color"][at] for at in found],
        "width": [max(marks["width"][at], marks["wide"][at]) for at in found],
        "height": [max(marks["height"][at], _CHOSEN_HEIGHT) for at in found],
        "outline": [marks["outline"][at] for at in found],
    }


def build_problems(commits: Commits, cells: Cells) -> dict[str, object]:
    """A cross in the place of each mark whose commit, or one of its commits, is not readable."""
    at = np.flatnonzero(cells.problem >= 0)
    which = cells.problem[at]
    texts = commits.frame["problem"].take(pa.array(which)).to_pylist()
    return {
        "x": cells.x[at],
        "y": [LANES[int(lane)] for lane in cells.lane[at]],
        "size": np.minimum(_CROSS, cells.room[at] - _BETWEEN),
        "what": [format_short(int(commits.version[i])) for i in which],
        "problem": [cut(text or "", 120) for text in texts],
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


def _file_changes(frame: pa.Table, single: np.ndarray) -> list[str]:
    vectors = frame["deletion_vectors_added"].to_pylist()
    changes = _changes(frame, "files", single)
    added, removed = frame["files_added"].to_pylist(), frame["files_removed"].to_pylist()
    return [
        format_file_change(plus, minus, count) if one else text
        for plus, minus, count, one, text in zip(
            added, removed, vectors, single, changes, strict=True
        )
    ]


def _changes(frame: pa.Table, name: str, single: np.ndarray) -> list[str]:
    added, removed = frame[f"{name}_added"].to_pylist(), frame[f"{name}_removed"].to_pylist()
    return [
        (format_bytes_change if name == "bytes" else format_change)(plus, minus)
        if one
        else "click to zoom in"
        for plus, minus, one in zip(added, removed, single, strict=True)
    ]


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


def find_shapes(commits: Commits, seen: Flags) -> list[str]:
    """The kinds of `find_events` whose shape there is among the commits that are seen: a commit has
    that of the first of its."""
    shapes, taken = [], ~seen
    for kind, flags in find_events(commits).items():
        shapes += [kind] if (flags & ~taken).any() else []
        taken |= flags
    return shapes


EVENT_PIXELS, LOG_FILE_PIXELS = 9.0, 11.0
"""How wide the marks of these lanes are; shapes that are narrower cannot be told apart."""


def build_events(
    commits: Commits, stretch: Stretch, shown: Flags | None = None
) -> dict[str, object]:
    """What of the `shown` commits changed the table itself, in the lane `EVENTS`: one mark for
    commits that are as near as a mark is wide, in the shape of the first of their kinds, for
    shapes on top of each other cannot be told apart."""
    found = find_events(commits)
    any_kind = np.logical_or.reduce(list(found.values()))
    any_kind = any_kind if shown is None else any_kind & shown
    chosen = np.flatnonzero(any_kind & stretch.holds(commits.x))
    groups = _group(chosen, commits.x[chosen], EVENT_PIXELS, stretch)
    kinds = [[kind for kind, flags in found.items() if flags[group].any()] for group in groups]
    return {
        "x": [float(commits.x[group[-1]]) for group in groups],
        "y": [EVENTS] * len(groups),
        "shape": [_SHAPES[some[0]] for some in kinds],
        "what": [_list([format_count(int(commits.version[at])) for at in group])
                 for group in groups],
        "kind": [", ".join(some) for some in kinds],
    }  # fmt: skip


def _group(items: np.ndarray, x: np.ndarray, wide: float, stretch: Stretch) -> list[np.ndarray]:
    """Items in the order of their places, together where marks so wide would meet."""
    order = np.argsort(x, kind="stable")
    ends = find_ends(x[order], (wide + _BETWEEN) * stretch.pixel)
    return np.split(items[order], ends[:-1] + 1) if len(ends) else []


_NAMED = 4


def _list(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names if more <= 0 else [*names[:_NAMED], f"and {more:,} more"])


def build_log_files(
    commits: Commits,
    compactions: Sequence[tuple[int, int]],
    stretch: Stretch,
    shown: Flags | None = None,
) -> dict[str, object]:
    """Checkpoints of the `shown` commits, and log compactions where the last commit of each
    stands: one mark for those that are as near as it is wide, hollow where it is one of
    compactions alone."""
    at = [commits.position(last) for _, last in compactions]
    there = [(i, *pair) for i, pair in zip(at, compactions, strict=True) if i is not None]
    checkpoints = np.flatnonzero(commits.checkpoint)
    # what is told of each, by its place among both
    places = np.array([*checkpoints.tolist(), *(i for i, _, _ in there)], dtype=np.int64)
    seen = stretch.holds(commits.x[places])
    items = np.flatnonzero(seen if shown is None else seen & shown[places])
    groups = _group(items, commits.x[places[items]], LOG_FILE_PIXELS, stretch)
    kept, compacted = list[str](), list[str]()
    for group in groups:
        both = group.tolist()
        versions = [int(commits.version[places[i]]) for i in both if i < len(checkpoints)]
        spans = [there[i - len(checkpoints)][1:] for i in both if i >= len(checkpoints)]
        kept.append(_list([format_short(version) for version in versions]))
        compacted.append(_list([f"{format_count(a)} to {format_count(b)}" for a, b in spans]))
    filled = [1.0 if texts else 0.0 for texts in kept]
    return {
        "x": [float(commits.x[places[group[-1]]]) for group in groups],
        "y": [CHECKPOINTS] * len(groups),
        "fill": [0.8 * full for full in filled],
        "line": [1.0 - full for full in filled],
        "checkpoint": [texts or "\N{EN DASH}" for texts in kept],
        "compaction": [texts or "\N{EN DASH}" for texts in compacted],
    }
