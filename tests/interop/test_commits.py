"""What we commit, the reference reads and builds upon; what it commits, we follow."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

import explorer
from explorer.log.actions.columns import string_column
from explorer.storage.open import open_write_store
from explorer.transaction.commit import Committed, commit
from explorer.transaction.conflicts import Conflict
from explorer.transaction.read_set import NOTHING, WHOLE_TABLE, ReadSet
from explorer.transaction.read_version import ReadVersion, read_version_of
from explorer.transaction.staged import Provenance, StagedCommit

PROPERTIES = {
    "delta.enableRowTracking": "true",
    "delta.enableInCommitTimestamps": "true",
    "delta.enableDeletionVectors": "true",
}


def create(spark: SparkSession, place: Path) -> str:
    """A table of the reference with three rows in one file."""
    name = f"delta.`{place}`"
    properties = ", ".join(f"'{key}' = '{value}'" for key, value in PROPERTIES.items())
    spark.sql(f"CREATE TABLE {name} (id BIGINT) USING delta TBLPROPERTIES ({properties})")
    spark.sql(f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ id FROM range(3)")
    return name


def newest(place: Path) -> ReadVersion:
    return read_version_of(explorer.open_table(place).snapshot())


def append_copy(place: Path, upon: ReadVersion, reads: ReadSet = NOTHING) -> Committed | Conflict:
    """Append a copy of the first file of the version that was read, as columns of Arrow."""
    snapshot = explorer.open_table(place).snapshot(version=upon.version)
    columns = ["path", "size", "partition_values", "modification_time", "stats"]
    batch = snapshot.physical_files("add", columns).slice(0, 1).combine_chunks().to_batches()[0]
    copy = f"copy-{uuid4()}.parquet"
    shutil.copy(place / batch.column("path")[0].as_py(), place / copy)
    arrays = [string_column([copy]), *batch.columns[1:]]
    staged = StagedCommit(
        base=upon,
        reads=reads,
        provenance=Provenance(
            operation="WRITE", transaction_id=str(uuid4()), engine_info="delta-explorer"
        ),
        adds=(type(batch).from_arrays(arrays, names=columns),),
    )
    return commit(open_write_store(place), staged, clock=lambda: time.time_ns() // 1_000_000)


def ids(spark: SparkSession, name: str) -> list[tuple[int, int, int]]:
    query = f"SELECT id, _metadata.row_id, _metadata.row_commit_version FROM {name}"
    return sorted(tuple(row) for row in spark.sql(query).collect())


@pytest.mark.rule(
    "row-write-unique-fresh", "row-write-set-base", "row-write-high-water-mark-domain"
)
@pytest.mark.rule("newer-commit-timestamp-monotonic", "newer-write-as-reference")
def test_the_reference_counts_rows_on_where_we_stopped(spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "t"
    name = create(spark, place)
    assert append_copy(place, newest(place)) == Committed(version=2, timestamp=_time(place, 2))
    spark.sql(f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ id + 10 FROM range(2)")
    found = ids(spark, name)
    assert [row_id for _, row_id, _ in sorted(found, key=lambda row: row[1])] == list(range(8))
    versions = {row_id: version for _, row_id, version in found}
    assert versions == {0: 1, 1: 1, 2: 1, 3: 2, 4: 2, 5: 2, 6: 3, 7: 3}
    times = [_time(place, version) for version in range(4)]
    assert times == sorted(set(times))


@pytest.mark.rule("row-write-no-duplicates")
def test_we_follow_the_reference_and_count_rows_on_where_it_stopped(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = tmp_path / "t"
    name = create(spark, place)
    read = newest(place)
    spark.sql(f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ id + 10 FROM range(2)")
    assert append_copy(place, read) == Committed(version=3, timestamp=_time(place, 3))
    found = ids(spark, name)
    assert sorted(row_id for _, row_id, _ in found) == list(range(8))
    assert {version for _, row_id, version in found if row_id >= 5} == {3}
    assert explorer.open_table(place).snapshot().row_id_high_water_mark == 7


@pytest.mark.sampled(one_in=6)
@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("INSERT INTO {} SELECT 9L", "concurrent append"),
        ("DELETE FROM {} WHERE id = 1", "concurrent append"),
        ("DELETE FROM {}", "concurrent delete-read"),
        ("ALTER TABLE {} ADD COLUMN more STRING", "metadata changed"),
        ("ALTER TABLE {} SET TBLPROPERTIES ('delta.appendOnly' = 'true')", "metadata changed"),
        (
            "ALTER TABLE {} SET TBLPROPERTIES ('delta.feature.typeWidening' = 'supported')",
            "protocol changed",
        ),
    ],
    ids=["insert", "vector", "delete", "column", "property", "feature"],
)
def test_what_the_reference_did_is_told(
    spark: SparkSession, tmp_path: Path, statement: str, rule: str
) -> None:
    place = tmp_path / "t"
    name = create(spark, place)
    read = newest(place)
    spark.sql(statement.format(name))
    done = append_copy(place, read, reads=WHOLE_TABLE)
    assert isinstance(done, Conflict)
    assert (done.version, done.rule) == (2, rule)
    assert done.commit.engine_info is not None
    assert done.commit.engine_info.startswith("Apache-Spark/")


def _time(place: Path, version: int) -> int:
    snapshot = explorer.open_table(place).snapshot(version=version)
    time_of = read_version_of(snapshot).timestamp
    assert time_of is not None
    return time_of
