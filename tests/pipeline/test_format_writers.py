"""What Spark calls for `df.write` and `df.writeStream` of the format, called without it in the same
order: tasks and commits have writers of their own."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.types import LongType, StructField, StructType

import explorer
from explorer import pipeline
from explorer.errors import DeltaError, UnsupportedError
from explorer.pipeline.jobs.ended_tasks import LONGEST_END
from explorer.pipeline.source import _batch_writer, _stream_writer, registration
from explorer.pipeline.source._data_source import source_for
from explorer.pipeline.tasks.task_failures import ErrorMark, TaskFailure

MARK = ErrorMark()
SCHEMA = StructType([StructField("id", LongType())])


class Sink:
    """The writers of one frame, or of one query with a checkpoint location of its own."""

    def __init__(
        self, place: Path, *, streams: bool, overwrite: bool = False, **options: str
    ) -> None:
        self.place, self.streams, self.overwrite = place, streams, overwrite
        self.twice = False
        self.kept = place.parent / "checkpoint"
        self.kept.mkdir(exist_ok=True)
        (self.kept / "metadata").write_text(json.dumps({"id": "one"}))
        self.options = {"path": str(place), "checkpointLocation": str(self.kept)} | options

    def writer(self) -> Any:
        source = source_for(MARK, twice=self.twice)(CaseInsensitiveDict(self.options))
        if self.streams:
            return source.streamWriter(SCHEMA, self.overwrite)
        return source.writer(SCHEMA, self.overwrite)

    def write(self, *tasks: list[int]) -> tuple[Any, list[Any]]:
        """The writer that travelled to the tasks, and what they tell."""
        sent = pickle.dumps(self.writer())
        told = [pickle.loads(sent).write(iter([batch(ids)])) for ids in tasks]
        return pickle.loads(sent), pickle.loads(pickle.dumps(told))

    def commit(self, written: tuple[Any, list[Any]], number: int = 0) -> None:
        """Of a batch by the writer that travelled, of a stream by one more."""
        if self.streams:
            self.writer().commit(written[1], number)
        else:
            written[0].commit(written[1])


def batch(ids: list[int]) -> pa.RecordBatch:
    return pa.record_batch({"id": pa.array(ids, pa.int64())})


def told(failure: pytest.ExceptionInfo[Exception]) -> DeltaError:
    error = MARK.sent(str(failure.value))
    assert error is not None
    return error


def rows(place: Path) -> list[int]:
    found = explorer.read_rows(explorer.open_table(place).snapshot(), columns=["id"])
    return sorted(found.column("id").to_pylist())


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A table with the ids 1 to 6 in one file, in version 0."""
    pipeline.write(pa.table({"id": range(1, 7)}), tmp_path / "t")
    return tmp_path / "t"


@pytest.mark.parametrize("streams", [False, True], ids=["batch", "stream"])
def test_single_rows_are_not_replaced_because_their_files_are_not_read(
    place: Path, streams: bool
) -> None:
    pipeline.create(place.parent / "wide", "id BIGINT, part BIGINT", partition_by="part")
    pipeline.write(pa.table({"id": [1, 6], "part": [0, 0]}), place.parent / "wide")
    for table, where in [(place, "id > 5"), (place.parent / "wide", "part = 0 AND id > 5")]:
        before = explorer.open_table(table).latest_version()
        sink = Sink(table, streams=streams, overwrite=True, replaceWhere=where)
        with pytest.raises(TaskFailure) as failure:
            sink.commit(sink.write([60]))
        error = told(failure)
        assert isinstance(error, UnsupportedError)
        assert "replace single rows" in error.problem
        assert "pipeline.write" in error.remedy
        assert explorer.open_table(table).latest_version() == before
    assert rows(place) == [1, 2, 3, 4, 5, 6]
    assert rows(place.parent / "wide") == [1, 6]


@pytest.mark.parametrize("streams", [False, True], ids=["batch", "stream"])
def test_files_are_replaced_by_a_condition_on_partition_columns(
    tmp_path: Path, streams: bool
) -> None:
    place = tmp_path / "t"
    pipeline.write(pa.table({"id": [1, 2], "name": ["a", "b"]}), place, partition_by="id")
    sink = Sink(place, streams=streams, overwrite=True, replaceWhere="id >= 2")
    sink.commit(sink.write([3], [4]))
    assert rows(place) == [1, 3, 4]


def test_no_column_is_merged_for_a_stream_that_does_not_begin(tmp_path: Path) -> None:
    place = tmp_path / "t"
    pipeline.create(place, "name STRING, k BIGINT GENERATED ALWAYS AS IDENTITY")
    sink = Sink(place, streams=True, mergeSchema="true")
    with pytest.raises(TaskFailure, match="cannot be written to by this format"):
        sink.write([1])
    assert explorer.open_table(place).latest_version() == 0


