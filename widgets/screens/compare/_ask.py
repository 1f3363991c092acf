"""Two versions compared, layer by layer, and what a restore would do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

import explorer
from explorer import maintenance
from explorer.comparison.file_changes import FileChanges, RowChanges
from explorer.comparison.schema_changes import SchemaChange
from explorer.comparison.table_settings import ProtocolChange, SettingChange
from explorer.comparison.versions import VersionDiff
from explorer.errors import Problem
from explorer.inspect.commits.commit_counts import commits_between
from explorer.progress import Watch
from widgets.session.asking import attempt_fact
from widgets.session.tables import TableService

FileKind = Literal["added", "removed", "changed"]
FILE_KINDS: tuple[FileKind, ...] = ("added", "removed", "changed")

FREE_STATISTICS = 100_000
"""Files of both versions together whose statistics are read without being asked for:
they take about a second."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two versions of a table; `older` is -1 before the first one."""

    service: TableService
    older: int
    newer: int


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What differs beside the files; a problem stands where a layer cannot be read.

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


@dataclass(frozen=True, slots=True)
class Opened:
    """Two versions that have been opened."""

    pair: Pair
    settings: Settings = field(compare=False)


@dataclass(frozen=True, kw_only=True)
class Files:
    """The files that came, went or changed, and what that did to rows."""

    changes: FileChanges
    rows: RowChanges
    bytes_added: int
    bytes_removed: int

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
    service: TableService, older: int, newer: int, watch: Watch, tell: Callable[[str], None]
) -> Settings:
    """Open both versions; what can be said of them without looking at files. `tell` hears
    before what commits lie between them.

    Raises `DeltaError` where one of them cannot be opened.
    """
    tell(commits_between(service.table, older, newer).sentence)
    before = service.snapshot(older, watch)
    found = explorer.diff(before, service.snapshot(newer, watch))
    return Settings(
        found=found,
        notes=found.notes,
        schema=attempt_fact(lambda: found.schema),
        properties=attempt_fact(lambda: found.properties),
        protocol=attempt_fact(lambda: found.protocol),
        num_files=found.older.num_files + found.newer.num_files,
        more_files=found.newer.num_files - found.older.num_files,
    )


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
