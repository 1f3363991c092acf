"""Columns that fill themselves (generated, with a default, identity) under every statement: see
`tests/interop/situations`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer import pipeline
from explorer.errors import DeltaError, InvalidArgumentError

DEFAULTS = {"delta.feature.allowColumnDefaults": "supported"}
FEED = {"delta.enableChangeDataFeed": "true"}
NAMES = {"delta.columnMapping.mode": "name"}
VECTORS = {"delta.enableDeletionVectors": "true"}


def _rows(place: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = explorer.read_rows(
        explorer.open_table(place).snapshot()
    ).to_pylist()
    return found


def _ints(**columns: list[int | None]) -> pa.Table:
    return pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()})


_GENERATED = (
    "id BIGINT, v BIGINT, g BIGINT GENERATED ALWAYS AS (id * 2), "
    "`dot.c` BIGINT, u BIGINT GENERATED ALWAYS AS (`dot.c` + 1), "
    "s STRUCT<a: BIGINT, t: STRUCT<b: BIGINT>>, ga BIGINT GENERATED ALWAYS AS (s.t.b + 1)"
)


@pytest.fixture(params=[FEED, FEED | VECTORS], ids=["copied", "vectors"])
def generated(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    pipeline.create(tmp_path, _GENERATED, properties=NAMES | request.param)
    inner = pa.struct([("a", pa.int64()), ("t", pa.struct([("b", pa.int64())]))])
    rows = _ints(id=[1, 2, 3], v=[1, 2, 3])
    rows = rows.append_column("dot.c", pa.array([7, None, 9]))
    structs = [{"a": 1, "t": {"b": 1}}, None, {"a": 2, "t": None}]
    pipeline.write(rows.append_column("s", pa.array(structs, inner)), tmp_path, engine="local")
    return tmp_path


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    ("values", "becomes"),
    [
        ({"g": "2"}, {}),
        ({"id": "5"}, {"id": 5, "g": 10}),
        ({"id": "6", "G": "12"}, {"id": 6, "g": 12}),
        ({"ID": "NULL"}, {"id": None, "g": None}),
        ({"v": "9"}, {"v": 9}),
        ({"g": "DEFAULT"}, {}),
        ({"`dot.c`": "1"}, {"dot.c": 1, "u": 2}),
        ({"s.t.b": "7"}, {"s": {"a": 1, "t": {"b": 7}}, "ga": 8}),
        ({"s": "NULL"}, {"s": None, "ga": None}),
        ({"id": "v + 1", "v": "id + 2"}, {"id": 2, "v": 3, "g": 4}),
    ],
    ids=str,
)
def test_an_update_computes_what_is_generated_and_the_feed_has_both_rows(
    generated: Path, values: Mapping[str, str], becomes: dict[str, Any]
) -> None:
    before = next(row for row in _rows(generated) if row["id"] == 1)
    pipeline.update(generated, values, "id = 1", engine="local")
    after = before | becomes
    assert after in _rows(generated)
    table = explorer.open_table(generated)
    told = explorer.read_changes(table, 2, 2).to_pylist()
    feed = {row["_change_type"]: {name: row[name] for name in before} for row in told}
    assert feed == {"update_preimage": before, "update_postimage": after}


@pytest.mark.parametrize("values", [{"g": "3"}, {"g": "NULL"}, {"id": "6", "g": "2"}], ids=str)
def test_an_update_to_another_value_than_the_generated_one_is_refused(
    generated: Path, values: Mapping[str, str]
) -> None:
    before = _rows(generated)
    with pytest.raises(InvalidArgumentError) as refused:
        pipeline.update(generated, values, "id = 1", engine="local")
    assert refused.value.kind == "rows_refused"
    assert _rows(generated) == before


def test_a_delete_leaves_what_was_generated(generated: Path) -> None:
    pipeline.delete(generated, "g = 2 OR ga > 5", engine="local")
    assert {row["g"] for row in _rows(generated)} == {4, 6}


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    "columns",
    [
        "id BIGINT, g BIGINT GENERATED ALWAYS AS (nobody + 1)",
        "id BIGINT, g BIGINT GENERATED ALWAYS AS (id), h BIGINT GENERATED ALWAYS AS (g)",
        "id BIGINT, g DOUBLE GENERATED ALWAYS AS (rand())",
        "id BIGINT, g BIGINT GENERATED ALWAYS AS (max(id))",
        "id BIGINT, g BIGINT GENERATED ALWAYS AS (row_number() OVER (ORDER BY id))",
        "id BIGINT, g BIGINT GENERATED ALWAYS AS (my_function(id))",
        "id BIGINT, g BIGINT GENERATED ALWAYS AS ((SELECT 1))",
        "id BIGINT, g BIGINT GENERATED ALWAYS AS (id) DEFAULT 4",
        "id INT GENERATED ALWAYS AS IDENTITY",
        "id BIGINT GENERATED ALWAYS AS IDENTITY (INCREMENT BY 0)",
        "id BIGINT DEFAULT 5 GENERATED ALWAYS AS IDENTITY",
        "id BIGINT, d INT DEFAULT (SELECT 1)",
        "id BIGINT, d INT DEFAULT id + 1",
        "id BIGINT, d INT DEFAULT 'text'",
    ],
)
def test_columns_that_cannot_fill_themselves_are_not_created(tmp_path: Path, columns: str) -> None:
    with pytest.raises(InvalidArgumentError):
        pipeline.create(tmp_path, columns, properties=DEFAULTS)
    assert not (tmp_path / "_delta_log").exists()


def test_defaults_fill_what_each_statement_leaves_out(tmp_path: Path) -> None:
    columns = "id BIGINT, a BIGINT DEFAULT 7, b STRING DEFAULT 'x', n BIGINT NOT NULL DEFAULT 3"
    pipeline.create(tmp_path, columns, properties=DEFAULTS)
    pipeline.write(_ints(id=[1]), tmp_path, engine="local")
    pipeline.write(_ints(id=[2], a=[None]), tmp_path, engine="local")
    assert [row["a"] for row in _rows(tmp_path)] == [7, None], "a null is a value"
    pipeline.update(tmp_path, {"a": "default", "b": "'DEFAULT'"}, "id = 2", engine="local")
    merging = pipeline.merge(
        tmp_path, _ints(id=[1, 5]), "target.id = source.id", merge_schema=True, engine="local"
    )
    merging.when_not_matched_insert_all().execute()
    pipeline.write(
        _ints(id=[9]), tmp_path, mode="overwrite", replace_where="id = 9", engine="local"
    )
    assert sorted(_rows(tmp_path), key=lambda row: row["id"]) == [
        {"id": 1, "a": 7, "b": "x", "n": 3},
        {"id": 2, "a": 7, "b": "DEFAULT", "n": 3},
        {"id": 5, "a": 7, "b": "x", "n": 3},
        {"id": 9, "a": 7, "b": "x", "n": 3},
    ]
    pipeline.write(_ints(id=[1]), tmp_path, mode="overwrite", engine="local")
    assert _rows(tmp_path) == [{"id": 1, "a": 7, "b": "x", "n": 3}]


class _Numbered:
    """A table with an identity column, whose numbers are followed."""

    def __init__(self, place: Path, step: int) -> None:
        self.place, self.step, self.known = place, step, list[int]()
        identity = f"GENERATED ALWAYS AS IDENTITY (START WITH 10 INCREMENT BY {step})"
        pipeline.create(place, f"id BIGINT {identity}, v BIGINT", properties=FEED)

    def new(self) -> list[int]:
        """How often the column has counted on since it was asked; the mark says the same."""
        ids = [row["id"] for row in _rows(self.place)]
        found = [number for number in ids if number not in self.known]
        self.known += found
        schema = json.loads(str(explorer.open_table(self.place).metadata().schema_string))
        mark = schema["fields"][0]["metadata"]["delta.identity.highWaterMark"]
        assert mark == 10 + (len(self.known) - 1) * self.step
        return sorted((number - 10) // self.step for number in found)

    def write(self, *values: int, **options: Any) -> None:
        pipeline.write(_ints(v=list(values)), self.place, engine="local", **options)

    def merge(self, *values: int) -> Any:
        on = "target.v = source.v"
        merging = pipeline.merge(self.place, _ints(v=list(values)), on, engine="local")
        return merging.when_matched_update_all()


@pytest.mark.slow
@pytest.mark.parametrize("step", [3, -3])
def test_the_mark_of_an_identity_column_moves_with_new_rows_alone(
    tmp_path: Path, step: int
) -> None:
    table = _Numbered(tmp_path, step)
    table.write(1, 2)
    assert table.new() == [0, 1]
    pipeline.update(tmp_path, {"v": "9"}, "v = 1", engine="local")
    pipeline.delete(tmp_path, "v = 2", engine="local")
    table.merge(9).execute()
    assert table.new() == []
    table.merge(9, 8).when_not_matched_insert_all().execute()
    assert table.new() == [2]
    changes = explorer.read_changes(explorer.open_table(tmp_path), 5, 5).to_pylist()
    told = {(row["_change_type"], (row["id"] - 10) // step) for row in changes}
    assert told == {("update_preimage", 0), ("update_postimage", 0), ("insert", 2)}
    table.write(8, mode="overwrite", replace_where="v = 8")
    assert table.new() == [3]
    table.write(7, mode="overwrite")
    assert table.new() == [4]


def test_a_merge_that_adds_a_column_counts_on(tmp_path: Path) -> None:
    table = _Numbered(tmp_path, 2)
    table.write(1)
    rows = _ints(v=[1, 2], w=[5, 6])
    merging = pipeline.merge(tmp_path, rows, "target.v = source.v", merge_schema=True)
    merging.when_matched_update_all().when_not_matched_insert_all().execute()
    assert table.new() == [0, 1]
    found = {(row["id"], row["v"], row["w"]) for row in _rows(tmp_path)}
    assert found == {(10, 1, 5), (12, 2, 6)}


def test_numbers_that_are_always_generated_are_not_given(tmp_path: Path) -> None:
    table = _Numbered(tmp_path, 1)
    table.write(1)
    rows = _ints(id=[3], v=[3])
    merging = pipeline.merge(tmp_path, rows, "target.v = source.v", engine="local")
    for statement in (
        lambda: pipeline.write(rows, tmp_path, engine="local"),
        lambda: pipeline.update(tmp_path, {"id": "1"}, engine="local"),
        merging.when_not_matched_insert_all().execute,
        merging.when_matched_update({"id": "source.id"}).execute,
    ):
        with pytest.raises(DeltaError):
            statement()
    assert table.new() == [0]


def test_numbers_that_are_given_leave_the_mark_and_may_come_twice(tmp_path: Path) -> None:
    pipeline.create(tmp_path, "id BIGINT GENERATED BY DEFAULT AS IDENTITY, v BIGINT")
    for rows in (_ints(v=[1]), _ints(id=[2, 100], v=[2, 3]), _ints(v=[4, 5])):
        pipeline.write(rows, tmp_path, engine="local")
    assert [(row["id"], row["v"]) for row in _rows(tmp_path)] == [
        (1, 1),
        (2, 2),
        (100, 3),
        (2, 4),
        (3, 5),
    ]
