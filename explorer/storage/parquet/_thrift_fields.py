"""Known fields of structs in Thrift's compact protocol: for looking at the footers and page
headers of Parquet files before a reader that Thrift has generated decodes them.

That reader takes a field of another type than it knows for one that is not there, and the
elements of a list for those that it knows, whatever the list says. To see the same as it does,
and not what a stranger would have us see, known fields must have their type. Numbers are read
where they stand, because a call for each takes longer than reading it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from explorer.storage.parquet._thrift_compact import (
    BINARY,
    BYTE,
    DOUBLE,
    FALSE,
    I16,
    I32,
    I64,
    LIST,
    MAP,
    MAX_DEPTH,
    SET,
    STOP,
    STRUCT,
    TRUE,
    read_varint,
)

Fields: TypeAlias = dict[int, Any]
"""By id: an int of a number, `Fields` of a struct, a list of `Fields` of a list of structs, and
None of everything else."""

_MORE: Final = 0x80
_LONG: Final = 0x0F
_GREATEST: Final = 2**15 - 1
_LIMITS: Final = {I16: 2**16, I32: 2**32, I64: 2**64}


class Wire(NamedTuple):
    """What a known field is, a number, a struct or a list: its type, of a list also that of its
    elements, and what is known of the structs that it has or is. Of a list without any, nothing
    is kept."""

    kind: int
    element: int = STOP
    fields: Mapping[int, Wire] | None = None


def read_fields(
    data: bytes, known: Mapping[int, Wire], at: int = 0, depth: int = 0
) -> tuple[Fields, int]:
    """The known fields of the struct that begins at a place, and where it ends.

    Every value takes at least one byte, so that no claimed count outlasts them. Raises
    `IndexError` where the bytes end too early, and `ValueError` where they cannot be followed,
    where a known field is of another type or stands there twice, and for numbers that do not
    fit into their type, of which other readers keep a part.
    """
    found: Fields = {}
    field = 0
    while (head := data[at]) != STOP:
        at += 1
        if head >> 4:
            field += head >> 4
        else:
            field, at = _read_number(data, at, I16)
        if field > _GREATEST:
            raise ValueError("a field whose number is too large")
        kind = head & 0x0F
        if (wire := known.get(field)) is None:
            at = _skip_field(data, at, kind, depth)
        elif kind != wire.kind or field in found:
            raise ValueError("a field of another type, or one that stands there twice")
        elif I16 <= kind <= I64:
            found[field], at = _read_number(data, at, kind)
        else:
            found[field], at = _read_structs(data, at, wire, depth)
    return found, at + 1


def number_in(fields: Fields, field: int, otherwise: int = 0) -> int:
    """The number that a field holds, or `otherwise` where it does not exist."""
    found = fields.get(field, otherwise)
    assert isinstance(found, int)
    return found


def _read_number(data: bytes, at: int, kind: int) -> tuple[int, int]:
    value = data[at]
    at += 1
    if value >= _MORE:
        value, at = read_varint(data, at - 1)
        if value >= _LIMITS[kind]:
            raise ValueError("a number that is too large")
    return (value >> 1) ^ -(value & 1), at


def _read_structs(data: bytes, at: int, wire: Wire, depth: int) -> tuple[Any, int]:
    """A struct, or those of a list; in a list of other things, past them."""
    if wire.kind == STRUCT:
        return read_fields(data, wire.fields or {}, at, depth + 1)
    kind, count, at = _read_head(data, at)
    if count and kind != wire.element:
        raise ValueError("a list of another type")
    if wire.fields is None:
        return None, _skip(data, at, wire.element, count, depth + 1)
    found: list[Fields] = []
    for _ in range(count):
        value, at = read_fields(data, wire.fields, at, depth + 1)
        found.append(value)
    return found, at


def _read_head(data: bytes, at: int) -> tuple[int, int, int]:
    """The type of the elements of a list, how many there are, and where they begin."""
    head = data[at]
    if head >> 4 != _LONG:
        return head & 0x0F, head >> 4, at + 1
    count, at = read_varint(data, at + 1)
    return head & 0x0F, count, at


def _skip_field(data: bytes, at: int, kind: int, depth: int) -> int:
    if kind in {TRUE, FALSE}:  # the type is all there is of the field
        return at
    return _skip(data, at, kind, 1, depth)


def _skip(data: bytes, at: int, kind: int, count: int, depth: int) -> int:
    """Where so many values end that stand one after the other."""
    if depth > MAX_DEPTH:
        raise ValueError("nested too deep")
    if (past := _PAST.get(kind)) is None:
        raise ValueError("a type that Thrift does not have")
    return past(data, at, count, depth)


def _past_numbers(data: bytes, at: int, count: int, _: int) -> int:
    for _ in range(count):
        while data[at] >= _MORE:
            at += 1
        at += 1
    return at


def _past_bytes(data: bytes, at: int, count: int, _: int) -> int:
    if at + count > len(data):  # or a count would outlast them
        raise IndexError(at + count)
    return at + count


def _past_doubles(data: bytes, at: int, count: int, depth: int) -> int:
    return _past_bytes(data, at, 8 * count, depth)


def _past_texts(data: bytes, at: int, count: int, _: int) -> int:
    for _ in range(count):
        length, at = read_varint(data, at)
        at += length
    return at


def _past_structs(data: bytes, at: int, count: int, depth: int) -> int:
    for _ in range(count):
        while (head := data[at]) != STOP:
            at += 1
            if not head >> 4:
                _, at = read_varint(data, at)
            at = _skip_field(data, at, head & 0x0F, depth + 1)
        at += 1
    return at


def _past_lists(data: bytes, at: int, count: int, depth: int) -> int:
    for _ in range(count):
        kind, inner, at = _read_head(data, at)
        at = _skip(data, at, kind, inner, depth + 1)
    return at


def _past_maps(data: bytes, at: int, count: int, depth: int) -> int:
    for _ in range(count):
        pairs, at = read_varint(data, at)
        if not pairs:
            continue
        kinds = data[at]
        at += 1
        for _ in range(pairs):
            at = _skip(data, at, kinds >> 4, 1, depth + 1)
            at = _skip(data, at, kinds & 0x0F, 1, depth + 1)
    return at


_PAST: Final = {
    **dict.fromkeys((TRUE, FALSE, BYTE), _past_bytes),  # in a list a truth value has a byte
    **dict.fromkeys((I16, I32, I64), _past_numbers),
    DOUBLE: _past_doubles,
    BINARY: _past_texts,
    **dict.fromkeys((LIST, SET), _past_lists),
    MAP: _past_maps,
    STRUCT: _past_structs,
}
