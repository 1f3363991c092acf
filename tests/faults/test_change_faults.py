"""Rows deleted, updated and replaced through a store that fails, and by a process that is killed:
the table has all changes of the statement or none, and what is said of it is true."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.errors import DeltaError
from explorer.pipeline.changing.delete import delete_from
from explorer.pipeline.changing.update import update_in
from explorer.pipeline.writing.given_data import rows_given
from explorer.pipeline.writing.write import write_to
from explorer.protocol.deletion_vectors import parse_relative_place
from explorer.storage.ports import WriteStore
from explorer.writing.changes import hidden_rows
from explorer.writing.statements.change_statement import ChangeOptions
from explorer.writing.statements.options import WriteOptions, WriteResult
from tests.changed_tables import make_table, rows_from, rows_of
from tests.faults.faulty_store import CHANGING, Fault, FaultyStore, is_change
from tests.faults.test_write_faults import KilledStore
from tests.sampling import sample

Run = Callable[[WriteStore], WriteResult]

ONCE = ("nightly", 1)
OPTIONS = ChangeOptions(transaction=ONCE)
WHERE = "key IN (1, 2, 13) OR n = 2"

STATEMENTS: dict[str, tuple[str, Run]] = {
    "delete by vectors": ("vectors", lambda store: delete_from(store, WHERE, OPTIONS)),
    "delete by copies": ("feed", lambda store: delete_from(store, WHERE, OPTIONS)),
    "delete all": ("vectors", lambda store: delete_from(store, None, OPTIONS)),
    "update by vectors": (
        "all",
        lambda store: update_in(store, {"x": "7", "land": "'X'"}, WHERE, OPTIONS),
    ),
    "update by copies": ("feed", lambda store: update_in(store, {"x": "7"}, WHERE, OPTIONS)),
    "replace": (
        "feed",
        lambda store: write_to(
            store,
            rows_given(rows_from(102, 1)),  # n = 0
            WriteOptions(mode="overwrite", replace_where="n = 0", transaction=ONCE),
        ),
    ),
}


class Place:
    """A table that is put back to what it was before each try."""

    def __init__(self, scratch: Path, name: str) -> None:
        form, self.run = STATEMENTS[name]
        self.root, self._kept = scratch / "t", scratch / "kept"
        make_table(self._kept, form, files=2)
        self.before = repr(rows_of(self._kept))
        self.fresh()
        store = FaultyStore(str(self.root))
        self.run(store)
        self.operations = store.operations
        self.after = self.rows()
        assert self.after != self.before
        self.fresh()

    def fresh(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self._kept, self.root)

    def rows(self) -> str:
        """The rows of the newest version, all of whose files are read."""
        return repr(rows_of(self.root))

    def unknown_files(self) -> set[str]:
        """The files beside the log that no version names."""
        found = {
            path.name for path in self.root.rglob("*") if path.suffix in {".parquet", ".bin"}
        } - {path.name for path in (self.root / "_delta_log").iterdir()}
        log = "".join(path.read_text() for path in (self.root / "_delta_log").glob("*.json"))
        table = explorer.open_table(self.root)
        for version in range(table.latest_version() + 1):
            vectors = table.snapshot(version=version).files(["deletion_vector"]).column(0)
            found -= {_vector_name(item) for item in vectors.to_pylist() if item is not None}
        return {name for name in found if name not in log}


def _vector_name(vector: dict[str, Any]) -> str:
    if vector["storage_type"] != "u":
        return ""
    return parse_relative_place(vector["path_or_inline_dv"])


@pytest.fixture(params=STATEMENTS)
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setattr(hidden_rows, "_INLINE_BYTES", 0)  # so that there is a file to fail on
    return Place(tmp_path, request.param)


def _check(place: Place, outcome: WriteResult | DeltaError) -> None:
    if isinstance(outcome, WriteResult):
        assert place.rows() == place.after
        assert place.unknown_files() == set()
    elif outcome.kind == "outcome_unknown":
        assert place.rows() in (place.before, place.after)
    else:
        assert place.rows() == place.before
        left = place.unknown_files()
        assert not left or "left" in outcome.remedy or "still there" in outcome.remedy, (
            outcome,
            left,
        )


def _run_again(place: Place) -> None:
    """The same statement on a sound store is carried out once."""
    place.run(FaultyStore(str(place.root)))
    assert place.rows() == place.after


def test_a_store_that_fails_at_any_operation_leaves_all_changes_or_none(
    place: Place, request: pytest.FixtureRequest
) -> None:
    operations = place.operations
    changes = [number for number, what in enumerate(operations) if is_change(what)]
    kinds: list[tuple[Fault, bool, Any]] = [("before", False, range(len(operations)))]
    kinds += [(when, down, changes) for when in ("before", *CHANGING) for down in (False, True)]
    seen = set()
    for when, down, numbers in kinds:
        for number in sample(numbers, 20, f"{request.node.name} {when} {down}"):
            place.fresh()
            store = FaultyStore(str(place.root), number, when=when, down=down)
            outcome: WriteResult | DeltaError
            try:
                outcome = place.run(store)
            except DeltaError as error:
                outcome = error
            store.down, store.fail_at = False, None
            store.settle()
            _check(place, outcome)
            seen.add(type(outcome))
            _run_again(place)
    assert seen - {WriteResult}


def test_a_process_that_is_killed_leaves_all_changes_or_none(
    place: Place, request: pytest.FixtureRequest
) -> None:
    for number in sample(range(len(place.operations)), 12, request.node.name):
        place.fresh()
        with suppress(KilledStore.Killed):
            place.run(KilledStore(str(place.root), number))
        assert place.rows() in {place.before, place.after}
        _run_again(place)
