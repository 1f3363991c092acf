"""A table for every maintenance operation, a store that fails at one of its operations, and
what must hold of the table however an execution ended."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from explorer import maintenance
from explorer.errors import StorageError
from explorer.log.commit_info import read_commit_info
from explorer.maintenance import Plan, StateFolder
from explorer.storage.local import LocalStore
from explorer.storage.ports import PutOutcome
from explorer.table.table import Table
from tests.tables import FEATURE_PROTOCOL, metadata, vector
from tests.unit.maintenance.lake import NOW_MS, Lake

CONFIGURATION = {"delta.checkpointInterval": "2"}
VECTOR_FILE = "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"


def build_table(scratch: Path) -> Lake:
    """Nine versions with removed files, a deletion vector, strays, a broken checkpoint and a
    hint to one that is not there."""
    lake = Lake(scratch)
    lake.file(f"ab/{VECTOR_FILE}")
    first = [lake.add(f"{number}.parquet") for number in range(4)]
    first.append(lake.add("marked.parquet", deletionVector=vector(), stats='{"numRecords":5}'))
    meta = metadata(configuration=CONFIGURATION)
    lake.commit(0, [FEATURE_PROTOCOL, meta, *first], age_days=60)
    for version in range(1, 8):
        age = 60 - version * 7
        actions = [lake.add(f"v{version}.parquet", age_days=age)]
        if version in {1, 2}:
            actions.append(lake.remove(f"{version}.parquet", age_days=age))
        lake.commit(version, actions, age_days=age)
    live = [lake.add(f"{number}.parquet") for number in (0, 3)]
    live += [lake.add(f"v{version}.parquet", age_days=60 - version * 7) for version in (1, 2)]
    live.append(first[-1])
    gone = [lake.remove(f"{number}.parquet", age_days=60 - number * 7) for number in (1, 2)]
    lake.log.checkpoint(2, [FEATURE_PROTOCOL, meta, *live, *gone])
    (broken,) = lake.log.checkpoint(6, [FEATURE_PROTOCOL, meta, *live])
    broken.write_bytes(broken.read_bytes()[:-30])
    lake.commit(8, [lake.remove("v1.parquet", age_days=2)], age_days=2)
    lake.log.hint(6)
    lake.file("stray-1.parquet")
    lake.file("part=1/stray-2.parquet")
    return lake


Planner = Callable[[Lake], Plan]


def _plan_hint(lake: Lake) -> Plan:
    lake.log.hint(9)
    return maintenance.plan_repair(lake.table, "hint", clock=lake.clock)


PLANNERS: dict[str, Planner] = {
    "checkpoint": lambda lake: maintenance.plan_checkpoint(lake.table, clock=lake.clock),
    "compact-log": lambda lake: maintenance.plan_log_compaction(lake.table, 3, 7, clock=lake.clock),
    "vacuum": lambda lake: maintenance.plan_vacuum(lake.table, clock=lake.clock),
    "clean-log": lambda lake: maintenance.plan_log_cleanup(lake.table, clock=lake.clock),
    "restore": lambda lake: maintenance.plan_restore(lake.table, 7, clock=lake.clock),
    "set": lambda lake: maintenance.plan_set_properties(
        lake.table, {"owner": "me"}, clock=lake.clock
    ),
    "repair checkpoint": lambda lake: maintenance.plan_repair(
        lake.table, "checkpoint", clock=lake.clock
    ),
    "repair hint": _plan_hint,
    "upgrade": lambda lake: maintenance.plan_upgrade(
        lake.table, features=["columnMapping", "inCommitTimestamp"], clock=lake.clock
    ),
    "drop-feature": lambda lake: maintenance.plan_drop_feature(
        lake.table, "v2Checkpoint", clock=lake.clock
    ),
}


@dataclass(frozen=True)
class State:
    """What a table holds: its newest version, and files by version."""

    latest: int
    files: dict[int, tuple[str, ...]]


def state_of(lake: Lake, plan: Plan) -> State:
    """The newest version and those that the plan promises."""
    table = lake.table
    latest = table.latest_version()
    files: dict[int, tuple[str, ...]] = {}
    for version in {latest, *map(int, plan.promise.versions)}:
        names = table.snapshot(version=version).files(["path"]).column("path").to_pylist()
        assert all((lake.root / name).is_file() for name in names), version
        files[version] = tuple(sorted(names))
    return State(latest=latest, files=files)


def check_whole(lake: Lake, before: State, plan: Plan) -> None:
    """Every version that the plan promised reads as before, the newest one reads too, no
    commit is there twice, and no file that one of them needs is missing."""
    after = state_of(lake, plan)
    assert (lake.root / "ab" / VECTOR_FILE).is_file()
    for version in map(int, plan.promise.versions):
        assert after.files[version] == before.files[version], version
    ids = [_transaction(lake, number) for number in range(before.latest + 1, after.latest + 1)]
    assert len(set(ids)) == len(ids), "no commit is there twice"


def _transaction(lake: Lake, version: int) -> str | None:
    found = read_commit_info(lake.table.store, version).body.get("txnId")
    return found if isinstance(found, str) else None


class InjectedError(StorageError):
    """What a failing store says."""


def _failure() -> InjectedError:
    return InjectedError("The store failed.", reason="A test made it.", remedy="None.")


class FaultyStore(LocalStore):
    """A local store whose operation number `fail_at` fails: `before` it is done, or `after`
    it was done, as when an answer is lost. Every later one fails too where `stays_down`."""

    def __init__(
        self, root: str, fail_at: int | None = None, *, when: str = "before", down: bool = False
    ) -> None:
        super().__init__(root)
        self.fail_at, self.when, self.down = fail_at, when, down
        self.operations: list[str] = []

    @contextmanager
    def _operation(self, what: str) -> Iterator[bool]:
        number = len(self.operations)
        self.operations.append(what)
        hit = self.fail_at is not None and (
            number == self.fail_at or (self.down and number > self.fail_at)
        )
        if hit and self.when == "before":
            raise _failure()
        yield hit
        if hit:
            raise _failure()

    def put_if_absent(self, path: str, data: Any) -> PutOutcome:
        with self._operation(f"put {path}"):
            return super().put_if_absent(path, data)

    def write(self, path: str, data: Any) -> None:
        with self._operation(f"write {path}"):
            super().write(path, data)

    def open_output(self, path: str) -> Any:
        with self._operation(f"output {path}"):
            return super().open_output(path)

    def delete(self, path: str) -> None:
        with self._operation(f"delete {path}"):
            super().delete(path)

    def read(self, path: str, limit: int | None = None) -> bytes:
        with self._operation(f"read {path}"):
            return super().read(path, limit)

    def stat(self, path: str) -> Any:
        with self._operation(f"stat {path}"):
            return super().stat(path)

    def list_names(self, folder: str) -> list[str]:
        with self._operation(f"list {folder}"):
            return super().list_names(folder)

    def list_folder(self, folder: str) -> list[Any]:
        with self._operation(f"list {folder}"):
            return super().list_folder(folder)

    def list_pieces(self, folder: str) -> Iterator[Any]:
        with self._operation(f"list {folder}"):
            yield from super().list_pieces(folder)

    def stat_many(self, paths: Sequence[str]) -> list[tuple[int, int] | None]:
        with self._operation("stat many"):
            return super().stat_many(paths)

    def open_input(self, path: str) -> Any:
        with self._operation(f"open {path}"):
            return super().open_input(path)


def faulty_table(lake: Lake, fail_at: int | None, **options: Any) -> tuple[Table, FaultyStore]:
    store = FaultyStore(os.fspath(lake.root), fail_at, **options)
    return Table(store), store


def saved_plan(lake: Lake, operation: str) -> Plan:
    """The plan as another process would load it."""
    state = StateFolder(lake.state)
    plan = PLANNERS[operation](lake)
    assert not plan.refusals, plan.refusals
    assert plan.steps, plan.summary
    state.save_plan(plan)
    return state.load_plan(plan.digest)


def approval_of(plan: Plan) -> maintenance.Approval:
    return maintenance.Approval(plan.digest, "test", plan.subject.name, "a test")


RETENTION = timedelta(days=7)
NOW = NOW_MS
