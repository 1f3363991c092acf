"""Python's search for cycles among objects, kept away from parsing."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """Parsed JSON holds no cycles, and to look for some in each thousand objects takes up to a
    fifth of the time. To be left within milliseconds, for it concerns all threads."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
