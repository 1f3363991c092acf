"""One commit file: lines of JSON, one action each (spec: Delta Log Entries)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import orjson

from explorer.errors import CorruptLogError

Line = bytes | memoryview

# lines are split off in pieces of this size: large enough that splitting is all
# the work, small enough that the copies never count
_PIECE = 2**20

# a character of ASCII that JSON might have written as it is
_ESCAPE: Final = re.compile(rb"\\u00[2-7]")


def may_name(text: Line, *kinds: str) -> bool:
    r"""Whether lines of a log file may hold an action of one of these kinds: most texts that
    hold none are told without being parsed. `{"\u0061dd": ...}` is an add, too."""
    held = bytes(text)  # itself, unless it is a view
    for kind in kinds:
        if _quoted(kind) in held:
            return True
    return _ESCAPE.search(held) is not None


def holds_escapes(text: Line) -> bool:
    """Whether some JSON writes a printable character of ASCII as an escape, or may do so: what
    it holds cannot be told from its bytes then."""
    return _ESCAPE.search(text) is not None


@cache
def _quoted(kind: str) -> bytes:
    return f'"{kind}"'.encode()


def lines_backwards(data: bytes) -> Iterator[tuple[int, Line]]:
    """The lines of a log file that hold something, last first, with their number (1-based)."""
    if len(data) <= _PIECE:
        lines = data.split(b"\n")
        number = len(lines)
        for line in reversed(lines):
            if line and not line.isspace():
                yield number, line
            number -= 1
        return
    number = data.count(b"\n") + 1
    end = len(data)
    while end >= 0:
        start = data.rfind(b"\n", 0, max(0, end - _PIECE)) + 1
        if end - start > _PIECE and data.find(b"\n", start, end) < 0:
            yield number, memoryview(data)[start:end]  # one huge line is not copied
            number -= 1
        else:
            for line in reversed(data[start:end].split(b"\n")):
                if line and not line.isspace():
                    yield number, line
                number -= 1
        end = start - 1


def parse_action(line: Line, name: str, number: int) -> Mapping[str, Any]:
    """The object on one line of a log file.

    Raises `CorruptLogError`, with the place, for what is not JSON or not an object.
    """
    try:
        action = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise _not_an_action(name, number, f"is not JSON ({error.msg})") from error
    if type(action) is not dict:
        raise _not_an_action(name, number, "is JSON but not an object")
    return action


def _not_an_action(name: str, number: int, what: str) -> CorruptLogError:
    return CorruptLogError(
        f"The log is not readable at {name}:{number}.",
        reason=f"Line {number} {what}, so it is no action: it was cut off or written over.",
        remedy="Restore this log file from a backup; versions before it can still be opened.",
        spec="Delta Log Entries",
    )
