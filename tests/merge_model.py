"""Merges drawn by a seed, and a model in plain Python of what each has to make of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from explorer import pipeline
from explorer.writing.statements.options import WriteResult
from tests.changed_tables import FORMS

Row = dict[str, Any]
Test = Callable[[Row, Row], bool | None]
Make = Callable[[Row, Row], Row]

SCHEMA = pa.schema(
    [("key", pa.int64()), ("land", pa.string()), ("n", pa.int32()), ("at", pa.timestamp("us"))]
)


class TwiceError(Exception):
    """A row that several of the source would change."""


@dataclass(frozen=True)
class Clause:
    """A clause as ours is called, and its meaning; `make` is None for a delete."""

    call: str
    given: tuple[Any, ...]
    where: str | None
    test: Test
    make: Make | None

    @property
    def kind(self) -> str:
        if "matched_by" in self.call or "by_source" in self.call:
            return "alone"
        return "new" if "not_matched" in self.call else "pair"


@dataclass(frozen=True)
class Drawn:
    """A merge: pairs are those that `test` is true for."""

    form: str
    target: tuple[Row, ...]
    source: tuple[Row, ...]
    on: str
    test: Test
    clauses: tuple[Clause, ...]


def _equal(name: str) -> Test:
    def test(one: Row, other: Row) -> bool | None:
        if one[name] is None or other[name] is None:
            return None
        return bool(one[name] == other[name])

    return test


def _both(*tests: Test) -> Test:
    def test(one: Row, other: Row) -> bool | None:
        found = [each(one, other) for each in tests]
        return False if False in found else None if None in found else True

    return test


def _always(_: Row, __: Row) -> bool:
    return True


def _above(side: int, limit: int) -> Test:
    def test(*rows: Row) -> bool | None:
        value = rows[side]["n"]
        return None if value is None else bool(value > limit)

    return test


CONDITIONS: dict[str, list[tuple[str, Test]]] = {
    "pair": [
        ("source.n > 2", _above(1, 2)),
        ("target.n > 3", _above(0, 3)),
        ("target.n > source.n", lambda t, s: _compared(t["n"], s["n"])),
        ("source.land IS NULL", lambda _, s: s["land"] is None),
    ],
    "new": [("source.n > 2", _above(1, 2)), ("land = 'a'", lambda _, s: _is(s["land"], "a"))],
    "alone": [("n > 3", _above(0, 3)), ("target.land = 'b'", lambda t, _: _is(t["land"], "b"))],
}
UPDATES: dict[str, list[tuple[dict[str, str], Make]]] = {
    "pair": [
        ({"n": "source.n"}, lambda t, s: t | {"n": s["n"]}),
        (
            {"LAND": "concat(target.land, source.land)", "at": "NULL"},
            lambda t, s: t | {"land": _joined(t["land"], s["land"]), "at": None},
        ),
    ],
    "alone": [({"n": "n + 1"}, lambda t, _: t | {"n": None if t["n"] is None else t["n"] + 1})],
}
INSERTS: list[tuple[dict[str, str], Make]] = [
    (
        {"key": "source.key", "n": "source.n * 2"},
        lambda _, s: {
            "key": s["key"],
            "land": None,
            "n": None if s["n"] is None else s["n"] * 2,
            "at": None,
        },
    )
]


def _compared(one: int | None, other: int | None) -> bool | None:
    return None if one is None or other is None else one > other


def _is(value: str | None, other: str) -> bool | None:
    return None if value is None else value == other


def _joined(one: str | None, other: str | None) -> str | None:
    return None if one is None or other is None else one + other


def draw(seed: int, *, plain: bool) -> Drawn:
    """A merge; `plain` ones are those that need no Spark."""
    random = Random(seed)
    form = random.choice(sorted(FORMS))
    distinct = random.random() < 0.6
    target = _rows(random, random.randint(0, 14), twice=random.random() < 0.3)
    source = _rows(random, random.randint(0, 8), twice=not distinct)
    on, test = "target.key = source.key", _equal("key")
    if random.random() < 0.3:
        on, test = f"{on} AND source.land = target.land", _both(test, _equal("land"))
    clauses: list[Clause] = []
    for kind in ("pair", "new", "alone"):
        count = random.randint(0, 1 if plain else 3)
        for number in range(count):
            is_last = number == count - 1
            clauses.append(_clause(random, kind, is_last=is_last, plain=plain))
    if not clauses:
        clauses.append(_clause(random, "new", is_last=True, plain=plain))
    random.shuffle(clauses)
    clauses.sort(key=lambda clause: clause.where is None)
    return Drawn(form, tuple(target), tuple(source), on, test, tuple(clauses))


def _rows(random: Random, count: int, *, twice: bool) -> list[Row]:
    keys: list[int | None] = [None, *range(12)]
    chosen = random.choices(keys, k=count) if twice else random.sample(keys, min(count, len(keys)))
    return [
        {
            "key": key,
            "land": random.choice(["a", "b", "ü/%", None]),
            "n": random.choice([None, 1, 2, 3, 4, 5]),
            "at": None,
        }
        for key in chosen
    ]


def _clause(random: Random, kind: str, *, is_last: bool, plain: bool) -> Clause:
    where, test = None, _always
    if not plain and (not is_last or random.random() < 0.5):
        where, test = random.choice(CONDITIONS[kind])
    if kind == "new":
        if plain or random.random() < 0.5:
            return Clause("when_not_matched_insert_all", (), where, test, lambda _, s: dict(s))
        values, make = random.choice(INSERTS)
        return Clause("when_not_matched_insert", (values,), where, test, make)
    stem = "when_matched" if kind == "pair" else "when_not_matched_by_source"
    if random.random() < 0.4 or (plain and kind == "alone"):
        return Clause(f"{stem}_delete", (), where, test, None)
    if kind == "pair" and (plain or random.random() < 0.4):
        return Clause(f"{stem}_update_all", (), where, test, lambda _, s: dict(s))
    values, make = random.choice(UPDATES[kind])
    return Clause(f"{stem}_update", (values,), where, test, make)


@dataclass(frozen=True)
class Outcome:
    """Rows afterwards with whether each was there before, the feed, and counts by name."""

    rows: list[Row]
    feed: list[Row]
    counts: Counter[str]


def judge(drawn: Drawn) -> Outcome:
    """What a merge has to make; raises `TwiceError`."""
    found = Outcome([], [], Counter(source=len(drawn.source)))
    paired = _judge_rows(drawn, found)
    for at, other in enumerate(drawn.source):
        if at in paired or (clause := _first(drawn, "new", {}, other)) is None:
            continue
        assert clause.make is not None
        new = clause.make({}, other)
        found.counts["inserted"] += 1
        found.rows.append(new)
        found.feed.append(new | {"_change_type": "insert"})
    return found


def _judge_rows(drawn: Drawn, found: Outcome) -> set[int]:
    """What becomes of the rows of the table; the source rows that are partners of one."""
    paired: set[int] = set()
    matched = [clause for clause in drawn.clauses if clause.kind == "pair"]
    any_match = len(matched) == 1 and matched[0].make is None and matched[0].where is None
    for row in drawn.target:
        partners = [at for at, other in enumerate(drawn.source) if drawn.test(row, other) is True]
        paired.update(partners)
        kind = "pair" if partners else "alone"
        others = [drawn.source[at] for at in partners] or [{}]
        taken = [(other, clause) for other in others if (clause := _first(drawn, kind, row, other))]
        if len(taken) > 1 and not any_match:
            raise TwiceError
        _judge_row(row, taken[0] if taken else None, found)
    return paired


def _judge_row(row: Row, taken: tuple[Row, Clause] | None, found: Outcome) -> None:
    if taken is None:
        found.rows.append(row)
        return
    other, clause = taken
    if clause.make is None:
        found.counts["deleted"] += 1
        found.feed.append(row | {"_change_type": "delete"})
        return
    new = clause.make(row, other)
    found.counts["updated"] += 1
    found.rows.append(new)
    found.feed.append(row | {"_change_type": "update_preimage"})
    found.feed.append(new | {"_change_type": "update_postimage"})


def _first(drawn: Drawn, kind: str, row: Row, other: Row) -> Clause | None:
    """The clause that takes a row: the first of its kind whose condition is true."""
    return next(
        (
            clause
            for clause in drawn.clauses
            if clause.kind == kind and clause.test(row, other) is True
        ),
        None,
    )


def make_table(place: Path, drawn: Drawn) -> None:
    """The table, in three commits."""
    properties, partition_by = FORMS[drawn.form]
    pipeline.create(place, SCHEMA, properties=properties, partition_by=partition_by)
    for number in range(3):
        some = drawn.target[number::3]
        pipeline.write(pa.Table.from_pylist(list(some), SCHEMA), place)


def merge(place: Path, drawn: Drawn, source: Any, **options: Any) -> WriteResult:
    merging = pipeline.merge(place, source, drawn.on, **options)
    for clause in drawn.clauses:
        call = getattr(merging, clause.call)
        merging = call(*clause.given, where=clause.where)
    return merging.execute()
