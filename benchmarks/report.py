"""Figures of both entrants, compared and rendered as Markdown."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from benchmarks.cases import Case

_HEAD = "| Operation | deltalake | ours | faster | memory | required |\n|---|---|---|---|---|---|"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Medians of one entrant; `counts` has one element if all its runs agreed."""

    counts: frozenset[int]
    inner_ms: float
    whole_ms: float
    peak_mib: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The figures of both for one case."""

    case: Case
    peer: Figures
    ours: Figures

    @property
    def speedup(self) -> float:
        """The peer's time over ours: above 1 we are faster."""
        return _time(self.case, self.peer) / _time(self.case, self.ours)

    @property
    def memory(self) -> float:
        """Our peak memory over the peer's: below 1 we need less."""
        return self.ours.peak_mib / self.peer.peak_mib

    @property
    def misses(self) -> list[str]:
        """What is not as it has to be, in words; empty if all is well."""
        case, found = self.case, []
        if self.peer.counts != self.ours.counts or len(self.ours.counts) != 1:
            found.append(f"counts differ: {sorted(self.peer.counts)}, {sorted(self.ours.counts)}")
        if case.min_speedup is not None and self.speedup < case.min_speedup:
            found.append("too slow")
        if case.max_memory is not None and self.memory > case.max_memory:
            found.append("too much memory")
        return found


def render_machine() -> str:
    """The machine, the day, the versions and how busy it was, in one sentence."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("deltalake", "pyarrow"))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"Measured on {datetime.now(UTC):%d %B %Y}: {_processor()}, {os.cpu_count()} cores, "
        f"{memory:.0f} GiB, {platform.system()}, Python {platform.python_version()}, {versions}; "
        f"load before the first run {os.getloadavg()[0]:.1f}."
    )


def render_table(comparisons: list[Comparison]) -> str:
    """All comparisons as a Markdown table."""
    return "\n".join([_HEAD, *map(render_row, comparisons)])


def render_row(comparison: Comparison) -> str:
    """One comparison as a row of that table."""
    case = comparison.case
    cells = [
        case.title,
        _render_figures(case, comparison.peer),
        _render_figures(case, comparison.ours),
        f"{comparison.speedup:.1f} ×",
        f"{comparison.memory:.2f}",
        _render_required(comparison),
    ]
    return f"| {' | '.join(cells)} |"


def _render_figures(case: Case, figures: Figures) -> str:
    return f"{_render_time(_time(case, figures))}, {figures.peak_mib:,.0f} MiB"


def _render_time(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.1f} s" if milliseconds >= 1000 else f"{milliseconds:.0f} ms"


def _render_required(comparison: Comparison) -> str:
    case = comparison.case
    required = []
    if case.min_speedup is not None:
        required.append(f"≥ {case.min_speedup:.2g} ×")
    if case.max_memory is not None:
        required.append(f"memory ≤ {case.max_memory}")
    if comparison.misses:
        required.append(f"MISSED: {'; '.join(comparison.misses)}")
    return ", ".join(required) or "–"


def _time(case: Case, figures: Figures) -> float:
    return figures.whole_ms if case.whole_process else figures.inner_ms


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
