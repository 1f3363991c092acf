"""A table for schedules: its past of forty days, and what its writers and maintainers do."""

from __future__ import annotations

import random
import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from explorer import maintenance
from explorer.errors import DeltaError
from explorer.maintenance import Approval, Plan
from explorer.pipeline.writing.given_data import ArrowRows, rows_given
from explorer.pipeline.writing.write import write_here
from explorer.progress import UNWATCHED
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.commit_json import Action
from explorer.protocol.file_actions import AddFile, RemoveFile
from explorer.protocol.vectors.deletion_vectors import (
    DeletionVectorDescriptor,
    parse_relative_place,
)
from explorer.protocol.vectors.z85 import render_z85
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table
from explorer.transaction.commit import Committed, Retries, commit
from explorer.transaction.read_set import NOTHING, ReadSet, read_set_of
from explorer.transaction.read_version import NO_TABLE, ReadVersion, read_version_of
from explorer.transaction.staged import Provenance, StagedCommit
from explorer.writing.statements.begin import begin_write
from explorer.writing.statements.options import WriteOptions, WriteResult
from explorer.writing.statements.row_statement import open_target
from tests.faults.schedules_turns import DAY_MS, NOW_MS, Disk, Store

SCHEMA = (
    '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}},'
    '{"name":"part","type":"string","nullable":true,"metadata":{}}]}'
)
PART = "a"
"""The partition of what others than `user_write` wrote."""
STATS = '{"numRecords":10,"tightBounds":false,"minValues":{"id":1},"maxValues":{"id":9}}'
SHORTEST = timedelta(hours=30)
"""The shortest retention that a vacuum of a schedule asks for."""
SHORTEST_LOG_MS = DAY_MS
"""The shortest time for which a cleanup of a schedule keeps the log, in milliseconds."""

_AT_ONCE = Retries(limit=50, pause=lambda _: None)
_FILE_COLUMNS = ("path", "deletion_vector", "base_row_id", "default_row_commit_version")
_FEATURES = ("appendOnly", "deletionVectors", "domainMetadata", "inCommitTimestamp", "v2Checkpoint")


@dataclass
class World:
    """One table and what became of each commit that somebody tried: the version, `refused`,
    or `unknown` where nobody was told."""

    disk: Disk
    chance: random.Random
    state: Path
    tries: dict[str, int | str] = field(default_factory=dict)
    open_plans: list[tuple[Plan, Path]] = field(default_factory=list)
    running: dict[Path, Plan] = field(default_factory=dict)
    shortest_ms: int = 7 * DAY_MS
    receipts: list[maintenance.Receipt] = field(default_factory=list)
    loads: int = 0

    def end_of_day(self) -> None:
        """Who was killed is known by now: what they were at can be taken up again."""
        self.open_plans += [(plan, state) for state, plan in self.running.items()]
        self.running.clear()

    def name(self) -> uuid.UUID:
        """A new name, the same in each run of a seed."""
        return uuid.UUID(int=self.chance.getrandbits(128), version=4)

    def commit(
        self, store: Store, base: ReadVersion, reads: ReadSet, operation: str, *actions: Action
    ) -> None:
        """Commit, and keep in mind what one was told of it."""
        transaction_id = str(self.name())
        staged = StagedCommit(
            base=base,
            reads=reads,
            provenance=Provenance(
                operation=operation, transaction_id=transaction_id, engine_info="schedule"
            ),
            actions=actions,
        )
        self.tries[transaction_id] = "unknown"
        done = commit(store, staged, clock=self.disk.clock, retries=_AT_ONCE)
        self.tries[transaction_id] = done.version if isinstance(done, Committed) else "refused"


def create(world: World, *, days: int = 40) -> None:
    """The table's past: appends, deletions, vectors, a checkpoint now and then."""
    disk, chance = world.disk, world.chance
    disk.clock_ms = NOW_MS - days * DAY_MS
    store = Store(disk)
    settings = {
        "delta.checkpointInterval": str(chance.choice((3, 5, 100))),
        "delta.enableDeletionVectors": "true",
    }
    if chance.random() < 0.5:
        settings["delta.checkpointPolicy"] = "v2"
    if chance.random() < 0.5:
        settings["delta.enableInCommitTimestamps"] = "true"
    if chance.random() < 0.6:
        settings["delta.logRetentionDuration"] = f"interval {chance.choice((2, 9))} days"
    protocol = Protocol(
        min_reader_version=3,
        min_writer_version=7,
        reader_features=("deletionVectors", "v2Checkpoint"),
        writer_features=_FEATURES,
    )
    metadata = Metadata(
        id=str(world.name()),
        schema_string=SCHEMA,
        partition_columns=("part",),
        configuration=settings,
    )
    world.commit(store, NO_TABLE, NOTHING, "CREATE TABLE", protocol, metadata)
    count = chance.randint(5, 14)
    for _ in range(count):
        disk.clock_ms += int(days * DAY_MS / (count + 2) * chance.uniform(0.5, 1.2))
        chance.choice((append, append, delete, hide))(world, store)
        if chance.random() < 0.2:
            store.write(f"stray-{world.name()}.parquet", b"x" * 10)
        if chance.random() < 0.25:
            maintain(world, store, maintenance.plan_checkpoint)
    disk.clock_ms = NOW_MS


