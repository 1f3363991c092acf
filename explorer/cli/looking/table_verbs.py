"""The verbs `inspect`, `history`, `files`, `features` and `log`.

Each asks `explorer.answers` for its fact, and prints the documents of it or a listing for people.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

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
from explorer.cli.printing.failures import EXIT_PROBLEM, report_as_json, report_as_text
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


def inspect(
    uri: Uri,
    *,
    version: Version = None,
    timestamp: Timestamp = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """Version, protocol, features, files, rows and problems.

    Where the newest version cannot be read, the newest that can be is shown below the error, and
    the exit code is 1.

    Example: delta-explorer inspect s3://bucket/orders --version 12 --option anon=true
    """
    given = {"version": version, "timestamp": timestamp}
    question, document = ask("inspect", (uri, option), given)
    # a script must not take an older version for the newest one
    is_older = document["unreadable_version"] is not None
    if is_older:
        _report_unreadable(document, as_json=as_json)
    if as_json:
        print_answer(question, document)
    else:
        told = document["problems"][1:] if is_older else document["problems"]
        answer_printing.print_inspect({**document, "problems": told})
    if is_older:
        raise typer.Exit(EXIT_PROBLEM)


def _report_unreadable(document: Mapping[str, Any], *, as_json: bool) -> None:
    """Why the newest version is not the one that is shown, on standard error."""
    error = {key: text for key, text in document["problems"][0].items() if key != "place"}
    report = report_as_json if as_json else report_as_text
    report(error)


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
