"""The portable roaring format, byte by byte: all kinds of containers, and false claims."""

from __future__ import annotations

import struct
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from explorer.protocol.vectors.roaring import (
    MalformedRoaringError,
    OversizedRoaringError,
    check_portable,
    render_bits,
    walk_portable,
)

PLAIN, RUN = 12346, 12347


def array(values: Iterable[int]) -> tuple[int, bytes]:
    """Cardinality and content of an array container."""
    found = list(values)
    return len(found), struct.pack(f"<{len(found)}H", *found)


def bits(values: Iterable[int]) -> tuple[int, bytes]:
    found = sum(1 << value for value in values)
    return found.bit_count(), found.to_bytes(8192, "little")


def runs(pairs: Iterable[tuple[int, int]]) -> tuple[int, bytes]:
    """First and last value of each run."""
    found = [(first, last - first) for first, last in pairs]
    content = struct.pack("<H", len(found)) + b"".join(struct.pack("<2H", *pair) for pair in found)
    return sum(more + 1 for _, more in found), content


def plain_bitmap(*containers: tuple[int, tuple[int, bytes]]) -> bytes:
    """A 32-bit bitmap of arrays and bitmaps, each with its key."""
    heads = b"".join(struct.pack("<2H", key, count - 1) for key, (count, _) in containers)
    offsets = bytes(4 * len(containers))  # readers go by the sizes
    head = struct.pack("<2I", PLAIN, len(containers)) + heads + offsets
    return head + b"".join(content for _, (_, content) in containers)


def run_bitmap(flags: int, *containers: tuple[int, tuple[int, bytes]]) -> bytes:
    """A 32-bit bitmap whose containers are runs where `flags` has a bit."""
    count = len(containers)
    head = struct.pack("<I", RUN | (count - 1) << 16) + flags.to_bytes((count + 7) // 8, "little")
    heads = b"".join(struct.pack("<2H", key, size - 1) for key, (size, _) in containers)
    offsets = bytes(4 * count) if count >= 4 else b""
    return head + heads + offsets + b"".join(content for _, (_, content) in containers)


def portable(*bitmaps: tuple[int, bytes]) -> bytes:
    count = struct.pack("<Q", len(bitmaps))
    return count + b"".join(struct.pack("<I", upper) + bitmap for upper, bitmap in bitmaps)


def values(data: bytes) -> list[int]:
    """What the containers hold, by their bits."""
    found: list[int] = []
    for container in walk_portable(data):
        held = np.unpackbits(render_bits([container], container.start, 1), bitorder="little")
        found += (np.flatnonzero(held) + container.start).tolist()
    return found


MANY = range(0, 65_536, 13)
EXAMPLES = {
    "nothing": (portable(), []),
    "empty bitmap": (portable((0, plain_bitmap())), []),
    "array": (portable((0, plain_bitmap((0, array([3, 4, 65_535]))))), [3, 4, 65_535]),
    "bitmap": (portable((0, plain_bitmap((1, bits(MANY))))), [65_536 + at for at in MANY]),
    "run": (portable((0, run_bitmap(1, (2, runs([(5, 7)]))))), [131_077, 131_078, 131_079]),
    "two runs": (portable((0, run_bitmap(1, (0, runs([(0, 1), (3, 3)]))))), [0, 1, 3]),
    "four with offsets": (
        portable((0, run_bitmap(8, *((key, array([7])) for key in range(3)), (3, runs([(9, 9)]))))),
        [7, 65_543, 131_079, 196_617],
    ),
    "behind 32 bits": (
        portable((0, plain_bitmap()), (3, plain_bitmap((0, array([1]))))),
        [3 * 2**32 + 1],
    ),
    "bytes behind it": (portable((0, plain_bitmap((0, array([1]))))) + b"zz", [1]),
}


@pytest.mark.rule("dv-format-bucketdata", "dv-format-container-header", "dv-format-containers")
@pytest.mark.rule("dv-format-key", "dv-format-numbuckets", "dv-format-portable-64")
@pytest.mark.parametrize(("data", "wanted"), EXAMPLES.values(), ids=EXAMPLES)
def test_every_kind_of_container_is_read(data: bytes, wanted: list[int]) -> None:
    assert check_portable(data) == len(wanted)
    assert values(data) == wanted
    assert list(BitMap64.deserialize(data)) == wanted  # the hand-made bytes are right


@pytest.mark.rule("dv-format-ascending-buckets", "dv-format-key-msb-zero", "dv-format-numbuckets")
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "bytes 0 to 8"),
        (struct.pack("<Q", 2**60), "claims 1152921504606846976 bitmaps"),
        (portable((0, struct.pack("<2I", PLAIN, 2**32 - 1))), "65,536 is the most"),
        (portable((0, struct.pack("<2I", PLAIN, 65_536))), "ends at byte"),
        (portable((0, struct.pack("<I", RUN | 0xFFFF << 16))), "ends at byte"),
        (portable((0, struct.pack("<2I", 12345, 0))), "not a cookie"),
        (portable((1, plain_bitmap()), (0, plain_bitmap())), "bitmaps do not ascend"),
        (portable((2**31, plain_bitmap())), r"beyond 2\^63"),
        (
            portable((0, plain_bitmap((5, array([1])), (5, array([2]))))),
            "containers do not ascend",
        ),
        (portable((0, plain_bitmap((0, array([2, 1]))))), "array container do not ascend"),
        (portable((0, plain_bitmap((0, array([1, 1]))))), "array container do not ascend"),
        (portable((0, plain_bitmap((0, (5000, bits(MANY)[1]))))), "holds 5042 values and claims"),
        (portable((0, plain_bitmap((0, (5042, bits(MANY)[1][:-1]))))), "ends at byte"),
        (portable((0, run_bitmap(1, (0, runs([(3, 9), (9, 12)]))))), "overlap"),
        (portable((0, run_bitmap(1, (0, runs([(0, 1), (2, 3)]))))), "touch"),
        (portable((0, run_bitmap(1, (0, runs([(9, 9), (3, 4)]))))), "overlap"),
        (portable((0, run_bitmap(1, (0, (7, b"\1\0\xfe\xff\6\0"))))), "leave it"),
        (portable((0, run_bitmap(1, (0, (9, runs([(1, 2)])[1]))))), "holds 2 values and claims 9"),
        (portable((0, run_bitmap(1, (0, (1, b"\xff\xff"))))), "ends at byte"),
    ],
)
def test_false_claim_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(MalformedRoaringError, match=reason):
        check_portable(data)


@pytest.mark.slow
def test_more_containers_than_any_file_has_are_refused() -> None:
    full = run_bitmap(0, *((key, array([0])) for key in range(65_536)))
    with pytest.raises(OversizedRoaringError):
        check_portable(portable(*((upper, full) for upper in range(5))))


@pytest.mark.slow
@pytest.mark.rule("dv-format-bitmap", "dv-format-containers")
@given(st.sets(st.integers(0, 400_000)), st.sets(st.integers(0, 400_000)), st.booleans())
def test_what_the_library_writes_is_read(some: set[int], ends: set[int], optimised: bool) -> None:
    bitmap = BitMap64(some)
    for first, last in zip(sorted(ends), sorted(ends)[1:], strict=False):
        if first % 3 == 0:
            bitmap.add_range(first, last)
    if optimised:
        bitmap.run_optimize()
    assert check_portable(bitmap.serialize()) == len(bitmap)
    assert values(bitmap.serialize()) == list(bitmap)
