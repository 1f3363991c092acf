"""An object of a remote store as a file whose bytes come in as few requests as can be."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import itemgetter

from explorer.storage.ports import ByteRange, RangeStore

# what lies between two ranges is fetched with them up to this size: some milliseconds
_HOLE = 2**18

# one connection brings some 50 MB a second, several bring more
_PIECE = 2**23


class RangedFile:
    """The object at `path`, `size` bytes long, as pyarrow wants a file of Python.

    Nothing is read ahead: a read is one request, unless its bytes are held already.
    For one thread at a time, which is how pyarrow uses it.
    """

    def __init__(self, store: RangeStore, path: str, size: int) -> None:
        self._store = store
        self._path = path
        self._size = size
        self._at = 0
        self._kept: list[tuple[int, memoryview]] = []
        self._expected: list[tuple[int, memoryview]] = []
        self.closed = False

    def keep(self, start: int, data: bytes) -> None:
        """Answer from `data`, which begins at `start`, from now on."""
        self._kept.append((start, memoryview(data)))

    def expect(self, ranges: Sequence[ByteRange]) -> None:
        """Fetch what will be read, at once; what was expected before and is not now is let go."""
        clipped = [(start, min(end, self._size)) for start, end in ranges if start < self._size]
        wanted = merge_ranges([found for found in clipped if self._held(*found) is None])
        self._expected = [
            (begin, data)
            for begin, data in self._expected
            if any(begin <= start and end <= begin + len(data) for start, end in clipped)
        ]
        pieces = [piece for found in wanted for piece in _pieces(found)]
        answers = dict(zip(pieces, self._store.read_ranges(self._path, pieces), strict=True))
        for found in wanted:
            parts = [answers[piece] for piece in _pieces(found)]
            data = parts[0] if len(parts) == 1 else b"".join(parts)
            # of an object that is shorter now, the rest is asked for again, and missed
            if len(data) == found[1] - found[0]:
                self._expected.append((found[0], memoryview(data)))
        self._expected.sort(key=itemgetter(0))

    def holds(self, ranges: Sequence[ByteRange]) -> bool:
        """Whether all of them can be read without a request."""
        return all(self._held(start, min(end, self._size)) is not None for start, end in ranges)

    def _held(self, start: int, end: int) -> memoryview | None:
        at = bisect_right(self._expected, start, key=itemgetter(0))
        for begin, data in (*self._expected[max(at - 1, 0) : at], *self._kept):
            if begin <= start and end <= begin + len(data):
                return data[start - begin : end - begin]
        return None

    def read_buffer(self, size: int) -> bytes | memoryview:
        """The next `size` bytes or what is left of them, without a copy where they are held."""
        start, end = self._at, min(self._at + size, self._size)
        if start >= end:
            return b""
        found: bytes | memoryview | None = self._held(start, end)
        if found is None:
            (found,) = self._store.read_ranges(self._path, [(start, end)])
        self._at += len(found)
        return found

    def read(self, size: int = -1) -> bytes:
        """The next `size` bytes, or all that are left."""
        return bytes(self.read_buffer(self._size - self._at if size < 0 else size))

    def seek(self, offset: int, whence: int = 0) -> int:
        """Set the position, from the beginning, from where it is or from the end."""
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def tell(self) -> int:
        """The position."""
        return self._at

    def readable(self) -> bool:
        """It is."""
        return True

    def writable(self) -> bool:
        """It is not."""
        return False

    def seekable(self) -> bool:
        """It is."""
        return True

    def close(self) -> None:
        """Let go of what is held."""
        self._kept, self._expected, self.closed = [], [], True


def merge_ranges(ranges: Sequence[ByteRange]) -> list[ByteRange]:
    """Ascending ranges that hold all of `ranges`, those with only a small hole between
    them made one."""
    merged: list[ByteRange] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1] + _HOLE:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _pieces(found: ByteRange) -> list[ByteRange]:
    start, end = found
    return [(at, min(at + _PIECE, end)) for at in range(start, end, _PIECE)]
