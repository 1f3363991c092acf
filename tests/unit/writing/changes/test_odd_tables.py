"""Deletes, updates and merges of tables, conditions and values that are odd, in situations that
the reference's own suites have too: see `tests/interop/situations`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer import pipeline
from explorer.errors import DeltaError, InvalidArgumentError, UnsupportedError

VECTORS = {"delta.enableDeletionVectors": "true"}
_INNER = pa.struct([("b", pa.int32()), ("c", pa.string())])
_OUTER = pa.struct([("a", pa.int32()), ("t", _INNER)])


def _rows(place: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = explorer.read_rows(
        explorer.open_table(place).snapshot()
    ).to_pylist()
    return found


def _merge(place: Path, rows: pa.Table) -> Any:
    merging = pipeline.merge(place, rows, "target.id = source.id", engine="local")
    return merging.when_matched_update_all().when_not_matched_insert_all().execute()


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    ("where", "gone"),
    [
        ("1 = 1", {1, 2, 3}),
        ("TRUE AND id < 3", {1, 2}),
        ("5 < 3", set()),
        ("FALSE OR id = 2", {2}),
        ("NULL", set()),
        ("v = NULL", set()),
        ("v <=> NULL", {2}),
        ("NOT v <=> NULL", {1, 3}),
        ("id = '1'", {1}),
        ("id = 1.0", {1}),
    ],
)
def test_a_condition_of_constants_and_one_that_knows_nulls_is_what_it_says(
    tmp_path: Path, where: str, gone: set[int]
) -> None:
    rows = pa.table({"id": [1, 2, 3], "v": [1.0, None, 3.0]})
    pipeline.write(rows, tmp_path, properties=VECTORS)
    result = pipeline.delete(tmp_path, where, engine="local")
    assert {row["id"] for row in _rows(tmp_path)} == {1, 2, 3} - gone
    assert (result.version is None) == (not gone)
    assert result.metrics["numDeletedRows"] == len(gone)


_SUBQUERIES = ("id IN (SELECT 1)", "EXISTS (SELECT 1)", "NOT EXISTS (SELECT 1)", "id = (SELECT 1)")
_OF_OTHERS = ("max(id) = 3", "row_number() OVER (ORDER BY id) = 1", "explode(array(id)) = 1")
_NOT_THE_SAME = ("rand() < 0.5", "id < unix_timestamp()", "current_date() = current_date()")


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("text", [*_SUBQUERIES, *_OF_OTHERS, *_NOT_THE_SAME, "nobody = 1"])
def test_what_is_no_condition_on_one_row_is_refused_by_every_statement(
    tmp_path: Path, text: str
) -> None:
    pipeline.write(pa.table({"id": [1, 2, 3]}), tmp_path)
    merging = pipeline.merge(tmp_path, pa.table({"id": [1]}), "target.id = source.id")
    statements: list[Callable[[], object]] = [
        lambda: pipeline.delete(tmp_path, text),
        lambda: pipeline.update(tmp_path, {"id": "1"}, text),
    ]
    if text not in _NOT_THE_SAME:  # a merge knows the time
        statements.append(merging.when_matched_delete(text).execute)
    if text in _OF_OTHERS:
        statements.append(lambda: pipeline.update(tmp_path, {"id": text.partition(" = ")[0]}))
    if text == "nobody = 1":
        statements.append(lambda: pipeline.update(tmp_path, {"nobody": "1"}))
    for statement in statements:
        with pytest.raises(InvalidArgumentError):
            statement()
    assert len(_rows(tmp_path)) == 3
    assert explorer.open_table(tmp_path).latest_version() == 0


@pytest.mark.parametrize("inside", [".", "part=a", "absent"])
def test_what_is_no_table_is_not_changed(tmp_path: Path, inside: str) -> None:
    place = tmp_path / inside
    if inside == "part=a":
        pipeline.write(pa.table({"id": [1], "part": ["a"]}), tmp_path, partition_by="part")
    merging = pipeline.merge(place, pa.table({"id": [1]}), "target.id = source.id")
    for statement in (
        lambda: pipeline.delete(place, "id = 1"),
        lambda: pipeline.update(place, {"id": "2"}, "id = 1"),
        merging.when_matched_delete().execute,
    ):
        with pytest.raises(DeltaError) as refused:
            statement()
        assert refused.value.kind == "table_not_found"


def test_nothing_is_written_into_the_log_of_a_table(tmp_path: Path) -> None:
    pipeline.write(pa.table({"id": [1]}), tmp_path)
    place = tmp_path / "_delta_log"
    for statement in (
        lambda: pipeline.write(pa.table({"id": [1]}), place),
        lambda: pipeline.create(place / "t", "id BIGINT"),
        lambda: pipeline.delete(place, "id = 1"),
    ):
        with pytest.raises(InvalidArgumentError, match="within the log of a table"):
            statement()
    assert {path.suffix for path in place.iterdir()} == {".json", ".crc"}


@pytest.mark.parametrize("properties", [{}, VECTORS], ids=["copied", "vectors"])
@pytest.mark.parametrize("partition_by", [(), ("_change_type",)], ids=["", "partitioned"])
def test_a_column_with_a_name_of_the_feed_stays_where_there_is_none(
    tmp_path: Path, properties: Mapping[str, str], partition_by: tuple[str, ...]
) -> None:
    rows = pa.table({"id": [1, 2, 3], "_change_type": ["foo", "insert", "delete"]})
    pipeline.write(rows, tmp_path, properties=properties, partition_by=partition_by)
    pipeline.delete(tmp_path, "id = 1", engine="local")
    pipeline.update(tmp_path, {"id": "id + 10"}, "_change_type = 'delete'", engine="local")
    _merge(tmp_path, pa.table({"id": [2, 9], "_change_type": ["m", "n"]}))
    assert {(row["id"], row["_change_type"]) for row in _rows(tmp_path)} == {
        (2, "m"),
        (13, "delete"),
        (9, "n"),
    }


def test_void_columns_and_fields_are_null_to_conditions_and_stay_void(tmp_path: Path) -> None:
    more = pa.struct([("x", pa.int64()), ("y", pa.null())])
    struct = pa.struct([("a", pa.int64()), ("z", pa.null()), ("u", more)])
    inner = {"a": 1, "z": None, "u": {"x": 5, "y": None}}

    def rows(*ids: int) -> pa.Table:
        structs = pa.array([inner] * len(ids), struct)
        return pa.table({"id": ids, "n": pa.nulls(len(ids)), "s": structs})

    pipeline.write(rows(1, 2, 3), tmp_path, engine="local")
    schema = explorer.open_table(tmp_path).metadata().schema_string
    assert pipeline.delete(tmp_path, "s.z IS NOT NULL OR n = 1").version is None
    assert pipeline.delete(tmp_path, "n IS NULL AND id = 1", engine="local").version == 1
    assert pipeline.update(tmp_path, {"id": "id + 5"}, "n <=> NULL AND id = 2").version == 2
    assert pipeline.update(tmp_path, {"s.a": "8"}, "s.z IS NULL AND id = 3").version == 3
    assert _merge(tmp_path, rows(7, 9)).version == 4
    # without the fields that hold nothing it is the same row
    some = pa.table({"id": [10], "s": [{"a": 4}]})
    pipeline.write(some, tmp_path, engine="local")
    pipeline.write(pa.table({"id": [11], "s": pa.nulls(1)}), tmp_path, engine="local")
    found = {row["id"]: row["s"] and row["s"]["a"] for row in _rows(tmp_path)}
    assert found == {3: 8, 7: 1, 9: 1, 10: 4, 11: None}
    assert explorer.open_table(tmp_path).metadata().schema_string == schema


@pytest.mark.parametrize("kind", ["VARIANT", "STRUCT<v: VARIANT>", "ARRAY<VARIANT>"])
def test_a_merge_by_another_column_may_have_variants_beside_it_at_any_depth(
    tmp_path: Path, kind: str
) -> None:
    pipeline.create(tmp_path, f"id BIGINT, v {kind}")
    merging = pipeline.merge(
        tmp_path, pa.table({"id": [1]}), "target.id = source.id", engine="local"
    )
    # the condition is understood; the rows are Spark's
    with pytest.raises(UnsupportedError, match="The table has variants"):
        merging.when_matched_delete().execute()


def test_a_struct_of_void_fields_alone_is_refused_by_its_name(tmp_path: Path) -> None:
    struct = pa.struct([("u", pa.struct([("y", pa.null())]))])
    with pytest.raises(DeltaError, match="`s` holds a struct without a field") as refused:
        pipeline.write(pa.table({"id": [1], "s": pa.nulls(1, struct)}), tmp_path)
    assert refused.value.kind == "unsupported_feature"
    assert not (tmp_path / "_delta_log").exists()


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    ("values", "becomes"),
    [
        ({"s.t.b": "9"}, {"s": {"a": 1, "t": {"b": 9, "c": "x"}}}),
        ({"S.T.B": "4"}, {"s": {"a": 1, "t": {"b": 4, "c": "x"}}}),
        ({"s.a": "s.t.b", "s.t.b": "s.a"}, {"s": {"a": 2, "t": {"b": 1, "c": "x"}}}),
        ({"s.t": "NULL"}, {"s": {"a": 1, "t": None}}),
        ({"s": "s", "i": "id"}, {"i": 1}),
        ({"i": "i + 1", "id": "i"}, {"i": 6, "id": 5}),
        ({"i": "'17'"}, {"i": 17}),
        ({"id": "i"}, {"id": 5}),
        ({"str": "id"}, {"str": "1"}),
        ({"b": "'true'"}, {"b": True}),
        ({"i": "CAST(NULL AS STRING)"}, {"i": None}),
        ({"l": "NULL"}, {"l": None}),
    ],
    ids=str,
)
def test_values_speak_of_the_row_as_it_was_and_are_stored_by_the_columns_type(
    tmp_path: Path, values: Mapping[str, str], becomes: dict[str, Any]
) -> None:
    before = _nested(tmp_path)
    pipeline.update(tmp_path, values, "id = 1", engine="local")
    found = {str(row.get("str")): row for row in _rows(tmp_path)}
    assert found["other"] == before[1]
    (changed,) = (row for key, row in found.items() if key != "other")
    assert changed == before[0] | becomes


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    "values",
    [
        {"s.t.b": "9", "s.t": "NULL"},
        {"s": "NULL", "S.a": "1"},
        {"l.x": "1"},
        {"l.element.x": "1"},
        {"m.k": "1"},
        {"id.x": "1"},
        {"s.nobody": "1"},
        {"t.id": "1"},
        {"b": "1"},
        {"i": "1.5"},
        {"s.t.b": "'x'"},
        {"i": "DEFAULT + 1"},
    ],
    ids=str,
)
def test_values_that_no_column_or_field_can_take_change_nothing(
    tmp_path: Path, values: Mapping[str, str]
) -> None:
    before = _nested(tmp_path)
    with pytest.raises(InvalidArgumentError):
        pipeline.update(tmp_path, values, "id = 1", engine="local")
    assert _rows(tmp_path) == before


def _nested(place: Path) -> list[dict[str, Any]]:
    columns = {
        "id": pa.array([1, 2]),
        "s": pa.array([{"a": 1, "t": {"b": 2, "c": "x"}}, None], _OUTER),
        "l": pa.array([[{"x": 1}], None], pa.list_(pa.struct([("x", pa.int32())]))),
        "m": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int32())),
        "b": pa.array([None, None], pa.bool_()),
        "i": pa.array([5, 6], pa.int32()),
        "str": pa.array(["7", "other"]),
    }
    pipeline.write(pa.table(columns), place, engine="local")
    return _rows(place)


def test_an_update_again_and_again_adds_to_vectors_and_leaves_none_of_whole_partitions(
    tmp_path: Path,
) -> None:
    rows = pa.table({"id": [1, 2, 3, 4], "part": ["a", "a", "b", "b"]})
    pipeline.write(rows, tmp_path, partition_by="part", properties=VECTORS)

    def update(where: str) -> tuple[int, ...]:
        told = pipeline.update(tmp_path, {"id": "id + 10"}, where, engine="local").metrics
        names = ("numUpdatedRows", "numRemovedFiles", "numDeletionVectorsAdded")
        return tuple(told[name] for name in names)

    assert update("id = 1") == (1, 0, 1)
    # the rest of one file, and a part of another
    assert update("id IN (2, 3)") == (2, 1, 1)
    assert update("part = 'b'")[2] == 0
    assert update("part = 'a'")[2] == 0
    assert sorted(row["id"] for row in _rows(tmp_path)) == [14, 21, 22, 23]


@pytest.mark.parametrize("properties", [{}, VECTORS], ids=["copied", "vectors"])
def test_a_table_without_rows_is_changed_by_nothing(
    tmp_path: Path, properties: Mapping[str, str]
) -> None:
    pipeline.create(tmp_path, "id BIGINT", properties=properties)
    assert pipeline.delete(tmp_path).version is None
    assert pipeline.delete(tmp_path, "id = 1").version is None
    assert pipeline.update(tmp_path, {"id": "1"}).metrics["numUpdatedRows"] == 0
    assert _merge(tmp_path, pa.table({"id": [4]})).version == 1
    # and rows that come after all are gone are there
    assert pipeline.delete(tmp_path).version == 2
    pipeline.write(pa.table({"id": [5]}), tmp_path)
    assert _rows(tmp_path) == [{"id": 5}]


@pytest.mark.parametrize("properties", [{}, VECTORS], ids=["copied", "vectors"])
def test_one_row_of_every_file_goes_and_the_others_are_told(
    tmp_path: Path, properties: Mapping[str, str]
) -> None:
    for first in (0, 10, 20):
        rows = pa.table({"id": range(first, first + 10)})
        pipeline.write(rows, tmp_path, properties=properties if not first else None)
    told = pipeline.delete(tmp_path, "id IN (3, 13, 23)", engine="local").metrics
    assert (told["numDeletedRows"], told["numDeletionVectorsAdded"]) == (3, 3 if properties else 0)
    assert told["numCopiedRows"] == (0 if properties else 27)
    assert len(_rows(tmp_path)) == 27
