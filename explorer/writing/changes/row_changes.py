"""What a statement does to the files of a table, as actions and as metrics (spec: Add File and
Remove File, Add CDC File)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import ADD_COLUMNS, empty_table, schema_of
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.features.registry import is_active
from explorer.protocol.file_actions import AddCDCFile
from explorer.protocol.paths import encode_path
from explorer.table.frames import sum_of
from explorer.writing.changes.hidden_rows import HiddenRows
from explorer.writing.files.adds import adds_of
from explorer.writing.files.removes import removes_of
from explorer.writing.files.row_files import WRITTEN_ROWS, names_of

NO_FILES: Final = empty_table(schema_of(ADD_COLUMNS))
NOTHING_WRITTEN: Final = empty_table(WRITTEN_ROWS)
NOTHING_HIDDEN: Final = HiddenRows(before=NO_FILES, after=NO_FILES)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChanges:
    """What becomes of files.

    - `removed`: live files that go, with every column of an add: as a whole, without a live row
      left, or because the rows that stay were copied
    - `hidden`: live files that get another vector
    - `copied`: new files with the rows that stay, `WRITTEN_ROWS`
    - `written`: new files of new and updated rows, likewise
    - `feed`: new files of change data, likewise
    """

    removed: pa.Table = field(default_factory=lambda: NO_FILES)
    hidden: HiddenRows = field(default_factory=lambda: NOTHING_HIDDEN)
    copied: pa.Table = field(default_factory=lambda: NOTHING_WRITTEN)
    written: pa.Table = field(default_factory=lambda: NOTHING_WRITTEN)
    feed: pa.Table = field(default_factory=lambda: NOTHING_WRITTEN)

    @property
    def is_nothing(self) -> bool:
        """Whether there is nothing to commit."""
        every = (self.removed, self.hidden.after, self.written)
        return not any(table.num_rows for table in every)

    @property
    def paths(self) -> tuple[str, ...]:
        """The new files, which go again where nothing is committed."""
        tables = (self.copied, self.written, self.feed)
        return (*self.hidden.paths, *(path for table in tables for path in names_of(table)))

    def removes(self, now: int) -> pa.Table:
        """The removes, at that time in milliseconds."""
        return removes_of(pa.concat_tables([self.removed, self.hidden.before]), now)

    def adds(self, tags: Mapping[str, str] | None = None) -> Iterator[pa.RecordBatch]:
        """The adds: files that stay keep their ids, new ones have `tags` and get ids by the
        commit."""
        yield from self.hidden.after.to_batches()
        for table in (self.copied, self.written):
            yield from adds_of(table, tags=tags).to_batches()

    def change_data(self) -> Iterator[AddCDCFile]:
        """The actions of change data files."""
        for row in self.feed.select(["path", "partition_values", "size"]).to_pylist():
            yield AddCDCFile(
                path=encode_path(row["path"]),
                partition_values=dict(row["partition_values"]),
                size=row["size"],
            )

    def file_metrics(self) -> dict[str, int]:
        """What the reference counts of files, under its names. A vector that takes another's place
        is added, removed and updated."""
        vectors = self.hidden.before.column("deletion_vector")
        updated = len(vectors) - vectors.null_count
        gone = self.removed.column("deletion_vector")
        new = pa.concat_tables([self.copied, self.written])
        return {
            "numRemovedFiles": self.removed.num_rows,
            "numRemovedBytes": sum_of(self.removed.column("size")),
            "numAddedFiles": new.num_rows,
            "numAddedBytes": sum_of(new.column("size")),
            "numCopiedRows": sum_of(self.copied.column("num_rows")),
            "numDeletionVectorsAdded": len(vectors),
            "numDeletionVectorsRemoved": updated + len(gone) - gone.null_count,
            "numDeletionVectorsUpdated": updated,
            "numAddedChangeFiles": self.feed.num_rows,
        }


def takes_vectors(protocol: Protocol, metadata: Metadata) -> bool:
    """Whether rows are hidden by new deletion vectors, and not by copying the others."""
    return is_active("deletionVectors", protocol, metadata, None)


def has_feed(protocol: Protocol, metadata: Metadata) -> bool:
    """Whether the table's change data feed is on."""
    return is_active("changeDataFeed", protocol, metadata, None)


def needs_change_data(
    protocol: Protocol, metadata: Metadata, *, updates: bool, copies: bool
) -> bool:
    """Whether a statement writes change data: where the feed is on, and rows are updated, or the
    rows that stay are copied. Else vectors, removed files and new files say what changed."""
    return has_feed(protocol, metadata) and (updates or copies)


def files_of(live: pa.Table, paths: pa.ChunkedArray) -> pa.Table:
    """The live files at `paths`, in the order of these."""
    at = pc.index_in(paths.combine_chunks(), value_set=live.column("path").combine_chunks())
    return live.take(at)
