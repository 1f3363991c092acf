"""`foreign`: files in a table's folder that Delta does not manage, and where its bytes go."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.text import Text

from explorer.cli.answering import answer
from explorer.cli.arguments.options import AsJson, Limit, StorageOptions, Uri
from explorer.cli.printing.consoles import build_console
from explorer.cli.printing.listings import Column, Row, print_cut, print_listing
from explorer.cli.printing.wording import printable, render_count, render_size, render_time
from explorer.inspect.frame_rows import plain_rows

if TYPE_CHECKING:
    from explorer.inspect.files.folder_files import Folder


def foreign(
    uri: Uri, *, limit: Limit = None, option: StorageOptions = None, as_json: AsJson = False
) -> None:
    """Files in the table's folder that Delta does not manage.

    With the size of each part of the folder, and whether VACUUM would delete these files.

    Example: delta-explorer foreign ./orders --limit 20
    """
    answer("foreign", (uri, option), {"limit": limit}, _print, as_json=as_json)


def _print(found: Folder, limit: int) -> None:
    console = build_console(sys.stdout)
    console.print(Text(printable(found.sentence), style="bold"))
    print_listing(console, _SIZES, list(plain_rows(found.sizes)))
    rows = list(plain_rows(found.files, limit))
    if rows:
        print_listing(console, _FILES, rows)
        print_cut(console, len(rows), found.files.num_rows, "files")


def _deletable_from(row: Row) -> str:
    if row["vacuum_deletes"]:
        return "now"
    since = row["deletable_from"]
    if since is None:  # what is not foreign waits for a retention that can be read
        return "never" if row["reason"].startswith("foreign") else "unknown"
    return render_time(since)


def _in_delta_spark(row: Row) -> str:
    deletes, since = row["reference_deletes"], row["reference_from"]
    if deletes is None or deletes:
        return "now" if deletes else ""
    return "no" if since is None else f"from {render_time(since)}"


_SIZES = (
    Column(title="part", render=lambda row: row["part"], style=lambda _: "bold"),
    Column(title="files", render=lambda row: render_count(row["num_files"]), align="right"),
    Column(title="bytes", render=lambda row: render_size(row["bytes"]), align="right"),
    Column(title="meaning", render=lambda row: row["meaning"], shrinks=True),
)
_FILES = (
    Column(title="path", render=lambda row: row["path"], shrinks=True),
    Column(title="kind", render=lambda row: row["kind"]),
    Column(title="bytes", render=lambda row: render_size(row["bytes"]), align="right"),
    Column(title="deletable from", render=_deletable_from),
    Column(title="in Delta Spark", render=_in_delta_spark),
    Column(title="why", render=lambda row: row["reason"], shrinks=True, from_width=140),
)
