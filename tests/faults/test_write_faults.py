"""Rows written through a store that fails, and by a process that is killed: the table has all rows
of the statement or none, what is said is true, nothing that a version needs is deleted, and the
same statement again brings the rows once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import explorer
from explorer import pipeline
from explorer.errors import DeltaError
from explorer.pipeline.source import _batch_writer
from tests.faults.fault_sweep import (
    StoreFault,
    operations_of,
    outcome_of,
    run_again,
    try_faults,
    try_kills,
)
from tests.faults.faulty_store import FaultyStore, is_change
from tests.faults.killed_processes import KILLED, Processes
from tests.faults.written_place import NEW, OLD, STATEMENTS, Place
from tests.sampling import sample

CASES = [("here", name) for name in STATEMENTS]
CASES += [
    (door, name) for door in ("format", "stream") for name in ("append", "overwrite", "first")
]


@pytest.fixture(params=CASES, ids="-".join)
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    # nothing goes on here that Spark would have to end
    monkeypatch.setattr(_batch_writer, "LONGEST_END", 0)
    door, name = request.param
    return Place(tmp_path, name, door)


def test_a_store_that_fails_at_any_operation_leaves_all_rows_or_none(
    place: Place, request: pytest.FixtureRequest
) -> None:
    try_faults(place, 20, request.node.name)


def test_a_process_that_is_killed_leaves_all_rows_or_none(
    place: Place, request: pytest.FixtureRequest
) -> None:
    try_kills(place, 12, request.node.name)


def test_a_disk_that_is_full_at_any_write_leaves_all_rows_or_none_and_is_no_doubt(
    place: Place, request: pytest.FixtureRequest
) -> None:
    changes = [number for number, what in enumerate(operations_of(place)) if is_change(what)]
    faults = [StoreFault(number, "full", down) for number in changes for down in (False, True)]
    for fault in sample(faults, 12, request.node.name):
        place.fresh()
        outcome = outcome_of(place, fault.store(place.root))
        assert getattr(outcome, "kind", "storage_failed") == "storage_failed"
        assert not list(place.root.rglob(".tmp-*"))
        run_again(place)


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    with Processes() as found:
        yield found


def test_a_real_process_that_is_killed_leaves_all_rows_or_none(
    place: Place, processes: Processes, request: pytest.FixtureRequest
) -> None:
    count = len(operations_of(place))
    for number in sample(range(count), 24, f"{request.node.name} process"):
        place.fresh()
        door, name = request.node.callspec.params["place"]
        assert processes.write(place.root, name, door, number) == KILLED
        assert place.rows() in {place.before, place.after}
        run_again(place)


def test_after_an_unknown_outcome_no_file_is_deleted_and_the_error_says_what_to_look_for(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path, "append")
    puts = [number for number, what in enumerate(operations_of(place)) if what.startswith("put")]
    store = FaultyStore(str(place.root), puts[0], when="after", down=True)
    with pytest.raises(DeltaError) as error:
        place.run(store)
    assert error.value.kind == "outcome_unknown"
    info = explorer.open_table(place.root).history(limit=1)
    assert info.column("version").to_pylist() == [1]
    assert place.rows() == place.after
    for path in explorer.open_table(place.root).snapshot().files(["path"])["path"].to_pylist():
        assert (place.root / path).exists()
    assert "version 1" in error.value.problem
    assert "transaction id" in error.value.reason
    assert "Nothing was deleted" in error.value.remedy


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_one_shot_rows_are_read_once_whatever_happens(tmp_path: Path, mode: str) -> None:
    place = Place(tmp_path, "append")
    handed_out: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in NEW.to_batches():
            handed_out.append(batch.num_rows)
            pipeline.write(OLD, place.root)  # somebody else is first
            yield batch

    reader = pa.RecordBatchReader.from_batches(NEW.schema, batches())
    pipeline.write(reader, place.root, mode=mode)  # type: ignore[arg-type]
    assert handed_out == [3]
    expected = (
        (10, 11, 12) if mode == "overwrite" else tuple(sorted([*range(6), *range(6), 10, 11, 12]))
    )
    assert place.rows() == expected
