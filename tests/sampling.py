"""Which cases of a long list run today, and the command by which all of them run.

A list that takes minutes is run in parts: each day another one, so that after `one_in` days
every case has had its turn. The seed is the day, counted from 1970 in UTC, until
`DELTA_EXPLORER_SEED` names another one; `DELTA_EXPLORER_EVERYTHING=1` runs all.

The process that is started first decides: it puts the seed into its environment, from which
the workers and everything that a test starts take it. Otherwise they would differ at midnight.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from random import Random
from typing import TypeVar

import pytest

T = TypeVar("T")

SEED = int(os.environ.setdefault("DELTA_EXPLORER_SEED", str(int(time.time() // 86_400))))
EVERYTHING = os.environ.get("DELTA_EXPLORER_EVERYTHING", "") not in {"", "0"}


def sample(cases: Iterable[T], one_in: int, of: str, seed: int | None = None) -> list[T]:
    """The cases whose turn it is: one in `one_in`, at least one; all of them with EVERYTHING.

    `of` names the list: cases of two lists that are alike then have their turns on other days.
    """
    listed = list(cases)
    if EVERYTHING:
        return listed
    turns = _turns(len(listed), one_in, of, SEED if seed is None else seed)
    return [case for case, its_turn in zip(listed, turns, strict=True) if its_turn]


def unless_asked(variable: str, one_in: int) -> int:
    """`one_in`, or 1 where the environment says how many cases there are: it wants all those."""
    return 1 if variable in os.environ else one_in


def _turns(count: int, one_in: int, of: str, seed: int) -> list[bool]:
    places = list(range(count))
    Random(of).shuffle(places)
    parts = max(1, min(one_in, count))
    return [place % parts == seed % parts for place in places]


def sample_tests(items: Sequence[pytest.Item], named: Sequence[str] = ()) -> list[pytest.Item]:
    """The tests that run today, in their order.

    `@pytest.mark.sampled(one_in=3)` gives a third of a test's parameters their turn. With
    `each="table"` every value of that parameter runs one way, whichever has its turn, and
    a third in all others. A test that is `named` by its id on the command line always runs.
    """
    if EVERYTHING:
        return list(items)
    left_out: set[str] = set()
    by_function: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled"):
            by_function.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for function, cases in by_function.items():
        kept = {item.nodeid for item in _chosen(function, cases)}
        left_out |= {item.nodeid for item in cases} - kept
    ids = tuple(name for name in named if "::" in name)
    return [item for item in items if item.nodeid not in left_out or item.nodeid.startswith(ids)]


def _chosen(function: str, cases: Sequence[pytest.Item]) -> list[pytest.Item]:
    marker = cases[0].get_closest_marker("sampled")
    assert marker is not None
    one_in, each = int(marker.kwargs["one_in"]), marker.kwargs.get("each")
    chosen = sample(cases, one_in, function)
    if each is None:
        return chosen
    groups: dict[int, list[pytest.Item]] = {}
    for case in cases:
        # one object for all tests of a value; an equal one of another type is another value
        value = id(case.callspec.params[each])  # type: ignore[attr-defined]  # only functions
        groups.setdefault(value, []).append(case)
    for group in groups.values():
        chosen += sample(group, len(group), group[0].nodeid)
    return chosen