# --- writers


def append(world: World, store: Store) -> None:
    """A file is written, then committed."""
    read = read_version_of(Table(store).snapshot())
    body = _write_file(world, store)
    world.commit(store, read, NOTHING, "WRITE", body)


def delete(world: World, store: Store) -> None:
    """A file goes."""
    snapshot = Table(store).snapshot()
    if (row := _any_file(world, snapshot)) is None:
        return
    reads = read_set_of([row["path"]])
    world.commit(store, read_version_of(snapshot), reads, "DELETE", _removed(world, row))


def hide(world: World, store: Store) -> None:
    """Rows of a file go by a deletion vector, which takes the place of the one before."""
    snapshot = Table(store).snapshot()
    if (row := _any_file(world, snapshot)) is None:
        return
    place = world.chance.choice(("", "ab")) + render_z85(world.name().bytes)
    store.write(parse_relative_place(place), b"v" * 40)
    vector = DeletionVectorDescriptor(
        storage_type="u", path_or_inline_dv=place, offset=1, size_in_bytes=36, cardinality=2
    )
    again = _added(world, row["path"], vector)
    reads = read_set_of([row["path"]])
    base = read_version_of(snapshot)
    world.commit(store, base, reads, "DELETE", _removed(world, row), again)


def rewrite(world: World, store: Store) -> None:
    """All files become one."""
    snapshot = Table(store).snapshot()
    rows = snapshot.files(_FILE_COLUMNS).to_pylist()
    body = _write_file(world, store)
    gone = [_removed(world, row) for row in rows]
    reads = read_set_of([row["path"] for row in rows])
    world.commit(store, read_version_of(snapshot), reads, "OPTIMIZE", *gone, body)


def user_write(world: World, store: Store) -> None:
    """Rows of a user, as `pipeline.write` writes them in this process: an append, an overwrite of
    all or of a partition, some with a transaction that is repeated until somebody is told."""
    chance = world.chance
    options = WriteOptions(mode=chance.choice(("append", "append", "append", "overwrite")))
    if options.mode == "overwrite" and chance.random() < 0.7:
        options = replace(options, replace_where=f"part = '{PART}'")
    parts = [PART] if options.replace_where else chance.choice(([PART], ["b"], [PART, "b"]))
    if chance.random() < 0.4:
        world.loads += chance.randint(0, 1)  # one that somebody else has made, or makes just now
        options = replace(options, transaction=("load", world.loads))
    given = rows_given(pa.table({"id": list(range(len(parts))), "part": parts}))
    assert isinstance(given, ArrowRows)
    for _ in range(2):
        target = open_target(store)
        begun = begin_write(target, options, given.schema, clock=world.disk.clock, ids=world.name)
        if isinstance(begun, WriteResult):
            return
        world.tries[str(begun.id)] = "unknown"
        try:
            written = write_here(begun, given, UNWATCHED)
            found = begun.commit(written.files, written.marks)
        except DeltaError as error:
            if error.kind != "outcome_unknown":
                world.tries[str(begun.id)] = "refused"
            elif options.transaction is not None:
                continue  # the same again, which may be there already
            return
        told = found.version if isinstance(found, WriteResult) else None
        world.tries[str(begun.id)] = "refused" if told is None else told
        return


def _write_file(world: World, store: Store) -> AddFile:
    path = f"part-{world.name()}.parquet"
    store.write(path, b"x" * 100)
    return _added(world, path, None)


def _added(world: World, path: str, vector: DeletionVectorDescriptor | None) -> AddFile:
    return AddFile(
        path=path,
        partition_values={"part": PART},
        size=100,
        modification_time=world.disk.clock_ms,
        stats=STATS,
        deletion_vector=vector,
    )


def _removed(world: World, row: dict[str, Any]) -> RemoveFile:
    vector = row["deletion_vector"]
    return RemoveFile(
        path=row["path"],
        deletion_timestamp=world.disk.clock_ms,
        partition_values={"part": PART},
        size=100,
        deletion_vector=DeletionVectorDescriptor(**vector) if vector else None,
    )


