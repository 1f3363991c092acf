"""Arguments and options that several verbs share, and how their text is read."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any

import orjson
import typer

from explorer.errors import InvalidArgumentError
from explorer.protocol.table_properties.intervals import parse_interval

Uri = Annotated[
    str,
    typer.Argument(metavar="URI", help="The table: a folder, or a URL such as s3://bucket/orders."),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON: one document, or one per line for lists.")
]
StorageOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-o",
        metavar="KEY=VALUE",
        help="A storage option, such as anon=true; may be repeated.",
    ),
]
Version = Annotated[
    int | None,
    typer.Option("--version", "-v", metavar="N", help="This version instead of the newest."),
]
Timestamp = Annotated[
    str | None,
    typer.Option(
        "--timestamp",
        "-t",
        metavar="T",
        help="The version that was current at this time, such as 2026-11-01T00:00:00Z.",
    ),
]


def _bound_limit(wanted: int | None) -> int | None:
    # Arrow counts in 64 bits, and no listing is that long
    return None if wanted is None else min(wanted, 2**62)


Limit = Annotated[
    int | None,
    typer.Option(
        "--limit", "-n", min=1, callback=_bound_limit, metavar="N", help="Show at most N rows."
    ),
]

SCREENFUL = 50
"""Rows that are shown where no limit is given."""

Columns = Annotated[
    list[str] | None,
    typer.Option("--column", "-c", metavar="NAME", help="Only this column; may be repeated."),
]

_WORDS: dict[str, bool] = {"true": True, "false": False}


def parse_storage_options(pairs: list[str] | None) -> dict[str, Any] | None:
    """`["anon=true", "key=…"]` as a dict, or None without any.

    `true` and `false` are truth values and `{…}` and `[…]` are JSON; all else,
    numbers too, stays text, because a key may look like a number. No message
    repeats a value: it may be a secret.
    """
    if not pairs:
        return None
    options: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise InvalidArgumentError(
                "A storage option is not valid.",
                reason="--option takes KEY=VALUE, with a key before the first equals sign.",
                remedy="Write it as --option anon=true, once for each option.",
            )
        options[key] = _parse_value(key, value)
    return options


def _parse_value(key: str, value: str) -> Any:
    if value.lower() in _WORDS:
        return _WORDS[value.lower()]
    if value[:1] not in ("{", "["):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise InvalidArgumentError(
            f"The storage option {key} is not valid.",
            reason="Its value begins like JSON but is not valid JSON.",
            remedy="Quote it for the shell, as in --option 'client_kwargs={\"verify\": false}'.",
        ) from error


def parse_pairs(pairs: list[str]) -> dict[str, str]:
    """`["owner=me", …]` as a dict; raises `InvalidArgumentError`, also for a key that is given
    twice, of which only one could be meant."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise InvalidArgumentError(
                f"{pair[:60]!r} is not a valid property.",
                reason="A property is KEY=VALUE, with a key before the first equals sign.",
                remedy="Write it as delta.checkpointInterval=20.",
            )
        if name in found:
            raise InvalidArgumentError(
                f"The property {name[:60]} is given twice.",
                reason="A property can only have one value.",
                remedy="Leave out one of them.",
            )
        found[name] = value
    return found


def parse_duration(text: str | None) -> timedelta | None:
    """`14 days` as a duration; raises `InvalidArgumentError`."""
    if text is None:
        return None
    try:
        return parse_interval(text)
    except ValueError as error:
        raise InvalidArgumentError(
            f"{text[:60]!r} is not a valid duration.",
            reason=f"As a duration, {error}.",
            remedy="Write it as '14 days' or '36 hours'.",
        ) from error


def parse_instant(text: str) -> datetime:
    """An ISO 8601 time with a zone, `2026-11-01T12:00:00Z`."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        raise _unreadable_instant(text) from error
    if instant.tzinfo is None:
        raise _unreadable_instant(text)
    return instant


def _unreadable_instant(text: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{text[:60]!r} is not a valid time.",
        reason="A time is written as ISO 8601 with a time zone.",
        remedy="Write it as 2026-11-01T12:00:00Z.",
    )
