"""A snapshot: one version of a table, which never changes."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from explorer.errors import (
    DeltaError,
    InvalidArgumentError,
    Problem,
    UnusableCheckpointError,
)
from explorer.log.actions.fields import ADD_FIELDS, REMOVE_FIELDS, FileAction
from explorer.log.folder.segment import LogSegment, no_other_way
from explorer.log.load import LoadedVersion, passed_over
from explorer.protocol.actions import DomainMetadata, Metadata, Protocol, Transaction
from explorer.protocol.features.row_id_high_water_mark import (
    ROW_TRACKING_DOMAIN,
    parse_domain_high_water_mark,
)
from explorer.storage.ports import ReadStore

if TYPE_CHECKING:
    import pyarrow as pa

    from explorer.log.few_files import FewFiles
    from explorer.log.state.file_columns import ReducibleFiles
    from explorer.protocol.schema import StructType
    from explorer.table._file_state import FileState

_NUM_RECORDS = "num_records"
_VECTOR = "deletion_vector"
FILE_COLUMNS = (*ADD_FIELDS, _NUM_RECORDS)
TOMBSTONE_COLUMNS = tuple(REMOVE_FIELDS)

_FILES_BY_DEFAULT = (
    "path",
    "size",
    "modification_time",
    "partition_values",
    "deletion_vector",
    "base_row_id",
    "default_row_commit_version",
)

_DERIVED = ("schema", "arrow_schema", "row_id_high_water_mark")
"""What is kept of what protocol and metadata say."""

Answer = TypeVar("Answer")
Reload = Callable[[LoadedVersion], LoadedVersion]


class Snapshot:
    """A table at one version, made by `Table.snapshot`.

    Files are read from the log when they are first used, and only the columns that are asked
    for. It may be shared between threads.
    """

    def __init__(
        self,
        *,
        store: ReadStore,
        loaded: LoadedVersion,
        time_of: Callable[[], datetime | None],
        reload: Reload,
        problems: Sequence[Problem] = (),
    ) -> None:
        self._store = store
        self._loaded = loaded
        self._time_of = time_of
        self._reload = reload
        self._problems = tuple(problems)
        self._lock = threading.RLock()
        self._totals: dict[str, int | None] = {}
        self._kept_counts: tuple[LoadedVersion, pa.Table] | None = None
        self._is_described = False
        self.protocol, self.metadata = loaded.small.required(loaded.segment.version)

    def described_by(self, protocol: Protocol, metadata: Metadata) -> Snapshot:
        """The same files under another description, as that of another version."""
        other = copy.copy(self)
        other.protocol, other.metadata, other._is_described = protocol, metadata, True
        for derived in _DERIVED:
            other.__dict__.pop(derived, None)
        return other

    def __repr__(self) -> str:
        """Where and which."""
        return f"Snapshot({self.uri!r}, version={self.version})"

    @property
    def held_bytes(self) -> int:
        """The bytes that it caches of its files, without the cache of its `Table`."""
        kept = self._kept_counts
        return self._loaded.nbytes + (0 if kept is None else int(kept[1].nbytes))

    @property
    def store(self) -> ReadStore:
        """The store of the table, which can only read."""
        return self._store

    @property
    def uri(self) -> str:
        """The location of the table, without secrets."""
        return self._store.uri

    @property
    def version(self) -> int:
        """The version of this snapshot."""
        return self._loaded.segment.version

    @cached_property
    def timestamp(self) -> datetime | None:
        """When the version was committed, in UTC; None where its commit is no longer in the
        log."""
        return self._time_of()

    @property
    def segment(self) -> LogSegment:
        """The checkpoint and commits that it was read from."""
        return self._loaded.segment

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Problems of the log that did not prevent reading it, as far as it was read."""
        # what two ways to the same files met is told once
        return tuple(dict.fromkeys((*self._problems, *self._loaded.problems)))

    @cached_property
    def schema(self) -> StructType:
        """The table's columns (spec: Schema Serialization Format); none where the metadata has
        no schema."""
        # the types of schemas take longer to load than a small table to open
        from explorer.protocol.schema import parse_schema  # noqa: PLC0415  # see above

        return parse_schema(self.metadata.schema_string)

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """The table's columns as Arrow types."""
        from explorer.protocol.arrow_types import arrow_schema  # noqa: PLC0415  # brings Arrow

        return arrow_schema(self.schema)

    @property
    def transactions(self) -> Mapping[str, Transaction]:
        """The newest transaction identifier of each application; none expired."""
        return dict(self._loaded.small.transactions)

    @property
    def domains(self) -> Mapping[str, DomainMetadata]:
        """The metadata domains in force; removed ones are left out."""
        held = self._loaded.small.domains
        return {name: domain for name, domain in held.items() if not domain.removed}

    @cached_property
    def row_id_high_water_mark(self) -> int | None:
        """The highest row id given out, by the domain `delta.rowTracking`, else by the
        action of an older revision; None where neither says (spec: Row Tracking)."""
        domain = self.domains.get(ROW_TRACKING_DOMAIN)
        mark = None if domain is None else parse_domain_high_water_mark(domain.configuration)
        return self._loaded.small.row_id_high_water_mark if mark is None else mark

    @property
    def num_files(self) -> int:
        """How many live files there are."""
        return self._total("num_files", lambda: self._count("add")) or 0

    @property
    def num_tombstones(self) -> int:
        """How many tombstones there are, however old."""
        return self._total("num_tombstones", lambda: self._count("remove")) or 0

    @property
    def size_in_bytes(self) -> int:
        """The bytes of the live files, as the log says."""
        return self._total("size", self._sum_sizes) or 0

    @property
    def num_deletion_vectors(self) -> int:
        """How many live files have a deletion vector."""
        return self._total("vectors", self._count_vectors) or 0

    @property
    def num_deleted_rows(self) -> int | None:
        """How many rows are deleted by deletion vectors, by their cardinalities; None where one
        is impossible: missing, below 0, or above the `numRecords` of its file."""
        return self._total("deleted", self._count_deleted)

    @property
    def has_record_counts(self) -> bool:
        """Whether `num_records` of the live files are kept, so that asking for them reads no
        statistics."""
        kept = self._kept_counts
        return kept is not None and kept[0] is self._loaded

    @property
    def num_rows(self) -> int | None:
        """The number of live rows by statistics; None where a file has no `numRecords`, or
        where `num_deleted_rows` is None. Statistics that cannot be read are then in
        `problems`."""
        return self._total("rows", self._count_rows)

    def files(self, columns: Sequence[str] | None = None) -> pa.Table:
        """The live files, one row each, with just these columns.

        On request also `stats` (as stored), `num_records` (physical), `tags`,
        `clustering_provider` and `data_change`.
        """
        wanted = _checked(columns, _FILES_BY_DEFAULT, FILE_COLUMNS)
        return self.with_logical_names(self._raw("add", wanted))

    def tombstones(self, columns: Sequence[str] | None = None) -> pa.Table:
        """The tombstones, one row each, with just these columns; none is dropped by age."""
        wanted = _checked(columns, TOMBSTONE_COLUMNS, TOMBSTONE_COLUMNS)
        return self.with_logical_names(self._raw("remove", wanted))

    def physical_files(self, action: FileAction, columns: Sequence[str]) -> pa.Table:
        """Adds or removes with the keys of `partition_values` as in the log."""
        every = FILE_COLUMNS if action == "add" else TOMBSTONE_COLUMNS
        return self._raw(action, _checked(columns, (), every))

    def over_files(self, question: Callable[[ReducibleFiles], Answer]) -> Answer:
        """Call `question` with the reconciled files. It is called again where a checkpoint turns
        out to be broken: the files are then read from another checkpoint or the commits."""
        return self.consult(lambda loaded: question(loaded.state))

    def among(self, keys: pa.ChunkedArray, columns: Sequence[str]) -> pa.Table:
        """The live files whose key (see `explorer.log.reconcile.key_columns`) is one of `keys`, as
        `physical_files` has them."""
        from explorer.table.files_table import read_among  # noqa: PLC0415  # brings Arrow

        wanted = _checked(columns, (), FILE_COLUMNS)
        return self.consult(lambda loaded: read_among(loaded, keys, wanted))

    @property
    def file_state(self) -> FileState:
        """The live files as a `FileState`."""
        return SnapshotFiles(self)

    def _raw(self, action: FileAction, columns: Sequence[str]) -> pa.Table:
        from explorer.table.files_table import read_files_table  # noqa: PLC0415  # brings Arrow

        def read(loaded: LoadedVersion) -> pa.Table:
            if _NUM_RECORDS not in columns:
                return read_files_table(loaded, action, columns)
            stored = [name for name in columns if name != _NUM_RECORDS]
            counts = self._counts(loaded)
            if not stored:
                return counts
            files = read_files_table(loaded, action, stored)
            return files.append_column(_NUM_RECORDS, counts.column(0)).select(list(columns))

        return self.consult(read)

    def _counts(self, loaded: LoadedVersion) -> pa.Table:
        """`num_records` of all live files; kept, because finding them means parsing all
        statistics, and they take eight bytes a file. Rows are in the order of `loaded`."""
        from explorer.table.files_table import read_record_counts  # noqa: PLC0415  # brings Arrow

        kept = self._kept_counts
        if kept is None or kept[0] is not loaded:
            kept = (loaded, read_record_counts(loaded))
            self._kept_counts = kept
        return kept[1]

    def _count(self, action: FileAction) -> int:
        return self.consult(lambda loaded: loaded.count(action))

    @property
    def loaded(self) -> LoadedVersion:
        """The loaded version, for questions about its log; use `consult` for its files."""
        return self._loaded

    def consult(self, question: Callable[[LoadedVersion], Answer]) -> Answer:
        """Call `question` with the loaded version. If its checkpoint turns out to be broken, the
        version is loaded again without it, and `question` is called again."""
        while True:
            loaded = self._loaded
            try:
                return question(loaded)
            except UnusableCheckpointError as error:
                with self._lock:
                    if self._loaded is loaded:
                        self._loaded = self._without_checkpoint(loaded, error)

    def _without_checkpoint(
        self, loaded: LoadedVersion, error: UnusableCheckpointError
    ) -> LoadedVersion:
        checkpoint = loaded.segment.checkpoint
        if checkpoint is None:
            raise error
        try:
            found = self._reload(loaded)
        except DeltaError as cause:
            # whatever stands in the way of the other route, this is why it was tried
            listing = loaded.listing.without(checkpoint)
            raise no_other_way(error, listing, self.version, cause) from None
        self._problems += (passed_over(error, checkpoint.names[0], found.segment),)
        if not self._is_described:
            # what the broken checkpoint said of these may be as wrong as its files
            self.protocol, self.metadata = found.small.required(found.segment.version)
        for derived in _DERIVED:
            self.__dict__.pop(derived, None)
        return found

    def _total(self, name: str, compute: Callable[[], int | None]) -> int | None:
        with self._lock:
            if name not in self._totals:
                self._totals[name] = compute()
            return self._totals[name]

    def _few(self) -> FewFiles | None:
        # many open a table and ask for none of its figures
        from explorer.log.few_files import count_few  # noqa: PLC0415  # see above

        return count_few(self._loaded)

    def _sum_sizes(self) -> int:
        if (few := self._few()) is not None:
            return sum(few.sizes)
        from explorer.table.frames import sum_of  # noqa: PLC0415  # brings Arrow

        return sum_of(self._raw("add", ["size"]).column("size"))

    def _count_vectors(self) -> int:
        if (few := self._few()) is not None:
            return few.num_vectors
        vectors = self._raw("add", [_VECTOR]).column(_VECTOR)
        return int(len(vectors) - vectors.null_count)

    def _count_deleted(self) -> int | None:
        if not self.num_deletion_vectors:
            return 0
        few = self._few()
        if few is not None and few.num_deleted_rows is not None:
            return few.num_deleted_rows
        from explorer.table.row_counts import count_deleted  # noqa: PLC0415  # brings Arrow

        count, problem = count_deleted(self._raw("add", ["path", _VECTOR, _NUM_RECORDS]))
        self.tell(problem)
        return count

    def _count_rows(self) -> int | None:
        few = self._few()
        if few is not None and few.num_rows is not None:
            return few.num_rows
        if few is not None and few.says_no_rows:
            return None
        from explorer.table.frames import sum_of  # noqa: PLC0415  # brings Arrow

        counts = self._raw("add", [_NUM_RECORDS]).column(_NUM_RECORDS)
        if counts.null_count:
            from explorer.table.row_counts import find_unreadable  # noqa: PLC0415  # rarely needed

            self.tell(self.over_files(find_unreadable))
        deleted = self.num_deleted_rows
        return None if counts.null_count or deleted is None else sum_of(counts) - deleted

    def tell(self, problem: Problem | None) -> None:
        """Add to `problems` what was found while the files of this version were read, once."""
        if problem is not None and problem not in self._problems:
            self._problems += (problem,)

    def with_logical_names(self, files: pa.Table) -> pa.Table:
        """Files of `physical_files` as `files` has them: partition values by logical names."""
        if not self.metadata.partition_columns or "partition_values" not in files.column_names:
            return files
        from explorer.protocol.features.column_mapping import (  # noqa: PLC0415  # see `schema`
            column_mapping_mode,
            physical_name,
        )

        mode = column_mapping_mode(self.protocol, self.metadata.configuration)
        if mode == "none":
            return files
        from explorer.table.frames import with_logical_names  # noqa: PLC0415  # brings Arrow

        names = {physical_name(field, mode): field.name for field in self.schema.fields}
        return with_logical_names(files, names)


