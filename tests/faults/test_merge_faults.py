"""Merges through a store that fails at any request, and by a process that is killed: the table has
what the merge makes of it, or what it had; what is said is true; the same merge again ends it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import pipeline
from explorer.errors import DeltaError
from explorer.pipeline.merging.merge import Merge
from explorer.pipeline.writing.given_data import rows_given
from explorer.writing.merging.clauses import MergeRequest
from explorer.writing.statements.change_statement import ChangeOptions
from explorer.writing.statements.options import WriteResult
from tests.faults.faulty_store import CHANGING, Fault, FaultyStore, is_change
from tests.interop.spark_session import start_session
from tests.sampling import sample

OLD = pa.table({"id": list(range(6)), "n": [0] * 6})
NEW = pa.table({"id": [1, 2, 10, 11], "n": [7] * 4})
BEFORE = tuple((key, 0) for key in range(6))
AFTER = ((0, 0), (1, 7), (2, 7), (3, 0), (4, 0), (5, 0), (10, 7), (11, 7))

FORMS = {
    "vectors": {"delta.enableDeletionVectors": "true"},
    "copies, feed": {"delta.enableChangeDataFeed": "true"},
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

    def __init__(self, scratch: Path, form: str, **options: Any) -> None:
        self.root, self._kept, self._options = scratch / "t", scratch / "kept", options
        pipeline.create(self._kept, "id BIGINT, n BIGINT", properties=FORMS[form])
        for first in (0, 3):
            pipeline.write(OLD.slice(first, 3), self._kept)
        self.fresh()

    def fresh(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self._kept, self.root)

    def merge(self, store: FaultyStore) -> WriteResult:
        merge = Merge(
            store=store,
            rows=rows_given(NEW),
            request=MergeRequest(on="target.id = source.id"),
            options=ChangeOptions(transaction=("load", 1)),
            **self._options,
        )
        return merge.when_matched_update_all().when_not_matched_insert_all().execute()

    def rows(self) -> tuple[tuple[int, int], ...]:
        found = explorer.read_rows(explorer.open_table(self.root).snapshot()).to_pylist()
        return tuple(sorted((row["id"], row["n"]) for row in found))

    def unknown_files(self) -> set[str]:
        """Files beside the log's that no version names."""
        table = explorer.open_table(self.root)
        found = {
            path.relative_to(self.root).as_posix()
            for path in self.root.rglob("*")
            if path.is_file() and "_delta_log" not in path.parts
        }
        for path in (self.root / "_delta_log").glob("*.json"):
            text = path.read_text()
            found = {name for name in found if name not in text}
        assert table.latest_version() >= 2
        return {name for name in found if not name.endswith(".crc")}

    def operations(self) -> list[str]:
        store = FaultyStore(str(self.root))
        self.merge(store)
        assert self.rows() == AFTER
        self.fresh()
        return store.operations

    def check(self, outcome: WriteResult | DeltaError) -> None:
        """What the merge said of itself is true."""
        rows = self.rows()
        if isinstance(outcome, WriteResult):
            assert rows == AFTER
            assert self.unknown_files() == set()
        elif outcome.kind == "outcome_unknown":
            assert rows in (BEFORE, AFTER)
        else:
            assert rows == BEFORE
            left = self.unknown_files()
            told = ("still there", "may be left")
            assert not left or any(words in outcome.remedy for words in told), (outcome, left)

    def merge_again(self) -> None:
        """The same merge on a sound store."""
        self.merge(FaultyStore(str(self.root)))
        assert self.rows() == AFTER


def try_faults(place: Place, one_in: int, name: str) -> None:
    operations = place.operations()
    changes = [number for number, what in enumerate(operations) if is_change(what)]
    kinds: list[tuple[Fault, bool, Any]] = [("before", False, range(len(operations)))]
    kinds += [(when, down, changes) for when in ("before", *CHANGING) for down in (False, True)]
    seen = set()
    for when, down, numbers in kinds:
        for number in sample(numbers, one_in, f"{name} {when} {down}"):
            place.fresh()
            store = FaultyStore(str(place.root), number, when=when, down=down)
            outcome: WriteResult | DeltaError
            try:
                outcome = place.merge(store)
            except DeltaError as error:
                outcome = error
            store.down, store.fail_at = False, None
            store.settle()
            place.check(outcome)
            seen.add(type(outcome))
            place.merge_again()
    assert seen - {WriteResult}


@pytest.mark.parametrize("form", FORMS)
def test_a_store_that_fails_at_any_request_leaves_all_of_a_merge_or_nothing(
    tmp_path: Path, form: str
) -> None:
    try_faults(Place(tmp_path, form), 20, f"merge {form}")


@pytest.mark.parametrize("form", FORMS)
def test_a_process_that_is_killed_leaves_all_of_a_merge_or_nothing(
    tmp_path: Path, form: str
) -> None:
    place = Place(tmp_path, form)
    count = len(place.operations())
    for number in sample(range(count), 12, f"killed merge {form}"):
        place.fresh()
        with suppress(KilledStore.Killed):
            place.merge(KilledStore(str(place.root), number))
        assert place.rows() in (BEFORE, AFTER)
        place.merge_again()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = start_session()
    yield session
    session.stop()


@pytest.mark.spark
@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("form", FORMS)
def test_a_store_that_fails_at_any_request_of_the_driver_leaves_all_of_a_merge_or_nothing(
    spark: SparkSession, tmp_path: Path, form: str
) -> None:
    try_faults(Place(tmp_path, form, engine="spark", spark=spark), 60, f"merge on Spark {form}")
