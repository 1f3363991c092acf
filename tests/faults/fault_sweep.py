"""A statement that is tried with every fault of a store, and in a process that is killed before
each of its operations; and what must hold of the table and of what the statement says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

import explorer
from explorer.errors import DeltaError, NotFoundError
from explorer.protocol.vectors.deletion_vectors import parse_relative_place
from explorer.writing.statements.options import WriteResult
from tests.faults.faulty_store import (
    CHANGING,
    TORN,
    Fault,
    FaultyStore,
    KilledStore,
    is_change,
)
from tests.sampling import sample

_STILL_THERE = re.compile(r"(\d[\d,]*) files? that it had written (?:is|are) still there")
_UNLISTED = re.compile(
    r"Files with (\S+)(?: or (\S+))? in their names may be left, "
    r"because a folder could not be listed"
)


@dataclass(frozen=True)
class StoreFault:
    """What goes wrong with which operation; the store stays down for good where it is `down`."""

    number: int
    when: Fault
    down: bool

    def store(self, root: Path) -> FaultyStore:
        return FaultyStore(str(root), self.number, when=self.when, down=self.down)


def recover(store: FaultyStore) -> None:
    """The store is sound again, and what was under way has taken effect."""
    store.down, store.fail_at = False, None
    store.settle()


def faults_of(operations: Sequence[str], one_in: int, of: str) -> Iterator[StoreFault]:
    """Each operation fails once; those that change something in every other way too, and so that
    the store never comes back. Of each way, the faults whose turn it is; see `sample`."""
    changes = [number for number, what in enumerate(operations) if is_change(what)]
    assert changes
    ways: list[tuple[Fault, bool, Sequence[int]]] = [("before", False, range(len(operations)))]
    ways += [(when, down, changes) for when in ("before", *CHANGING) for down in (False, True)]
    for when, down, numbers in ways:
        for number in sample(numbers, one_in, f"{of} {when} {down}"):
            yield StoreFault(number, when, down)


class Tried(Protocol):
    """A statement upon a table that is put back to what it was before each try. `before` and
    `after` are what `rows` are, which reads all files of the newest version."""

    root: Path
    before: Any
    after: Any

    def fresh(self) -> None: ...

    def run(self, store: FaultyStore) -> WriteResult: ...

    def rows(self) -> Any: ...


def operations_of(place: Tried) -> list[str]:
    """What the statement asks of a sound store; the table is put back afterwards."""
    store = FaultyStore(str(place.root))
    place.run(store)
    assert place.rows() == place.after
    assert place.after != place.before
    assert unknown_files(place.root) == set()
    place.fresh()
    return store.operations


def outcome_of(place: Tried, store: FaultyStore) -> WriteResult | DeltaError:
    """What the statement said of itself, and that it is true once the store is sound again."""
    outcome: WriteResult | DeltaError
    try:
        outcome = place.run(store)
    except DeltaError as error:
        outcome = error
    if isinstance(outcome, DeltaError) and outcome.kind == "outcome_unknown":
        assert place.rows() in (place.before, place.after)
    recover(store)
    if isinstance(outcome, WriteResult):
        assert place.rows() == place.after
        assert unknown_files(place.root) == set()
    elif outcome.kind == "outcome_unknown":
        assert place.rows() in (place.before, place.after)
    else:
        assert place.rows() == place.before
        check_left_files_are_told(place.root, outcome)
    return outcome


def run_again(place: Tried) -> None:
    """The same statement on a sound store is carried out once."""
    place.run(FaultyStore(str(place.root)))
    assert place.rows() == place.after


def try_faults(place: Tried, one_in: int, of: str) -> None:
    """The statement has all of its effect or none, whatever the store does."""
    failed = 0
    for fault in faults_of(operations_of(place), one_in, of):
        place.fresh()
        outcome = outcome_of(place, fault.store(place.root))
        failed += isinstance(outcome, DeltaError)
        run_again(place)
    assert failed


def try_kills(place: Tried, one_in: int, of: str) -> None:
    """The statement has all of its effect or none where its process is gone before an operation."""
    for number in sample(range(len(operations_of(place))), one_in, of):
        place.fresh()
        with pytest.raises(KilledStore.Killed):
            place.run(KilledStore(str(place.root), number))
        assert place.rows() in (place.before, place.after)
        run_again(place)


def unknown_files(root: Path) -> set[str]:
    """The paths of files beside the log's that no version names."""
    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.is_file() and path.name != TORN and path.suffix != ".crc"
    }
    found = {path for path in found if not path.startswith("_delta_log/")}
    log = "".join(path.read_text() for path in (root / "_delta_log").glob("*.json"))
    # files have names of their own, and partitions other signs in the log than on the disk
    return {path for path in found if path.rpartition("/")[2] not in log} - _vector_files(root)


def _vector_files(root: Path) -> set[str]:
    """The files of vectors, whose names the log has in a spelling of its own."""
    try:
        table = explorer.open_table(root)
        latest = table.latest_version()
    except NotFoundError:
        return set()
    found: set[str] = set()
    for version in range(latest + 1):
        for vector in table.snapshot(version=version).files(["deletion_vector"]).column(0):
            if vector.is_valid and vector["storage_type"].as_py() == "u":
                found.add(parse_relative_place(vector["path_or_inline_dv"].as_py()))
    return found


def check_left_files_are_told(root: Path, error: DeltaError) -> None:
    """That no file is left which no version names, or that the error says so."""
    left = unknown_files(root)
    if unlisted := _UNLISTED.search(error.remedy):
        parts = [part for part in unlisted.groups() if part]
        left = {path for path in left if not any(part in path for part in parts)}
    if left:
        told = _STILL_THERE.search(error.remedy)
        assert told is not None, (error, left)
        # a lost answer makes a file that is gone one of those
        assert int(told[1].replace(",", "")) >= len(left), (error, left)
