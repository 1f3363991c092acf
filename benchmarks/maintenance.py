"""Compares what we write into a log with `deltalake` and prints the ratios.

    python -m benchmarks.maintenance --quick     a tenth of the sizes
    python -m benchmarks.maintenance --full      1 M files, 10,000 commits

A checkpoint, opening included on both sides; and a log compaction, against an open of
the peer. Every run is a fresh process on a copy of the table (hard links, so that the
cache of the file system is as warm), the entrants take turns, and the median counts. It
exits with 1 where the two disagree or a required ratio is missed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import logs
from benchmarks.cases import Case
from benchmarks.comparing import ROOT, Sample, compare, environment, link, parse_options


def main() -> int:
    """Runs the cases that the command line asks for."""
    options = parse_options("benchmarks.maintenance", "1 M files, 10,000 commits")
    cases = build_cases(1_000_000, 10_000) if options.full else build_cases(100_000, 1_000)
    return compare(cases, options, measure)


def build_cases(files: int, commits: int) -> list[Case]:
    """What is measured; ratios are required of the full sizes alone."""
    full = files >= 1_000_000
    return [
        Case(
            title=f"checkpoint of {files:,} files, opening included",
            operation="checkpoint",
            log=logs.classic(files),
            min_speedup=5 if full else None,
            max_memory=0.33 if full else None,
        ),
        Case(
            title=f"log compaction of {commits:,} commits; the peer opens them",
            operation="compaction",
            log=logs.commits(commits),
            min_speedup=8 if full else None,
        ),
    ]


def measure(entrant: str, case: Case, table: Path, root: Path = ROOT) -> Sample:
    """One operation of one entrant, by the code of the checkout at `root`, in a process of
    its own and on a copy."""
    with tempfile.TemporaryDirectory(dir=table.parent) as scratch:
        copy = Path(scratch) / table.name
        shutil.copytree(table, copy, copy_function=link)
        arguments = [case.operation, entrant, str(copy)]
        command = [sys.executable, "-m", "benchmarks.maintenance_steps", *arguments]
        done = subprocess.run(
            command, cwd=root, env=environment(), stdout=subprocess.PIPE, check=True
        )
    found = json.loads(done.stdout)
    return Sample(whole_ms=found["inner_ms"], **found)


if __name__ == "__main__":
    sys.exit(main())
