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


COSTLY = {"spark": 4, "browser": 4}
"""Tests with these markers take minutes together, and more are written than are missed: of each
that says nothing of its turns one in so many runs."""


def add_turns(items: Iterable[pytest.Item]) -> None:
    """Gives what is costly its turns, where it has none of its own: a part of the parameters of
    a test, and of the tests of a file that have none. `@pytest.mark.daily` keeps it from that."""
    for item in items:
        if any(item.get_closest_marker(name) for name in ("sampled", "turns", "daily")):
            continue
        one_in = max((COSTLY[kind] for kind in COSTLY if item.get_closest_marker(kind)), default=1)
        if one_in > 1:
            mark = pytest.mark.sampled if hasattr(item, "callspec") else pytest.mark.turns
            item.add_marker(mark(one_in=one_in))


def sample_tests(items: Sequence[pytest.Item], named: Sequence[str] = ()) -> list[pytest.Item]:
    """The tests that run today, in their order.

    `@pytest.mark.sampled(one_in=3)` gives a third of a test's parameters their turn. With
    `each="table"` every value of that parameter runs one way, whichever has its turn, and
    a third in all others.

    `pytestmark = pytest.mark.turns(one_in=3)` gives a third of a file's tests their turn, with
    all their parameters or those that have theirs. It holds for a single test too, which then
    shares its turns with the others of its file that have the same mark. A test that carries a
    rule of the specification, or `@pytest.mark.daily`, always runs.

    So does one that is `named` by its id on the command line.
    """
    if EVERYTHING:
        return list(items)
    left_out = _waiting(items)
    by_function: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled"):
            by_function.setdefault(_function_of(item), []).append(item)
    for function, cases in by_function.items():
        kept = {item.nodeid for item in _chosen(function, cases)}
        left_out |= {item.nodeid for item in cases} - kept
    ids = tuple(name for name in named if "::" in name)
    return [item for item in items if item.nodeid not in left_out or item.nodeid.startswith(ids)]


def _function_of(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _days_between(item: pytest.Item) -> int:
    """After how many days the test as a whole has its turn again; 1 where that is each day."""
    turns = item.get_closest_marker("turns")
    if turns is None or item.get_closest_marker("daily") or item.get_closest_marker("rule"):
        return 1
    return int(turns.kwargs["one_in"])


def _waiting(items: Sequence[pytest.Item]) -> set[str]:
    """The ids of tests that wait for another day as a whole."""
    groups: dict[tuple[str, int], dict[str, list[str]]] = {}
    for item in items:
        if (days := _days_between(item)) > 1:
            file = item.nodeid.partition("::")[0]
            group = groups.setdefault((file, days), {})
            group.setdefault(_function_of(item), []).append(item.nodeid)
    waiting: set[str] = set()
    for (file, days), functions in groups.items():
        for function in functions.keys() - set(sample(functions, days, f"{file} {days}")):
            waiting |= set(functions[function])
    return waiting


def _chosen(function: str, cases: Sequence[pytest.Item]) -> list[pytest.Item]:
    marker = cases[0].get_closest_marker("sampled")
    assert marker is not None
    one_in, each = int(marker.kwargs["one_in"]), marker.kwargs.get("each")
    # counted in its own turns: else its days and those of a case might never be the same
    seed = SEED // _days_between(cases[0])
    chosen = sample(cases, one_in, function, seed)
    if each is None:
        return chosen
    groups: dict[int, list[pytest.Item]] = {}
    for case in cases:
        # one object for all tests of a value; an equal one of another type is another value
        value = id(case.callspec.params[each])  # type: ignore[attr-defined]  # only functions
        groups.setdefault(value, []).append(case)
    for group in groups.values():
        chosen += sample(group, len(group), group[0].nodeid, seed)
    return chosen
