"""Overwrites by a condition on any column: rows that match go, and new ones have to match."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pytest

import explorer
from explorer import pipeline
from explorer.errors import InvalidArgumentError
from tests.changed_tables import (
    FORMS,
    SCHEMA,
    counted,
    feed_of,
    ids_of,
    make_table,
    rows_from,
    rows_of,
)
from tests.sampling import sample

CONDITIONS = {"here": "n = 1 OR n = -2", "NaN": "x > 1", "nested": "s.a >= 20"}


def _new(name: str) -> pa.Table:
    rows = rows_from(100, 12).to_pylist()
    match name:
        case "NaN":
            rows = [row | {"x": float("nan")} for row in rows]
        case "nested":
            rows = [row | {"s": {"a": 21, "b.c": None}} for row in rows]
        case _:
            rows = [row | {"n": 1} for row in rows]
    return pa.Table.from_pylist(rows, SCHEMA)


def _matches(name: str, row: dict[str, object]) -> bool:
    x, s = row["x"], row["s"]
    match name:
        case "NaN":
            return isinstance(x, float) and (math.isnan(x) or x > 1)
        case "nested":
            return isinstance(s, dict) and s["a"] >= 20
        case _:
            return row["n"] in {1, -2}


@pytest.mark.slow
@pytest.mark.parametrize("form", sample(FORMS, 2, "replaced rows"))
@pytest.mark.parametrize("name", CONDITIONS)
def test_rows_that_match_are_replaced(tmp_path: Path, form: str, name: str) -> None:
    place = tmp_path / "t"
    make_table(place, form)
    before, new = rows_of(place), _new(name)
    ids = ids_of(place) if form in {"ids", "ids-vectors", "all"} else {}
    where = CONDITIONS[name]
    result = pipeline.write(
        new, place, mode="overwrite", replace_where=where, engine="local", user_metadata="why"
    )
    gone = [row for row in before if _matches(name, row)]
    kept = [row for row in before if not _matches(name, row)]
    assert gone
    assert kept
    assert counted(rows_of(place)) == counted(kept + new.to_pylist())
    assert result.operation == "WRITE"
    if "delta.enableChangeDataFeed" in FORMS[form][0]:
        wanted = [row | {"_change_type": "delete"} for row in gone]
        wanted += [row | {"_change_type": "insert"} for row in new.to_pylist()]
        assert counted(feed_of(place, 4)) == counted(wanted)
    if ids:
        after = ids_of(place)
        assert {row["key"]: after[row["key"]] for row in kept} == {
            row["key"]: ids[row["key"]] for row in kept
        }


@pytest.mark.parametrize("n", [5, None], ids=["other", "null"])
def test_a_new_row_has_to_match(tmp_path: Path, n: int | None) -> None:
    place = tmp_path / "t"
    make_table(place, "vectors")
    rows = [row | {"n": n} for row in rows_from(100, 1).to_pylist()]
    with pytest.raises(InvalidArgumentError) as caught:
        pipeline.write(
            pa.Table.from_pylist(rows, SCHEMA), place, mode="overwrite", replace_where="n = 1"
        )
    assert caught.value.kind == "rows_refused"
    assert explorer.open_table(place).latest_version() == 3
    known = explorer.open_table(place).snapshot().files(["path"]).num_rows
    assert len([*place.rglob("*.parquet")]) == known


def test_new_columns_come_with_rows_that_replace_others(tmp_path: Path) -> None:
    place = tmp_path / "t"
    make_table(place, "feed")
    rows = [row | {"n": 1, "new": "yes"} for row in rows_from(100, 2).to_pylist()]
    new = pa.Table.from_pylist(rows, SCHEMA.append(pa.field("new", pa.string())))
    pipeline.write(new, place, mode="overwrite", replace_where="n = 1", merge_schema=True)
    found = rows_of(place)
    assert {row["new"] for row in found if row["key"] < 100} == {None}
    assert [row["new"] for row in found if row["key"] >= 100] == ["yes", "yes"]
    assert not [row for row in found if row["key"] < 100 and row["n"] == 1]
