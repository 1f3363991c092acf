"""Maintains a table for as long as others write to it; run as a script.

    python -m tests.faults.maintenance_worker URI STATE [KEY=VALUE ...]

It waits for a line on standard input, so that all begin together, and goes round until that
ends: a checkpoint, a log compaction, a vacuum with something to delete, a cleanup. At the end
it prints, as JSON, how often each ended how, and how many versions it made.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import explorer
from explorer import maintenance
from explorer.errors import DeltaError
from explorer.maintenance import Approval, Plan

_OLD_S = 30 * 86_400


def maintain(uri: str, state: Path, options: dict[str, str]) -> None:
    """Go round until standard input ends, and once more."""
    print("ready", flush=True)  # noqa: T201  # the protocol with the test
    sys.stdin.readline()
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    outcomes: Counter[str] = Counter()
    versions = 0
    while True:
        is_last = ended.is_set()
        for name, plan_it in _OPERATIONS.items():
            if name == "vacuum" and "://" not in uri:
                _stray(Path(uri), outcomes.total())
            try:
                plan = plan_it(explorer.open_table(uri, options))
                receipt = maintenance.execute(
                    plan,
                    Approval(plan.digest, table_name=plan.subject.name, reason="test"),
                    storage_options=options or None,
                    state_dir=state,
                )
            except DeltaError as error:
                outcomes[f"{name} {error.kind}"] += 1
                continue
            outcomes[f"{name} {receipt.status if plan.steps else 'nothing'}"] += 1
            results = (step.result or {} for step in receipt.steps if step.kind == "commit")
            versions += sum("version" in result for result in results)
        if is_last:
            break
    print(json.dumps({"outcomes": outcomes, "versions": versions}))  # noqa: T201  # as above


def _stray(root: Path, number: int) -> None:
    """A file that no version knows, old enough to go."""
    place, old = root / f"stray-{number}.parquet", time.time() - _OLD_S
    place.write_bytes(b"x")
    os.utime(place, (old, old))


_OPERATIONS: dict[str, Callable[[explorer.Table], Plan]] = {
    "checkpoint": maintenance.plan_checkpoint,
    "compact-log": maintenance.plan_log_compaction,
    "vacuum": maintenance.plan_vacuum,
    "clean-log": maintenance.plan_log_cleanup,
}


if __name__ == "__main__":
    _, place, folder, *given = sys.argv
    maintain(place, Path(folder), dict(item.split("=", 1) for item in given))
