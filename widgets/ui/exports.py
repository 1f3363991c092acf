"""Tables as files to take away: CSV that no spreadsheet runs, and Parquet.

Both are written part by part into a file without a name, so that a table of a million
rows costs a part of it in memory.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from itertools import chain
from typing import Any, BinaryIO, Literal

import pyarrow as pa

from explorer.progress import Watch
from explorer.storage.parquet.writer import ParquetOutput, WriterSettings
from widgets.markup import html
from widgets.text import csv_cell
from widgets.ui.records import read_records

Kind = Literal["csv", "parquet"]

PART_ROWS = 8192
"""Rows that are Python values at once."""

EXPORT_BUTTONS = html(
    '<span class="dx-exports" role="group" aria-label="Save this table">'
    '<button type="button" data-do="export" data-value="csv" '
    'title="Save as CSV; cells that a spreadsheet would run are made inert">CSV</button>'
    '<button type="button" data-do="export" data-value="parquet" '
    'title="Save as Parquet, with its types">Parquet</button></span>'
)
"""The buttons of a table's head; `widgets.ui.exporting.Exports` answers them."""


def write_export(frames: pa.Table | Iterable[pa.Table], kind: Kind, watch: Watch) -> BinaryIO:
    """The frames, which have one schema, as one file that stands at its beginning.

    Raises `CancelledError` between two parts.
    """
    parts = _parts([frames] if isinstance(frames, pa.Table) else frames, watch)
    target: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 - who sends it closes it
    try:
        (_write_csv if kind == "csv" else _write_parquet)(parts, target)
    except BaseException:
        target.close()
        raise
    target.seek(0)
    return target


def build_frame(
    names: Sequence[str],
    rows: Iterable[Sequence[Any]],
    types: Sequence[pa.DataType] | None = None,
) -> pa.Table:
    """Rows of plain values as a frame of these types; without them a column has the type of
    its values, and text where those are mixed."""
    listed = list(rows)
    wanted = types or [None] * len(names)
    columns = [_column([row[at] for row in listed], kind) for at, kind in enumerate(wanted)]
    return pa.table(columns, names=list(names))


def convert(
    frame: pa.Table, types: Mapping[str, pa.DataType], build_row: Callable[[Any], Sequence[Any]]
) -> Iterator[pa.Table]:
    """The rows of `frame` as `build_row` tells them, in the columns of `types`, in parts."""
    for start in range(0, max(frame.num_rows, 1), PART_ROWS):
        rows = [build_row(record) for record in read_records(frame.slice(start, PART_ROWS))]
        yield build_frame(list(types), rows, list(types.values()))


def _column(values: list[Any], kind: pa.DataType | None) -> pa.Array:
    try:
        return pa.array(values, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError):
        return pa.array([None if value is None else _text(value) for value in values], pa.string())


def _text(value: Any) -> str:
    # JSON can carry lone surrogates, which UTF-8 cannot
    return str(plain_cell(value)).encode("utf-8", "replace").decode("utf-8")


def _parts(frames: Iterable[pa.Table], watch: Watch) -> Iterator[pa.Table]:
    done = 0
    for frame in frames:
        # a frame without rows still says which columns there are
        for start in range(0, max(frame.num_rows, 1), PART_ROWS):
            watch.step(done, None, "Writing the file")
            part = frame.slice(start, PART_ROWS)
            yield part
            done += part.num_rows


def _write_csv(parts: Iterator[pa.Table], target: BinaryIO) -> None:
    names: list[str] | None = None
    for part in parts:
        if names is None:
            names = list(part.column_names)
            target.write(_line(names))
        target.writelines(
            _line([plain_cell(row[name]) for name in names]) for row in read_records(part)
        )


def _line(cells: Sequence[object]) -> bytes:
    text = ",".join(csv_cell(cell) for cell in cells) + "\r\n"
    return text.encode("utf-8", "replace")


def _write_parquet(parts: Iterator[pa.Table], target: BinaryIO) -> None:
    first = next(parts, None)
    if first is None:
        first = pa.table({})
    with ParquetOutput(target, first.schema, WriterSettings(keep_arrow_schema=True)) as file:
        for part in chain([first], parts):
            file.write(part)


def plain_cell(value: Any) -> object:
    """A value as CSV has it: times by ISO 8601, what is nested as JSON, bytes as hex."""
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=plain_cell)
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if value is None or isinstance(value, int | float | str) else str(value)
