"""What is kept of a checkpoint between two looks at a table."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from explorer.log.actions.fields import FileAction

if TYPE_CHECKING:
    from explorer.log.checkpoint.parquet_part import ParquetPart
    from explorer.log.reconcile.key_columns import GroupKeys


class KeyCache:
    """Paths and keys of checkpoint row groups, bounded in bytes, oldest use dropped first."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._held: OrderedDict[tuple[int, int, FileAction], tuple[ParquetPart, GroupKeys]] = (
            OrderedDict()
        )
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, part: ParquetPart, group: int, action: FileAction) -> GroupKeys | None:
        """What is held of one row group."""
        with self._lock:
            at = (id(part), group, action)
            if (found := self._held.get(at)) is None:
                return None
            self._held.move_to_end(at)
            return found[1]

    @property
    def held_bytes(self) -> int:
        """What is kept takes so many bytes."""
        return self._bytes

    def release(self) -> None:
        """Give it back."""
        with self._lock:
            self._held.clear()
            self._bytes = 0

    def put(self, part: ParquetPart, group: int, action: FileAction, keys: GroupKeys) -> None:
        """Hold it, as long as there is room. The part is held too, so its id stays its own."""
        if keys.nbytes > self._max_bytes:
            return
        with self._lock:
            at = (id(part), group, action)
            if at not in self._held:
                self._held[at] = (part, keys)
                self._bytes += keys.nbytes
            while self._bytes > self._max_bytes:
                _, (_, dropped) = self._held.popitem(last=False)
                self._bytes -= dropped.nbytes
