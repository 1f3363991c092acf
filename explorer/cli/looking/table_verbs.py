"""The verbs `history`, `files`, `features` and `log`.

Each asks `explorer.answers` for its fact, and prints the documents of it or a listing for people.
"""

from __future__ import annotations

from typing import Annotated

import typer

import explorer.inspect as look
from explorer.answers.registry import ANSWERS
from explorer.cli.answering import answer, ask, open_named, print_answer
from explorer.cli.arguments.options import (
    SCREENFUL,
    AsJson,
    Limit,
    StorageOptions,
    Timestamp,
    Uri,
    Version,
)
from explorer.cli.printing import answer_printing
from explorer.cli.printing.terminal import show_progress

SortBy = Annotated[
    str,
    typer.Option(
        "--sort",
        metavar="COLUMN",
        help="path, size, num_records, modification_time or partition_values.NAME.",
    ),
]
Descending = Annotated[bool, typer.Option("--descending", help="Largest first.")]
Operations = Annotated[
    list[str] | None,
    typer.Option(
        "--operation",
        metavar="NAME",
        help="Only this operation, by its name or its first words, such as delete; may be "
        "repeated.",
    ),
]
User = Annotated[
    str | None,
    typer.Option("--user", metavar="TEXT", help="Only commits with this text in the user's name."),
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since", metavar="T", help="Only commits from this time on, such as 2026-11-01T00:00:00Z."
    ),
]
Contains = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Only files with this text in the path.")
]


def history(  # noqa: PLR0913  # the options of a command
    uri: Uri,
    *,
    operation: Operations = None,
    user: User = None,
    since: Since = None,
    limit: Limit = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """Commits, newest first: who changed what, and when.

    --operation, --user and --since show only the commits that fit all of them.

    Example: delta-explorer history ./orders --operation delete --limit 20
    """
    given = {"operation": operation, "user": user, "since": since}
    place = (uri, option)
    if as_json:
        print_answer(*ask("history", place, {**given, "limit": limit}))
        return
    most = limit or SCREENFUL
    table = open_named(place)
    # one more than are shown tells whether there are more
    found = ANSWERS["history"].question({**given, "limit": most + 1}).ask(table)
    if all(value is None for value in given.values()):
        commits = table.listing().commits
        with show_progress() as progress:
            shown = commits[-most:]
            figures = look.timeline(table, first=min(shown, default=0), progress=progress)
        answer_printing.print_history(figures, found, len(commits))
        return
    fitting = frozenset(found.column("version").to_pylist()[:most])
    with show_progress() as progress:
        figures = look.timeline(table, only=fitting, progress=progress)
    answer_printing.print_some_history(figures, found)


def files(  # noqa: PLR0913  # the options of a command
    uri: Uri,
    *,
    version: Version = None,
    timestamp: Timestamp = None,
    sort: SortBy = "path",
    descending: Descending = False,
    contains: Contains = None,
    limit: Limit = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """Data files with size, rows, partition and deletion vector.

    Example: delta-explorer files ./orders --sort size --descending --limit 10
    """
    given = {
        "version": version,
        "timestamp": timestamp,
        "sort": sort,
        "descending": descending,
        "contains": contains,
        "limit": limit,
    }
    answer(
        "files",
        (uri, option),
        given,
        lambda page, _: answer_printing.print_files(page),
        as_json=as_json,
    )


def features(
    uri: Uri, *, version: Version = None, option: StorageOptions = None, as_json: AsJson = False
) -> None:
    """Table features: supported, active, and since which commit.

    Example: delta-explorer features ./orders
    """
    answer(
        "features",
        (uri, option),
        {"version": version},
        lambda frame, _: answer_printing.print_features(frame),
        as_json=as_json,
    )


def log(
    uri: Uri, *, limit: Limit = None, option: StorageOptions = None, as_json: AsJson = False
) -> None:
    """Files of the log folder, newest first.

    Commits, checkpoints, sidecars, checksums, and files that are not of the log.

    Example: delta-explorer log ./orders --json
    """
    answer("log", (uri, option), {"limit": limit}, answer_printing.print_log_files, as_json=as_json)
