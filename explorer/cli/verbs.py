"""The verbs that look at a table, as the command line declares them.

Each asks `explorer.inspect` and hands the answer to `--json` or to the listing
for people.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

import explorer.inspect as look
from explorer.cli import printing
from explorer.cli.changes_verb import changes
from explorer.cli.conflicts_verb import conflicts
from explorer.cli.demo import demo
from explorer.cli.diff_verb import diff
from explorer.cli.doctor_verb import doctor
from explorer.cli.engines_verb import engines
from explorer.cli.foreign_verb import foreign
from explorer.cli.health_verb import health
from explorer.cli.hosting import open_named
from explorer.cli.json_lines import print_document, print_rows
from explorer.cli.layout_verb import layout
from explorer.cli.maintenance_verbs import MAINTENANCE_VERBS
from explorer.cli.options import (
    SCREENFUL,
    AsJson,
    Limit,
    StorageOptions,
    Timestamp,
    Uri,
    Version,
    check_one_point_in_time,
)
from explorer.cli.preview_verb import preview
from explorer.cli.reach_verb import reach
from explorer.cli.rows_verb import rows
from explorer.cli.schema_verb import schema
from explorer.cli.skip_verb import skip
from explorer.cli.statistics_verb import stats
from explorer.cli.terminal import reader_may_leave, show_progress
from explorer.cli.vector_verb import dv
from explorer.cli.version_option import about
from explorer.cli.why_verb import why

SortBy = Annotated[
    str,
    typer.Option(
        "--sort",
        metavar="COLUMN",
        help="path, size, num_records, modification_time or partition_values.NAME.",
    ),
]
Descending = Annotated[bool, typer.Option("--descending", help="Largest first.")]
Contains = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Only files with this text in their path.")
]


def build_app() -> typer.Typer:
    """The command line with the verbs of this package."""
    app = typer.Typer(
        name="delta-explorer",
        help="git log, git diff and EXPLAIN for a Delta Lake table.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(about)
    looking = (inspect, history, files, schema, features, log)
    answering = (
        changes,
        conflicts,
        diff,
        doctor,
        dv,
        engines,
        foreign,
        health,
        layout,
        preview,
        reach,
        rows,
        skip,
        stats,
        why,
    )
    for verb in (*looking, *answering, demo):
        app.command(verb.__name__)(reader_may_leave()(verb))
    for name, changing in MAINTENANCE_VERBS.items():
        app.command(name)(reader_may_leave()(changing))
    return app


def inspect(
    uri: Uri,
    *,
    version: Version = None,
    timestamp: Timestamp = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """What the table is: version, protocol, features, files, rows, problems.

    Example: delta-explorer inspect s3://bucket/orders --version 12 --option anon=true
    """
    check_one_point_in_time(version, timestamp)
    table = _open(uri, option)
    with show_progress() as progress:
        document = look.describe(table, version=version, timestamp=timestamp, progress=progress)
    if as_json:
        print_document(document)
    else:
        printing.print_inspect(document)


def history(
    uri: Uri, *, limit: Limit = None, option: StorageOptions = None, as_json: AsJson = False
) -> None:
    """Who changed what, when: one line per version, newest first.

    Example: delta-explorer history ./orders --limit 20
    """
    table = _open(uri, option)
    commits = table.listing().commits
    if not commits:
        table.latest_version()  # says that the log is empty, unless a checkpoint is left
    if as_json:
        print_rows(look.history(table, limit))
        return
    shown = commits[-(limit or SCREENFUL) :]
    with show_progress() as progress:
        figures = look.timeline(table, first=min(shown, default=0), progress=progress)
    printing.print_history(figures, look.history(table, len(shown)), len(commits))


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
    """The data files of a version with size, rows, partition and deletion vector.

    Example: delta-explorer files ./orders --sort size --descending --limit 10
    """
    check_one_point_in_time(version, timestamp)
    table = _open(uri, option)
    with show_progress() as progress:
        snapshot = table.snapshot(version=version, timestamp=timestamp, progress=progress)
        page = look.files_page(
            snapshot,
            offset=0,
            limit=limit or (None if as_json else SCREENFUL),
            sort_by=sort,
            descending=descending,
            contains=contains,
            progress=progress,
        )
    if as_json:
        print_rows(page.rows)
    else:
        printing.print_files(page)


def features(
    uri: Uri, *, version: Version = None, option: StorageOptions = None, as_json: AsJson = False
) -> None:
    """Table features: supported, active, since which version and by which commit.

    Example: delta-explorer features ./orders
    """
    table = _open(uri, option)
    with show_progress() as progress:
        frame = look.features(table, version, progress=progress)
    if as_json:
        print_rows(frame)
    else:
        printing.print_features(frame)


def log(
    uri: Uri, *, limit: Limit = None, option: StorageOptions = None, as_json: AsJson = False
) -> None:
    """What lies in the log folder, newest first: commits, checkpoints, foreign files.

    Example: delta-explorer log ./orders --json
    """
    newest_first = [("version", "descending"), ("name", "descending")]
    frame = look.log_files(_open(uri, option)).sort_by(newest_first)
    if as_json:
        print_rows(frame if limit is None else frame.slice(0, limit))
    else:
        printing.print_log_files(frame, limit or SCREENFUL)


def _open(uri: str, options: list[str] | None) -> Any:
    return open_named(uri, options)
