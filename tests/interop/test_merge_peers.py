"""The same merge on two copies of a table, ours and delta-spark's own: rows, schema, change feed,
row ids and metrics agree, or both refuse."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import explorer
from explorer.errors import DeltaError
from tests.interop.merges import SITUATIONS, Situation, ours, theirs
from tests.interop.twins import REFUSED, agrees, last_commit, sql

METRICS = (
    "numSourceRows",
    "numTargetRowsInserted",
    "numTargetRowsUpdated",
    "numTargetRowsMatchedUpdated",
    "numTargetRowsNotMatchedBySourceUpdated",
    "numTargetRowsDeleted",
    "numTargetRowsMatchedDeleted",
    "numTargetRowsNotMatchedBySourceDeleted",
)


def build(spark: SparkSession, scratch: Path, situation: Situation) -> tuple[Path, Path]:
    mine = scratch / "ours"
    told = ", ".join(f"'{name}' = '{value}'" for name, value in situation.properties.items())
    sql(
        spark,
        mine,
        f"create table T ({situation.columns}) using delta {situation.options} "
        f"tblproperties ({told})",
    )
    rows = [f"insert into T {situation.rows}"] if situation.rows else []
    for text in (*rows, *situation.more):
        sql(spark, mine, text)
    return mine, Path(shutil.copytree(mine, scratch / "theirs"))


def counted(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in rows)


def feed_of(place: Path) -> Counter[str]:
    table = explorer.open_table(place)
    version = table.latest_version()
    dropped = {"_commit_version", "_commit_timestamp"}
    rows = explorer.read_changes(table, version, version).to_pylist()
    return counted([{name: row[name] for name in row if name not in dropped} for row in rows])


def ids_of(place: Path) -> list[int]:
    rows = explorer.read_rows(
        explorer.open_table(place).snapshot(), [], metadata_columns=["_row_id"]
    )
    found: list[int] = rows.column("_row_id").to_pylist()
    return found


def kept_ids(place: Path, key: str, known: set[int]) -> list[str]:
    """The rows by key with their ids, where they had them before, and commit versions."""
    snapshot = explorer.open_table(place).snapshot()
    names = ["_row_id", "_row_commit_version"]
    rows = explorer.read_rows(snapshot, [key], metadata_columns=names).to_pylist()
    found = [row["_row_id"] for row in rows]
    assert len(set(found)) == len(found)
    return sorted(
        repr((row[key], row["_row_id"] if row["_row_id"] in known else "new", row[names[1]]))
        for row in rows
    )


def told(place: Path) -> dict[str, str]:
    metrics = last_commit(place)["operationMetrics"]
    return {name: metrics.get(name) for name in METRICS}


LOOSER = {
    "matched twice, and no clause for pairs": "no clause changes a row with partners, however many "
    "it has",
    "matched twice, but one by a clause": "one partner alone changes the row, so that nothing is "
    "ambiguous; Databricks' own MERGE looks at the conditions too",
    "generated columns, all": "what is generated is computed, and need not be in the source",
}
"""What ours carries out and the reference refuses, and why."""

_TWICE = ("rows_refused", "has 2 partners in the source")
_BOTH_REFUSE = {
    "update, matched twice": _TWICE,
    "delete with a condition, matched twice": _TWICE,
    "matched twice, by different clauses": _TWICE,
    "a value that does not fit": ("rows_refused", "A row breaks the type integer of `v`"),
    "a source with fewer columns": ("schema_mismatch", "The source has no column v"),
    "fields that are missing": ("schema_mismatch", "The value of s has no field b"),
    "a column twice": ("schema_mismatch", "`v` is set twice"),
    "an unknown column": ("schema_mismatch", "The table has no column w"),
    "a condition about the wrong side": ("invalid_argument", "no column target"),
    "a clause behind one without a condition": (
        "invalid_argument",
        "WHEN MATCHED THEN UPDATE has no condition",
    ),
    "an ambiguous name": ("invalid_argument", "Reference `v` is ambiguous"),
    "a constraint that is broken": ("rows_refused", "A row breaks CHECK (v < 200) of `small`"),
    "a null in a column that has none": ("schema_mismatch", "The column id is not among"),
    "a generated column that is given wrong": (
        "rows_refused",
        "A row breaks the generation v * 2 of `w`",
    ),
    "identity columns are not updated": (
        "schema_mismatch",
        "The identity column n cannot be updated",
    ),
}
"""What both refuse: the kind of our error, and words of it."""

_NOT_COUNTED = {"keys of no type"}
"""Where the reference's optimizer sees that no row of the source has a partner, and drops them
before they are counted: `numSourceRows` is 0."""

_DONE = [name for name in SITUATIONS if name not in {*LOOSER, *_BOTH_REFUSE}]


@pytest.mark.sampled(one_in=16)
@pytest.mark.parametrize("name", [*LOOSER, *_BOTH_REFUSE])
def test_what_the_reference_refuses_is_refused_with_the_words_for_it_or_listed(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    situation = SITUATIONS[name]
    mine, other = build(spark, tmp_path, situation)
    version = explorer.open_table(mine).latest_version()
    source = spark.sql(situation.source)
    with pytest.raises(REFUSED):
        theirs(spark, other, situation, source)
    if name in LOOSER:
        assert ours(mine, situation, source).version == version + 1
        return
    kind, words = _BOTH_REFUSE[name]
    with pytest.raises(DeltaError, match=re.escape(words)) as refused:
        ours(mine, situation, source)
    assert refused.value.kind == kind
    assert explorer.open_table(mine).latest_version() == version


@pytest.mark.sampled(one_in=16)
@pytest.mark.parametrize("name", _DONE)
def test_both_make_the_same_of_a_merge(spark: SparkSession, tmp_path: Path, name: str) -> None:
    situation = SITUATIONS[name]
    mine, other = build(spark, tmp_path, situation)
    version = explorer.open_table(mine).latest_version()
    source = spark.sql(situation.source)
    theirs(spark, other, situation, source)
    known = set(ids_of(mine)) if "delta.enableRowTracking" in situation.properties else set()
    ours(mine, situation, source)
    first, second = explorer.open_table(mine), explorer.open_table(other)
    changed = second.latest_version() > version
    rows = [explorer.read_rows(table.snapshot()).to_pylist() for table in (first, second)]
    assert counted(rows[0]) == counted(rows[1])
    assert first.latest_version() == second.latest_version()
    if not changed:
        return
    fields = [
        [(item.name, item.data_type) for item in table.snapshot().schema.fields]
        for table in (first, second)
    ]
    if "columnMapping" not in str(situation.properties):
        assert fields[0] == fields[1]
    uncounted = {"numSourceRows": "0"} if name in _NOT_COUNTED else {}
    assert told(mine) | uncounted == told(other)
    if "delta.enableChangeDataFeed" in situation.properties:
        assert feed_of(mine) == feed_of(other)
    if "delta.enableRowTracking" in situation.properties:
        assert kept_ids(mine, situation.key, known) == kept_ids(other, situation.key, known)
    agrees(spark, mine)
