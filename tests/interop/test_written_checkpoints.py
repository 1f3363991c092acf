"""Checkpoints and log compactions that we write, as we, `deltalake` and delta-spark read them."""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder
from pyspark.sql import SparkSession

import explorer
from explorer.errors import InvalidArgumentError
from explorer.log.checkpoint_writing.checkpoint_form import CLASSIC, CheckpointForm
from explorer.log.checkpoint_writing.checkpoint_writer import write_checkpoint
from explorer.log.checkpoint_writing.compaction_writer import write_compaction
from explorer.log.folder.listing import list_log
from explorer.protocol.features.registry import is_supported
from explorer.storage.local import LocalStore
from explorer.table.snapshot import Snapshot
from tests.corpus import READABLE, place_table, table_name
from tests.row_values import counted_rows

# before any file of the corpus was deleted: no tombstone is expired then
_LONG_AGO = datetime(1, 2, 1, tzinfo=UTC)
_INLINE = CheckpointForm(kind="v2")
_JSON = CheckpointForm(kind="v2", top_level="json", actions_per_sidecar=3)
_PARQUET = CheckpointForm(kind="v2", top_level="parquet", actions_per_sidecar=5)
_FORMS = {"classic": CLASSIC, "v2-inline": _INLINE, "v2-json": _JSON, "v2-parquet": _PARQUET}
_SMALL = [table for table in READABLE if "archive" not in table]
_FILES = (
    "path",
    "size",
    "modification_time",
    "partition_values",
    "deletion_vector",
    "base_row_id",
    "default_row_commit_version",
    "tags",
    "clustering_provider",
    "num_records",
    "stats",
)
_TOMBSTONES = (
    "path",
    "deletion_timestamp",
    "size",
    "partition_values",
    "deletion_vector",
    "base_row_id",
    "default_row_commit_version",
    "extended_file_metadata",
)

# it takes two forms of one path for two files, and so finds one that was removed
_OTHERWISE = {"golden-canonicalized-paths-normal-a"}

# with statistics and partition values as columns; mapped; with vectors; V2; odd partitions;
# types that statistics write in their own way
_FOR_SPARK = {
    "spark44-cdf-all-operations": ("classic",),
    "spark44-v2-checkpoint-sidecars": ("v2-inline", "v2-json", "v2-parquet"),
    "spark44-multi-part-checkpoint-struct-stats": ("classic",),
    "spark44-type-widening": ("classic",),
    "spark44-row-tracking": ("classic",),
    "deltars-delta-1.2.1-only-struct-stats": ("classic",),
}


def _copy(table: dict[str, Any], scratch: Path, *, whole: bool) -> Path:
    """A copy that may be written to: of the log, or of the whole table."""
    place = place_table(table, scratch / "place")
    copy = scratch / "copy"
    if whole:
        shutil.copytree(place, copy)
    else:
        shutil.copytree(place / "_delta_log", copy / "_delta_log")
    for folder, _, files in os.walk(copy):
        os.chmod(folder, 0o755)
        for name in files:
            os.chmod(f"{folder}/{name}", 0o644)
    return copy


def _checkpoint(table: Path, form: CheckpointForm) -> bool:
    """Whether a checkpoint was written; not where the version is read from its own."""
    snapshot = explorer.open_table(table).snapshot()
    store = LocalStore(str(table))
    try:
        snapshot.consult(lambda loaded: write_checkpoint(store, loaded, now=_LONG_AGO, form=form))
    except InvalidArgumentError as error:
        assert "already" in error.problem  # noqa: PT017  # what else is refused fails the test
        return False
    return True


def _shown(snapshot: Snapshot) -> dict[str, Any]:
    files = snapshot.files(_FILES).to_pylist()
    for row in files:
        row["stats"] = None if row["stats"] is None else json.loads(row["stats"])
    tombstones = snapshot.tombstones(_TOMBSTONES).to_pylist()
    return {
        "files": sorted(files, key=lambda row: (row["path"], str(row["deletion_vector"]))),
        # one that does not say when its file was deleted counts as expired
        "tombstones": sorted(
            (row for row in tombstones if row["deletion_timestamp"] is not None), key=str
        ),
        "protocol": snapshot.protocol,
        "metadata": snapshot.metadata,
        "transactions": snapshot.transactions,
        "domains": snapshot.domains,
        "mark": snapshot.row_id_high_water_mark,
    }


def _their_files(table: Path) -> list[str] | None:
    """None where the other reader refuses the table."""
    try:
        return sorted(DeltaTable(table).file_uris())
    except Exception:  # noqa: BLE001  # its errors have no common base
        return None


@pytest.mark.sampled(one_in=6)
@pytest.mark.rule("checkpoint-complete-replay", "checkpoint-required-actions")
@pytest.mark.rule("checkpoint-struct-columns")
@pytest.mark.parametrize("expected", _SMALL, ids=table_name)
def test_table_of_the_corpus_is_the_same_from_our_checkpoint(
    expected: dict[str, Any], tmp_path: Path
) -> None:
    table = _copy(expected, tmp_path, whole=False)
    before = explorer.open_table(table).snapshot()
    shown, theirs = _shown(before), _their_files(table)
    keeps_statistics = _keeps_statistics(before.metadata.configuration)
    v2 = [*_FORMS.values()] if is_supported(before.protocol, "v2Checkpoint") else [CLASSIC]
    for form in v2:
        if not _checkpoint(table, form):
            continue
        after = explorer.open_table(table).snapshot()
        assert len(after.segment.commits) == 0
        found = _shown(after)
        if not keeps_statistics:
            for row in [*shown["files"], *found["files"]]:
                row["stats"] = row["num_records"] = None
        assert found == shown
        if theirs is not None:
            assert (_their_files(table) == theirs) != (expected["name"] in _OTHERWISE)


