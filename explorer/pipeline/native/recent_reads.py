"""What Spark's own reader was given of late, so that a file which it does not read can be
looked at again.

That Spark failed at a file says little of the file: the session may lack a right, memory or
a codec. The judge is this package's own reader, which is the route ``files``.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

import pyarrow as pa

from explorer.errors import DeltaError
from explorer.pipeline.native.paths import NativePaths
from explorer.pipeline.tasks.file_tasks import ReadFiles
from explorer.rows.request import RowRequest
from explorer.storage.ports import ReadStore

_MOST_READS: Final = 32
MOST_BYTES: Final = 2**30
"""A larger file is not read again while somebody waits for an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeRead:
    """Files, with what `ReadFiles` needs of them, and how Spark calls them."""

    store: ReadStore
    request: RowRequest
    files: pa.Table
    paths: NativePaths


_reads: deque[NativeRead] = deque(maxlen=_MOST_READS)
_lock = threading.Lock()


def remember(read: NativeRead) -> None:
    """Keep what is about to be given to Spark, in the place of the oldest such read."""
    with _lock:
        _reads.append(read)


def find_read(path: str) -> tuple[NativeRead, int] | None:
    """The newest read that has the file which Spark calls so, and its place there."""
    names = {_plain(path), _plain(unquote(path))}
    with _lock:
        newest_first = list(reversed(_reads))
    for read in newest_first:
        for at, known in enumerate(read.paths.paths):
            if _plain(known) in names:
                return read, at
    return None


def look_again(read: NativeRead, at: int) -> DeltaError | None:
    """What our own reader says of a file of the read: the error that the route ``files`` would
    end with, or None where it reads all of its rows or the file is larger than `MOST_BYTES`."""
    one = read.files.slice(at, 1)
    if (one.column("size")[0].as_py() or 0) > MOST_BYTES:
        return None
    try:
        for _ in ReadFiles(store=read.store, request=read.request)(one):
            pass
    except DeltaError as error:
        return error
    return None


def _plain(path: str) -> str:
    """Hadoop writes `file:/a` and `file:///a` for one file."""
    scheme, colon, rest = path.partition(":")
    return f"{scheme}:/{rest.lstrip('/')}" if colon else path
