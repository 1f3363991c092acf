"""Compares the working tree with an older commit of this repository, in turn.

    python -m benchmarks.two_commits COMMIT --quick     a tenth of the sizes
    python -m benchmarks.two_commits COMMIT --full      1 M files, up to 100,000 commits

The cases are those of `benchmarks.run`, `.maintenance` and `.changing`, without the peer. The
commit is checked out into a folder of its own, and its own `benchmarks` drive it. The two take
turns, run by run, on the same logs; what counts is the median of the ratios of such pairs, so
that a machine whose speed drifts does not decide. It exits with 1 where the two disagree on a
count, or where the working tree is slower by more than a tenth.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks import changing, maintenance, run
from benchmarks.cases import Case, build_full_cases, build_quick_cases
from benchmarks.comparing import ROOT, Sample, add_options
from benchmarks.logs import write_table
from benchmarks.report import render_machine, render_time

MOST = 1.1
"""What the median of the ratios may be."""

NOISE_MS = 2.0
"""What differs by less is level: a process is not measured more finely."""

_HEAD = "| Operation | before | now | of the time | pairs | memory |\n|---|---|---|---|---|---|"


class Measure(Protocol):
    """Runs one case once for an entrant, by the code of the checkout at `root`."""

    def __call__(self, entrant: str, case: Case, table: Path, root: Path) -> Sample:
        """What that process measured."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """The runs of one case in the order of their turns: one before, one now."""

    case: Case
    before: Sequence[Sample]
    now: Sequence[Sample]

    @property
    def ratios(self) -> list[float]:
        """The time now over the time before, pair by pair."""
        times = zip(self._times(self.before), self._times(self.now), strict=True)
        return [now / before for before, now in times]

    @property
    def fault(self) -> str | None:
        """What is not as it has to be, in words."""
        counts = {sample.count for sample in (*self.before, *self.now)}
        if len(counts) != 1:
            return f"counts differ: {sorted(counts)}"
        ratio = statistics.median(self.ratios)
        lost = self._time(self.now) - self._time(self.before)
        return f"{ratio:.2f} of the time" if ratio > MOST and lost > NOISE_MS else None

    def render_row(self) -> str:
        """The row of the table."""
        ratios, sides = self.ratios, (self.before, self.now)
        peaks = [statistics.median(sample.peak_mib for sample in side) for side in sides]
        times = [render_time(self._time(side)) for side in sides]
        cells = [
            self.case.title,
            *(f"{time}, {peak:,.0f} MiB" for time, peak in zip(times, peaks, strict=True)),
            f"{statistics.median(ratios):.2f}",
            f"{min(ratios):.2f} to {max(ratios):.2f}",
            f"{peaks[1] / peaks[0]:.2f}",
        ]
        return f"| {' | '.join(cells)} |"

    def _time(self, samples: Sequence[Sample]) -> float:
        return statistics.median(self._times(samples))

    def _times(self, samples: Sequence[Sample]) -> list[float]:
        whole = self.case.whole_process
        return [sample.whole_ms if whole else sample.inner_ms for sample in samples]


def main() -> int:
    """Measures the cases that the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.two_commits",
        description="Compares the working tree with an older commit, in turn.",
    )
    parser.add_argument("commit", help="the commit to compare with, as git names it")
    add_options(parser, "1 M files, up to 100,000 commits")
    options = parser.parse_args()
    print(render_machine(), end="\n\n", flush=True)
    found = []
    with checked_out(options.commit) as before:
        for case, measure in _cases(full=options.full):
            if options.only not in case.title:
                continue
            table = write_table(options.folder.resolve(), case.log)
            found.append(_take_turns(case, table, options.rounds, measure, before))
            print(found[-1].render_row(), flush=True)
    print("\n".join(["", _HEAD, *(pairs.render_row() for pairs in found), ""]))
    faults = [f"{pairs.case.title}: {pairs.fault}" for pairs in found if pairs.fault]
    print("\n".join(faults) or "Nothing is slower.")
    return 1 if faults else 0


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """A worktree of a commit while the block runs. It lies in one place always, where the
    compiled modules of the last one are written over."""
    place = ROOT / ".cache" / "before"
    if place.exists():  # of a run that was killed
        _git("worktree", "remove", "--force", str(place))
    _git("worktree", "add", "--quiet", "--detach", str(place), commit)
    try:
        yield place
    finally:
        _git("worktree", "remove", "--force", str(place))


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=ROOT, check=True)


def _cases(*, full: bool) -> list[tuple[Case, Measure]]:
    """Every case with what measures it."""
    files, commits = (1_000_000, 10_000) if full else (100_000, 1_000)
    return [
        *((case, run.measure) for case in (build_full_cases() if full else build_quick_cases())),
        *((case, maintenance.measure) for case in maintenance.build_cases(files, commits)),
        *((case, changing.measure) for case in changing.build_cases(files)),
    ]


def _take_turns(case: Case, table: Path, rounds: int, measure: Measure, before: Path) -> Pairs:
    """`rounds` pairs of runs after one of each that does not count; in every second pair the
    order is the other one."""
    samples: dict[Path, list[Sample]] = {before: [], ROOT: []}
    for root in samples:
        measure("explorer", case, table, root)
    for turn in range(rounds):
        for root in [*samples][:: 1 if turn % 2 == 0 else -1]:
            samples[root].append(measure("explorer", case, table, root))
    return Pairs(case=case, before=samples[before], now=samples[ROOT])


if __name__ == "__main__":
    sys.exit(main())
