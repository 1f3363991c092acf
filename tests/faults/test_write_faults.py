"""Rows written through a store that fails, and by a process that is killed: the table has all rows
of the statement or none, what is said is true, nothing that a version needs is deleted, and the
same statement again brings the rows once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer import pipeline
from explorer.errors import DeltaError
from explorer.pipeline.source import _batch_writer
from explorer.writing.statements.options import WriteResult
from tests.faults.faulty_store import CHANGING, Fault, FaultyStore, is_change
from tests.faults.killed_processes import KILLED, Processes
from tests.faults.written_place import NEW, OLD, STATEMENTS, Place
from tests.sampling import sample


class KilledStore(FaultyStore):
    """From one operation on nothing is done any more: the process is gone."""

    class Killed(BaseException):
        pass

    def _begin(self, what: str) -> Fault | None:
        if self.fail_at is not None and len(self.operations) >= self.fail_at:
            raise self.Killed
        return super()._begin(what)


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


def check(place: Place, outcome: WriteResult | DeltaError) -> None:
    """What the statement said of itself is true."""
    ids, after = place.ids(), place.statement.after
    if isinstance(outcome, WriteResult):
        assert ids == after
        assert place.unknown_files() == set()
    elif outcome.kind == "outcome_unknown":
        assert ids in (place.before, after)
    else:
        assert ids == place.before
        left = place.unknown_files()
        assert not left or "still there" in outcome.remedy, (outcome, left)


def write_again(place: Place) -> None:
    """The same statement on a sound store: its rows are there once."""
    place.write(FaultyStore(str(place.root)))
    assert place.ids() == place.statement.after


def test_a_store_that_fails_at_any_operation_leaves_all_rows_or_none(
    place: Place, request: pytest.FixtureRequest
) -> None:
    operations = place.operations()
    changes = [number for number, what in enumerate(operations) if is_change(what)]
    kinds: list[tuple[Fault, bool, Any]] = [("before", False, range(len(operations)))]
    kinds += [(when, down, changes) for when in ("before", *CHANGING) for down in (False, True)]
    kinds_seen = set()
    for when, down, numbers in kinds:
        for number in sample(numbers, 20, f"{request.node.name} {when} {down}"):
            place.fresh()
            store = FaultyStore(str(place.root), number, when=when, down=down)
            outcome: WriteResult | DeltaError
            try:
                outcome = place.write(store)
            except DeltaError as error:
                outcome = error
            store.down, store.fail_at = False, None
            if getattr(outcome, "kind", "") == "outcome_unknown":
                assert place.ids() in (place.before, place.statement.after)
            store.settle()
            check(place, outcome)
            kinds_seen.add(type(outcome))
            write_again(place)
    assert kinds_seen - {WriteResult}


def test_a_process_that_is_killed_leaves_all_rows_or_none(
    place: Place, request: pytest.FixtureRequest
) -> None:
    count = len(place.operations())
    seen = set()
    for number in sample(range(count), 12, request.node.name):
        place.fresh()
        with suppress(KilledStore.Killed):
            place.write(KilledStore(str(place.root), number))
        seen.add(place.ids())
        assert seen <= {place.before, place.statement.after}
        write_again(place)
    assert seen


def test_a_disk_that_is_full_at_any_write_leaves_all_rows_or_none_and_is_no_doubt(
    place: Place, request: pytest.FixtureRequest
) -> None:
    changes = [number for number, what in enumerate(place.operations()) if is_change(what)]
    faults = [(number, down) for number in changes for down in (False, True)]
    for number, down in sample(faults, 4, request.node.name):
        place.fresh()
        store = FaultyStore(str(place.root), number, when="full", down=down)
        outcome: WriteResult | DeltaError
        try:
            outcome = place.write(store)
        except DeltaError as error:
            outcome = error
        assert getattr(outcome, "kind", "storage_failed") == "storage_failed"
        check(place, outcome)
        assert not list(place.root.rglob(".tmp-*"))
        write_again(place)


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    with Processes() as found:
        yield found


def test_a_real_process_that_is_killed_leaves_all_rows_or_none(
    place: Place, processes: Processes, request: pytest.FixtureRequest
) -> None:
    count = len(place.operations())
    for number in sample(range(count), 12, f"{request.node.name} process"):
        place.fresh()
        door, name = request.node.callspec.params["place"]
        assert processes.write(place.root, name, door, number) == KILLED
        assert place.ids() in {place.before, place.statement.after}
        write_again(place)


def test_after_an_unknown_outcome_no_file_is_deleted_and_the_error_says_what_to_look_for(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path, "append")
    puts = [number for number, what in enumerate(place.operations()) if what.startswith("put")]
    store = FaultyStore(str(place.root), puts[0], when="after", down=True)
    with pytest.raises(DeltaError) as error:
        place.write(store)
    assert error.value.kind == "outcome_unknown"
    info = explorer.open_table(place.root).history(limit=1)
    assert info.column("version").to_pylist() == [1]
    assert place.ids() == place.statement.after
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
    assert place.ids() == expected
