"""What the layout asks of each live file, read once (spec: Add File and Remove File, Per-file
Statistics, Partition Value Serialization)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import ADD_COLUMNS, empty_table, string_scalar
from explorer.log.actions.record_counts import record_counts
from explorer.log.plain_arrays import EMPTY, Numbers, in_one_piece, read_numbers
from explorer.log.state.file_columns import FileColumns
from explorer.log.text_bytes import offsets_of
from explorer.progress import Watch
from explorer.protocol.features.column_mapping import column_mapping_mode, physical_name
from explorer.protocol.schema_walk import render_path
from explorer.scan.live_file_reads import reduce_live_files
from explorer.scan.statistics.column_statistics import (
    StatisticsColumn,
    bound_leaves,
    read_counted_bounds,
)
from explorer.scan.statistics.live_files import READING
from explorer.scan.statistics.partitions import is_in_partition, look_up_values
from explorer.table.row_counts import PARSED_NUM_RECORDS, hidden_counts, live_counts
from explorer.table.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutFiles:
    """Columns of the live files, in the order of the log.

    - `table`: `size`, and what was asked for of `num_rows` (live ones), `partition_values` (by
      logical names; only where the table has partitions), and for each column `min.…` and
      `max.…` where it has an order
    - `numbers`: a number for the partition of each file; `firsts`: for each number the position
      of a file in it
    """

    table: pa.Table
    numbers: Numbers
    firsts: Numbers


_SIZES: Final = ("size", "deletion_vector")
_CODES: Final = "\0partition "
"""What names of columns that are no column of the answer begin with."""


def read_sizes_of_files(snapshot: Snapshot, watch: Watch) -> LayoutFiles:
    """Sizes, rows and partitions."""
    partitions = _partition_columns(snapshot)
    if snapshot.has_record_counts:
        files = snapshot.files([*_SIZES, *partitions, "num_records"])
        table = files.select(["size", *partitions]).append_column("num_rows", live_counts(files))
        return numbered(table, snapshot.metadata.partition_columns)
    label = "Reading sizes and rows"
    columns, leaves = [*_SIZES, "stats", *partitions], [PARSED_NUM_RECORDS]
    names = _physical_names(snapshot)

    def read(files: FileColumns) -> pa.Table:
        return with_codes(_count_rows(files), names)

    pieces = reduce_live_files(snapshot, columns, leaves, read, watch, label)
    table = _joined(snapshot, pieces, ["size", *partitions], ())
    return numbered(table, snapshot.metadata.partition_columns)


def read_bounds_of_files(
    snapshot: Snapshot, watch: Watch, columns: Sequence[StatisticsColumn]
) -> LayoutFiles:
    """Sizes, partitions, and the bounds of some columns."""
    kept = ["size", *_partition_columns(snapshot)]
    ordered, names = _ordered(columns), _physical_names(snapshot)

    def read(files: FileColumns) -> pa.Table:
        _, bounds = read_counted_bounds(files, ordered)
        return with_codes(_with_bounds(files.table, ordered, bounds), names)

    pieces = reduce_live_files(snapshot, kept, bound_leaves(ordered), read, watch, READING)
    table = _joined(snapshot, pieces, kept, ordered)
    return numbered(table, snapshot.metadata.partition_columns)


def read_layout_files(
    snapshot: Snapshot, watch: Watch, columns: Sequence[StatisticsColumn]
) -> LayoutFiles:
    """All of it at once: statistics, which take longest, are parsed once for rows and bounds."""
    partitions = _partition_columns(snapshot)
    if not (ordered := _ordered(columns)):
        return read_sizes_of_files(snapshot, watch)
    kept, names = ["size", *partitions], _physical_names(snapshot)

    def read(files: FileColumns) -> pa.Table:
        records, bounds = read_counted_bounds(files, ordered)
        counts = pa.chunked_array([records])
        if records.null_count:
            # statistics that cannot be read as a whole may say how many rows there are
            parsed = files.leaves.get(PARSED_NUM_RECORDS)
            counts = record_counts(files.column("stats"), parsed)
        rows = live_counts(files.table.append_column("num_records", counts))
        table = files.table.select(kept).append_column("num_rows", rows)
        return with_codes(_with_bounds(table, ordered, bounds), names)

    leaves = bound_leaves(ordered)
    pieces = reduce_live_files(snapshot, [*_SIZES, *partitions], leaves, read, watch, READING)
    table = _joined(snapshot, pieces, kept, ordered)
    return numbered(table, snapshot.metadata.partition_columns)


def read_files_of_partition(
    snapshot: Snapshot, partition: Mapping[str, str | None], watch: Watch
) -> pa.Table:
    """The files of one partition, its values by logical names: `size`, `num_rows` (live ones) and
    `hidden`, the rows that their deletion vectors hide; both null where the log does not say, or
    says what cannot be. No other file is held."""
    columns = snapshot.metadata.partition_columns
    physical = dict(zip(columns, _physical_names(snapshot), strict=True))
    wanted = {physical[name]: value for name, value in partition.items()}

    def read(files: FileColumns) -> pa.Table:
        maps = in_one_piece(files.column("partition_values"))
        kept = files.only(pa.chunked_array([is_in_partition(maps, wanted)]))
        # statistics are parsed of these files alone
        records = record_counts(kept.column("stats"), kept.leaves.get(PARSED_NUM_RECORDS))
        table = kept.table.select(list(_SIZES)).append_column("num_records", records)
        return pa.table(
            {
                "size": table.column("size"),
                "num_rows": live_counts(table),
                "hidden": hidden_counts(table),
            }
        )

    named = [*_SIZES, "stats", "partition_values"]
    label = "Reading the files of the partition"
    pieces = reduce_live_files(snapshot, named, [PARSED_NUM_RECORDS], read, watch, label)
    if pieces:
        return pa.concat_tables(pieces)
    return empty_table(pa.schema([(name, pa.int64()) for name in ("size", "num_rows", "hidden")]))


def _partition_columns(snapshot: Snapshot) -> list[str]:
    return ["partition_values"] if snapshot.metadata.partition_columns else []


def _ordered(columns: Sequence[StatisticsColumn]) -> list[StatisticsColumn]:
    return [column for column in columns if column.bound_type is not None]


def _count_rows(files: FileColumns) -> pa.Table:
    table = files.table
    records = record_counts(table.column("stats"), files.leaves.get(PARSED_NUM_RECORDS))
    rows = live_counts(table.append_column("num_records", records))
    return table.drop_columns(["stats", "deletion_vector"]).append_column("num_rows", rows)


def _with_bounds(
    table: pa.Table,
    columns: Sequence[StatisticsColumn],
    bounds: Sequence[tuple[pa.Array, pa.Array]],
) -> pa.Table:
    for column, sides in zip(columns, bounds, strict=True):
        for side, values in zip(("min", "max"), sides, strict=True):
            table = table.append_column(f"{side}.{render_path(column.path)}", values)
    return table


def _joined(
    snapshot: Snapshot,
    pieces: Sequence[pa.Table],
    kept: Sequence[str],
    columns: Sequence[StatisticsColumn],
) -> pa.Table:
    if pieces:
        return snapshot.with_logical_names(pa.concat_tables(pieces))
    fields = [(name, ADD_COLUMNS[name][2]) for name in kept] + [("num_rows", pa.int64())]
    for column in columns:
        name = render_path(column.path)
        fields += [(f"min.{name}", column.bound_type), (f"max.{name}", column.bound_type)]
    return empty_table(pa.schema(fields))


def _physical_names(snapshot: Snapshot) -> list[str]:
    """The partition columns as the log calls them."""
    mode = column_mapping_mode(snapshot.protocol, snapshot.metadata.configuration)
    columns = snapshot.metadata.partition_columns
    if mode == "none" or not columns:
        return list(columns)
    physical = {item.name: physical_name(item, mode) for item in snapshot.schema.fields}
    return [physical.get(name, name) for name in columns]


def with_codes(files: pa.Table, names: Sequence[str]) -> pa.Table:
    """Some files, and a column for each partition column in which every value stands once: in the
    threads that read, where a million files one after the other take half a second."""
    for at, name in enumerate(names):
        values = look_up_values(in_one_piece(files.column("partition_values")), name)
        encoded = pc.fill_null(values, EMPTY).dictionary_encode()
        files = files.append_column(f"{_CODES}{at}", encoded)
    return files


def numbered(table: pa.Table, columns: Sequence[str]) -> LayoutFiles:
    """Files with the numbers of their partitions, by what `with_codes` has told of them, if it
    has; `columns` are logical names."""
    coded = [name for name in table.column_names if name.startswith(_CODES)]
    if not coded:
        numbers, firsts = partition_numbers(table, list(columns))
    else:
        numbers, firsts = _numbers_of(table.num_rows, map(_indices, table.select(coded).columns))
        table = table.drop_columns(coded)
    return LayoutFiles(table=table, numbers=numbers, firsts=firsts)


def _indices(encoded: pa.ChunkedArray) -> Numbers:
    whole = encoded.unify_dictionaries()
    return np.concatenate([read_numbers(chunk.indices) for chunk in whole.chunks])


def partition_numbers(files: pa.Table, columns: list[str]) -> tuple[Numbers, Numbers]:
    """A number for the partition of each file, and for each number the position of a file in
    it. `columns` are logical names; null and empty text are the same value."""
    return _numbers_of(files.num_rows, _codes(files, columns))


def _numbers_of(num_files: int, columns: Iterable[Numbers]) -> tuple[Numbers, Numbers]:
    numbers, firsts = _dense(np.zeros(num_files, np.int64))
    for codes in columns:
        numbers, firsts = _dense(numbers * (int(codes.max(initial=0)) + 1) + codes)
    return numbers, firsts


def _dense(values: Numbers) -> tuple[Numbers, Numbers]:
    """The same numbers, none of them negative, without gaps, in their order; and the position
    of the first of each."""
    most = int(values.max(initial=0))
    if most > 4 * len(values):
        _, firsts, numbers = np.unique(values, return_index=True, return_inverse=True)
        return numbers.astype(np.int64), firsts.astype(np.int64)
    # few enough to be looked up, which takes a fraction of the time of sorting them
    seen = np.zeros(most + 1, np.bool_)
    seen[values] = True
    numbers = (np.cumsum(seen) - 1)[values]
    firsts = np.empty(int(seen.sum()), np.int64)
    firsts[numbers[::-1]] = np.arange(len(values) - 1, -1, -1)  # the last one assigned stays
    return numbers, firsts


def _codes(files: pa.Table, columns: list[str]) -> Iterator[Numbers]:
    """For each column a number for the value of each file."""
    if not columns:
        return
    maps = in_one_piece(files.column("partition_values"))
    count, width = len(maps), len(columns)
    lengths = np.diff(offsets_of(maps))
    keys, items = maps.keys, maps.items
    if count and len(keys) == count * width and (lengths == width).all():
        # nearly always: the same keys in the same order, with nothing to be looked up
        names = read_numbers(pc.dictionary_encode(keys).indices).reshape(count, width)
        if (names == names[0]).all():
            encoded = pc.dictionary_encode(pc.fill_null(items, EMPTY))
            values = read_numbers(encoded.indices).reshape(count, width)
            yield from values.T
            return
    for name in columns:
        found = pc.coalesce(pc.map_lookup(maps, string_scalar(name), "first"), EMPTY)
        yield read_numbers(pc.dictionary_encode(found).indices)