def _any_file(world: World, snapshot: Snapshot) -> dict[str, Any] | None:
    rows = snapshot.files(_FILE_COLUMNS).to_pylist()
    rows.sort(key=lambda row: row["path"])
    return world.chance.choice(rows) if rows else None


# --- maintainers


def maintain(world: World, store: Store, plan_it: Callable[..., Plan], **options: Any) -> None:
    """Plan and carry out."""
    plan = plan_it(Table(store), clock=world.disk.clock, **options)
    carry_out(world, store, plan, world.state / str(world.name()))


def carry_out(world: World, store: Store, plan: Plan, state: Path) -> None:
    """Execute a plan with whatever approval it asks for; it stays open until there is a
    receipt."""
    world.running[state] = plan
    approval = Approval(plan.digest, table_name=plan.subject.name, reason="a schedule")
    receipt = maintenance.execute(
        plan, approval, table=Table(store), state_dir=state, clock=world.disk.clock
    )
    world.receipts.append(receipt)
    del world.running[state]
    if receipt.status not in {"completed", "refused"}:
        world.open_plans.append((plan, state))


def checkpoint(world: World, store: Store) -> None:
    """A checkpoint of the newest version."""
    maintain(world, store, maintenance.plan_checkpoint, seed=world.name())


def compact_log(world: World, store: Store) -> None:
    """The commits after the newest checkpoint in one file."""
    maintain(world, store, maintenance.plan_log_compaction)


def clean_log(world: World, store: Store) -> None:
    """The log is cut, sometimes more than the table asks for."""
    retention = world.chance.choice((None, None, timedelta(days=1), timedelta(days=4)))
    maintain(world, store, maintenance.plan_log_cleanup, retention=retention)


def vacuum(world: World, store: Store) -> None:
    """Files go."""
    retention = world.chance.choice((None, None, timedelta(days=8), SHORTEST))
    if retention is not None:
        world.shortest_ms = min(world.shortest_ms, retention // timedelta(milliseconds=1))
    mode = world.chance.choice(("full", "full", "lite"))
    options = {"retention": retention, "mode": mode, "seed": world.name()}
    maintain(world, store, maintenance.plan_vacuum, state_dir=world.state, **options)


def restore(world: World, store: Store) -> None:
    """An earlier version comes back."""
    newest = Table(store).latest_version()
    version = max(0, newest - world.chance.randint(1, 12))
    maintain(world, store, maintenance.plan_restore, version=version, seed=world.name())


def set_property(world: World, store: Store) -> None:
    """The metadata changes."""
    options = {"set": {"a": str(world.name())}, "seed": world.name()}
    maintain(world, store, maintenance.plan_set_properties, **options)


def plan_for_later(world: World, store: Store) -> None:
    """A plan is made, and approved another day."""
    chance = world.chance
    table, clock, seed = Table(store), world.disk.clock, world.name()
    which = chance.choice(("vacuum", "restore", "clean", "checkpoint"))
    if which == "vacuum":
        plan = maintenance.plan_vacuum(table, clock=clock, seed=seed, state_dir=world.state)
    elif which == "restore":
        version = max(0, table.latest_version() - chance.randint(1, 6))
        plan = maintenance.plan_restore(table, version, clock=clock, seed=seed)
    elif which == "clean":
        plan = maintenance.plan_log_cleanup(table, clock=clock)
    else:
        plan = maintenance.plan_checkpoint(table, clock=clock, seed=seed)
    world.open_plans.append((plan, world.state / str(world.name())))


def go_on(world: World, store: Store) -> None:
    """A plan that nobody finished is carried out, by a process that finds its journal."""
    if not world.open_plans:
        return
    plan, state = world.open_plans.pop(world.chance.randrange(len(world.open_plans)))
    found = world.state / str(world.name())
    if state.is_dir():  # a killed process no longer holds its lock
        shutil.copytree(state, found)
    carry_out(world, store, plan, found)


WRITERS = (append, append, delete, hide, rewrite, user_write, user_write)
MAINTAINERS = (
    checkpoint,
    compact_log,
    clean_log,
    clean_log,
    vacuum,
    vacuum,
    restore,
    set_property,
    plan_for_later,
    go_on,
    go_on,
)
Work = Callable[[World, Store], None]


def named(work: Work) -> str:
    """What to call a participant."""
    return work.__name__


def tolerant(world: World, *works: Work) -> Callable[[Store], None]:
    """Pieces of work one after the other, each of which may end with one of our errors and
    with no other."""

    def run(store: Store) -> None:
        for work in works:
            try:
                work(world, store)
            except DeltaError:
                continue

    return run
