"""Thrift's compact protocol, in which the footer of a Parquet file is written
(Parquet: File Metadata).

`parse_struct` turns one into a value that can be changed, and `render_struct` is the way back.
Both know ids and types, and no names. Who only looks has `thrift_fields`.
"""

from __future__ import annotations

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
MAX_DEPTH: Final = 32
"""How deep values may lie in each other."""

_LONG: Final = 0x0F


def parse_struct(data: bytes) -> Struct:
    """The struct that `data` is, from its first byte to its last; raises `ValueError` where
    it is none."""
    reader = _Reader(data)
    try:
        found = reader.struct(0)
    except IndexError as error:
        raise ValueError("it ends too early") from error
    if not reader.is_at_end():
        raise ValueError("more follows after its end")
    return found


def parse_struct_at(data: bytes, at: int) -> tuple[Struct, int]:
    """The struct that begins at a place, and where it ends; raises `ValueError` where it is none,
    and `IndexError` where the bytes end too early."""
    reader = _Reader(data, at)
    return reader.struct(0), reader.place


def number_in(struct: Struct, field: int) -> int:
    """A field that holds a whole number; raises `KeyError` where it is not there, and `TypeError`
    where it holds something else."""
    found: Any = struct[field][1]
    if not isinstance(found, int):
        raise TypeError
    return found


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number without a sign that begins at a place, and where it ends; raises `ValueError`
    for one of more than 64 bits, of which other readers keep a part, and `IndexError` where the
    bytes end too early."""
    value = shift = 0
    while (byte := data[at]) > 0x7F:
        value |= (byte & 0x7F) << shift
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")
        at += 1
    value |= byte << shift
    if value >> 64:
        raise ValueError("a number of more than 64 bits")
    return value, at + 1


def render_varint(value: int) -> bytes:
    """The inverse of `read_varint`, for a number without a sign."""
    out = bytearray()
    _render_varint(out, value)
    return bytes(out)


def render_struct(struct: Struct) -> bytes:
    """The shortest way to write `struct`: what writers of Parquet files write."""
    out = bytearray()
    _render_fields(out, struct)
    return bytes(out)


class _Reader:
    """Walks through bytes in Thrift's compact protocol, from their beginning; raises
    `IndexError` where they end too early.

    Every value takes at least one byte, so that no claimed count outlasts them.
    """

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data = data
        self._at = at

    @property
    def place(self) -> int:
        return self._at

    def is_at_end(self) -> bool:
        return self._at == len(self._data)

    def struct(self, depth: int) -> Struct:
        if depth > MAX_DEPTH:
            raise ValueError("nested too deep")
        field = 0
        found: Struct = {}
        while (head := self._byte()) != STOP:
            field = field + (head >> 4) if head >> 4 else self._number()
            kind = head & 0x0F
            if field in found:
                raise ValueError("a field that stands there twice")
            found[field] = kind, None if kind in _TRUTH else self._value(kind, depth)
        return found

    def _value(self, kind: int, depth: int) -> Value:
        if kind in _NUMBERS:
            return self._number()
        if kind == BINARY:
            return self._exactly(self._varint())
        if kind in {BYTE, TRUE, FALSE}:
            return self._byte()
        if kind == DOUBLE:
            return self._exactly(8)
        if kind == STRUCT:
            return self.struct(depth + 1)
        return self._container(kind, depth + 1)

    def _container(self, kind: int, depth: int) -> Value:
        if depth > MAX_DEPTH:
            raise ValueError("nested too deep")
        if kind in {LIST, SET}:
            head = self._byte()
            inner, count = head & 0x0F, head >> 4
            if count == _LONG:
                count = self._varint()
            return inner, [self._value(inner, depth) for _ in range(count)]
        if kind != MAP:
            raise ValueError("a type that Thrift does not have")
        if not (count := self._varint()):
            return 0, 0, []
        kinds = self._byte()
        key, item = kinds >> 4, kinds & 0x0F
        pairs = [(self._value(key, depth), self._value(item, depth)) for _ in range(count)]
        return key, item, pairs

    def _byte(self) -> int:
        value = self._data[self._at]
        self._at += 1
        return value

    def _varint(self) -> int:
        value, self._at = read_varint(self._data, self._at)
        return value

    def _number(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _exactly(self, length: int) -> bytes:
        found = self._data[self._at : self._at + length]
        if len(found) < length:
            raise IndexError(length)
        self._at += length
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
