"""Columns, changed by our plan and by delta-spark's own statement: schema, protocol, properties and
what the history says are the same, delta-spark and the other readers read what we left, and
delta-spark goes on writing to it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import maintenance
from explorer.errors import DeltaError
from explorer.maintenance import Plan
from tests.interop.maintained import rows_of
from tests.interop.twins import (
    REFUSED,
    agrees,
    asked,
    build_twins,
    carry_out,
    done,
    last_commit,
    sql,
)

pytestmark = pytest.mark.spark

_MAPPED = {"delta.columnMapping.mode": "name"}
_WIDE = {"delta.enableTypeWidening": "true"}
_DEFAULTS = {"delta.feature.allowColumnDefaults": "supported"}
_STATS = {"delta.dataSkippingStatsColumns": "id,place.city,amount"}
_FEED = {"delta.enableChangeDataFeed": "true"}
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, kw_only=True)
class Case:
    """`statement` is about `T`, and `plan` the same of ours; `before` makes the table fit."""

    statement: str
    plan: Callable[[explorer.Table], Plan]
    properties: dict[str, str]
    before: tuple[str, ...] = ()
    # columns may have moved or gone: what delta-spark inserts afterwards, by name
    insert: str = "insert into T (id, part, amount) values (99, 'a', 1D)"
    # Spark does not give variants that are null to Arrow
    is_read: bool = True


def _add(text: str) -> Callable[[explorer.Table], Plan]:
    return lambda table: maintenance.plan_add_columns(table, text)


def _change(column: str, **wanted: Any) -> Callable[[explorer.Table], Plan]:
    return lambda table: maintenance.plan_change_column(table, column, **wanted)


def _rename(column: str, name: str) -> Callable[[explorer.Table], Plan]:
    return lambda table: maintenance.plan_rename_column(table, column, name)


def _drop(*columns: str) -> Callable[[explorer.Table], Plan]:
    return lambda table: maintenance.plan_drop_columns(table, columns)


_NARROW = ("alter table T add columns (n int, d date, f float, list array<int>)",)
_CASES = {
    "add": Case(
        statement="alter table T add columns (note string comment 'why', n int first, "
        "m decimal(10,2) after id)",
        plan=_add("note STRING COMMENT 'why', n INT FIRST, m DECIMAL(10,2) AFTER id"),
        properties={},
    ),
    "add nested": Case(
        statement="alter table T add columns (place.zip int comment 'code' first, "
        "place.tags.element.rank short after name, place.inner struct<a: int, b: string>)",
        plan=_add(
            "place.zip INT COMMENT 'code' FIRST, place.tags.element.rank SMALLINT AFTER name, "
            "place.inner STRUCT<a: INT, b: STRING>"
        ),
        properties={},
    ),
    "add mapped": Case(
        statement="alter table T add columns (place.zip int, bag map<string, struct<x: int>>, "
        "v varchar(5))",
        plan=_add("place.zip INT, bag MAP<STRING, STRUCT<x: INT>>, v VARCHAR(5)"),
        properties=_MAPPED,
    ),
    "add strange name": Case(
        statement="alter table T add columns (`a b;c` int)",
        plan=_add("`a b;c` INT"),
        properties=_MAPPED,
    ),
    "add variant": Case(
        statement="alter table T add columns (v variant)",
        plan=_add("v VARIANT"),
        properties={},
        is_read=False,
    ),
    "rename": Case(
        statement="alter table T rename column amount to `the sum`",
        plan=_rename("amount", "the sum"),
        properties={**_MAPPED, **_STATS, **_FEED},
        insert="insert into T (id, part, `the sum`) values (99, 'a', 1D)",
    ),
    "rename partition column": Case(
        statement="alter table T rename column part to slice",
        plan=_rename("PART", "slice"),
        properties=_MAPPED,
        insert="insert into T (id, slice, amount) values (99, 'a', 1D)",
    ),
    "rename nested": Case(
        statement="alter table T rename column place.tags.element.name to label",
        plan=_rename("place.tags.element.name", "label"),
        properties=_MAPPED,
    ),
    "rename around statistics": Case(
        statement="alter table T rename column place to spot",
        plan=_rename("place", "spot"),
        properties={**_MAPPED, **_STATS},
    ),
    "drop": Case(
        statement="alter table T drop column place",
        plan=_drop("place"),
        properties={**_MAPPED, **_STATS, **_FEED},
    ),
    "drop several": Case(
        statement="alter table T drop columns (place.city, amount)",
        plan=_drop("place.city", "amount"),
        properties=_MAPPED,
        insert="insert into T (id, part) values (99, 'a')",
    ),
    "comment": Case(
        statement="alter table T alter column place.city comment 'it''s'",
        plan=_change("place.city", comment="it's"),
        properties={},
    ),
    "first": Case(
        statement="alter table T alter column amount first",
        plan=_change("amount", first=True),
        properties={},
    ),
    "after": Case(
        statement="alter table T alter column id after amount",
        plan=_change("id", after="AMOUNT"),
        properties=_MAPPED,
    ),
    "nested after": Case(
        statement="alter table T alter column place.city after tags",
        plan=_change("place.city", after="tags"),
        properties={},
    ),
    "default": Case(
        statement="alter table T alter column amount set default 1.5D",
        plan=_change("amount", default="1.5D"),
        properties=_DEFAULTS,
        insert="insert into T (id, part) values (99, 'a')",
    ),
    "no default": Case(
        statement="alter table T alter column amount drop default",
        plan=_change("amount", default=""),
        properties=_DEFAULTS,
        before=("alter table T alter column amount set default 1.5D",),
    ),
    "int to long": Case(
        statement="alter table T alter column n type bigint",
        plan=_change("n", data_type="BIGINT"),
        properties=_WIDE,
        before=(
            *_NARROW,
            "insert into T (id, part, n) values (50, 'a', 5), (51, 'b', -2147483648)",
        ),
        insert="insert into T (id, part, n) values (99, 'a', 5000000000)",
    ),
    "int to decimal": Case(
        statement="alter table T alter column n type decimal(12,2)",
        plan=_change("n", data_type="DECIMAL(12,2)"),
        properties={**_WIDE, **_MAPPED},
        before=(*_NARROW, "insert into T (id, part, n) values (50, 'a', 5)"),
    ),
    "date to time": Case(
        statement="alter table T alter column d type timestamp_ntz",
        plan=_change("d", data_type="TIMESTAMP_NTZ"),
        properties={**_WIDE, "delta.feature.timestampNtz": "supported"},
        before=(*_NARROW, "insert into T (id, part, d) values (50, 'a', date'2020-01-31')"),
    ),
    "element": Case(
        statement="alter table T alter column list.element type bigint",
        plan=_change("list.element", data_type="BIGINT"),
        properties=_WIDE,
        before=(*_NARROW, "insert into T (id, part, list) values (50, 'a', array(1, null))"),
    ),
    "length": Case(
        statement="alter table T alter column v type varchar(50)",
        plan=_change("v", data_type="VARCHAR(50)"),
        properties={},
        before=("alter table T add columns (v varchar(5))",),
    ),
    "no length": Case(
        statement="alter table T alter column v type string",
        plan=_change("v", data_type="STRING"),
        properties={},
        before=("alter table T add columns (v varchar(5))",),
    ),
}


def _schema(place: Path) -> Any:
    """The schema as it is in the log, without names and ids that each writer chooses."""
    text = explorer.open_table(place).metadata().schema_string
    assert text is not None
    return json.loads(_UUID.sub("UUID", text))


def _told(place: Path) -> tuple[str, Any]:
    info = last_commit(place)
    told = info["operationParameters"]
    parsed = {name: _parsed(value) for name, value in told.items()}
    return info["operation"], parsed


def _parsed(value: str) -> Any:
    try:
        return json.loads(_UUID.sub("UUID", value))
    except ValueError:
        return value


@pytest.mark.sampled(one_in=8)
@pytest.mark.parametrize("name", _CASES)
def test_columns_change_as_by_the_reference_which_goes_on_with_them(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    case = _CASES[name]
    ours, theirs = build_twins(spark, tmp_path, **case.properties)
    for place in (ours, theirs):
        for text in case.before:
            sql(spark, place, text)
    done(case.plan(explorer.open_table(ours)), tmp_path)
    sql(spark, theirs, case.statement)
    assert _schema(ours) == _schema(theirs)
    assert asked(ours) == asked(theirs)
    assert _told(ours) == _told(theirs)
    if not case.is_read:
        return
    agrees(spark, ours)
    for place in (ours, theirs):
        sql(spark, place, case.insert)
        sql(spark, place, "update T set id = 1000 where id = 3")
        sql(spark, place, "delete from T where id = 4")
    agrees(spark, ours)
    assert rows_of(ours) == rows_of(theirs)


_CHECKED = {"delta.constraints.fine": "amount >= 0"}


@dataclass(frozen=True, kw_only=True)
class _Refused:
    """`statement` is what the reference refuses, and `words` are those of our error."""

    statement: str
    plan: Callable[[explorer.Table], Plan]
    words: str
    properties: dict[str, str] = field(default_factory=dict)
    kind: str = "invalid_argument"


_REFUSED = {
    "add not null": _Refused(
        statement="add columns (n int not null)",
        plan=_add("n INT NOT NULL"),
        words="cannot be added with NOT NULL",
    ),
    "add default": _Refused(
        statement="add columns (n int default 5)",
        plan=_add("n INT DEFAULT 5"),
        words="cannot be added with a default",
        properties=_DEFAULTS,
    ),
    "add twice": _Refused(
        statement="add columns (n int, N int)",
        plan=_add("n INT, N INT"),
        words="2 columns of the table are called `n`",
    ),
    "add there": _Refused(
        statement="add columns (place.CITY int)",
        plan=_add("place.CITY INT"),
        words="2 columns of `place` are called `city`",
    ),
    "add strange": _Refused(
        statement="add columns (`a b` int)",
        plan=_add("`a b` INT"),
        words="The column `a b` has a space",
    ),
    "add nowhere": _Refused(
        statement="add columns (amount.x int)",
        plan=_add("amount.x INT"),
        words="amount has no columns of its own",
    ),
    "add after nothing": _Refused(
        statement="add columns (n int after x)",
        plan=_add("n INT AFTER x"),
        words="There is no column x",
    ),
    "rename unmapped": _Refused(
        statement="rename column amount to a",
        plan=_rename("amount", "a"),
        words="No column can be renamed: the table maps no columns",
    ),
    "rename taken": _Refused(
        statement="rename column amount to ID",
        plan=_rename("amount", "ID"),
        words="There is a column id already",
        properties=_MAPPED,
        kind="already_exists",
    ),
    "rename case": _Refused(
        statement="rename column amount to AMOUNT",
        plan=_rename("amount", "AMOUNT"),
        words="There is a column amount already",
        properties=_MAPPED,
        kind="already_exists",
    ),
    "rename checked": _Refused(
        statement="rename column amount to a",
        plan=_rename("amount", "a"),
        words="The column amount would be renamed, and the constraint 'amount >= 0'",
        properties={**_MAPPED, **_CHECKED},
    ),
    "drop unmapped": _Refused(
        statement="drop column amount",
        plan=_drop("amount"),
        words="No column can be dropped: the table maps no columns",
    ),
    "drop partition": _Refused(
        statement="drop column part",
        plan=_drop("part"),
        words="The table is partitioned by it",
        properties=_MAPPED,
    ),
    "drop checked": _Refused(
        statement="drop column amount",
        plan=_drop("amount"),
        words="The column amount would be dropped, and the constraint 'amount >= 0'",
        properties={**_MAPPED, **_CHECKED},
    ),
    "drop last": _Refused(
        statement="drop columns (place.city, place.tags)",
        plan=_drop("place.city", "place.tags"),
        words="It is the last column of place",
        properties=_MAPPED,
    ),
    "drop element": _Refused(
        statement="drop column place.tags.element",
        plan=_drop("place.tags.element"),
        words="place.tags.element cannot be dropped",
        properties=_MAPPED,
    ),
    "narrow": _Refused(
        statement="alter column place.city type binary",
        plan=_change("place.city", data_type="BINARY"),
        words="place.city cannot go from string to binary",
    ),
    "not allowed": _Refused(
        statement="alter column amount type decimal(30,2)",
        plan=_change("amount", data_type="DECIMAL(30,2)"),
        words="amount cannot go from double to decimal(30,2)",
    ),
    "struct": _Refused(
        statement="alter column place type string",
        plan=_change("place", data_type="STRING"),
        words="The type of place cannot be changed as a whole",
        properties=_WIDE,
    ),
    "default unsupported": _Refused(
        statement="alter column amount set default 1",
        plan=_change("amount", default="1"),
        words="The columns need the feature allowColumnDefaults",
    ),
}


@pytest.mark.sampled(one_in=8)
@pytest.mark.parametrize("name", _REFUSED)
def test_what_the_reference_refuses_of_columns_is_refused(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    case = _REFUSED[name]
    ours, theirs = build_twins(spark, tmp_path, **case.properties)
    with pytest.raises(REFUSED):
        sql(spark, theirs, f"alter table T {case.statement}")
    with pytest.raises(DeltaError, match=re.escape(case.words)) as refused:
        done(case.plan(explorer.open_table(ours)), tmp_path)
    assert refused.value.kind == case.kind


@pytest.mark.parametrize("properties", [{}, _MAPPED], ids=["plain", "mapped"])
def test_column_without_nulls_becomes_not_null_and_the_reference_keeps_to_it(
    spark: SparkSession, tmp_path: Path, properties: dict[str, str]
) -> None:
    place, _ = build_twins(spark, tmp_path, **properties)
    table = explorer.open_table(place)
    rows = rows_of(place)
    plan = maintenance.plan_change_column(table, "amount", nullable=False)
    done(plan, tmp_path, spark=spark)
    assert rows_of(place) == rows
    agrees(spark, place)
    with pytest.raises(REFUSED, match=r"(?i)not.null"):
        sql(spark, place, "insert into T (id, part, amount) values (99, 'a', null)")
    sql(spark, place, "insert into T (id, part, amount) values (99, 'a', 1D)")
    done(maintenance.plan_change_column(table, "amount", nullable=True), tmp_path)
    sql(spark, place, "insert into T (id, part, amount) values (98, 'a', null)")
    agrees(spark, place)
    # now there is a null
    plan = maintenance.plan_change_column(table, "amount", nullable=False, spark=spark)
    assert "1 row of version" in plan.refusals[0].message
    plan = maintenance.plan_change_column(table, "amount", nullable=False)
    receipt = carry_out(plan, tmp_path, spark=spark)
    assert receipt.problem is not None
    assert receipt.problem.kind == "plan_refused"


@pytest.mark.parametrize("properties", [{}, _MAPPED], ids=["plain", "mapped"])
def test_clustering_changes_as_by_the_reference(
    spark: SparkSession, tmp_path: Path, properties: dict[str, str]
) -> None:
    told = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    also = f"tblproperties ({told})" if told else ""
    sql(spark, ours, f"create table T (id long, b int, s struct<c: int>) using delta {also}")
    sql(spark, ours, "insert into T select id, 1, named_struct('c', 2) from range(5)")
    shutil.copytree(ours, theirs)
    for columns, text in ((["s.c", "ID"], "(s.c, id)"), (["b"], "(b)"), ([], "none")):
        done(maintenance.plan_cluster_by(explorer.open_table(ours), columns), tmp_path)
        sql(spark, theirs, f"alter table T cluster by {text}")
        assert asked(ours) == asked(theirs)
        assert _domains(ours) == _domains(theirs)
        agrees(spark, ours)
    sql(spark, ours, "optimize T")
    agrees(spark, ours)


def _domains(place: Path) -> dict[str, Any]:
    found = explorer.open_table(place).snapshot()
    texts = {name: json.loads(item.configuration) for name, item in found.domains.items()}
    physical = {
        field.metadata.get("delta.columnMapping.physicalName", field.name): field.name
        for field in found.schema.fields
    }
    columns = texts["delta.clustering"]["clusteringColumns"]
    return {"columns": [physical[path[0]] for path in columns], "names": sorted(texts)}


def test_column_that_is_dropped_and_added_again_is_empty_and_older_versions_keep_theirs(
    spark: SparkSession, tmp_path: Path
) -> None:
    place, _ = build_twins(spark, tmp_path)
    table = explorer.open_table(place)
    before = table.snapshot()
    old = {row["id"]: row["amount"] for row in explorer.read_rows(before).to_pylist()}
    done(maintenance.plan_drop_columns(table, ["amount"], map_columns=True), tmp_path)
    agrees(spark, place)
    done(maintenance.plan_add_columns(table, "amount DOUBLE AFTER part"), tmp_path)
    done(maintenance.plan_rename_column(table, "place.city", "town"), tmp_path)
    agrees(spark, place)
    now = explorer.read_rows(table.snapshot()).to_pylist()
    assert {row["amount"] for row in now} == {None}
    assert {row["place"]["town"] for row in now} == {"x"}
    field = next(item for item in table.snapshot().schema.fields if item.name == "amount")
    assert field.metadata["delta.columnMapping.physicalName"].startswith("col-")
    mark = table.metadata().configuration["delta.columnMapping.maxColumnId"]
    assert field.metadata["delta.columnMapping.id"] == int(mark)
    again = explorer.read_rows(table.snapshot(version=before.version)).to_pylist()
    assert {row["id"]: row["amount"] for row in again} == old
    sql(spark, place, "update T set amount = 1D where id = 3")
    agrees(spark, place)
