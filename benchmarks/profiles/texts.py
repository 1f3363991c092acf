"""Texts of many files at once, each of the number of its file alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Numbers = npt.NDArray[np.int64]

_HEX = np.frombuffer("".join(f"{byte:02x}" for byte in range(256)).encode(), np.uint8)
_Z85 = np.frombuffer(
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#",
    np.uint8,
)


def mix(numbers: Numbers, salt: int) -> npt.NDArray[np.uint64]:
    """64 bits that look random (the finaliser of splitmix64)."""
    bits = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15 * (salt + 1) & (1 << 64) - 1)
    bits = (bits ^ bits >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ bits >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return bits ^ bits >> np.uint64(31)


def chance(numbers: Numbers, salt: int, part: float) -> npt.NDArray[np.bool_]:
    """Which numbers are among a `part` of all."""
    return mix(numbers, salt) < np.uint64(min(int(part * 2**64), 2**64 - 1))


def join(*parts: Any) -> pa.Array:
    """Texts and columns put behind each other; numbers as JSON has them."""
    return pc.binary_join_element_wise(*map(_as_text, parts), pa.scalar(""))


def pick(pool: Sequence[str | None], places: npt.NDArray[Any]) -> pa.Array:
    """Texts of a pool, by their places in it."""
    return pa.array(pool, pa.string()).take(pa.array(places.astype(np.int64)))


def uuids(numbers: Numbers, salt: int) -> pa.Array:
    """A UUID for each."""
    found = np.full((len(numbers), 36), ord("-"), np.uint8)
    digits = _HEX.reshape(-1, 2)[_bytes(numbers, salt)].reshape(-1, 32)
    digits[:, 12], digits[:, 16] = ord("4"), ord("a")
    for start, end, at in ((0, 8, 0), (8, 12, 9), (12, 16, 14), (16, 20, 19), (20, 32, 24)):
        found[:, at : at + end - start] = digits[:, start:end]
    return _of_width(found)


def z85_uuids(numbers: Numbers, salt: int) -> pa.Array:
    """The twenty characters of a UUID in the place of a deletion vector."""
    words = _bytes(numbers, salt).view(">u4").astype(np.int64)
    digits = words[:, :, None] // 85 ** np.arange(4, -1, -1) % 85
    return _of_width(np.ascontiguousarray(_Z85[digits].reshape(-1, 20)))


def _bytes(numbers: Numbers, salt: int) -> npt.NDArray[np.uint8]:
    halves = np.column_stack([mix(numbers, salt), mix(numbers, salt + 1)])
    return halves.view(np.uint8).reshape(-1, 16)


def _of_width(texts: npt.NDArray[np.uint8]) -> pa.Array:
    rows, width = texts.shape
    offsets = np.arange(0, (rows + 1) * width, width, dtype=np.int32)
    return pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(texts))


def _as_text(part: Any) -> Any:
    if isinstance(part, str):
        return pa.scalar(part)
    return pc.cast(pa.array(part), pa.string())
