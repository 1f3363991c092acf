"""Rows deleted, updated and replaced through a store that fails, and by a process that is killed:
the table has all changes of the statement or none, and what is said of it is true."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.pipeline.changing.delete import delete_from
from explorer.pipeline.changing.update import update_in
from explorer.pipeline.writing.given_data import rows_given
from explorer.pipeline.writing.write import write_to
from explorer.storage.ports import WriteStore
from explorer.writing.changes import hidden_rows
from explorer.writing.statements.change_statement import ChangeOptions
from explorer.writing.statements.options import WriteOptions, WriteResult
from tests.changed_tables import make_table, rows_from, rows_of
from tests.faults.fault_sweep import try_faults, try_kills
from tests.faults.faulty_store import FaultyStore

Run = Callable[[WriteStore], WriteResult]

ONCE = ("nightly", 1)
OPTIONS = ChangeOptions(transaction=ONCE)
WHERE = "key IN (1, 2, 13) OR n = 2"


def _replace(store: WriteStore) -> WriteResult:
    return write_to(
        store,
        rows_given(rows_from(102, 1)),  # n = 0
        WriteOptions(mode="overwrite", replace_where="n = 0", transaction=ONCE),
    )


STATEMENTS: dict[str, tuple[str, Run]] = {
    "delete by vectors": ("vectors", lambda store: delete_from(store, WHERE, OPTIONS)),
    "delete by copies": ("feed", lambda store: delete_from(store, WHERE, OPTIONS)),
    "delete all": ("vectors", lambda store: delete_from(store, None, OPTIONS)),
    "update by vectors": (
        "all",
        lambda store: update_in(store, {"x": "7", "land": "'X'"}, WHERE, OPTIONS),
    ),
    "update by copies": ("feed", lambda store: update_in(store, {"x": "7"}, WHERE, OPTIONS)),
    "replace by copies": ("feed", _replace),
    # the feed is recorded when the vectors are written already
    "replace by vectors": ("all", _replace),
}


class Place:
    """A table that is put back to what it was before each try."""

    def __init__(self, scratch: Path, name: str) -> None:
        form, self.run = STATEMENTS[name]
        self.root, self._kept = scratch / "t", scratch / "kept"
        make_table(self._kept, form, files=2)
        self.before = repr(rows_of(self._kept))
        self.fresh()
        self.run(FaultyStore(str(self.root)))
        self.after = self.rows()
        self.fresh()

    def fresh(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self._kept, self.root)

    def rows(self) -> str:
        """The rows of the newest version, all of whose files are read."""
        return repr(rows_of(self.root))


@pytest.fixture(params=STATEMENTS)
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setattr(hidden_rows, "_INLINE_BYTES", 0)  # so that there is a file to fail on
    return Place(tmp_path, request.param)


def test_a_store_that_fails_at_any_operation_leaves_all_changes_or_none(
    place: Place, request: pytest.FixtureRequest
) -> None:
    try_faults(place, 20, request.node.name)


def test_a_process_that_is_killed_leaves_all_changes_or_none(
    place: Place, request: pytest.FixtureRequest
) -> None:
    try_kills(place, 12, request.node.name)
