"""How much memory Arrow holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa


@contextmanager
def counted_memory() -> Iterator[pa.MemoryPool]:
    """A pool that has what Arrow allocates from here on, until the block ends."""
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    pa.set_memory_pool(pool)
    try:
        yield pool
    finally:
        pa.set_memory_pool(before)
