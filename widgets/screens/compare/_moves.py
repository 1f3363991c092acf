"""What moved in which partition: bytes and rows that were added and removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from explorer.comparison.file_changes import FileChanges
from explorer.progress import Watch
from widgets.markup import NOTHING, Markup, html, join
from widgets.screens.files.parts import render_partition
from widgets.text import MINUS, cut, format_bytes, format_change, format_count, format_many

MOST_FILES = 200_000
"""Files that differ whose partitions are looked at: more take longer than a person waits."""
SHOWN = 12
"""Partitions that are drawn; the list of files has every one."""
_AT_A_TIME = 4_096


@dataclass(slots=True, kw_only=True)
class PartitionMove:
    """One partition; rows are None where statistics do not say."""

    name: str
    bytes_added: int = 0
    bytes_removed: int = 0
    rows_added: int | None = 0
    rows_removed: int | None = 0
    files_added: int = 0
    files_removed: int = 0
    files_changed: int = 0

    @property
    def moved(self) -> int:
        """Bytes of both kinds, by which partitions are ranked."""
        return self.bytes_added + self.bytes_removed


def moves_by_partition(changes: FileChanges, watch: Watch) -> tuple[PartitionMove, ...] | None:
    """Each partition in which files differ, the one that moved most bytes first; None where
    there are too many files."""
    if changes.num_added + changes.num_removed + changes.num_changed > MOST_FILES:
        return None
    found: dict[str, PartitionMove] = {}

    def move_of(entry: Mapping[str, Any]) -> PartitionMove:
        name = render_partition(entry["partition_values"])
        return found.setdefault(name, PartitionMove(name=name))

    for entry in _entries(changes.added, watch):
        move = move_of(entry)
        move.files_added += 1
        move.bytes_added += entry["size"] or 0
        move.rows_added = _plus(move.rows_added, _live(entry))
    for entry in _entries(changes.removed, watch):
        move = move_of(entry)
        move.files_removed += 1
        move.bytes_removed += entry["size"] or 0
        move.rows_removed = _plus(move.rows_removed, _live(entry))
    for entry in _entries(changes.changed, watch):
        move = move_of(entry)
        move.files_changed += 1
        before, after = (entry[f"cardinality_{side}"] or 0 for side in ("before", "after"))
        move.rows_removed = _plus(move.rows_removed, max(after - before, 0))
        move.rows_added = _plus(move.rows_added, max(before - after, 0))
    return tuple(sorted(found.values(), key=lambda move: (-move.moved, move.name)))


def _entries(files: pa.Table, watch: Watch) -> Any:
    names = ["size", "num_records", "deletion_vector", "partition_values"]
    names += ["cardinality_before", "cardinality_after"]
    shown = files.select([name for name in names if name in files.column_names])
    done = 0
    for batch in shown.to_batches(max_chunksize=_AT_A_TIME):
        watch.step(done, shown.num_rows, "Adding up partitions")
        yield from batch.to_pylist()
        done += batch.num_rows


def _live(entry: Mapping[str, Any]) -> int | None:
    rows, vector = entry["num_records"], entry["deletion_vector"]
    hidden = 0 if vector is None else vector.get("cardinality")
    return None if rows is None or hidden is None else rows - hidden


def _plus(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def render_moves(moves: Sequence[PartitionMove]) -> Markup:
    """Bytes that each partition lost and gained, on one scale, with files and rows beside it;
    nothing for a table without partitions."""
    if len(moves) < 2 and not any(move.name for move in moves):
        return NOTHING
    shown = moves[:SHOWN]
    most = max((max(move.bytes_added, move.bytes_removed) for move in shown), default=0)
    rest = len(moves) - len(shown)
    note = (
        html('<p class="dx-muted">{} with fewer bytes are not drawn.</p>',
             format_many(rest, "more partition"))
        if rest else NOTHING
    )  # fmt: skip
    scale = format_bytes(most)
    return html(
        "<h4>Files by partition</h4>"
        '<p class="dx-muted">Bytes of files: one that was rewritten is removed and added, with all '
        "its rows.</p>"
        '<div class="dx-scroll"><table class="dx-moves"><caption>What moved by partition</caption>'
        '<thead><tr><th scope="col">Partition</th>'
        '<th scope="col" class="dx-diverging"><div><span>{}{} removed</span><span>0</span>'
        "<span>added +{}</span></div></th>"
        '<th scope="col" class="dx-right">Files</th><th scope="col" class="dx-right" title="'
        'Rows of files that were added and removed: one that was only rewritten is in both">'
        "Rows in files</th>"
        '<th scope="col" class="dx-right dx-wide">Size</th></tr></thead>'
        "<tbody>{}</tbody></table></div>{}",
        MINUS,
        scale,
        scale,
        join(_render_move(move, most or 1) for move in shown),
        note,
    )


def _render_move(move: PartitionMove, most: int) -> Markup:
    name = move.name or "not partitioned"
    files = format_change(move.files_added, move.files_removed)
    if move.files_changed:
        files += f", {format_count(move.files_changed)} changed"
    size = f"+{format_bytes(move.bytes_added)} {MINUS}{format_bytes(move.bytes_removed)}"
    return html(
        '<tr><td class="dx-mono" title="{}">{}</td><td class="dx-diverging"><div>'
        '<span class="dx-lost"><i style="--share:{:.1%}"></i></span>'
        '<span class="dx-won"><i style="--share:{:.1%}"></i></span></div></td>'
        '<td class="dx-right">{}</td><td class="dx-right">{}</td>'
        '<td class="dx-right dx-wide">{}</td></tr>',
        cut(name, 1000),
        cut(name, 60),
        move.bytes_removed / most,
        move.bytes_added / most,
        files,
        format_change(move.rows_added, move.rows_removed),
        size,
    )
