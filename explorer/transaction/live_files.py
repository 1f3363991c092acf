"""The live files of the version that a transaction read, asked as far as a commit needs it.

What is asked of every file is path and vector alone; all else is read of those that matter.
Files that were added or removed since are nothing to these answers: they are conflicts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import ADD_COLUMNS, empty_table, schema_of
from explorer.log.reconcile.key_columns import KEY_COLUMNS, keys_of
from explorer.transaction.read_set import path_keys

if TYPE_CHECKING:
    from explorer.log.state.file_columns import FileColumns
    from explorer.protocol.actions import Metadata
    from explorer.table.snapshot import Snapshot


class LiveFiles(Protocol):
    """What a commit asks of the files that were live when it was made."""

    def at_paths(self, paths: pa.ChunkedArray) -> pa.Table:
        """The live files that lie at one of some paths (in the form of `path_keys`), with
        every column of an add."""
        ...

    def without(self, keys: pa.ChunkedArray) -> pa.Table:
        """The path and vector of the live files whose key, as the log reconciles them (see
        `explorer.log.reconcile.key_columns`), is none of `keys`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierVersion:
    """The version that a restore goes back to: its metadata and its live files."""

    metadata: Metadata
    files: LiveFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesOf:
    """The live files of `snapshot`."""

    snapshot: Snapshot

    def at_paths(self, paths: pa.ChunkedArray) -> pa.Table:
        """As `LiveFiles` has it."""
        root = self.snapshot.uri

        def found(files: pa.Table) -> pa.ChunkedArray:
            return pc.is_in(path_keys(files, root), value_set=paths)

        keys = keys_of(self._where(found))
        if not len(keys):
            return empty_table(schema_of(ADD_COLUMNS))
        return self.snapshot.among(keys, list(ADD_COLUMNS))

    def without(self, keys: pa.ChunkedArray) -> pa.Table:
        """As `LiveFiles` has it."""
        return self._where(lambda files: pc.invert(pc.is_in(keys_of(files), value_set=keys)))

    def _where(self, holds: Callable[[pa.Table], pa.ChunkedArray]) -> pa.Table:
        def chosen(files: FileColumns) -> pa.Table:
            return files.table.filter(holds(files.table))

        columns = list(KEY_COLUMNS)
        pieces = self.snapshot.over_files(
            lambda state: list(state.reduce_files(columns, (), chosen))
        )
        names = {name: ADD_COLUMNS[name] for name in columns}
        return pa.concat_tables(
            [empty_table(schema_of(names)), *(piece.select(columns) for piece in pieces)]
        )
