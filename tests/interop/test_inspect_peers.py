"""What we say of other engines about time travel and vacuum, held against the reference."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import explorer
import explorer.inspect as look
from explorer.maintenance import plan_vacuum
from tests.data_tables import DataTable, field, struct
from tests.demo_story import LATELY, copy_demo
from tests.tables import PROTOCOL, add, metadata
from tests.unit.maintenance.lake import Lake

LONG_AGO = datetime.now(UTC).timestamp() - 30 * 86_400
_ENFORCE = "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration"


@pytest.fixture
def enforcing(spark: SparkSession) -> Iterator[SparkSession]:
    """The session as the reference comes: it does not travel beyond the retention."""
    before = spark.conf.get(_ENFORCE)
    spark.conf.set(_ENFORCE, "true")
    try:
        yield spark
    finally:
        spark.conf.set(_ENFORCE, str(before))


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inspect") / "demo"
    return copy_demo(folder, LATELY)


@pytest.fixture
def old_table(corpus: Path, tmp_path: Path) -> Path:
    """A table without deletion vectors, nothing of which is younger than thirty days."""
    root = Path(shutil.copytree(corpus / "tables" / "dat-with_schema_change", tmp_path / "old"))
    for place in root.rglob("*"):
        os.utime(place, (LONG_AGO, LONG_AGO))
    return root


def test_reference_refuses_just_the_versions_that_we_say_it_refuses(
    enforcing: SparkSession, demo: Path
) -> None:
    found = look.reach_by_log(explorer.open_table(demo)).versions.to_pylist()
    refused = [row["version"] for row in found if row["spark_refuses"]]
    edge = refused[-1]
    assert refused == list(range(edge + 1))
    for version in (0, edge - 1, edge, edge + 1, edge + 2, len(found) - 1):
        reader = enforcing.read.format("delta").option("versionAsOf", version)
        if version in refused:
            with pytest.raises(
                (AnalysisException, Py4JJavaError), match="deletedFileRetentionDuration"
            ):
                reader.load(str(demo)).schema  # noqa: B018  # asks for the version
        else:
            assert reader.load(str(demo)).schema.fields


def test_newest_version_is_never_refused_however_old_it_is(
    enforcing: SparkSession, old_table: Path
) -> None:
    found = look.reach_by_log(explorer.open_table(old_table))
    refused = [row["spark_refuses"] for row in found.versions.to_pylist()]
    assert refused == [True] * found.version + [False]
    for version in (found.version - 1, found.version):
        reader = enforcing.read.format("delta").option("versionAsOf", version)
        if refused[version]:
            with pytest.raises(
                (AnalysisException, Py4JJavaError), match="deletedFileRetentionDuration"
            ):
                reader.load(str(old_table)).schema  # noqa: B018  # asks for the version
        else:
            assert reader.load(str(old_table)).schema.fields


def test_reference_would_delete_just_the_foreign_files_that_we_say(
    spark: SparkSession, old_table: Path
) -> None:
    names = (
        "notes.txt",
        "metadata/v1.metadata.json",
        "_SUCCESS",
        "_hidden/x.parquet",
        ".part.crc",
        "letter=a/stray.parquet",
        "letter=a/.dot.parquet",
        "sub/_delta_log/00000000000000000000.json",
        "sub/part.parquet",
        "_change_data/lost.parquet",
        "deletion_vector_00000000-0000-4000-8000-000000000000.bin",
    )
    for name in (*names, "young.parquet"):
        place = old_table / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(b"x")
        if name != "young.parquet":
            os.utime(place, (LONG_AGO, LONG_AGO))
    rows = look.foreign_files(explorer.open_table(old_table)).files.to_pylist()
    known = {row["path"] for row in rows}
    assert {*names, "young.parquet"} == known
    ours = {row["path"] for row in rows if row["reference_deletes"]}
    listed = spark.sql(f"VACUUM delta.`{old_table}` DRY RUN").collect()
    theirs = {row[0].removeprefix("file:").removeprefix(f"{old_table}/") for row in listed}
    assert ours == theirs & known


def test_reference_keeps_just_the_deletable_files_that_a_copy_renewed(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = Lake(tmp_path, "copied")
    names = [f"{number}.parquet" for number in range(6)]
    lake.commit(0, [PROTOCOL, metadata(), *(lake.add(name) for name in names)], age_days=40)
    lake.commit(1, [lake.remove(name, age_days=20) for name in names[1:]], age_days=20)
    hour_ago = datetime.now(UTC).timestamp() - 3600
    for name in names[::2]:
        os.utime(lake.root / name, (hour_ago, hour_ago))
    folder = look.foreign_files(lake.table)
    listed = {
        unquote(row[0].removeprefix("file:")).removeprefix(f"{lake.root}/")
        for row in spark.sql(f"VACUUM delta.`{lake.root}` DRY RUN").collect()
    }
    plan = plan_vacuum(lake.table, state_dir=lake.state)
    ours = {row["path"] for row in plan.files.to_pylist() if row["action"] == "delete"}
    assert ours == set(names[1:])
    assert ours - listed == {"2.parquet", "4.parquet"}
    assert folder.reference_keeps == 2
    for name in sorted(ours):
        found = look.why_here(lake.table, name)
        assert found.deletable_from is not None
        assert found.reference_from is not None
        assert (found.reference_from <= datetime.now(UTC)) == (name in listed)


@pytest.mark.parametrize(
    ("name", "rows"), [("1.json", [1, 2, 7]), (f"{1:021}.json", [1, 2, 7]), ("12.json", None)]
)
def test_reference_takes_a_log_file_whatever_the_length_of_its_number(
    spark: SparkSession, tmp_path: Path, name: str, rows: list[int] | None
) -> None:
    table = DataTable(tmp_path / "t", struct(field("id", "long")))
    table.add("a.parquet", pa.table({"id": pa.array([1, 2], pa.int64())}))
    root = table.write()
    pq.write_table(pa.table({"id": pa.array([7], pa.int64())}), root / "b.parquet")
    action = add("b.parquet", size=(root / "b.parquet").stat().st_size)
    (root / "_delta_log" / name).write_text(f"{json.dumps(action)}\n")
    found = look.log_health(explorer.open_table(root)).findings
    assert "log files with a number of another length" in found.column("finding").to_pylist()
    assert explorer.open_table(root).snapshot().version == 0
    if rows is None:
        with pytest.raises(Exception, match="DELTA_VERSIONS_NOT_CONTIGUOUS"):
            spark.read.format("delta").load(str(root))
        return
    assert sorted(row.id for row in spark.read.format("delta").load(str(root)).collect()) == rows
