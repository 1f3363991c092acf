"""What the benchmarks require, when that is missed, and how it is printed."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import logs
from benchmarks.cases import Case, build_full_cases, build_quick_cases
from benchmarks.comparing import Sample, compare
from benchmarks.report import (
    Comparison,
    Figures,
    render_imports,
    render_misses,
    render_row,
    render_table,
)
from benchmarks.two_commits import Pairs

CASE = Case(title="a case", operation="paths", log=logs.small())
IMPORT = Figures(counts=frozenset({1}), inner_ms=90, whole_ms=100, peak_mib=51)


def _figures(*, time: float = 100, memory: float = 100, counts: tuple[int, ...] = (7,)) -> Figures:
    return Figures(counts=frozenset(counts), inner_ms=time, whole_ms=time + 20, peak_mib=memory)


def _compared(case: Case, peer: Figures, ours: Figures, limit: Figures | None = None) -> Comparison:
    imports = {"import pyarrow": IMPORT, "import pyarrow.parquet": IMPORT}
    return Comparison(case=case, peer=peer, ours=ours, limit=limit, imports=imports)


@pytest.mark.parametrize(
    ("peer", "ours", "missed"),
    [(400, 200, False), (400, 201, True), (300, 111, False), (300, 112, True), (90, 111, False)],
)
def test_memory_may_be_half_of_a_large_peak_and_else_60_mib_above_the_import(
    peer: float, ours: float, missed: bool
) -> None:
    case = replace(CASE, limits_memory=True)
    found = _compared(case, _figures(memory=peer), _figures(memory=ours))
    assert found.max_mib == (200 if peer == 400 else 111)
    assert found.misses == ([f"{ours} MiB are too much"] if missed else [])


def test_memory_is_free_where_nothing_limits_it() -> None:
    found = _compared(CASE, _figures(memory=400), _figures(memory=900))
    assert found.max_mib is None
    assert found.misses == []


@pytest.mark.parametrize(("ours", "misses"), [(130, []), (131, ["1.31 of the limit"])])
def test_time_may_be_that_many_times_the_limit(ours: float, misses: list[str]) -> None:
    case = replace(CASE, max_of_limit=1.3)
    found = _compared(case, _figures(), _figures(time=ours), limit=_figures(time=100))
    assert found.misses == misses


@pytest.mark.parametrize(("ours", "misses"), [(160, []), (161, ["61 ms above the limit"])])
def test_whole_process_may_take_some_time_above_the_limit(ours: float, misses: list[str]) -> None:
    case = replace(CASE, max_above_limit_ms=60, whole_process=True)
    found = _compared(case, _figures(), _figures(time=ours), limit=_figures(time=100))
    assert found.misses == misses


def test_speed_is_required_by_the_ratio_of_times() -> None:
    case = replace(CASE, min_speedup=2)
    assert _compared(case, _figures(time=200), _figures()).misses == []
    assert _compared(case, _figures(time=199), _figures()).misses == ["1.99 × is too slow"]


def test_case_that_requires_nothing_still_misses_a_count() -> None:
    case = replace(
        CASE,
        is_required=False,
        min_speedup=50,
        max_memory=0.1,
        max_of_limit=1.0,
        limits_memory=True,
    )
    ours = _figures(time=500, memory=900)
    assert _compared(case, _figures(), ours, limit=_figures(time=1)).misses == []
    other = _compared(case, _figures(), _figures(counts=(8,)))
    assert other.misses == ["counts differ: [7], [8]"]


def test_limit_that_read_nothing_is_a_miss() -> None:
    found = _compared(CASE, _figures(), _figures(), limit=_figures(counts=(0,)))
    assert found.misses == ["the limit read [0]"]


def test_row_has_a_cell_for_every_column_of_the_head() -> None:
    limited = _compared(CASE, _figures(), _figures(), limit=_figures(time=80))
    unlimited = _compared(CASE, _figures(), _figures())
    head, *rows = render_table([limited, unlimited]).splitlines()
    assert {row.count("|") for row in (head, *rows)} == {head.count("|")}
    assert "| 80 ms | 1.25 |" in render_row(limited)
    assert "| – | – |" in render_row(unlimited)


def test_imports_and_misses_follow_the_table() -> None:
    found = _compared(replace(CASE, min_speedup=50), _figures(), _figures())
    assert render_imports([found]).splitlines() == [
        "Bare `import pyarrow`, whole process: 100 ms, 51 MiB.",
        "Bare `import pyarrow.parquet`, whole process: 100 ms, 51 MiB.",
    ]
    assert render_misses([found]) == "MISSED by a case: 1.00 × is too slow"


def test_every_full_case_limits_memory_and_no_quick_case_requires_anything() -> None:
    assert all(case.limits_memory and case.is_required for case in build_full_cases())
    assert not any(case.is_required for case in build_quick_cases())


def test_all_entrants_of_a_case_take_turns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, str, bool]] = []

    def measure(entrant: str, case: Case, _: Path) -> Sample:
        asked.append((entrant, case.operation, case.whole_process))
        return Sample(count=1, inner_ms=10, whole_ms=20, peak_mib=30)

    case = replace(CASE, limit="commits", limits_memory=True)
    options = argparse.Namespace(folder=tmp_path, rounds=2, only="")
    assert compare([case], options, measure) == 0
    turn = [
        ("deltalake", "paths", False),
        ("explorer", "paths", False),
        ("limit", "commits", False),
        ("limit", "import_pyarrow", True),
        ("limit", "import_parquet", True),
    ]
    assert asked == [*turn, *turn[::-1]]
    assert "| a case | 10 ms, 30 MiB | 10 ms, 30 MiB | 1.0 × | 1.00 | 10 ms | 1.00 |" in (
        capsys.readouterr().out
    )


def _runs(*times: float, count: int = 7) -> list[Sample]:
    return [Sample(count=count, inner_ms=time, whole_ms=2 * time, peak_mib=30) for time in times]


@pytest.mark.parametrize(
    ("before", "now", "fault"),
    [
        ((100, 200, 400), (109, 219, 439), None),  # the machine slowed down, not the code
        ((100, 200, 400), (112, 222, 442), "1.11 of the time"),
        ((3, 3, 3), (4, 4, 4), None),  # within what a process is measured by
        ((100, 100, 100), (100, 100, 900), None),
    ],
)
def test_commit_is_slower_where_the_median_of_the_pairs_is(
    before: tuple[float, ...], now: tuple[float, ...], fault: str | None
) -> None:
    assert Pairs(case=CASE, before=_runs(*before), now=_runs(*now)).fault == fault


def test_commits_that_count_differently_are_a_fault() -> None:
    found = Pairs(case=CASE, before=_runs(1), now=_runs(1, count=8))
    assert found.fault == "counts differ: [7, 8]"
    assert (
        found.render_row()
        == "| a case | 1.0 ms, 30 MiB | 1.0 ms, 30 MiB | 1.00 | 1.00 to 1.00 | 1.00 |"
    )
