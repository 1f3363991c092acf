"""`why`: why a file is still here, and from when on it may be deleted."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

import explorer.inspect as look
from explorer.cli.answering import Answer
from explorer.cli.json_lines import plain_rows
from explorer.cli.listings import Column, TimeColumn, print_cut, print_listing
from explorer.cli.options import AsJson, Limit, StorageOptions, Uri
from explorer.cli.terminal import build_console
from explorer.cli.wording import printable

if TYPE_CHECKING:
    from explorer.inspect.files.file_fates import FileReason
    from explorer.progress import ProgressCallback
    from explorer.table.table import Table


File = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="A path below the table, as in the folder or as in the log."
    ),
]


def why(  # the options of a command
    uri: Uri,
    file: File,
    *,
    limit: Limit = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """Why a file is still in the folder.

    Which versions need it, and from when on VACUUM may delete it.

    Example: delta-explorer why ./orders part-00000.parquet
    """

    def ask(table: Table, progress: ProgressCallback | None) -> FileReason:
        return look.why_here(table, file, progress=progress)

    answer = Answer(document=_document, show=_print)
    answer.tell((uri, option), ask, limit=limit, as_json=as_json)


def _document(found: FileReason, limit: int | None) -> dict[str, Any]:
    evidence = found.evidence if limit is None else found.evidence.slice(0, limit)
    return {
        "path": found.path,
        "is_there": found.is_there,
        "size": found.size,
        "modified": found.modified,
        "kind": found.kind,
        "sentence": found.sentence,
        "versions": [list(pair) for pair in found.versions],
        "deletable_from": found.deletable_from,
        "reference_from": found.reference_from,
        "num_evidence": found.evidence.num_rows,
        "evidence": list(plain_rows(evidence)),
    }


def _print(found: FileReason, limit: int) -> None:
    console = build_console(sys.stdout)
    console.print(Text(printable(found.sentence), style="bold"))
    rows = list(plain_rows(found.evidence.slice(0, limit)))
    if rows:
        print_listing(console, _LINES, rows)
        print_cut(console, len(rows), found.evidence.num_rows, "lines")


_LINES = (
    Column(title="version", render=lambda row: str(row["version"]), align="right"),
    Column(title="action", render=lambda row: row["action"], style=lambda _: "bold"),
    Column(title="role", render=lambda row: row["role"]),
    TimeColumn(title="time", moment=lambda row: row["time"], unknown=""),
    Column(title="log file", render=lambda row: f"{row['log_file']}:{row['line']}"),
    Column(title="data file", render=lambda row: row["data_file"], shrinks=True, from_width=120),
)
