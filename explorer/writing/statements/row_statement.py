"""A write of rows that has been looked into: what the table will be, what the rows have to keep,
how they become files, and which files go.

Nothing is written yet. A writer, in this process or in the tasks of Spark, makes files by `gate`
and `form`; `commit` makes them the next version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID, uuid4

import orjson
import pyarrow as pa

from explorer.errors import NotFoundError
from explorer.log.actions.columns import ADD_COLUMNS, empty_table, schema_of
from explorer.log.reconcile.key_columns import keys_of
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.actions import Metadata, Protocol, Transaction
from explorer.protocol.commit_json import Action
from explorer.protocol.features.iceberg import iceberg_tags
from explorer.protocol.schema import parse_schema, render_schema, render_type
from explorer.scan.sql.conditions import parse_scan_predicate
from explorer.storage.ports import WriteStore
from explorer.table.frames import sum_of
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table
from explorer.table.times import Clock, utc_time
from explorer.transaction.conflicts import Conflict, ConflictRule
from explorer.transaction.live_files import FilesOf
from explorer.transaction.read_set import WHOLE_TABLE, ReadSet
from explorer.transaction.read_version import NO_TABLE, read_version_of
from explorer.transaction.requirements import check_commit
from explorer.transaction.staged import Promises, Provenance, StagedCommit
from explorer.writing.changes.candidates import Candidates, find_candidates
from explorer.writing.changes.row_changes import RowChanges
from explorer.writing.commits.after_commit import follow_commit
from explorer.writing.commits.commit_rows import commit_rows
from explorer.writing.commits.provenance import engine_info, isolation_level_of
from explorer.writing.files.adds import adds_of
from explorer.writing.files.leftovers import raise_without
from explorer.writing.files.removes import removes_of
from explorer.writing.files.row_files import WRITTEN_ROWS, RowForm, names_of
from explorer.writing.gate.identity import with_marks
from explorer.writing.gate.plan import GatePlan
from explorer.writing.statements._replaced_files import (
    files_of_partitions,
    files_to_replace,
    speaks_of_rows,
)
from explorer.writing.statements.options import WriteOptions, WriteResult

WRITE: Final = "WRITE"
"""The operation of a write, as the reference calls it."""

_OF_FILES: Final[frozenset[ConflictRule]] = frozenset(
    {"concurrent append", "concurrent delete-read", "concurrent delete-delete", "same file"}
)
_OF_SETTINGS: Final[frozenset[ConflictRule]] = frozenset(
    {"protocol changed", "metadata changed", "domain metadata"}
)
_NO_FILES: Final = empty_table(schema_of(ADD_COLUMNS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The table that is written to: `snapshot` is its newest version, None where there is none
    yet. `store` may change it, which a table that was opened for reading cannot."""

    store: WriteStore
    table: Table
    snapshot: Snapshot | None

    def __reduce__(self) -> tuple[Callable[..., Target], tuple[WriteStore, int | None]]:
        """It is opened again where it is needed, at the same version."""
        return _open_again, (self.store, None if self.snapshot is None else self.snapshot.version)


def _open_again(store: WriteStore, version: int | None) -> Target:
    table = Table(store)
    snapshot = None if version is None else table.snapshot(version=version)
    return Target(store=store, table=table, snapshot=snapshot)


