"""The shape of a text in JSON: all of it that is no value (spec: Per-file Statistics).

Most statistics of a table have one shape, the same names in the same order. Where each
value of such a text stands follows from where its quotes stand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from explorer.log.single_text import FieldPath, without_duplicates

# a string, a brace, or a number or word, where there are no escapes
_TOKEN: Final = re.compile(rb'"[^"]*"|[{}]|[^"{}:, ]+')

# an escape could hide a quote
_UNSUITED: Final = re.compile(r"[\\\x00-\x1f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Where a value stands, by the names on the way to it; `is_text` in quotes."""

    path: FieldPath
    is_text: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TextShape:
    """Literals and values in turns, from the first literal to the last one.

    - `slots` are the values, `objects` the ways to objects
    - `literals` are the bytes of all literals in one row, `lengths` of each one
    - a text's `2 * len(slots) + 2` borders, its start and its end among them, are marks
      of it moved by some bytes: border `i` is `marks[anchors[i]] + moves[i]`, where the
      marks are its start, its `num_quotes` quotes, and its end
    """

    slots: tuple[Slot, ...]
    objects: frozenset[FieldPath]
    num_quotes: int
    literals: bytes
    lengths: npt.NDArray[np.int32]
    anchors: npt.NDArray[np.intp]
    moves: npt.NDArray[np.int32]


def parse_shape(text: str) -> TextShape | None:
    """The shape of a text; None where it is no object of JSON, an empty one, or one with
    escapes, lists, control characters, or a name that stands twice in an object."""
    if _UNSUITED.search(text) is not None:
        return None
    try:
        body = json.loads(
            text,
            parse_int=str,  # not asked for, and Python would mind very long ones
            parse_float=str,
            parse_constant=_refuse,
            object_pairs_hook=without_duplicates,
        )
        return _build(text.encode()) if isinstance(body, dict) and body else None
    except (ValueError, RecursionError):
        return None


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Value:
    """A value, its first byte, the byte behind it, and the quotes before its first byte."""

    slot: Slot
    start: int
    end: int
    quotes: int


def _build(data: bytes) -> TextShape:
    objects: set[FieldPath] = set()
    values = list(_values(data, objects))
    quotes = [found.start() for found in re.finditer(b'"', data)]
    marks = [0, *quotes, len(data)]
    borders, anchors = [0], [0]
    for value in values:
        borders += [value.start, value.end]
        anchors += [value.quotes, value.quotes + 1]  # of names, where its own are none
    borders.append(len(data))
    anchors.append(len(marks) - 1)
    literals = [data[start:end] for start, end in zip(borders[::2], borders[1::2], strict=True)]
    moves = [border - marks[anchor] for border, anchor in zip(borders, anchors, strict=True)]
    return TextShape(
        slots=tuple(value.slot for value in values),
        objects=frozenset(objects),
        num_quotes=len(quotes),
        literals=b"".join(literals),
        lengths=np.array([len(literal) for literal in literals], np.int32),
        anchors=np.array(anchors, np.intp),
        moves=np.array(moves, np.int32),
    )


def _values(data: bytes, objects: set[FieldPath]) -> Iterator[_Value]:
    """The values of one object, in their order; the ways to objects go into `objects`."""
    parents: list[str] = []
    name: str | None = None
    quotes = 0
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
            yield _Value(slot=slot, start=start, end=end, quotes=quotes + is_text)
            name = None
        quotes += 2 * is_text
