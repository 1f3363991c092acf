"""Log files that are read back once they are written, before anything points to them.

What a file must hold is known by the checksum of the bytes that went out, so that a store
that tears, swaps or loses a write is found out while the commits are still there.
"""

from __future__ import annotations

import contextlib
import io
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from explorer.errors import CorruptLogError, DeltaError
from explorer.storage.ports import OutputStore, ReadStore, WriteStore, offers

_PIECE = 8 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedFile:
    """A file as it went out: its path below the table's root, and the number of its bytes
    and their CRC-32."""

    path: str
    size: int
    checksum: int


class CheckedOutput(io.RawIOBase):
    """Passes bytes on and remembers what they were."""

    def __init__(self, sink: BinaryIO) -> None:
        super().__init__()
        self._sink = sink
        self._checksum = 0
        self._size = 0

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]  # any buffer, as its base
        """Pass all of `data` on."""
        view = memoryview(data)
        self._sink.write(view)
        self._checksum = zlib.crc32(view, self._checksum)
        self._size += view.nbytes
        return view.nbytes

    def tell(self) -> int:
        """How many bytes there are so far."""
        return self._size

    def written(self, path: str) -> CheckedFile:
        """What went out so far."""
        return CheckedFile(path=path, size=self._size, checksum=self._checksum)


@contextlib.contextmanager
def open_checked_output(store: WriteStore, path: str) -> Iterator[CheckedOutput]:
    """Where to write the file at `path`; readers see it once the block has ended, and
    nothing of it where the block raises. In pieces where the store takes them."""
    if offers(store, OutputStore):
        with store.open_output(path) as sink:
            yield CheckedOutput(sink)
        return
    held = io.BytesIO()
    yield CheckedOutput(held)
    store.write(path, held.getvalue())


def check_written(store: ReadStore, file: CheckedFile) -> None:
    """Raise `CorruptLogError` where the store does not hold what was written."""
    found = size = 0
    try:
        with store.open_input(file.path) as source:
            while piece := source.read(_PIECE):
                found = zlib.crc32(piece, found)
                size += len(piece)
    except DeltaError as error:
        raise not_read_back(file.path, error.reason.rstrip(".")) from error
    if (size, found) != (file.size, file.checksum):
        raise not_read_back(file.path, f"{file.size} bytes were written and {size} other ones read")


def not_read_back(path: str, what: str) -> CorruptLogError:
    """The error for a file that does not hold what was written into it."""
    return CorruptLogError(
        f"{path.rpartition('/')[2]} could not be written.",
        reason=f"It does not read back as it was written: {what}. It was deleted again.",
        remedy="The table is as it was. Check the store, its disk and memory, then try again.",
        kind="storage_failed",
    )


@contextlib.contextmanager
def deleting_unless_done(store: WriteStore) -> Iterator[Callable[[str], None]]:
    """Paths that are told to the function which this gives are deleted again where the
    block raises: none of them is pointed to then."""
    paths: list[str] = []
    done = False
    try:
        yield paths.append
        done = True
    finally:
        if not done:
            for path in paths:
                # the first error is the one to report, and what stays is not pointed to
                with contextlib.suppress(DeltaError):
                    store.delete(path)
