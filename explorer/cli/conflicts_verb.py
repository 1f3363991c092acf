"""`conflicts`: whether a transaction that read a version could still be committed."""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

import explorer
from explorer.cli.json_lines import print_document
from explorer.cli.listings import Column, Row, print_cut, print_listing, print_note
from explorer.cli.options import AsJson, Limit, StorageOptions, Uri, parse_storage_options
from explorer.cli.terminal import build_console, show_progress
from explorer.cli.wording import UNKNOWN, render_count, render_time

if TYPE_CHECKING:
    from explorer.transaction.conflicts import Conflict

_SCREENFUL = 50
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MS = 253_402_300_799_999  # the end of the year 9999

ReadVersion = Annotated[
    int, typer.Option("--read-version", metavar="N", help="The version that was read.")
]
Where = Annotated[
    str | None,
    typer.Option(
        metavar="WHERE",
        help="Only these rows were read, as \"region = 'emea'\"; without it, all of them.",
    ),
]
Level = Annotated[
    str | None,
    typer.Option(
        "--isolation-level",
        metavar="LEVEL",
        help="Serializable, WriteSerializable or SnapshotIsolation; by default the table's own.",
    ),
]


def conflicts(  # noqa: PLR0913  # the options of a command
    uri: Uri,
    *,
    read_version: ReadVersion,
    where: Where = None,
    isolation_level: Level = None,
    limit: Limit = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """Which commits since a version a transaction that read it would conflict with.

    Example: delta-explorer conflicts ./orders --read-version 12 --where "country = 'DE'"
    """
    from explorer.transaction.later_commits import (  # noqa: PLC0415  # `--help` without Arrow
        conflicts_since,
        transaction_upon,
    )

    table = explorer.open_table(uri, parse_storage_options(option))
    with show_progress() as progress:
        snapshot = table.snapshot(version=read_version, progress=progress)
        staged = transaction_upon(snapshot, where, isolation_level)
        newest = table.latest_version()
        found = conflicts_since(table.store, staged, newest)
        shown = list(islice(found, limit or (None if as_json else _SCREENFUL)))
        total = len(shown) + _count(found)
    document = {
        "read_version": snapshot.version,
        "newest_version": newest,
        "where": where,
        "isolation_level": staged.provenance.isolation_level,
        "num_conflicts": total,
        "conflicts": [_plain(conflict) for conflict in shown],
    }
    if as_json:
        print_document(document)
    else:
        _print(document)


def _count(rest: Any) -> int:
    counted = deque(enumerate(rest, 1), maxlen=1)
    return counted[0][0] if counted else 0


def _plain(conflict: Conflict) -> Row:
    body = asdict(conflict)
    stamp = conflict.commit.timestamp
    body["commit"]["timestamp"] = None if stamp is None else _time(stamp)
    return body


def _time(milliseconds: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=min(max(milliseconds, 0), _LAST_MS))


def _render_overlap(row: Row) -> str:
    overlap = row["overlap"]
    more = overlap["total"] - len(overlap["values"])
    text = ", ".join(overlap["values"]) + (f" and {render_count(more)} more" if more else "")
    return f"{overlap['kind']}: {text}"


def _print(document: Row) -> None:
    console = build_console(sys.stdout)
    read, newest, total = (
        document[name] for name in ("read_version", "newest_version", "num_conflicts")
    )
    if newest == read:
        print_note(console, f"Version {read} is the newest: there is nothing to conflict with.")
        return
    number = newest - read
    commits = f"{render_count(number)} commit{'s' if number > 1 else ''} since version {read}"
    level = document["isolation_level"]
    if not total:
        print_note(console, f"No conflict with the {commits}, at the isolation level {level}.")
        return
    first = document["conflicts"][0]
    print_note(
        console,
        f"Version {first['version']} won: {first['rule']}. {first['reason']} "
        f"{render_count(total)} conflicts with the {commits}, at the isolation level {level}.",
    )
    print_listing(console, _COLUMNS, document["conflicts"])
    print_cut(console, len(document["conflicts"]), total, "conflicts")


def _who(row: Row) -> str:
    commit = row["commit"]
    return ", ".join(part for part in (commit["user_name"], commit["engine_info"]) if part)


_COLUMNS = (
    Column(title="version", render=lambda row: str(row["version"]), align="right"),
    Column(
        title="time", render=lambda row: render_time(row["commit"]["timestamp"]), from_width=100
    ),
    Column(title="operation", render=lambda row: row["commit"]["operation"] or UNKNOWN),
    Column(title="rule", render=lambda row: row["rule"], style=lambda _: "bold"),
    Column(title="by", render=_who, shrinks=True, limit=60, from_width=120),
    Column(title="both touch", render=_render_overlap, shrinks=True),
)
