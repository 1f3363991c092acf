"""The list of tables: one row each, the health of its log at a glance.

A glance is what `widgets.session.glances` knows of one table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from widgets.text import (
    UNKNOWN,
    cut,
    cut_middle,
    format_age,
    format_bytes,
    format_count,
    format_time,
)
from widgets.ui.table import Cell, Column, Row

PENDING = "\N{HORIZONTAL ELLIPSIS}"

CATALOG_COLUMNS = (
    Column(key="name", label="Table", sortable=True),
    Column(key="version", label="Version", align="right", sortable=True),
    Column(key="age", label="Last commit", align="right", sortable=True),
    Column(key="files", label="Files", align="right", sortable=True, wide=True),
    Column(key="size", label="Size", align="right", sortable=True),
    Column(key="health", label="Log health", sortable=True, wraps=True),
    Column(key="place", label="Place", mono=True, wide=True, sortable=True),
)

_TONES = {"error": "gone", "warning": "risk", "note": "none"}
_RANK = {"error": 0, "warning": 1, "note": 2}

_KEYS: dict[str, Callable[[Any], Any]] = {
    "name": lambda glance: glance.name.casefold(),
    "place": lambda glance: glance.shown,
    "version": lambda glance: glance.version,
    "age": lambda glance: glance.timestamp,
    "files": lambda glance: glance.num_files,
    "size": lambda glance: glance.size_in_bytes,
    "health": lambda glance: _gravity(glance),  # noqa: PLW0108 - defined below
}


def is_sortable(key: str) -> bool:
    """Whether the list can be sorted by this column."""
    return key in _KEYS


def filter_glances(glances: Sequence[Any], text: str) -> list[Any]:
    """Those whose name or place holds the text, in any case."""
    wanted = text.casefold()
    return [one for one in glances if wanted in f"{one.name}\n{one.shown}".casefold()]


def sort_glances(glances: Sequence[Any], sort: tuple[str, bool] | None) -> list[Any]:
    """By a column, descending or not; what is not known stands last either way."""
    if sort is None:
        return list(glances)
    key, descending = sort
    value_of = _KEYS[key]
    known = [one for one in glances if value_of(one) is not None]
    unknown = [one for one in glances if value_of(one) is None]
    return [*sorted(known, key=value_of, reverse=descending), *unknown]


def build_glance_row(glance: Any, now: datetime) -> Row:
    """One table; a click opens it."""
    missing = PENDING if glance.is_waiting else UNKNOWN
    when = glance.timestamp
    return Row(
        action="choose",
        value=glance.shown,
        cells=(
            Cell(text=cut(glance.name, 60), title=glance.shown),
            _figure(glance.version, format_count, missing),
            Cell(text=format_age(when, now) if when else missing, muted=when is None,
                 title=format_time(when) if when else None),
            _figure(glance.num_files, format_count, missing),
            _figure(glance.size_in_bytes, format_bytes, missing),
            _health(glance),
            Cell(text=cut_middle(glance.shown, 44), title=glance.shown, muted=True),
        ),
    )  # fmt: skip


def sum_up(glances: Sequence[Any]) -> str:
    """`12 tables: 1 cannot be read, 2 with errors, 3 with warnings.`"""
    counted = {
        "cannot be read": sum(one.problem is not None for one in glances),
        "with errors": sum(one.severity == "error" for one in glances),
        "with warnings": sum(one.severity == "warning" for one in glances),
        "not looked at yet": sum(one.is_waiting for one in glances),
    }
    said = [f"{format_count(count)} {what}" for what, count in counted.items() if count]
    noun = "table" if len(glances) == 1 else "tables"
    return f"{format_count(len(glances))} {noun}: {', '.join(said) or 'nothing is wrong'}."


def _figure(value: int | None, render: Callable[[int], str], missing: str) -> Cell:
    if value is None:
        return Cell(text=missing, muted=True)
    return Cell(text=render(value), title=format_count(value))


def _health(glance: Any) -> Cell:
    if glance.is_waiting:
        return Cell(text=PENDING, muted=True)
    if glance.problem is not None:
        said = f"{glance.problem.problem} {glance.problem.reason}"
        return Cell(text=cut(glance.problem.problem, 64), title=cut(said, 600), tone="gone")
    if glance.severity is None:
        return Cell(text="nothing is wrong", muted=True, tone="good")
    more = (glance.num_findings or 1) - 1
    tail = f" (and {more} more)" if more else ""
    return Cell(
        text=f"{glance.severity}: {cut(glance.finding, 64)}{tail}",
        title=cut(glance.finding, 600),
        tone=_TONES.get(glance.severity, "none"),
    )


def _gravity(glance: Any) -> int | None:
    if glance.is_waiting:
        return None
    if glance.problem is not None:
        return -1
    return _RANK.get(glance.severity or "", 3)
