"""The change data feed of a range of versions: counts, and rows for a look."""

from __future__ import annotations

from dataclasses import replace

import explorer
import explorer.inspect as look
from explorer.errors import Problem
from explorer.progress import Watch
from widgets.screens.rows.ask import PREVIEW_ROWS, Rows, plain_rows
from widgets.session.tables import TableService

NEW_VERSIONS = 10
"""Versions that are counted where the address names no range: that takes a moment."""


def count_changes(service: TableService, first: int, last: int, watch: Watch) -> look.ChangeTotals:
    """Rows by version and type of change. Raises as `explorer.read_changes`."""
    return look.change_totals(
        service.table, first, last, progress=watch.progress, cancel=watch.cancel
    )


def read_changed_rows(service: TableService, first: int, last: int, watch: Watch) -> Rows:
    """The first changed rows of the range, what happened to them first."""
    problems: list[Problem] = []
    found = explorer.read_changes(
        service.table,
        first,
        last,
        PREVIEW_ROWS + 1,
        tell=problems.append,
        progress=watch.progress,
        cancel=watch.cancel,
    )
    names = found.column_names
    shown = found.select([*names[-3:], *names[:-3]]).slice(0, PREVIEW_ROWS)
    rows = plain_rows(shown, is_cut=found.num_rows > PREVIEW_ROWS)
    return replace(rows, problems=tuple(problems))
