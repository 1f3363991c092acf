"""Figures of both entrants, compared and rendered as Markdown."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from benchmarks.cases import Case

_HEAD = (
    "| Operation | deltalake | ours | faster | memory | limit | of the limit | required |\n"
    "|---|---|---|---|---|---|---|---|"
)

IMPORTS = {"import pyarrow": "import_pyarrow", "import pyarrow.parquet": "import_parquet"}
"""Bare imports that are measured, and their operations of `benchmarks.with_limit`."""

_MEMORY_IMPORT = "import pyarrow.parquet"
LARGE_MIB = 300
"""Where the peer's peak is above it, half of it is ours; else `SPARE_MIB` above the import."""
SPARE_MIB = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Medians of one entrant; `counts` has one element if all its runs agreed."""

    counts: frozenset[int]
    inner_ms: float
    whole_ms: float
    peak_mib: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What is required, and in words by what it is missed; None if it is not."""

    text: str
    missed: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The figures of all entrants for one case; `imports` by the names of `IMPORTS`."""

    case: Case
    peer: Figures
    ours: Figures
    limit: Figures | None = None
    imports: Mapping[str, Figures] = field(default_factory=dict)

    @property
    def speedup(self) -> float:
        """The peer's time over ours: above 1 we are faster."""
        return _time(self.case, self.peer) / _time(self.case, self.ours)

    @property
    def memory(self) -> float:
        """Our peak memory over the peer's: below 1 we need less."""
        return self.ours.peak_mib / self.peer.peak_mib

    @property
    def of_limit(self) -> float | None:
        """Our time over that of the limit; None where there is none."""
        if self.limit is None:
            return None
        return _time(self.case, self.ours) / _time(self.case, self.limit)

    @property
    def max_mib(self) -> float | None:
        """The most memory that we may need; None where nothing limits it."""
        if not self.case.limits_memory or _MEMORY_IMPORT not in self.imports:
            return None
        if self.peer.peak_mib > LARGE_MIB:
            return self.peer.peak_mib / 2
        return self.imports[_MEMORY_IMPORT].peak_mib + SPARE_MIB

    @property
    def bounds(self) -> list[Bound]:
        """All that is required of our time and memory."""
        if not self.case.is_required:
            return []
        return [*self._time_bounds(), *self._memory_bounds()]

    @property
    def misses(self) -> list[str]:
        """What is not as it has to be, in words; empty if all is well."""
        found = []
        if self.peer.counts != self.ours.counts or len(self.ours.counts) != 1:
            found.append(f"counts differ: {sorted(self.peer.counts)}, {sorted(self.ours.counts)}")
        if self.limit is not None and (len(self.limit.counts) != 1 or 0 in self.limit.counts):
            found.append(f"the limit read {sorted(self.limit.counts)}")
        return found + [bound.missed for bound in self.bounds if bound.missed is not None]

    def _time_bounds(self) -> Iterator[Bound]:
        case, of_limit = self.case, self.of_limit
        if case.min_speedup is not None:
            slow = f"{self.speedup:.2f} × is too slow" if self.speedup < case.min_speedup else None
            yield Bound(text=f"≥ {_render_ratio(case.min_speedup)} ×", missed=slow)
        if case.max_of_limit is not None and of_limit is not None:
            slow = f"{of_limit:.2f} of the limit" if of_limit > case.max_of_limit else None
            yield Bound(text=f"≤ {case.max_of_limit} of the limit", missed=slow)
        if case.max_above_limit_ms is not None and self.limit is not None:
            above = _time(case, self.ours) - _time(case, self.limit)
            slow = f"{above:.0f} ms above the limit" if above > case.max_above_limit_ms else None
            yield Bound(text=f"≤ {case.max_above_limit_ms:.0f} ms above the limit", missed=slow)

    def _memory_bounds(self) -> Iterator[Bound]:
        ours, ratio, most = self.ours.peak_mib, self.case.max_memory, self.max_mib
        if ratio is not None:
            much = f"{self.memory:.2f} of the memory" if self.memory > ratio else None
            yield Bound(text=f"memory ≤ {ratio}", missed=much)
        if most is not None:
            much = f"{ours:,.0f} MiB are too much" if ours > most else None
            yield Bound(text=f"≤ {most:,.0f} MiB", missed=much)


def render_machine() -> str:
    """The machine, the day, the versions and how busy it was, in one sentence."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("deltalake", "pyarrow"))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"Measured on {datetime.now(UTC):%d %B %Y}: {_processor()}, {os.cpu_count()} cores, "
        f"{memory:.0f} GiB, {platform.system()}, Python {platform.python_version()}, {versions}; "
        f"load before the first run {os.getloadavg()[0]:.1f}."
    )


def render_table(comparisons: Sequence[Comparison]) -> str:
    """All comparisons as a Markdown table."""
    return "\n".join([_HEAD, *map(render_row, comparisons)])


def render_imports(comparisons: Sequence[Comparison]) -> str:
    """What the bare imports took beside them, one line each; no line where none was measured."""
    lines = []
    for name in IMPORTS:
        found = [case.imports[name] for case in comparisons if name in case.imports]
        if found:
            time = render_time(statistics.median(figures.whole_ms for figures in found))
            peak = statistics.median(figures.peak_mib for figures in found)
            lines.append(f"Bare `{name}`, whole process: {time}, {peak:,.0f} MiB.")
    return "\n".join(lines)


def render_misses(comparisons: Sequence[Comparison]) -> str:
    """What is not as it has to be, one line for each case."""
    missed = [case for case in comparisons if case.misses]
    if not missed:
        return "Nothing is missed."
    return "\n".join(f"MISSED by {case.case.title}: {'; '.join(case.misses)}" for case in missed)


def render_row(comparison: Comparison) -> str:
    """One comparison as a row of that table."""
    case = comparison.case
    cells = [
        case.title,
        _render_figures(case, comparison.peer),
        _render_figures(case, comparison.ours),
        f"{comparison.speedup:.1f} ×",
        f"{comparison.memory:.2f}",
        *_render_limit(comparison),
        _render_required(comparison),
    ]
    return f"| {' | '.join(cells)} |"


def _render_figures(case: Case, figures: Figures) -> str:
    return f"{render_time(_time(case, figures))}, {figures.peak_mib:,.0f} MiB"


def render_time(milliseconds: float) -> str:
    """Seconds from one second on, else milliseconds."""
    if milliseconds >= 1000:
        return f"{milliseconds / 1000:.1f} s"
    return f"{milliseconds:.{0 if milliseconds >= 10 else 1}f} ms"


def _render_ratio(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def _render_limit(comparison: Comparison) -> tuple[str, str]:
    limit, ratio = comparison.limit, comparison.of_limit
    if limit is None or ratio is None:
        return "–", "–"
    return render_time(_time(comparison.case, limit)), f"{ratio:.2f}"


def _render_required(comparison: Comparison) -> str:
    required = [bound.text for bound in comparison.bounds]
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
