"""How time and memory grow with a table: one command for the whole report, resumable.

    python -m benchmarks.whole_report --most 1000000     10 k, 100 k and 1 M files
    python -m benchmarks.whole_report --most 10000000    10 M too

Every line is measured at each size on logs of the profile `nightly` (`benchmarks.profiles`), the
last one on commits alone, a hundredth as many. Each sample is kept beside the logs at once: the
command goes on where it was stopped, and measures again what was measured by other code. At the
end it prints a table, draws time and memory for each file as pictures into `docs/pictures`, and
exits with 1 where a file takes more than 1.3 times as long at 10 M as at 1 M.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from benchmarks.cases import Case
from benchmarks.comparing import ROOT, Sample
from benchmarks.growth_pictures import Curve, draw_growth
from benchmarks.logs import write_table
from benchmarks.profiled import code_of_engine
from benchmarks.profiles.log_files import log_of
from benchmarks.profiles.profile import Profile, checkpoints, merges
from benchmarks.questions import Cost, ask
from benchmarks.report import render_machine, render_time
from benchmarks.run import measure

SIZES: Final = (10_000, 100_000, 1_000_000, 10_000_000)
_COMMITS: Final = 100
"""Files for each of the commits of the line that has no checkpoint."""
_MOST_GROWTH: Final = 1.3
"""From 1 M to 10 M files, for each file."""
_JUDGED: Final = SIZES[-2:]

_OPERATIONS: Final = {
    "paths": "paths",
    "files()": "files",
    "protocol and metadata": "protocol_and_metadata",
    "parsed statistics": "flat_statistics",
}
"""By title the operation of `benchmarks.with_explorer`."""
_OPENED: Final = "open commits"
_QUESTIONS: Final = (
    ("health",),
    ("inspect",),
    ("files", "--limit", "10"),
    ("dv",),
    ("stats",),
    ("skip", "c0_long > 1000000010000 AND region = 'emea'"),
    ("layout",),
)
"""Whole processes of the command line."""
_FIXED: Final = frozenset({"protocol and metadata", "health"})
"""What does not look at every file: its time for each one says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The medians of one line at one size: seconds, and bytes at most."""

    seconds: float
    memory: float


class KeptSamples:
    """Samples in a file, a line of JSON each, by line, log and code."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._code = code_of_engine()

    def of(self, line: str, log: str) -> list[Measured]:
        """What is known."""
        if not self._place.exists():
            return []
        lines = map(json.loads, self._place.read_text(encoding="utf-8").splitlines())
        key = [line, log, self._code]
        return [Measured(**found["sample"]) for found in lines if found["key"] == key]

    def add(self, line: str, log: str, sample: Measured) -> None:
        """Keep one more."""
        told = {"key": [line, log, self._code], "sample": asdict(sample)}
        with self._place.open("a", encoding="utf-8") as file:
            file.write(json.dumps(told) + "\n")


