"""From an answer to standard output, for people."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from explorer.cli.frame_listings import list_features, list_fields, list_files, list_log_files
from explorer.cli.history_listing import list_versions
from explorer.cli.json_lines import plain_rows
from explorer.cli.listings import print_cut
from explorer.cli.summary import summarise
from explorer.cli.terminal import build_console

if TYPE_CHECKING:
    import pyarrow as pa

    from explorer.inspect.files.file_pages import FilesPage


def print_inspect(document: Mapping[str, Any]) -> None:
    """The document of `describe`."""
    summarise(build_console(sys.stdout), document)


def print_history(figures: pa.Table, history: pa.Table, total: int) -> None:
    """The timeline, with the parameters that the history knows of each version, and
    how many versions the log holds."""
    details = {row["version"]: row["operation_parameters"] for row in plain_rows(history)}
    rows = [
        {**row, "operation_parameters": details.get(row["version"])} for row in plain_rows(figures)
    ]
    console = build_console(sys.stdout)
    list_versions(console, rows)
    print_cut(console, len(rows), total, "versions")


def print_files(page: FilesPage) -> None:
    """A page of files, and how many there are."""
    console = build_console(sys.stdout)
    list_files(console, list(plain_rows(page.rows)))
    print_cut(console, page.rows.num_rows, page.total, "files")


def print_schema(frame: pa.Table) -> None:
    """All fields."""
    list_fields(build_console(sys.stdout), list(plain_rows(frame)))


def print_features(frame: pa.Table) -> None:
    """The features that the table supports."""
    list_features(build_console(sys.stdout), list(plain_rows(frame)))


def print_log_files(frame: pa.Table, limit: int) -> None:
    """The first files of a list of them, and how many there are."""
    console = build_console(sys.stdout)
    list_log_files(console, list(plain_rows(frame.slice(0, limit))))
    print_cut(console, min(limit, frame.num_rows), frame.num_rows, "files")
