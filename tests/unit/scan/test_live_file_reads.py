"""Whoever looks at all files of a version is told how far it is, and can stop it."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
import explorer.inspect as look
from explorer.errors import CancelledError
from explorer.log.state.file_columns import FileColumns
from explorer.progress import Cancel, Progress, Watch
from explorer.scan.live_file_reads import read_live_files, reduce_live_files
from explorer.scan.plan import kept_by_partitions
from explorer.scan.predicate.parse import parse_predicate
from explorer.scan.statistics.live_files import parsed_statistics
from explorer.table.snapshot import Snapshot
from tests.tables import (
    CHECKPOINT_FORMS,
    FEATURE_PROTOCOL,
    CheckpointForm,
    LogFolder,
    add,
    metadata,
    vector,
)

FILES = 60
QUESTIONS: dict[str, Callable[..., Any]] = {
    "ranges": parsed_statistics,
    "columns": look.column_statistics,
    "a scan": lambda snapshot, **hooks: explorer.plan_scan(snapshot, "id > 30", **hooks),
    "sizes": look.file_layout,
    "overlap": look.clustering_depth,
    "vectors": look.deletion_vectors,
    "a page": lambda snapshot, **hooks: look.files_page(snapshot, offset=0, limit=5, **hooks),
}


def measured(folder: Path, form: CheckpointForm = "classic") -> Snapshot:
    """Files in a checkpoint of several row groups, and some in the commits after it."""
    log = LogFolder(folder)

    def file(at: int) -> Any:
        stats = {"numRecords": 9, "minValues": {"id": at}, "maxValues": {"id": at + 9}}
        more = {"deletionVector": vector()} if at % 7 == 0 else {}
        part = {"part": "a" if at % 2 else "b"}
        return add(f"{at:03}", stats=json.dumps(stats), size=at, partitionValues=part, **more)

    start = [FEATURE_PROTOCOL, metadata(partitionColumns=["part"])]
    held = [file(at) for at in range(50)]
    log.commit(0, [*start, *held])
    log.checkpoint(0, [*start, *held], form=form, sidecars=2, rows_per_group=9)
    log.commit(1, [file(at) for at in range(50, FILES)])
    return explorer.open_table(folder).snapshot()


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_question_to_all_files_tells_how_far_it_is(name: str, tmp_path: Path) -> None:
    snapshot, heard = measured(tmp_path / "t"), list[Progress]()
    QUESTIONS[name](snapshot, progress=heard.append)
    last = [step.label for step in heard if step.total == FILES][-1]
    steps = [step for step in heard if step.label == last]
    begun = max(at for at, step in enumerate(steps) if step.total is None)
    counted = [step.done for step in steps[begun + 1 :]]
    assert counted == sorted(counted)
    assert counted[-1] == FILES
    assert len(counted) > 3


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_question_to_all_files_ends_when_it_is_cancelled(name: str, tmp_path: Path) -> None:
    snapshot, cancel, heard = measured(tmp_path / "t"), Cancel(), list[Progress]()

    def hear(step: Progress) -> None:
        heard.append(step)
        if step.done:
            cancel.cancel()

    with pytest.raises(CancelledError):
        QUESTIONS[name](snapshot, progress=hear, cancel=cancel)
    assert heard[-1].done < FILES


@pytest.mark.parametrize("form", CHECKPOINT_FORMS)
def test_files_are_the_same_with_someone_looking_on(form: CheckpointForm, tmp_path: Path) -> None:
    snapshot, heard = measured(tmp_path / "t", form), list[Progress]()
    columns = ["path", "size", "partition_values", "deletion_vector"]
    found = read_live_files(snapshot, columns, Watch(progress=heard.append), "Reading")
    assert found.equals(snapshot.files(columns))
    assert found.num_rows == heard[-1].done == FILES


def test_a_version_without_files_has_none_to_look_at(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [FEATURE_PROTOCOL, metadata()])
    snapshot = explorer.open_table(log.root).snapshot()
    found = read_live_files(snapshot, ["path", "size"], Watch(), "Reading")
    assert found.num_rows == 0
    assert found.schema == snapshot.files(["path", "size"]).schema


def count(files: FileColumns) -> int:
    return files.table.num_rows


class Elsewhere:
    """A version whose files are looked at in another process."""

    num_files = 3

    def reduce_files(self, *asked: Any) -> Iterator[int]:
        reduce = pickle.loads(pickle.dumps(asked[-1]))
        yield reduce(FileColumns(table=pa.table({"path": ["a", "b", "c"]}), leaves={}))

    def over_files(self, question: Callable[[Any], list[int]]) -> list[int]:
        return question(self)


def test_a_question_may_be_sent_to_another_process_all_the_same() -> None:
    snapshot: Any = Elsewhere()
    watch = Watch(progress=lambda _: None, cancel=Cancel())
    assert reduce_live_files(snapshot, ["path"], (), count, watch, "Counting") == [3]


@pytest.mark.slow
@pytest.mark.parametrize("which", ["all", "kept", "skipped"])
@pytest.mark.parametrize("limit", [1, 7, 100])
def test_reasons_are_the_same_page_by_page(which: Any, limit: int, tmp_path: Path) -> None:
    plan = explorer.plan_scan(measured(tmp_path / "t"), "part = 'a' AND id < 40")
    whole = plan.reasons(which)
    pages = [plan.reasons(which, at, limit) for at in range(0, FILES, limit)]
    assert pa.concat_tables(pages).equals(whole)
    counts = {"all": FILES, "kept": plan.num_kept, "skipped": plan.num_skipped}
    assert whole.num_rows == counts[which] > 10
    for row in whole.slice(3, 5).to_pylist():
        assert plan.explain(row["path"]).to_pylist() == [row]


def test_partition_values_alone_leave_at_least_what_the_whole_plan_keeps(tmp_path: Path) -> None:
    snapshot = measured(tmp_path / "t")

    def left(where: str) -> int | None:
        return kept_by_partitions(snapshot, parse_predicate(where, snapshot.schema))

    assert left("part = 'a'") == explorer.plan_scan(snapshot, "part = 'a'").num_kept == 30
    assert left("part = 'a' AND id > 55") == 30
    assert explorer.plan_scan(snapshot, "part = 'a' AND id > 55").num_kept < 30
    assert left("part = 'a' OR id > 55") == FILES
    assert left("id > 55") is None


def test_few_long_commits_tell_how_far_they_are_and_can_be_stopped(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [FEATURE_PROTOCOL, metadata()])
    long_text = "x" * 3 * 2**20
    for version in range(1, 7):
        log.commit(version, [add(f"{version}", tags={"note": long_text})])
    heard, cancel = list[Progress](), Cancel()
    explorer.open_table(log.root).snapshot(progress=heard.append)
    assert [step.done for step in heard if step.label == "Reading commits"] == [0, 2, 4, 6]

    def hear(step: Progress) -> None:
        if step.done:
            cancel.cancel()

    with pytest.raises(CancelledError):
        explorer.open_table(log.root).snapshot(progress=hear, cancel=cancel)
