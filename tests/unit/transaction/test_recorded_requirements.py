"""What the statistics of new files tell of rows that break a rule of the table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from explorer.protocol.actions import Metadata
from explorer.transaction.read_version import NO_TABLE, ReadVersion
from explorer.transaction.staged import Promises, ValidatedRule
from tests.unit.transaction.stages import (
    MAPPED,
    PLAIN,
    add,
    base,
    batch,
    features,
    field,
    mapped,
    metadata,
    numbered,
    only,
    remove,
    schema,
    stage,
    texts,
    vector,
)

AGAIN = Promises(recommits=True)


def counted(rows: int = 10, **nulls: Any) -> str:
    return orjson.dumps({"numRecords": rows, "nullCount": nulls}).decode()


def without_nulls(*paths: str) -> Promises:
    """The word of who wrote the rows, which is all that there was to go by."""
    rules = (ValidatedRule(key=f"{path} nullable", expression="") for path in paths)
    return Promises(validated=frozenset(rules))


REQUIRED = schema(field("id", nullable=False), field("n"))
STRICT = base(PLAIN, metadata(schema_string=REQUIRED))


@pytest.mark.rule("schema-field-members")
@pytest.mark.parametrize(
    ("stats", "wrong"),
    [
        (counted(id=0, n=4), False),
        (counted(id=1, n=0), True),
        ('{"numRecords":10,"nullCounts":{"id":2}}', True),
        (counted(), False),
        ('{"numRecords":10}', False),
        (None, False),
    ],
    ids=["none", "some", "the other spelling", "not said", "no counts", "no statistics"],
)
def test_no_new_file_counts_nulls_where_none_may_be(stats: str | None, wrong: bool) -> None:
    promised = without_nulls("id")
    staged = stage(add(stats=stats), upon=STRICT, promises=promised)
    found = texts(staged)
    assert ["1 new file has nulls in it" in text for text in found] == [True] * wrong
    # nor a rewrite, for which nobody has to promise anything
    rewrite = (remove("r", data_change=False), add(stats=stats, data_change=False))
    assert texts(stage(*rewrite, upon=STRICT)) == found
    new = stage(PLAIN, metadata(schema_string=REQUIRED), *staged.actions, upon=NO_TABLE)
    assert len(texts(replace(new, promises=promised))) == wrong


def test_among_many_files_those_with_nulls_are_named() -> None:
    files = [add(f"{at}", stats=counted(id=int(at == 8500))) for at in range(9000)]
    staged = replace(stage(upon=STRICT, promises=without_nulls("id")), adds=(batch("add", *files),))
    assert only(staged).endswith("`8500`.")


def test_what_others_wrote_is_kept_completed_and_hidden_all_the_same() -> None:
    nulls = counted(id=3)
    completed = stage(add("a", stats=nulls, data_change=False), upon=STRICT)
    assert texts(completed) == []
    assert texts(stage(add("a", stats=nulls), upon=STRICT, promises=AGAIN)) == []
    again = (remove("a", deletion_vector=vector()), add("a", stats=nulls))
    assert texts(stage(*again, upon=STRICT, promises=without_nulls("id"))) == []


def nested(struct: bool, inner: bool) -> str:
    """`s` with `a`, which may be null or not, and `b`, which may; inside `s.t` there is `c`."""
    deep = {"type": "struct", "fields": [field("c", nullable=False)]}
    kind = {
        "type": "struct",
        "fields": [field("a", nullable=inner), field("b"), field("t", deep, nullable=False)],
    }
    return schema(field("id"), field("s", kind, nullable=struct))


@pytest.mark.parametrize(
    ("struct", "inner", "nulls", "wrong"),
    [
        (False, False, {"a": 0, "b": 3, "t": {"c": 0}}, []),
        (False, False, {"a": 1, "b": 3, "t": {"c": 0}}, ["s.a"]),
        (False, False, {"a": 0, "b": 3, "t": {"c": 2}}, ["s.t.c"]),
        (False, True, {"a": 1, "b": 3, "t": {"c": 0}}, []),
        # where the struct is null, each of its fields is
        (True, False, {"a": 2, "b": 3, "t": {"c": 2}}, []),
        (True, False, {"a": 4, "b": 3, "t": {"c": 3}}, ["s.a"]),
        (True, False, {"a": 3, "b": 3, "t": {"c": 4}}, ["s.t.c"]),
        (True, False, {"a": 4, "b": 3, "t": {"c": 4}}, ["s.a", "s.t.c"]),
        (True, False, {"a": 4}, []),
        (True, True, {"a": 4, "b": 3, "t": {"c": 3}}, []),
    ],
)
def test_nulls_inside_structs_are_told_from_those_of_the_struct(
    struct: bool, inner: bool, nulls: dict[str, Any], wrong: list[str]
) -> None:
    read = base(PLAIN, metadata(schema_string=nested(struct, inner)))
    promised = without_nulls("s", "s.a", "s.t", "s.t.c")
    staged = stage(add(stats=counted(s=nulls)), upon=read, promises=promised)
    assert [text.split("`")[1] for text in texts(staged)] == wrong


@pytest.mark.rule("mapping-log-physical")
def test_nulls_are_counted_under_the_names_in_files() -> None:
    column = mapped("id", 1) | {"nullable": False}
    mapping = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}
    read = base(MAPPED, metadata(mapping, schema_string=schema(column)))
    promised = without_nulls("id")
    wrong = stage(add(stats=counted(**{"col-1": 1})), upon=read, promises=promised)
    assert "`id` may not be null, and 1 new file has" in only(wrong)
    right = stage(add(stats=counted(**{"col-1": 0})), upon=read, promises=promised)
    assert texts(right) == []


def test_the_value_of_a_partition_column_stands_in_no_statistics() -> None:
    table = metadata(schema_string=REQUIRED, partition_columns=("id",))
    file = add(partition_values={"id": "5"}, stats=counted(n=1))
    assert texts(stage(file, upon=base(PLAIN, table), promises=without_nulls("id"))) == []


NUMBERS = Promises(validated=frozenset({ValidatedRule(key="n delta.identity.*", expression="")}))


def identity(mark: int | None, step: int = 1, **keys: object) -> ReadVersion:
    text = orjson.loads(numbered(mark, step))
    text["fields"][0]["metadata"] |= {f"delta.identity.{key}": keys[key] for key in keys}
    table: Metadata = metadata(schema_string=orjson.dumps(text).decode())
    return base(features("identityColumns"), table)


def between(low: int | None, high: int | None) -> str:
    bounds = {"numRecords": 3, "minValues": {"n": low}, "maxValues": {"n": high}}
    return orjson.dumps(bounds).decode()


@pytest.mark.rule("column-identity-high-water-mark", "column-identity-high-water-mark-update")
@pytest.mark.parametrize(
    ("mark", "step", "low", "high", "wrong"),
    [
        (5, 1, 3, 5, False),
        (5, 1, 3, 6, True),
        (None, 1, 1, 3, True),
        (None, 1, None, None, False),
        (-5, -2, -5, -1, False),
        (-5, -2, -7, -1, True),
        (-5, -2, -1, 100, False),
        (None, -2, -7, -1, True),
    ],
)
def test_no_number_goes_beyond_the_last_one_given_out(
    mark: int | None, step: int, low: int | None, high: int | None, wrong: bool
) -> None:
    file = add(stats=between(low, high))
    read = identity(mark, step)
    found = texts(stage(file, upon=read, promises=NUMBERS))
    assert [f"the last one given out is {mark}" in text for text in found] == [True] * wrong
    # the mark may move in the same commit
    if wrong:
        moved = identity(low if step < 0 else high, step).metadata
        assert moved is not None
        assert texts(stage(moved, file, upon=read, promises=NUMBERS)) == []


def test_numbers_may_be_given_where_the_column_lets_them() -> None:
    file = add(stats=between(1, 99))
    given = identity(5, allowExplicitInsert=True)
    assert texts(stage(file, upon=given, promises=NUMBERS)) == []
    assert texts(stage(file, upon=identity(5, allowExplicitInsert=False), promises=NUMBERS))


def test_rows_that_are_written_again_keep_numbers_that_others_gave_them() -> None:
    beyond, further = between(1, 99), between(1, 100)
    moved = (remove("a", data_change=False), add("b", stats=beyond, data_change=False))
    assert texts(stage(*moved, upon=identity(5))) == []
    copied = (remove("a", stats=beyond), add("b", stats=beyond))
    assert texts(stage(*copied, upon=identity(5), promises=NUMBERS)) == []
    grown = (remove("a", stats=beyond), add("b", stats=further))
    assert "has the number 100" in only(stage(*grown, upon=identity(5), promises=NUMBERS))
    assert texts(stage(add(stats=beyond), upon=identity(5), promises=AGAIN)) == []


def test_statistics_that_are_silent_are_no_proof() -> None:
    for stats in (None, '{"numRecords":3}', between(None, None)):
        assert texts(stage(add(stats=stats), upon=identity(5), promises=NUMBERS)) == []