def main() -> int:
    """Measures what is missing, and tells all of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.whole_report", description=__doc__)
    parser.add_argument("--most", type=int, choices=SIZES, default=1_000_000, help="files")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (default: 3)")
    parser.add_argument("--only", default="", metavar="TEXT", help="lines whose title has TEXT")
    parser.add_argument(
        "--folder",
        type=Path,
        default=ROOT / ".cache" / "benchmarks",
        help="where logs and samples are kept",
    )
    options = parser.parse_args()
    sizes = [size for size in SIZES if size <= options.most]
    options.folder.mkdir(parents=True, exist_ok=True)
    kept = KeptSamples(options.folder / "whole-report.jsonl")
    found: dict[str, dict[int, Measured]] = {}
    for line in (*_OPERATIONS, _OPENED, *map(" ".join, _QUESTIONS)):
        if options.only in line:
            found[line] = {size: _measure(line, size, kept, options) for size in sizes}
            print(_row(line, found[line]), flush=True)
    print(f"\n{render_machine()}\n\n{_table(found, sizes)}")
    _draw(found, ROOT / "docs" / "pictures")
    return _judge(found)


def _measure(line: str, size: int, kept: KeptSamples, options: argparse.Namespace) -> Measured:
    profile = _profile(line, size)
    log = log_of(profile)
    while len(samples := kept.of(line, log.name)) < options.rounds:
        kept.add(line, log.name, _once(line, write_table(options.folder, log), profile))
    return Measured(
        seconds=statistics.median(sample.seconds for sample in samples),
        memory=statistics.median(sample.memory for sample in samples),
    )


def _profile(line: str, size: int) -> Profile:
    return merges(size // _COMMITS) if line == _OPENED else checkpoints(size)["nightly"]


def _once(line: str, table: Path, profile: Profile) -> Measured:
    operation = "open_table" if line == _OPENED else _OPERATIONS.get(line)
    if operation is None:
        verb, *rest = next(words for words in _QUESTIONS if " ".join(words) == line)
        cost = ask(verb, table, rest, str(table.parent))
        if cost is None:
            raise SystemExit(f"`{line}` failed on {table}")
        return _of_cost(cost)
    case = Case(title=line, operation=operation, log=log_of(profile))
    return _of_sample(measure("explorer", case, table))


def _of_cost(cost: Cost) -> Measured:
    return Measured(seconds=cost.seconds, memory=cost.memory)


def _of_sample(sample: Sample) -> Measured:
    return Measured(seconds=sample.inner_ms / 1000, memory=sample.peak_mib * 2**20)


def _row(line: str, sizes: Mapping[int, Measured]) -> str:
    cells = [
        f"{render_time(found.seconds * 1000)}, {found.memory / 2**20:,.0f} MiB"
        for found in sizes.values()
    ]
    return f"| {' | '.join([f'`{line}`', *cells, _render_growth(line, sizes)])} |"


def _table(found: Mapping[str, Mapping[int, Measured]], sizes: list[int]) -> str:
    names = [f"{size:,} files" for size in sizes]
    last = f"a file, {sizes[-1]:,} over {sizes[-2]:,}" if len(sizes) > 1 else "a file"
    head = f"| Work | {' | '.join(names)} | {last} |\n|---|{'---|' * (len(names) + 1)}"
    return "\n".join([head, *(_row(line, held) for line, held in found.items())])


def _growth(line: str, sizes: Mapping[int, Measured]) -> float | None:
    """How many times as long one file takes at the greatest size as at the one before."""
    if line in _FIXED or len(sizes) < 2:
        return None
    (few, before), (many, after) = list(sizes.items())[-2:]
    return (after.seconds / many) / (before.seconds / few)


def _render_growth(line: str, sizes: Mapping[int, Measured]) -> str:
    found = _growth(line, sizes)
    return "–" if found is None else f"{found:.2f} ×"


def _judge(found: Mapping[str, Mapping[int, Measured]]) -> int:
    missed = 0
    for line, sizes in found.items():
        growth = _growth(line, sizes) if tuple(sizes)[-2:] == _JUDGED else None
        if growth is not None and growth > _MOST_GROWTH:
            print(f"GROWS: {line}, {growth:.2f} × for each file.")
            missed += 1
    return 1 if missed else 0


def _draw(found: Mapping[str, Mapping[int, Measured]], folder: Path) -> None:
    lines = {line: sizes for line, sizes in found.items() if line not in _FIXED}
    times = [
        Curve(name=line, points={size: at.seconds / size * 1e6 for size, at in sizes.items()})
        for line, sizes in lines.items()
    ]
    memory = [
        Curve(name=line, points={size: at.memory / size for size, at in sizes.items()})
        for line, sizes in lines.items()
    ]
    for name, unit, curves in (
        ("growth-time", "microseconds for each file", times),
        ("growth-memory", "bytes of memory for each file", memory),
    ):
        (folder / f"{name}.svg").write_text(draw_growth(curves, unit), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
