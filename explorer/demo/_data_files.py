"""The Parquet and deletion vector files of the demo table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from explorer.demo._orders import PARTITION_COLUMN
from explorer.demo._shop_table import LiveFile, ShopTable, Work
from explorer.protocol.arrow_types import file_schema
from explorer.protocol.deletion_vectors import (
    DeletionVectorDescriptor,
    build_inline_descriptor,
    parse_relative_place,
    render_relative_place,
    render_vector,
    render_vector_file,
)
from explorer.protocol.file_actions import AddCDCFile, AddFile
from explorer.protocol.partition_values import render_partition_folder, render_partition_value
from explorer.protocol.paths import encode_path
from explorer.protocol.statistics import build_statistics, widen_statistics
from explorer.storage.parquet.writer import ParquetOutput, WriterSettings

CHANGE_TYPE = "_change_type"


def write_rows(
    shop: ShopTable, work: Work, rows: pa.Table, rows_per_file: int, *, data_change: bool = True
) -> list[LiveFile]:
    """Write `rows` (physical names) to new files, each of one partition."""
    written = []
    for country, part in _partitions(rows):
        for task, start in enumerate(range(0, part.num_rows, rows_per_file)):
            chunk = part.slice(start, rows_per_file).combine_chunks()
            path, size, modified = _write_parquet(shop, work, chunk, country, task)
            add = AddFile(
                path=encode_path(path),
                partition_values={PARTITION_COLUMN: render_partition_value(country)},
                size=size,
                modification_time=modified,
                data_change=data_change,
                stats=build_statistics(chunk.drop_columns([PARTITION_COLUMN])),
            )
            written.append(LiveFile(add=add, rows=chunk))
    return written


def write_changes(shop: ShopTable, work: Work, rows: pa.Table) -> list[AddCDCFile]:
    """Write rows that carry `_change_type` to change data files, each of one partition."""
    written = []
    for country, part in _partitions(rows):
        path, size, _ = _write_parquet(shop, work, part.combine_chunks(), country, 0)
        values = {PARTITION_COLUMN: render_partition_value(country)}
        written.append(AddCDCFile(path=encode_path(path), partition_values=values, size=size))
    return written


def hide_rows(shop: ShopTable, work: Work, matched: Mapping[str, Sequence[int]]) -> list[LiveFile]:
    """Hide further rows of files, all by vectors in one deletion vector file.

    `matched` has the positions by path. A file without a row left is not among
    the answer: it needs no vector but a tombstone.
    """
    wanted = _hidden_after(shop, matched)
    unique = shop.new_uuid()
    place = render_relative_place(unique)
    contents = [render_vector(sorted(hidden)) for hidden in wanted.values()]
    data, offsets = render_vector_file(contents)
    if contents:
        shop.write(parse_relative_place(place), data, _shortly_before(shop, work))
    answer = []
    for (path, hidden), content, offset in zip(wanted.items(), contents, offsets, strict=True):
        vector = DeletionVectorDescriptor(
            storage_type="u",
            path_or_inline_dv=place,
            offset=offset,
            size_in_bytes=len(content),
            cardinality=len(hidden),
        )
        answer.append(_with_vector(shop.live[path], hidden, vector))
    return answer


def hide_rows_inline(shop: ShopTable, matched: Mapping[str, Sequence[int]]) -> list[LiveFile]:
    """As `hide_rows`, with the vectors in the log itself."""
    return [
        _with_vector(shop.live[path], hidden, build_inline_descriptor(sorted(hidden)))
        for path, hidden in _hidden_after(shop, matched).items()
    ]


def _hidden_after(
    shop: ShopTable, matched: Mapping[str, Sequence[int]]
) -> dict[str, frozenset[int]]:
    answer = {}
    for path, positions in matched.items():
        file = shop.live[path]
        hidden = file.hidden.union(positions)
        if len(hidden) < file.rows.num_rows:
            answer[path] = hidden
    return answer


def _with_vector(
    file: LiveFile, hidden: frozenset[int], vector: DeletionVectorDescriptor
) -> LiveFile:
    stats = None if file.add.stats is None else widen_statistics(file.add.stats)
    add = replace(file.add, deletion_vector=vector, stats=stats, data_change=True)
    return LiveFile(add=add, rows=file.rows, hidden=hidden)


def _partitions(rows: pa.Table) -> Iterator[tuple[str | None, pa.Table]]:
    countries = rows.column(PARTITION_COLUMN)
    for country in sorted(set(countries.to_pylist()), key=lambda name: name or ""):
        mask = pc.is_null(countries) if country is None else pc.equal(countries, country)
        yield country, rows.filter(mask)


def _write_parquet(
    shop: ShopTable, work: Work, rows: pa.Table, country: str | None, task: int
) -> tuple[str, int, int]:
    """Write one file; its path in the store, its size, and its modification time."""
    engine = work.author.engine
    name = engine.name_file(task, shop.new_uuid(), engine.codec)
    folder = render_partition_folder(PARTITION_COLUMN, render_partition_value(country))
    path = f"{folder}/{name}"
    if CHANGE_TYPE in rows.column_names:
        path = f"_change_data/{folder}/cdc-{name.removeprefix('part-')}"
    sink = pa.BufferOutputStream()
    stored = _as_stored(shop, rows)
    with ParquetOutput(sink, stored.schema, WriterSettings(codec=engine.codec)) as file:
        file.write(stored)
    data = sink.getvalue().to_pybytes()
    modified = _shortly_before(shop, work)
    shop.write(path, data, modified)
    return path, len(data), modified


def _as_stored(shop: ShopTable, rows: pa.Table) -> pa.Table:
    """The rows as files have them: no partition column, field ids where columns are mapped."""
    schema = file_schema(shop.schema, shop.mapping_mode)
    fields = [field for field in schema if field.name != PARTITION_COLUMN]
    if CHANGE_TYPE in rows.column_names:
        fields.append(pa.field(CHANGE_TYPE, pa.string()))
    return rows.select([field.name for field in fields]).cast(pa.schema(fields))


def _shortly_before(shop: ShopTable, work: Work) -> int:
    return work.at - shop.new_milliseconds(150, 2400)
