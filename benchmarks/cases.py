"""What is measured on which log, and how much faster it has to be."""

from __future__ import annotations

from dataclasses import dataclass, replace

from benchmarks import logs
from benchmarks.logs import LogRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One operation on one log.

    `min_speedup` and `max_memory` are our required ratios to the peer (time of
    the peer over ours; our memory over the peer's), None where nothing is
    required. `whole_process` says which time the speed-up is taken from: with
    the start of Python and the imports, or without.
    """

    title: str
    operation: str
    log: LogRequest
    min_speedup: float | None = None
    max_memory: float | None = None
    whole_process: bool = False


def build_full_cases() -> list[Case]:
    """The sizes for which ratios are required."""
    return _build_cases(1_000_000, 10_000, 100_000)


def build_quick_cases() -> list[Case]:
    """A tenth of them; starting up weighs too much there for a required ratio."""
    return [
        replace(case, min_speedup=None, max_memory=None)
        for case in _build_cases(100_000, 1_000, 10_000)
    ]


def _build_cases(files: int, few_commits: int, many_commits: int) -> list[Case]:
    small, classic, sidecars = logs.small(), logs.classic(files), logs.sidecars(files)
    few, many = logs.commits(few_commits), logs.commits(many_commits)
    parts, actions = logs.multi_part(files), files // 1_000
    return [
        Case(
            title="open a small table, whole process",
            operation="open_table",
            log=small,
            min_speedup=1 / 1.3,
            whole_process=True,
        ),
        Case(
            title="files of a small table as a pyarrow table, whole process",
            operation="arrow_files",
            log=small,
            min_speedup=1 / 1.3,
            whole_process=True,
        ),
        Case(
            title=f"protocol and metadata, {files:,} files",
            operation="protocol_and_metadata",
            log=classic,
            min_speedup=50,
            max_memory=0.5,
        ),
        Case(
            title=f"paths of {files:,} files",
            operation="paths",
            log=classic,
            min_speedup=15,
            max_memory=0.5,
        ),
        Case(
            title=f"files() of {files:,} files",
            operation="files",
            log=classic,
            min_speedup=8,
            max_memory=0.5,
        ),
        Case(
            title=f"paths of {files:,} files in 10 parts",
            operation="paths",
            log=parts,
            min_speedup=15,
            max_memory=0.5,
        ),
        Case(
            title=f"paths of {files:,} files in 10 sidecars",
            operation="paths",
            log=sidecars,
            min_speedup=15,
            max_memory=0.5,
        ),
        Case(
            title=f"parsed statistics of {files:,} files",
            operation="flat_statistics",
            log=classic,
            min_speedup=3,
        ),
        Case(
            title=f"time travel within {files:,} files",
            operation="travel",
            log=classic,
            min_speedup=15,
            max_memory=0.5,
        ),
        Case(
            title=f"refresh after 5 commits on {files:,} files",
            operation="refresh",
            log=classic,
            min_speedup=50,
            max_memory=0.5,
        ),
        Case(
            title=f"diff of two versions through the log, {files:,} files",
            operation="diff",
            log=classic,
            min_speedup=1000,
            max_memory=0.5,
        ),
        Case(
            title="20 deletion vectors of 1 M rows to masks",
            operation="vectors",
            log=logs.vectors(20, 1_000_000),
            min_speedup=3,
        ),
        Case(
            title=f"open 100 commits of {actions:,} actions",
            operation="open_table",
            log=logs.large_commits(100, actions),
            min_speedup=2,
        ),
        Case(
            title=f"open {few_commits:,} commits", operation="open_table", log=few, min_speedup=10
        ),
        Case(
            title=f"open {many_commits:,} commits",
            operation="open_table",
            log=many,
            min_speedup=18,
            max_memory=0.5,
        ),
        Case(
            title=f"history, 50 of {many_commits:,}, whole process",
            operation="history_50",
            log=many,
            whole_process=True,
        ),
        Case(
            title=f"history, 50 of {many_commits:,}",
            operation="history_50",
            log=many,
            min_speedup=7,
        ),
        Case(
            title=f"history, 50 of {many_commits:,}, of a table that is open",
            operation="history_50_open",
            log=many,
            min_speedup=7,
        ),
        Case(
            title=f"history, all of {many_commits:,}",
            operation="history_all",
            log=many,
            min_speedup=6,
        ),
    ]
