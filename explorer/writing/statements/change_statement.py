"""A statement that changes rows of a table that is there: delete, update and merge.

It is made from one version, looks for rows there, and commits what became of their files
(`explorer.writing.changes`). What it found depends on that version: where it lost against another
commit, all of it is done again upon the newer one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID, uuid4

import orjson

from explorer.errors import NotFoundError, Problem
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.actions import Metadata, Protocol, Transaction
from explorer.protocol.commit_json import Action
from explorer.protocol.features.iceberg import holds_partition_columns, iceberg_tags
from explorer.protocol.schema import parse_schema, render_schema
from explorer.protocol.table_properties.byte_sizes import parse_byte_size
from explorer.protocol.table_properties.known_properties import TARGET_FILE_SIZE
from explorer.scan.predicate.predicate import Predicate, render_condition
from explorer.storage.ports import WriteStore
from explorer.table.snapshot import Snapshot
from explorer.table.times import Clock, system_clock, utc_time
from explorer.transaction.conflicts import Conflict, ConflictRule
from explorer.transaction.live_files import FilesOf
from explorer.transaction.read_set import WHOLE_TABLE, ReadSet
from explorer.transaction.read_version import read_version_of
from explorer.transaction.requirements import check_commit
from explorer.transaction.rules.change import Described
from explorer.transaction.rules.row_rules import rules_for_rows
from explorer.transaction.staged import Promises, Provenance, StagedCommit, ValidatedRule
from explorer.writing.changes.row_changes import RowChanges
from explorer.writing.commits.after_commit import follow_commit
from explorer.writing.commits.commit_rows import commit_rows
from explorer.writing.commits.provenance import (
    engine_info,
    isolation_level_of,
    tags_of_kept_ids,
)
from explorer.writing.files.leftovers import raise_without
from explorer.writing.files.row_files import DEFAULT_FILE_BYTES
from explorer.writing.gate.identity import with_marks
from explorer.writing.statements.options import WriteResult, check_file_size, check_transaction
from explorer.writing.statements.row_statement import Target, has_transaction, open_target

_NEVER_AGAIN: Final[frozenset[ConflictRule]] = frozenset({"commit gone"})
"""Rules after which nobody knows what the newer version is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeOptions:
    """What is said of every statement that changes rows, as in `WriteOptions`."""

    transaction: tuple[str, int] | None = None
    user_metadata: str | None = None
    user_name: str | None = None
    target_file_size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeStatement:
    """A statement upon the version of `target`. `operation` and `parameters` are what `commitInfo`
    says. `id` is in the name of every new file, and is the transaction id of the commit. `reads` is
    what the outcome depends on. `actions` make protocol and metadata those of the version that is
    to be, where they change; `kept_domains` are domains of the specification among them."""

    target: Target
    snapshot: Snapshot
    operation: str
    parameters: Mapping[str, str]
    options: ChangeOptions
    reads: ReadSet
    protocol: Protocol
    metadata: Metadata
    actions: tuple[Action, ...] = ()
    kept_domains: frozenset[str] = frozenset()
    id: UUID = field(default_factory=uuid4)
    clock: Clock = system_clock

    @property
    def target_bytes(self) -> int:
        """Bytes of a new file that is large enough."""
        if self.options.target_file_size is not None:
            return self.options.target_file_size
        asked = TARGET_FILE_SIZE.value_of(self.metadata.configuration)
        return DEFAULT_FILE_BYTES if asked is None else parse_byte_size(asked)

    @property
    def described(self) -> Snapshot:
        """The version that was read, with the columns of the one that is to be."""
        same = (self.protocol, self.metadata) == (self.snapshot.protocol, self.snapshot.metadata)
        return self.snapshot if same else self.snapshot.described_by(self.protocol, self.metadata)

    def reading(self, reads: ReadSet) -> ChangeStatement:
        """The same statement, whose outcome depends on this."""
        return replace(self, reads=reads)

    def check(self, changes: RowChanges | None = None) -> None:
        """Raise what the rules of the table say against the commit, as far as that is known before
        rows are read: nothing is written in vain."""
        check_commit(self._stage(changes or RowChanges(), {}, {}, None))

    def commit(
        self,
        changes: RowChanges,
        metrics: Mapping[str, int],
        *,
        validated: frozenset[ValidatedRule] | None = None,
        marks: Mapping[str, int] | None = None,
        problems: Sequence[Problem] = (),
        watch: Watch = UNWATCHED,
    ) -> WriteResult | Conflict:
        """Make what was done the next version, or say which commit stands in the way; raises what
        `commit_rows` raises. Without a change nothing is committed.

        `validated` are the rules that new rows were held to, None where there are none but copies:
        these met the rules before. `marks` are the last numbers that identity columns got;
        `problems` are told with those of the commit.
        """
        if changes.is_nothing and not (self.actions or self.options.transaction):
            return WriteResult(version=None, operation=self.operation, metrics=dict(metrics))
        store = self.target.store
        try:
            staged = self._stage(changes, metrics, marks or {}, validated)
        except BaseException as error:
            raise_without(store, changes.paths, error)
            raise

        def again(_: Conflict) -> StagedCommit | None:
            if has_transaction(self.target.table.snapshot(), self.options.transaction):
                raise _Repeated
            return None

        try:
            found = commit_rows(
                store, staged, changes.paths, clock=self.clock, again=again, watch=watch
            )
        except _Repeated:
            return self.repeated()
        if isinstance(found, Conflict):
            return found
        after = follow_commit(
            store, self.target.table, found.version, utc_time(self.clock()), watch
        )
        return WriteResult(
            version=found.version,
            operation=self.operation,
            metrics=dict(metrics),
            problems=(*problems, *found.warnings, *after),
        )

    def repeated(self) -> WriteResult:
        """What comes of it where the table has its transaction already."""
        return WriteResult(version=None, operation=self.operation, is_repeated=True)

    def _stage(
        self,
        changes: RowChanges,
        metrics: Mapping[str, int],
        marks: Mapping[str, int],
        validated: frozenset[ValidatedRule] | None,
    ) -> StagedCommit:
        options, now = self.options, self.clock()
        actions = list(self._with_marks(marks))
        names: tuple[str, ...] = ()
        if options.transaction is not None:
            name, version = options.transaction
            names = (name,)
            actions.append(Transaction(app_id=name, version=version, last_updated=now))
        tags = iceberg_tags(self.protocol, self.metadata)
        adds = tuple(batch for batch in changes.adds(tags) if batch.num_rows)
        removes = changes.removes(now)
        return StagedCommit(
            base=read_version_of(self.snapshot),
            reads=replace(self.reads, application_ids=frozenset(names)),
            provenance=Provenance(
                operation=self.operation,
                transaction_id=str(self.id),
                engine_info=engine_info(),
                user_name=options.user_name,
                user_metadata=options.user_metadata,
                parameters=dict(self.parameters),
                metrics={name: str(value) for name, value in metrics.items()},
                tags=tags_of_kept_ids(self.snapshot),
                isolation_level=isolation_level_of(self.metadata.configuration),
            ),
            actions=(*actions, *changes.change_data()),
            adds=adds,
            removes=tuple(removes.to_batches()) if removes.num_rows else (),
            promises=Promises(
                validated=self._every_rule() if validated is None else validated,
                kept_domains=self.kept_domains,
                holds_partition_columns=holds_partition_columns(self.protocol, self.metadata),
            ),
            live=FilesOf(snapshot=self.snapshot),
        )

    def _every_rule(self) -> frozenset[ValidatedRule]:
        table = Described(protocol=self.protocol, metadata=self.metadata)
        return frozenset(rule for rule, _ in rules_for_rows(table))

    def _with_marks(self, marks: Mapping[str, int]) -> Sequence[Action]:
        if not marks:
            return self.actions
        schema = with_marks(parse_schema(self.metadata.schema_string), dict(marks))
        metadata = replace(self.metadata, schema_string=render_schema(schema))
        return [metadata, *(item for item in self.actions if not isinstance(item, Metadata))]


