"""What the statistics of new files may say."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pyarrow as pa
import pytest

from explorer.protocol.statistics import widen_statistics
from explorer.transaction.read_version import ReadVersion
from explorer.transaction.staged import Promises
from tests.file_statistics import build_statistics
from tests.unit.transaction.stages import (
    MAPPED,
    PLAIN,
    add,
    base,
    batch,
    field,
    mapped,
    metadata,
    only,
    remove,
    schema,
    stage,
    texts,
)

FEW, MANY = 1, 300


def among(count: int, stats: str, read: ReadVersion | None = None) -> list[str]:
    """What is wrong with a commit of so many files, of which the last says this."""
    sound = [add(f"{number}", stats='{"numRecords":1}') for number in range(count - 1)]
    found = texts(stage(*sound, add("odd", stats=stats), upon=read))
    files = batch("add", *sound, add("odd", stats=stats))
    assert texts(replace(stage(upon=read), adds=(files,))) == found
    return found


@pytest.mark.parametrize("count", [FEW, MANY])
@pytest.mark.parametrize(
    "stats",
    [
        "",
        "garbage",
        "null",
        "NaN",
        "[1]",
        '{"numRecords":1} x',
        '{"numRecords":1',
        '{"numRecords":1,"numRecords":2}',
        '{"numRecords":5.0}',
        '{"numRecords":"5"}',
        '{"numRecords":1e3}',
        '{"numRecords":true}',
        '{"numRecords":9223372036854775808}',
        '{"numRecords":1,"tightBounds":"no"}',
        '{"numRecords":1,"minValues":7}',
        '{"numRecords":1,"minValues":{"id":NaN}}',
        '{"numRecords":1,"maxValues":{"id":-Infinity}}',
        '{"numRecords":1,"nullCount":{"id":"1"}}',
        '{"numRecords":1,"nullCount":{"id":0.5}}',
        '{"numRecords":1,"minValues":{"id":"x"},"nullCount":{"id":2}}',
    ],
)
def test_statistics_are_one_json_object_that_counts(stats: str, count: int) -> None:
    (found,) = among(count, stats)
    assert "1 file has statistics that are not a JSON object" in found
    assert "`odd`" in found


@pytest.mark.parametrize("count", [FEW, MANY])
@pytest.mark.parametrize(
    "stats",
    [
        '{"numRecords":-1}',
        '{"numRecords":1,"nullCount":{"id":2}}',
        '{"numRecords":1,"nullCount":{"id":-1}}',
        '{"nullCount":{"id":-1}}',
        '{"numRecords":1,"minValues":{"id":9},"maxValues":{"id":1}}',
        '{"numRecords":1,"minValues":{"id":9},"maxValues":{"id":1},"tightBounds":false}',
        '{"numRecords":1,"minValues":{"day":"2026-02-02"},"maxValues":{"day":"2026-02-01"}}',
    ],
)
def test_statistics_do_not_contradict_themselves(stats: str, count: int) -> None:
    (found,) = among(count, stats)
    assert found == "1 file has statistics that contradict themselves: `odd`."


@pytest.mark.parametrize("count", [FEW, MANY])
@pytest.mark.parametrize(
    "stats",
    [
        "{}",
        ' {"numRecords":3}\n',
        '{"numRecords":null}',
        '{"numRecords":0,"minValues":{},"maxValues":{},"nullCount":{"id":0}}',
        '{"numRecords":3,"minValues":{"id":null},"maxValues":null,"nullCount":{"id":3}}',
        '{"numRecords":3,"minValues":{"id":5},"nullCount":{"id":1}}',
        '{"nullCount":{"id":5}}',
        '{"numRecords":1,"minValues":{"other":9},"maxValues":{"other":1}}',
        # of another type than the column, or no day: for readers it is no bound
        '{"numRecords":1,"minValues":{"id":"x"},"maxValues":{"id":1}}',
        '{"numRecords":1,"minValues":{"id":"NaN"},"maxValues":{"id":1}}',
        '{"numRecords":1,"minValues":{"day":"2026-02-31"},"maxValues":{"day":"2026-02-01"}}',
        '{"numRecords":1,"minValues":{"day":"12345678-02-03"},"maxValues":{"day":"2026-02-01"}}',
        '{"numRecords":1,"somethingNew":[1]}',
    ],
)
def test_what_statistics_leave_out_is_no_mistake(stats: str, count: int) -> None:
    assert among(count, stats) == []


def test_bounds_of_every_year_are_held_against_each_other() -> None:
    stats = '{"numRecords":1,"minValues":{"day":"+12026-02-03"},"maxValues":{"day":"2026-02-01"}}'
    assert len(among(1, stats)) == 1


KINDS = schema(
    field("s", "string"),
    field("t", "timestamp"),
    field("n", "timestamp_ntz"),
    field("x", "double"),
    field("f", "float"),
    field("d", "decimal(38,18)"),
    field("b", "boolean"),
    field("bytes", "binary"),
    field("r", {"type": "struct", "fields": [field("in", "integer")]}),
    field("a", {"type": "array", "elementType": "long", "containsNull": True}),
)


def kinds() -> ReadVersion:
    return base(PLAIN, metadata(schema_string=KINDS))


def crossed(name: str, low: object, high: object) -> list[str]:
    body = {"numRecords": 2, "minValues": {name: low}, "maxValues": {name: high}}
    text = orjson.dumps(body).decode()
    found = [among(count, text, kinds()) for count in (FEW, MANY)]
    assert len(found[0]) == len(found[1])
    return found[0]


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("s", "b", "a"),
        ("s", "\U0001f600", "\ufffd"),
        ("t", "2026-01-01T00:00:00.001Z", "2026-01-01T00:00:00.000Z"),
        ("t", "2026-01-01T01:00:00.000+01:00", "2026-01-01T00:30:00.000+01:00"),
        ("n", "2026-01-02T00:00:00.000", "2026-01-01T00:00:00.000"),
        ("x", 0.5, 0.25),
        ("f", 1.5, -1.5),
        ("d", 2, 1),
        ("b", True, False),
        ("r", {"in": 2}, {"in": 1}),
    ],
)
def test_bounds_of_every_type_are_compared_as_its_values(
    name: str, low: object, high: object
) -> None:
    assert "contradict themselves" in crossed(name, low, high)[0]
    assert crossed(name, high, low) == []
    assert crossed(name, low, low) == []


def test_bounds_that_are_cut_do_not_cross() -> None:
    assert crossed("s", "a" * 32, "a" * 32 + "\U0010ffff") == []
    assert crossed("s", "a" * 32, "a" * 32 + "\ufffd") == []
    assert crossed("s", "z" * 32, "z" * 32) == []
    assert crossed("t", "2026-01-01T02:00:00.000+02:00", "2026-01-01T00:30:00.000Z") == []
    assert crossed("x", 0.0, -0.0) == []
    assert crossed("x", "NaN", "NaN") == []
    assert crossed("x", 1.5, "NaN") == []
    assert crossed("bytes", "b", "a") == []
    assert crossed("a", 2, 1) == []


def test_what_this_product_writes_is_taken() -> None:
    rows = pa.table(
        {
            "s": pa.array(["b" * 40, None]),
            "x": pa.array([1.0, float("nan")]),
            "f": pa.array([0.1, float("inf")], pa.float32()),
            "t": pa.array([1, 2], pa.timestamp("us", "UTC")),
            "b": pa.array([True, None]),
            "r": pa.array([{"in": 1}, None], pa.struct([("in", pa.int32())])),
            "a": pa.array([[1, None], None], pa.list_(pa.int64())),
        }
    )
    for part in (rows, rows.slice(0, 1), rows.slice(0, 0)):
        stats = build_statistics(part)
        assert among(FEW, stats, kinds()) == among(MANY, stats, kinds()) == []
        assert among(FEW, widen_statistics(stats), kinds()) == []


def in_mode(*columns: dict, mode: str = "name", partitions: tuple[str, ...] = ()) -> ReadVersion:
    properties = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "9"}
    table = metadata(properties, schema_string=schema(*columns), partition_columns=partitions)
    return base(MAPPED, table)


def naming(read: ReadVersion, part: str, names: object) -> list[str]:
    stats = orjson.dumps({"numRecords": 2, part: names}).decode()
    found = [among(count, stats, read) for count in (FEW, MANY)]
    assert len(found[0]) == len(found[1])
    return found[0]


@pytest.mark.rule("mapping-log-physical")
@pytest.mark.parametrize("part", ["minValues", "maxValues", "nullCount"])
@pytest.mark.parametrize("mode", ["name", "id"])
def test_statistics_go_by_physical_names(part: str, mode: str) -> None:
    read = in_mode(mapped("a", 1), mapped('q"é', 2), mode=mode)
    assert "name columns otherwise" in naming(read, part, {"a": 1})[0]
    assert "name columns otherwise" in naming(read, part, {"col-1": 1, 'q"é': 1})[0]
    assert naming(read, part, {"col-1": 1, "col-2": 1, "nobody's": 1}) == []
    escaped = f'{{"numRecords":2,"{part}":{{"q\\"\\u00e9":1}}}}'
    assert "name columns otherwise" in among(FEW, escaped, read)[0]


def test_names_inside_structs_are_physical_too() -> None:
    inner = {"type": "struct", "fields": [mapped("a", 2), mapped("b", 3)]}
    read = in_mode(mapped("r", 1, kind=inner), mapped("c", 4, "a"))
    assert "name columns otherwise" in naming(read, "minValues", {"col-1": {"a": 1}})[0]
    assert "name columns otherwise" in naming(read, "minValues", {"r": {"col-2": 1}})[0]
    assert naming(read, "minValues", {"col-1": {"col-2": 1, "col-3": 2}, "a": 1}) == []


def test_names_that_may_be_meant_are_taken() -> None:
    swapped = in_mode(mapped("a", 1, "b"), mapped("b", 2, "a"))
    assert naming(swapped, "minValues", {"a": 1, "b": 2}) == []
    upgraded = in_mode(mapped("a", 1, "a"), mapped("renamed", 2, "b"))
    assert naming(upgraded, "minValues", {"a": 1, "b": 2}) == []
    parted = in_mode(mapped("a", 1), mapped("p", 2), partitions=("p",))
    said = add(partition_values={"col-2": "1"}, stats='{"numRecords":1,"minValues":{"p":1}}')
    assert texts(stage(said, upon=parted)) == []
    text = in_mode(mapped("a", 1, kind="string"))
    assert naming(text, "minValues", {"col-1": '"a":1'}) == []
    plain = base(PLAIN, replace(METADATA_OF_A, configuration={"delta.columnMapping.mode": "name"}))
    assert naming(plain, "minValues", {"a": 1}) == []


METADATA_OF_A = metadata(schema_string=schema(mapped("a", 1)))


@pytest.mark.slow
def test_a_table_of_many_columns_is_looked_at_as_well() -> None:
    columns = [field(f"c{number}") for number in range(500)]
    columns.append(field("r", {"type": "struct", "fields": [field("in")]}))
    read = base(PLAIN, metadata(schema_string=schema(*columns)))
    for name in ("c0", "c499"):
        assert "contradict" in naming(read, "nullCount", {name: 3})[0]
        assert naming(read, "nullCount", {name: 2}) == []
    assert "contradict" in naming(read, "nullCount", {"r": {"in": 3}})[0]
    assert "not a JSON object" in among(MANY, "[1]", read)[0]


def test_statistics_of_files_that_are_there_already_stay_as_they_are() -> None:
    odd = add("a", stats="garbage")
    assert "not a JSON object" in only(stage(odd))
    assert "not a JSON object" in only(stage(replace(odd, data_change=False), remove("b")))
    assert texts(stage(odd, promises=Promises(recommits=True))) == []
    assert texts(stage(replace(odd, data_change=False))) == []
    assert texts(stage(remove("a", stats="garbage"))) == []


def test_every_file_with_odd_statistics_is_counted() -> None:
    files = [add(f"{number}", stats="x") for number in range(7)]
    assert "7 files have statistics" in only(stage(*files))
