"""What all commits of a log come to, each read once for a table (spec: Delta Log Entries).

A commit never changes, so that a longer log is read on from the commit that was read last.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar
from weakref import WeakKeyDictionary

from explorer.errors import DeltaError
from explorer.inspect.commits.commit_lines import read_commits
from explorer.progress import Watch
from explorer.protocol.filenames import render_commit_path
from explorer.storage.ports import ObjectInfo
from explorer.table.table import Table

_PROGRESS_EVERY: Final = 256

State = TypeVar("State")
Change = TypeVar("Change")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read(Generic[State, Change]):
    """The changes in all commits up to one, what is in force after it, and what the store says
    of that one."""

    last: ObjectInfo
    version: int
    state: State
    changes: tuple[Change, ...]


class CommitFold(Generic[State, Change]):
    """The changes that the commits of tables hold, kept for each table while it is open.

    `after` takes the bytes of a commit, its version and what was in force before it, and gives
    what is in force after it, and the change if there is one. A table that was created again in
    the same place is recognised by its newest commit.
    """

    def __init__(
        self, label: str, after: Callable[[bytes, int, State], tuple[State, Change | None]]
    ) -> None:
        self._label = label
        self._after = after
        self._held: WeakKeyDictionary[Table, _Read[State, Change]] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def upto(
        self, table: Table, versions: Sequence[int], start: State, watch: Watch
    ) -> tuple[Change, ...]:
        """Those in the commits `versions`, which ascend, and in some that may be gone or newer;
        `start` is what was in force before them. What cannot be read is left out."""
        with self._lock:
            held = self._held.get(table)
        if held is not None and _stat(table, held.version) != held.last:
            held = None
        new = [number for number in versions if held is None or number > held.version]
        if held is not None and not new:
            return held.changes
        last = _stat(table, new[-1])
        changes = () if held is None else held.changes
        state = start if held is None else held.state
        found, state, missed = self._read(table, new, state, watch)
        changes = (*changes, *found)
        if last is not None and not missed:  # what a store kept back may be there next time
            read = _Read(last=last, version=new[-1], state=state, changes=changes)
            with self._lock:
                self._held[table] = read
        return changes

    def _read(
        self, table: Table, versions: Sequence[int], state: State, watch: Watch
    ) -> tuple[list[Change], State, bool]:
        """The changes in these commits, what is in force after them, and whether one of them
        could not be had."""
        found: list[Change] = []
        missed = False
        commits = zip(versions, read_commits(table.store, versions), strict=True)
        for done, (number, data) in enumerate(commits):
            if done % _PROGRESS_EVERY == 0:
                watch.step(done, len(versions), self._label)
            if isinstance(data, DeltaError):
                missed = True
                continue
            state, change = self._after(data, number, state)
            if change is not None:
                found.append(change)
        return found, state, missed


def _stat(table: Table, version: int) -> ObjectInfo | None:
    try:
        return table.store.stat(render_commit_path(version))
    except DeltaError:
        return None
