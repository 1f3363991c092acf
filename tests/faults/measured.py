"""Opens one table and answers, as JSON, how it ended and what it cost: run as a
process of its own, so that its memory is its own and a crash is seen from outside.

    python -m tests.faults.measured PLACE [schema] [rows]
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

import explorer
from explorer.errors import DeltaError

# far above what any test allows: one that fails must not take the machine with it
_CEILING = 10 * 2**30


def peak_bytes() -> int:
    """The most memory that this process has held.

    Not `ru_maxrss`: that begins with the size of the process that started this one.
    """
    return _peak("VmHWM:")


def peak_address_space() -> int:
    """The most memory that this process has asked for, used or not."""
    return _peak("VmPeak:")


def _peak(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise AssertionError("the kernel does not say")


def main(place: str, *also: str) -> None:
    """Ask everything that reads the whole log, and for the schema and the rows where these
    are named."""
    resource.setrlimit(resource.RLIMIT_AS, (_CEILING, _CEILING))
    begun = time.perf_counter()
    answer: dict[str, object] = {"files": None, "error": None}
    try:
        table = explorer.open_table(place)
        snapshot = table.snapshot()
        answer["files"] = snapshot.num_files
        answer["rows"] = snapshot.num_rows
        answer["paths"] = snapshot.files(["path", "stats"]).num_rows
        answer["tombstones"] = snapshot.num_tombstones
        answer["commits"] = table.history().num_rows
        if "schema" in also:
            answer["columns"] = len(snapshot.schema.fields)
        if "rows" in also:
            answer["rows"] = explorer.read_rows(snapshot).num_rows
        answer["problems"] = [problem.kind for problem in snapshot.problems]
    except DeltaError as error:
        answer["error"] = error.kind
        answer["reason"] = error.reason
    answer["seconds"] = time.perf_counter() - begun
    answer["peak"] = peak_bytes()
    answer["asked"] = peak_address_space()
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
