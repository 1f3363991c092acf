"""`stats`: what the statistics of a version cover, column by column."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from explorer.cli.answering import answer
from explorer.cli.arguments.options import (
    AsJson,
    Columns,
    StorageOptions,
    Timestamp,
    Uri,
    Version,
)
from explorer.cli.printing.consoles import build_console
from explorer.cli.printing.listings import Column, Row, print_listing, print_note
from explorer.cli.printing.wording import UNKNOWN, render_wide_bounds, with_times
from explorer.inspect.frame_rows import plain_rows
from explorer.table.counts import count

if TYPE_CHECKING:
    from explorer.inspect.files.statistics import StatisticsReport


def stats(
    uri: Uri,
    *,
    version: Version = None,
    timestamp: Timestamp = None,
    column: Columns = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """Statistics by column: min, max, null count and coverage.

    Example: delta-explorer stats ./orders --column amount --column address.city
    """
    answer(
        "stats",
        (uri, option),
        {"version": version, "timestamp": timestamp, "column": column},
        lambda report, _: _print_report(report),
        as_json=as_json,
    )


def _print_report(report: StatisticsReport) -> None:
    console = build_console(sys.stdout)
    rows = [with_times(row, row["type"], ("min", "max")) for row in plain_rows(report.columns)]
    if rows:
        print_listing(console, _COLUMNS, rows)
    else:
        print_note(console, "no column has statistics")
    if report.files_without_count:
        missing = f"{report.files_without_count:,} of {count(report.num_files, 'file')}"
        verb = "has" if report.files_without_count == 1 else "have"
        print_note(console, f"{missing} {verb} no row count")
    if report.files_with_wide_bounds:
        print_note(console, render_wide_bounds(report.files_with_wide_bounds, report.num_files))
    for problem in report.problems:
        print_note(console, f"! {problem.problem}")


def _covered(row: Row) -> str:
    """The files with bounds: a count of nulls alone skips hardly anything."""
    if not row["num_files"]:
        return UNKNOWN
    return f"{row['files_with_bounds']:,} of {row['num_files']:,}"


def _null_count(row: Row) -> str:
    from explorer.inspect.files.statistics import null_count_in_words  # noqa: PLC0415

    counted, files = row["files_with_null_count"], row["num_files"]
    return null_count_in_words(row["null_count"], counted, files) or UNKNOWN


_COLUMNS = (
    Column(title="column", render=lambda row: row["path"], shrinks=True),
    Column(title="type", render=lambda row: row["type"], shrinks=True, limit=60),
    Column(title="coverage", render=_covered, align="right"),
    Column(title="min", render=lambda row: row["min"] or "", shrinks=True),
    Column(title="max", render=lambda row: row["max"] or "", shrinks=True),
    Column(title="null count", render=_null_count, align="right"),
)