def _keeps_statistics(configuration: dict[str, str]) -> bool:
    names = ("delta.checkpoint.writeStatsAsJson", "delta.checkpoint.writeStatsAsStruct")
    return not all(configuration.get(name) == "false" for name in names)


@pytest.mark.sampled(one_in=6)
@pytest.mark.rule("compaction-content", "compaction-replaces-commits")
@pytest.mark.parametrize("expected", _SMALL, ids=table_name)
def test_table_of_the_corpus_is_the_same_with_our_compactions(
    expected: dict[str, Any], tmp_path: Path
) -> None:
    table = _copy(expected, tmp_path, whole=False)
    before = explorer.open_table(table).snapshot()
    shown, theirs = _shown(before), _their_files(table)
    commits = before.segment.commits
    if len(commits) < 2:
        return
    for file in (table / "_delta_log").glob("*.compacted.json"):
        file.unlink()
    store = LocalStore(str(table))
    try:
        write_compaction(store, list_log(store), commits[0], commits[-1])
    except InvalidArgumentError as error:
        assert "no action" in error.reason  # noqa: PT017  # what else is refused fails the test
        return
    after = explorer.open_table(table).snapshot()
    assert _shown(after) == shown
    assert [problem for problem in after.problems if "compacted" in problem.problem] == []
    if theirs is not None:
        assert _their_files(table) == theirs


def test_deltalake_reads_rows_through_our_checkpoint(tmp_path: Path) -> None:
    table = _copy(_named("spark44-cdf-all-operations"), tmp_path, whole=True)
    before = _their_rows(table)
    version = explorer.open_table(table).latest_version()
    # its newest version has a checkpoint of the reference, in parts
    for file in (table / "_delta_log").glob("*.checkpoint.*"):
        file.unlink()
    (table / "_delta_log/_last_checkpoint").unlink()
    assert _checkpoint(table, CLASSIC)
    _forget_older(table, version)
    assert counted_rows(_their_rows(table)) == counted_rows(before)


def _their_rows(table: Path) -> pa.Table:
    query = QueryBuilder().register("t", DeltaTable(table)).execute("select * from t")
    return pa.table(query.read_all())


def _named(name: str) -> dict[str, Any]:
    return next(table for table in READABLE if table["name"] == name)


def _forget_older(table: Path, version: int) -> None:
    """Remove all commits but the last, so that a checkpoint must serve."""
    for file in (table / "_delta_log").glob("*.json"):
        if file.name[20:] == ".json" and int(file.name[:20]) < version:
            file.unlink()


@pytest.fixture
def rewritten(tmp_path: Path) -> list[tuple[str, Path, Path]]:
    """Tables of the corpus, each with a copy that nothing but our checkpoint describes."""
    found: list[tuple[str, Path, Path]] = []
    for name, forms in _FOR_SPARK.items():
        for form in forms:
            scratch = tmp_path / f"{name}-{form}"
            scratch.mkdir()
            copy = _copy(_named(name), scratch, whole=True)
            version = explorer.open_table(copy).latest_version()
            snapshot = explorer.open_table(copy).snapshot()
            log = copy / "_delta_log"
            held = [log / name for name in getattr(snapshot.segment.checkpoint, "names", ())]
            store = LocalStore(str(copy))
            aside = scratch / "aside"
            shutil.copytree(copy, aside)
            source = explorer.open_table(aside).snapshot()
            source.consult(
                lambda loaded, store=store, form=form: write_checkpoint(
                    store, loaded, now=_LONG_AGO, form=_FORMS[form]
                )
            )
            for file in held:
                if file.name != f"{version:020}.checkpoint.parquet":
                    file.unlink(missing_ok=True)
            _forget_older(copy, version)
            found.append((f"{name} {form}", scratch / "aside", copy))
    return found


@pytest.mark.spark
@pytest.mark.rule("checkpoint-struct-columns", "checkpoint-schema-add")
def test_delta_spark_reads_rows_through_our_checkpoints(
    spark: SparkSession, rewritten: list[tuple[str, Path, Path]]
) -> None:
    for name, original, ours in rewritten:
        assert explorer.open_table(ours).snapshot().segment.checkpoint is not None, name
        expected = spark.read.format("delta").load(str(original))
        found = spark.read.format("delta").load(str(ours))
        assert found.schema == expected.schema, name
        assert _rows(found) == _rows(expected), name
        assert sorted(Path(uri).name for uri in found.inputFiles()) == sorted(
            Path(uri).name for uri in expected.inputFiles()
        ), name


def _rows(frame: Any) -> list[str]:
    return sorted(map(str, frame.collect()))
