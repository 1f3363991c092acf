"""Compares us with `deltalake` on logs of known size and prints the ratios.

    python -m benchmarks.run --quick     a tenth of the sizes, some minutes
    python -m benchmarks.run --full      1 M files, 10,000 and 100,000 commits

Every run of an operation is a fresh process, the entrants take turns, the
cache of the file system is warm, and the median counts. It exits with 1 where
the two disagree on a count or a required ratio is missed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cases import Case, build_full_cases, build_quick_cases
from benchmarks.logs import write_table
from benchmarks.report import Comparison, Figures, render_machine, render_row, render_table

ROOT = Path(__file__).resolve().parent.parent
ENTRANTS = ("deltalake", "explorer")
GROWS = "refresh"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What one process measured; `whole_ms` includes the start of Python and the imports."""

    count: int
    inner_ms: float
    whole_ms: float
    peak_mib: float


def main() -> int:
    """Runs the cases that the command line asks for."""
    options = _parse_options()
    cases = build_full_cases() if options.full else build_quick_cases()
    cases = [case for case in cases if options.only in case.title]
    print(render_machine(), end="\n\n", flush=True)
    comparisons = []
    for case in cases:
        comparison = _compare(case, write_table(options.folder, case.log), options.rounds)
        comparisons.append(comparison)
        print(render_row(comparison), flush=True)
    print()
    print(render_table(comparisons))
    return 0 if all(not comparison.misses for comparison in comparisons) else 1


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.run", description="Compares us with deltalake."
    )
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    size.add_argument("--full", action="store_true", help="1 M files, up to 100,000 commits")
    parser.add_argument("--rounds", type=int, default=5, help="runs per entrant (default: 5)")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose title has TEXT")
    parser.add_argument(
        "--folder",
        type=Path,
        default=ROOT / ".cache" / "benchmarks",
        help="where the generated logs are kept",
    )
    return parser.parse_args()


def _compare(case: Case, table: Path, rounds: int) -> Comparison:
    samples: dict[str, list[Sample]] = {entrant: [] for entrant in ENTRANTS}
    for turn in range(rounds):
        order = ENTRANTS if turn % 2 == 0 else ENTRANTS[::-1]
        for entrant in order:
            samples[entrant].append(_measure(entrant, case, table))
    peer, ours = (_figures(samples[entrant]) for entrant in ENTRANTS)
    return Comparison(case=case, peer=peer, ours=ours)


def _measure(entrant: str, case: Case, table: Path) -> Sample:
    """One operation of one entrant; on a copy of the table where it grows."""
    if case.operation != GROWS:
        return _run(entrant, case, table)
    with tempfile.TemporaryDirectory(dir=table.parent) as scratch:
        copy = shutil.copytree(table, Path(scratch) / table.name, copy_function=_link)
        return _run(entrant, case, copy)


def _link(source: str, target: str) -> None:
    """A hard link: the old files of a copy are the same files, and as warm in the cache."""
    Path(target).hardlink_to(source)


def _run(entrant: str, case: Case, table: Path) -> Sample:
    """One operation of one entrant in a process of its own."""
    timing = "whole" if case.whole_process else "inner"
    arguments = [timing, entrant, case.operation, str(table)]
    command = [sys.executable, "-m", "benchmarks.measure", *arguments]
    started = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    whole_ms = (time.perf_counter() - started) * 1000
    return Sample(whole_ms=whole_ms, **json.loads(done.stdout))


def _figures(samples: list[Sample]) -> Figures:
    return Figures(
        counts=frozenset(sample.count for sample in samples),
        inner_ms=statistics.median(sample.inner_ms for sample in samples),
        whole_ms=statistics.median(sample.whole_ms for sample in samples),
        peak_mib=statistics.median(sample.peak_mib for sample in samples),
    )


if __name__ == "__main__":
    sys.exit(main())
