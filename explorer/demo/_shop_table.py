"""The demo table as its writers know it: the log's state, and every row besides.

The rows are kept beside the files that hold them, so that tests can ask for
the truth of any version while it is the newest.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Self
from uuid import UUID

import pyarrow as pa

from explorer.demo._authors import Author
from explorer.demo._orders import FIRST_SCHEMA, PARTITION_COLUMN
from explorer.log.actions.columns import batch_of
from explorer.log.checkpoint_content.content import CheckpointContent
from explorer.log.checkpoint_writing.checkpoint_writer import write_classic_checkpoint
from explorer.protocol.actions import Metadata, Protocol, Transaction
from explorer.protocol.commit_json import Action, render_action
from explorer.protocol.features.column_mapping import column_mapping_mode, physical_name
from explorer.protocol.file_actions import AddFile, RemoveFile
from explorer.protocol.filenames import (
    LAST_CHECKPOINT,
    LOG_FOLDER,
    render_classic_checkpoint_name,
    render_commit_path,
)
from explorer.protocol.schema import StructType, parse_schema
from explorer.protocol.table_properties.known_properties import (
    CHECKPOINT_INTERVAL,
    DELETED_FILE_RETENTION,
    MappingMode,
)
from explorer.storage.ports import WriteStore
from explorer.transaction.commit import commit
from explorer.transaction.conflicts import Conflict
from explorer.transaction.read_set import NOTHING, ReadSet
from explorer.transaction.read_version import NO_TABLE, ReadVersion
from explorer.transaction.staged import Provenance, StagedCommit
from explorer.writing.files.new_file import WrittenFile

_NUM_TASKS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One step of the history: who is at work, and when its commit happens (milliseconds)."""

    author: Author
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveFile:
    """A logical file: its add action, its physical rows under physical names, and the
    positions that its deletion vector hides."""

    add: AddFile
    rows: pa.Table
    hidden: frozenset[int] = frozenset()

    def live_rows(self) -> pa.Table:
        """The rows that are still in the table."""
        if not self.hidden:
            return self.rows
        kept = [at for at in range(self.rows.num_rows) if at not in self.hidden]
        return self.rows.take(pa.array(kept, pa.int64()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an operation did, ready to be committed."""

    operation: str
    parameters: Mapping[str, Any]
    metrics: Mapping[str, int] = field(default_factory=dict)
    actions: tuple[Action, ...] = ()
    added: tuple[LiveFile, ...] = ()
    removed: tuple[LiveFile, ...] = ()
    reads: ReadSet = NOTHING


class ShopTable:
    """The table while it is being written, by one writer after the other.

    Data files are written side by side, as an engine's tasks do it: a disk
    takes its time to confirm each. A commit waits for all of them.
    """

    def __init__(self, store: WriteStore, rng: random.Random) -> None:
        self.store = store
        self.rng = rng
        self.version = NO_TABLE.version
        self.next_order_id = 1_000_001
        self.schema: StructType = FIRST_SCHEMA
        self.protocol = Protocol(min_reader_version=1, min_writer_version=2)
        self.metadata = Metadata(id=str(self.new_uuid()))
        self.live: dict[str, LiveFile] = {}
        self.tombstones: list[RemoveFile] = []
        self.transactions: dict[str, Transaction] = {}
        self.written: dict[str, int] = {}
        self._last_timestamp = 0
        self._tasks = ThreadPoolExecutor(max_workers=_NUM_TASKS)
        self._pending: list[Future[None]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._tasks.shutdown()

    def new_uuid(self) -> UUID:
        """The next UUID of the seeded generator."""
        return UUID(int=self.rng.getrandbits(128), version=4)

    def new_milliseconds(self, low: int, high: int) -> int:
        """A made-up duration."""
        return low + int(self.rng.random() * (high - low))

    @property
    def mapping_mode(self) -> MappingMode:
        """How columns are found in files."""
        return column_mapping_mode(self.protocol, self.metadata.configuration)

    def is_set(self, name: str) -> bool:
        """Whether a property of the table is true."""
        return self.metadata.configuration.get(name) == "true"

    def physical_names(self) -> list[str]:
        """The columns of the schema as files name them."""
        return [physical_name(column, self.mapping_mode) for column in self.schema.fields]

    def rows(self) -> pa.Table:
        """Every row of the newest version, under the names that people see."""
        files = [file.live_rows() for file in self.live.values()]
        return self.align(files).rename_columns(list(self.schema.names))

    def align(self, tables: Iterable[pa.Table]) -> pa.Table:
        """The rows of `tables` with all columns of the schema, null where they have none."""
        names = self.physical_names()
        present = pa.concat_tables(tables, promote_options="default")
        for name in names:
            if name not in present.column_names:
                # every column that was added later holds strings
                present = present.append_column(name, pa.nulls(present.num_rows, pa.string()))
        return present.select(names)

    def take_new_rows(self, generated: pa.Table) -> pa.Table:
        """The columns of made-up orders that the schema has by now, under physical names."""
        columns = {}
        for column, physical in zip(self.schema.fields, self.physical_names(), strict=True):
            known = physical if physical in generated.column_names else column.name
            columns[physical] = generated.column(known)
        return pa.table(columns)

    def write(self, path: str, data: bytes, modified: int) -> None:
        """Write a file that should look as if it had been written at `modified`."""
        self._pending.append(self._tasks.submit(self.store.write, path, data))
        self.written[path] = modified

    def write_all(
        self, modified: Mapping[str, int], files: Sequence[Callable[[], WrittenFile]]
    ) -> list[WrittenFile]:
        """Write files side by side, each by the function that does it, and what became of
        them; `modified` are their paths, with the time at which each should look written."""
        self.written.update(modified)
        tasks = [self._tasks.submit(file) for file in files]
        wait(tasks)
        return [task.result() for task in tasks]

    def wait(self) -> None:
        """Return when every file is written; raise what went wrong with one."""
        pending, self._pending = self._pending, []
        wait(pending)
        for task in pending:
            task.result()

    def delete(self, path: str) -> None:
        """Remove a file for good."""
        self.store.delete(path)
        self.written.pop(path, None)

    def commit(self, work: Work, outcome: Outcome) -> None:
        """Make `outcome` the next version, and checkpoint where the interval is reached."""
        tombstones = [self._tombstone(file, work, outcome) for file in outcome.removed]
        adds = [file.add for file in outcome.added]
        actions = (*outcome.actions, *adds, *tombstones)
        self.wait()
        done = commit(self.store, self._stage(work, outcome, actions), clock=lambda: work.at)
        if isinstance(done, Conflict):
            raise done.as_error()
        self.version, self._last_timestamp = done.version, done.timestamp
        self.written[render_commit_path(done.version)] = done.timestamp
        self._apply(outcome, actions, tombstones)
        if self.version and self.version % CHECKPOINT_INTERVAL.value_of({}) == 0:
            self._checkpoint(done.timestamp + self.new_milliseconds(300, 900))

    def _stage(self, work: Work, outcome: Outcome, actions: tuple[Action, ...]) -> StagedCommit:
        rearranges = outcome.operation == "OPTIMIZE" or outcome.operation.startswith("VACUUM")
        return StagedCommit(
            base=self._base(),
            reads=outcome.reads,
            actions=actions,
            provenance=Provenance(
                operation=outcome.operation,
                transaction_id=str(self.new_uuid()),
                engine_info=work.author.engine.info,
                user_name=work.author.user_name,
                parameters=outcome.parameters,
                metrics={name: str(value) for name, value in outcome.metrics.items()},
                isolation_level="SnapshotIsolation" if rearranges else "Serializable",
            ),
        )

    def _base(self) -> ReadVersion:
        if self.version == NO_TABLE.version:
            return NO_TABLE
        return ReadVersion(
            version=self.version,
            protocol=self.protocol,
            metadata=self.metadata,
            timestamp=self._last_timestamp,
        )

    def _tombstone(self, file: LiveFile, work: Work, outcome: Outcome) -> RemoveFile:
        says_rows = work.author.engine.writes_remove_statistics
        return RemoveFile(
            path=file.add.path,
            deletion_timestamp=work.at - 1,
            partition_values=file.add.partition_values,
            size=file.add.size,
            data_change=outcome.operation != "OPTIMIZE",
            stats=file.add.stats if says_rows else None,
            deletion_vector=file.add.deletion_vector,
        )

    def _apply(
        self, outcome: Outcome, actions: tuple[Action, ...], tombstones: list[RemoveFile]
    ) -> None:
        for action in actions:
            match action:
                case Protocol():
                    self.protocol = action
                case Metadata():
                    self.metadata = action
                    self.schema = parse_schema(action.schema_string)
                case Transaction():
                    self.transactions[action.app_id] = action
        for gone in outcome.removed:
            del self.live[gone.add.path]
        for file in outcome.added:
            self.live[file.add.path] = file
        self.tombstones.extend(tombstones)

    def _checkpoint(self, at: int) -> None:
        retention = DELETED_FILE_RETENTION.value_of(self.metadata.configuration)
        adds = [render_action(file.add)["add"] for file in self.live.values()]
        removes = [render_action(gone)["remove"] for gone in self.tombstones]
        write_classic_checkpoint(
            self.store,
            CheckpointContent(
                version=self.version,
                protocol=self.protocol,
                metadata=self.metadata,
                transactions=tuple(self.transactions.values()),
                adds=[batch_of("add", adds)],
                removes=[batch_of("remove", removes)],
                tombstones_after=at - retention // timedelta(milliseconds=1),
            ),
        )
        self.written[f"{LOG_FOLDER}/{render_classic_checkpoint_name(self.version)}"] = at
        self.written[f"{LOG_FOLDER}/{LAST_CHECKPOINT}"] = at


def country_of(file: LiveFile) -> str | None:
    """The partition that a file belongs to."""
    return file.add.partition_values[PARTITION_COLUMN]
