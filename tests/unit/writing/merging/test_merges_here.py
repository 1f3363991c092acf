"""Merges of few rows in this process, held against a model, and what needs Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer import pipeline
from explorer.errors import ConflictError, DeltaError, InvalidArgumentError, UnsupportedError
from explorer.pipeline.merging import _local_merge
from explorer.pipeline.removing import attempts
from explorer.writing.changes import hidden_rows
from tests import merge_model
from tests.changed_tables import FORMS, counted
from tests.merge_model import SCHEMA, TwiceError, draw, judge, make_table
from tests.sampling import sample

SEEDS = sample(range(300), 5, "merges here")


def rows_of(place: Path) -> list[dict[str, Any]]:
    return explorer.read_rows(explorer.open_table(place).snapshot()).to_pylist()  # type: ignore[no-any-return]


def feed_of(place: Path, version: int) -> list[dict[str, Any]]:
    found = explorer.read_changes(explorer.open_table(place), version, version).to_pylist()
    dropped = {"_commit_version", "_commit_timestamp"}
    return [{name: row[name] for name in row if name not in dropped} for row in found]


def files_of(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_merge_makes_what_the_model_says(tmp_path: Path, seed: int) -> None:
    place, drawn = tmp_path / "t", draw(seed, plain=True)
    make_table(place, drawn)
    version = explorer.open_table(place).latest_version()
    source = pa.Table.from_pylist(list(drawn.source), SCHEMA)
    before = files_of(place)
    try:
        wanted = judge(drawn)
    except TwiceError:
        with pytest.raises(InvalidArgumentError, match="partners in the source") as caught:
            merge_model.merge(place, drawn, source, engine="local")
        assert caught.value.kind == "rows_refused"
        assert files_of(place) == before
        return
    result = merge_model.merge(place, drawn, source, engine="local")
    assert counted(rows_of(place)) == counted(wanted.rows)
    names = {"source": "numSourceRows"}
    for name, number in wanted.counts.items():
        assert result.metrics[names.get(name, f"numTargetRows{name.capitalize()}")] == number
    if not wanted.feed:
        assert result.version is None
        assert files_of(place) == before
        return
    assert result.version == version + 1
    if "delta.enableChangeDataFeed" in FORMS[drawn.form][0]:
        assert counted(feed_of(place, version + 1)) == counted(wanted.feed)


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(
        [{"land": None, "n": None, "at": None} | row for row in rows], SCHEMA
    )


@pytest.fixture
def place(tmp_path: Path) -> Path:
    found = tmp_path / "t"
    pipeline.create(found, SCHEMA, properties={"delta.enableDeletionVectors": "true"})
    for first in (0, 10, 20):
        pipeline.write(table([{"key": key, "n": 1} for key in range(first, first + 10)]), found)
    return found


def merging(place: Path, rows: Any, on: str = "target.key = source.key", **more: Any) -> Any:
    return pipeline.merge(place, rows, on, **more)


def test_a_builder_stays_as_it_is(place: Path) -> None:
    first = merging(place, table([{"key": 3, "n": 7}, {"key": 33}]))
    second = first.when_not_matched_insert_all()
    assert first.request.clauses == ()
    assert second.execute().metrics["numTargetRowsInserted"] == 1
    assert first.when_matched_update_all().execute().metrics["numTargetRowsUpdated"] == 2
    assert second.execute().version is None  # the row is there by now


def test_files_that_hold_no_key_of_the_source_are_not_read(place: Path) -> None:
    kept = _file_with(place, 15)
    for path in place.glob("*.parquet"):
        if path.name != kept:
            path.unlink()
    result = merging(place, table([{"key": 15, "n": 9}])).when_matched_delete().execute()
    assert result.metrics["numTargetRowsDeleted"] == 1


def _file_with(place: Path, key: int) -> str:
    snapshot = explorer.open_table(place).snapshot()
    rows = explorer.read_rows(snapshot, ["key"], metadata_columns=["_file_path"]).to_pylist()
    return next(str(row["_file_path"]) for row in rows if row["key"] == key)


def test_an_insert_rewrites_no_file_and_hides_no_row(place: Path) -> None:
    before = files_of(place)
    result = (
        merging(place, table([{"key": 3}, {"key": 40}])).when_not_matched_insert_all().execute()
    )
    new = [name for name in files_of(place) - before if name.endswith(".parquet")]
    assert len(new) == 1
    assert result.metrics["numTargetFilesRemoved"] == 0
    assert result.metrics["numTargetDeletionVectorsAdded"] == 0


def test_a_column_may_be_new(place: Path) -> None:
    rows = table([{"key": 3}, {"key": 40}]).append_column("extra", pa.array(["x", "y"]))
    merged = merging(place, rows, merge_schema=True)
    merged.when_matched_update_all().when_not_matched_insert_all().execute()
    found = {row["key"]: row["extra"] for row in rows_of(place)}
    assert (found[3], found[40], found[4]) == ("x", "y", None)


def test_a_merge_by_an_application_runs_once(place: Path) -> None:
    asked = merging(place, table([{"key": 40}]), transaction=("load", 3))
    assert asked.when_not_matched_insert_all().execute().version == 4
    again = asked.when_not_matched_insert_all().execute()
    assert again.is_repeated
    assert again.version is None


def test_rows_of_a_reader_are_gone_through_once(place: Path) -> None:
    rows = table([{"key": 3, "n": 5}, {"key": 40}])
    reader = pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches())
    result = (
        merging(place, reader).when_matched_update_all().when_not_matched_insert_all().execute()
    )
    assert result.metrics["numTargetRowsUpdated"] == result.metrics["numTargetRowsInserted"] == 1


NEEDS_SPARK: dict[str, tuple[str, Any]] = {
    "more than equal columns": (
        "target.key = source.key AND source.n > 1",
        lambda merge: merge.when_matched_delete(),
    ),
    "has the condition": (
        "target.key = source.key",
        lambda m: m.when_matched_delete("target.n > 1"),
    ),
    "sets single columns": (
        "target.key = source.key",
        lambda m: m.when_matched_update({"n": "source.n"}),
    ),
}


@pytest.mark.parametrize("why", NEEDS_SPARK)
def test_what_needs_spark_is_said_before_it_starts(place: Path, why: str) -> None:
    on, clauses = NEEDS_SPARK[why]
    with pytest.raises(UnsupportedError) as caught:
        clauses(merging(place, table([{"key": 3}]), on, engine="local")).execute()
    assert caught.value.kind == "missing_dependency"
    assert why in caught.value.reason


def test_a_row_that_breaks_a_rule_leaves_nothing_behind(tmp_path: Path) -> None:
    place = tmp_path / "t"
    properties = {"delta.constraints.small": "n < 100", "delta.enableChangeDataFeed": "true"}
    pipeline.create(place, SCHEMA, properties=properties)
    pipeline.write(table([{"key": 1, "n": 1}, {"key": 2, "n": 2}]), place)
    before = files_of(place)
    with pytest.raises(InvalidArgumentError) as caught:
        merging(place, table([{"key": 1, "n": 500}])).when_matched_update_all().execute()
    assert caught.value.kind == "rows_refused"
    assert files_of(place) == before


def test_a_lost_merge_runs_again_with_the_rows_that_were_read(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another commit adds a row with the key while the merge looks for it."""
    real = _local_merge.find_leaving
    others = iter([40, 41])

    def meanwhile(*given: Any) -> Any:
        if (key := next(others, None)) is not None:
            pipeline.write(table([{"key": key, "n": 1}]), place)
        return real(*given)

    monkeypatch.setattr(_local_merge, "find_leaving", meanwhile)
    rows = table([{"key": 40, "n": 9}, {"key": 41, "n": 9}])
    reader = pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches())
    result = (
        merging(place, reader).when_matched_update_all().when_not_matched_insert_all().execute()
    )
    assert result.version == 6
    assert [row["n"] for row in rows_of(place) if row["key"] in {40, 41}] == [9, 9]
    assert result.metrics["numTargetRowsUpdated"] == 2


