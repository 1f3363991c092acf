"""`conflicts`: whether a transaction that read a version could still be committed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, cast

import typer

import explorer.inspect as look
from explorer.cli.hosting import open_named
from explorer.cli.json_lines import print_document
from explorer.cli.listings import Column, Row, TimeColumn, print_cut, print_listing, print_note
from explorer.cli.options import SCREENFUL, AsJson, Limit, StorageOptions, Uri
from explorer.cli.terminal import build_console, show_progress
from explorer.cli.wording import UNKNOWN, render_count
from explorer.errors import InvalidArgumentError
from explorer.table.times import utc_time

if TYPE_CHECKING:
    from explorer.inspect.conflicts.conflict_check import ConflictCheck, Operation
    from explorer.transaction.conflicts import Conflict

_OPERATIONS = ("change", "append")

ReadVersion = Annotated[
    int, typer.Option("--read-version", metavar="N", help="The version that was read.")
]
Where = Annotated[
    str | None,
    typer.Option(
        metavar="WHERE",
        help="Which rows it read, such as \"region = 'emea'\"; all by default.",
    ),
]
Kind = Annotated[
    str,
    typer.Option(
        metavar="KIND",
        help="change: it changes rows that it read, like DELETE, UPDATE and MERGE; append: it "
        "adds rows and reads none.",
    ),
]
Level = Annotated[
    str | None,
    typer.Option(
        "--isolation-level",
        metavar="LEVEL",
        help="Serializable, WriteSerializable or SnapshotIsolation; the table's own by default.",
    ),
]


def conflicts(  # noqa: PLR0913  # the options of a command
    uri: Uri,
    *,
    read_version: ReadVersion,
    operation: Kind = "change",
    where: Where = None,
    isolation_level: Level = None,
    limit: Limit = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """Which commits a transaction would conflict with.

    The transaction read the table at --read-version. Each commit since is checked by the
    conflict rules of the isolation level.

    Example: delta-explorer conflicts ./orders --read-version 12 --where "country = 'DE'"
    """
    if operation not in _OPERATIONS:
        raise InvalidArgumentError(
            f"{operation[:60]!r} is not a valid --operation.",
            reason=f"It can be {' or '.join(_OPERATIONS)}.",
            remedy="Leave it out for an operation that changes rows.",
        )
    table = open_named(uri, option)
    with show_progress() as progress:
        found = look.check_conflicts(
            table,
            read_version,
            operation=cast("Operation", operation),
            where=where,
            isolation_level=isolation_level,
            progress=progress,
        )
    shown = found.found[: limit or (None if as_json else SCREENFUL)]
    if as_json:
        print_document(_document(found, shown))
    else:
        _print(found, [_plain(conflict) for conflict in shown])


def _document(found: ConflictCheck, shown: Sequence[Conflict]) -> Row:
    return {
        "read_version": found.read_version,
        "newest_version": found.newest_version,
        "operation": found.operation,
        "where": found.where,
        "isolation_level": found.isolation_level,
        "sentence": found.sentence,
        "num_conflicts": found.num_conflicts,
        "conflicts": [_plain(conflict) for conflict in shown],
    }


def _plain(conflict: Conflict) -> Row:
    body = asdict(conflict)
    stamp = conflict.commit.timestamp
    body["commit"]["timestamp"] = None if stamp is None else utc_time(stamp)
    return body


def _render_overlap(row: Row) -> str:
    overlap = row["overlap"]
    more = overlap["total"] - len(overlap["values"])
    text = ", ".join(overlap["values"]) + (f" and {render_count(more)} more" if more else "")
    return f"{overlap['kind']}: {text}"


def _print(found: ConflictCheck, rows: list[Row]) -> None:
    console = build_console(sys.stdout)
    print_note(console, found.sentence)
    if rows:
        print_listing(console, _COLUMNS, rows)
        print_cut(console, len(rows), found.num_conflicts, "conflicts")


def _who(row: Row) -> str:
    commit = row["commit"]
    return ", ".join(part for part in (commit["user_name"], commit["engine_info"]) if part)


_COLUMNS = (
    Column(title="version", render=lambda row: str(row["version"]), align="right"),
    TimeColumn(title="time", moment=lambda row: row["commit"]["timestamp"], from_width=100),
    Column(title="operation", render=lambda row: row["commit"]["operation"] or UNKNOWN),
    Column(title="rule", render=lambda row: row["rule"], style=lambda _: "bold"),
    Column(title="user", render=_who, shrinks=True, limit=60, from_width=120),
    Column(title="both touch", render=_render_overlap, shrinks=True),
)
