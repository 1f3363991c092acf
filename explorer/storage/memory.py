"""The memory that columns are decoded into.

Arrow's first choice, mimalloc, takes and touches more of it than it needs, in large pages
that the system has to clear: a million paths cost half as much again in time, and an eighth
more in memory, than with jemalloc, which pyarrow brings too where it can be built.
"""

from __future__ import annotations

import pyarrow as pa


def decoding_pool() -> pa.MemoryPool:
    """The pool for what is decoded: jemalloc's instead of mimalloc, where there is one;
    whoever chose another for the process has it."""
    default = pa.default_memory_pool()
    if default.backend_name == "mimalloc" and "jemalloc" in pa.supported_memory_backends():
        return pa.jemalloc_memory_pool()
    return default


def release_memory() -> None:
    """Give back to the system what the pools keep for later; for after large work."""
    pa.default_memory_pool().release_unused()
    decoding_pool().release_unused()
