"""Rows of every table of the corpus are deleted, updated and merged on a copy, or refused by what
the table has that forbids it: each reader finds just the rows that a plain list says afterwards,
and the feed tells what became of them.

`DELTA_EXPLORER_EVERYTHING=1` runs every statement of every table.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError as TheirError
from pyspark.sql import SparkSession

import explorer
from explorer import pipeline
from explorer.errors import DeltaError, UnsupportedError
from explorer.writing.statements.options import WriteResult
from tests.corpus import READABLE, table_name
from tests.interop.corpus_changes import Change, Changes
from tests.interop.corpus_writes import Written, files_of, says
from tests.interop.disagreements.entries import DELTA_SPARK, DELTALAKE, DISAGREEMENTS
from tests.interop.maintained import writable
from tests.interop.random_values import told_rows
from tests.interop.reading import place_case
from tests.interop.reading_spark import rows_of_frame
from tests.interop.written_files import WrittenFiles
from tests.sampling import EVERYTHING, SEED

_STATEMENTS = [(kind, count) for kind in ("delete", "update", "merge") for count in (20, 20_000)]


def _otherwise(peer: str) -> frozenset[str]:
    """The tables that a reader refuses or reads otherwise before anything is changed."""
    entries = [entry for entry in DISAGREEMENTS if entry.peer == peer]
    facts = {"opening", "rows", "files"}
    return frozenset(name for entry in entries if entry.fact in facts for name in entry.tables)


_MARK = re.compile(r'"delta.identity.highWaterMark":-?\d+,?')
_NOT_PARSED = "Failed to parse value"
"""What deltalake refuses: partitions of days before the year -262144 or after 262143."""

_NOT_THEIRS = {peer: _otherwise(peer) for peer in (DELTALAKE, DELTA_SPARK)}


def _ready(expected: dict[str, Any], scratch: Path, count: int) -> Written:
    """A copy that has so many rows more; only these where its own are absent, or very many."""
    case = place_case(expected, scratch)
    writable(case.place)
    is_fresh = not case.has_rows or case.large
    mode: Literal["overwrite", "append"] = "overwrite" if is_fresh else "append"
    seed = f"{SEED} {table_name(expected)}"
    table = Written(place=case.place, mode=mode, count=count, seed=seed)
    if table.why_not is None:
        pipeline.write(table.table_of(table.rows()), case.place, mode=mode, engine="local")
    return table


def _forbids(table: Written, kind: str) -> str | None:
    """What of the table forbids the statement, in words that the error has."""
    is_append_only = table.metadata.configuration.get("delta.appendOnly") == "true"
    return table.why_not or ("append-only" if is_append_only and kind != "merge" else None)


def _refuse(table: Written, kind: str, why_not: str, **engine: Any) -> None:
    """That nothing is changed, and the error names what forbids it."""
    files = files_of(table.place)
    if table.before.num_files == 0 and kind != "merge":
        # no row is there that could be changed
        assert _anything(table, kind, **engine).version is None
        assert files_of(table.place) == files
        return
    with pytest.raises(DeltaError) as refused:
        _anything(table, kind, **engine)
    assert refused.value.kind == "unsupported_feature"
    assert why_not in str(refused.value)
    assert files_of(table.place) == files


def _anything(table: Written, kind: str, **engine: Any) -> WriteResult:
    # what the table forbids is told after what is wrong with the statement itself
    settable = [item for item in table.fields if not says(item, ("delta.identity.",))]
    field = (settable or table.fields)[0]["name"]
    name = f"`{field}`"
    if kind == "delete":
        return pipeline.delete(table.place, **engine)
    if kind == "update":
        return pipeline.update(table.place, {name: "NULL"}, **engine)
    on = f"target.{name} = source.{name}"
    rows = pa.table({field: pa.nulls(0)})
    merging = pipeline.merge(table.place, rows, on, **engine)
    return merging.when_matched_delete().execute()


def _drawn(table: Written, kind: str) -> Change | None:
    changes = Changes(table=table, seed=f"{table.seed} {kind} {table.count}")
    if kind == "delete":
        return changes.delete()
    if kind == "update":
        return changes.update()
    is_append_only = table.metadata.configuration.get("delta.appendOnly") == "true"
    if any(says(item, ("delta.identity.",)) for item in table.fields):
        return None  # `*` takes such a column from the source, which may not set it
    return changes.merge(updates=not is_append_only)


def _changed(
    expected: dict[str, Any], scratch: Path, kind: str, count: int, **engine: Any
) -> tuple[Written, Change] | None:
    """The table after the statement, and what that was; None where it was refused as it has to
    be, or where the table has no column for it."""
    table = _ready(expected, scratch, count)
    if (why_not := _forbids(table, kind)) is not None:
        _refuse(table, kind, why_not, **engine)
        return None
    change = _drawn(table, kind)
    if change is None:
        return None
    before = explorer.open_table(table.place).snapshot()
    files = files_of(table.place)
    try:
        result = change.run(table.place, **engine)
    except UnsupportedError as error:
        # Spark cannot be handed a variant of a row that stays (docs/limits.md)
        is_limit = kind == "merge" and "variant" in json.dumps(table.fields)
        is_for_spark = error.kind == "missing_dependency" and engine["engine"] != "spark"
        is_in_parts = "variant-shredding" in expected["features"] and "in parts" in str(error)
        is_limit = is_limit and "Rows with variants" in str(error)
        if not (is_for_spark or is_in_parts or is_limit):
            raise
        # nothing was begun
        assert files_of(table.place) == files
        return None
    assert result.problems == (), result.problems
    assert result.version == (before.version + 1 if change.changed else None)
    after = explorer.open_table(table.place).snapshot()
    assert after.protocol == before.protocol
    assert _settings(after.metadata) == _settings(before.metadata)
    found = told_rows(explorer.read_rows(after), table.given)
    _same(found, change.rows, change)
    assert after.num_rows in {None, change.rows.total()}
    if result.version is not None:
        _check_files(table, change)
        if table.metadata.configuration.get("delta.enableChangeDataFeed") == "true":
            _check_feed(table, change, after.version)
    return table, change


def _settings(metadata: Any) -> Any:
    """All of it but the numbers that identity columns have given out."""
    return replace(metadata, schema_string=_MARK.sub("", metadata.schema_string))


def _same(found: Counter[Any], wanted: Counter[Any], change: Change) -> None:
    lacks, has = list((wanted - found).items())[:2], list((found - wanted).items())[:2]
    assert found == wanted, f"{change.text}: lacks {lacks}, has {has}"


def _check_files(table: Written, change: Change) -> None:
    """That what the log says of new files is true, and other engines find rows in them that have
    to be there."""
    after = explorer.open_table(table.place).snapshot().metadata
    metadata = {
        "partitionColumns": list(after.partition_columns),
        "schemaString": after.schema_string,
        "configuration": dict(after.configuration),
    }
    adds = [add for add in table.adds() if add.get("deletionVector") is None]
    files = WrittenFiles(table.place, metadata, adds)
    files.check_statistics()
    named = {item["name"] for item in files.fields}
    fields, wanted = _told_alike(table, change, named)
    for engine in ("duckdb", "polars"):
        rows = files.rows_by(engine, [item["name"] for item in fields])
        assert rows.total() == sum(json.loads(add["stats"])["numRecords"] for add in adds)
        assert not rows - wanted, f"{change.text}: {engine} has {list(rows - wanted)[:2]}"


def _told_alike(table: Written, change: Change, names: Collection[str]) -> tuple[Any, Counter[Any]]:
    """Of the columns with these names those that every reader tells alike, and the rows of them:
    variants are JSON to one reader, and bytes to another."""
    places = [
        at
        for at, item in enumerate(table.given)
        if item["name"] in names and "variant" not in json.dumps(item["type"])
    ]
    wanted: Counter[Any] = Counter()
    for row, count in change.rows.items():
        wanted[tuple(row[at] for at in places)] += count
    return [table.given[at] for at in places], wanted


def _check_feed(table: Written, change: Change, version: int) -> None:
    rows = explorer.read_changes(explorer.open_table(table.place), version, version)
    found: Counter[Any] = Counter()
    for kind in {*rows.column("_change_type").to_pylist()}:
        those = rows.filter(pa.compute.equal(rows.column("_change_type"), kind))
        found.update({(kind, row): n for row, n in told_rows(those, table.given).items()})
    _same(found, change.feed, change)


def _chosen(name: str) -> list[tuple[str, int]]:
    """One statement of each table, another each day; all of them where everything is asked for."""
    if EVERYTHING:
        return _STATEMENTS
    return [random.Random(f"{SEED} {name}").choice([*_STATEMENTS[::2] * 3, *_STATEMENTS])]


@pytest.mark.parametrize("expected", READABLE, ids=table_name)
def test_rows_of_a_table_are_changed_or_it_says_what_forbids_that(
    expected: dict[str, Any], tmp_path: Path
) -> None:
    for number, (kind, count) in enumerate(_chosen(expected["name"])):
        done = _changed(expected, tmp_path / str(number), kind, count, engine="local")
        if done is None or expected["name"] in _NOT_THEIRS[DELTALAKE]:
            continue
        table, change = done
        if (rows := _by_deltalake(table)) is not None:
            fields, wanted = _told_alike(table, change, rows.schema.names)
            _same(told_rows(rows, fields), wanted, change)


def _by_deltalake(table: Written) -> pa.Table | None:
    try:
        builder = QueryBuilder().register("t", DeltaTable(str(table.place)))
        return pa.table(builder.execute("select * from t").read_all())
    except TheirError as error:
        if _NOT_PARSED in str(error):
            return None
        raise


@pytest.mark.sampled(one_in=60)
@pytest.mark.parametrize("expected", READABLE, ids=table_name)
def test_spark_changes_them_too_and_delta_spark_reads_the_same(
    expected: dict[str, Any], spark: SparkSession, tmp_path: Path
) -> None:
    for number, (kind, count) in enumerate(_chosen(expected["name"])):
        # half of them for us, so that the other reader meets what each of us writes
        here = (SEED + number) % 2 == 1
        engine: dict[str, Any] = {"engine": "spark", "spark": spark}
        done = _changed(
            expected,
            tmp_path / str(number),
            kind,
            count,
            **({"engine": "local"} if here else engine),
        )
        if done is None or expected["name"] in _NOT_THEIRS[DELTA_SPARK]:
            continue
        table, change = done
        frame = spark.read.format("delta").load(str(table.place))
        _same(told_rows(rows_of_frame(frame), table.given), change.rows, change)
