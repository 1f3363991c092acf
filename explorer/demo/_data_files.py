"""The Parquet and deletion vector files of the demo table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from explorer.demo._orders import PARTITION_COLUMN
from explorer.demo._shop_table import LiveFile, ShopTable, Work
from explorer.protocol.file_actions import AddCDCFile, AddFile
from explorer.protocol.paths import encode_path
from explorer.protocol.statistics import widen_statistics
from explorer.protocol.values.partition_values import (
    render_partition_folder,
    render_partition_value,
)
from explorer.protocol.vectors.deletion_vectors import (
    DeletionVectorDescriptor,
    build_inline_descriptor,
    parse_relative_place,
    render_relative_place,
    render_vector,
    render_vector_file,
)
from explorer.storage.ports import WriteStore
from explorer.writing.files.file_form import FileForm, file_form
from explorer.writing.files.new_file import NewFile, WrittenFile

CHANGE_TYPE = "_change_type"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Rows of one partition that go into one file, by its path in the store."""

    country: str | None
    rows: pa.Table
    path: str
    modified: int


def write_rows(
    shop: ShopTable, work: Work, rows: pa.Table, rows_per_file: int, *, data_change: bool = True
) -> list[LiveFile]:
    """Write `rows` (physical names) to new files, each of one partition."""
    parts = [
        _part(shop, work, part.slice(start, rows_per_file).combine_chunks(), country, task)
        for country, part in _partitions(rows)
        for task, start in enumerate(range(0, part.num_rows, rows_per_file))
    ]
    answer = []
    for part, file in zip(parts, _write(shop, work, parts), strict=True):
        add = AddFile(
            path=encode_path(file.path),
            partition_values={PARTITION_COLUMN: render_partition_value(part.country)},
            size=file.size,
            modification_time=part.modified,
            data_change=data_change,
            stats=file.stats,
        )
        answer.append(LiveFile(add=add, rows=part.rows))
    return answer


def write_changes(shop: ShopTable, work: Work, rows: pa.Table) -> list[AddCDCFile]:
    """Write rows that carry `_change_type` to change data files, each of one partition."""
    parts = [
        _part(shop, work, part.combine_chunks(), country, 0) for country, part in _partitions(rows)
    ]
    answer = []
    for part, file in zip(parts, _write(shop, work, parts), strict=True):
        values = {PARTITION_COLUMN: render_partition_value(part.country)}
        answer.append(
            AddCDCFile(path=encode_path(file.path), partition_values=values, size=file.size)
        )
    return answer


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


def _part(shop: ShopTable, work: Work, rows: pa.Table, country: str | None, task: int) -> _Part:
    """Where rows go by the habits of the engine at work, and when it writes them."""
    engine = work.author.engine
    name = engine.name_file(task, shop.new_uuid(), engine.codec)
    folder = render_partition_folder(PARTITION_COLUMN, render_partition_value(country))
    path = f"{folder}/{name}"
    if CHANGE_TYPE in rows.column_names:
        path = f"_change_data/{folder}/cdc-{name.removeprefix('part-')}"
    return _Part(country=country, rows=rows, path=path, modified=_shortly_before(shop, work))


def _write(shop: ShopTable, work: Work, parts: Sequence[_Part]) -> list[WrittenFile]:
    """Write files side by side, and what became of each."""
    # engines of other people: their codec, and pages as they write them
    form = replace(
        file_form(shop.protocol, shop.metadata, new_rows=True),
        codec=work.author.engine.codec,
        page_version="1.0",
        decimals_as_integers=False,
        page_checksums=False,
    )
    return shop.write_all(
        {part.path: part.modified for part in parts},
        [partial(_write_file, shop.store, form, part) for part in parts],
    )


def _write_file(store: WriteStore, form: FileForm, part: _Part) -> WrittenFile:
    if CHANGE_TYPE in part.rows.column_names:
        form = replace(form, schema=form.schema.append(pa.field(CHANGE_TYPE, pa.string())))
    with NewFile(store, part.path, form) as file:
        file.add(part.rows.select(form.schema.names).cast(form.schema))
    return file.written()


def _shortly_before(shop: ShopTable, work: Work) -> int:
    return work.at - shop.new_milliseconds(150, 2400)
