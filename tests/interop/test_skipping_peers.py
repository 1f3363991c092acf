"""The files that a predicate leaves are those that another reader would open."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

import explorer
from explorer.scan.plan import plan_scan
from tests.tables import PROTOCOL, LogFolder, add, metadata

CASES = [
    ("dat-column_mapping", "letter = 'zz'"),
    ("deltars-cdf-table", "birthday = '2023-12-22'"),
    ("deltars-cdf-table", "birthday > '2023-12-22' AND id > 3"),
    ("deltars-errlog-table_b", "id > 90"),
    ("golden-basic-with-inserts-overwrite-restore", "id = 170"),
    ("golden-dv-partitioned-with-checkpoint", "part = 3"),
    ("golden-dv-partitioned-with-checkpoint", "col1 > 30"),
    ("golden-multi-part-checkpoint", "id >= 20"),
    ("golden-multi-part-checkpoint", "id = 7 OR id > 100"),
    ("kernel-v2-checkpoints-json-with-sidecars", "id BETWEEN 5 AND 9"),
    ("kernel-v2-json-sidecars-struct-stats-only", "id = 3"),
    ("spark44-clustering", "id < 0"),
    ("spark44-log-compaction", "k = 1 AND id < 12"),
    ("spark44-multi-part-checkpoint-struct-stats", "x > 6 AND d = '2020-02-29'"),
    ("spark44-type-widening", "i > 40"),
]


@pytest.mark.rule("stats-use")
@pytest.mark.parametrize(("name", "where"), CASES)
def test_as_many_files_stay_as_with_deltalake(corpus: Path, name: str, where: str) -> None:
    place = corpus / "tables" / name
    plan = plan_scan(explorer.open_table(place).snapshot(), where)
    theirs = DeltaTable(str(place)).file_uris(file_pruning_predicate=where)
    ours = plan.kept.column("path").to_pylist()
    assert sorted(_name(path) for path in ours) == sorted(_name(uri) for uri in theirs)


def _name(path: str) -> str:
    return unquote(path).rpartition("/")[2]


IMPRECISE = [
    ("double", [1.0, 3.0, math.nan], (1.0, 3.0), "x > 5", 1),
    ("string", ["a", "abcd"], ("a", "abc"), "x = 'abcd'", 1),
    ("string", ["a", "abcd"], ("a", "abc"), "x LIKE 'abcd%'", 1),
    (
        "timestamp",
        [datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, 0, 0, 1, 500, tzinfo=UTC)],
        ("2024-01-01T00:00:00.000Z", "2024-01-01T00:00:01.000Z"),
        "x >= TIMESTAMP '2024-01-01 00:00:01.000300Z'",
        0,
    ),
    ("double", [1.0, 3.0, math.nan], (1.0, 3.0), "x > 2", 0),
]


@pytest.mark.parametrize("case", IMPRECISE)
def test_delta_spark_skips_just_the_imprecise_files_that_we_say(
    spark: SparkSession, tmp_path: Path, case: tuple[Any, ...]
) -> None:
    kind, values, (low, high), where, skips = case
    folder = LogFolder(tmp_path / "table")
    place = folder.root / "a.parquet"
    # without bounds of its own, so that the log's alone decide
    pq.write_table(pa.table({"x": values}), place, write_statistics=False)
    stats = {"numRecords": len(values), "nullCount": {"x": 0}}
    stats |= {"minValues": {"x": low}, "maxValues": {"x": high}}
    field = {"name": "x", "type": kind, "nullable": True, "metadata": {}}
    schema = json.dumps({"type": "struct", "fields": [field]})
    file = add("a.parquet", size=place.stat().st_size, stats=json.dumps(stats))
    folder.commit(0, [PROTOCOL, metadata(schemaString=schema), file])
    table = explorer.open_table(folder.root)
    plan = plan_scan(table.snapshot(), where)
    assert (plan.num_kept, plan.num_reference_skips) == (1, skips)
    ours = explorer.read_rows(table.snapshot(), where=where).num_rows
    theirs = spark.read.format("delta").load(str(folder.root)).where(where).count()
    assert (ours > theirs) == bool(skips), (ours, theirs)
