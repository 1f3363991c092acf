"""One run of a change by one entrant; `benchmarks.changes` starts it in a fresh process.

    python -m benchmarks.changes_here STEP ENTRANT FOLDER

Prints one JSON object: seconds of the clock and of processors, and more as the step says.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measure import peak_mib
from benchmarks.writes_here import columns_of
from benchmarks.writes_measured import CHECKPOINTS, processor_seconds, timed, timed_synced

_ROWS = 1_000_000
_WARM = 10
"""The id that is deleted first, uncounted, so that everything is imported."""

_ASKED = 500_000
_PROPERTIES = {"delta.checkpointInterval": CHECKPOINTS}

Found = dict[str, Any]


def one_row_by_explorer(place: Path, *, vectors: bool) -> Found:
    """A delete of one row, with the table open."""
    import explorer  # noqa: PLC0415  # of one entrant alone
    from explorer import pipeline  # noqa: PLC0415  # as above

    properties = {
        **_PROPERTIES,
        "delta.parquet.compression.codec": "snappy",
        "delta.enableDeletionVectors": str(vectors).lower(),
    }
    pipeline.write(columns_of(range(_ROWS)), place, properties=properties)
    table = explorer.open_table(place)
    table.snapshot()
    pipeline.delete(table, f"id = {_WARM}", engine="local")
    table.snapshot()
    taken = timed(lambda: pipeline.delete(table, f"id = {_ASKED}", engine="local"))
    return {"wall": taken.wall, "processors": taken.processors}


def one_row_by_deltalake(place: Path) -> Found:
    """The same; it has rewriting alone."""
    from deltalake import DeltaTable, write_deltalake  # noqa: PLC0415  # of one entrant alone

    write_deltalake(place, columns_of(range(_ROWS)), configuration=_PROPERTIES)
    table = DeltaTable(place)
    table.delete(f"id = {_WARM}")
    taken = timed_synced(lambda: table.delete(f"id = {_ASKED}"), place)
    return {"wall": taken.wall, "processors": taken.processors}


def many_files(place: Path) -> Found:
    """A delete by vectors that touches a tenth of very many files, on Spark with a small heap."""
    from benchmarks.pipeline_processes import start  # noqa: PLC0415  # starts a JVM
    from explorer import pipeline  # noqa: PLC0415  # as above

    spark = start("local[2]", **{"spark.driver.memory": "1g"})
    found: Found = {}

    def work() -> None:
        result = pipeline.delete(place, "part = 0 AND id = 3", engine="spark", spark=spark)
        found["touched"] = result.metrics["numDeletionVectorsAdded"]

    taken = timed(work, processor_seconds)
    jvm: Any = spark._jvm
    runtime = jvm.java.lang.Runtime.getRuntime()
    heap = (runtime.totalMemory() - runtime.freeMemory()) / 2**20
    peak = peak_mib()
    return {
        **found,
        "wall": taken.wall,
        "processors": taken.processors,
        "mib": peak,
        "heap": heap,
    }


STEPS: dict[tuple[str, str], Callable[[Path], Found]] = {
    ("one-row", "explorer-vectors"): lambda place: one_row_by_explorer(place, vectors=True),
    ("one-row", "explorer-rewriting"): lambda place: one_row_by_explorer(place, vectors=False),
    ("one-row", "deltalake-rewriting"): one_row_by_deltalake,
    ("many-files", "explorer"): many_files,
}


def main(step: str, entrant: str, folder: str) -> None:
    """Runs a step once, on a table at `folder`."""
    print(json.dumps(STEPS[step, entrant](Path(folder))))


if __name__ == "__main__":
    main(*sys.argv[1:])
