"""What each OPTIMIZE did to the files, and what became of it, from the commits themselves
(spec: Commit Provenance Information, Add File and Remove File)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from explorer.inspect.commits.commit_timeline import timeline
from explorer.inspect.frames import Column, build_frame
from explorer.log.actions.columns import TIME, int64_column, string_column, time_column
from explorer.progress import Cancel, ProgressCallback
from explorer.protocol.filenames import render_commit_name
from explorer.table.counts import count
from explorer.table.table import Table

COLUMNS: dict[str, Column] = {
    "version": (int64_column, pa.int64()),
    "timestamp": (time_column, TIME),
    "engine_info": (string_column, pa.string()),
    "files_before": (int64_column, pa.int64()),
    "files_after": (int64_column, pa.int64()),
    "bytes_before": (int64_column, pa.int64()),
    "bytes_after": (int64_column, pa.int64()),
    "mean_before": (int64_column, pa.int64()),
    "mean_after": (int64_column, pa.int64()),
    "deletion_vectors_removed": (int64_column, pa.int64()),
    "files_since": (int64_column, pa.int64()),
    "commits_since": (int64_column, pa.int64()),
    "verdict": (string_column, pa.string()),
    "log_file": (string_column, pa.string()),
}
_VECTORS = "numDeletionVectorsRemoved"
_ORDERED_BY = ("zOrderBy", "clusterBy")
_OPTIMIZE = "OPTIMIZE"
_FIGURES = ("version", "files_added", "files_removed", "bytes_added", "bytes_removed")


def optimize_effects(
    table: Table,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> pa.Table:
    """One row per OPTIMIZE that the log still knows, newest first: the files and bytes that it
    took away and put in their place, and their mean sizes; deletion_vectors_removed as its
    writer recorded it. What a commit does not say is null; bytes_after is what it cost to
    write.

    - `files_since`: by how many files the table grew in the `commits_since` after it, up to
      the next OPTIMIZE; null where one of them does not say
    - `verdict`: how many files fewer there were, or that there were no fewer, or that files
      smaller than those that it wrote have undone it since; null where the commit does not say
    """
    history = _plain(table.history())
    wanted = [row for row in history if row["operation"] == _OPTIMIZE]
    if not wanted:
        return build_frame(COLUMNS, [])
    frame = timeline(table, first=wanted[-1]["version"], progress=progress, cancel=cancel)
    figures = {row["version"]: row for row in frame.select(list(_FIGURES)).to_pylist()}
    rows, end = [], history[0]["version"] + 1
    for row in wanted:
        version = row["version"]
        own = figures.get(version, dict.fromkeys(_FIGURES))
        later = [figures[at] for at in range(version + 1, end) if at in figures]
        rows.append(_effect(row, own, later))
        end = version
    return build_frame(COLUMNS, rows)


def _effect(
    row: Mapping[str, Any], own: Mapping[str, Any], later: list[dict[str, Any]]
) -> tuple[Any, ...]:
    before, after = own["files_removed"], own["files_added"]
    bytes_before, bytes_after = own["bytes_removed"], own["bytes_added"]
    vectors = _count(row["metrics"].get(_VECTORS))
    mean_after = _mean(bytes_after, after)
    verdict, since = None, _growth(later)
    if before is not None and after is not None:
        verdict = _kept(before - after, since, mean_after, later)
        if after >= before:
            verdict = _without_fewer(row, vectors)
    return (
        row["version"],
        row["timestamp"],
        row["engine_info"],
        before,
        after,
        bytes_before,
        bytes_after,
        _mean(bytes_before, before),
        mean_after,
        vectors,
        since,
        len(later),
        verdict,
        render_commit_name(row["version"]),
    )


def _growth(later: list[dict[str, Any]]) -> int | None:
    numbers = [(row["files_added"], row["files_removed"]) for row in later]
    if any(None in pair for pair in numbers):
        return None
    return sum(int(added) - int(removed) for added, removed in numbers)


def _kept(
    saved: int, since: int | None, mean_after: int | None, later: list[dict[str, Any]]
) -> str:
    """The verdict on one after which there were fewer files."""
    fewer = count(saved, "file").replace(" ", " fewer ", 1)
    if since is None or since <= 0 or mean_after is None:
        return fewer
    sizes, files = ([row[name] or 0 for row in later] for name in ("bytes_added", "files_added"))
    if sum(sizes) >= mean_after * sum(files):
        return fewer  # what came since is as large as what it wrote
    commits = f"in {count(len(later), 'commit')}"
    if since >= saved:
        return f"undone: {count(since, 'smaller file')} added since, {commits}"
    return f"{fewer}; {count(since, 'smaller file')} added since, {commits}"


def _without_fewer(row: Mapping[str, Any], vectors: int | None) -> str:
    """The verdict on one after which there were no fewer files, with what else it did."""
    more = [f", {count(vectors, 'deletion vector')} removed"] if vectors else []
    columns = [name for key in _ORDERED_BY for name in _names(row["parameters"].get(key))]
    if columns:
        more.append(f", rows ordered by {', '.join(columns)[:200]}")
    return "no fewer files" + "".join(more)


def _names(text: str | None) -> list[str]:
    """A list of columns as Spark writes it among the parameters, `["a","b"]`."""
    try:
        found = json.loads(text or "[]")
    except ValueError:
        return []
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def _plain(history: pa.Table) -> list[dict[str, Any]]:
    names = ["version", "operation", "engine_info"]
    rows: list[dict[str, Any]] = history.select(names).to_pylist()
    times = history.column("timestamp").cast(pa.int64()).to_pylist()
    parameters = history.column("operation_parameters").to_pylist()
    metrics = history.column("operation_metrics").to_pylist()
    for row, at, asked, pairs in zip(rows, times, parameters, metrics, strict=True):
        row["timestamp"] = at
        row["parameters"] = dict(asked or ())
        row["metrics"] = dict(pairs or ())
    return rows


def _mean(total: int | None, count: int | None) -> int | None:
    return None if total is None or not count else total // count


def _count(text: str | None) -> int | None:
    if text is None or not (text.isascii() and text.isdigit() and len(text) < 19):
        return None
    return int(text)
