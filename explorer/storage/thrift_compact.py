"""Thrift's compact protocol, in which the footer of a Parquet file is written
(Parquet: File Metadata).

`CompactReader` walks through one; `parse_struct` turns one into a value that can be changed,
and `render_struct` is the way back. Both know ids and types, and no names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

STOP, TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(13)

Value: TypeAlias = Any
"""An int of the three widths, bytes of a binary or a double, a `Struct`, `(type, values)` of a
list or a set, `(type, type, pairs)` of a map (0, 0 for an empty one), one byte as an int, and
of a truth value that is a field None: its type says all."""

Struct: TypeAlias = dict[int, tuple[int, Value]]
"""The fields of a struct in their order: id, type and value."""

_NUMBERS: Final = frozenset({I16, I32, I64})
_TRUTH: Final = frozenset({TRUE, FALSE})
_MAX_DEPTH: Final = 32
_LONG: Final = 0x0F


def parse_struct(data: bytes) -> Struct:
    """The struct that `data` is, from its first byte to its last; raises `ValueError` where
    it is none."""
    reader = _ValueReader(data)
    try:
        found = reader.struct(0)
    except IndexError as error:
        raise ValueError("it ends too early") from error
    if not reader.is_at_end():
        raise ValueError("more follows after its end")
    return found


def render_struct(struct: Struct) -> bytes:
    """The shortest way to write `struct`: what writers of Parquet files write."""
    out = bytearray()
    _render_fields(out, struct)
    return bytes(out)


class CompactReader:
    """Bytes in Thrift's compact protocol, read from their beginning.

    Every value takes at least one byte, so that no claimed count outlasts them. What cannot
    be followed raises `IndexError` or `ValueError`.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def fields(self) -> Iterator[tuple[int, int]]:
        """The id and type of each field of a struct; its value must be read before the next."""
        field, data = 0, self._data
        while (head := data[self._at]) != STOP:
            self._at += 1
            field = field + (head >> 4) if head >> 4 else self.number()
            yield field, head & 0x0F
        self._at += 1

    def elements(self) -> tuple[int, int]:
        """The type of the elements of a list, and how many there are."""
        head = self.byte()
        count = head >> 4
        return head & 0x0F, self.varint() if count == _LONG else count

    def byte(self) -> int:
        """The next byte."""
        value = self._data[self._at]
        self._at += 1
        return value

    def varint(self) -> int:
        """A number without a sign."""
        # nearly all have one byte
        at = self._at
        byte = self._data[at]
        value, shift = byte & 0x7F, 7
        while byte & 0x80:
            if shift > 63:
                raise ValueError("a number of more than 64 bits")
            at += 1
            byte = self._data[at]
            value |= (byte & 0x7F) << shift
            shift += 7
        self._at = at + 1
        return value

    def number(self) -> int:
        """A number with a sign."""
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def binary(self) -> bytes:
        """Bytes, or what there is of them."""
        return self._take(self.varint())

    def skip(self, kind: int, depth: int = 0) -> None:
        """Go past a value of a type."""
        if depth > _MAX_DEPTH:
            raise ValueError("nested too deep")
        if kind in _NUMBERS:
            self.varint()
        elif kind == BINARY:
            length = self.varint()
            self._at += length
        elif kind in {BYTE, DOUBLE}:
            self._at += 1 if kind == BYTE else 8
        elif kind == STRUCT:
            for _, inner in self.fields():
                self.skip(inner, depth + 1)
        elif kind in {LIST, SET, MAP}:
            self._skip_container(kind, depth)
        elif kind not in _TRUTH:  # whose field's type is all there is
            raise ValueError("a type that Thrift does not have")

    def _skip_container(self, kind: int, depth: int) -> None:
        if kind != MAP:
            inner, count = self.elements()
            for _ in range(count):
                self._skip_element(inner, depth)
        elif count := self.varint():
            kinds = self.byte()
            for _ in range(count):
                self._skip_element(kinds >> 4, depth)
                self._skip_element(kinds & 0x0F, depth)

    def _skip_element(self, kind: int, depth: int) -> None:
        # in a list a truth value has a byte of its own
        self.skip(BYTE if kind in _TRUTH else kind, depth + 1)

    def _take(self, length: int) -> bytes:
        start = self._at
        self._at = start + length
        return self._data[start : self._at]


class _ValueReader(CompactReader):
    """What it reads it keeps."""

    def is_at_end(self) -> bool:
        return self._at == len(self._data)

    def struct(self, depth: int) -> Struct:
        if depth > _MAX_DEPTH:
            raise ValueError("nested too deep")
        found: Struct = {}
        for field, kind in self.fields():
            if field in found:
                raise ValueError("a field that stands there twice")
            found[field] = kind, None if kind in _TRUTH else self._value(kind, depth)
        return found

    def _value(self, kind: int, depth: int) -> Value:
        if kind in _NUMBERS:
            return self.number()
        if kind == BINARY:
            return self._exactly(self.varint())
        if kind in {BYTE, TRUE, FALSE}:
            return self.byte()
        if kind == DOUBLE:
            return self._exactly(8)
        if kind == STRUCT:
            return self.struct(depth + 1)
        return self._container(kind, depth + 1)

    def _container(self, kind: int, depth: int) -> Value:
        if depth > _MAX_DEPTH:
            raise ValueError("nested too deep")
        if kind in {LIST, SET}:
            inner, count = self.elements()
            return inner, [self._value(inner, depth) for _ in range(count)]
        if kind != MAP:
            raise ValueError("a type that Thrift does not have")
        if not (count := self.varint()):
            return 0, 0, []
        kinds = self.byte()
        key, item = kinds >> 4, kinds & 0x0F
        return (
            key,
            item,
            [(self._value(key, depth), self._value(item, depth)) for _ in range(count)],
        )

    def _exactly(self, length: int) -> bytes:
        found = self._take(length)
        if len(found) < length:
            raise ValueError("it ends too early")
        return found


def _render_fields(out: bytearray, struct: Struct) -> None:
    before = 0
    for field, (kind, value) in struct.items():
        if 0 < field - before < 16:
            out.append((field - before) << 4 | kind)
        else:
            out.append(kind)
            _render_number(out, field)
        before = field
        if kind not in _TRUTH:
            _render_value(out, kind, value)
    out.append(STOP)


def _render_value(out: bytearray, kind: int, value: Value) -> None:
    if kind in _NUMBERS:
        _render_number(out, value)
    elif kind == BINARY:
        _render_varint(out, len(value))
        out += value
    elif kind in {BYTE, TRUE, FALSE}:
        out.append(value)
    elif kind == DOUBLE:
        out += value
    elif kind == STRUCT:
        _render_fields(out, value)
    else:
        _render_container(out, kind, value)


def _render_container(out: bytearray, kind: int, value: Value) -> None:
    if kind == MAP:
        key, item, pairs = value
        _render_varint(out, len(pairs))
        if pairs:
            out.append(key << 4 | item)
        for one, other in pairs:
            _render_value(out, key, one)
            _render_value(out, item, other)
        return
    inner, values = value
    if len(values) < _LONG:
        out.append(len(values) << 4 | inner)
    else:
        out.append(_LONG << 4 | inner)
        _render_varint(out, len(values))
    for element in values:
        _render_value(out, inner, element)


def _render_number(out: bytearray, value: int) -> None:
    _render_varint(out, (value << 1) ^ (value >> 63))


def _render_varint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
