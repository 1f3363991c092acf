"""The memory that columns are decoded into.

Arrow's first choice, mimalloc, takes and touches more of it than it needs, in large pages
that the system has to clear: a million paths cost half as much again in time, and an eighth
more in memory, than with jemalloc, which pyarrow brings too where it can be built.
"""

from __future__ import annotations

import os

import pyarrow as pa


def decoding_pool() -> pa.MemoryPool:
    """The pool for what is decoded: jemalloc's instead of mimalloc, where there is one;
    whoever chose for the process has what they chose. (A pool that only counts what
    mimalloc gives cannot be told from mimalloc.)"""
    default = pa.default_memory_pool()
    if "ARROW_DEFAULT_MEMORY_POOL" in os.environ or default.backend_name != "mimalloc":
        return default
    has_jemalloc = "jemalloc" in pa.supported_memory_backends()
    return pa.jemalloc_memory_pool() if has_jemalloc else default


def release_memory() -> None:
    """Give back to the system what the pools keep for later; for after large work."""
    pa.default_memory_pool().release_unused()
    decoding_pool().release_unused()
