"""How long the parts of a merge take, for its metrics."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(kw_only=True)
class MergeSpans:
    """The clock of one merge: `began` and `scanned` are monotonic seconds, the latter None until
    its rows have found their partners; `source` are seconds in which the source was read."""

    began: float = field(default_factory=time.monotonic)
    source: float = 0.0
    scanned: float | None = None

    @contextlib.contextmanager
    def reading_source(self) -> Iterator[None]:
        """Count the time inside as that of the source."""
        start = time.monotonic()
        try:
            yield
        finally:
            self.source += time.monotonic() - start

    def scan_ended(self) -> None:
        """Say that partners are found, and writing begins."""
        self.scanned = time.monotonic()

    def metrics(self) -> dict[str, int]:
        """Milliseconds under the names of the reference: of the whole merge, of reading the source,
        of finding partners, which is scan and join, and of writing."""
        now = time.monotonic()
        scanned = now if self.scanned is None else self.scanned
        spans = {
            "executionTimeMs": now - self.began,
            "materializeSourceTimeMs": self.source,
            "scanTimeMs": scanned - self.began - self.source,
            "rewriteTimeMs": now - scanned,
        }
        return {name: round(span * 1000) for name, span in spans.items()}
