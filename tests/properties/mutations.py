"""Real logs with something wrong in them, each the work of one seed."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests.json_escapes import with_escapes

Kind = Literal["text", "parquet", "names", "escapes"]
KINDS: tuple[Kind, ...] = ("text", "parquet", "names", "escapes")
"""What is changed; `escapes` writes the same in another way."""

_SPECIAL = (
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\\ud800",
    b"\r\n",
    b"\n",
    b"1e400",
    b"-1",
    b"9" * 40,
    b"null",
    b"[" * 2000,
    b'{"a":' * 2000,
    b'"' + b"x" * 20_000 + b'"',
    b"../",
    b"%zz%00%",
)
_VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**63,
    1.5,
    "",
    "x",
    "\u0000",
    [],
    [1],
    {},
    {"a": 1},
    "[" * 5000,
)


@dataclass(frozen=True)
class Mutation:
    """What was done: `target` is the file's name below the log folder."""

    table: str
    kind: Kind
    target: str
    how: str
    only_footer: bool = False


def copy_log(source: Path, root: Path) -> Path:
    """A table's log folder below `root`, without its data files."""
    return Path(shutil.copytree(source / "_delta_log", root / "_delta_log"))


def mutate(log: Path, table: str, kind: Kind, dice: random.Random) -> Mutation | None:
    """Change one thing in a log folder; None where it has nothing of the kind."""
    files = sorted(place for place in log.rglob("*") if place.is_file())
    parquet = [place for place in files if place.suffix == ".parquet"]
    text = [place for place in files if place.suffix in {".json", ".crc"} or _is_hint(place)]
    chosen = {"text": text, "parquet": parquet, "names": files, "escapes": text}[kind]
    if not chosen:
        return None
    place = dice.choice(chosen)
    if kind == "names":
        how = _change_name(place, files, dice)
        return Mutation(table=table, kind=kind, target=_name(log, place), how=how)
    data = place.read_bytes()
    if kind == "escapes":
        how = _write_escapes(place, data, dice)
        return Mutation(table=table, kind=kind, target=_name(log, place), how=how)
    if kind == "parquet":
        changed, how = _change_bytes(data, dice)
        place.write_bytes(changed)
        footer = _footer(data)
        same_pages = len(changed) == len(data) and changed[:footer] == data[:footer]
        return Mutation(
            table=table, kind=kind, target=_name(log, place), how=how, only_footer=same_pages
        )
    change = dice.choice((_change_bytes, _change_lines, _change_value, _change_value))
    changed, how = change(data, dice)
    place.write_bytes(changed)
    return Mutation(table=table, kind=kind, target=_name(log, place), how=how)


def _is_hint(place: Path) -> bool:
    return place.name == "_last_checkpoint"


def _name(log: Path, place: Path) -> str:
    return place.relative_to(log).as_posix()


def _footer(data: bytes) -> int:
    """Where the footer of a Parquet file begins."""
    return len(data) - 8 - int.from_bytes(data[-8:-4], "little")


def _change_bytes(data: bytes, dice: random.Random) -> tuple[bytes, str]:
    at = dice.randrange(len(data) + 1)
    end = min(len(data), at + dice.choice((1, 1, 4, 100)))
    how = dice.choice(("flip", "flip", "flip", "cut", "drop", "double", "zero", "splice", "empty"))
    if how == "flip":
        changed = bytearray(data)
        for _ in range(dice.choice((1, 1, 1, 8)) if data else 0):
            changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
        return bytes(changed), how
    middle: Callable[[], bytes] = {
        "cut": lambda: b"",
        "drop": lambda: data[end:],
        "double": lambda: data[at:end] * 2 + data[end:],
        "zero": lambda: bytes(end - at) + data[end:],
        "splice": lambda: dice.choice(_SPECIAL) + data[at:],
        "empty": lambda: b"",
    }[how]
    return (b"" if how == "empty" else data[:at]) + middle(), how


def _change_lines(data: bytes, dice: random.Random) -> tuple[bytes, str]:
    lines = data.splitlines(keepends=True)
    if not lines:
        return b"\n", "blank line"
    one, two = dice.randrange(len(lines)), dice.randrange(len(lines))
    how = dice.choice(("drop line", "double line", "swap lines", "join lines", "move line"))
    if how == "drop line":
        del lines[one]
    elif how == "double line":
        lines.insert(two, lines[one])
    elif how == "swap lines":
        lines[one], lines[two] = lines[two], lines[one]
    elif how == "join lines":
        lines[one] = lines[one].rstrip()
    else:
        lines.insert(two, lines.pop(one))
    return b"".join(lines), how


def _change_value(data: bytes, dice: random.Random) -> tuple[bytes, str]:
    """One value of one line replaced by another, or gone."""
    lines = data.splitlines()
    at = dice.randrange(len(lines)) if lines else 0
    try:
        action = json.loads(lines[at])
    except (ValueError, IndexError):
        return _change_bytes(data, dice)
    places = list(_places(action))
    if not places:
        return _change_bytes(data, dice)
    holder, key = dice.choice(places)
    how = f"value of {key!r}"
    if dice.random() < 0.2:
        del holder[key]
        how = f"no {key!r}"
    else:
        holder[key] = dice.choice(_VALUES)
    lines[at] = json.dumps(action, ensure_ascii=False).encode()
    return b"\n".join(lines) + b"\n", how


def _write_escapes(place: Path, data: bytes, dice: random.Random) -> str:
    """Letters of the first key or two in all lines, or of all keys and texts in one line, as
    escapes. Its time stays."""
    time = place.stat().st_mtime_ns
    lines = data.splitlines(keepends=True)
    strings, share = dice.choice((1, 2, 0)), dice.choice((0.2, 1.0))
    some = dice.sample(range(len(lines)), len(lines) if strings else min(1, len(lines)))
    for at in some:
        lines[at] = with_escapes(lines[at], strings, lambda: dice.random() < share)
    place.write_bytes(b"".join(lines))
    os.utime(place, ns=(time, time))
    return f"{share} of {strings or 'all'} strings in {len(some)} lines"


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every container with every key of it, inside a JSON value."""
    found: list[tuple[Any, Any]] = []
    pending = [value]
    while pending:
        holder = pending.pop()
        if isinstance(holder, dict):
            found.extend((holder, key) for key in holder)
            pending.extend(holder.values())
        elif isinstance(holder, list):
            found.extend((holder, key) for key in range(len(holder)))
            pending.extend(holder)
    return found


def _change_name(place: Path, files: list[Path], dice: random.Random) -> str:
    how = dice.choice(("delete", "rename", "swap", "copy", "stray", "folder"))
    other = dice.choice(files)
    if how == "delete":
        place.unlink()
    elif how == "rename":
        place.rename(_renumbered(place, dice))
    elif how == "swap" and other.suffix == place.suffix and other != place:
        one, two = place.read_bytes(), other.read_bytes()
        place.write_bytes(two)
        other.write_bytes(one)
    elif how == "copy":
        _renumbered(place, dice).write_bytes(place.read_bytes())
    elif how == "folder":
        place.unlink()
        place.mkdir()
    else:
        how = "stray"
        place.rename(place.with_name("x" * 200 + place.name[-40:]))
    return how


def _renumbered(place: Path, dice: random.Random) -> Path:
    """The same kind of name with another version, where it has one."""
    version = dice.choice((0, 1, 2, 3, 10, 99, 2**63 - 1, 2**63))
    name = place.name
    new = f"{version:020}{name[20:]}" if name[:20].isdigit() else f"{version:020}.json"
    return place.with_name(new)