class _Repeated(Exception):
    """A concurrent writer recorded the transaction of this statement."""


def begin_change(
    store: WriteStore,
    operation: str,
    options: ChangeOptions,
    *,
    clock: Clock = system_clock,
    ids: Callable[[], UUID] = uuid4,
) -> ChangeStatement:
    """A statement upon the newest version of a table, which depends on all of it until `reading`
    says less. Raises `NotFoundError` where there is no table, and `InvalidArgumentError` for
    options that cannot be meant."""
    check_transaction(options.transaction)
    check_file_size(options.target_file_size)
    target = open_target(store)
    snapshot = target.snapshot
    if snapshot is None:
        raise NotFoundError(
            f"There is no Delta table at {store.uri}.",
            reason="Its log has no commit.",
            remedy="Check the place, or create the table with pipeline.write.",
            kind="table_not_found",
        )
    return ChangeStatement(
        target=target,
        snapshot=snapshot,
        operation=operation,
        parameters={},
        options=options,
        reads=WHOLE_TABLE,
        protocol=snapshot.protocol,
        metadata=snapshot.metadata,
        id=ids(),
        clock=clock,
    )


def is_done_already(statement: ChangeStatement) -> bool:
    """Whether the table has the statement's transaction."""
    return has_transaction(statement.snapshot, statement.options.transaction)


def may_run_again(conflict: Conflict) -> bool:
    """Whether a statement that lost may be run upon the newer version: its rows are looked for
    there, so that the order of commits is one that every isolation level allows."""
    return conflict.rule not in _NEVER_AGAIN


def predicate_parameter(predicate: Predicate | None) -> str:
    """A condition as `operationParameters` has it: a list of texts."""
    texts = [] if predicate is None else [render_condition(predicate.condition)]
    return orjson.dumps(texts).decode()
