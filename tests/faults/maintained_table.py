"""A table for every maintenance operation, and what must hold of it however an execution
ended."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import explorer
from explorer import maintenance
from explorer.log.commits.commit_info import read_commit_info
from explorer.maintenance import Plan, StateFolder
from tests.data_tables import DataTable, field, struct
from tests.row_values import counted_rows
from tests.tables import FEATURE_PROTOCOL, CheckpointForm, metadata, vector
from tests.unit.maintenance.lake import Lake, ms_ago

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


def build_v2(scratch: Path, form: CheckpointForm) -> Lake:
    """Five versions, of which the log is to be cut at the third, whose checkpoint has a name
    that clients without V2 do not know."""
    lake = Lake(scratch)
    lake.file(f"ab/{VECTOR_FILE}")
    head = [FEATURE_PROTOCOL, metadata(configuration={"delta.checkpointPolicy": "v2"})]
    marked = lake.add("marked.parquet", age_days=60, deletionVector=vector())
    files = [lake.add(f"{at}.parquet", age_days=age) for at, age in enumerate((60, 50, 45, 9, 5))]
    lake.commit(0, [*head, marked, files[0]], age_days=60)
    for version, age in enumerate((50, 45, 9, 5), 1):
        lake.commit(version, [files[version]], age_days=age)
    lake.log.checkpoint(2, [*head, marked, *files[:3]], form=form, sidecars=2)
    return lake


class RowLake(Lake):
    """A lake whose files have rows."""

    def __init__(self, scratch: Path) -> None:
        super().__init__(scratch)
        (self.root / "_delta_log").rmdir()


def build_rows(scratch: Path, *, silent: int = 2, **configuration: str) -> Lake:
    """Four small files in two partitions, of which the first `silent` ones say nothing of their
    rows."""
    lake = RowLake(scratch)
    table = DataTable(
        lake.root,
        struct(field("id", "long"), field("part", "string")),
        configuration={**CONFIGURATION, **configuration},
        partitionColumns=["part"],
    )
    for number in range(4):
        rows = pa.table({"id": pa.array(range(number * 10, number * 10 + 3), pa.int64())})
        stats = json.dumps({"numRecords": 3, "nullCount": {"id": 0}})
        part = "ab"[number % 2]
        table.add(
            f"part={part}/{number}.parquet",
            rows,
            partitionValues={"part": part},
            **({} if number < silent else {"stats": stats}),
        )
    table.write()
    lake.log.time(0, ms_ago(9))
    return lake


Planner = Callable[[Lake], Plan]


def _plan_hint(lake: Lake) -> Plan:
    lake.log.hint(9)
    return maintenance.plan_repair(lake.table, "hint", clock=lake.clock)


def _plan_files(lake: Lake) -> Plan:
    (lake.root / "3.parquet").unlink()
    return maintenance.plan_repair(lake.table, "files", clock=lake.clock)


def _plan_copy(lake: Lake) -> Plan:
    plan = maintenance.plan_log_cleanup(lake.table, clock=lake.clock)
    assert plan.steps[0].kind == "copy_checkpoint"
    return plan


V2_FORMS: dict[str, CheckpointForm] = {
    "clean-log at v2-json": "v2-json",
    "clean-log at v2-parquet": "v2-parquet",
}
"""Cleanups that also give a checkpoint the classic name, and how theirs is written."""

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
    "repair files": _plan_files,
    "upgrade": lambda lake: maintenance.plan_upgrade(
        lake.table, features=["columnMapping", "inCommitTimestamp"], clock=lake.clock
    ),
    "drop-feature": lambda lake: maintenance.plan_drop_feature(
        lake.table, "v2Checkpoint", clock=lake.clock
    ),
    **dict.fromkeys(V2_FORMS, _plan_copy),
}


def _plan_row_ids(lake: Lake) -> Plan:
    return maintenance.plan_upgrade(lake.table, features=["rowTracking"], clock=lake.clock)


def _plan_no_row_ids(lake: Lake) -> Plan:
    assert lake.execute(_plan_row_ids(lake)).status == "completed"
    return maintenance.plan_drop_feature(lake.table, "rowTracking", clock=lake.clock)


ROW_PLANNERS: dict[str, Planner] = {
    "upgrade row ids": _plan_row_ids,
    "drop row ids": _plan_no_row_ids,
    "optimize": lambda lake: maintenance.plan_optimize(lake.table, batch_size=1, clock=lake.clock),
    "optimize in order": lambda lake: maintenance.plan_optimize(
        lake.table, zorder_by=["id"], target_size=150, clock=lake.clock
    ),
    "repair statistics": lambda lake: maintenance.plan_repair(
        lake.table, "statistics", clock=lake.clock
    ),
    "change column": lambda lake: maintenance.plan_change_column(
        lake.table, "id", comment="of what", clock=lake.clock
    ),
    "drop-constraint": lambda lake: maintenance.plan_drop_constraint(
        lake.table, "positive", clock=lake.clock
    ),
    "add-constraint": lambda lake: maintenance.plan_add_constraint(
        lake.table, "small", "id < 1000", clock=lake.clock
    ),
}
"""Operations on a table with rows."""

ON_SPARK = ("add-constraint",)
"""Those that need a session."""

OPERATIONS = (*PLANNERS, *(name for name in ROW_PLANNERS if name not in ON_SPARK))


@dataclass(frozen=True)
class State:
    """What a table holds: its newest version, files by version, and the rows of the newest
    one where it has some."""

    latest: int
    files: dict[int, tuple[str, ...]]
    rows: Counter[Any] | None = None


def state_of(lake: Lake, plan: Plan) -> State:
    """The newest version and those that the plan promises."""
    table = lake.table
    latest = table.latest_version()
    files: dict[int, tuple[str, ...]] = {}
    for version in {latest, *map(int, plan.promise.versions)}:
        names = table.snapshot(version=version).files(["path"]).column("path").to_pylist()
        there = [name for name in names if (lake.root / name).is_file()]
        assert len(names) - len(there) == _num_gone(plan, version), version
        files[version] = tuple(sorted(names))
    rows = None
    if isinstance(lake, RowLake):
        rows = counted_rows(explorer.read_rows(table.snapshot()))
    return State(latest=latest, files=files, rows=rows)


_whole: set[tuple[str, bytes]] = set()


def check_whole(lake: Lake, before: State, plan: Plan) -> None:
    """Every version that the plan promised reads as before, the newest one reads too, no
    commit is there twice, and no file that one of them needs is missing. A table of the very
    same bytes is looked at once: most faults end in one of a few."""
    held = plan.digest, _bytes_of(lake)
    if held not in _whole:
        _look_whether_whole(lake, before, plan)
        _whole.add(held)


def _bytes_of(lake: Lake) -> bytes:
    found = hashlib.sha256()
    for place in sorted(place for place in lake.root.rglob("*") if place.is_file()):
        data = place.read_bytes()
        found.update(f"{place.relative_to(lake.root)}\0{len(data)}\0".encode())
        found.update(data)
    return found.digest()


def _look_whether_whole(lake: Lake, before: State, plan: Plan) -> None:
    after = state_of(lake, plan)
    assert after.rows == before.rows
    if after.rows is None:
        assert (lake.root / "ab" / VECTOR_FILE).is_file()
    for version in map(int, plan.promise.versions):
        assert after.files[version] == before.files[version], version
    ids = [_transaction(lake, number) for number in range(before.latest + 1, after.latest + 1)]
    assert len(set(ids)) == len(ids), "no commit is there twice"


def _transaction(lake: Lake, version: int) -> str | None:
    found = read_commit_info(lake.table.store, version).body.get("txnId")
    return found if isinstance(found, str) else None


def _num_gone(plan: Plan, version: int) -> int:
    """How many files lacked from the start."""
    repairs = plan.parameters.get("what") == "files"
    return plan.files.num_rows if repairs and version <= plan.anchor.version else 0


def build(scratch: Path, operation: str) -> Lake:
    """The table for an operation."""
    if operation == "drop-constraint":
        return build_rows(scratch, **{"delta.constraints.positive": "id >= 0"})
    if operation.endswith("row ids"):
        return build_rows(scratch, silent=0)
    if operation in V2_FORMS:
        return build_v2(scratch, V2_FORMS[operation])
    return build_rows(scratch) if operation in ROW_PLANNERS else build_table(scratch)


def saved_plan(lake: Lake, operation: str) -> Plan:
    """The plan as another process would load it."""
    state = StateFolder(lake.state)
    plan = {**PLANNERS, **ROW_PLANNERS}[operation](lake)
    assert not plan.refusals, plan.refusals
    assert plan.steps, plan.summary
    state.save_plan(plan)
    return state.load_plan(plan.digest)


def data_files(lake: Lake) -> set[str]:
    """The data files that lie in the table, known or not."""
    found = (place.relative_to(lake.root) for place in lake.root.rglob("*.parquet"))
    return {str(place) for place in found if place.parts[0] != "_delta_log"}


def approval_of(plan: Plan) -> maintenance.Approval:
    return maintenance.Approval(plan.digest, "test", plan.subject.name, "a test")
