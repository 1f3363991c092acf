"""`dv`: which files have a deletion vector, and which rows one of them deletes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from explorer.cli.answering import answer
from explorer.cli.arguments.options import (
    AsJson,
    Limit,
    StorageOptions,
    Timestamp,
    Uri,
    Version,
)
from explorer.cli.printing.consoles import build_console
from explorer.cli.printing.listings import Column, Row, print_cut, print_listing, print_note
from explorer.cli.printing.wording import UNKNOWN, render_count, render_size
from explorer.inspect.frame_rows import plain_rows
from explorer.table.counts import count

if TYPE_CHECKING:
    import pyarrow as pa

    from explorer.inspect.files.row_deletions import HiddenRows

DataFilePath = Annotated[
    str | None,
    typer.Option(
        "--file", "-f", metavar="PATH", help="List the soft-deleted rows of this data file."
    ),
]


def dv(  # noqa: PLR0913  # the options of a command
    uri: Uri,
    *,
    version: Version = None,
    timestamp: Timestamp = None,
    file: DataFilePath = None,
    limit: Limit = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """Deletion vectors: which files have one, and what it deletes.

    --file lists the soft-deleted rows of one data file.

    Example: delta-explorer dv ./orders --file part-00000.parquet
    """
    place, given = (uri, option), {"version": version, "timestamp": timestamp, "limit": limit}
    if file is None:
        answer("dv", place, given, _print_vectors, as_json=as_json)
    else:
        given_file = {**given, "file": file}
        answer(
            "hidden_rows",
            place,
            given_file,
            lambda hidden, _: _print_ranges(hidden),
            as_json=as_json,
        )


def _print_vectors(frame: pa.Table, limit: int) -> None:
    console = build_console(sys.stdout)
    rows = list(plain_rows(frame, limit))
    if not rows:
        print_note(console, "no file has a deletion vector")
        return
    print_listing(console, _VECTORS, rows)
    print_cut(console, len(rows), frame.num_rows, "files")
    for row in rows:
        if row["problem"]:
            print_note(console, f"! {row['path']}: {row['problem']}")


def _print_ranges(hidden: HiddenRows) -> None:
    console = build_console(sys.stdout)
    rows = list(plain_rows(hidden.ranges))
    print_note(console, _deleted_rows(hidden.cardinality, hidden.num_records))
    if rows:
        print_listing(console, _RANGES, rows)
        print_cut(console, len(rows), hidden.total, "ranges")


def _deleted_rows(number: int, of: int | None) -> str:
    verb = "is" if number == 1 else "are"
    rows = count(number, "row") if of is None else f"{number:,} of {count(of, 'row')}"
    return f"{rows} {verb} soft-deleted"


def _stored(row: Row) -> str:
    kinds = {"i": "in the log", "u": "in a file", "p": "at an absolute path"}
    return kinds.get(row["storage_type"], UNKNOWN)


def _fraction(row: Row) -> str:
    fraction = row["fraction_deleted"]
    return UNKNOWN if fraction is None else f"{fraction:.1%}"


_VECTORS = (
    Column(title="path", render=lambda row: row["path"], shrinks=True),
    Column(
        title="soft-deleted", render=lambda row: render_count(row["cardinality"]), align="right"
    ),
    Column(title="rows", render=lambda row: render_count(row["num_records"]), align="right"),
    Column(title="share", render=_fraction, align="right"),
    Column(title="stored", render=_stored),
    Column(title="size", render=lambda row: render_size(row["size_in_bytes"]), align="right"),
    Column(
        title="offset",
        render=lambda row: "" if row["offset"] is None else str(row["offset"]),
        align="right",
        from_width=100,
    ),
    Column(
        title="vector",
        render=lambda row: row["vector_path"] or "",
        shrinks=True,
        from_width=120,
    ),
)
_RANGES = (
    Column(title="first row", render=lambda row: render_count(row["first"]), align="right"),
    Column(title="last row", render=lambda row: render_count(row["last"]), align="right"),
    Column(title="rows", render=lambda row: render_count(row["count"]), align="right"),
)
