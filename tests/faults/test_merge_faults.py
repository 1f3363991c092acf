"""Merges through a store that fails at any request, and by a process that is killed: the table has
what the merge makes of it, or what it had; what is said is true; the same merge again ends it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import pipeline
from explorer.pipeline.merging.merge import Merge
from explorer.pipeline.writing.given_data import rows_given
from explorer.writing.changes import hidden_rows
from explorer.writing.merging.clauses import MergeRequest
from explorer.writing.statements.change_statement import ChangeOptions
from explorer.writing.statements.options import WriteResult
from tests.faults.fault_sweep import operations_of, try_faults, try_kills
from tests.faults.faulty_store import FaultyStore, is_change
from tests.interop.spark_session import start_session

OLD = pa.table({"id": list(range(6)), "n": [0] * 6})
NEW = pa.table({"id": [1, 2, 10, 11], "n": [7] * 4})
BEFORE = tuple((key, 0) for key in range(6))
AFTER = ((0, 0), (1, 7), (2, 7), (3, 0), (4, 0), (5, 0), (10, 7), (11, 7))

FORMS = {
    "vectors": {"delta.enableDeletionVectors": "true"},
    "copies, feed": {"delta.enableChangeDataFeed": "true"},
}


class Place:
    """A table that is put back to what it was before each try."""

    before, after = BEFORE, AFTER

    def __init__(self, scratch: Path, form: str, **options: Any) -> None:
        self.root, self._kept, self._options = scratch / "t", scratch / "kept", options
        pipeline.create(self._kept, "id BIGINT, n BIGINT", properties=FORMS[form])
        for first in (0, 3):
            pipeline.write(OLD.slice(first, 3), self._kept)
        self.fresh()

    def fresh(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self._kept, self.root)

    def run(self, store: FaultyStore) -> WriteResult:
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


@pytest.fixture
def in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hidden_rows, "_INLINE_BYTES", 0)  # so that there is a file to fail on


def test_a_merge_of_each_form_writes_what_can_fail(tmp_path: Path, in_files: None) -> None:
    """Without a file of vectors, or one of changes, nothing would be tried on them."""
    for form, kind in (("vectors", "write deletion_vector_"), ("copies, feed", "_change_data/")):
        written = operations_of(Place(tmp_path / form, form))
        assert any(kind in what for what in written if is_change(what)), written


@pytest.mark.parametrize("form", FORMS)
def test_a_store_that_fails_at_any_request_leaves_all_of_a_merge_or_nothing(
    tmp_path: Path, form: str, in_files: None
) -> None:
    try_faults(Place(tmp_path, form), 20, f"merge {form}")


@pytest.mark.parametrize("form", FORMS)
def test_a_process_that_is_killed_leaves_all_of_a_merge_or_nothing(
    tmp_path: Path, form: str, in_files: None
) -> None:
    try_kills(Place(tmp_path, form), 12, f"killed merge {form}")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = start_session()
    yield session
    session.stop()


@pytest.mark.spark
@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("form", FORMS)
def test_a_store_that_fails_at_any_request_of_the_driver_leaves_all_of_a_merge_or_nothing(
    spark: SparkSession, tmp_path: Path, form: str, in_files: None
) -> None:
    try_faults(Place(tmp_path, form, engine="spark", spark=spark), 60, f"merge on Spark {form}")
