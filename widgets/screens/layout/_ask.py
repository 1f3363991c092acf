"""How large files are, where the bytes lie, how well rows are clustered, what OPTIMIZE did."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

import explorer.inspect as look
from explorer.log.plain_arrays import in_one_piece
from explorer.progress import Watch
from explorer.scan.statistics.partitions import is_in_partition
from widgets.session.tables import TableService

FREE_COMMITS = 1_000
"""Commits among which each OPTIMIZE is looked for without being asked: that takes a second, and
as long as the timeline from the first of them on."""


def read_layout(service: TableService, version: int, watch: Watch) -> look.Layout:
    """Sizes of the files, by class and by partition."""
    snapshot = service.snapshot(version, watch)
    return look.file_layout(snapshot, progress=watch.progress, cancel=watch.cancel)


def read_partition(
    service: TableService, version: int, values: Mapping[str, str | None], watch: Watch
) -> look.PartitionLayout:
    """The files of one partition, see `explorer.inspect.partition_layout`."""
    snapshot = service.snapshot(version, watch)
    return look.partition_layout(snapshot, values, progress=watch.progress, cancel=watch.cancel)


def find_partition(partitions: pa.Table, values: Mapping[str, str | None]) -> int | None:
    """The position of a partition in `Layout.partitions`; None where it is not there."""
    maps = in_one_piece(partitions.column("partition"))
    places = pc.indices_nonzero(is_in_partition(maps, values))
    return places[0].as_py() if values and len(places) else None


def read_depth(service: TableService, version: int, watch: Watch) -> pa.Table:
    """By column, how many files may hold one value, see `explorer.inspect.clustering_depth`."""
    snapshot = service.snapshot(version, watch)
    return look.clustering_depth(snapshot, progress=watch.progress, cancel=watch.cancel)


def read_effects(service: TableService, watch: Watch) -> pa.Table:
    """Each OPTIMIZE of the log, newest first, see `explorer.inspect.optimize_effects`."""
    return look.optimize_effects(service.table, progress=watch.progress, cancel=watch.cancel)


def largest_partitions(partitions: pa.Table, limit: int) -> pa.Table:
    """The partitions with most bytes, of `Layout.partitions`."""
    return partitions.sort_by([("bytes", "descending")]).slice(0, limit)