def test_a_merge_that_always_loses_says_so(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = _local_merge.find_leaving, []

    def meanwhile(*given: Any) -> Any:
        calls.append(1)
        pipeline.write(table([{"key": 3, "n": len(calls)}]), place)
        return real(*given)

    monkeypatch.setattr(_local_merge, "find_leaving", meanwhile)
    with pytest.raises(ConflictError):
        merging(place, table([{"key": 3, "n": 9}])).when_matched_delete().execute()
    assert len(calls) == attempts._TRIES
    log = {path.stem for path in (place / "_delta_log").glob("*.json")}
    assert len(log) == 4 + len(calls)


def test_what_cannot_be_meant_is_said_first(place: Path) -> None:
    asked = merging(place, table([{"key": 3}]))
    with pytest.raises(DeltaError, match="no clause"):
        asked.execute()
    with pytest.raises(DeltaError, match="no column nowhere"):
        asked.when_matched_update({"nowhere": "1"}).execute()
    with pytest.raises(DeltaError, match="no engine"):
        merging(place, table([]), engine="duck").when_matched_delete().execute()
    with pytest.raises(DeltaError, match="no Delta table"):
        merging(place.parent / "none", table([])).when_matched_delete().execute()


def test_a_merge_that_is_refused_leaves_no_vector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hidden_rows, "_INLINE_BYTES", 0)
    place = tmp_path / "t"
    told = {"delta.enableDeletionVectors": "true", "delta.constraints.small": "v < 10"}
    pipeline.create(place, "id INT, v INT", properties=told)
    pipeline.write(pa.table({"id": [1, 2], "v": [1, 2]}), place)
    before = files_of(place)
    source = pa.table({"id": [1, 3], "v": [0, 99]})
    merge = pipeline.merge(place, source, "target.id = source.id", engine="local")
    with pytest.raises(DeltaError) as caught:
        merge.when_matched_delete().when_not_matched_insert_all().execute()
    assert caught.value.kind == "rows_refused"
    assert files_of(place) == before
    merge.when_matched_delete().execute()
    assert any(name.endswith(".bin") for name in files_of(place) - before)


def test_the_parts_of_a_merge_are_told_apart(place: Path) -> None:
    told: list[str] = []
    merge = merging(place, table([{"key": 3}]), progress=lambda one: told.append(one.label))
    metrics = merge.when_matched_delete().execute().metrics
    parts = ("materializeSourceTimeMs", "scanTimeMs", "rewriteTimeMs")
    # each is rounded
    assert abs(sum(metrics[name] for name in parts) - metrics["executionTimeMs"]) <= len(parts)
    labels = ("Reading the source", "Matching rows", "Writing rows")
    assert [label for label in dict.fromkeys(told) if label in labels] == list(labels)
