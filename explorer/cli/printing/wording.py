"""Numbers, sizes, times and text of a table as words for a terminal.

Everything that a table says (paths, names, operations, properties) is hostile
until `printable` has seen it: a terminal obeys escape sequences, and a path may
hold one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from explorer.protocol.table_properties.byte_sizes import render_byte_size
from explorer.protocol.values.utc_times import render_minute, render_value_times
from explorer.table.counts import count

UNKNOWN = "?"
"""Shown where the log does not say; never 0."""

_CUT = "..."


def printable(text: str, limit: int | None = None) -> str:
    r"""`text` with nothing in it that a terminal would obey.

    Control and format characters (escape sequences, line ends, reversed
    writing, zero width) and lone surrogates appear as Python escapes: a line
    feed as `\n`, an escape as `\x1b`. With a limit, longer text is cut.
    """
    if limit is not None and len(text) > limit:
        text = text[: max(limit - len(_CUT), 0)] + _CUT
    if text.isprintable():
        return text
    return "".join(_escaped(character) for character in text)


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")


def render_count(number: int | None) -> str:
    """`1234567` as `1,234,567`."""
    return UNKNOWN if number is None else f"{number:,}"


def render_size(size: int | None) -> str:
    """Bytes in binary units: `1536` as `1.5 KiB`."""
    return UNKNOWN if size is None else render_byte_size(size)


def render_time(time: datetime | None) -> str:
    """A time to the minute: `2026-11-01 10:22 UTC`."""
    return UNKNOWN if time is None else render_minute(time)


def render_partition(values: Mapping[str, str | None] | None) -> str:
    """Partition values as `country=de, day=null`."""
    pairs = (values or {}).items()
    return ", ".join(f"{name}={'null' if text is None else text}" for name, text in pairs)


def render_change(added: int | None, removed: int | None) -> str:
    """Added and removed: `+3 -2`; nothing for two zeros, `?` for what is unknown."""
    return _render_pair(added, removed, render_count)


def render_size_change(added: int | None, removed: int | None) -> str:
    """`render_change` for bytes: `+1.5 KiB -300 B`."""
    return _render_pair(added, removed, render_size)


def _render_pair(
    added: int | None, removed: int | None, render: Callable[[int | None], str]
) -> str:
    parts = []
    if added != 0:
        parts.append(f"+{render(added)}")
    if removed != 0:
        parts.append(f"-{render(removed)}")
    return " ".join(parts)


def render_wide_bounds(number: int, num_files: int) -> str:
    """What it means that so many of the files have wide bounds."""
    of = f"{number:,} of {count(num_files, 'file')}"
    have = "has" if number == 1 else "have"
    return f"{of} {have} wide bounds: min, max and null count there may be of deleted rows"


def with_times(row: Mapping[str, Any], kind: str, names: Sequence[str]) -> dict[str, Any]:
    """A row about a column of a type, with the values of these names as people read them where they
    are times; text stays as it is."""
    if not kind.startswith("timestamp"):
        return dict(row)
    told = render_value_times([row[name] for name in names])
    return {**row, **dict(zip(names, told, strict=True))}
