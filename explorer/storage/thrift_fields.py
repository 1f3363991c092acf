"""What the fields of a struct in Thrift's compact protocol hold, without their types: for
looking at the footers and page headers of Parquet files, of which there are many.

A footer has thousands of small numbers, and a call for each takes longer than reading it does.
So they are read where they stand, about twice as fast as by `parse_struct`, which keeps the types
and is for whoever writes.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from explorer.storage.thrift_compact import (
    BINARY,
    BYTE,
    DOUBLE,
    I16,
    MAX_DEPTH,
    STOP,
)

Fields: TypeAlias = dict[int, Any]
"""By id: an int of a number, bytes of a text (as many as there are of them), a list of a list or
a set, `Fields` of a struct, and None of everything else."""

_MORE: Final = 0x80
_LONG: Final = 0x0F
_TOO_DEEP: Final = "nested too deep"


def read_fields(data: bytes, at: int = 0, depth: int = 0) -> tuple[Fields, int]:
    """The struct that begins at a place, and where it ends.

    Every value takes at least one byte, so that no claimed count outlasts them. Raises
    `IndexError` where the bytes end too early, `ValueError` where they cannot be followed, and
    where a field stands there twice: which of the two counts, readers do not agree upon.
    """
    if depth > MAX_DEPTH:
        raise ValueError(_TOO_DEEP)
    found: Fields = {}
    field = 0
    while (head := data[at]) != STOP:
        at += 1
        if head >> 4:
            field += head >> 4
        else:
            field, at = _read_number(data, at, depth)
        if field in found:
            raise ValueError("a field that stands there twice")
        kind = head & 0x0F
        if not I16 <= kind <= BINARY or kind == DOUBLE:
            found[field], at = _AS_FIELD[kind](data, at, depth)
            continue
        value = data[at]
        at += 1
        if value >= _MORE:
            value, at = _read_varint(data, at - 1)
        if kind == BINARY:
            found[field] = data[at : at + value]
            at += value
        else:
            found[field] = (value >> 1) ^ -(value & 1)
    return found, at + 1


def number_in(fields: Fields, field: int, otherwise: int = 0) -> int:
    """The number that a field holds, or `otherwise` where it is not there or is no number."""
    found = fields.get(field)
    return found if isinstance(found, int) else otherwise


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while (byte := data[at]) >= _MORE:
        value |= (byte & 0x7F) << shift
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")
        at += 1
    return value | byte << shift, at + 1


def _read_number(data: bytes, at: int, _: int) -> tuple[int, int]:
    value = data[at]
    at += 1
    if value >= _MORE:
        value, at = _read_varint(data, at - 1)
    return (value >> 1) ^ -(value & 1), at


def _read_text(data: bytes, at: int, depth: int) -> tuple[bytes, int]:
    del depth
    length, at = _read_varint(data, at)
    return data[at : at + length], at + length


def _read_truth(data: bytes, at: int, depth: int) -> tuple[None, int]:
    del data, depth  # the type of the field is all there is of it
    return None, at


def _pass_byte(data: bytes, at: int, depth: int) -> tuple[None, int]:
    del depth
    if at >= len(data):  # or no count would be outlasted
        raise IndexError(at)
    return None, at + 1


def _pass_double(data: bytes, at: int, depth: int) -> tuple[None, int]:
    _pass_byte(data, at + 7, depth)
    return None, at + 8


def _read_list(data: bytes, at: int, depth: int) -> tuple[list[Any], int]:
    if depth >= MAX_DEPTH:
        raise ValueError(_TOO_DEEP)
    head = data[at]
    count, at = head >> 4, at + 1
    if count == _LONG:
        count, at = _read_varint(data, at)
    read = _AS_ELEMENT[head & 0x0F]
    found: list[Any] = []
    for _ in range(count):
        value, at = read(data, at, depth + 1)
        found.append(value)
    return found, at


def _pass_map(data: bytes, at: int, depth: int) -> tuple[None, int]:
    if depth >= MAX_DEPTH:
        raise ValueError(_TOO_DEEP)
    count, at = _read_varint(data, at)
    if count:
        key, item = _AS_ELEMENT[data[at] >> 4], _AS_ELEMENT[data[at] & 0x0F]
        at += 1
        for _ in range(count):
            _, at = key(data, at, depth + 1)
            _, at = item(data, at, depth + 1)
    return None, at


def _read_inner(data: bytes, at: int, depth: int) -> tuple[Fields, int]:
    return read_fields(data, at, depth + 1)


def _refuse(_data: bytes, _at: int, _: int) -> tuple[None, int]:
    raise ValueError("a type that Thrift does not have")


# by the number of a type
_AS_ELEMENT: Final = (
    _refuse,
    *[_pass_byte] * 3,  # in a list a truth value has a byte of its own
    *[_read_number] * 3,
    _pass_double,
    _read_text,
    *[_read_list] * 2,
    _pass_map,
    _read_inner,
    *[_refuse] * 3,
)
_AS_FIELD: Final = (_refuse, _read_truth, _read_truth, *_AS_ELEMENT[BYTE:])
