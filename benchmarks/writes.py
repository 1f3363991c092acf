"""Rows of users written, beside `deltalake` and delta-spark: prints each line as a ratio.

    python -m benchmarks.writes --quick     # a tenth of the sizes
    python -m benchmarks.writes             # 10,000,000 rows, 1,000 appends, 1,000,000 files

Entrants take turns, with the same checkpoint interval and codec. Ours syncs and writes checksums;
what a peer does not sync is synced for it, and where it writes no checksum a file as large is.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks import logs
from benchmarks.comparing import ROOT, environment
from benchmarks.report import render_machine
from benchmarks.writes_measured import HEAD, Taken, in_turn, print_line

_FULL = {"rows": 10_000_000, "appends": 1_000, "files": 1_000_000, "batches": 100}
CASES = (
    "arrow",
    "appends",
    "open",
    "frames",
    "by-day",
    "engines",
    "one-row",
    "stream",
    "partitions",
    "wide",
)


def main() -> int:
    """Runs the lines that the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.writes")
    parser.add_argument("--quick", action="store_true", help="a tenth of everything not given")
    parser.add_argument("--rows", type=int, help="(default: 10,000,000)")
    parser.add_argument("--appends", type=int, help="of one row (default: 1,000)")
    parser.add_argument("--files", type=int, help="of the table that is open (default: 1,000,000)")
    parser.add_argument("--batches", type=int, help="of the stream (default: 100)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=CASES, action="append", help="a line; may be repeated")
    parser.add_argument("--folder", type=Path, default=ROOT / ".cache" / "benchmarks")
    options = parser.parse_args()
    for name, full in _FULL.items():
        if getattr(options, name) is None:
            setattr(options, name, full // 10 if options.quick else full)
    options.folder.mkdir(parents=True, exist_ok=True)
    print(render_machine(), HEAD, sep="\n\n", flush=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        for case in options.only or CASES:
            _run(case, options, Path(scratch))
    return 0


def _run(case: str, options: argparse.Namespace, folder: Path) -> None:
    if case == "arrow":
        _beside_deltalake(f"append of {options.rows:,} rows of Arrow", case, options.rows, options)
    elif case == "appends":
        _beside_deltalake("append of 1 row", case, options.appends, options)
    elif case == "open":
        table = logs.write_table(options.folder, logs.classic(options.files))
        copy = shutil.copytree(table, folder / "open")
        print(f"| {options.files:,} files, open |", flush=True)
        _step("open", "delta-explorer", 20, copy)
    else:
        _on_spark(folder, options)[case]()


_HELD: dict[Path, dict[str, Callable[[], None]]] = {}


def _on_spark(folder: Path, options: argparse.Namespace) -> dict[str, Callable[[], None]]:
    """The cases of one session."""
    if folder not in _HELD:
        from benchmarks.writes_spark import SparkWrites  # noqa: PLC0415  # starts a JVM

        held = SparkWrites(
            folder=folder,
            rows=options.rows,
            rounds=options.rounds,
            appends=min(20, options.appends),
            batches=options.batches,
        )
        _HELD[folder] = {
            "frames": held.frames,
            "by-day": held.by_day,
            "engines": held.engines,
            "one-row": held.one_row,
            "stream": held.stream,
            "partitions": held.partitions,
            "wide": held.wide,
        }
    return _HELD[folder]


def _beside_deltalake(title: str, step: str, size: int, options: argparse.Namespace) -> None:
    peaks: dict[str, list[float]] = {"delta-explorer": [], "deltalake": []}

    def run(entrant: str) -> Taken:
        with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
            found = _step(step, entrant, size, Path(scratch) / "table")
        peaks[entrant].append(found["mib"])
        return Taken(found["wall"], found["processors"])

    taken = in_turn(options.rounds, {name: lambda name=name: run(name) for name in peaks})  # type: ignore[misc]
    print_line(title, taken, size if step == "appends" else 1)
    if step == "arrow":
        ours, theirs = (max(peaks[name]) for name in ("delta-explorer", "deltalake"))
        print(f"| memory beyond the rows | deltalake | {theirs:.0f} MiB | {ours:.0f} MiB |")


def _step(step: str, entrant: str, size: int, place: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.writes_here", step, entrant, str(size), str(place)]
    done = subprocess.run(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    sys.exit(main())