def open_target(store: WriteStore, opened: Table | None = None) -> Target:
    """The table as it is now; raises what `Table.snapshot` raises, unless there is no table.
    One that somebody has open is read through, so that only what is new in its log is."""
    # exactly a table: those of another kind read other files than this store has
    is_same = type(opened) is Table and opened.uri == store.uri
    table = opened if opened is not None and is_same else Table(store)
    try:
        return Target(store=store, table=table, snapshot=table.snapshot())
    except NotFoundError as error:
        if error.kind not in {"table_not_found", "log_empty"}:  # nothing was ever committed
            raise
        return Target(store=store, table=table, snapshot=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowStatement:
    """A write that is ready for its rows. `protocol` and `metadata` are those of the version that
    is to be, `changes` the actions that make them so. `id` is in the name of every file, and is
    the transaction id of the commit. `reads` is what the rows depend on,
    `kept_domains` are domains of the specification among `changes`. `operation` and `parameters`
    are what `commitInfo` says, the latter None for those of a write. `is_pinned` says that somebody
    approved of what it does to the very version that it was made from."""

    target: Target
    options: WriteOptions
    id: UUID
    protocol: Protocol
    metadata: Metadata
    changes: tuple[Action, ...]
    kept_domains: frozenset[str]
    gate: GatePlan
    form: RowForm
    reads: ReadSet
    clock: Clock
    ids: Callable[[], UUID] = uuid4
    operation: str = WRITE
    parameters: Mapping[str, str] | None = None
    is_pinned: bool = False

    @property
    def is_dynamic(self) -> bool:
        """Whether only the partitions that rows come for are overwritten."""
        options, names = self.options, self.metadata.partition_columns
        is_asked = options.partition_overwrite == "dynamic" and bool(names)
        return options.mode == "overwrite" and is_asked

    @property
    def replaces_all(self) -> bool:
        """Whether no file that was live stays."""
        options = self.options
        return options.mode == "overwrite" and not (options.replace_where or self.is_dynamic)

    @property
    def replaces_rows(self) -> bool:
        """Whether rows go that only their files tell from others: by a condition on columns that
        the table is not partitioned by."""
        snapshot, where = self.target.snapshot, self.options.replace_where
        if snapshot is None or where is None:
            return False
        return speaks_of_rows(snapshot.metadata, where)

    @property
    def replaces_rows_later(self) -> bool:
        """Whether the same write upon the table that it makes would be one of `replaces_rows`: as
        the second batch of a stream is that creates its table."""
        where = self.options.replace_where
        return where is not None and speaks_of_rows(self.metadata, where)

    def files_that_go(self) -> tuple[int, int]:
        """How many files, and bytes, the rows take the place of, as far as that is known before
        there are rows; where they replace single rows, how many files may hold some of these."""
        gone = self._gone(self.target.snapshot, WRITTEN_ROWS.empty_table())
        return gone.num_rows, sum_of(gone.column("size"))

    def check(self) -> None:
        """Raise what the rules of the table say against the commit, as far as that is known
        before there are rows: nothing is written in vain."""
        check_commit(self._stage(self.target.snapshot, WRITTEN_ROWS.empty_table(), self.clock()))

    def commit(
        self,
        written: pa.Table,
        marks: Mapping[str, int] | None = None,
        *,
        leaving: RowChanges | None = None,
        watch: Watch = UNWATCHED,
    ) -> WriteResult | Conflict:
        """Make new files, with the schema `WRITTEN_ROWS`, the next version, or say which commit
        stands in the way; raises what `commit_rows` raises. `marks` are the last numbers that
        identity columns got, `leaving` is what becomes of the files whose rows are replaced."""
        if self.replaces_rows and leaving is None:
            raise AssertionError("whole files would go for some of their rows")
        paths = (*names_of(written), *(() if leaving is None else leaving.paths))
        snapshot = self.target.snapshot

        def again(conflict: Conflict) -> StagedCommit | None:
            newest = self.target.table.snapshot()
            if self._is_repeated(newest):
                raise _Repeated
            if not self._may_follow(newest, conflict):
                return None
            return self._stage(newest, written, self.clock(), marks)

        try:
            staged = self._stage(snapshot, written, self.clock(), marks, leaving)
        except BaseException as error:
            raise_without(self.target.store, paths, error)
            raise
        try:
            found = commit_rows(
                self.target.store, staged, paths, clock=self.clock, again=again, watch=watch
            )
        except _Repeated:
            return repeated()
        if isinstance(found, Conflict):
            return found
        after = follow_commit(
            self.target.store,
            self.target.table,
            found.version,
            utc_time(self.clock()),
            watch,
            new_uuid=self.ids,
        )
        return WriteResult(
            version=found.version,
            operation=staged.provenance.operation,
            metrics={name: int(value) for name, value in staged.provenance.metrics.items()},
            problems=(*found.warnings, *after),
        )

    def may_begin_again(self, conflict: Conflict) -> bool:
        """Whether the whole statement may be made again upon the newer version: its rows depend on
        none of the table's, and what was won against changed what rows have to be, or which rows
        they replace."""
        if self.reads.reads_rows:
            return False
        by_rows = self.replaces_rows and not self.is_pinned and conflict.rule in _OF_FILES
        return conflict.rule in _OF_SETTINGS or by_rows

    def _is_repeated(self, snapshot: Snapshot) -> bool:
        return has_transaction(snapshot, self.options.transaction)

    def _may_follow(self, newest: Snapshot, conflict: Conflict) -> bool:
        """Whether the same files may follow what was won against: only removes depend on it,
        and these are made again."""
        snapshot = self.target.snapshot
        if (
            self.is_pinned
            or snapshot is None
            or self.options.mode != "overwrite"
            or self.reads.reads_rows
            or self.replaces_rows
        ):
            return False
        same = (newest.protocol, newest.metadata) == (snapshot.protocol, snapshot.metadata)
        return same and conflict.rule in _OF_FILES

    def _stage(
        self,
        snapshot: Snapshot | None,
        written: pa.Table,
        now: int,
        marks: Mapping[str, int] | None = None,
        leaving: RowChanges | None = None,
    ) -> StagedCommit:
        options, configuration = self.options, self.metadata.configuration
        gone = self._gone(snapshot, written) if leaving is None else leaving.removed
        actions = [*self.changes] if not marks else self._with_marks(marks)
        if options.transaction is not None:
            name, version = options.transaction
            actions.append(Transaction(app_id=name, version=version, last_updated=now))
        overwrites = options.mode == "overwrite"
        removes = removes_of(gone, now)
        tags = iceberg_tags(self.protocol, self.metadata)
        adds = adds_of(written, tags=tags).to_batches()
        metrics = _metrics(written, gone)
        if leaving is not None:
            removes = leaving.removes(now)
            adds = [*adds, *(batch for batch in leaving.adds(tags) if batch.num_rows)]
            actions += leaving.change_data()
            metrics = {name: str(count) for name, count in leaving.file_metrics().items()} | metrics
        return StagedCommit(
            base=NO_TABLE if snapshot is None else read_version_of(snapshot),
            reads=self._reads(snapshot, gone),
            provenance=Provenance(
                operation=self.operation,
                transaction_id=str(self.id),
                engine_info=engine_info(),
                user_name=options.user_name,
                user_metadata=options.user_metadata,
                parameters=self._parameters(),
                metrics=metrics,
                isolation_level=isolation_level_of(configuration),
            ),
            actions=tuple(actions),
            adds=tuple(adds),
            removes=tuple(removes.to_batches()),
            promises=Promises(
                validated=self.gate.rules(),
                removes_every_live_file=self.replaces_all and snapshot is not None,
                kept_domains=self.kept_domains,
                holds_partition_columns=self.form.holds_partitions,
            ),
            # names of new files are nobody else's, and need not be looked for
            live=FilesOf(snapshot=snapshot) if snapshot is not None and overwrites else None,
        )

    def _with_marks(self, marks: Mapping[str, int]) -> list[Action]:
        """The actions, whose metadata say which numbers of identity columns are given out."""
        schema = with_marks(parse_schema(self.metadata.schema_string), dict(marks))
        metadata = replace(self.metadata, schema_string=render_schema(schema))
        return [metadata, *(item for item in self.changes if not isinstance(item, Metadata))]

    def _reads(self, snapshot: Snapshot | None, gone: pa.Table) -> ReadSet:
        """What the outcome depends on: rows of this table where they were read, and for a part
        of the table which of its files there are."""
        names = () if self.options.transaction is None else (self.options.transaction[0],)
        is_part = self.options.mode == "overwrite" and not self.replaces_all
        reads = WHOLE_TABLE if is_part or gone.num_rows else self.reads
        if self.replaces_rows and snapshot is not None and not self.reads.reads_rows:
            reads = self._candidates(snapshot).reads()
        return replace(reads, application_ids=frozenset(names))

    def _gone(self, snapshot: Snapshot | None, written: pa.Table) -> pa.Table:
        """The live files that the rows take the place of, with every column of an add."""
        if snapshot is None or self.options.mode != "overwrite":
            return _NO_FILES
        live = snapshot.physical_files("add", list(ADD_COLUMNS))
        if self.options.replace_where is not None:
            if self.replaces_rows:
                keys = keys_of(self._candidates(snapshot).files)
                return snapshot.among(keys, list(ADD_COLUMNS))
            return files_to_replace(snapshot, live, self.options.replace_where)
        if not self.is_dynamic:
            return live
        kinds = {
            item.name: item.data_type for item in parse_schema(self.metadata.schema_string).fields
        }
        keys = {stored: render_type(kinds[name]) for name, stored in self.form.partitions}
        return files_of_partitions(live, written, keys)

    def _candidates(self, snapshot: Snapshot) -> Candidates:
        assert self.options.replace_where is not None
        predicate = parse_scan_predicate(self.options.replace_where, snapshot.schema)
        return find_candidates(snapshot, predicate)

    def _parameters(self) -> dict[str, str]:
        """`operationParameters` as the reference has them."""
        if self.parameters is not None:
            return dict(self.parameters)
        options = self.options
        mode = {"error": "ErrorIfExists"}.get(options.mode, options.mode.capitalize())
        names = orjson.dumps(list(self.metadata.partition_columns)).decode()
        found = {"mode": mode, "partitionBy": names}
        if options.replace_where is not None:
            found["predicate"] = options.replace_where
        if self.is_dynamic:
            found["isDynamicPartitionOverwrite"] = "true"
        return found


class _Repeated(Exception):
    """A concurrent writer recorded the transaction of this statement."""


def repeated() -> WriteResult:
    """What comes of a statement whose transaction the table has already."""
    return WriteResult(version=None, operation=WRITE, is_repeated=True)


def has_transaction(snapshot: Snapshot, transaction: tuple[str, int] | None) -> bool:
    """Whether a version recorded this transaction, or a later one of its application."""
    if transaction is None:
        return False
    held = snapshot.transactions.get(transaction[0])
    return held is not None and held.version >= transaction[1]


def _metrics(written: pa.Table, gone: pa.Table) -> dict[str, str]:
    """As the reference counts them."""
    found = {
        "numFiles": written.num_rows,
        "numOutputRows": sum_of(written.column("num_rows")),
        "numOutputBytes": sum_of(written.column("size")),
    }
    if gone.num_rows:
        found |= {
            "numRemovedFiles": gone.num_rows,
            "numRemovedBytes": sum_of(gone.column("size")),
        }
    return {name: str(value) for name, value in found.items()}
