"""From an answer to standard output, for people."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from explorer.cli.printing._frame_listings import (
    list_features,
    list_fields,
    list_files,
    list_log_files,
)
from explorer.cli.printing._history_listing import list_gaps, list_unreadable, list_versions
from explorer.cli.printing.consoles import build_console
from explorer.cli.printing.listings import print_cut, print_note
from explorer.inspect.frame_rows import plain_rows
from explorer.table.counts import count

if TYPE_CHECKING:
    import pyarrow as pa

    from explorer.inspect.files.file_pages import FilesPage


def print_history(figures: pa.Table, history: pa.Table, total: int) -> None:
    """The newest commits of the timeline, with the parameters that the history knows of each,
    and how many commits the log holds."""
    console = build_console(sys.stdout)
    rows = _with_parameters(figures, history)
    list_versions(console, rows)
    list_gaps(console, [row["version"] for row in rows])
    list_unreadable(console, rows)
    print_cut(console, len(rows), total, "commits")


def print_some_history(figures: pa.Table, history: pa.Table) -> None:
    """The commits of the timeline that were asked for; `history` has more where they are cut."""
    console = build_console(sys.stdout)
    rows = _with_parameters(figures, history)
    if not rows:
        print_note(console, "no matching commits")
        return
    list_versions(console, rows)
    list_unreadable(console, rows)
    if history.num_rows > len(rows):
        print_note(console, f"newest {count(len(rows), 'matching commit')}; more with --limit N")


def _with_parameters(figures: pa.Table, history: pa.Table) -> list[dict[str, Any]]:
    details = {row["version"]: row for row in plain_rows(history)}
    return [
        {**row, **{name: details.get(row["version"], {}).get(name) for name in _RECORDED}}
        for row in plain_rows(figures)
    ]


_RECORDED = ("operation_parameters", "operation_metrics")


def print_files(page: FilesPage) -> None:
    """A page of files, and how many there are."""
    console = build_console(sys.stdout)
    list_files(console, list(plain_rows(page.rows)))
    print_cut(console, page.rows.num_rows, page.total, "files")


def print_schema(frame: pa.Table, limit: int | None) -> None:
    """The first fields, all of them without a limit."""
    list_fields(build_console(sys.stdout), list(plain_rows(frame, limit)))


def print_features(frame: pa.Table) -> None:
    """The features that the table supports."""
    list_features(build_console(sys.stdout), list(plain_rows(frame)))


def print_log_files(frame: pa.Table, limit: int) -> None:
    """The first files of a list of them, and how many there are."""
    console = build_console(sys.stdout)
    list_log_files(console, list(plain_rows(frame, limit)))
    print_cut(console, min(limit, frame.num_rows), frame.num_rows, "files")
