"""Variants in their binary encoding (spec: Variant Data Type; Parquet: Variant Binary Encoding).

A variant is two binaries. `metadata` is a dictionary of field names; `value` is
a header byte and what it announces, where an object's fields name themselves by
their place in the dictionary::

    metadata   header, size, offsets, names
    value      02 01 00 00 02 0c 07 with the names ["key"] is {"key": 7}

Both are hostile: every offset is checked, no value may lie in another twice, and
depth and size of the answer are bounded.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Literal, NoReturn, TypeAlias
from uuid import UUID

from explorer.errors import CorruptDataError, UnsupportedError

SPEC = "Variant Data Type"
MAX_DEPTH = 200
"""Nesting that is followed; Python itself follows about a thousand calls."""

TemporalKind = Literal[
    "date", "time", "timestamp", "timestamp_ntz", "timestamp_nanos", "timestamp_ntz_nanos"
]


@dataclass(frozen=True, slots=True)
class Temporal:
    """A date in days, a time of day in microseconds, or a timestamp in micro- or
    nanoseconds since 1970, each as wide as its encoding: Python's own are narrower."""

    kind: TemporalKind
    number: int


class Float32(float):
    """A number of single precision, which is shown with fewer digits."""

    __slots__ = ()


Variant: TypeAlias = (
    "bool | int | float | Decimal | str | bytes | UUID | Temporal"
    " | list[Variant] | dict[str, Variant] | None"
)
"""A decoded variant: `Temporal` and `Float32` keep what Python's own types would lose."""

_VERSION = 1
_MAX_SCALE = 38
_DAY = 86_400_000_000


def parse_field_names(metadata: bytes) -> tuple[str, ...]:
    """The dictionary of field names; raises `CorruptDataError`."""
    if not metadata:
        refuse("Its metadata is empty.")
    header = metadata[0]
    if header & 0x0F != _VERSION:
        raise UnsupportedError(
            "A variant is encoded in an unknown way.",
            reason=f"Its metadata says version {header & 0x0F}; 1 is known.",
            remedy="Read this column with the engine that wrote it.",
            spec=SPEC,
        )
    width = (header >> 6) + 1
    count = _unsigned(metadata, 1, width)
    first = 1 + width * (count + 2)
    if first > len(metadata):
        refuse(f"Its metadata claims {count} names, more than its {len(metadata)} bytes hold.")
    offsets = _numbers(metadata, 1 + width, width, count + 1)
    total = len(metadata) - first
    if any(low > high for low, high in zip(offsets, [*offsets[1:], total], strict=True)):
        refuse("The offsets of its metadata do not ascend, or leave it.")
    return tuple(_text(metadata[first + low : first + high]) for low, high in pairwise(offsets))


def parse_variant(value: bytes, names: Sequence[str], depth: int = 0) -> Variant:
    """The variant that `value` encodes with the dictionary `names`.

    `depth` is how deep it already lies. Raises `CorruptDataError`, and
    `UnsupportedError` for types that the encoding gained later.
    """
    found, _ = _Reader(value, names).read(0, depth)
    return found


def make_decimal(unscaled: int, scale: int) -> Decimal:
    """`unscaled` / 10^`scale`, exactly."""
    digits = tuple(map(int, str(abs(unscaled))))
    return Decimal((int(unscaled < 0), digits, -scale))


def make_time(number: int) -> Temporal:
    """A time of day from microseconds since midnight; raises `CorruptDataError`."""
    if not 0 <= number < _DAY:
        refuse(f"A time of day lies {number} microseconds after midnight.")
    return Temporal("time", number)


def check_depth(depth: int) -> None:
    """Raise `UnsupportedError` where a value lies deeper than is followed."""
    if depth > MAX_DEPTH:
        raise UnsupportedError(
            "A variant is nested too deeply.",
            reason=f"Objects and arrays are followed to a depth of {MAX_DEPTH}.",
            remedy="Read this column with the engine that wrote it.",
            kind="limit_exceeded",
            spec=SPEC,
        )


def refuse(reason: str, cause: Exception | None = None) -> NoReturn:
    """Raise the `CorruptDataError` of a variant that breaks its encoding."""
    raise CorruptDataError(
        "A variant is not readable.",
        reason=reason,
        remedy="Restore the data file from a backup, or read the other columns only.",
        spec=SPEC,
    ) from cause


