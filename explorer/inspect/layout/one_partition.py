"""One partition of a version: its sizes and rows, and what a compaction of it alone would do
(spec: Add File and Remove File, Partition Value Serialization)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from explorer.inspect.layout._layout_files import read_files_of_partition
from explorer.inspect.layout.sizes import check_target, compact, histogram
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.table_properties.byte_sizes import render_byte_size
from explorer.scan.predicate.partition_conditions import partition_condition
from explorer.scan.statistics.partitions import check_partition
from explorer.table.counts import count
from explorer.table.frames import believed_sizes, sum_of
from explorer.table.snapshot import Snapshot
from explorer.table.target_size import target_file_size


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLayout:
    """The live files of one partition of a version, against `target` bytes.

    - `partition`: its values by the logical names of the columns, None for null
    - `num_rows`, live ones, and `num_deleted_rows`, soft-deleted ones: None where a file of it
      does not say
    - `smallest`, `median` and `largest` in bytes, None without any file; `sizes` as of `Layout`
    - `small_files`, `small_bytes`, `files_after` and `files_saved` as in `Layout.partitions`
    - `condition`: its rows as SQL; None where its values cannot be written so
    """

    version: int
    partition: Mapping[str, str | None]
    num_files: int
    size_in_bytes: int
    num_rows: int | None
    num_deleted_rows: int | None
    smallest: int | None
    median: int | None
    largest: int | None
    sizes: pa.Table
    target: int
    target_source: str
    small_files: int
    small_bytes: int
    files_after: int
    files_saved: int
    condition: str | None

    @property
    def sentence(self) -> str:
        """What a compaction of this partition alone would do."""
        if not self.num_files:
            return f"Version {self.version} has no files in this partition."
        files = count(self.num_files, "file")
        target = f"the target of {render_byte_size(self.target)}"
        if not self.small_files:
            none = "The only file is not" if self.num_files == 1 else f"None of {files} is"
            return f"{none} below {target}: there is nothing to compact."
        verb = "is" if self.small_files == 1 else "are"
        some = f"{self.small_files:,} of {files} {verb} below {target}"
        if not self.files_saved:
            return f"{some}: there is nothing to compact."
        return (
            f"{some}. Rewriting {render_byte_size(self.small_bytes)} turns "
            f"{self.small_files:,} small files into {self.files_after:,}."
        )


def partition_layout(
    snapshot: Snapshot,
    partition: Mapping[str, str | None],
    target: int | None = None,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> PartitionLayout:
    """The partition of these values, the strings of the log by logical names, None for null,
    against `target` bytes, by default the table's own.

    Raises `InvalidArgumentError` for values of other columns than those of the partitions.
    """
    check_target(target)
    columns = snapshot.metadata.partition_columns
    check_partition(columns, partition)
    values = {name: partition[name] or None for name in columns}
    watch = Watch(progress=progress, cancel=cancel)
    files = read_files_of_partition(snapshot, values, watch)
    sizes = believed_sizes(files)
    own, source = target_file_size(snapshot.metadata.configuration)
    wanted = own if target is None else target
    (small,), (small_bytes,), (after,) = compact(sizes, np.zeros(len(sizes), np.int64), 1, wanted)
    return PartitionLayout(
        version=snapshot.version,
        partition=values,
        num_files=len(sizes),
        size_in_bytes=int(sizes.sum()),
        num_rows=_sum(files.column("num_rows")),
        num_deleted_rows=_sum(files.column("hidden")),
        smallest=int(sizes.min()) if len(sizes) else None,
        median=int(np.median(sizes)) if len(sizes) else None,
        largest=int(sizes.max()) if len(sizes) else None,
        sizes=histogram(sizes),
        target=wanted,
        target_source=source if target is None else "the caller",
        small_files=int(small),
        small_bytes=int(small_bytes),
        files_after=int(after),
        files_saved=int(small - after),
        condition=partition_condition(snapshot.schema, columns, values),
    )


def _sum(counts: pa.ChunkedArray) -> int | None:
    return None if counts.null_count else sum_of(counts)
