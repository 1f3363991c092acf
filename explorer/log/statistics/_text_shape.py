"""The shape of a text in JSON: all of it that is not a value (spec: Per-file Statistics).

Most statistics of a table have one shape, the same names in the same order. Where each
value of such a text stands follows from where its commas stand, or its quotes.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from explorer.protocol.actions import FieldPath
from explorer.protocol.hooked_json import refuse_constant, without_duplicates
from explorer.records import record

# a string, a brace, or a number or word, where there are no escapes
_TOKEN: Final = re.compile(rb'"[^"]*"|[{}]|[^"{}:, ]+')

# an escape could hide a quote
_UNSUITED: Final = re.compile(r"[\\\x00-\x1f]")


@record
class Slot:
    """Where a value stands, by the names on the way to it; `is_text` in quotes."""

    path: FieldPath
    is_text: bool


@record
class Anchors:
    """Where literals and values begin and end, told from the places of one byte, a mark.

    A text's `2 * len(slots) + 2` borders, its start and its end among them, are marks of
    it moved by some bytes: border `i` is `marks[anchors[i]] + moves[i]`, where the marks
    are its start, the `count` places of the byte in its literals, and its end. `apart` are
    the literals whose two borders hang on different marks.
    """

    count: int
    anchors: npt.NDArray[np.intp]
    moves: npt.NDArray[np.int32]
    apart: npt.NDArray[np.intp]


@record
class TextShape:
    """Literals and values in turns, from the first literal to the last one.

    - `slots` are the values, `objects` the ways to objects
    - `literals` are the bytes of all literals in one row, `lengths` of each one
    - `commas` and `quotes` say where each begins. Of quotes there are no others than those
      of the literals, where there are no escapes; a comma may also stand in a value
    """

    slots: tuple[Slot, ...]
    objects: frozenset[FieldPath]
    literals: bytes
    lengths: npt.NDArray[np.int32]
    commas: Anchors
    quotes: Anchors


def parse_shape(text: str) -> TextShape | None:
    """The shape of a text; None where it is not an object of JSON, an empty one, or one with
    escapes, lists, control characters, or a name that stands twice in an object."""
    if _UNSUITED.search(text) is not None:
        return None
    try:
        body = json.loads(
            text,
            parse_int=str,  # not asked for, and Python would mind very long ones
            parse_float=str,
            parse_constant=refuse_constant,
            object_pairs_hook=without_duplicates,
        )
        return _build(text.encode()) if isinstance(body, dict) and body else None
    except (ValueError, RecursionError):
        return None


@record
class _Value:
    """A value, its first byte, and the byte behind it."""

    slot: Slot
    start: int
    end: int


def _build(data: bytes) -> TextShape:
    objects: set[FieldPath] = set()
    values = list(_values(data, objects))
    inner = [place for value in values for place in (value.start, value.end)]
    borders = [0, *inner, len(data)]
    spans = [*zip(borders[::2], borders[1::2], strict=True)]
    commas, quotes = (_anchors(data, borders, spans, mark) for mark in b',"')
    return TextShape(
        slots=tuple(value.slot for value in values),
        objects=frozenset(objects),
        literals=b"".join(data[start:end] for start, end in spans),
        lengths=np.array([end - start for start, end in spans], np.int32),
        commas=commas,
        quotes=quotes,
    )


def _anchors(data: bytes, borders: list[int], spans: list[tuple[int, int]], mark: int) -> Anchors:
    """Between two values stand a comma and a name in quotes: so a value begins and ends some
    bytes of a literal away from the nearest mark, or from an end of the text."""
    places = [at for start, end in spans for at in range(start, end) if data[at] == mark]
    marks = [0, *places, len(data)]
    anchors = [0]
    for border in borders[1:-1:2]:
        before = bisect_left(places, border)
        anchors += [before, before + 1]
    anchors.append(len(marks) - 1)
    moves = [border - marks[anchor] for border, anchor in zip(borders, anchors, strict=True)]
    apart = [at for at in range(len(spans)) if anchors[2 * at] != anchors[2 * at + 1]]
    return Anchors(
        count=len(places),
        anchors=np.array(anchors, np.intp),
        moves=np.array(moves, np.int32),
        apart=np.array(apart, np.intp),
    )


def _values(data: bytes, objects: set[FieldPath]) -> Iterator[_Value]:
    """The values of one object, in their order; the ways to objects go into `objects`."""
    parents: list[str] = []
    name: str | None = None
    for found in _TOKEN.finditer(data):
        token = found.group()
        is_text = token.startswith(b'"')
        if token == b"{":
            parents += [] if name is None else [name]
            objects.add(tuple(parents))
            name = None
        elif token == b"}":
            del parents[-1:]
        elif token.startswith(b"["):
            raise ValueError("a list")
        elif name is None:
            name = token[1:-1].decode()
        else:
            slot = Slot(path=(*parents, name), is_text=is_text)
            start, end = found.start() + is_text, found.end() - is_text
            yield _Value(slot=slot, start=start, end=end)
            name = None
