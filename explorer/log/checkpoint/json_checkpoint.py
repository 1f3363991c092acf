"""The bytes of a V2 checkpoint in JSON, read no further than they can be one (spec: V2 Spec).

It may be large, because it may have the table's files in itself. So it is read piece by
piece: JSON holds no NUL, and the first one ends it, as in a sparse file or one that was
allocated and never written.
"""

from __future__ import annotations

from typing import Final

from explorer.log.checkpoint._unusable_file import unusable, unusable_if_unreadable
from explorer.log.small_file import LARGEST_JSON_CHECKPOINT
from explorer.storage.ports import ReadStore

_PIECE: Final = 8 * 2**20
"""Bytes; nearly all top levels are smaller, and take one request."""


def read_json_checkpoint(store: ReadStore, path: str) -> bytes:
    """The whole file; raises `UnusableCheckpointError` where it is too large or no text."""
    head = store.read(path, _PIECE + 1)
    if len(head) <= _PIECE:
        return head
    pieces = [_checked(head, path)]
    size = len(head)
    with unusable_if_unreadable(path), store.open_input(path) as file:
        file.seek(size)
        while piece := file.read(_PIECE):
            pieces.append(_checked(piece, path))
            size += len(piece)
            if size > LARGEST_JSON_CHECKPOINT:
                raise unusable(path, f"it is larger than {LARGEST_JSON_CHECKPOINT >> 20} MiB")
    return b"".join(pieces)


def _checked(piece: bytes, path: str) -> bytes:
    if b"\0" in piece:
        raise unusable(path, "it holds NUL bytes, so that it is not JSON")
    return piece
