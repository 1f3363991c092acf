"""How often somebody may try: counted over a sliding window."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping

KEYS_KEPT = 10_000
"""More are forgotten, the oldest first: who guesses under many names is met by the limit
that all share."""


class Throttle:
    """At most so many tries in `seconds`, for each kind of key.

    `limits` says how many by kind, such as `{"address": 10, "all": 100}`.
    """

    def __init__(
        self,
        limits: Mapping[str, int],
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits = dict(limits)
        self._seconds = seconds
        self._clock = clock
        self._tries: OrderedDict[tuple[str, str], deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, keys: Mapping[str, str]) -> int:
        """Count a try under its keys, one per kind: 0, or the seconds after which the next
        one is taken; a try that has to wait is not counted."""
        now = self._clock()
        with self._lock:
            kept = {kind: self._of(kind, key, now) for kind, key in keys.items()}
            full = [kept[kind] for kind in keys if len(kept[kind]) >= self._limits[kind]]
            if full:
                return math.ceil(max(tries[0] for tries in full) + self._seconds - now) or 1
            for tries in kept.values():
                tries.append(now)
            while len(self._tries) > KEYS_KEPT:
                self._tries.popitem(last=False)
        return 0

    def forget(self, kind: str, key: str) -> None:
        """The tries under a key led to the goal."""
        with self._lock:
            self._tries.pop((kind, key), None)

    def take_back(self, kind: str, key: str) -> None:
        """One try under a key was none, those of others stay."""
        with self._lock:
            if tries := self._tries.get((kind, key)):
                tries.pop()

    def _of(self, kind: str, key: str, now: float) -> deque[float]:
        tries = self._tries.setdefault((kind, key), deque())
        self._tries.move_to_end((kind, key))
        while tries and tries[0] <= now - self._seconds:
            tries.popleft()
        return tries
