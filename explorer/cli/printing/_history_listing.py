"""`history` for people: one line a version, newest first, like `git log --oneline`."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from rich.console import Console

import explorer.inspect as look
from explorer.cli.printing.listings import Column, Row, TimeColumn, print_listing, print_note
from explorer.cli.printing.wording import UNKNOWN, render_change, render_size_change

_COLOURS = {
    "CREATE": "magenta",
    "DELETE": "red",
    "MERGE": "cyan",
    "OPTIMIZE": "blue",
    "RESTORE": "magenta",
    "STREAMING": "green",
    "UPDATE": "yellow",
    "VACUUM": "blue",
    "WRITE": "green",
}


def list_versions(console: Console, rows: list[dict[str, Any]]) -> None:
    """Rows of `explorer.inspect.timeline`, each with the `operation_parameters` and
    `operation_metrics` of history."""
    if not rows:
        print_note(console, "no commits remain in the log, only a checkpoint")
    print_listing(console, _COLUMNS, rows)
    if any(row["is_checkpoint"] for row in rows):
        print_note(console, "* this version has a checkpoint")


def list_gaps(console: Console, newest_first: list[int]) -> None:
    """The versions between these whose commits are missing."""
    for newer, older in pairwise(newest_first):
        if newer - older > 1:
            first, last = older + 1, newer - 1
            gap = f"version {first} is" if first == last else f"versions {first} to {last} are"
            print_note(console, f"! {gap} missing from the log")


def list_unreadable(console: Console, rows: list[dict[str, Any]]) -> None:
    """Why commits could not be read."""
    for row in rows:
        if row["problem"]:
            print_note(console, f"! version {row['version']}: {row['problem']}")


def _version(row: Row) -> str:
    return f"{row['version']}{'*' if row['is_checkpoint'] else ' '}"


def _operation(row: Row) -> str:
    if row["problem"]:
        return "! not readable"
    return row["operation"] or UNKNOWN


def _operation_colour(row: Row) -> str:
    if row["problem"]:
        return "bold red"
    return _COLOURS.get((row["operation"] or "").partition(" ")[0], "")


def _change(added: str, removed: str) -> Any:
    def render(row: Row) -> str:
        both = render_change(row[added], row[removed])
        return UNKNOWN if both == f"+{UNKNOWN} -{UNKNOWN}" else both

    return render


def _size(row: Row) -> str:
    return render_size_change(row["bytes_added"], row["bytes_removed"])


def _deed(row: Row) -> str:
    return "" if row["problem"] else look.row_sentence(row).did


_COLUMNS = (
    Column(title="version", render=_version, align="right", style=lambda _: "bold"),
    TimeColumn(title="time", moment=lambda row: row["timestamp"]),
    Column(
        title="operation",
        render=_operation,
        style=_operation_colour,
        limit=24,
    ),
    Column(title="files", render=_change("files_added", "files_removed")),
    Column(title="rows", render=_change("rows_added", "rows_removed")),
    Column(title="size", render=_size, from_width=100),
    Column(title="user", render=lambda row: row["user_name"] or "", shrinks=True),
    Column(
        title="engine",
        render=lambda row: row["engine_info"] or "",
        shrinks=True,
        from_width=110,
    ),
    Column(title="what it did", render=_deed, shrinks=True, from_width=130),
)
