"""What every comparison does: entrants take turns, each run is a process, the median counts."""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.cases import Case
from benchmarks.logs import write_table
from benchmarks.report import (
    IMPORTS,
    Comparison,
    Figures,
    render_imports,
    render_machine,
    render_misses,
    render_row,
    render_table,
)

ROOT = Path(__file__).resolve().parent.parent
ENTRANTS = ("deltalake", "explorer")
LIMIT = "limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What one process measured; `whole_ms` includes the start of Python and the imports."""

    count: int
    inner_ms: float
    whole_ms: float
    peak_mib: float


Measure = Callable[[str, Case, Path], Sample]
"""Runs one case once for an entrant, on the table at a place, in a process of its own."""


def parse_options(module: str, full: str) -> argparse.Namespace:
    """The options of a benchmark; `full` says what its full sizes are."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {module}", description="Compares us with deltalake."
    )
    add_options(parser, full)
    return parser.parse_args()


def add_options(parser: argparse.ArgumentParser, full: str) -> None:
    """Which cases are measured, how often, and where their logs are kept."""
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    size.add_argument("--full", action="store_true", help=full)
    parser.add_argument("--rounds", type=int, default=5, help="runs per entrant (default: 5)")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose title has TEXT")
    parser.add_argument(
        "--folder",
        type=Path,
        default=ROOT / ".cache" / "benchmarks",
        help="where the generated logs are kept",
    )


def compare(cases: Sequence[Case], options: argparse.Namespace, measure: Measure) -> int:
    """Run the chosen cases and print them; 1 where the entrants disagree or a bound is missed."""
    print(render_machine(), end="\n\n", flush=True)
    comparisons = []
    for case in cases:
        if options.only not in case.title:
            continue
        table = write_table(options.folder, case.log)
        comparisons.append(_compare(case, table, options.rounds, measure))
        print(render_row(comparisons[-1]), flush=True)
    print()
    texts = (render(comparisons) for render in (render_table, render_imports, render_misses))
    print("\n\n".join(text for text in texts if text))
    return 0 if all(not comparison.misses for comparison in comparisons) else 1


def environment() -> dict[str, str]:
    """What a measured process is given: compiled modules are kept. Those of an installed
    package are there from the beginning, as the peer's; ours lie in a checkout."""
    kept = {"PYTHONPYCACHEPREFIX": str(ROOT / ".cache" / "bytecode")}
    others = dict(os.environ)
    others.pop("PYTHONDONTWRITEBYTECODE", None)
    return others | kept


def link(source: str, target: str) -> None:
    """A hard link: the files of a copy are the same files, and as warm in the cache. Not so
    the hint, which may be written over where it is."""
    if source.endswith("_last_checkpoint"):
        shutil.copyfile(source, target)
    else:
        Path(target).hardlink_to(source)


def _compare(case: Case, table: Path, rounds: int, measure: Measure) -> Comparison:
    entrants = _entrants(case)
    samples: dict[str, list[Sample]] = {name: [] for name in entrants}
    for turn in range(rounds):
        for name in [*entrants][:: 1 if turn % 2 == 0 else -1]:
            entrant, work = entrants[name]
            samples[name].append(measure(entrant, work, table))
    found = {name: _figures(runs) for name, runs in samples.items()}
    peer, ours = (found[entrant] for entrant in ENTRANTS)
    imports = {name: found[name] for name in IMPORTS if name in found}
    return Comparison(case=case, peer=peer, ours=ours, limit=found.get(LIMIT), imports=imports)


def _entrants(case: Case) -> dict[str, tuple[str, Case]]:
    """By name who is measured at what: the two that answer, the limit, and bare imports."""
    found = {name: (name, case) for name in ENTRANTS}
    if case.limit is not None:
        found[LIMIT] = (LIMIT, replace(case, operation=case.limit))
    if case.limits_memory:
        for name, operation in IMPORTS.items():
            found[name] = (LIMIT, replace(case, operation=operation, whole_process=True))
    return found


def _figures(samples: list[Sample]) -> Figures:
    return Figures(
        counts=frozenset(sample.count for sample in samples),
        inner_ms=statistics.median(sample.inner_ms for sample in samples),
        whole_ms=statistics.median(sample.whole_ms for sample in samples),
        peak_mib=statistics.median(sample.peak_mib for sample in samples),
    )
