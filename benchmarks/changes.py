"""Rows deleted, updated and merged, beside delta-spark and `deltalake`: prints each as a ratio.

    python -m benchmarks.changes --quick     # a tenth of the sizes
    python -m benchmarks.changes             # 10,000,000 rows; 1,000,000 files for memory
    python -m benchmarks.changes --only merge --only update      # some lines

Entrants take turns in one warm session, each upon a copy of the same table of 100 files in ten
partitions, of which each file holds rows from the whole range of ids. Ours syncs what it writes:
what a peer does not sync is synced for it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.changes_measured import in_this_process, of_many_files
from benchmarks.comparing import ROOT
from benchmarks.report import render_machine
from benchmarks.writes_measured import HEAD

_FULL = {"rows": 10_000_000, "files": 1_000_000}
ON_SPARK = ("delete", "partition", "update", "feed", "merge", "merge-partition")
REWRITING = tuple(f"{name}-rewriting" for name in ("delete", "update", "merge"))
ALONE = ("one-row", "many-files")


def main() -> int:
    """Runs the lines that the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.changes")
    parser.add_argument("--quick", action="store_true", help="a tenth of what is not given")
    parser.add_argument("--rows", type=int, help="(default: 10,000,000)")
    parser.add_argument("--files", type=int, help="a tenth is touched (default: 1,000,000)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--engine",
        choices=("spark", "auto"),
        default="spark",
        help="auto changes up to 256 MiB in this process",
    )
    parser.add_argument(
        "--only",
        choices=(*ON_SPARK, *REWRITING, *ALONE),
        action="append",
        help="a line; may be repeated",
    )
    parser.add_argument("--folder", type=Path, default=ROOT / ".cache" / "benchmarks")
    options = parser.parse_args()
    for name, full in _FULL.items():
        if getattr(options, name) is None:
            setattr(options, name, full // 10 if options.quick else full)
    options.folder.mkdir(parents=True, exist_ok=True)
    asked = options.only or (*ON_SPARK, *REWRITING, *ALONE)
    print(render_machine(), HEAD, sep="\n\n", flush=True)
    spans: list[str] = []
    if on_spark := [case for case in asked if case not in ALONE]:
        from benchmarks.changes_spark import SparkChanges  # noqa: PLC0415  # starts a JVM

        with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
            held = SparkChanges(
                folder=options.folder,
                scratch=Path(scratch),
                rows=options.rows,
                rounds=options.rounds,
                engine=options.engine,
            )
            for case in on_spark:
                held.run(case)
            spans = held.spans
    if "one-row" in asked:
        in_this_process(options.folder, options.rounds)
    if "many-files" in asked:
        print(f"\n{of_many_files(options.folder, options.files)}")
    if spans:
        print("\nMedian seconds of the parts, by our reports and by the peer's metrics:\n")
        print(*spans, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
