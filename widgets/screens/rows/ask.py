"""Rows of a version for a look, and when rows were written, changed or deleted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

import explorer
import explorer.inspect as look
from explorer.errors import Problem
from explorer.progress import Watch
from explorer.rows.row_values import row_objects
from widgets.session.tables import TableService

PREVIEW_ROWS = 500
"""Rows of a look: twenty pages, which nobody turns; the export and `preview` give more."""

CHANGES_SHOWN = 1_000
"""Changes that are told row by row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows as plain values; `is_cut` says that there are more, `problems` what is wrong with
    the version that they are of."""

    names: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    is_cut: bool
    problems: tuple[Problem, ...] = ()


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
    return Rows(names=tuple(frame.column_names), rows=tuple(row_objects(frame)), is_cut=is_cut)
