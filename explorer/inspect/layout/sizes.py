"""How large the files of a version are, and which partition is worth an OPTIMIZE first
(spec: Add File and Remove File, Partition Value Serialization)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import InvalidArgumentError
from explorer.inspect.layout._layout_files import (
    LayoutFiles,
    partition_numbers,
    read_sizes_of_files,
)
from explorer.log.actions.columns import STRING_MAP, int64_column, string_map_column
from explorer.log.plain_arrays import (
    ZERO,
    Numbers,
    build_array,
    read_flags,
    read_numbers,
    take_rows,
)
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.table_properties.byte_sizes import render_byte_size
from explorer.scan.live_file_reads import read_live_files
from explorer.table.counts import count
from explorer.table.frames import believed_sizes
from explorer.table.snapshot import Snapshot
from explorer.table.target_size import target_file_size

SIZES: Final = pa.schema(
    [
        ("from_bytes", pa.int64()),
        ("below_bytes", pa.int64()),
        ("num_files", pa.int64()),
        ("bytes", pa.int64()),
    ]
)
PARTITIONS: Final = pa.schema(
    [
        ("partition", STRING_MAP),
        ("num_files", pa.int64()),
        ("bytes", pa.int64()),
        ("num_rows", pa.int64()),
        ("small_files", pa.int64()),
        ("small_bytes", pa.int64()),
        ("files_after", pa.int64()),
        ("files_saved", pa.int64()),
        ("saved_per_gib", pa.float64()),
    ]
)
_GIB: Final = 2**30
MANY_PARTITIONS: Final = 50
"""Partitions below which thin ones cost nobody time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Sizes of the live files of a version.

    - `sizes`, a row per class of sizes that occurs, each twice as wide as the one before:
      from_bytes, below_bytes, num_files, bytes
    - `partitions`, a row each, those first that gain most per byte written again:
      `partition` (by logical names; empty where the table has none), num_files, bytes, num_rows
      (live ones by statistics; null where these do not say);
      small_files, those below the target, and small_bytes; files_after: as many as they
      would fill; files_saved; saved_per_gib: files saved per GiB written again
    - `partition_columns`, their logical names
    - `target` in bytes and `target_source`; `median` in bytes, None without any file
    """

    version: int
    partition_columns: tuple[str, ...]
    num_files: int
    size_in_bytes: int
    target: int
    target_source: str
    median: int | None
    sizes: pa.Table
    partitions: pa.Table

    @property
    def sentence(self) -> str:
        """Whether small files are a problem, and which partition comes first."""
        return _sentence(self)

    @property
    def has_too_many_partitions(self) -> bool:
        """Whether most of at least 50 partitions hold less than one file of the target size."""
        return _are_too_many(self.partitions.num_rows, self._num_thin)

    @property
    def partition_verdict(self) -> str:
        """Whether there are too many partitions; empty for a table without any."""
        return _partition_verdict(self)

    @property
    def _num_thin(self) -> int:
        sizes = read_numbers(self.partitions.column("bytes"))
        return int((sizes < self.target).sum())


def file_layout(
    snapshot: Snapshot,
    target: int | None = None,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> Layout:
    """The sizes of a version against `target` bytes, by default the table's own."""
    check_target(target)
    watch = Watch(progress=progress, cancel=cancel)
    return layout_of(snapshot, read_sizes_of_files(snapshot, watch), target)


def check_target(target: int | None) -> None:
    """Raise `InvalidArgumentError` for a size that no file has."""
    if target is not None and target <= 0:
        raise InvalidArgumentError(
            f"{target} is not a valid file size.",
            reason="Files have at least one byte.",
            remedy="Give a number of bytes above zero.",
        )


