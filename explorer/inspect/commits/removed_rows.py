"""Rows that commits removed and do not count: those of files whose adds do (spec: Remove File).

A remove need not repeat the statistics of its file. The commits before it are then read back to
the one that added the file, as far as that costs little: the rows of a removed file are the
`numRecords` of its add less the rows that its deletion vector hides.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from explorer.errors import DeltaError
from explorer.inspect.commits._commit_summary import (
    UncountedFile,
    count_records,
    find_uncounted,
    read_vector,
)
from explorer.inspect.commits.commit_lines import find_bodies, read_commits
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.filenames import render_commit_name
from explorer.table.table import Table

MOST_COMMITS: Final = 1_000
MOST_BYTES: Final = 64 * 2**20
"""What is read of a log for one answer; it takes a second or so."""

MOST_FILES: Final = 200_000
"""Removed files whose adds are looked for at a time."""

_AT_ONCE: Final = 64
"""Commits that are asked for together; the last of them may be for nothing."""

_LABEL: Final = "Counting removed rows"
_LARGEST: Final = 2**63 - 1


def removed_rows(table: Table, versions: Sequence[int], watch: Watch = UNWATCHED) -> dict[int, int]:
    """The rows that these commits removed, by version, of those for which `timeline` does not know
    and the adds of their files do, in the commits before them that the log still has.

    At most `MOST_COMMITS` commits with `MOST_BYTES` together are read. A version is left out where
    that did not reach an add, where the add has no statistics, and where it has another deletion
    vector than the remove, which then removes nothing that is known.
    """
    search, spent = _Search(wanted={*versions}), 0
    for done, (version, data) in enumerate(_back(table, search)):
        watch.step(done, None, _LABEL)
        spent += len(data)
        if done >= MOST_COMMITS or spent > MOST_BYTES:
            break
        search.read(version, data)
    return search.found()


def _back(table: Table, search: _Search) -> Iterator[tuple[int, bytes]]:
    """The commits that `search` needs, newest first, until one of them is not there."""
    commits = table.listing().commits
    after = len(commits)
    while after and (newest := search.next_version(commits[:after])) is not None:
        after = bisect_right(commits, newest, hi=after)
        some = commits[max(0, after - _AT_ONCE) : after][::-1]
        for version, data in zip(some, read_commits(table.store, some), strict=True):
            if isinstance(data, DeltaError):
                return
            yield version, data
            after -= 1
            if not search.is_waiting:
                break
            if not after or commits[after - 1] != version - 1:
                return  # what the missing commit did is not known


@dataclass
class _Commit:
    """The rows that a commit is known to have removed, and how many files are still unknown."""

    rows: int
    files: int


@dataclass
class _Search:
    """Commits that are `wanted` and not read yet, and files that wait for their add, by path."""

    wanted: set[int]
    commits: dict[int, _Commit] = field(default_factory=dict)
    waiting: dict[str, list[tuple[int, UncountedFile]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    @property
    def is_waiting(self) -> bool:
        """Whether the commit before is needed."""
        return bool(self.waiting)

    def next_version(self, left: Sequence[int]) -> int | None:
        """The newest commit of those that are `left` which is needed; None where none is."""
        if self.waiting:
            return left[-1]
        return max(self.wanted.intersection(left), default=None)

    def read(self, version: int, data: bytes) -> None:
        """What a commit says of files that newer ones removed; and then what it removed."""
        name = render_commit_name(version)
        if self.waiting:
            self._resolve(data, name)
        if version not in self.wanted:
            return
        self.wanted.discard(version)
        uncounted = find_uncounted(data, name)
        if uncounted is None or len(self.waiting) + len(uncounted.files) > MOST_FILES:
            return
        self.commits[version] = _Commit(uncounted.rows, len(uncounted.files))
        for file in uncounted.files:
            self.waiting[file.path].append((version, file))

    def _resolve(self, data: bytes, name: str) -> None:
        told: dict[str, Mapping[str, Any] | None] = {}
        for _, kind, body in find_bodies(data, name, ("add", "remove")):
            path = body.get("path") if isinstance(body, dict) else None
            if isinstance(path, str) and path in self.waiting:
                # what is removed and added in one commit stays
                told[path] = body if kind == "add" else told.get(path)
        for path, add in told.items():
            for version, file in self.waiting.pop(path):
                rows = None if add is None else _rows(file, add)
                self._settle(version, rows)

    def _settle(self, version: int, rows: int | None) -> None:
        commit = self.commits.get(version)
        if commit is None:
            return
        if rows is None or commit.rows + rows > _LARGEST:
            del self.commits[version]
            return
        commit.rows += rows
        commit.files -= 1

    def found(self) -> dict[int, int]:
        """The rows of the commits all of whose files are known."""
        return {
            version: commit.rows for version, commit in self.commits.items() if not commit.files
        }


def _rows(file: UncountedFile, add: Mapping[str, Any]) -> int | None:
    """The rows of a removed file by its add."""
    count = count_records(add.get("stats"))
    vector, _ = read_vector(add.get("deletionVector"))
    if count is None or vector != file.vector or count < file.hidden:
        return None
    return count - file.hidden