class _Reader:
    """Reads one `value`, each byte of it at most once."""

    def __init__(self, value: bytes, names: Sequence[str]) -> None:
        self.value = value
        self._names = names
        # values that lie in each other would unfold to more than their bytes
        self._unread = len(value)

    def read(self, at: int, depth: int) -> tuple[Variant, int]:
        """The variant at `at`, and where it says that it ends."""
        if at >= len(self.value):
            self._short(at, 1)
        header = self.value[at]
        basic, info = header & 3, header >> 2
        if basic == 0:
            return self._primitive(info, at)
        if basic == 1:
            return _text(self.take(at + 1, info, 1)), at + 1 + info
        check_depth(depth + 1)
        if basic == 2:
            return self._object(info, at + 1, depth + 1)
        return self._array(info, at + 1, depth + 1)

    def take(self, at: int, size: int, header: int) -> bytes:
        """`size` bytes at `at`, that no other value has taken, behind `header` others."""
        if at + size > len(self.value):
            self._short(at, size)
        self._spend(size + header)
        return self.value[at : at + size]

    def _primitive(self, kind: int, at: int) -> tuple[Variant, int]:
        if kind < len(_CONSTANTS):
            self._spend(1)
            return _CONSTANTS[kind], at + 1
        found = _PRIMITIVES.get(kind)
        if found is None:
            raise UnsupportedError(
                "A variant holds a value of an unknown type.",
                reason=f"Its primitive type is {kind}; 0 to 20 are known.",
                remedy="Read this column with the engine that wrote it.",
                spec=SPEC,
            )
        size, decode = found
        if size is None:
            size, at = _unsigned(self.take(at + 1, 4, 0), 0, 4), at + 4
        return decode(self.take(at + 1, size, 1)), at + 1 + size

    def _object(self, info: int, at: int, depth: int) -> tuple[Variant, int]:
        offset_width, id_width = (info & 3) + 1, (info >> 2 & 3) + 1
        count, at = self._count(at, large=bool(info >> 4 & 1))
        ids = self._list(at, id_width, count)
        offsets = self._list(at + id_width * count, offset_width, count + 1)
        first = at + id_width * count + offset_width * (count + 1)
        last = self._last(first + offsets[-1])
        found: dict[str, Variant] = {}
        for name_id, offset in zip(ids, offsets, strict=False):
            if name_id >= len(self._names):
                refuse(f"A field is name {name_id} of {len(self._names)} in its metadata.")
            name = self._names[name_id]
            if name in found:
                refuse("An object has two fields of one name.")
            found[name], end = self.read(first + offset, depth)
            self._check_end(end, last)
        return found, last

    def _array(self, info: int, at: int, depth: int) -> tuple[Variant, int]:
        width = (info & 3) + 1
        count, at = self._count(at, large=bool(info >> 2 & 1))
        offsets = self._list(at, width, count + 1)
        first = at + width * (count + 1)
        last = self._last(first + offsets[-1])
        found: list[Variant] = []
        for offset in offsets[:-1]:
            element, end = self.read(first + offset, depth)
            self._check_end(end, last)
            found.append(element)
        return found, last

    def _last(self, end: int) -> int:
        if end > len(self.value):
            self._short(end - 1, 1)
        return end

    def _check_end(self, end: int, last: int) -> None:
        if end > last:
            refuse("A value inside an object or array ends behind it.")

    def _count(self, at: int, *, large: bool) -> tuple[int, int]:
        width = 4 if large else 1
        return _unsigned(self.take(at, width, 1), 0, width), at + width

    def _list(self, at: int, width: int, count: int) -> Sequence[int]:
        return _numbers(self.take(at, width * count, 0), 0, width, count)

    def _spend(self, size: int) -> None:
        self._unread -= size
        if self._unread < 0:
            refuse("Values lie in one another: together they are longer than all its bytes.")

    def _short(self, at: int, size: int) -> NoReturn:
        refuse(f"It has {len(self.value)} bytes, where bytes {at} to {at + size} are meant.")


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        refuse("A string in it is not UTF-8.", error)


def _unsigned(data: bytes, at: int, width: int) -> int:
    if at + width > len(data):
        refuse(f"It has {len(data)} bytes, where bytes {at} to {at + width} are meant.")
    return int.from_bytes(data[at : at + width], "little")


_CODES = {1: "B", 2: "H", 4: "I"}


def _numbers(data: bytes, at: int, width: int, count: int) -> Sequence[int]:
    """`count` unsigned numbers of `width` bytes; `data` holds them."""
    if width in _CODES:
        return struct.unpack_from(f"<{count}{_CODES[width]}", data, at)
    return [
        int.from_bytes(data[start : start + width], "little")
        for start in range(at, at + width * count, width)
    ]


def _integer(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)


def _decimal(max_digits: int) -> Callable[[bytes], Decimal]:
    def decode(data: bytes) -> Decimal:
        scale, unscaled = data[0], _integer(data[1:])
        if scale > _MAX_SCALE or abs(unscaled) >= 10**max_digits:
            refuse(f"A decimal has the scale {scale} and the digits {unscaled}.")
        return make_decimal(unscaled, scale)

    return decode


def _temporal(kind: TemporalKind) -> Callable[[bytes], Temporal]:
    return lambda data: Temporal(kind, _integer(data))


def _double(data: bytes) -> float:
    return float(struct.unpack("<d", data)[0])


def _single(data: bytes) -> Float32:
    return Float32(struct.unpack("<f", data)[0])


_CONSTANTS: tuple[bool | None, ...] = (None, True, False)
# type -> the size of what follows the header, or None where the next four bytes say it
_PRIMITIVES: dict[int, tuple[int | None, Callable[[bytes], Variant]]] = {
    3: (1, _integer),
    4: (2, _integer),
    5: (4, _integer),
    6: (8, _integer),
    7: (8, _double),
    8: (5, _decimal(9)),
    9: (9, _decimal(18)),
    10: (17, _decimal(38)),
    11: (4, _temporal("date")),
    12: (8, _temporal("timestamp")),
    13: (8, _temporal("timestamp_ntz")),
    14: (4, _single),
    15: (None, bytes),
    16: (None, _text),
    17: (8, lambda data: make_time(_integer(data))),
    18: (8, _temporal("timestamp_nanos")),
    19: (8, _temporal("timestamp_ntz_nanos")),
    20: (16, lambda data: UUID(bytes=data)),
}
