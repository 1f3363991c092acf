"""The variants of a column as Python values, for whom JSON says too little."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from explorer.errors import InvalidArgumentError
from explorer.progress import UNWATCHED, Cancel, ProgressCallback, Watch
from explorer.protocol.schema import VARIANT
from explorer.rows.conversion.variant_columns import decode_variant_column
from explorer.rows.data_file.parquet_file import reading
from explorer.rows.read import RowScan, check_limit, plan_rows
from explorer.table.snapshot import Snapshot

_BATCH_ROWS = 4096
"""Rows whose values are held as Python objects at a time."""
_LABEL = "Reading variants"


def read_variants(
    snapshot: Snapshot,
    column: str,
    where: str | None = None,
    limit: int | None = None,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> Iterator[Any]:
    """The values of a variant column, one for each row, whole or shredded; at most `limit` of
    them, in no certain order.

    Objects are dicts and arrays lists; decimals, dates, times, datetimes (aware for
    timestamps, naive for those without a time zone), UUIDs and bytes are Python's own. A row
    without a variant is None, and so is the variant null: `read_rows`, which gives JSON text,
    tells them apart. `where` is a SQL predicate. Some thousand rows are held at a time, and
    files are opened as they are needed.

    Raises `InvalidArgumentError` at once for names, conditions and limits that cannot be
    meant; while it is gone through, `UnsupportedError` for values that Python lacks (a year
    beyond 9999, nanoseconds) and the errors of `read_rows`.
    """
    check_limit(limit)
    types = {item.name: item.data_type for item in snapshot.schema.fields}
    if types.get(column) != VARIANT:
        raise InvalidArgumentError(
            f"There is no variant column called {str(column)[:120]!r}.",
            reason="Only columns of the type variant have such values, and variants inside of "
            "other columns are not columns of their own.",
            remedy="See the schema for the columns that there are; read_rows has all of them, "
            "with variants as JSON text.",
        )
    scan = plan_rows(snapshot, (), where)
    watch = Watch(progress=progress, cancel=cancel)
    return _values(scan, column, limit, watch)


def _values(
    scan: RowScan, column: str, limit: int | None, watch: Watch = UNWATCHED
) -> Iterator[Any]:
    left, total = limit, scan.files.num_rows
    if left == 0:
        return
    for done, rows in enumerate(scan.open_files(limit)):
        watch.step(done, total, _LABEL)
        for stored in rows.stored(column, _BATCH_ROWS):
            if watch.cancel is not None:
                watch.cancel.check()
            found = stored if left is None else stored[:left]
            with reading(rows.opened.file, scan.request.layout.version):
                values = _decode(found)
            yield from values
            if left is not None and (left := left - len(values)) == 0:
                return
    watch.step(total, total, _LABEL)


def _decode(stored: pa.Array) -> list[Any]:
    if pa.types.is_null(stored.type):  # a file that lacks the column
        return [None] * len(stored)
    return decode_variant_column(stored, as_json=False)
