"""Parquet files of one column put together from their smallest parts, so that each can say what
no writer would.

A struct is a list of `(field, type, value)` in any order; `Raw` stands for bytes as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from explorer.storage.parquet._thrift_compact import BINARY, I32, I64, LIST, STRUCT

Parts: TypeAlias = list[tuple[int, int, Any]]

TEXT = b"\x01\0\0\0x"
"""A dictionary of one text."""
_INDEX = b"\x01\x02\0"  # a run of one value, the first of the dictionary


class Raw(bytes):
    """What takes the place of a value."""


def varint(number: int) -> Raw:
    """A number without a sign, of any size."""
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return Raw([*found, number])


def zigzag(number: int) -> int:
    """A number with a sign as one without."""
    return number << 1 if number >= 0 else (-number << 1) - 1


def forge_struct(parts: Parts) -> bytes:
    """The bytes of a struct."""
    found, before = bytearray(), 0
    for field, kind, value in parts:
        if 0 < field - before < 16:
            found.append((field - before) << 4 | kind)
        else:
            found.append(kind)
            found += varint(zigzag(field))
        before = field
        found += _value(kind, value)
    return bytes(found) + b"\0"


def _value(kind: int, value: Any) -> bytes:
    if isinstance(value, Raw):
        return value
    if kind == BINARY:
        return varint(len(value)) + bytes(value)
    if kind == STRUCT:
        return forge_struct(value)
    if kind == LIST:
        inner, values = value
        return (
            bytes([0xF0 | inner])
            + varint(len(values))
            + b"".join(_value(inner, each) for each in values)
        )
    return varint(zigzag(value))


def dictionary_page(num_values: int, size: int = len(TEXT), more: Parts | None = None) -> bytes:
    """A page with a dictionary of one text, and with `num_values` by its own account."""
    counts: Parts = [(1, I32, num_values), (2, I32, 0)]
    header: Parts = [(1, I32, 2), (2, I32, size), (3, I32, len(TEXT)), (7, STRUCT, counts)]
    return forge_struct(header + (more or [])) + TEXT


def data_page() -> bytes:
    """A page with one value of the dictionary."""
    size = len(_INDEX)
    counts: Parts = [(1, I32, 1), (2, I32, 8), (3, I32, 3), (4, I32, 3)]
    header: Parts = [(1, I32, 0), (2, I32, size), (3, I32, size), (5, STRUCT, counts)]
    return forge_struct(header) + _INDEX


def forge_file(
    pages: Sequence[bytes],
    change: Callable[[Parts], Parts] = lambda parts: parts,
    *,
    created_by: bytes = b"nobody",
    name: bytes = b"a",
) -> bytes:
    """A file with a column of texts that these pages are, the first of them a dictionary, the
    last one of data; `change` makes another `ColumnMetaData` of an honest one."""
    start, size = 4, sum(map(len, pages))
    column: Parts = [
        *((1, I32, 6), (2, LIST, (I32, [0, 8])), (3, LIST, (BINARY, [name])), (4, I32, 0)),
        *((5, I64, 1), (6, I64, size), (7, I64, size)),
        *((9, I64, start + size - len(pages[-1])), (11, I64, start)),
    ]
    chunk: Parts = [(2, I64, start), (3, STRUCT, change(column))]
    group: Parts = [(1, LIST, (STRUCT, [chunk])), (2, I64, size), (3, I64, 1)]
    root: Parts = [(4, BINARY, b"schema"), (5, I32, 1)]
    leaf: Parts = [(1, I32, 6), (3, I32, 0), (4, BINARY, name), (6, I32, 0)]
    footer = forge_struct(
        [
            *((1, I32, 1), (2, LIST, (STRUCT, [root, leaf])), (3, I64, 1)),
            *((4, LIST, (STRUCT, [group])), (6, BINARY, created_by)),
        ]
    )
    return end_with(b"PAR1" + b"".join(pages), footer)


def end_with(body: bytes, footer: bytes) -> bytes:
    """A file that ends with a footer."""
    return body + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def replaced(field: int, *parts: tuple[int, int, Any]) -> Callable[[Parts], Parts]:
    """For `forge_file`: these instead of a field."""

    def change(column: Parts) -> Parts:
        at = next(at for at, part in enumerate(column) if part[0] == field)
        return [*column[:at], *parts, *column[at + 1 :]]

    return change
