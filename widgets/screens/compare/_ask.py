"""Two versions compared, layer by layer, and what a restore would do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

import explorer
import explorer.inspect as look
from explorer import maintenance
from explorer.comparison.file_changes import FileChanges, RowChanges
from explorer.comparison.schema_changes import SchemaChange
from explorer.comparison.table_settings import ProtocolChange, SettingChange
from explorer.comparison.versions import VersionDiff
from explorer.errors import DeltaError, Problem
from explorer.inspect.commits.commit_counts import commits_between
from explorer.inspect.commits.told_commits import sentence_of_info
from explorer.progress import Watch
from explorer.table.frames import sum_of
from explorer.table.snapshot import Snapshot
from widgets.screens.compare._moves import PartitionMove, moves_by_partition
from widgets.session.asking import attempt_fact
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService

FileKind = Literal["added", "removed", "changed"]
FILE_KINDS: tuple[FileKind, ...] = ("added", "removed", "changed")

FREE_STATISTICS = 100_000
"""Files of both versions together whose statistics are read without being asked for:
they take about a second."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two versions of a table; `older` is -1 before the first one.

    Where another table is compared with, `newer` is a version of that one, its newest where it is
    None, and `older` one of this table.
    """

    service: TableService
    older: int
    newer: int | None
    other: str = ""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What differs beside the files; a problem stands where a layer cannot be read.

    `commit` is the sentence of the only commit between, where it records what it did; else empty.
    `found` has both versions. `num_files` is of both versions together, `more_files` by how
    many the newer one has more.
    """

    found: VersionDiff
    notes: tuple[str, ...]
    schema: tuple[SchemaChange, ...] | Problem
    properties: tuple[SettingChange, ...] | Problem
    protocol: ProtocolChange | Problem
    num_files: int
    more_files: int
    commit: str = ""

    @property
    def is_of_two_tables(self) -> bool:
        """Whether neither side was before the other."""
        return self.found.is_of_two_tables

    @property
    def older(self) -> Snapshot:
        """The version that the comparison starts from."""
        return self.found.older

    @property
    def newer(self) -> Snapshot:
        """The version to which it leads."""
        return self.found.newer


@dataclass(frozen=True, slots=True)
class Opened:
    """Two versions that have been opened."""

    pair: Pair
    settings: Settings = field(compare=False)


@dataclass(frozen=True, kw_only=True)
class Files:
    """The files that were added, removed or changed, what that did to rows, and by partition;
    `moves` is None where there are too many files for that."""

    changes: FileChanges
    rows: RowChanges
    bytes_added: int
    bytes_removed: int
    bytes_to_read: int = 0
    moves: tuple[PartitionMove, ...] | None = ()

    @property
    def num_files(self) -> int:
        """How many files differ."""
        return sum(self.count(kind) for kind in FILE_KINDS)

    def count(self, kind: FileKind) -> int:
        """How many files of one kind."""
        counts = {
            "added": self.changes.num_added,
            "removed": self.changes.num_removed,
            "changed": self.changes.num_changed,
        }
        return counts[kind]

    def slices(
        self, kinds: Sequence[FileKind], offset: int, limit: int
    ) -> Iterator[tuple[FileKind, pa.Table]]:
        """At most `limit` files of these kinds one after the other, from the one at
        `offset` on: of each kind those with the columns of `FileChanges`."""
        for kind in kinds:
            count = self.count(kind)
            if offset < count and limit > 0:
                yield kind, getattr(self.changes, kind).slice(offset, limit)
                limit -= min(limit, count - offset)
            offset = max(0, offset - count)


def read_settings(
    services: PageServices, pair: Pair, watch: Watch, tell: Callable[[str], None]
) -> Settings:
    """Open both versions; what can be said of them without looking at files. `tell` hears
    before what commits lie between them.

    Raises `DeltaError` where one of them cannot be opened.
    """
    if pair.other:
        other = services.open(pair.other)
        newer = other.read_overview().latest if pair.newer is None else pair.newer
        after = other.snapshot(newer, watch)
        before = pair.service.snapshot(pair.older, watch)
    else:
        newer = pair.older + 1 if pair.newer is None else pair.newer
        tell(commits_between(pair.service.table, pair.older, newer).sentence)
        before = pair.service.snapshot(pair.older, watch)
        after = pair.service.snapshot(newer, watch)
    found = explorer.diff(before, after)
    return Settings(
        found=found,
        notes=found.notes,
        schema=attempt_fact(lambda: found.schema),
        properties=attempt_fact(lambda: found.properties),
        protocol=attempt_fact(lambda: found.protocol),
        num_files=found.older.num_files + found.newer.num_files,
        more_files=found.newer.num_files - found.older.num_files,
        commit=_only_commit(pair.service, before.version, after.version) if not pair.other else "",
    )


def _only_commit(service: TableService, older: int, newer: int) -> str:
    """What the log alone tells of the rows, before any file is looked at."""
    if newer != older + 1:
        return ""
    try:
        info = service.read_commit(newer)
    except DeltaError:
        return ""  # a checkpoint has the version, and the log not its commit
    return sentence_of_info(info).text if info["metrics"] else ""


def read_file_changes(settings: Settings, watch: Watch) -> Files:
    """The files and rows that differ."""
    changes = explorer.diff(
        settings.found.older, settings.found.newer, progress=watch.progress, cancel=watch.cancel
    ).files
    return Files(
        changes=changes,
        rows=changes.rows,
        bytes_added=changes.bytes_added,
        bytes_removed=changes.bytes_removed,
        bytes_to_read=changes.bytes_added + changes.bytes_removed + _changed_bytes(changes),
        moves=moves_by_partition(changes, watch),
    )


def _changed_bytes(changes: FileChanges) -> int:
    """Bytes of both sides of the files that changed; reading rows reads both."""
    if not changes.num_changed:
        return 0
    sides = (changes.changed.column(f"size_{side}") for side in ("before", "after"))
    return sum(sum_of(sizes) for sizes in sides)


def read_row_differences(
    settings: Settings, files: FileChanges, key: Sequence[str], watch: Watch
) -> look.RowDifferences:
    """The rows that differ, by reading the `files` that differ; `key` are the columns by which a
    row is the same one, none where they are to be found."""
    return look.row_differences(
        settings.older,
        settings.newer,
        key=list(key) or None,
        files=files,
        progress=watch.progress,
        cancel=watch.cancel,
    )


def read_statistics_changes(settings: Settings, watch: Watch) -> pa.Table:
    """A row per column, see `explorer.comparison._statistics_changes`."""
    found = settings.found
    return explorer.diff(
        found.older, found.newer, progress=watch.progress, cancel=watch.cancel
    ).statistics


def plan_restore(service: TableService, version: int, watch: Watch) -> maintenance.Plan:
    """What restoring `version` would do to the newest one; nothing is changed."""
    return maintenance.plan_restore(
        service.table, version, progress=watch.progress, cancel=watch.cancel
    )