def layout_of(snapshot: Snapshot, files: LayoutFiles, target: int | None = None) -> Layout:
    """What `file_layout` says of files whose sizes and rows were read."""
    own, source = target_file_size(snapshot.metadata.configuration)
    wanted = own if target is None else target
    sizes = believed_sizes(files.table)
    return Layout(
        version=snapshot.version,
        partition_columns=tuple(snapshot.metadata.partition_columns),
        num_files=len(sizes),
        size_in_bytes=int(sizes.sum()),
        target=wanted,
        target_source=source if target is None else "the caller",
        median=int(np.median(sizes)) if len(sizes) else None,
        sizes=histogram(sizes),
        partitions=_partitions(files, sizes, wanted),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallFiles:
    """What a compaction to `target` bytes would do: of `num_files` live ones it rewrites
    `small_files` of together `small_bytes`, in the partitions where that leaves `files_saved`
    fewer. Of `num_partitions` (1 where the table has none), `thin_partitions` hold less than one
    file of the target; the files have `size_in_bytes`."""

    num_files: int
    size_in_bytes: int
    num_partitions: int
    thin_partitions: int
    target: int
    small_files: int
    small_bytes: int
    files_saved: int

    @property
    def has_too_many_partitions(self) -> bool:
        """As `Layout` has it."""
        return _are_too_many(self.num_partitions, self.thin_partitions)


def _are_too_many(partitions: int, thin: int) -> bool:
    return partitions >= MANY_PARTITIONS and 2 * thin > partitions


def small_files(
    snapshot: Snapshot,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> SmallFiles:
    """The sums of `file_layout`; statistics, which take longer than the rest, are not read."""
    target, _ = target_file_size(snapshot.metadata.configuration)
    columns = list(snapshot.metadata.partition_columns)
    watch = Watch(progress=progress, cancel=cancel)
    named = ["size", *(["partition_values"] if columns else [])]
    files = read_live_files(snapshot, named, watch, "Reading sizes")
    sizes = believed_sizes(files)
    numbers, firsts = partition_numbers(files, columns)
    num_small, small_bytes, after = compact(sizes, numbers, len(firsts), target)
    worth = num_small > after
    return SmallFiles(
        num_files=len(sizes),
        size_in_bytes=int(sizes.sum()),
        num_partitions=len(firsts),
        thin_partitions=int((_sums(numbers, sizes, len(firsts)) < target).sum()),
        target=target,
        small_files=int(num_small[worth].sum()),
        small_bytes=int(small_bytes[worth].sum()),
        files_saved=int((num_small - after).sum()),
    )


def compacted_vectors(
    snapshot: Snapshot,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> tuple[int, int]:
    """How many of the files that a compaction rewrites, as `small_files` counts them, have a
    deletion vector, and how many live files have one: the former lose their hidden rows."""
    target, _ = target_file_size(snapshot.metadata.configuration)
    columns = list(snapshot.metadata.partition_columns)
    watch = Watch(progress=progress, cancel=cancel)
    named = ["size", "deletion_vector", *(["partition_values"] if columns else [])]
    files = read_live_files(snapshot, named, watch, "Reading sizes")
    sizes = believed_sizes(files)
    numbers, firsts = partition_numbers(files, columns)
    num_small, _, after = compact(sizes, numbers, len(firsts), target)
    hides = read_flags(files.column("deletion_vector").is_valid())
    goes = (sizes < target) & (num_small > after)[numbers]
    return int((hides & goes).sum()), int(hides.sum())


def _partitions(files: LayoutFiles, sizes: Numbers, target: int) -> pa.Table:
    numbers, firsts = files.numbers, files.firsts
    count = len(firsts)
    num_small, small_bytes, after = compact(sizes, numbers, count, target)
    saved = num_small - after
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(saved > 0, saved * _GIB / np.maximum(small_bytes, 1), 0.0)
    order = np.lexsort((np.arange(count), -saved, -rate))
    columns = [
        np.bincount(numbers, minlength=count),
        _sums(numbers, sizes, count),
        _rows(files.table, numbers, count),
        num_small,
        small_bytes,
        after,
        saved,
    ]
    return pa.Table.from_arrays(
        [
            _values(files.table, firsts[order]),
            *(_ordered(column, order) for column in columns),
            build_array(rate[order]),
        ],
        schema=PARTITIONS,
    )


def compact(
    sizes: Numbers, numbers: Numbers, count: int, target: int
) -> tuple[Numbers, Numbers, Numbers]:
    """Of each partition the number of its small files, their bytes, and as how many they would
    be left."""
    small = sizes < target
    num_small = np.bincount(numbers[small], minlength=count)
    small_bytes = _sums(numbers[small], sizes[small], count)
    after = np.minimum(-(-small_bytes // target), num_small)
    return num_small, small_bytes, np.where((num_small > 0) & (after == 0), 1, after)


def _rows(files: pa.Table, numbers: Numbers, count: int) -> Any:
    """Live rows of each partition; masked where a file of it does not say."""
    counts = files.column("num_rows")
    known = read_flags(counts.is_valid())
    sums = _sums(numbers, read_numbers(pc.fill_null(counts, ZERO)), count)
    unknown = np.bincount(numbers[~known], minlength=count) > 0
    return np.ma.masked_array(sums, mask=unknown)


def _ordered(column: Any, order: Numbers) -> pa.Array:
    found = column[order]
    mask = np.ma.getmaskarray(found) if isinstance(found, np.ma.MaskedArray) else None
    return build_array(np.ma.getdata(found).astype(np.int64), mask)


def _values(files: pa.Table, at: Numbers) -> pa.Array:
    if "partition_values" not in files.column_names:
        return string_map_column([{} for _ in at])
    return take_rows(files.column("partition_values"), at)


def _sums(numbers: Numbers, sizes: Numbers, count: int) -> Numbers:
    found = np.zeros(count, np.int64)
    np.add.at(found, numbers, sizes)
    return found


def histogram(sizes: Numbers) -> pa.Table:
    """By powers of two; the first class holds empty files too."""
    classes = np.zeros(len(sizes), np.int64)
    classes[sizes > 1] = np.floor(np.log2(sizes[sizes > 1])).astype(np.int64)
    found = np.unique(classes)
    masks = [classes == number for number in found]
    return pa.Table.from_arrays(
        [
            int64_column([2 ** int(number) if number else 0 for number in found]),
            int64_column([2 ** (int(number) + 1) for number in found]),
            int64_column([int(mask.sum()) for mask in masks]),
            int64_column([int(sizes[mask].sum()) for mask in masks]),
        ],
        schema=SIZES,
    )


def _sentence(layout: Layout) -> str:
    if not layout.num_files:
        return f"Version {layout.version} has no files."
    target = f"the target of {render_byte_size(layout.target)} ({layout.target_source})"
    saved = pc.sum(layout.partitions.column("files_saved")).as_py() or 0
    small = pc.sum(layout.partitions.column("small_files")).as_py() or 0
    files = count(layout.num_files, "file")
    if not saved:
        if small:
            return (
                f"{small:,} of {files} {'is' if small == 1 else 'are'} below {target}, but no two "
                "are in the same partition: there is nothing to compact."
            )
        if layout.num_files == 1:
            return f"The only file is not below {target}."
        return f"None of {files} is below {target}."
    first: dict[str, Any] = layout.partitions.slice(0, 1).to_pylist()[0]
    rewritten = render_byte_size(first["small_bytes"])
    start = "R" if not first["partition"] else f"Start with {partition_in_words(first)}: r"
    return (
        f"{small:,} of {files} {'is' if small == 1 else 'are'} below {target}; OPTIMIZE "
        f"saves {count(saved, 'file')}. {start}ewriting {rewritten} turns "
        f"{first['small_files']:,} small files into {first['files_after']:,}."
    )


def _partition_verdict(layout: Layout) -> str:
    rows = layout.partitions
    if not rows.num_rows or not rows.column("partition")[0].as_py():
        return ""
    number = rows.num_rows
    median = render_byte_size(int(np.median(read_numbers(rows.column("bytes")))))
    target = render_byte_size(layout.target)
    held = f"the median one holds {median}"
    if layout.has_too_many_partitions:
        return (
            f"Too many partitions: {layout._num_thin:,} of {number:,} hold less than one file of "
            f"{target}, {held}. Partition by fewer values, or cluster instead."
        )
    if number == 1:
        return f"1 partition, which holds {median}."
    fit = "not too many" if 2 * layout._num_thin > number else "large enough"
    return f"{number:,} partitions, {fit}: {held}."


def partition_in_words(row: dict[str, Any]) -> str:
    """`day=2026-11-01, country=DE` of a row of `partitions`."""
    pairs = dict(row["partition"])
    shown = [f"{name[:60]}={'null' if text is None else text[:60]}" for name, text in pairs.items()]
    return ", ".join(shown)
