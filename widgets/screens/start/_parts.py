"""The list of tables: one row each, the health of its log at a glance.

A summary is what `widgets.session.table_summaries` knows of one table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from widgets.markup import NOTHING, Markup, html, join
from widgets.text import (
    UNKNOWN,
    cut,
    cut_middle,
    format_age,
    format_bytes,
    format_count,
    format_many,
    format_time,
)
from widgets.ui.pieces import SEVERITY_TONES
from widgets.ui.table import Cell, Column, Row

PENDING = "\N{HORIZONTAL ELLIPSIS}"

CATALOG_COLUMNS = (
    Column(key="name", label="Table", sortable=True, shrinks=True),
    Column(key="health", label="Finding", sortable=True),
    Column(key="saved", label="OPTIMIZE saves", align="right", sortable=True),
    Column(key="age", label="Last commit", align="right", sortable=True),
    Column(key="version", label="Version", align="right", sortable=True),
    Column(key="files", label="Files", align="right", sortable=True, wide=True),
    Column(key="size", label="Size", align="right", sortable=True, wide=True),
    Column(key="place", label="Place", mono=True, wide=True, sortable=True),
)
"""What decides first: the last ones are out of sight where the page is narrow."""

_RANK = {"error": 0, "warning": 1, "note": 2}

_KEYS: dict[str, Callable[[Any], Any]] = {
    "name": lambda summary: summary.name.casefold(),
    "place": lambda summary: summary.shown,
    "version": lambda summary: summary.version,
    "age": lambda summary: summary.timestamp,
    "files": lambda summary: summary.num_files,
    "size": lambda summary: summary.size_in_bytes,
    "saved": lambda summary: summary.files_saved,
    "health": lambda summary: _gravity(summary),  # noqa: PLW0108 - defined below
}


SORTABLE = frozenset(_KEYS)
"""The columns that the list can be sorted by."""


def begins_descending(key: str) -> bool:
    """Whether who sorts by this column asks for the most, or the newest, first."""
    return key not in {"name", "health", "place"}


UNREADABLE = "cannot be read"
NOTES_ALONE = "notes alone"


def findings_of(summary: Any) -> tuple[str, ...]:
    """The kinds of what was found of a table, by which the list can be filtered."""
    if summary.problem is not None:
        return (UNREADABLE,)
    return (*summary.findings, *([NOTES_ALONE] if _has_notes_alone(summary) else []))


def count_findings(summaries: Sequence[Any]) -> list[tuple[str, int]]:
    """How many tables have a finding of each kind, the most frequent first, and last those that
    have nothing worse than notes."""
    counted = Counter(kind for one in summaries for kind in findings_of(one))
    return sorted(counted.items(), key=lambda item: (item[0] == NOTES_ALONE, -item[1], item[0]))


def filter_summaries(summaries: Sequence[Any], text: str, finding: str = "") -> list[Any]:
    """Those whose name or place holds the text, in any case, and that have the finding."""
    wanted = text.casefold()
    return [
        one
        for one in summaries
        if wanted in f"{one.name}\n{one.shown}".casefold()
        and (not finding or finding in findings_of(one))
    ]


def render_findings(counted: Sequence[tuple[str, int]], chosen: str) -> Markup:
    """A button for each kind; the chosen one is pressed, and lets all go when it is again, which
    it can where no table has that finding any more."""
    if chosen and all(kind != chosen for kind, _ in counted):
        counted = [*counted, (chosen, 0)]
    buttons = join(
        html(
            '<button type="button" data-do="finding" data-value="{}" aria-pressed="{}">{} '
            "<small>{}</small></button>",
            kind,
            "true" if kind == chosen else "false",
            kind,
            format_count(number),
        )
        for kind, number in counted
    )
    return (
        html(
            '<div class="dx-kinds" role="group" aria-label="Tables with a finding">{}</div>',
            buttons,
        )
        if counted
        else NOTHING
    )


def sort_summaries(summaries: Sequence[Any], sort: tuple[str, bool]) -> list[Any]:
    """By a column, descending or not; what is not known stands last either way."""
    key, descending = sort
    value_of = _KEYS[key]
    known = [one for one in summaries if value_of(one) is not None]
    unknown = [one for one in summaries if value_of(one) is None]
    return [*sorted(known, key=value_of, reverse=descending), *unknown]


def build_summary_row(
    summary: Any, now: datetime, folder: str = "", num_columns: int = len(CATALOG_COLUMNS)
) -> Row:
    """One table in its first columns; a click opens it. Its place, in the last one, is told from
    the `folder` on that it shares with the others."""
    missing = PENDING if summary.is_waiting else UNKNOWN
    when = summary.timestamp
    cells = (
        Cell(text=cut(summary.name, 60), title=_whole_name(summary)),
        _health(summary),
        _figure(summary.files_saved, format_count, missing),
        Cell(text=format_age(when, now) if when else missing, muted=when is None,
             title=format_time(when) if when else None),
        _figure(summary.version, format_count, missing),
        _figure(summary.num_files, format_count, missing),
        _figure(summary.size_in_bytes, format_bytes, missing),
        Cell(text=cut(summary.shown[len(folder) :], 200), title=summary.shown, muted=True),
    )  # fmt: skip
    return Row(action="choose", value=summary.shown, cells=cells[:num_columns])


def _whole_name(summary: Any) -> str:
    """The place, and the name that the catalog gives it where it has another one."""
    name, shown = str(summary.name), str(summary.shown)
    return shown if name in shown else f"{cut(name, 300)}: {shown}"


def shared_folder(summaries: Sequence[Any]) -> str:
    """The folder that all of the places are in, with a slash at its end; empty where there is
    none."""
    places = [one.shown.rstrip("/") for one in summaries]
    if not places:
        return ""
    first, last = min(places), max(places)
    alike = next(
        (at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other),
        min(len(first), len(last)),
    )
    folder = str(first[: first.rfind("/", 0, alike) + 1])
    return "" if folder.endswith("://") else folder


def columns_below(folder: str, summaries: Sequence[Any]) -> tuple[Column, ...]:
    """The columns of a list: without the places where these say no more than the names."""
    if folder and all(one.shown[len(folder) :].rstrip("/") == one.name for one in summaries):
        return CATALOG_COLUMNS[:-1]
    return CATALOG_COLUMNS


def sum_up(summaries: Sequence[Any], folder: str = "") -> str:
    """`12 tables in /lake: 1 cannot be read, 2 with errors, 4 with notes alone.`"""
    counted = {
        "cannot be read": sum(one.problem is not None for one in summaries),
        "with errors": sum(one.severity == "error" for one in summaries),
        "with warnings": sum(one.severity == "warning" for one in summaries),
        "with notes alone": sum(_has_notes_alone(one) for one in summaries),
        "not looked at yet": sum(one.is_waiting for one in summaries),
    }
    said = [f"{format_count(count)} {what}" for what, count in counted.items() if count]
    noun = "table" if len(summaries) == 1 else "tables"
    inside = f" in {cut_middle(folder.rstrip('/') or folder, 120)}" if folder else ""
    number = format_count(len(summaries))
    return f"{number} {noun}{inside}: {', '.join(said) or 'nothing is wrong'}."


def _has_notes_alone(summary: Any) -> bool:
    is_known = summary.problem is None and not summary.is_waiting
    return is_known and (
        summary.severity == "note" or (summary.severity is None and bool(summary.findings))
    )


def _figure(value: int | None, render: Callable[[int], str], missing: str) -> Cell:
    if value is None:
        return Cell(text=missing, muted=True)
    return Cell(text=render(value), title=format_count(value))


def _health(summary: Any) -> Cell:
    """The worst in a word, and the kinds of all that was found; the sentence is shown on hover."""
    if summary.is_waiting:
        return Cell(text=PENDING, muted=True)
    if summary.problem is not None:
        said = f"{summary.problem.problem} {summary.problem.reason}"
        return Cell(text=UNREADABLE, title=cut(said, 600), tone="gone")
    kinds = ", ".join(summary.findings)
    if summary.severity is None:
        return Cell(text=kinds, tone="none") if kinds else _NOTHING_WRONG
    tone = SEVERITY_TONES.get(summary.severity, "none")
    title = cut(summary.finding, 600)
    if summary.severity == "note":
        text = kinds or format_many(summary.num_findings or 1, "note")
        return Cell(text=text, title=title, tone=tone, muted=not kinds)
    return Cell(text=f"{summary.severity}: {kinds}", title=title, tone=tone)


_NOTHING_WRONG = Cell(text="nothing is wrong", muted=True, tone="good")


def _gravity(summary: Any) -> int | None:
    if summary.is_waiting:
        return None
    if summary.problem is not None:
        return -1
    return _RANK.get(summary.severity or "", 3)
