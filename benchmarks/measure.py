"""Measures one operation of one entrant; `benchmarks.run` starts it in a fresh process.

Prints one JSON object: `count`, `inner_ms` (without imports), `peak_mib`. Imports
next to nothing itself, because the whole process is measured too.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time


def main(timing: str, entrant: str, operation: str, table: str) -> None:
    """Runs `operation` of the module `benchmarks.with_<entrant>` once.

    `timing` is "whole" where imports are to count, and "inner" where not.
    """
    operations = importlib.import_module(f"benchmarks.with_{entrant}")
    if timing == "inner":
        operations.import_all()
    step = getattr(operations, operation)(table)
    started = time.perf_counter()
    count = step()
    inner = time.perf_counter() - started
    print(json.dumps({"count": count, "inner_ms": inner * 1000, "peak_mib": peak_mib()}))


def peak_mib() -> float:
    """Peak resident memory of this process.

    On Linux from /proc: what `getrusage` says there begins with the memory of
    the process that started this one.
    """
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            line = next(line for line in status if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    except FileNotFoundError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
