"""Measures code that is there for speed alone against pyarrow's own way.

    python -m benchmarks.pays --quick                   100,000 files, 10,000 commits
    python -m benchmarks.pays --full                    1 M files, 100,000 commits
    python -m benchmarks.pays --quick --only statistics

Each line is something that a person waits for, opening the table included, on each profile of
`benchmarks.profiles` that it makes sense for: with the part, and with what would stand in its
place. Every run is a process of its own, and both take turns. Told are medians, the seconds of
processors and the most memory beside the time, and of each part the median and the worst gain.
A part is worth its code from 1.5 in the median on.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree, rmtree

from benchmarks.comparing import ROOT, add_options, environment, link
from benchmarks.logs import write_table
from benchmarks.profiled import SIX
from benchmarks.profiles.log_files import log_of
from benchmarks.profiles.profile import checkpoints, merges
from benchmarks.report import render_machine, render_time

_HEAD = """| Work | profile | pyarrow's way | processors | ours | processors | faster | by them |
|---|---|---|---|---|---|---|---|"""

WITH, WITHOUT = "with", "without"
MERGES = "merges"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A work by its title, which part it measures, and on which profiles; `step` is its name
    in `benchmarks.pays_steps`."""

    title: str
    part: str
    step: str
    profiles: Sequence[str] = SIX


LINES = (
    Line(
        title="all statistics, parsed",
        part="statistics cut by numpy",
        step="statistics",
        profiles=("nightly", "sidecars", "deltalake", "spark", "features", "wide"),
    ),
    Line(
        title="history of all commits", part="shapes of infos", step="history", profiles=(MERGES,)
    ),
    Line(title="append of 3,000,000 rows", part="joined files", step="append", profiles=SIX[:1]),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Milliseconds by the clock and of processors, and MiB at most."""

    inner_ms: float
    processor_ms: float
    peak_mib: float
    count: int


def main() -> int:
    """Measures what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pays", description=__doc__)
    add_options(parser, "1 M files, 100,000 commits")
    options = parser.parse_args()
    files = 1_000_000 if options.full else 100_000
    profiles = {**checkpoints(files), MERGES: merges(files // 10)}
    print(render_machine(), end=f"\n\n{_HEAD}\n", flush=True)
    gains: dict[str, list[tuple[float, str]]] = {}
    for line in LINES:
        for name in line.profiles:
            if options.only in f"{line.title}, {name}":
                table = write_table(options.folder, log_of(profiles[name]))
                runs = _measure(line, table, options.rounds)
                print(_render(line, name, runs), flush=True)
                gains.setdefault(f"{line.part}, {line.title}", []).append((_gain(runs), name))
    print()
    for title, found in gains.items():
        worst, where = min(found)
        median = statistics.median(gain for gain, _ in found)
        print(f"{title}: median {median:.2f} ×, worst {worst:.2f} × ({where}).")
    return 0


def _measure(line: Line, table: Path, rounds: int) -> dict[str, list[Run]]:
    runs: dict[str, list[Run]] = {WITHOUT: [], WITH: []}
    for turn in range(rounds):
        for way in (WITHOUT, WITH)[:: 1 if turn % 2 == 0 else -1]:
            runs[way].append(_run(line.step, way, table))
    if len({run.count for found in runs.values() for run in found}) > 1:
        raise SystemExit(f"The two ways disagree: {line.title}, {table.name}.")
    return runs


def _run(step: str, way: str, table: Path) -> Run:
    scratch = Path(tempfile.mkdtemp(dir=table.parent))
    try:
        copy = copytree(table, scratch / table.name, copy_function=link)
        command = [sys.executable, "-m", "benchmarks.pays_steps", step, way, str(copy)]
        done = subprocess.run(
            command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, check=True
        )
    finally:
        rmtree(scratch)
    return Run(**json.loads(done.stdout))


def _gain(runs: dict[str, list[Run]]) -> float:
    return _median(runs[WITHOUT], "inner_ms") / _median(runs[WITH], "inner_ms")


def _render(line: Line, profile: str, runs: dict[str, list[Run]]) -> str:
    cells = [line.title, profile]
    for way in (WITHOUT, WITH):
        found = runs[way]
        cells.append(
            f"{render_time(_median(found, 'inner_ms'))}, {_median(found, 'peak_mib'):,.0f} MiB"
        )
        cells.append(render_time(_median(found, "processor_ms")))
    by_processor = _median(runs[WITHOUT], "processor_ms") / _median(runs[WITH], "processor_ms")
    return f"| {' | '.join([*cells, f'{_gain(runs):.2f} ×', f'{by_processor:.2f} ×'])} |"


def _median(runs: Sequence[Run], name: str) -> float:
    return float(statistics.median(getattr(run, name) for run in runs))


if __name__ == "__main__":
    sys.exit(main())
