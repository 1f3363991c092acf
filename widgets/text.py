"""Number formats, and text as it may be shown; `widgets.markup` makes HTML of it."""

from __future__ import annotations

import math
import re
import shlex
from datetime import datetime, timedelta

from explorer.protocol.actions import EPOCH
from explorer.protocol.values.utc_times import render_minute, render_second

_HALF_CHARACTERS = re.compile("[\ud800-\udfff]")

UNKNOWN = "unknown"
"""What is shown where a value is not recorded or not read yet; never 0."""

MINUS = "\N{MINUS SIGN}"

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_COUNTS = ((10**12, "T"), (10**9, "B"), (10**6, "M"))
# controls but tab and line feed, and what overrides or isolates the direction of text
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_FORMULA_STARTS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  # the last four are wide forms


def well_formed(text: str) -> str:
    """A text of a browser, which may hold halves of characters, as one that can be written."""
    return text if text.isascii() else _HALF_CHARACTERS.sub("\N{REPLACEMENT CHARACTER}", text)


def visible(text: str) -> str:
    r"""`text` with every character that nobody sees, or that turns the order of those around
    it, as its escape: `a\u202ecod.exe`. Lines and tabs stay."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def shell_word(text: str) -> str:
    r"""`text` as one word of a shell, to be shown and copied: what nobody sees stands there as
    an escape that bash and zsh read, `$'a\u202ecod.exe'`."""
    if not _UNSEEN.search(text):
        return shlex.quote(text)
    inner = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{visible(inner)}'"


def cut(text: str, limit: int) -> str:
    """At most `limit` characters of `text` as it may be shown, see `visible`; a cut one ends
    in an ellipsis."""
    text = visible(text[:limit]) + text[limit : limit + 1]
    return text if len(text) <= limit else text[: limit - 1] + "\N{HORIZONTAL ELLIPSIS}"


def cut_middle(text: str, limit: int) -> str:
    """At most `limit` characters of a path as it may be shown, its ends kept."""
    text = visible(text)
    if len(text) <= limit:
        return text
    tail = (limit - 1) // 2
    return text[: limit - 1 - tail] + "\N{HORIZONTAL ELLIPSIS}" + text[-tail:]


def cut_path(path: str, limit: int) -> str:
    """At most `limit` characters of a data file's path, from which it can be told from others.

    Names of writers begin alike or with what is random, and end alike: of a name the end goes
    and its ending stays, of folders the middle.
    """
    text = visible(path)
    if len(text) <= limit:
        return text
    folder, slash, name = text.rpartition("/")
    folder = cut_middle(folder, limit // 3) + slash
    ending = name[name.rfind(".") :] if "." in name[-10:] else ""
    room = limit - len(folder) - len(ending) - 1
    if len(folder) + len(name) <= limit:
        return folder + name
    return folder + name[:room] + "\N{HORIZONTAL ELLIPSIS}" + ending


def split_names(text: str) -> list[str]:
    """What was typed with commas between; nothing where that is empty."""
    return [name.strip() for name in text.split(",") if name.strip()]


def last_part(uri: str) -> str:
    """The last name of a place: what people call a table that has no other."""
    return uri.rstrip("/").rpartition("/")[2] or uri


def format_count(number: int | None) -> str:
    """`1284` as `1,284`."""
    return UNKNOWN if number is None else f"{number:,}".replace("-", MINUS)


def format_many(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{format_count(number)} {noun}{'' if number == 1 else 's'}"


def format_short(number: int | None) -> str:
    """`1940000000` as `1.94 B`; below a million in full."""
    if number is None:
        return UNKNOWN
    for size, unit in _COUNTS:
        if abs(number) >= size:
            return f"{number / size:.2f} {unit}".replace("-", MINUS)
    return format_count(number)


def format_bytes(size: int | None) -> str:
    """`104857` as `102.4 KiB`."""
    if size is None:
        return UNKNOWN
    if abs(size) < 1024:
        return f"{size} B".replace("-", MINUS)
    value, unit = float(size), 0
    # 1023.95 would be printed as 1024.0 of the smaller unit
    while abs(value) >= 1023.95 and unit < len(_BINARY) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:,.1f} {_BINARY[unit]}".replace("-", MINUS)


def format_signed(number: int | None) -> str:
    """`5` as `+5`."""
    if number is None:
        return UNKNOWN
    return f"+{number:,}" if number >= 0 else format_count(number)


def format_signed_bytes(size: int | None) -> str:
    """`-1024` as `-1.0 KiB` with a true minus sign."""
    if size is None:
        return UNKNOWN
    return f"+{format_bytes(size)}" if size >= 0 else format_bytes(size)


def format_change(added: int | None, removed: int | None) -> str:
    """What one commit added and removed: `+13 -7`; a side that is not known is `?`."""
    if added is None and removed is None:
        return UNKNOWN
    plus = "+?" if added is None else f"+{added:,}"
    minus = f"{MINUS}?" if removed is None else f"{MINUS}{removed:,}"
    return f"{plus} {minus}"


def format_new_vectors(vectors: int | None) -> str:
    """How many files a commit gave a deletion vector, `44 with new deletion vectors`, which adds
    and removes none; empty where there is none."""
    if not vectors:
        return ""
    noun = "a new deletion vector" if vectors == 1 else "new deletion vectors"
    return f"{vectors:,} with {noun}"


def format_file_change(added: int | None, removed: int | None, vectors: int | None) -> str:
    """What one commit did to files: `+0 -0, 44 with new deletion vectors`."""
    return ", ".join(filter(None, (format_change(added, removed), format_new_vectors(vectors))))


def format_bytes_change(added: int | None, removed: int | None) -> str:
    """The bytes that one commit added and removed: `+13.0 KiB -7 B`."""
    if added is None and removed is None:
        return UNKNOWN
    plus = "?" if added is None else format_bytes(added)
    minus = "?" if removed is None else format_bytes(removed)
    return f"+{plus} {MINUS}{minus}"


def read_moment(milliseconds: float | None) -> datetime | None:
    """Milliseconds since the epoch as an aware time.

    None where there are none, or where they lie outside the years 1 to 9999: a
    log may hold any 64-bit number there.
    """
    if milliseconds is None or math.isnan(milliseconds):
        return None
    try:
        return EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None


def format_time(moment: datetime | None) -> str:
    """`2026-10-20 21:25:56 UTC`."""
    return UNKNOWN if moment is None else render_second(moment)


def format_moment(moment: datetime | None) -> str:
    """`2026-10-20 21:25 UTC`, where no header names the zone."""
    return UNKNOWN if moment is None else render_minute(moment)


def format_minute(moment: datetime | None) -> str:
    """`2026-10-20 21:25`, for columns whose header names the zone."""
    return UNKNOWN if moment is None else render_minute(moment).removesuffix(" UTC")


def format_age(moment: datetime | None, now: datetime) -> str:
    """How long ago `moment` was: `2 minutes ago`."""
    if moment is None:
        return "time unknown"
    seconds = int((now - moment).total_seconds())
    if seconds < 0:
        return "in the future"
    for size, unit in ((86400 * 365, "year"), (86400 * 30, "month"), (86400, "day"),
                       (3600, "hour"), (60, "minute")):  # fmt: skip
        if seconds >= size:
            count = seconds // size
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return "just now"


def format_share(part: int, whole: int) -> str:
    """`part` of `whole` in per cent; `<0.01%` rather than a zero that is none."""
    if whole == 0:
        return "0%"
    share = 100 * part / whole
    return "<0.01%" if 0 < share < 0.01 else f"{share:.2f}%"


def csv_cell(value: object) -> str:
    """One CSV cell, quoted; text that a spreadsheet would run gets a leading apostrophe."""
    if value is None:
        return ""
    text = str(value)
    if isinstance(value, str) and text.startswith(_FORMULA_STARTS):
        text = "'" + text
    if any(mark in text for mark in ',"\r\n'):
        text = '"' + text.replace('"', '""') + '"'
    return text
