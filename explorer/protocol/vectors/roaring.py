"""Roaring bitmaps in the portable format, walked before anything trusts them
(spec: Deletion Vector Format).

A 64-bit bitmap is a number of 32-bit ones, each behind the upper half of its
values; a 32-bit one is a list of containers, each behind the next 16 bits::

    count (u64), then per bitmap: upper half (u32), bitmap
    bitmap      cookie, a key and a cardinality per container, offsets, containers
    container   array: sorted u16; bitmap: 65,536 bits; run: pairs of start and length - 1

All of it is little-endian. The offsets repeat what the sizes say and are passed
over, as the readers of the format do.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple, NoReturn

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

CONTAINER_BITS = 65_536

_PLAIN_COOKIE = 12346
_RUN_COOKIE = 12347
_OFFSETS_FROM = 4
"""A bitmap with runs has offsets only from this many containers on."""
_ARRAY_LIMIT = 4096
"""Up to this cardinality a container is an array, above it a bitmap."""
_BITMAP_BYTES = CONTAINER_BITS // 8
_SMALLEST_BITMAP = 8
_UPPER_LIMIT = 2**31
_MAX_PARTS = 2**18
"""Bitmaps and containers of one vector: 2^18 containers cover 2^34 rows, more than any
file has. Each costs microseconds and a few bytes may claim one."""


class MalformedRoaringError(ValueError):
    """Bytes that are not a roaring bitmap; the message says why in a sentence."""


class OversizedRoaringError(ValueError):
    """A bitmap of more parts than a file of rows can need."""


class Container(NamedTuple):
    """The values from `start` to `start` + 65,535: `cardinality` of them, in `content`
    as little-endian u16 (array, run) or as bits (bitmap)."""

    start: int
    kind: Literal["array", "bitmap", "run"]
    cardinality: int
    content: memoryview


def walk_portable(data: bytes | memoryview) -> Iterator[Container]:
    """The containers of a 64-bit bitmap in ascending order.

    Each lies inside `data` when it is given out, and bytes behind the last one mean
    nothing. Raises `MalformedRoaringError` or `OversizedRoaringError`.
    """
    view = memoryview(data)
    count = _number(view, 0, 8)
    if count * (4 + _SMALLEST_BITMAP) > len(view):
        _refuse(f"It claims {count} bitmaps, more than its {len(view)} bytes can hold.")
    parts = _Parts(count)
    at, previous = 8, -1
    for _ in range(count):
        upper = _number(view, at, 4)
        if upper <= previous:
            _refuse("The keys of its bitmaps do not ascend.")
        if upper >= _UPPER_LIMIT:
            _refuse("It holds values beyond 2^63.")
        previous = upper
        at = yield from walk_bitmap(view, at + 4, upper << 32, parts)


def check_portable(data: bytes | memoryview) -> int:
    """How many values a 64-bit bitmap holds, after a look at every container.

    Raises `MalformedRoaringError` or `OversizedRoaringError`.
    """
    return sum(check_container(container) for container in walk_portable(data))


def check_container(container: Container) -> int:
    """The cardinality of a container whose content has been found to bear it out."""
    if container.kind == "bitmap":
        held = int.from_bytes(container.content, "little").bit_count()
    elif container.kind == "array":
        held = _check_array(container.content)
    else:
        held = _check_runs(container.content)
    if held != container.cardinality:
        _refuse(f"A container holds {held} values and claims {container.cardinality}.")
    return held


def join_bitmaps(data: bytes | memoryview, order: Literal["little", "big"]) -> bytes:
    """The portable 64-bit bitmap of 32-bit ones, which stand in a row behind their number
    and each behind its size, both in `order`.

    Raises `MalformedRoaringError` where they do not fit into `data`.
    """
    view = memoryview(data)
    count = int.from_bytes(_slice(view, 0, 4), order)
    if count * (4 + _SMALLEST_BITMAP) > len(view):
        _refuse(f"It claims {count} bitmaps, more than its {len(view)} bytes can hold.")
    pieces: list[bytes | memoryview] = [count.to_bytes(8, "little")]
    at = 4
    for upper in range(count):
        size = int.from_bytes(_slice(view, at, 4), order)
        bitmap = _slice(view, at + 4, size)
        if _end(bitmap) != size:
            _refuse("A bitmap is not as long as it says.")
        pieces += (upper.to_bytes(4, "little"), bitmap)
        at += 4 + size
    return b"".join(pieces)


def _end(bitmap: memoryview) -> int:
    containers = walk_bitmap(bitmap, 0, 0)
    while True:
        try:
            next(containers)
        except StopIteration as end:
            return int(end.value)


class _Parts:
    """Counts the parts of one vector against their limit."""

    def __init__(self, count: int) -> None:
        self._count = 0
        self.add(count)

    def add(self, count: int) -> None:
        self._count += count
        if self._count > _MAX_PARTS:
            raise OversizedRoaringError(f"It claims more than {_MAX_PARTS:,} containers.")


def walk_bitmap(
    view: memoryview, at: int, first: int, parts: _Parts | None = None
) -> Generator[Container, None, int]:
    """The containers of the 32-bit bitmap at `at`, whose values begin at `first`;
    the generator returns where the bitmap ends."""
    cookie = _number(view, at, 4)
    runs = b""
    if cookie == _PLAIN_COOKIE:
        count = _number(view, at + 4, 4)
        at += 8
    elif cookie & 0xFFFF == _RUN_COOKIE:
        count = (cookie >> 16) + 1
        runs = bytes(_slice(view, at + 4, (count + 7) // 8))
        at += 4 + len(runs)
    else:
        _refuse(f"A bitmap begins with {cookie}, which is not a cookie of the format.")
    if count > CONTAINER_BITS:
        _refuse(f"A bitmap claims {count} containers; 65,536 is the most.")
    (parts or _Parts(0)).add(count)
    heads = struct.unpack(f"<{2 * count}H", _slice(view, at, 4 * count))
    at += 4 * count
    if not runs or count >= _OFFSETS_FROM:
        at += 4 * count
    keys = heads[::2]
    if any(high <= low for low, high in pairwise(keys)):
        _refuse("The keys of its containers do not ascend.")
    for index, (key, last) in enumerate(zip(keys, heads[1::2], strict=True)):
        is_run = bool(runs) and bool(runs[index // 8] >> (index % 8) & 1)
        container, at = _container(view, at, first + (key << 16), last + 1, is_run=is_run)
        yield container
    return at


def _container(
    view: memoryview, at: int, start: int, cardinality: int, *, is_run: bool
) -> tuple[Container, int]:
    kind: Literal["array", "bitmap", "run"]
    if is_run:
        kind, size = "run", 4 * _number(view, at, 2)
        at += 2
    elif cardinality > _ARRAY_LIMIT:
        kind, size = "bitmap", _BITMAP_BYTES
    else:
        kind, size = "array", 2 * cardinality
    return Container(start, kind, cardinality, _slice(view, at, size)), at + size


def render_bits(containers: Iterable[Container], first: int, size: int) -> npt.NDArray[np.uint8]:
    """The values from `first` on, a multiple of 65,536, as `size` whole containers of bits:
    value `first` + n is bit n, the lowest of a byte first, as in Arrow.

    `containers` are sound and lie inside.
    """
    import numpy as np  # noqa: PLC0415  # the log is read without it

    bits = np.zeros((size, _BITMAP_BYTES), np.uint8)
    for container in containers:
        row = bits[(container.start - first) // CONTAINER_BITS]
        if container.kind == "bitmap":
            row[:] = np.frombuffer(container.content, np.uint8)
            continue
        values = np.frombuffer(container.content, "<u2")
        each = np.zeros(CONTAINER_BITS, np.bool_)
        if container.kind == "array":
            each[values] = True
        else:
            for first_value, more in zip(values[::2].tolist(), values[1::2].tolist(), strict=True):
                each[first_value : first_value + more + 1] = True
        row[:] = np.packbits(each, bitorder="little")
    return bits.reshape(-1)


def runs_of(containers: Iterable[Container]) -> Iterator[tuple[int, int]]:
    """First and last value of each run of successive values, in ascending order;
    `containers` are sound."""
    import numpy as np  # noqa: PLC0415  # the log is read without it

    first = last = -2
    for container in containers:
        bits = np.unpackbits(render_bits([container], container.start, 1), bitorder="little")
        edges = np.flatnonzero(np.diff(bits, prepend=0, append=0)) + container.start
        for low, high in zip(edges[::2].tolist(), (edges[1::2] - 1).tolist(), strict=True):
            if low != last + 1:
                if last >= 0:
                    yield first, last
                first = low
            last = high
    if last >= 0:
        yield first, last


def _check_array(content: memoryview) -> int:
    if len(content) == 2:
        return 1
    import numpy as np  # noqa: PLC0415  # the log is read without it

    values = np.frombuffer(content, "<u2")
    if not (values[1:] > values[:-1]).all():
        _refuse("The values of an array container do not ascend.")
    return len(values)


def _check_runs(content: memoryview) -> int:
    import numpy as np  # noqa: PLC0415  # as above

    pairs = np.frombuffer(content, "<u2").astype(np.int64).reshape(-1, 2)
    starts, last = pairs[:, 0], pairs[:, 0] + pairs[:, 1]
    if not ((starts[1:] > last[:-1] + 1).all() and (last < CONTAINER_BITS).all()):
        _refuse("The runs of a run container overlap or touch, do not ascend, or leave it.")
    return int((last - starts + 1).sum())


def _number(view: memoryview, at: int, size: int) -> int:
    return int.from_bytes(_slice(view, at, size), "little")


def _slice(view: memoryview, at: int, size: int) -> memoryview:
    if at + size > len(view):
        _refuse(f"It ends at byte {len(view)}, where bytes {at} to {at + size} are meant.")
    return view[at : at + size]


def _refuse(reason: str) -> NoReturn:
    raise MalformedRoaringError(reason)
