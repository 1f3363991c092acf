"""Two versions of a table compared: what `explorer.diff` answers.

Older to newer in the order of the arguments: with the newer version first it is
what restoring the older one would do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from explorer.progress import UNWATCHED, Cancel, ProgressCallback, Watch
from explorer.table.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa

    from explorer.comparison.file_changes import FileChanges, RowChanges
    from explorer.comparison.routes import LoggedActions
    from explorer.comparison.schema_changes import SchemaChange
    from explorer.comparison.table_settings import ProtocolChange, SettingChange


@dataclass(frozen=True, kw_only=True)
class VersionDiff:
    """The differences between two snapshots in layers, each found when it is first asked for."""

    older: Snapshot
    newer: Snapshot
    watch: Watch = UNWATCHED

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What should be known before the rest is read; empty for two versions of one table
        in the order of time."""
        notes = []
        if self.is_of_two_tables:
            notes.append("The table ids differ: these are different tables, or one is a clone.")
        elif self.older.uri != self.newer.uri:
            notes.append("Both have the same table id in different places: one is a copy.")
        elif self.older.version > self.newer.version:
            notes.append(
                "The second version is older: this is what restoring version "
                f"{self.newer.version} would do."
            )
        return tuple(notes)

    @property
    def is_of_two_tables(self) -> bool:
        """Whether the sides are no versions of one table, nor of a copy: neither was before the
        other."""
        return self.older.metadata.id != self.newer.metadata.id

    @cached_property
    def files(self) -> FileChanges:
        """The files that were added, removed or changed."""
        from explorer.comparison.file_changes import FileChanges  # noqa: PLC0415  # brings Arrow
        from explorer.comparison.routes import find_candidates  # noqa: PLC0415  # as above

        candidates = find_candidates(self.older, self.newer, self.watch)
        return FileChanges(candidates, self.older, self.newer, self.watch)

    @cached_property
    def logged(self) -> LoggedActions | None:
        """What the commits between say of files, whatever was there before: read from these
        commits alone. None where there are none, or where they cannot be read."""
        from explorer.comparison.routes import logged_actions  # noqa: PLC0415  # brings Arrow

        return logged_actions(self.older, self.newer, self.watch)

    @cached_property
    def rows(self) -> RowChanges:
        """Rows by statistics."""
        return self.files.rows

    @cached_property
    def statistics(self) -> pa.Table:
        """Coverage, ranges and null counts by column, before and after; all statistics
        of both versions are read for it (`statistics_changes` names the columns)."""
        from explorer.comparison._statistics_changes import (  # noqa: PLC0415  # brings Arrow
            statistics_changes,
        )

        return statistics_changes(self.older, self.newer, self.watch)

    @cached_property
    def schema(self) -> tuple[SchemaChange, ...]:
        """The schema, field by field."""
        from explorer.comparison import schema_changes  # noqa: PLC0415  # as above

        if self.is_of_two_tables:
            return schema_changes.schema_differences(self.older, self.newer)
        return schema_changes.schema_changes(self.older, self.newer)

    @cached_property
    def properties(self) -> tuple[SettingChange, ...]:
        """Properties, facts of the table such as its name, domains and transactions."""
        from explorer.comparison.table_settings import setting_changes  # noqa: PLC0415  # as above

        return setting_changes(self.older, self.newer)

    @cached_property
    def protocol(self) -> ProtocolChange:
        """Versions and features."""
        from explorer.comparison.table_settings import protocol_change  # noqa: PLC0415  # as above

        return protocol_change(self.older, self.newer)


def diff(
    older: Snapshot,
    newer: Snapshot,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> VersionDiff:
    """What differs between two snapshots, of one table or of two; nothing is read until
    a layer of the answer is asked for."""
    return VersionDiff(older=older, newer=newer, watch=Watch(progress=progress, cancel=cancel))
