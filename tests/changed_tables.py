"""Tables whose rows are changed, and a model that says what each statement has to make of them.

Every row has a `key` that no statement changes, so that rows can be followed through files.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

import explorer
from explorer import pipeline
from explorer.writing.statements.options import WriteResult

Row = dict[str, Any]

VECTORS = {"delta.enableDeletionVectors": "true"}
FEED = {"delta.enableChangeDataFeed": "true"}
IDS = {"delta.enableRowTracking": "true"}
NAMES = {"delta.columnMapping.mode": "name"}

FORMS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "plain": ({}, ()),
    "partitioned": ({}, ("land",)),
    "vectors": (VECTORS, ()),
    "feed": (FEED, ()),
    "feed-partitioned": (FEED, ("land",)),
    "vectors-feed": (VECTORS | FEED, ("land",)),
    "ids": (IDS | FEED, ()),
    "ids-vectors": (IDS | VECTORS | FEED, ()),
    "mapped": (NAMES | FEED, ("land",)),
    "all": (NAMES | IDS | VECTORS | FEED, ("land",)),
}
"""Properties and partition columns."""

SCHEMA = pa.schema(
    [
        ("key", pa.int64()),
        ("land", pa.string()),
        ("x", pa.float64()),
        ("n", pa.int32()),
        ("s", pa.struct([("a", pa.int32()), ("b.c", pa.string())])),
        ("tags", pa.list_(pa.string())),
    ]
)
LANDS = ("DE", "a/b=%20 ü", None, "it's")
NUMBERS = (1.5, None, math.nan, -0.0, 1e300)


def rows_from(first: int, count: int) -> pa.Table:
    """Rows with such keys, and every odd value."""
    found = [
        {
            "key": key,
            "land": LANDS[key % len(LANDS)],
            "x": NUMBERS[key % len(NUMBERS)],
            "n": None if key % 7 == 6 else key % 5 - 2,
            "s": None if key % 4 == 3 else {"a": key, "b.c": f"{key}\n" if key % 3 else None},
            "tags": [[], None, ["ä", None]][key % 3],
        }
        for key in range(first, first + count)
    ]
    return pa.Table.from_pylist(found, SCHEMA)


def make_table(place: Path, form: str, files: int = 3, rows: int = 12) -> None:
    """A table of so many commits."""
    properties, partition_by = FORMS[form]
    pipeline.create(place, SCHEMA, properties=properties, partition_by=partition_by)
    for number in range(files):
        pipeline.write(rows_from(number * rows, rows), place)


Test = Callable[[Row], bool | None]


@dataclass(frozen=True)
class Change:
    """A condition and its meaning; what an update sets, and its meaning, none for a delete."""

    where: str | None
    matches: Test
    values: Mapping[str, str] = field(default_factory=dict)
    becomes: Callable[[Row], Row] | None = None


def _greater(value: float | None, than: float) -> bool | None:
    return None if value is None else math.isnan(value) or value > than


CONDITIONS: dict[str, tuple[str | None, Test]] = {
    "one row": ("key = 3", lambda row: row["key"] == 3),
    "some files": ("key IN (1, 2, 13, 35)", lambda row: row["key"] in {1, 2, 13, 35}),
    "whole file": ("key >= 12 AND key < 24", lambda row: 12 <= row["key"] < 24),
    "NaN": ("x > 1", lambda row: _greater(row["x"], 1)),
    "null": ("x IS NULL", lambda row: row["x"] is None),
    "unknown is no match": (
        "NOT x > 1",
        lambda row: None if row["x"] is None else not _greater(row["x"], 1),
    ),
    "partition": ("land = 'a/b=%20 ü'", lambda row: row["land"] == "a/b=%20 ü"),
    "null partition": ("land IS NULL", lambda row: row["land"] is None),
    "nested": ("s.a >= 20", lambda row: row["s"] is not None and row["s"]["a"] >= 20),
    "nothing": ("key < 0", lambda _: False),
    "everything": (None, lambda _: True),
    "quoted": ("s.`b.c` = '1\\n'", lambda row: (row["s"] or {}).get("b.c") == "1\n"),
}


def _with_field(row: Row) -> Row:
    held = row["s"] or {"a": None, "b.c": None}
    return row | {"s": held | {"a": row["n"]}}


VALUES: dict[str, tuple[dict[str, str], Callable[[Row], Row]]] = {
    "arithmetic": (
        {"n": "n * 2 + 1"},
        lambda row: row | {"n": None if row["n"] is None else row["n"] * 2 + 1},
    ),
    "other partition": (
        {"LAND": "'new/ü'", "x": "NULL"},
        lambda row: row | {"land": "new/ü", "x": None},
    ),
    "no partition": ({"land": "NULL"}, lambda row: row | {"land": None}),
    "nested": ({"s.a": "n"}, _with_field),
    "swap": (
        {"x": "CAST('NaN' AS DOUBLE)", "tags": "NULL"},
        lambda row: row | {"x": math.nan, "tags": None},
    ),
    "columns": ({"n": "s.a"}, lambda row: row | {"n": None if row["s"] is None else row["s"]["a"]}),
}


def changes() -> dict[str, Change]:
    """Every delete, and updates with each condition and each value."""
    found = {
        f"delete {name}": Change(where, matches) for name, (where, matches) in CONDITIONS.items()
    }
    values = list(VALUES.items())
    for number, (name, (where, matches)) in enumerate(CONDITIONS.items()):
        for at in (number % len(values), (number + 1) % len(values)):
            what, (texts, becomes) = values[at]
            found[f"update {name}, {what}"] = Change(where, matches, texts, becomes)
    return found


def run(place: Path, change: Change, **options: Any) -> WriteResult:
    """Carry it out."""
    if change.becomes is None:
        return pipeline.delete(place, change.where, **options)
    return pipeline.update(place, change.values, change.where, **options)


def expected(rows: list[Row], change: Change) -> tuple[list[Row], list[Row]]:
    """The rows afterwards, and those of the feed with `_change_type`."""
    after, feed = [], []
    for row in rows:
        if change.matches(row) is not True:
            after.append(row)
        elif change.becomes is None:
            feed.append(row | {"_change_type": "delete"})
        else:
            new = change.becomes(row)
            after.append(new)
            feed.append(row | {"_change_type": "update_preimage"})
            feed.append(new | {"_change_type": "update_postimage"})
    return after, feed


def rows_of(place: Path) -> list[Row]:
    """The rows, in the order of their keys."""
    snapshot = explorer.open_table(place).snapshot()
    rows: list[Row] = explorer.read_rows(snapshot).to_pylist()
    return sorted(rows, key=lambda row: row["key"])


def ids_of(place: Path) -> dict[int, tuple[int, int]]:
    """Row id and commit version by key."""
    names = ["_row_id", "_row_commit_version"]
    snapshot = explorer.open_table(place).snapshot()
    rows = explorer.read_rows(snapshot, ["key"], metadata_columns=names).to_pylist()
    return {row["key"]: (row["_row_id"], row["_row_commit_version"]) for row in rows}


def feed_of(place: Path, version: int) -> list[Row]:
    """What the feed says of one version."""
    table = explorer.open_table(place)
    rows: list[Row] = explorer.read_changes(table, version, version).to_pylist()
    drop = {"_commit_version", "_commit_timestamp"}
    return [{name: row[name] for name in row if name not in drop} for row in rows]


def counted(rows: list[Row]) -> Counter[str]:
    """Rows in no order; NaN is itself, and the two zeros are two."""
    return Counter(repr(sorted(row.items())) for row in rows)
