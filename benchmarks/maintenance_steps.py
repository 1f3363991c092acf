"""One run of a writer of the log, by one entrant; `benchmarks.maintenance` starts it in a
fresh process.

Prints one JSON object as `benchmarks.measure` does. Each step returns a count on which
both entrants must agree; opening the table is part of it.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Mapping

from benchmarks.measure import peak_mib

Step = Callable[[], int]


def checkpoint_by_explorer(table: str) -> Step:
    """Opens the latest version, writes its checkpoint, and reads that back."""
    from datetime import UTC, datetime  # noqa: PLC0415  # imports are not measured

    from explorer import open_table  # noqa: PLC0415  # as above
    from explorer.log.checkpoint_writing.checkpoint_writer import write_checkpoint  # noqa: PLC0415  # as above
    from explorer.storage.open import open_write_store  # noqa: PLC0415  # as above

    _import_all()

    def step() -> int:
        snapshot, store = open_table(table).snapshot(), open_write_store(table)
        written = snapshot.consult(
            lambda loaded: write_checkpoint(store, loaded, now=datetime.now(UTC))
        )
        return written.last.version

    return step


def checkpoint_by_deltalake(table: str) -> Step:
    """Opens the latest version and writes its checkpoint."""
    from deltalake import DeltaTable  # noqa: PLC0415  # imports are not measured

    def step() -> int:
        opened = DeltaTable(table)
        opened.create_checkpoint()
        return opened.version()

    return step


def compaction_by_explorer(table: str) -> Step:
    """Lists the log, writes one compaction of all its commits, and reads that back."""
    from explorer.log.checkpoint_writing.compaction_writer import write_compaction  # noqa: PLC0415  # as above
    from explorer.log.folder.listing import list_log  # noqa: PLC0415  # as above
    from explorer.storage.open import open_write_store  # noqa: PLC0415  # as above

    _import_all()

    def step() -> int:
        store = open_write_store(table)
        listing = list_log(store)
        last = listing.latest_version or 0
        return write_compaction(store, listing, 0, last).compaction.last

    return step


def compaction_by_deltalake(table: str) -> Step:
    """Opens the table: what stands for a log compaction, which takes it longer."""
    from deltalake import DeltaTable  # noqa: PLC0415  # imports are not measured

    return lambda: DeltaTable(table).version()


_STEPS: Mapping[tuple[str, str], Callable[[str], Step]] = {
    ("checkpoint", "explorer"): checkpoint_by_explorer,
    ("checkpoint", "deltalake"): checkpoint_by_deltalake,
    ("compaction", "explorer"): compaction_by_explorer,
    ("compaction", "deltalake"): compaction_by_deltalake,
}


def _import_all() -> None:
    """What the engine imports only when it is needed."""
    for name in ("pyarrow.compute", "pyarrow.parquet", "concurrent.futures"):
        importlib.import_module(name)


def main(operation: str, entrant: str, table: str) -> None:
    """Runs an operation once."""
    step = _STEPS[operation, entrant](table)
    started = time.perf_counter()
    count = step()
    inner = time.perf_counter() - started
    print(json.dumps({"count": count, "inner_ms": inner * 1000, "peak_mib": peak_mib()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
