"""How often, and how soon, a commit that lost the race is tried again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

_FIRST_SECONDS = 0.002
_LONGEST_SECONDS = 0.5


def back_off(number: int) -> None:
    """Wait before try `number` (from 1): any time up to twice as long as before, so that
    writers who meet do not meet again."""
    most = min(_LONGEST_SECONDS, _FIRST_SECONDS * 2.0 ** min(number, 30))
    time.sleep(random.random() * most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """At most `limit` tries, with `pause` (which gets their number) before each but the
    first. Each lost race is another writer's commit, so that the limit is rarely met."""

    limit: int = 1000
    pause: Callable[[int], None] = field(default=back_off)


DEFAULT_RETRIES = Retries()
