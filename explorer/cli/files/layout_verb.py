"""`layout`: sizes of files, which partition to optimize first, and how well rows are clustered."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer
from rich.text import Text

from explorer.answers.registry import ANSWERS
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
from explorer.cli.printing.listings import (
    Column,
    Row,
    TimeColumn,
    print_cut,
    print_listing,
    print_note,
)
from explorer.cli.printing.wording import (
    UNKNOWN,
    printable,
    render_count,
    render_partition,
    render_size,
)

_SCREENFUL = 20
_BAR = 30

Target = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="The size that files should have, such as 128mb."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", "-c", metavar="NAME", help="Only this column; may be repeated."),
]


def layout(  # noqa: PLR0913  # the options of a command
    uri: Uri,
    *,
    target: Target = None,
    column: Columns = None,
    version: Version = None,
    timestamp: Timestamp = None,
    limit: Limit = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """File sizes, small files by partition, and clustering.

    Also shows how much files overlap in each column, and what each OPTIMIZE did.

    Example: delta-explorer layout ./orders --target 128mb --column amount
    """
    given = {
        "target": target,
        "column": column,
        "version": version,
        "timestamp": timestamp,
        "limit": limit,
    }
    answer(
        "layout",
        (uri, option),
        given,
        lambda found, most: _print(ANSWERS["layout"].document(found, most)),
        as_json=as_json,
        screenful=_SCREENFUL,
    )


def _print(document: Row) -> None:
    console = build_console(sys.stdout)
    console.print(Text(printable(document["sentence"]), style="bold"))
    if document["sizes"]:
        most = max(row["num_files"] for row in document["sizes"])
        print_listing(console, _SIZES, [{**row, "most": most} for row in document["sizes"]])
    rows = document["partitions"]
    if document["num_partitions"] > 1:
        print_note(console, document["partition_verdict"] or "")
        print_listing(console, _PARTITIONS, rows)
        print_cut(console, len(rows), document["num_partitions"], "partitions")
    if document["columns"]:
        print_listing(console, _COLUMNS, document["columns"])
    if document["optimize"]:
        print_listing(console, _EFFECTS, document["optimize"])
    else:
        print_note(console, "no OPTIMIZE in the remaining log")


def _bar(row: Row) -> str:
    length: int = max(1, round(_BAR * row["num_files"] / row["most"]))
    return "▪" * length


def _depth(row: Row) -> str:
    mean, whole = row["mean_depth"], row["mean_partition_files"]
    return UNKNOWN if mean is None else f"{mean:,.1f} of {whole:,.1f}"


def _before_and_after(fact: str, render: Callable[[int | None], str]) -> Callable[[Row], str]:
    return lambda row: f"{render(row[f'{fact}_before'])} -> {render(row[f'{fact}_after'])}"


_SIZES = (
    Column(title="from", render=lambda row: render_size(row["from_bytes"]), align="right"),
    Column(title="below", render=lambda row: render_size(row["below_bytes"]), align="right"),
    Column(title="files", render=lambda row: render_count(row["num_files"]), align="right"),
    Column(title="bytes", render=lambda row: render_size(row["bytes"]), align="right"),
    Column(title="", render=_bar),
)
_PARTITIONS = (
    Column(
        title="partition",
        render=lambda row: render_partition(row["partition"]),
        style=lambda _: "bold",
        shrinks=True,
    ),
    Column(title="files", render=lambda row: render_count(row["num_files"]), align="right"),
    Column(title="bytes", render=lambda row: render_size(row["bytes"]), align="right"),
    Column(title="rows", render=lambda row: render_count(row["num_rows"]), align="right"),
    Column(title="small", render=lambda row: render_count(row["small_files"]), align="right"),
    Column(title="after", render=lambda row: render_count(row["files_after"]), align="right"),
    Column(title="rewritten", render=lambda row: render_size(row["small_bytes"]), align="right"),
    Column(
        title="files saved per GiB",
        render=lambda row: f"{row['saved_per_gib']:,.1f}",
        align="right",
    ),
)
_COLUMNS = (
    Column(title="column", render=lambda row: row["column"], style=lambda _: "bold"),
    Column(title="", render=lambda row: "clustered by" if row["is_clustering"] else ""),
    Column(title="files per value", render=_depth, align="right"),
    Column(title="most", render=lambda row: render_count(row["max_depth"]), align="right"),
    Column(title="no overlap", render=lambda row: render_count(row["files_alone"]), align="right"),
    Column(
        title="no bounds",
        render=lambda row: render_count(row["files_without_bounds"]),
        align="right",
    ),
)
_EFFECTS = (
    Column(title="OPTIMIZE", render=lambda row: f"version {row['version']}"),
    TimeColumn(title="time", moment=lambda row: row["timestamp"]),
    Column(title="files", render=_before_and_after("files", render_count), align="right"),
    Column(title="mean size", render=_before_and_after("mean", render_size), align="right"),
    Column(
        title="written",
        render=lambda row: render_size(row["bytes_after"]),
        align="right",
        from_width=100,
    ),
    Column(title="verdict", render=lambda row: row["verdict"] or UNKNOWN, shrinks=True),
    Column(
        title="vectors removed",
        render=lambda row: render_count(row["deletion_vectors_removed"]),
        align="right",
        from_width=140,
    ),
)
