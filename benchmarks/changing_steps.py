"""One run of a change or its plan, by one entrant; `benchmarks.changing` starts it in a
fresh process.

Prints one JSON object as `benchmarks.measure` does. Each step returns a count on which
both entrants must agree.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.measure import peak_mib

COMMITS = 100

Step = Callable[[], tuple[int, float]]
"""Answers a count, and the seconds of it that are not to be counted."""


def commits_by_explorer(table: str) -> Step:
    """Opens the table once, then commits upon the newest version, again and again."""
    from explorer.protocol.file_actions import AddFile  # noqa: PLC0415  # imports do not count
    from explorer.storage.open import open_read_store, open_write_store  # noqa: PLC0415  # as above
    from explorer.table.table import Table  # noqa: PLC0415  # as above
    from explorer.transaction.commit import commit  # noqa: PLC0415  # as above
    from explorer.transaction.read_set import NOTHING  # noqa: PLC0415  # as above
    from explorer.transaction.read_version import read_version_of  # noqa: PLC0415  # as above
    from explorer.transaction.staged import Provenance, StagedCommit  # noqa: PLC0415  # as above

    def step() -> tuple[int, float]:
        store, opened = open_write_store(table), Table(open_read_store(table))
        for number in range(COMMITS):
            add = AddFile(path=_name(number), partition_values=_VALUES, size=1, modification_time=1)
            staged = StagedCommit(
                base=read_version_of(opened.snapshot()),
                reads=NOTHING,
                provenance=Provenance(
                    operation="WRITE", transaction_id=_name(number), engine_info="benchmark"
                ),
                actions=(add,),
            )
            commit(store, staged, clock=lambda: time.time_ns() // 1_000_000)
        return COMMITS, 0

    return step


def commits_by_deltalake(table: str) -> Step:
    """The same; without a checkpoint after commits, as ours."""
    from deltalake import DeltaTable, PostCommitHookProperties  # noqa: PLC0415  # as above
    from deltalake.transaction import AddAction  # noqa: PLC0415  # as above

    hooks = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)

    def step() -> tuple[int, float]:
        opened = DeltaTable(table)
        schema, columns = opened.schema(), opened.metadata().partition_columns
        for number in range(COMMITS):
            add = AddAction(_name(number), 1, _VALUES, 1, True, "{}")  # noqa: FBT003  # theirs
            opened.create_write_transaction(
                [add], "append", schema, columns, post_commithook_properties=hooks
            )
            opened.update_incremental()
        return COMMITS, 0

    return step


def vacuum_by_explorer(table: str) -> Step:
    """Plans a vacuum; what the second way to the kept files takes is not counted."""
    return _plan(table, counts_second=False)


def vacuum_twice_by_explorer(table: str) -> Step:
    """Plans a vacuum, all of it."""
    return _plan(table, counts_second=True)


def _plan(table: str, *, counts_second: bool) -> Step:
    from explorer import open_table  # noqa: PLC0415  # as above
    from explorer.maintenance.plan import independent_check as second_route  # noqa: PLC0415  # as above
    from explorer.maintenance.vacuum import vacuum  # noqa: PLC0415  # as above

    for module in (
        "pyarrow.compute",
        "pyarrow.parquet",
        "explorer.log.state.reconciled_files",
        "numpy",
    ):
        importlib.import_module(module)
    taken = 0.0
    name, go = "check_independently", second_route.check_independently

    def timed(*arguments: Any) -> Any:
        nonlocal taken
        started = time.perf_counter()
        found = go(*arguments)
        taken += time.perf_counter() - started
        return found

    setattr(vacuum, name, timed)

    def step() -> tuple[int, float]:
        plan = vacuum.plan_vacuum(open_table(table))
        return int(plan.effect["num_files"]), 0 if counts_second else taken

    return step


def vacuum_by_deltalake(table: str) -> Step:
    """Opens the table and asks which files a full vacuum would delete."""
    from deltalake import DeltaTable  # noqa: PLC0415  # as above

    return lambda: (len(DeltaTable(table).vacuum(dry_run=True, full=True)), 0)


def _name(number: int) -> str:
    # two processes that race must not add one file
    return f"region=emea/day=2025-01-01/part-{os.getpid()}-{number:05d}.parquet"


_VALUES = {"region": "emea", "day": "2025-01-01"}

_STEPS: Mapping[tuple[str, str], Callable[[str], Step]] = {
    ("commits", "explorer"): commits_by_explorer,
    ("commits", "deltalake"): commits_by_deltalake,
    ("vacuum", "explorer"): vacuum_by_explorer,
    ("vacuum", "deltalake"): vacuum_by_deltalake,
    ("vacuum_twice", "explorer"): vacuum_twice_by_explorer,
    ("vacuum_twice", "deltalake"): vacuum_by_deltalake,
}


def main(operation: str, entrant: str, table: str) -> None:
    """Runs an operation once."""
    step = _STEPS[operation, entrant](table)
    started = time.perf_counter()
    count, uncounted = step()
    inner = time.perf_counter() - started - uncounted
    print(json.dumps({"count": count, "inner_ms": inner * 1000, "peak_mib": peak_mib()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