class SnapshotFiles:
    """A `FileState` over a snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    @property
    def count(self) -> int:
        """How many live files there are."""
        return self._snapshot.num_files

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The live files in batches."""
        yield from self._snapshot.files(columns).to_batches()

    def find(self, path: str, columns: Sequence[str]) -> pa.Table:
        """The live files of one path."""
        from explorer.table.frames import rows_of  # noqa: PLC0415  # brings Arrow

        return rows_of(self._snapshot.files([*dict.fromkeys(["path", *columns])]), path, columns)


def _checked(
    columns: Sequence[str] | None, default: Sequence[str], every: Sequence[str]
) -> list[str]:
    wanted = list(default if columns is None else columns)
    if not wanted:
        raise InvalidArgumentError(
            "No column is named.",
            reason="A table without columns has no rows either.",
            remedy=f"Name at least one of {', '.join(sorted(every))}.",
        )
    unknown = [name for name in wanted if name not in every]
    if unknown:
        raise InvalidArgumentError(
            f"There is no column {unknown[0]!r} here.",
            reason="Only what the log says of a file can be asked for.",
            remedy=f"Choose from {', '.join(sorted(every))}.",
        )
    if len(set(wanted)) != len(wanted):
        raise InvalidArgumentError(
            "A column is named twice.",
            reason="Each column of the answer needs its own name.",
            remedy="Name every column once.",
        )
    return wanted
