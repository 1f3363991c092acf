"""Compares us with `deltalake` on logs as other writers leave them.

    python -m benchmarks.profiled --quick             a tenth of the sizes
    python -m benchmarks.profiled --full              1 M files, 10,000 commits
    python -m benchmarks.profiled --full --like TABLE a log of that size with a table's measures

Each line is measured on each profile that it makes sense for, both entrants in turn; of a line
the median and the worst profile are told, and how much the peer's own rounds differ. What was
measured is kept beside the logs, so that the command goes on where it was stopped; `--again`
forgets it. It exits with 1 where the two disagree on a count.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.cases import Case
from benchmarks.comparing import ENTRANTS, ROOT, Sample, add_options
from benchmarks.logs import write_table
from benchmarks.profiles.likeness import profile_like
from benchmarks.profiles.log_files import log_of
from benchmarks.profiles.profile import Profile, checkpoints, merges
from benchmarks.report import render_machine, render_time
from benchmarks.run import measure

SIX = ("nightly", "sidecars", "spark", "deltalake", "features", "wide")

LINES = {
    "paths": ("paths", SIX),
    "files()": ("files", SIX),
    "protocol and metadata": ("protocol_and_metadata", SIX),
    "parsed statistics": ("flat_statistics", ("nightly", "sidecars", "spark", "deltalake")),
    "open commits": ("open_table", ("merges",)),
}
"""By title the operation and the profiles."""

_HEAD = """| Line | profile | deltalake | its rounds | ours | faster | memory |
|---|---|---|---|---|---|---|"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The rounds of one line on one profile."""

    line: str
    profile: str
    peer: list[Sample]
    ours: list[Sample]

    @property
    def speedup(self) -> float:
        """The peer's time over ours, medians."""
        return _median(self.peer, "inner_ms") / _median(self.ours, "inner_ms")

    def render(self) -> str:
        """The row of the table."""
        peaks = [_median(side, "peak_mib") for side in (self.peer, self.ours)]
        times = [render_time(_median(side, "inner_ms")) for side in (self.peer, self.ours)]
        rounds = sorted(sample.inner_ms for sample in self.peer)
        cells = [
            self.line,
            self.profile,
            f"{times[0]}, {peaks[0]:,.0f} MiB",
            f"{render_time(rounds[0])} to {render_time(rounds[-1])}",
            f"{times[1]}, {peaks[1]:,.0f} MiB",
            f"{self.speedup:.1f} ×",
            f"{peaks[1] / peaks[0]:.2f}",
        ]
        return f"| {' | '.join(cells)} |"


def main() -> int:
    """Measures what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profiled", description=__doc__)
    add_options(parser, "1 M files, 10,000 commits")
    parser.add_argument("--like", metavar="TABLE", help="a table whose measures a log is to have")
    parser.add_argument("--again", action="store_true", help="measure what was measured before")
    options = parser.parse_args()
    files = 1_000_000 if options.full else 100_000
    profiles = {**checkpoints(files), "merges": merges(files // 100)}
    lines = LINES
    if options.like is not None:
        profiles = {"like": profile_like(options.like)}
        lines = {title: (operation, ("like",)) for title, (operation, _) in LINES.items()}
    kept = options.folder / f"profiled-{files}.jsonl"
    if options.again:
        kept.unlink(missing_ok=True)
    print(render_machine(), end=f"\n\n{_HEAD}\n", flush=True)
    rows = []
    for title, (operation, names) in lines.items():
        for name in names:
            if options.only in f"{title}, {name}":
                rows.append(_row(title, operation, profiles[name], options, kept))
                print(rows[-1].render(), flush=True)
    print("\n".join(["", *_summary(rows)]))
    return 0 if all(_agree(row) for row in rows) else 1


def _row(
    title: str, operation: str, profile: Profile, options: argparse.Namespace, kept: Path
) -> Row:
    key = [title, log_of(profile).name, code_of_engine()]
    known = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    for line in known:
        found = json.loads(line)
        if found["key"] == key and len(found["ours"]) >= options.rounds:
            sides = {
                side: [Sample(**sample) for sample in found[side]] for side in ("peer", "ours")
            }
            return Row(line=title, profile=profile.name, **sides)
    table = write_table(options.folder, log_of(profile))
    case = Case(title=title, operation=operation, log=log_of(profile))
    samples: dict[str, list[Sample]] = {name: [] for name in ENTRANTS}
    for turn in range(options.rounds):
        for name in ENTRANTS[:: 1 if turn % 2 == 0 else -1]:
            samples[name].append(measure(name, case, table))
    row = Row(line=title, profile=profile.name, peer=samples["deltalake"], ours=samples["explorer"])
    told = {"key": key, "peer": [*map(asdict, row.peer)], "ours": [*map(asdict, row.ours)]}
    with kept.open("a", encoding="utf-8") as file:
        file.write(json.dumps(told) + "\n")
    return row


def code_of_engine() -> str:
    """What tells the code that is measured: its last commit."""
    command = ["git", "rev-parse", "HEAD:explorer"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def _summary(rows: list[Row]) -> Iterator[str]:
    for title in dict.fromkeys(row.line for row in rows):
        found = [row for row in rows if row.line == title]
        worst = min(found, key=lambda row: row.speedup)
        median = statistics.median(row.speedup for row in found)
        yield f"{title}: median {median:.1f} ×, worst {worst.speedup:.1f} × ({worst.profile})."
    yield from (f"COUNTS DIFFER: {row.line}, {row.profile}" for row in rows if not _agree(row))


def _agree(row: Row) -> bool:
    return len({sample.count for sample in (*row.peer, *row.ours)}) == 1


def _median(samples: list[Sample], name: str) -> float:
    return float(statistics.median(getattr(sample, name) for sample in samples))


if __name__ == "__main__":
    sys.exit(main())
