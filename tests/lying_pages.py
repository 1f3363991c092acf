"""Parquet files of which one page header says something else than it should."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pyarrow.parquet as pq

from explorer.storage.parquet._thrift_compact import Struct, parse_struct, render_struct

# PageHeader, and of the header of its kind of page the number of values
SIZE, COMPRESSED_SIZE, DATA_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2 = 2, 3, 5, 7, 8
NUM_VALUES = 1


def change_page(
    place: Path,
    which: Literal["dictionary", "data"],
    path: tuple[int, ...],
    value: int,
    leaf: int = 0,
) -> None:
    """Make the first page of that kind of a leaf of the first row group say `value` in the
    field at `path`; everything else stays right, the footer's positions too."""
    data = place.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    footer, body = parse_struct(data[-8 - length : -8]), data[: -8 - length]
    chunk = pq.ParquetFile(place).metadata.row_group(0).column(leaf)
    start = chunk.dictionary_page_offset if which == "dictionary" else chunk.data_page_offset
    header, end = _header_at(body, start)
    inner = header
    for field in path[:-1]:
        inner = inner[field][1]
    inner[path[-1]] = inner[path[-1]][0], value
    changed = render_struct(header)
    longer = len(changed) - (end - start)
    body = body[:start] + changed + body[end:]
    for at, column in enumerate(_columns(footer)):
        _shift(column, start, longer, owner=at == leaf)
    rendered = render_struct(footer)
    place.write_bytes(body + rendered + len(rendered).to_bytes(4, "little") + b"PAR1")


def _header_at(body: bytes, start: int) -> tuple[Struct, int]:
    for end in range(start + 1, len(body)):
        try:
            return parse_struct(body[start:end]), end
        except ValueError:
            continue
    raise AssertionError("no page begins there")


def _columns(footer: Struct) -> list[Struct]:
    """The metadata of every column of every row group."""
    return [column[3][1] for group in footer[4][1][1] for column in group[1][1][1]]


def _shift(column: Struct, after: int, longer: int, *, owner: bool) -> None:
    for field in (9, 10, 11):
        if field in column and column[field][1] > after:
            column[field] = column[field][0], column[field][1] + longer
    if owner:
        column[7] = column[7][0], column[7][1] + longer
