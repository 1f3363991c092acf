"""Rows written through a store that fails, and by a process that is killed: the table has all rows
of the statement or none, what is said is true, nothing that a version needs is deleted, and the
same statement again brings the rows once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer import pipeline
from explorer.errors import DeltaError, NotFoundError
from explorer.pipeline.writing._given_data import rows_given
from explorer.pipeline.writing.write import write_to
from explorer.writing.statements.options import WriteOptions, WriteResult
from tests.faults.faulty_store import CHANGING, Fault, FaultyStore, is_change
from tests.sampling import sample

OLD = pa.table({"id": list(range(6)), "land": ["DE", "FR"] * 3})
NEW = pa.table({"id": [10, 11, 12], "land": ["DE", "IT", "IT"]})
ONCE = ("nightly load", 1)


@dataclass(frozen=True)
class Statement:
    """A write, and the ids that the table has afterwards."""

    options: WriteOptions
    after: tuple[int, ...]
    begins: bool = True


STATEMENTS = {
    "append": Statement(WriteOptions(transaction=ONCE), (*range(6), 10, 11, 12)),
    "overwrite": Statement(WriteOptions(mode="overwrite", transaction=ONCE), (10, 11, 12)),
    "dynamic": Statement(
        WriteOptions(mode="overwrite", partition_overwrite="dynamic", transaction=ONCE),
        (1, 3, 5, 10, 11, 12),
    ),
    "first": Statement(WriteOptions(transaction=ONCE), (10, 11, 12), begins=False),
    "checkpointed": Statement(WriteOptions(transaction=ONCE), (*range(6), 10, 11, 12)),
}


class KilledStore(FaultyStore):
    """From one operation on nothing is done any more: the process is gone."""

    class Killed(BaseException):
        pass

    def _begin(self, what: str) -> Fault | None:
        if self.fail_at is not None and len(self.operations) >= self.fail_at:
            raise self.Killed
        return super()._begin(what)


class Place:
    """A table that is put back to what it was before each try."""

    def __init__(self, scratch: Path, name: str) -> None:
        self.statement = STATEMENTS[name]
        self.root, self._kept = scratch / "orders", scratch / "kept"
        if self.statement.begins:
            pipeline.write(OLD, self._kept, partition_by="land")
            if name == "checkpointed":  # the next version is one that gets a checkpoint
                for _ in range(9):
                    pipeline.write(OLD.slice(0, 0), self._kept)
        else:
            self._kept.mkdir()
        self.before = tuple(range(6)) if self.statement.begins else ()
        self.fresh()

    def fresh(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self._kept, self.root)

    def write(self, store: FaultyStore) -> WriteResult:
        return write_to(store, rows_given(NEW), self.statement.options)

    def ids(self) -> tuple[int, ...]:
        """The rows of the newest version, all of whose files are read; none where there is no
        table."""
        try:
            snapshot = explorer.open_table(self.root).snapshot()
        except NotFoundError:
            return ()
        rows = explorer.read_rows(snapshot, columns=["id"])
        return tuple(sorted(rows.column("id").to_pylist()))

    def unknown_files(self) -> set[str]:
        """The data files that no version names."""
        found = {
            path.relative_to(self.root).as_posix()
            for path in self.root.rglob("*.parquet")
            if path.parent.name != "_delta_log"
        }
        if not self.ids():
            return found
        table = explorer.open_table(self.root)
        for version in range(table.latest_version() + 1):
            found -= set(table.snapshot(version=version).files(["path"])["path"].to_pylist())
        return found

    def operations(self) -> list[str]:
        store = FaultyStore(str(self.root))
        self.write(store)
        assert self.ids() == self.statement.after
        self.fresh()
        return store.operations


@pytest.fixture(params=STATEMENTS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(tmp_path, request.param)


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
