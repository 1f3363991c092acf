"""How much of a table one batch of a stream takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from explorer.table.frames import believed_sizes


@dataclass(slots=True, kw_only=True)
class Budget:
    """What a batch may still take; None means without limit. The last file may go beyond the bytes:
    a batch always takes one."""

    files: int | None
    size: int | None
    has_taken: bool = False

    @property
    def is_spent(self) -> bool:
        """Whether no file may come any more."""
        return self.files == 0 or (self.size is not None and self.size <= 0)

    def take(self, files: pa.Table) -> int:
        """How many of the files, from the first on, the batch takes."""
        sizes = believed_sizes(files)
        count = len(sizes) if self.files is None else min(len(sizes), self.files)
        if self.size is not None:
            before = np.cumsum(sizes) - sizes
            count = min(count, int(np.searchsorted(before, self.size, side="left")))
        self._spend(count, int(sizes[:count].sum()))
        return count

    def take_all(self, files: pa.Table) -> bool:
        """Whether the batch takes all of the files, where it may not take a part of them: if they
        are within what is left, or the first."""
        count, size = files.num_rows, int(believed_sizes(files).sum())
        fits = (self.files is None or count <= self.files) and (
            self.size is None or size <= self.size
        )
        if not count or fits or not self.has_taken:
            self._spend(count, size)
            return True
        return False

    def _spend(self, count: int, size: int) -> None:
        self.has_taken = self.has_taken or count > 0
        self.files = None if self.files is None else max(0, self.files - count)
        self.size = None if self.size is None else self.size - size
