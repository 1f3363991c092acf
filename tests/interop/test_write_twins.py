"""The same write on two copies of a table, by us and by delta-spark: rows, schema, protocol,
properties, statistics, feed and row ids are the same, and both go on writing on both."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import explorer
from explorer import pipeline
from explorer.rows.changes.feed import read_changes
from tests.interop.described import described
from tests.interop.maintained import rows_of
from tests.interop.twins import agrees, last_commit, sql
from tests.interop.written_files import WrittenFiles
from tests.row_values import counted_rows

pytestmark = pytest.mark.spark


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of table: its properties, what its column `v` has, columns that fill themselves, its
    layout, and the statements that it takes, all where there are none."""

    properties: dict[str, str] = field(default_factory=dict)
    v: str = "cast(id as int)"
    special: str = ""
    layout: str = "partitioned by (part)"
    takes: tuple[str, ...] = ()


def _on(*names: str, **more: str) -> dict[str, str]:
    return {**{f"delta.{name}": "true" for name in names}, **more}


_APPENDED = ("append",)
_FEATURES = {
    "plain": Kind(v="cast(id / 7 as decimal(9,3))"),
    "vectors": Kind(properties=_on("enableDeletionVectors"), v="id % 3 = 0"),
    "feed": Kind(properties=_on("enableChangeDataFeed"), v="cast(id as float)"),
    "row tracking": Kind(
        properties=_on("enableRowTracking"), v="date_add(date'1500-01-01', cast(id as int))"
    ),
    "mapped by name": Kind(properties={"delta.columnMapping.mode": "name"}, v="array(id, null)"),
    "variant": Kind(v="""parse_json(concat('{"a":', id, '}'))"""),
    "clustered": Kind(layout="cluster by (id, part)", takes=_APPENDED),
    "generated": Kind(special="twice bigint generated always as (id * 2)", takes=_APPENDED),
    "default": Kind(
        special="d int default 7",
        properties={"delta.feature.allowColumnDefaults": "supported"},
        takes=_APPENDED,
    ),
    "iceberg 1": Kind(properties=_on("enableIcebergCompatV1"), takes=_APPENDED),
    "iceberg 2": Kind(
        properties=_on("enableIcebergCompatV2"), v="array(id, null)", takes=_APPENDED
    ),
}
"""Tables by what they are about."""


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A write as each of us is asked for it; `columns` are those of its rows. delta-spark forgets
    the layout of a table whose schema it overwrites, unless `partition_by` says it again."""

    mode: str = "append"
    ours: dict[str, Any] = field(default_factory=dict)
    theirs: dict[str, str] = field(default_factory=dict)
    columns: str = "id, part, s, v"
    partition_by: tuple[str, ...] = ()


_STATEMENTS = {
    "append": Statement(),
    "overwrite": Statement(mode="overwrite"),
    "replaceWhere": Statement(
        mode="overwrite",
        ours={"replace_where": "part = 'a'"},
        theirs={"replaceWhere": "part = 'a'"},
    ),
    "dynamic overwrite": Statement(
        mode="overwrite",
        ours={"partition_overwrite": "dynamic"},
        theirs={"partitionOverwriteMode": "dynamic"},
    ),
    "mergeSchema": Statement(
        ours={"merge_schema": True},
        theirs={"mergeSchema": "true"},
        columns="id, part, named_struct('y', 'new', 'x', s.x) as s, v, id * 2 as n",
    ),
    "overwriteSchema": Statement(
        mode="overwrite",
        ours={"overwrite_schema": True},
        theirs={"overwriteSchema": "true"},
        columns="cast(id as long) as id, v, part, 'n' as name",
        partition_by=("part",),
    ),
}
_ALL = [
    (feature, statement)
    for feature, kind in _FEATURES.items()
    for statement in kind.takes or _STATEMENTS
]


def _rows(spark: SparkSession, first: int, v: str, part: str, columns: str) -> DataFrame:
    made = spark.range(first, first + 5, 1, 1).selectExpr(
        "id", f"{part} as part", "named_struct('x', cast(id as int)) as s", f"{v} as v"
    )
    return made.selectExpr(*_split(columns))


def _split(columns: str) -> list[str]:
    """A list of expressions, by the commas outside of parentheses."""
    found, depth = [""], 0
    for sign in columns:
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "," and not depth:
            found.append("")
        else:
            found[-1] += sign
    return found


def _made(spark: SparkSession, place: Path, feature: str) -> None:
    """A table of the reference, of three versions and more."""
    kind = _FEATURES[feature]
    told = ", ".join(
        f"'{name}' = '{text}'"
        for name, text in {**kind.properties, "delta.checkpointInterval": "3"}.items()
    )
    frame = _rows(spark, 0, kind.v, "if(id % 2 = 0, 'a', 'b c')", "id, part, s, v")
    own = [f"{each.name} {each.dataType.simpleString()}" for each in frame.schema.fields]
    columns = ", ".join([*own, kind.special] if kind.special else own)
    sql(
        spark,
        place,
        f"create table T ({columns}) using delta {kind.layout} tblproperties ({told})",
    )
    frame.write.format("delta").mode("append").save(str(place))
    if feature == "vectors":
        sql(spark, place, "delete from T where id = 2")


def _newest(place: Path) -> WrittenFiles:
    """The files of the newest version's commit."""
    snapshot = explorer.open_table(place).snapshot()
    path = place / "_delta_log" / f"{snapshot.version:020}.json"
    lines = [json.loads(line) for line in path.read_text().split("\n") if line]
    metadata = {
        "partitionColumns": list(snapshot.metadata.partition_columns),
        "schemaString": snapshot.metadata.schema_string,
        "configuration": dict(snapshot.metadata.configuration),
    }
    return WrittenFiles(place, metadata, [line["add"] for line in lines if "add" in line])


