"""What `--json` prints: one document, or one per line for lists, and nothing else.

Each document begins with `"format": 1`; times are ISO 8601 in UTC with a `Z`,
maps are objects, what is unknown is null.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import orjson

from explorer.cli.hosting import is_hosted, write_out
from explorer.errors import Problem
from explorer.table.times import iso_time, utc_time

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
"""Raised when the meaning of a field changes; a new field does not raise it."""

_BATCH_ROWS = 10_000


def print_document(document: Mapping[str, Any]) -> None:
    """One JSON document on standard output."""
    _write([{"format": FORMAT, **document}])


def print_rows(table: pa.Table) -> None:
    """One JSON document per row of an Arrow table, in its order."""
    for batch in table.to_batches(max_chunksize=_BATCH_ROWS):
        _write({"format": FORMAT, **row} for row in plain_rows(batch))


def print_problems(problems: Iterable[Problem]) -> None:
    """What is wrong with a table that still answers a list, on standard error,
    one document per line; behind the list where another program asks."""
    write = write_out if is_hosted() else sys.stderr.write
    for problem in problems:
        write(render_json({"problem": problem.as_dict()}) + "\n")


def plain_rows(batch: pa.RecordBatch | pa.Table) -> Iterator[dict[str, Any]]:
    """Rows as plain values: times as aware datetimes, a map as a dict."""
    names = batch.schema.names
    columns = [_plain_column(batch.column(name)) for name in names]
    for values in zip(*columns, strict=True):
        yield dict(zip(names, values, strict=True))


def _plain_column(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    # not at the top: loading pyarrow takes longest, and `--help` does without
    from pyarrow.types import is_map, is_timestamp  # noqa: PLC0415

    if is_timestamp(column.type):
        # by way of numbers: pyarrow would import pandas to make a datetime
        numbers = column.cast("int64").to_pylist()
        return [None if number is None else utc_time(number) for number in numbers]
    values: list[Any] = column.to_pylist()
    if is_map(column.type):
        return [None if pairs is None else dict(pairs) for pairs in values]
    return values


def render_json(document: Mapping[str, Any]) -> str:
    """`document` on one line, whatever strings it holds."""
    try:
        return orjson.dumps(document, default=_render_other, option=_OPTIONS).decode()
    except TypeError:
        # Lone surrogates (a file name that is not UTF-8), nesting beyond what
        # orjson takes and integers beyond 64 bits are rare, and not our error.
        return json.dumps(document, default=_render_other)


_OPTIONS = orjson.OPT_PASSTHROUGH_DATETIME


def _render_other(value: object) -> str:
    return iso_time(value) if isinstance(value, datetime) else str(value)


def _write(documents: Iterable[Mapping[str, Any]]) -> None:
    lines = [render_json(document) for document in documents]
    lines.append("")
    write_out("\n".join(lines))
