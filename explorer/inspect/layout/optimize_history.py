"""What each OPTIMIZE did to the files, from the commits themselves (spec: Commit Provenance
Information, Add File and Remove File)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from explorer.errors import DeltaError
from explorer.inspect.commits.commit_lines import read_commits
from explorer.inspect.commits.commit_summary import parse_summary
from explorer.inspect.frames import Column, build_frame
from explorer.log.actions.columns import TIME, int64_column, string_column, time_column
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.filenames import render_commit_name
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
    "log_file": (string_column, pa.string()),
}
_VECTORS = "numDeletionVectorsRemoved"


def optimize_effects(
    table: Table,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> pa.Table:
    """One row per OPTIMIZE that the log still knows, newest first: the files and bytes that it
    took away and put in their place, and their mean sizes; deletion_vectors_removed as its
    writer recorded it. What a commit does not say is null; bytes_after is what it cost to
    write."""
    watch = Watch(progress=progress, cancel=cancel)
    history = table.history()
    found = [row for row in _plain(history) if row["operation"] == "OPTIMIZE"]
    versions = [row["version"] for row in found]
    rows: list[tuple[Any, ...]] = []
    every = zip(found, read_commits(table.store, versions), strict=True)
    for done, (row, data) in enumerate(every):
        watch.step(done, len(found), "Reading what OPTIMIZE did")
        name = render_commit_name(row["version"])
        figures: tuple[Any, ...] = (None,) * 4
        if not isinstance(data, DeltaError):
            summary = parse_summary(data, name)
            figures = (
                summary.files_removed,
                summary.files_added,
                summary.bytes_removed,
                summary.bytes_added,
            )
        before, after, bytes_before, bytes_after = figures
        rows.append(
            (
                row["version"],
                row["timestamp"],
                row["engine_info"],
                before,
                after,
                bytes_before,
                bytes_after,
                _mean(bytes_before, before),
                _mean(bytes_after, after),
                _count(row["metrics"].get(_VECTORS)),
                name,
            )
        )
    return build_frame(COLUMNS, rows)


def _plain(history: pa.Table) -> list[dict[str, Any]]:
    names = ["version", "operation", "engine_info"]
    rows: list[dict[str, Any]] = history.select(names).to_pylist()
    times = history.column("timestamp").cast(pa.int64()).to_pylist()
    metrics = history.column("operation_metrics").to_pylist()
    for row, at, pairs in zip(rows, times, metrics, strict=True):
        row["timestamp"] = at
        row["metrics"] = dict(pairs or ())
    return rows


def _mean(total: int | None, count: int | None) -> int | None:
    return None if total is None or not count else total // count


def _count(text: str | None) -> int | None:
    if text is None or not (text.isascii() and text.isdigit() and len(text) < 19):
        return None
    return int(text)
