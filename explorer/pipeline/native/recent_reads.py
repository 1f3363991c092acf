"""The recent reads by Spark's own reader, so that a file at which it failed can be diagnosed.

A failure of Spark says little about the file: the session may lack a permission, memory or a
codec. This package's own reader, the route ``files``, decides whether the file is damaged.
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


def remember_read(read: NativeRead) -> None:
    """Remember a read that is about to start; the oldest one is forgotten."""
    with _lock:
        _reads.append(read)


def find_recent_read(path: str) -> tuple[NativeRead, int] | None:
    """The newest read that has the file with this path in Spark, and the position of the file in
    it."""
    names = {_plain(path), _plain(unquote(path))}
    with _lock:
        newest_first = list(reversed(_reads))
    for read in newest_first:
        for at, known in enumerate(read.paths.paths):
            if _plain(known) in names:
                return read, at
    return None


def diagnose_file(read: NativeRead, at: int) -> DeltaError | None:
    """Read a file with this package's own reader: the error that it raises, or None where it
    reads all rows, or where the file is larger than `MOST_BYTES`."""
    one = read.files.slice(at, 1)
    if (one.column("size")[0].as_py() or 0) > MOST_BYTES:
        return None
    try:
        told = frozenset(one.column("path").to_pylist())  # of what it holds, the plan told
        for _ in ReadFiles(store=read.store, request=read.request, told=told)(one):
            pass
    except DeltaError as error:
        return error
    return None


def _plain(path: str) -> str:
    """Hadoop writes `file:/a` and `file:///a` for one file."""
    scheme, colon, rest = path.partition(":")
    return f"{scheme}:/{rest.lstrip('/')}" if colon else path
