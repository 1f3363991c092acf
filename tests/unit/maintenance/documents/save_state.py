"""Saves a state folder as the release that runs it writes one: plans of every operation,
receipts of every end, and journals of executions that were killed at every kind of step.

    python -m tests.unit.maintenance.documents.save_state FOLDER

FOLDER gets `state`, and `tables` with the logs of the tables that were being changed. The tables
lie in memory while this runs, so that their places are the same on every machine.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import fsspec
import pyarrow as pa

import explorer
from explorer import maintenance
from explorer.errors import StorageError
from explorer.maintenance import Approval, Plan, StateFolder
from explorer.progress import Cancel, Progress
from tests.data_tables import DataTable, field, struct
from tests.tables import CheckpointForm, LogFolder, add, metadata, remove

SHELF = "/format-1"
DAY_MS = 86_400_000
SILENT = '{"numRecords":3}'


class KilledError(BaseException):
    """In the place of a signal, after which nothing more is written."""


@dataclass
class Shelf:
    """The tables that are changed, and the state folder that is saved."""

    scratch: Path
    state: Path
    now_ms: int

    def ago(self, days: float) -> int:
        return self.now_ms - int(days * DAY_MS)

    def put(self, name: str, root: Path, ages: Mapping[str, float]) -> explorer.Table:
        """A table of this name in memory; `ages` are those of its files in days, 40 else."""
        memory = fsspec.filesystem("memory")
        memory.put(str(root), f"{SHELF}/{name}", recursive=True)
        for path in memory.find(f"{SHELF}/{name}"):
            age = ages.get(path.removeprefix(f"{SHELF}/{name}/"), 40)
            created = datetime.fromtimestamp(self.ago(age) / 1000, UTC)
            memory.store[path].created = memory.store[path].modified = created
        return explorer.open_table(f"memory://{SHELF}/{name}")

    def orders(self, name: str, *features: str, **configuration: str) -> explorer.Table:
        """Six versions of files that nobody reads, with a file that was removed, a stray one,
        a checkpoint and no hint: something to do for every operation. With v2Checkpoint the
        commits before the checkpoint are gone."""
        log = LogFolder(self.scratch / name)
        body = {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": ["deletionVectors", *({"v2Checkpoint"} & {*features})],
            "writerFeatures": ["deletionVectors", "checkConstraints", *features],
        }
        conf = configuration or {"delta.constraints.old": "id > 0"}
        first = [{"protocol": body}, metadata(configuration=conf)]
        files = [add(f"{at}.parquet", stats=SILENT, size=100) for at in range(6)]
        for version, file in enumerate(files):
            gone = remove("0.parquet", deletionTimestamp=self.ago(35), size=100)
            actions = [*(first if version == 0 else []), file, *([gone] if version == 5 else [])]
            log.commit(version, actions)
        form: CheckpointForm = "v2-parquet" if "v2Checkpoint" in features else "classic"
        (checkpoint,) = log.checkpoint(3, [*first, *files[:4]], form=form)
        for version in range(3) if form == "v2-parquet" else ():
            (log.log / f"{version:020}.json").unlink()
        for path in (*(f"{at}.parquet" for at in range(6)), "stray.parquet"):
            (log.root / path).write_bytes(b"x" * 100)
        commits = {f"_delta_log/{at:020}.json": 60 - at for at in range(6)}
        return self.put(name, log.root, {**commits, f"_delta_log/{checkpoint.name}": 57})

    def rows(self, name: str) -> explorer.Table:
        """A table with real rows, in files that are small and say too little of them."""
        table = DataTable(self.scratch / name, struct(field("id", "long")))
        for number in range(4):
            rows = pa.table({"id": pa.array(range(number * 10, number * 10 + 5), pa.int64())})
            place = table.add(f"{number}.parquet", rows, stats='{"numRecords":5}')
            table._actions[-1]["add"]["size"] = place.stat().st_size
        return self.put(name, table.write(), {})

    def keep(self, plan: Plan) -> Plan:
        StateFolder(self.state).save_plan(plan)
        return plan

    def execute(self, plan: Plan, **options: Any) -> maintenance.Receipt:
        approval = options.pop("approval", None) or approve(plan)
        options.setdefault("clock", lambda: self.now_ms)
        return maintenance.execute(plan, approval, state_dir=self.state, **options)

    def kill(self, plan: Plan, lines: int, *, before_next: bool) -> None:
        """Carry out a plan until its journal has so many lines; `before_next` lets it go on
        until it would write the next one, so that what it did last is in the table alone."""
        written = 0
        append = StateFolder.append_journal

        def note(state: StateFolder, digest: str, line: Mapping[str, Any]) -> None:
            nonlocal written
            if written == lines:
                raise KilledError
            append(state, digest, line)
            written += 1
            if written == lines and not before_next:
                raise KilledError

        def end(*_: Any) -> None:
            raise KilledError

        with (
            patch.object(StateFolder, "append_journal", note),
            patch.object(StateFolder, "save_receipt", end),
            suppress(KilledError),
        ):
            self.execute(self.keep(plan))
            raise AssertionError("it was not killed")


def approve(plan: Plan) -> Approval:
    """The approval that a plan asks for, by somebody."""
    if not plan.asks_for_name:
        return Approval(plan.digest, by="anna")
    return Approval(plan.digest, by="anna", table_name=plan.subject.name, reason="to be kept")


PLANNERS: Mapping[str, Callable[[explorer.Table, Shelf], Plan]] = {
    "checkpoint": lambda table, _: maintenance.plan_checkpoint(table),
    "compact-log": lambda table, _: maintenance.plan_log_compaction(table, 4, 5),
    "vacuum": lambda table, shelf: maintenance.plan_vacuum(table, state_dir=shelf.state),
    "vacuum-lite": lambda table, shelf: maintenance.plan_vacuum(
        table, mode="lite", state_dir=shelf.state
    ),
    "vacuum-short": lambda table, shelf: maintenance.plan_vacuum(
        table, timedelta(days=2), state_dir=shelf.state
    ),
    "clean-log": lambda table, _: maintenance.plan_log_cleanup(table),
    "restore": lambda table, _: maintenance.plan_restore(table, 4),
    "set": lambda table, _: maintenance.plan_set_properties(table, {"owner": "me"}),
    "unset": lambda table, _: maintenance.plan_set_properties(table, unset=["owner"]),
    "add-constraint": lambda table, _: maintenance.plan_add_constraint(table, "small", "id < 5"),
    "drop-constraint": lambda table, _: maintenance.plan_drop_constraint(table, "old"),
    "upgrade": lambda table, _: maintenance.plan_upgrade(table, features=["rowTracking"]),
    "drop-feature": lambda table, _: maintenance.plan_drop_feature(table, "deletionVectors"),
    "drop-constraints": lambda table, _: maintenance.plan_drop_feature(table, "checkConstraints"),
    "repair-hint": lambda table, _: maintenance.plan_repair(table, "hint"),
    "repair-checkpoint": lambda table, _: maintenance.plan_repair(table, "checkpoint"),
}


def save_ends(shelf: Shelf) -> None:
    """A plan and a receipt of each operation, and the other ends."""
    for name, plan_it in PLANNERS.items():
        owner = {"owner": "you"} if name in {"unset", "drop-constraints"} else {}
        table = shelf.orders(f"{name}-done", **owner)
        if name == "repair-checkpoint":
            fsspec.filesystem("memory").pipe(
                f"{SHELF}/{name}-done/_delta_log/{3:020}.checkpoint.parquet", b"no checkpoint"
            )
        plan = shelf.keep(plan_it(table, shelf))
        if name != "add-constraint":  # which would take a session
            shelf.execute(plan)
    policy = {"delta.checkpointPolicy": "v2"}
    table = shelf.orders("checkpoint-v2-done", "v2Checkpoint", **policy)
    shelf.execute(shelf.keep(maintenance.plan_checkpoint(table)))
    table = shelf.orders("repair-files-done")
    fsspec.filesystem("memory").rm(f"{SHELF}/repair-files-done/4.parquet")
    shelf.execute(shelf.keep(maintenance.plan_repair(table, "files")))
    for name, plan_rows in (
        ("optimize-done", maintenance.plan_optimize),
        ("repair-statistics-done", lambda table: maintenance.plan_repair(table, "statistics")),
    ):
        shelf.execute(shelf.keep(plan_rows(shelf.rows(name))))


def save_other_ends(shelf: Shelf) -> None:
    """Refused, failed, cancelled, and partly done."""
    table = shelf.orders("stale")
    plan = shelf.keep(PLANNERS["set"](table, shelf))
    shelf.execute(PLANNERS["unset"](shelf.orders("other", owner="you"), shelf))
    shelf.execute(plan, approval=Approval("0" * 64, by="anna"))  # of another plan
    shelf.execute(PLANNERS["drop-constraint"](table, shelf))
    shelf.execute(plan, clock=lambda: shelf.now_ms + 1)  # stale by now
    refused = shelf.keep(PLANNERS["set"](shelf.orders("refused", "fromTheFuture"), shelf))
    shelf.execute(refused)

    full = shelf.keep(PLANNERS["set"](shelf.orders("failed"), shelf))
    error = StorageError("The disk is full.", reason="ENOSPC", remedy="Make room.")
    with patch("explorer.maintenance.steps.commit_step.commit", side_effect=error):
        shelf.execute(full)

    changed = shelf.keep(PLANNERS["vacuum"](shelf.orders("partly"), shelf))
    fsspec.filesystem("memory").pipe(f"{SHELF}/partly/stray.parquet", b"another one")
    shelf.execute(changed)

    stopped = shelf.keep(PLANNERS["vacuum"](shelf.orders("cancelled"), shelf))
    cancel = Cancel()

    def stop(progress: Progress) -> None:
        if progress.label == stopped.steps[3].reason:
            cancel.cancel()

    shelf.execute(stopped, progress=stop, cancel=cancel)


def save_killed(shelf: Shelf) -> None:
    """Journals that end nowhere: each of its lines is the last one once, and what was done
    after the last one is in the table alone."""
    for lines, before_next in (
        *((lines, False) for lines in range(1, 9)),
        (1, True),  # the start is committed, and no line says so
        (4, True),  # a file is gone, and no line says so
        (6, True),  # the end is committed, and no line says so
    ):
        table = shelf.orders(f"vacuum-killed-{lines}{'-more' if before_next else ''}")
        shelf.kill(PLANNERS["vacuum"](table, shelf), lines, before_next=before_next)
    for name in ("set", "restore", "upgrade", "drop-feature", "add-constraint"):
        table = shelf.orders(f"{name}-killed")
        shelf.kill(PLANNERS[name](table, shelf), 1, before_next=False)
    for name in ("set", "checkpoint", "clean-log", "drop-constraint"):
        table = shelf.orders(f"{name}-killed-more")
        shelf.kill(PLANNERS[name](table, shelf), 1, before_next=True)
    off = {"delta.enableDeletionVectors": "false"}
    table = shelf.orders("drop-feature-killed-6", **off)
    plan = PLANNERS["drop-feature"](table, shelf)
    shelf.kill(plan, min(6, len(plan.steps)), before_next=False)
    for lines, before_next in ((2, False), (2, True)):  # after the line that names its files
        table = shelf.rows(f"optimize-killed-{lines}{'-more' if before_next else ''}")
        shelf.kill(maintenance.plan_optimize(table), lines, before_next=before_next)
    table = shelf.rows("repair-statistics-killed-more")
    shelf.kill(maintenance.plan_repair(table, "statistics"), 1, before_next=True)


def save(folder: Path) -> None:
    """All of it below an empty folder."""
    with tempfile.TemporaryDirectory() as scratch:
        now_ms = time.time_ns() // 1_000_000
        shelf = Shelf(scratch=Path(scratch), state=folder / "state", now_ms=now_ms)
        for step in (save_ends, save_other_ends, save_killed):
            step(shelf)
        for lock in (shelf.state / "runs").glob("*.lock"):
            lock.unlink()
    memory = fsspec.filesystem("memory")
    for path in memory.find(SHELF):
        name, _, rest = path.removeprefix(f"{SHELF}/").partition("/")
        # what was done before a kill is told by the commits
        if "killed" in name and rest.startswith("_delta_log/") and rest.endswith(".json"):
            place = folder / "tables" / name / rest
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(memory.cat(path))


if __name__ == "__main__":
    save(Path(sys.argv[1]))
