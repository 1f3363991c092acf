"""Rows of a version for a look, and when rows were written, changed or deleted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

import explorer
import explorer.inspect as look
from explorer.errors import Problem
from explorer.progress import Watch
from explorer.rows.python_values import plain_values
from explorer.rows.row_values import plain_objects
from widgets.session.tables import TableService

PREVIEW_ROWS = 500
"""Rows of a look: twenty pages, which nobody turns; the export and `preview` give more."""

CHANGES_SHOWN = 1_000
"""Changes that are told row by row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows as plain values, and as they were read; `is_cut` says that there are more, `problems`
    what is wrong with the version that they are of, `numbers` which columns hold numbers."""

    names: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    is_cut: bool
    frame: pa.Table
    problems: tuple[Problem, ...] = ()

    @property
    def numbers(self) -> frozenset[str]:
        """The columns of numbers, whose digits stand below each other."""
        types = pa.types
        tests = (types.is_integer, types.is_floating, types.is_decimal)
        return frozenset(
            field.name for field in self.frame.schema if any(test(field.type) for test in tests)
        )

    @property
    def instants(self) -> frozenset[str]:
        """The columns of instants, which each clock tells otherwise; times without a zone are
        none."""
        return frozenset(
            field.name
            for field in self.frame.schema
            if pa.types.is_timestamp(field.type) and field.type.tz is not None
        )


def read_preview(service: TableService, version: int, where: str, watch: Watch) -> Rows:
    """The first rows that meet a condition, all where it is empty; data files are read until
    there are enough. Raises `InvalidArgumentError` for a condition that cannot be understood."""
    snapshot = service.snapshot(version)
    found = explorer.preview(
        snapshot,
        where=where or None,
        limit=PREVIEW_ROWS,
        progress=watch.progress,
        cancel=watch.cancel,
    )
    return replace(plain_rows(found.rows, is_cut=found.is_cut), problems=snapshot.problems)


def search_rows(service: TableService, where: str, watch: Watch) -> look.RowHistory:
    """The versions that changed matching rows; raises as `read_preview`."""
    return look.search_rows(service.table, where, progress=watch.progress, cancel=watch.cancel)


def plain_rows(frame: pa.Table, *, is_cut: bool = False) -> Rows:
    """A frame of rows as values that can be shown."""
    names, rows = tuple(frame.column_names), tuple(plain_objects(frame))
    return Rows(names=names, rows=rows, is_cut=is_cut, frame=frame)


def sort_rows(found: Rows, name: str, *, descending: bool) -> Rows:
    """The same rows in the order of a column; null comes last."""
    values = plain_values(found.frame.column(name))
    known = [at for at, value in enumerate(values) if value is not None]
    order = sorted(known, key=lambda at: _sort_key(values[at]), reverse=descending)
    order += [at for at, value in enumerate(values) if value is None]
    rows = tuple(found.rows[at] for at in order)
    return replace(found, rows=rows, frame=found.frame.take(pa.array(order, pa.int64())))


def _sort_key(value: Any) -> tuple[int, Any]:
    """What one value is ordered by; kinds of values that do not compare stand one after the
    other."""
    if isinstance(value, float) and value != value:  # noqa: PLR0124  # NaN, which is the greatest
        return (1, 0)
    if isinstance(value, bool | int | float | Decimal):
        return (0, value)
    if isinstance(value, str):
        return (2, value)
    return (3, repr(value))


def read_blame(service: TableService, version: int, where: str, watch: Watch) -> look.RowBlame:
    """Which commit last set each value of the row that meets a condition."""
    return look.blame_row(
        service.table, where, version, progress=watch.progress, cancel=watch.cancel
    )
