"""Compares us with `deltalake`, and with the least that must be read, on logs of known size.

    python -m benchmarks.run --quick     a tenth of the sizes, some minutes
    python -m benchmarks.run --full      1 M files, 10,000 and 100,000 commits

Every run of an operation is a fresh process, the entrants take turns, the
cache of the file system is warm, and the median counts. In their turns stand
also bare imports, by which memory is judged. It exits with 1 where the two
disagree on a count or a bound is missed, and says which.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.cases import Case, build_full_cases, build_quick_cases
from benchmarks.comparing import ROOT, Sample, compare, environment, link, parse_options

GROWS = "refresh"


def main() -> int:
    """Runs the cases that the command line asks for."""
    options = parse_options("benchmarks.run", "1 M files, up to 100,000 commits")
    cases = build_full_cases() if options.full else build_quick_cases()
    return compare(cases, options, measure)


def measure(entrant: str, case: Case, table: Path, root: Path = ROOT) -> Sample:
    """One operation of one entrant, by the code of the checkout at `root`; on a copy of the
    table where it grows."""
    if case.operation != GROWS:
        return _run(entrant, case, table, root)
    with tempfile.TemporaryDirectory(dir=table.parent) as scratch:
        copy = shutil.copytree(table, Path(scratch) / table.name, copy_function=link)
        return _run(entrant, case, copy, root)


def _run(entrant: str, case: Case, table: Path, root: Path) -> Sample:
    """One operation of one entrant in a process of its own."""
    timing = "whole" if case.whole_process else "inner"
    arguments = [timing, entrant, case.operation, str(table)]
    command = [sys.executable, "-m", "benchmarks.measure", *arguments]
    started = time.perf_counter()
    done = subprocess.run(command, cwd=root, env=environment(), stdout=subprocess.PIPE, check=True)
    whole_ms = (time.perf_counter() - started) * 1000
    return Sample(whole_ms=whole_ms, **json.loads(done.stdout))


if __name__ == "__main__":
    sys.exit(main())
