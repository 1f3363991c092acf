"""Small files of this machine that are not part of a table: settings, lists, plans, receipts."""

from __future__ import annotations

import errno
import os
from typing import Final

LARGEST_SETTING: Final = 16 * 2**20
"""Bytes of a file of settings, or of a list that a person or this program keeps."""


def read_local_file(path: str | os.PathLike[str], limit: int) -> bytes:
    """All of a file. Raises `OSError`, as opening it does, where it has more than `limit`
    bytes; no more than one beyond the limit is read."""
    # without a buffer, whose size would be another read
    with open(path, "rb", buffering=0) as file:
        data = _read(file.fileno(), limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"It is larger than {limit >> 20} MiB", os.fspath(path))
    return data


def read_local_text(path: str | os.PathLike[str], limit: int = LARGEST_SETTING) -> str:
    """All of a text file; raises as `read_local_file`, and `UnicodeDecodeError` for other bytes."""
    text = read_local_file(path, limit).decode()
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _read(descriptor: int, wanted: int) -> bytes:
    """Up to `wanted` bytes, as long as there are some: a pipe gives them piece by piece."""
    # at once, so that they need not be joined
    first = max(os.fstat(descriptor).st_size + 1, 2**16)
    pieces = [os.read(descriptor, min(wanted, first))]
    wanted -= len(pieces[0])
    while wanted and pieces[-1]:
        pieces.append(os.read(descriptor, min(wanted, 2**20)))
        wanted -= len(pieces[-1])
    return b"".join(pieces) if any(pieces[1:]) else pieces[0]
