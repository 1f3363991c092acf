"""The state of a log on Spark, equal to the engine's."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import maintenance, pipeline
from explorer.errors import UnsupportedError
from explorer.files.kept import kept_files
from explorer.pipeline import Limits
from explorer.pipeline.large import large_scan
from explorer.pipeline.large.large_table import LargeSnapshot
from explorer.scan.plan import plan_scan
from explorer.table.snapshot import FILE_COLUMNS, TOMBSTONE_COLUMNS
from tests.change_feeds import hiding
from tests.conftest import CORPUS
from tests.corpus import READABLE, place_table, table_name
from tests.data_tables import mapped, struct
from tests.pipeline.rows import same_rows
from tests.tables import FEATURE_PROTOCOL, LogFolder, add, metadata, remove, vector

_LIMITS = {
    "commits replayed here": Limits(actions=0),
    "commits reconciled there": Limits(actions=0, commit_bytes=0),
}
_FEATURES = ["columnMapping", "deletionVectors"]
_ROWS = 5
_LARGE = 100_000


def ordered(files: pa.Table) -> list[tuple[str, ...]]:
    """Rows as text, in an order of their own."""
    return sorted(tuple(map(repr, row.values())) for row in files.to_pylist())


def build_wide(root: Path) -> Path:
    """See `wide`."""
    log = LogFolder(root)
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": _FEATURES,
        "writerFeatures": _FEATURES,
    }
    schema = struct(mapped("id", "long", "c1", 1), mapped("region", "string", "c2", 2))
    configuration = {"delta.columnMapping.mode": "name"}
    head = [
        {"protocol": protocol},
        metadata(
            schemaString=json.dumps(schema),
            partitionColumns=["region"],
            configuration=configuration,
        ),
    ]
    files = [_file(root, at) for at in range(14)]
    gone = [remove(f"gone-{at}") for at in range(3)]
    log.checkpoint(1, [*head, *files[:12], *gone], form="multi-part", parts=3, rows_per_group=2)
    log.commit(1, [])
    log.commit(2, [remove("0.parquet"), files[12]])
    hidden = {"add": files[1]["add"] | hiding(0, 2)}
    log.commit(3, [remove("1.parquet"), hidden, remove("12.parquet")])
    # one that had gone comes back
    log.commit(4, [files[0], remove("2.parquet"), files[13]])
    return root


def _file(root: Path, at: int) -> Any:
    ids = list(range(at * _ROWS, (at + 1) * _ROWS))
    region = "ab"[at % 2]
    pq.write_table(pa.table({"c1": ids}), root / f"{at}.parquet")
    stats = {
        "numRecords": _ROWS,
        "minValues": {"c1": ids[0]},
        "maxValues": {"c1": ids[-1]},
        "nullCount": {"c1": 0},
    }
    size = (root / f"{at}.parquet").stat().st_size
    return add(f"{at}.parquet", size=size, partitionValues={"c2": region}, stats=json.dumps(stats))


def large(
    place: Path, spark: SparkSession, limits: Limits, version: int | None = None
) -> LargeSnapshot:
    found = pipeline.with_spark_state(explorer.open_table(place), spark, limits).snapshot(
        version=version
    )
    assert isinstance(found, LargeSnapshot)
    return found


def _has_checkpoint(table: dict[str, Any]) -> bool:
    log = CORPUS / "tables" / table["name"] / "_delta_log"
    return "archive" in table or any(log.glob("*.checkpoint*"))


# without a checkpoint there is nothing that the driver could leave to tasks
_CASES = [
    pytest.param(table, limits, id=f"{table_name(table)}-{name}")
    for table in READABLE
    for name, limits in _LIMITS.items()
    if "there" in name or _has_checkpoint(table)
]


@pytest.mark.sampled(one_in=24)
@pytest.mark.parametrize(("expected", "limits"), _CASES)
def test_the_state_on_spark_is_that_of_the_engine(
    spark: SparkSession, expected: dict[str, Any], limits: Limits, tmp_path: Path
) -> None:
    place = place_table(expected, tmp_path)
    here, there = explorer.open_table(place).snapshot(), large(place, spark, limits)
    assert (there.protocol, there.metadata, there.version) == (
        here.protocol,
        here.metadata,
        here.version,
    )
    assert (there.transactions, there.domains) == (here.transactions, here.domains)
    found, wanted = there.files(FILE_COLUMNS), here.files(FILE_COLUMNS)
    if wanted.num_rows > _LARGE:
        assert found.sort_by("path").equals(wanted.sort_by("path"))
    else:
        assert ordered(found) == ordered(wanted)
    assert ordered(there.tombstones(TOMBSTONE_COLUMNS)) == ordered(
        here.tombstones(TOMBSTONE_COLUMNS)
    )


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files in a checkpoint of three parts, with a mapped partition column; after it commits
    that remove, hide rows of, and add files."""
    return build_wide(tmp_path_factory.mktemp("wide") / "t")