def _table(place: Path) -> dict[str, Any]:
    """What a table is and holds, but for names that its writer gave."""
    table = explorer.open_table(place)
    snapshot = table.snapshot()
    info = last_commit(place)
    found = {
        **described(snapshot.protocol, snapshot.metadata, snapshot.domains.values()),
        "version": snapshot.version,
        "rows": rows_of(place),
        "operation": (info["operation"], info["operationParameters"].get("mode")),
        "blind": info["isBlindAppend"],
        "checkpoints": [files.version for files in table.listing().checkpoints],
        "bounds": _newest(place).bounds(),
    }
    if snapshot.metadata.configuration.get("delta.enableChangeDataFeed") == "true":
        changes = read_changes(table, snapshot.version, snapshot.version)
        found["changes"] = counted_rows(changes.drop_columns(["_commit_timestamp"]))
    # the reference says the domain's name once more inside of it
    found["domains"].get("delta.rowTracking", {}).pop("domainName", None)
    if snapshot.metadata.configuration.get("delta.enableRowTracking") == "true":
        hidden = ("_row_id", "_row_commit_version")
        rows = explorer.read_rows(snapshot, metadata_columns=hidden)
        found["row ids"] = sorted(rows.column("_row_id").to_pylist())
        found["row versions"] = counted_rows(rows.drop_columns(["_row_id"]))
    return found


@pytest.mark.sampled(one_in=len(_ALL))
@pytest.mark.parametrize(("feature", "statement"), _ALL)
def test_a_write_does_to_a_table_what_that_of_delta_spark_does(
    feature: str, statement: str, spark: SparkSession, tmp_path: Path
) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    _made(spark, ours, feature)
    shutil.copytree(ours, theirs)
    asked, v = _STATEMENTS[statement], _FEATURES[feature].v
    rows = _rows(spark, 100, v, "'a'", asked.columns)
    writer = rows.write.format("delta").mode(asked.mode).options(**asked.theirs)
    if asked.partition_by:
        writer = writer.partitionBy(*asked.partition_by)
    writer.save(str(theirs))
    pipeline.write(rows, ours, mode=asked.mode, **asked.ours)
    found, wanted = _table(ours), _table(theirs)
    assert {key: value for key, value in found.items() if value != wanted[key]} == {
        key: value for key, value in wanted.items() if value != found[key]
    }
    agrees_on(spark, ours, theirs)
    # each goes on where the other wrote
    more = _rows(spark, 200, v, "'b c'", asked.columns)
    more.write.format("delta").mode("append").save(str(ours))
    pipeline.write(more, theirs)
    agrees_on(spark, ours, theirs)


def agrees_on(spark: SparkSession, ours: Path, theirs: Path) -> None:
    """Both tables have the same rows, for us and, but for variants, for delta-spark."""
    found: Counter[Any] = rows_of(ours)
    assert found == rows_of(theirs)
    for place in (ours, theirs):
        if "variant" not in explorer.open_table(place).snapshot().metadata.schema_string:
            agrees(spark, place)