CHANGES: dict[str, Callable[[Path], object]] = {
    "another column": lambda place: pipeline.write(
        pa.table({"id": [9], "note": ["x"]}), place, merge_schema=True
    ),
    "another layout": lambda place: pipeline.write(
        pa.table({"id": [9], "part": [1]}),
        place,
        mode="overwrite",
        overwrite_schema=True,
        partition_by="part",
    ),
    "a rule": lambda place: commit(
        place,
        protocol_of(minReaderVersion=1, minWriterVersion=3),
        described(place, {"delta.constraints.small": "id < 50"}),
    ),
    "a feature": lambda place: commit(
        place, protocol_of(readerFeatures=["deletionVectors"], writerFeatures=["deletionVectors"])
    ),
}


def commit(place: Path, *actions: dict[str, Any]) -> None:
    """Version 1, by another writer."""
    lines = "\n".join(map(json.dumps, actions))
    (place / "_delta_log" / f"{1:020}.json").write_text(lines)


def described(place: Path, configuration: dict[str, str]) -> dict[str, Any]:
    """The metadata of version 0 with another configuration."""
    lines = (place / "_delta_log" / f"{0:020}.json").read_text().splitlines()
    (held,) = (found for found in map(json.loads, lines) if "metaData" in found)
    body: dict[str, Any] = held["metaData"]
    return {"metaData": body | {"configuration": configuration}}


def protocol_of(**fields: Any) -> dict[str, Any]:
    return {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7} | fields}


@pytest.mark.parametrize("change", CHANGES)
def test_files_of_a_stream_are_part_of_no_table_but_that_which_they_were_made_for(
    place: Path, change: str
) -> None:
    sink = Sink(place, streams=True)
    written = sink.write([60], [])
    CHANGES[change](place)
    before = rows(place)
    with pytest.raises(TaskFailure, match="The table was changed while the stream ran"):
        sink.commit(written)
    assert explorer.open_table(place).latest_version() == 1
    assert unknown(place) == set()
    if change == "a rule":  # which the batch breaks, and is held to
        with pytest.raises(TaskFailure, match="small"):
            sink.write([60])
        return
    sink.commit(sink.write([60], []))
    assert rows(place) == sorted([*before, 60])


def test_a_batch_of_a_stream_stays_its_own_though_others_write_rows(place: Path) -> None:
    sink = Sink(place, streams=True)
    written = sink.write([60], [])
    pipeline.write(pa.table({"id": [9]}), place)
    sink.commit(written)
    sink.commit(sink.write([61]), 1)
    assert rows(place) == [1, 2, 3, 4, 5, 6, 9, 60, 61]


def test_a_frame_is_committed_upon_the_version_that_its_files_were_made_for(place: Path) -> None:
    """Spark has one writer for the whole of it, which knows that version."""
    for number, change in enumerate(("another column", "another layout")):
        sink = Sink(place, streams=False)
        written = sink.write([60 + number])
        CHANGES[change](place)
        with pytest.raises(TaskFailure) as failure:
            sink.commit(written)
        assert told(failure).kind == "commit_conflict"
        assert unknown(place) == set()


MISFITS: dict[str, Callable[[Path], object]] = {
    "another type": lambda place: overwrite(place, {"id": ["a"]}),
    "no such column": lambda place: overwrite(place, {"other": [1]}),
}


def overwrite(place: Path, columns: dict[str, list[Any]]) -> None:
    pipeline.write(pa.table(columns), place, mode="overwrite", overwrite_schema=True)


@pytest.mark.parametrize("change", MISFITS)
@pytest.mark.parametrize("ends", ["commit", "abort", "abort of a merging stream"])
def test_a_batch_that_fits_no_more_leaves_no_file_and_makes_no_version(
    place: Path, change: str, ends: str
) -> None:
    sink = Sink(place, streams=True, mergeSchema=str("merging" in ends).lower())
    written = sink.write([60], [61])
    MISFITS[change](place)
    if ends == "commit":
        with pytest.raises(TaskFailure) as failure:
            sink.commit(written)
        misses = "unsupported_feature" if change == "another type" else "schema_mismatch"
        assert told(failure).kind == misses
    else:
        sink.writer().abort([*written[1], None], 0)
    assert unknown(place) == set()
    assert explorer.open_table(place).latest_version() == 1


def test_a_stream_whose_checkpoint_is_gone_removes_what_it_wrote(place: Path) -> None:
    for commits in (True, False):
        sink = Sink(place, streams=True)
        written = sink.write([60])
        sink.kept.joinpath("metadata").unlink()
        if commits:
            with pytest.raises(TaskFailure, match="checkpoint location of the stream cannot"):
                sink.commit(written)
        else:
            sink.writer().abort([*written[1], None], 0)
        assert unknown(place) == set()


