"""Which of many rows are shown: some of each kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence


def fair_shares(totals: Mapping[str, int], limit: int) -> Counter[str]:
    """How many of each kind are shown, `limit` together: as many of each, and what one kind does
    not need goes to the others."""
    shares: Counter[str] = Counter()
    left = limit
    ordered = sorted((kind for kind in totals if totals[kind] > 0), key=lambda kind: totals[kind])
    for at, kind in enumerate(ordered):
        # at least one of each as long as there is room, the largest kind takes what is left
        share = min(totals[kind], max(left // (len(ordered) - at), min(left, 1)))
        shares[kind], left = share, left - share
    return shares


def choose_fairly(kinds: Sequence[str], limit: int) -> list[int]:
    """The places of the rows that are shown, by the kind of each, in their order."""
    return take_shares(kinds, fair_shares(Counter(kinds), limit))


def take_shares(kinds: Sequence[str], left: Counter[str]) -> list[int]:
    """The places of the first rows of each kind, as many as `left` has of it; they leave it."""
    places = []
    for at, kind in enumerate(kinds):
        if left[kind] > 0:
            left[kind] -= 1
            places.append(at)
    return places
