"""Files of two versions are paired by key, then by path."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import pytest

from explorer.comparison._file_pairs import FilePairs, pair_files
from explorer.log.actions.columns import table_of
from explorer.log.actions.keys import file_key
from tests.tables import add, vector

Body = dict[str, Any]


def _key(body: Body) -> str:
    return file_key(body["path"], body.get("deletionVector"))


def _paired(
    before: list[Body], after: list[Body]
) -> tuple[set[tuple[int, int]], set[int], set[int]]:
    """The rule, one file after the other: those of one key belong together, then those of one
    path, several of one path in the order of their keys."""
    gone, came = set(range(len(before))), set(range(len(after)))
    pairs: set[tuple[int, int]] = set()

    def pair(name: Any, order: Any) -> None:
        sides: list[dict[str, list[int]]] = [defaultdict(list), defaultdict(list)]
        for side, rows, bodies in zip(sides, (gone, came), (before, after), strict=True):
            for at in sorted(rows, key=lambda at: order(bodies[at], at)):
                side[name(bodies[at])].append(at)
        for key, places in sides[0].items():
            for one, other in zip(places, sides[1].get(key, []), strict=False):
                pairs.add((one, other))
                gone.remove(one)
                came.remove(other)

    pair(_key, lambda _, at: at)
    pair(lambda body: file_key(body["path"], None), lambda body, at: (_key(body), at))
    return pairs, gone, came


def _answer(found: FilePairs) -> tuple[set[tuple[int, int]], set[int], set[int]]:
    pairs = zip(found.same_before.tolist(), found.same_after.tolist(), strict=True)
    return set(pairs), set(found.gone.tolist()), set(found.came.tolist())


def _bodies(numbers: random.Random, count: int, names: int) -> list[Body]:
    found = []
    for _ in range(count):
        name = numbers.randrange(names)
        path = f"file:/t/{name}" if numbers.random() < 0.1 else f"f{name}"
        marked = {"deletionVector": vector(offset=numbers.randrange(3))}
        found.append(add(path, **(marked if numbers.random() < 0.5 else {}))["add"])
    return found


@pytest.mark.rule("file-readd-replaces")
@pytest.mark.parametrize("lengths", [(40, 40), (40, 3), (3, 40), (40, 0), (0, 40), (0, 0)])
@pytest.mark.parametrize("names", [1, 6, 60])
def test_files_are_paired_as_one_after_the_other_would_be(
    lengths: tuple[int, int], names: int
) -> None:
    for seed in range(20):
        numbers = random.Random(f"{seed}, {lengths}, {names}")
        before, after = (_bodies(numbers, count, names) for count in lengths)
        found = pair_files(table_of("add", [], before), table_of("add", [], after))
        assert _answer(found) == _paired(before, after)
        assert found.gone.tolist() == sorted(found.gone.tolist())
        assert found.came.tolist() == sorted(found.came.tolist())
