"""Eight writers of three kinds who append to one table at once, while another one maintains it."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake
from pyspark.sql import SparkSession

import explorer
from explorer import maintenance, pipeline
from explorer.errors import DeltaError
from explorer.maintenance import Plan
from tests.pipeline.optimized import Run
from tests.sampling import EVERYTHING

WRITERS = 8
COMMITS = int(os.environ.get("DELTA_EXPLORER_RACING_COMMITS", "10" if EVERYTHING else "2"))
_OLD_S = 30 * 86_400
_OPERATIONS: dict[str, Callable[[explorer.Table], Plan]] = {
    "optimize": maintenance.plan_optimize,
    "vacuum": maintenance.plan_vacuum,
    "checkpoint": maintenance.plan_checkpoint,
    "compact-log": maintenance.plan_log_compaction,
    "clean-log": maintenance.plan_log_cleanup,
}


def _stray(place: Path, number: int) -> Path:
    """A file that no version knows, old enough to go."""
    found, old = place / f"stray-{number}.parquet", time.time() - _OLD_S
    found.write_bytes(b"x")
    os.utime(found, (old, old))
    return found


def _maintained(place: Path, run: Run, writers: list[Future[None]]) -> Counter[str]:
    """Goes round until nobody writes, and once more; how often each operation ended how."""
    outcomes: Counter[str] = Counter()
    for number in range(1_000):
        is_last = all(writer.done() for writer in writers)
        stray = _stray(place, number)
        for name, plan_it in _OPERATIONS.items():
            try:
                plan = plan_it(explorer.open_table(place))
                receipt = run(plan)
            except DeltaError as error:
                outcomes[f"{name} {error.kind}"] += 1
                continue
            outcomes[f"{name} {receipt.status if plan.steps else 'nothing'}"] += 1
        outcomes["stray deleted"] += not stray.exists()
        if is_last:
            break
    return outcomes


def raced(spark: SparkSession, run: Run, place: Path) -> Counter[str]:
    """The outcomes of maintenance; afterwards the table has the ids from 0 on, ten of each
    commit."""
    pipeline.create(place, "id BIGINT", properties={"delta.checkpointInterval": "7"})
    gate = threading.Barrier(WRITERS)

    def here(ids: range) -> None:
        pipeline.write(pa.table({"id": pa.array(ids, pa.int64())}), place, engine="local")

    def on_spark(ids: range) -> None:
        pipeline.write(spark.range(ids.start, ids.stop, 1, 1), place)

    def by_deltalake(ids: range) -> None:
        write_deltalake(str(place), pa.table({"id": pa.array(ids, pa.int64())}), mode="append")

    kinds = (here, on_spark, by_deltalake)

    def append(writer: int) -> None:
        gate.wait()
        for number in range(COMMITS):
            first = 10 * (writer * COMMITS + number)
            kinds[writer % len(kinds)](range(first, first + 10))

    with ThreadPoolExecutor(WRITERS) as pool:
        writers = [pool.submit(append, writer) for writer in range(WRITERS)]
        outcomes = _maintained(place, run, writers)
    for writer in writers:
        writer.result()
    return outcomes