def test_what_stops_a_stream_before_its_tasks_carries_the_mark(place: Path) -> None:
    sink = Sink(place, streams=True)
    MISFITS["no such column"](place)
    for travels in (pickle.dumps, cloudpickle.dumps):
        with pytest.raises((TaskFailure, pickle.PicklingError)) as failure:
            travels(sink.writer())
        assert told(failure).kind == "schema_mismatch"
    sink.kept.joinpath("metadata").unlink()
    with pytest.raises(TaskFailure) as failure:
        pickle.dumps(sink.writer())
    assert "checkpoint location" in told(failure).problem


@pytest.mark.parametrize("kind", ["speculated", "tried again", "neither"])
def test_a_run_of_a_task_of_which_nobody_hears_leaves_no_file_of_a_frame(
    place: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(_batch_writer, "run_number", count(1).__next__)
    monkeypatch.setattr(time, "sleep", waited.append)
    sink = Sink(place, streams=False)
    sink.twice = kind == "speculated"
    # the second run of the first task is slower, or the first one was lost
    monkeypatch.setattr(_batch_writer, "attempt_number", lambda: int(kind == "tried again"))
    writer, messages = sink.write([60], [61])
    if kind != "neither":
        monkeypatch.setattr(_batch_writer, "attempt_number", lambda: int(kind == "speculated"))
        writer.write(iter([batch([60])]))
        assert len(unknown(place)) == 3
    writer.commit(messages)
    assert unknown(place) == set()
    assert rows(place) == [1, 2, 3, 4, 5, 6, 60, 61]
    assert waited == ([] if kind == "neither" else [LONGEST_END])


@pytest.mark.parametrize("ends", ["commit", "commit by a zombie", "abort"])
def test_a_run_of_a_task_of_which_nobody_hears_leaves_no_file_of_a_stream(
    place: Path, ends: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_batch_writer, "run_number", count(1).__next__)
    monkeypatch.setattr(_stream_writer, "batch_number", iter("00111").__next__)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    sink = Sink(place, streams=True)
    # Spark makes one for each batch; one for both takes no file of the other batch either
    writer = pickle.loads(pickle.dumps(sink.writer()))
    sink.commit((None, [writer.write(iter([batch([number])])) for number in (60, 61)]), 0)
    lost = writer.write(iter([batch([62])]))
    monkeypatch.setattr(_batch_writer, "attempt_number", lambda: 1)
    told_again = [writer.write(iter([batch([])])), writer.write(iter([batch([62])]))]
    assert lost.attempt == 0
    assert len(unknown(place)) == 2
    if ends == "abort":
        sink.writer().abort([*told_again, None], 1)
    else:
        sink.commit((None, told_again), 1 if ends == "commit" else 0)
    assert unknown(place) == set()
    assert rows(place) == [1, 2, 3, 4, 5, 6, 60, 61] + [62] * (ends == "commit")


def test_an_attempt_without_rows_leaves_no_file_of_the_one_before_it(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    monkeypatch.setattr(_batch_writer, "run_number", count(1).__next__)
    sink = Sink(place, streams=False)
    writer, _ = sink.write([60])
    monkeypatch.setattr(_batch_writer, "attempt_number", lambda: 1)
    told_again = writer.write(iter([batch([])]))
    assert len(unknown(place)) == 1
    writer.commit([told_again])
    assert unknown(place) == set()
    assert rows(place) == [1, 2, 3, 4, 5, 6]


def test_the_format_knows_whether_its_session_speculates(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []
    kept = SimpleNamespace(register=found.append)
    monkeypatch.setattr(registration, "choose_session", lambda session: session)
    for settings in ({"spark.speculation": "true"}, {}):
        pipeline.register(SimpleNamespace(conf=settings, dataSource=kept))
    assert [source.speculates for source in found] == [True, False]


def unknown(place: Path) -> set[str]:
    """The data files that no version names."""
    found = {path.relative_to(place).as_posix() for path in place.rglob("*.parquet")}
    table = explorer.open_table(place)
    for version in range(table.latest_version() + 1):
        found -= set(table.snapshot(version=version).files(["path"])["path"].to_pylist())
    return found


def test_no_table_is_created_for_a_stream_that_would_replace_single_rows_later(
    tmp_path: Path,
) -> None:
    sink = Sink(tmp_path / "t", streams=True, overwrite=True, replaceWhere="id > 5")
    with pytest.raises(TaskFailure, match="replace single rows"):
        sink.write([60])
    assert not (tmp_path / "t").exists()
