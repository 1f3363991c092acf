"""Merges, as ours and as the reference's own, and the situations in which both carry them out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from explorer import pipeline
from explorer.writing.statements.options import WriteResult

VECTORS = {"delta.enableDeletionVectors": "true"}
FEED = {"delta.enableChangeDataFeed": "true"}
IDS = {"delta.enableRowTracking": "true"}
WIDER = {"delta.enableTypeWidening": "true"}
NAMES = {"delta.columnMapping.mode": "name"}
ALL = VECTORS | FEED | IDS

Clause = tuple[str, ...] | tuple[str, Any, Any]


@dataclass(frozen=True, kw_only=True)
class Situation:
    """A table as `CREATE TABLE` has it, its rows, a source, and what is merged. `clauses` are the
    name of a method of ours, its values where it has some, and its condition."""

    columns: str = "id bigint, part string, v double"
    options: str = ""
    properties: Mapping[str, str] = field(default_factory=lambda: ALL)
    rows: str = "select id, if(id % 2 = 0, 'a', 'b'), id * 1.5D from range(10)"
    more: tuple[str, ...] = ()
    source: str = (
        "select * from values (1L, 'b', 100D), (2L, 'z', 200D), (20L, 'c', 300D) s(id, part, v)"
    )
    on: str = "target.id = source.id"
    clauses: tuple[tuple[Any, ...], ...]
    evolves: bool = False
    key: str = "id"


def update(values: dict[str, str], where: str | None = None) -> tuple[Any, ...]:
    return "when_matched_update", values, where


def update_all(where: str | None = None) -> tuple[Any, ...]:
    return "when_matched_update_all", where


def delete(where: str | None = None) -> tuple[Any, ...]:
    return "when_matched_delete", where


def insert(values: dict[str, str], where: str | None = None) -> tuple[Any, ...]:
    return "when_not_matched_insert", values, where


def insert_all(where: str | None = None) -> tuple[Any, ...]:
    return "when_not_matched_insert_all", where


def update_alone(values: dict[str, str], where: str | None = None) -> tuple[Any, ...]:
    return "when_not_matched_by_source_update", values, where


def delete_alone(where: str | None = None) -> tuple[Any, ...]:
    return "when_not_matched_by_source_delete", where


TWO = "select * from values (1L, 'b', 1D), (1L, 'c', 2D), (20L, 'c', 3D) s(id, part, v)"
NESTED = "id bigint, s struct<a: int, b: string>, l array<struct<x: int>>"
NESTED_ROWS = "select id, if(id = 3, null, named_struct('a', int(id), 'b', 'x')), array(named_struct('x', int(id))) from range(6)"  # noqa: E501

SITUATIONS: dict[str, Situation] = {
    "update and insert": Situation(clauses=(update_all(), insert_all())),
    "update and insert by rewriting": Situation(
        properties=FEED | IDS, clauses=(update_all(), insert_all())
    ),
    "without a feed": Situation(properties=VECTORS | IDS, clauses=(update_all(), insert_all())),
    "partitioned": Situation(
        options="partitioned by (part)", clauses=(update_all(), delete_alone("part = 'a'"))
    ),
    "partitioned, by rewriting": Situation(
        properties=FEED, options="partitioned by (part)", clauses=(update_all(), insert_all())
    ),
    "insert only": Situation(clauses=(insert_all(),)),
    "insert only, with a condition": Situation(clauses=(insert_all("source.v > 300"),)),
    "insert only, a source with repeated rows": Situation(source=TWO, clauses=(insert_all(),)),
    "delete only": Situation(clauses=(delete(),)),
    "delete only, by rewriting": Situation(properties=FEED, clauses=(delete(),)),
    "delete only, matched twice": Situation(source=TWO, clauses=(delete(), insert_all())),
    "delete only, matched twice, by rewriting": Situation(
        properties=FEED, source=TWO, clauses=(delete(), insert_all())
    ),
    "update, matched twice": Situation(source=TWO, clauses=(update_all(),)),
    "delete with a condition, matched twice": Situation(
        source=TWO, clauses=(delete("source.v > 0"),)
    ),
    "matched twice, but one by a clause": Situation(
        source=TWO, clauses=(update_all("source.v = 2"),)
    ),
    "matched twice, by different clauses": Situation(
        source=TWO, clauses=(update({"v": "7"}, "source.v = 1"), delete())
    ),
    "matched twice, and no clause for pairs": Situation(
        source=TWO, clauses=(delete_alone("id > 7"), insert_all())
    ),
    "clauses in order": Situation(
        source="select id, 'n' part, id * 10D v from range(5, 15)",
        clauses=(
            update({"v": "-1"}, "source.id = 5"),
            delete("source.id <= 6"),
            update({"v": "target.v + source.v", "part": "source.part"}, "source.id % 2 = 1"),
            insert({"id": "source.id", "v": "0"}, "source.id = 10"),
            insert_all("source.id % 2 = 0"),
            update_alone({"v": "target.v * 2"}, "target.id = 1"),
            delete_alone("target.id = 2"),
            update_alone({"part": "'kept'"}),
        ),
    ),
    "a condition that is null": Situation(
        source="select * from values (1L, 'b', cast(null as double)), (20L, 'c', null) s(id, part, v)",  # noqa: E501
        clauses=(
            update({"part": "'wrong'"}, "source.v > 1"),
            update({"part": "'right'"}),
            insert_all("source.v > 1"),
            delete_alone("cast(null as boolean)"),
        ),
    ),
    "keys that are null": Situation(
        rows="select if(id = 4, null, id), 'a', id * 1D from range(6)",
        source="select * from values (cast(null as bigint), 'n', 1D), (2L, 'n', 2D) s(id, part, v)",
        clauses=(update_all(), insert_all()),
        key="v",
    ),
    "keys that are null and equal": Situation(
        rows="select if(id = 4, null, id), 'a', id * 1D from range(6)",
        source="select * from values (cast(null as bigint), 'n', 9D), (2L, 'n', 2D) s(id, part, v)",
        on="target.id <=> source.id",
        clauses=(update_all(), insert_all()),
        key="v",
    ),
    "not matched by source": Situation(
        clauses=(update_alone({"v": "v + 1", "part": "upper(part)"}, "id > 5"), delete_alone())
    ),
    "not matched by source, by rewriting": Situation(
        properties=FEED | IDS,
        clauses=(delete(), update_alone({"v": "v + 1"}, "id > 5"), delete_alone("id = 0")),
    ),
    "an empty source": Situation(
        source="select * from values (1L, 'b', 1D) s(id, part, v) where id > 5",
        clauses=(update_all(), insert_all()),
    ),
    "an empty source, and rows alone": Situation(
        source="select * from values (1L, 'b', 1D) s(id, part, v) where id > 5",
        clauses=(update_all(), delete_alone("id < 3")),
    ),
    "a condition beyond equality": Situation(
        on="target.id = source.id and target.part = 'b' and source.v > 1",
        clauses=(update_all(), insert_all()),
    ),
    "no equality at all": Situation(
        source="select * from values (8L, 'b', 1D) s(id, part, v)",
        on="target.id >= source.id",
        clauses=(delete(),),
    ),
    "types that differ": Situation(
        source="select * from values (1, 'b', 1.5BD), (20, 'c', 2.5BD) s(id, part, v)",
        clauses=(update_all(), insert_all()),
    ),
    "a value that does not fit": Situation(
        columns="id bigint, part string, v int",
        rows="select id, 'a', int(id) from range(3)",
        source="select * from values (1L, 'b', 3000000000L) s(id, part, v)",
        clauses=(update_all(),),
    ),
    "a source with more columns": Situation(
        source="select id, 'n' part, 1D v, 'more' extra from range(8, 12)",
        clauses=(update_all(), insert_all()),
    ),
    "a source with fewer columns": Situation(
        source="select id, 'n' part from range(8, 12)", clauses=(update_all(),)
    ),
    "an insert of fewer columns": Situation(
        source="select id, 'n' part from range(8, 12)",
        clauses=(insert({"id": "source.id", "part": "source.part"}),),
    ),
    "new columns": Situation(
        source="select id, 'n' part, 1D v, 'more' extra from range(8, 12)",
        clauses=(update_all(), insert_all()),
        evolves=True,
    ),
    "new columns, by names": Situation(
        properties=ALL | NAMES,
        source="select id, 'n' part, 1D v, 'more' extra, 5 unused from range(8, 12)",
        clauses=(
            update({"extra": "source.extra"}),
            insert({"id": "source.id", "extra": "source.extra"}),
        ),
        evolves=True,
    ),
    "new and missing columns": Situation(
        source="select id, 'more' extra from range(8, 12)",
        clauses=(update_all(), insert_all()),
        evolves=True,
    ),
    "a new column of other rows": Situation(
        source="select id, 'more' extra from range(8, 12)",
        clauses=(delete(), insert_all(), update_alone({"v": "0"}, "id = 1")),
        evolves=True,
    ),
    "a wider type": Situation(
        columns="id bigint, part string, v int",
        properties=ALL | WIDER,
        rows="select id, 'a', int(id) from range(3)",
        source="select * from values (1L, 'b', 3000000000L) s(id, part, v)",
        clauses=(update_all(), insert_all()),
        evolves=True,
    ),
    "new fields": Situation(
        columns=NESTED,
        rows=NESTED_ROWS,
        source="select id, named_struct('a', 7, 'c', 'new') s, array(named_struct('x', 1, 'y', 2)) l from range(4, 8)",  # noqa: E501
        clauses=(update_all(), insert_all()),
        evolves=True,
    ),
    "new fields, and structs that are null": Situation(
        columns=NESTED,
        rows=NESTED_ROWS,
        source="select id, if(id % 2 = 0, named_struct('a', 7, 'c', 'new'), null) s from range(2, 8)",  # noqa: E501
        clauses=(update_all(), insert_all()),
        evolves=True,
    ),
    "fields that are missing, evolving": Situation(
        columns=NESTED,
        rows=NESTED_ROWS,
        source="select id, named_struct('a', 7) s, array(named_struct('x', 1)) l from range(2, 8)",
        clauses=(update_all(), insert_all()),
        evolves=True,
    ),
    "a struct is set, evolving": Situation(
        columns=NESTED,
        rows=NESTED_ROWS,
        source="select id, named_struct('a', 7) s from range(2, 8)",
        clauses=(update({"s": "source.s"}),),
        evolves=True,
    ),
    "new fields inside of maps": Situation(
        columns="id bigint, m map<string, struct<a: int>>, k map<struct<a: int>, int>",
        rows="select id, map('x', named_struct('a', int(id))), map(named_struct('a', 1), 2) from range(4)",  # noqa: E501
        source="select id, map('y', named_struct('b', 'new', 'a', 7)) m, map(named_struct('a', 3), 4) k from range(2, 6)",  # noqa: E501
        clauses=(update_all(), insert_all()),
        evolves=True,
    ),
    "fields that arrays and maps lack": Situation(
        columns="id bigint, m map<string, struct<a: int, b: string>>, l array<struct<x: int, y: int>>",  # noqa: E501
        rows="select id, map('x', named_struct('a', 1, 'b', 'z')), array(named_struct('x', 1, 'y', 2)) from range(4)",  # noqa: E501
        source="select id, map('x', named_struct('a', 5)) m, array(named_struct('y', 3)) l from range(2, 6)",  # noqa: E501
        clauses=(update_all(), insert_all()),
        evolves=True,
    ),
    "fields in another order": Situation(
        columns=NESTED,
        rows=NESTED_ROWS,
        source="select id, named_struct('b', 'new', 'a', 7) s, array(named_struct('x', 1)) l from range(4, 8)",  # noqa: E501
        clauses=(update_all(), insert_all()),
    ),
    "keys of no type": Situation(
        source="select null id, 'n' part, 1D v", clauses=(update_all(), insert_all()), key="v"
    ),
    "values of no type": Situation(
        source="select id, null part, null v from range(8, 12)",
        clauses=(update_all(), insert_all()),
    ),
    "a source that is a query of its own": Situation(
        source="select id, max(part) part, sum(v) v from (select id % 12 id, 'q' part, 1D v from range(40)) group by id order by id limit 11",  # noqa: E501
        clauses=(update_all(), insert_all()),
    ),
    "several clauses that insert and update": Situation(
        source="select id, 'n' part, id * 10D v from range(5, 15)",
        clauses=(
            update({"v": "-1"}, "source.id < 7"),
            update({"v": "source.v"}, "target.v > 12"),
            delete("source.id = 7"),
            insert({"id": "source.id"}, "source.id = 11"),
            insert({"id": "source.id", "v": "5"}, "source.v < 130"),
            insert_all("source.id = 14"),
        ),
    ),
    "a new column by its name, and others that stay": Situation(
        source="select id, 'n' part, 1D v, 'more' extra from range(8, 12)",
        clauses=(update({"extra": "concat(source.extra, target.part)"}), delete_alone("id = 0")),
        evolves=True,
    ),
    "fields that are missing": Situation(
        columns=NESTED,
        rows=NESTED_ROWS,
        source="select id, named_struct('a', 7) s, array(named_struct('x', 1)) l from range(4, 8)",
        clauses=(update_all(),),
    ),
    "a field is set": Situation(
        columns=NESTED,
        rows=NESTED_ROWS,
        source="select id from range(2, 5)",
        clauses=(update({"s.b": "concat('new', source.id)"}),),
    ),
    "a column twice": Situation(clauses=(update({"v": "1", "V": "2"}),)),
    "an unknown column": Situation(clauses=(update({"w": "1"}),)),
    "a condition about the wrong side": Situation(clauses=(insert_all("target.v > 1"),)),
    "a clause behind one without a condition": Situation(clauses=(update_all(), delete())),
    "an ambiguous name": Situation(clauses=(update({"v": "v + 1"}),)),
    "names in other cases": Situation(
        source="select id as ID, 'n' as Part, 1D as V from range(8, 12)",
        on="TARGET.Id = Source.iD",
        clauses=(update({"PART": "SOURCE.part"}), insert_all()),
    ),
    "constraints that are kept": Situation(
        columns="id bigint not null, part string, v double",
        more=("alter table T add constraint small check (v < 1000)",),
        clauses=(update_all(), insert_all()),
    ),
    "a constraint that is broken": Situation(
        more=("alter table T add constraint small check (v < 200)",),
        clauses=(update_all(), insert_all()),
    ),
    "a null in a column that has none": Situation(
        columns="id bigint not null, part string, v double",
        clauses=(insert({"part": "source.part"}),),
    ),
    "generated columns": Situation(
        columns="id bigint, v double, w double generated always as (v * 2)",
        options="",
        rows="",
        more=("insert into T (id, v) select id, id * 1D from range(6)",),
        source="select * from values (1L, 7D), (9L, 8D) s(id, v)",
        clauses=(update({"v": "source.v"}), insert({"id": "source.id", "v": "source.v"})),
    ),
    "generated columns, all": Situation(
        columns="id bigint, v double, w double generated always as (v * 2)",
        rows="",
        more=("insert into T (id, v) select id, id * 1D from range(6)",),
        source="select * from values (1L, 7D), (9L, 8D) s(id, v)",
        clauses=(update_all(), insert_all()),
    ),
    "a generated column that is given wrong": Situation(
        columns="id bigint, v double, w double generated always as (v * 2)",
        rows="",
        more=("insert into T (id, v) select id, id * 1D from range(6)",),
        source="select * from values (1L, 7D, 3D) s(id, v, w)",
        clauses=(update_all(),),
    ),
    "defaults": Situation(
        columns="id bigint, part string default 'none', v double default 4.5",
        properties=ALL | {"delta.feature.allowColumnDefaults": "supported"},
        source="select id from range(8, 12)",
        clauses=(update({"part": "'new'"}), insert({"id": "source.id"})),
    ),
    "defaults, evolving": Situation(
        columns="id bigint, part string default 'none', v double default 4.5",
        properties=ALL | {"delta.feature.allowColumnDefaults": "supported"},
        source="select id, 1 extra from range(8, 12)",
        clauses=(insert_all(),),
        evolves=True,
    ),
    "identity columns stay": Situation(
        columns="id bigint, n bigint generated always as identity, v double",
        rows="",
        more=("insert into T (id, v) select id, id * 1D from range(6)",),
        source="select * from values (1L, 7D) s(id, v)",
        clauses=(update({"v": "source.v"}),),
    ),
    "identity columns are not updated": Situation(
        columns="id bigint, n bigint generated always as identity, v double",
        rows="",
        more=("insert into T (id, v) select id, id * 1D from range(6)",),
        source="select * from values (1L, 7D) s(id, v)",
        clauses=(update({"n": "5"}),),
    ),
    "names with signs": Situation(
        columns="id bigint, `a.b c` string, v double",
        properties=ALL | NAMES,
        rows="select id, 'x', id * 1D from range(4)",
        source="select id, 'y' as `a.b c`, 2D v from range(2, 6)",
        clauses=(update({"`a.b c`": "source.`a.b c`"}), insert_all()),
    ),
    "a partition moves": Situation(
        options="partitioned by (part)",
        clauses=(update({"part": "'é/%20'"}), insert_all(), update_alone({"part": "null"}, "id=3")),
    ),
}


def ours(place: Path, situation: Situation, source: DataFrame | Any, **more: Any) -> WriteResult:
    # by Spark, which is the longer way: small frames would else be merged in this process
    asked = {"engine": "spark", **more}
    merging = pipeline.merge(place, source, situation.on, merge_schema=situation.evolves, **asked)
    for name, *given in situation.clauses:
        merging = getattr(merging, name)(*given)
    return merging.execute()


_THEIRS = {
    "when_matched_update": "whenMatchedUpdate",
    "when_matched_update_all": "whenMatchedUpdateAll",
    "when_matched_delete": "whenMatchedDelete",
    "when_not_matched_insert": "whenNotMatchedInsert",
    "when_not_matched_insert_all": "whenNotMatchedInsertAll",
    "when_not_matched_by_source_update": "whenNotMatchedBySourceUpdate",
    "when_not_matched_by_source_delete": "whenNotMatchedBySourceDelete",
}


def theirs(spark: SparkSession, place: Path, situation: Situation, source: DataFrame) -> None:
    table = DeltaTable.forPath(spark, str(place)).alias("target")
    merging = table.merge(source.alias("source"), situation.on)
    if situation.evolves:
        merging = merging.withSchemaEvolution()
    for name, *given in situation.clauses:
        *values, where = given
        call = getattr(merging, _THEIRS[name])
        named = {"set" if "update" in name else "values": values[0]} if values else {}
        merging = call(condition=where, **named)
    merging.execute()
