"""One commit file: lines of JSON, one action each (spec: Delta Log Entries)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from types import NoneType
from typing import Any, Final, Literal, NamedTuple

import orjson

from explorer.errors import CorruptLogError
from explorer.log.actions.fields import restore_remedy

Line = bytes | memoryview

# lines are split off in pieces of this size: large enough that splitting is all
# the work, small enough that the copies never count
_PIECE = 2**20

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_STRAY: Final = b"}x"
"""The end of a line as an old Databricks writer left it, behind an action that is whole."""

_FILE_KINDS: Final = ("add", "remove", "cdc")
_VALUES: Final = "partitionValues"
_TEXTS: Final = frozenset({str, NoneType})
_PLAIN: Final = frozenset({bool, int, float})

Deviation = Literal["byte order mark", "stray x", "partition value"]


class DeviatingLine(NamedTuple):
    """A line that deviates from the specification but whose action is unambiguous."""

    what: Deviation
    name: str
    number: int


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


def lines_reversed(data: bytes) -> Iterator[tuple[int, Line]]:
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


def parse_action(
    line: Line, name: str, number: int, odd: list[DeviatingLine] | None = None
) -> Mapping[str, Any]:
    """The object on one line of a log file.

    Other readers pass over a byte order mark before the first line and one stray `x` behind
    an action, and take partition values that are numbers or truth values as their texts; so
    does this one, and what it found goes into `odd`. Raises `CorruptLogError`, with the
    place, for what is not JSON or not an object.
    """
    try:
        action = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        line, found = _without_stray_bytes(line, name, number)
        try:
            action = orjson.loads(line)
        except orjson.JSONDecodeError:
            raise _not_an_action(name, number, f"is not JSON ({error.msg})") from error
        if odd is not None:
            odd += found
    if type(action) is not dict:
        raise _not_an_action(name, number, "is JSON but not an object")
    for kind in _FILE_KINDS:
        body = action.get(kind)
        if type(body) is dict and _has_plain_values(body.get(_VALUES)):
            body[_VALUES] = _values_as_texts(line, kind, name, number)
            if odd is not None:
                odd.append(DeviatingLine("partition value", name, number))
    return action


def _without_stray_bytes(line: Line, name: str, number: int) -> tuple[bytes, list[DeviatingLine]]:
    text, found = bytes(line).rstrip(), []
    if number == 1 and text.startswith(_BYTE_ORDER_MARK):
        text = text.removeprefix(_BYTE_ORDER_MARK)
        found.append(DeviatingLine("byte order mark", name, number))
    if text.endswith(_STRAY):
        text = text[:-1]
        found.append(DeviatingLine("stray x", name, number))
    return text, found


def _has_plain_values(values: Any) -> bool:
    """Whether some of the values are numbers or truth values, and none is an object or list."""
    if type(values) is not dict:
        return False
    kinds = set(map(type, values.values())) - _TEXTS  # a comprehension takes twice as long
    return bool(kinds) and kinds <= _PLAIN


def _values_as_texts(line: Line, kind: str, name: str, number: int) -> dict[str, str | None]:
    """The values with the digits of the line: as numbers of 64 bits they would lose some."""
    try:
        body = json.loads(bytes(line), parse_int=str, parse_float=str)
    except RecursionError as error:
        raise _not_an_action(name, number, "is nested too deep") from error
    values: Mapping[str, Any] = body[kind][_VALUES]
    return {
        column: str(value).lower() if type(value) is bool else value
        for column, value in values.items()
    }


def _not_an_action(name: str, number: int, what: str) -> CorruptLogError:
    return CorruptLogError(
        f"The log is not readable at {name}:{number}.",
        reason=f"Line {number} {what}, so it is not an action: it was cut off or written over, or "
        "its action goes over several lines, where each has one of its own.",
        remedy=restore_remedy(name),
        spec="Delta Log Entries",
    )
