"""What a write takes, measured alike for all entrants, and the lines of the table.

Seconds of the clock and of processors. Ours syncs each file and folder and writes a checksum: the
files that a peer left unsynced are synced for it, on its time; looking for them is not counted.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Work: TypeAlias = Callable[[], object]

CHECKPOINTS = "100"
"""Commits from checkpoint to checkpoint, of all entrants."""


@dataclass(frozen=True, slots=True)
class Taken:
    """Seconds of one run."""

    wall: float
    processors: float


def processor_seconds() -> float:
    """Of this process and all that it started, the JVM and its workers among them."""
    ticks, parents = {}, {}
    for entry in Path("/proc").iterdir():
        try:
            text = (entry / "stat").read_text() if entry.name.isdigit() else ""
        except OSError:  # it ended meanwhile
            continue
        if fields := text.rpartition(")")[2].split():
            parents[int(entry.name)] = int(fields[1])
            ticks[int(entry.name)] = sum(map(int, fields[11:15]))
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(ticks[pid] for pid in ours) / os.sysconf("SC_CLK_TCK")


def timed(work: Work, processors: Callable[[], float] = time.process_time) -> Taken:
    """One run, as it is; `processors` are those of this process alone, unless it says more."""
    worked, start = processors(), time.perf_counter()
    work()
    wall = time.perf_counter() - start
    return Taken(wall, processors() - worked)


def timed_synced(
    work: Work, place: Path, processors: Callable[[], float] = time.process_time
) -> Taken:
    """One run of a peer that does not sync what it writes below `place`."""
    before = set(_files(place))
    taken = timed(work, processors)
    new = set(_files(place)) - before
    more = timed(lambda: sync(sorted(new)), processors)
    return Taken(taken.wall + more.wall, taken.processors + more.processors)


def sync(paths: Sequence[str]) -> None:
    """Sync files and their folders."""
    for path in [*paths, *sorted({os.path.dirname(path) for path in paths})]:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _files(place: Path) -> list[str]:
    return [os.path.join(at, name) for at, _, names in os.walk(place) for name in names]


def in_turn(rounds: int, entrants: Mapping[str, Callable[[], Taken]]) -> dict[str, list[Taken]]:
    """Every entrant once in each round, the first of one the last of the next."""
    found: dict[str, list[Taken]] = {name: [] for name in entrants}
    for turn in range(rounds):
        for name in [*entrants][:: 1 if turn % 2 == 0 else -1]:
            found[name].append(entrants[name]())
    return found


def print_line(title: str, taken: Mapping[str, Sequence[Taken]], times: int = 1) -> None:
    """A row for each peer: ours first in `taken`. A ratio above 1 says that ours is faster."""
    (_, ours), *peers = taken.items()
    for name, theirs in peers:
        cells = [title, name]
        for of in ("wall", "processors"):
            mine, its = ([getattr(one, of) / times for one in some] for some in (ours, theirs))
            cells += [_figures(its), _figures(mine)]
            ratio = statistics.median(its) / statistics.median(mine)
            cells.append(f"{ratio:.2f} × ({min(its) / min(mine):.2f} ×)")
        print("| " + " | ".join(cells) + " |", flush=True)


def _figures(seconds: Sequence[float]) -> str:
    least, middle, most = min(seconds), statistics.median(seconds), max(seconds)
    unit, by = ("s", 1) if middle >= 1 else ("ms", 1000)
    return f"{middle * by:.3g} {unit} ({least * by:.3g}–{most * by:.3g})"


HEAD = (
    "| Work | Peer | peer | ours | ratio (of the fastest) | peer, processors | ours, processors "
    "| ratio (of the least) |\n|---|---|---|---|---|---|---|---|"
)
