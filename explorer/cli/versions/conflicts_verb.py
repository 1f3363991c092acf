"""`conflicts`: whether a transaction that read a version could still be committed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from explorer.answers.registry import ANSWERS
from explorer.cli.answering import answer
from explorer.cli.arguments.options import AsJson, Limit, StorageOptions, Uri
from explorer.cli.printing.consoles import build_console
from explorer.cli.printing.listings import (
    Column,
    Row,
    TimeColumn,
    print_cut,
    print_listing,
    print_note,
)
from explorer.cli.printing.wording import UNKNOWN, render_count

ReadVersion = Annotated[
    int | None,
    typer.Option(
        "--read-version",
        metavar="N",
        help="The version that was read; without it, what each kind of transaction would meet "
        "among the newest commits.",
    ),
]
Where = Annotated[
    str | None,
    typer.Option(
        metavar="WHERE",
        help="Which rows it read, such as \"region = 'emea'\"; all by default.",
    ),
]
Kind = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        help="change: it changes rows that it read, like DELETE, UPDATE and MERGE; append: it "
        "adds rows and reads none. The former by default.",
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
    read_version: ReadVersion = None,
    operation: Kind = None,
    where: Where = None,
    isolation_level: Level = None,
    limit: Limit = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """Which commits a transaction would conflict with.

    The transaction read the table at --read-version. Each commit since is checked by the
    conflict rules of the isolation level. Without it, the newest 100 commits (32 MiB at most)
    are held against each kind of transaction.

    Example: delta-explorer conflicts ./orders --read-version 12 --where "country = 'DE'"
    """
    given = {
        "read_version": read_version,
        "operation": operation,
        "where": where,
        "isolation_level": isolation_level,
        "limit": limit,
    }
    answer(
        "conflicts",
        (uri, option),
        given,
        lambda found, most: _print(ANSWERS["conflicts"].document(found, most)),
        as_json=as_json,
    )


def _render_overlap(row: Row) -> str:
    overlap = row["overlap"]
    more = overlap["total"] - len(overlap["values"])
    text = ", ".join(overlap["values"]) + (f" and {render_count(more)} more" if more else "")
    return f"{overlap['kind']}: {text}"


def _print(document: Row) -> None:
    console = build_console(sys.stdout)
    print_note(console, document["sentence"])
    if "transactions" in document:
        print_listing(console, _OUTLOOK, document["transactions"])
        return
    rows = document["conflicts"]
    if rows:
        print_listing(console, _COLUMNS, rows)
        print_cut(console, len(rows), document["num_conflicts"], "conflicts")


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


def _render_transaction(row: Row) -> str:
    return f"{row['transaction']}: {row['where']}" if row["where"] else str(row["transaction"])


def _of_conflict(key: str) -> Callable[[Row], str]:
    def render(row: Row) -> str:
        conflict = row["conflict"]
        return "" if conflict is None else str(conflict[key])

    return render


def _render_operation(row: Row) -> str:
    conflict = row["conflict"]
    return "" if conflict is None else conflict["commit"]["operation"] or UNKNOWN


_OUTLOOK = (
    Column(title="transaction", render=_render_transaction),
    Column(title="safe from", render=lambda row: str(row["safe_from"]), align="right"),
    Column(title="conflicts with", render=_of_conflict("version"), align="right"),
    Column(title="operation", render=_render_operation),
    Column(title="rule", render=_of_conflict("rule"), style=lambda _: "bold"),
    Column(title="why", render=_of_conflict("reason"), shrinks=True, from_width=120),
)
