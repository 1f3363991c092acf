"""Compares what we write into a log with `deltalake` and prints the ratios.

    python -m benchmarks.maintenance --quick     a tenth of the sizes
    python -m benchmarks.maintenance --full      1 M files, 10,000 commits

A checkpoint, opening included on both sides; and a log compaction, against an open of
the peer. Every run is a fresh process on a copy of the table (hard links, so that the
cache of the file system is as warm), the entrants take turns, and the median counts. It
exits with 1 where the two disagree or a required ratio is missed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import logs
from benchmarks.cases import Case
from benchmarks.logs import write_table
from benchmarks.report import Comparison, Figures, render_machine, render_row, render_table

ROOT = Path(__file__).resolve().parent.parent
ENTRANTS = ("deltalake", "explorer")


def main() -> int:
    """Runs the cases that the command line asks for."""
    options = _parse_options()
    cases = build_cases(1_000_000, 10_000) if options.full else build_cases(100_000, 1_000)
    cases = [case for case in cases if options.only in case.title]
    print(render_machine(), end="\n\n", flush=True)
    comparisons = []
    for case in cases:
        table = write_table(options.folder, case.log)
        comparisons.append(_compare(case, table, options.rounds))
        print(render_row(comparisons[-1]), flush=True)
    print()
    print(render_table(comparisons))
    return 0 if all(not comparison.misses for comparison in comparisons) else 1


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


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.maintenance", description="Compares us with deltalake."
    )
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    size.add_argument("--full", action="store_true", help="1 M files, 10,000 commits")
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
    samples: dict[str, list[dict[str, Any]]] = {entrant: [] for entrant in ENTRANTS}
    for turn in range(rounds):
        for entrant in ENTRANTS if turn % 2 == 0 else ENTRANTS[::-1]:
            samples[entrant].append(_run(entrant, case, table))
    peer, ours = (_figures(samples[entrant]) for entrant in ENTRANTS)
    return Comparison(case=case, peer=peer, ours=ours)


def _run(entrant: str, case: Case, table: Path) -> dict[str, Any]:
    """One operation of one entrant, in a process of its own and on a copy."""
    with tempfile.TemporaryDirectory(dir=table.parent) as scratch:
        copy = Path(scratch) / table.name
        shutil.copytree(table, copy, copy_function=_link)
        arguments = [case.operation, entrant, str(copy)]
        command = [sys.executable, "-m", "benchmarks.maintenance_steps", *arguments]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _link(source: str, target: str) -> None:
    """A hard link, but for the hint, which may be written over where it is."""
    if source.endswith("_last_checkpoint"):
        shutil.copyfile(source, target)
    else:
        Path(target).hardlink_to(source)


def _figures(samples: list[dict[str, Any]]) -> Figures:
    inner_ms = statistics.median(sample["inner_ms"] for sample in samples)
    return Figures(
        counts=frozenset(sample["count"] for sample in samples),
        inner_ms=inner_ms,
        whole_ms=inner_ms,
        peak_mib=statistics.median(sample["peak_mib"] for sample in samples),
    )


if __name__ == "__main__":
    sys.exit(main())