def test_hidden_rows_that_there_cannot_be_are_unknown_there_too(
    spark: SparkSession, tmp_path: Path
) -> None:
    log = LogFolder(tmp_path / "t")
    held = add("a", deletionVector=vector(cardinality=9), stats='{"numRecords":5}')
    log.commit(0, [FEATURE_PROTOCOL, metadata(), held])
    found = large(log.root, spark, _LIMITS["commits reconciled there"])
    assert (found.num_rows, found.num_deleted_rows, found.num_deletion_vectors) == (None, None, 1)
    (problem,) = found.problems
    assert problem.problem == "The number of deleted rows of 1 deletion vector is impossible."


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("limits", _LIMITS.values(), ids=_LIMITS)
def test_totals_and_the_port_are_those_of_the_engine(
    spark: SparkSession, wide: Path, limits: Limits
) -> None:
    here, there = explorer.open_table(wide).snapshot(), large(wide, spark, limits)
    for name in ("num_files", "num_tombstones", "size_in_bytes", "num_rows"):
        assert getattr(there, name) == getattr(here, name), name
    assert (there.num_deletion_vectors, there.num_deleted_rows) == (1, 2)
    state = there.file_state
    assert state.count == here.num_files
    path = here.files(["path"]).column("path")[0].as_py()
    wanted = ["path", "partition_values", "stats"]
    assert state.find(path, wanted).to_pylist() == here.file_state.find(path, wanted).to_pylist()
    assert state.find("nowhere", wanted).num_rows == 0
    batches = pa.Table.from_batches(state.batches(["path", "partition_values"]))
    assert ordered(batches) == ordered(here.files(["path", "partition_values"]))


@pytest.mark.sampled(one_in=8)
@pytest.mark.parametrize("limits", _LIMITS.values(), ids=_LIMITS)
@pytest.mark.parametrize("where", [None, "region = 'b'", "id >= 20 and id < 40", "id < -1"])
def test_rows_come_by_a_list_that_stays_on_spark(
    spark: SparkSession,
    wide: Path,
    limits: Limits,
    where: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here, there = explorer.open_table(wide).snapshot(), large(wide, spark, limits)
    wanted = explorer.read_rows(here, where=where)
    planned = plan_scan(here, where)
    for most in (large_scan.MOST_COLLECTED, 0):
        monkeypatch.setattr(large_scan, "MOST_COLLECTED", most)
        plan = pipeline.plan_read(there, spark, where=where)
        assert isinstance(plan.scan, large_scan.LargeScan)
        assert (plan.scan.num_files, plan.scan.num_kept, plan.scan.bytes_kept) == (
            planned.num_files,
            planned.num_kept,
            planned.bytes_kept,
        )
        same_rows(plan.frame().toArrow(), wanted)
    if planned.num_kept > 1:  # each task may hand one back
        assert "stays on Spark" in plan.reason
        with pytest.raises(UnsupportedError, match="is too long"):
            _ = plan.files


@pytest.mark.sampled(one_in=8)
@pytest.mark.parametrize("limits", _LIMITS.values(), ids=_LIMITS)
@pytest.mark.parametrize(
    "measures", [("rows", "nulls", "extremes"), ("distinct", "top")], ids=["log", "rows"]
)
def test_a_profile_is_that_of_the_engine(
    spark: SparkSession, wide: Path, limits: Limits, measures: tuple[Any, ...]
) -> None:
    table, there = explorer.open_table(wide), large(wide, spark, limits)
    assert pipeline.profile(there, None, spark, measures=measures) == pipeline.profile(
        table.snapshot(), None, spark, measures=measures
    )
    before = large(wide, spark, limits, version=1)  # without deletion vectors the log answers
    found = pipeline.profile(before, ["id", "region"], spark, measures=measures)
    assert found == pipeline.profile(
        table.snapshot(version=1), ["id", "region"], spark, measures=measures
    )
    if "extremes" in measures:
        assert {item.source for item in found} == {"log"}


def test_what_asks_for_all_files_gets_them_as_long_as_they_fit(
    spark: SparkSession, wide: Path
) -> None:
    limits = Limits(actions=0, bytes=100)
    there = large(wide, spark, limits)
    for ask in (there.files, there.tombstones, lambda: plan_scan(there)):
        with pytest.raises(UnsupportedError, match=r"pipeline\.read") as refusal:
            ask()
        assert refusal.value.kind == "limit_exceeded"
    here = explorer.open_table(wide)
    with pytest.raises(UnsupportedError, match="more files than this process"):
        maintenance.plan_vacuum(pipeline.with_spark_state(here, spark, limits))
    table = pipeline.with_spark_state(here, spark, Limits(actions=0))
    found = kept_files(table.snapshot(), 0)
    wanted = kept_files(here.snapshot(), 0)
    assert sorted(found.places.inside.to_pylist()) == sorted(wanted.places.inside.to_pylist())


def test_a_log_below_the_limit_is_the_engines_own(spark: SparkSession, wide: Path) -> None:
    table = pipeline.with_spark_state(explorer.open_table(wide), spark)
    assert type(table.snapshot()) is explorer.Snapshot
    with pytest.raises(explorer.DeltaError, match="not a valid limit of actions"):
        Limits(actions=-1)


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("limits", _LIMITS.values(), ids=_LIMITS)
def test_a_checkpoint_that_breaks_under_a_task_is_told_by_name(
    spark: SparkSession, wide: Path, limits: Limits, tmp_path: Path
) -> None:
    place = Path(shutil.copytree(wide, tmp_path / "t"))
    part = min((place / "_delta_log").glob("*.checkpoint.*.parquet"))
    data = bytearray(part.read_bytes())
    data[4:400] = bytes(396)
    part.write_bytes(data)
    table = pipeline.with_spark_state(explorer.open_table(place), spark, limits)
    with pytest.raises(explorer.DeltaError) as refusal:
        table.snapshot().files(["path", "stats"])
    assert refusal.value.kind == "checkpoint_unusable"
    assert part.name in str(refusal.value)
