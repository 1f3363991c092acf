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
    required. `whole_process` says which time is taken: with the start of Python
    and the imports, or without.

    `limit` is the operation of `benchmarks.with_limit` that does the least which any
    answer must, None where there is none; our time may be `max_of_limit` times its own,
    and `max_above_limit_ms` milliseconds more. With `limits_memory` our peak may be half
    of the peer's where that is large, and else little more than what bare imports need.

    Nothing of all that is required where `is_required` is False.
    """

    title: str
    operation: str
    log: LogRequest
    min_speedup: float | None = None
    max_memory: float | None = None
    limit: str | None = None
    max_of_limit: float | None = None
    max_above_limit_ms: float | None = None
    limits_memory: bool = False
    is_required: bool = True
    whole_process: bool = False


def build_full_cases() -> list[Case]:
    """The sizes for which ratios are required."""
    return build_cases(1_000_000, 10_000, 100_000)


def build_quick_cases() -> list[Case]:
    """A tenth of them; starting up weighs too much there for a required ratio."""
    return [replace(case, is_required=False) for case in build_cases(100_000, 1_000, 10_000)]


def build_cases(files: int, few_commits: int, many_commits: int) -> list[Case]:
    """All cases, on logs of these sizes."""
    cases = [
        *_of_small_tables(),
        *_of_large_checkpoints(files),
        *_of_statistics(files),
        *_of_versions(files),
        *_of_deletion_vectors(),
        *_of_commits(files // 1_000, few_commits, many_commits),
        *_of_history(many_commits),
    ]
    return [replace(case, limits_memory=True) for case in cases]


def _of_small_tables() -> list[Case]:
    every = Case(
        title="open a small table, whole process",
        operation="open_table",
        log=logs.small(),
        min_speedup=1 / 1.3,
        limit="import_pyarrow",
        max_above_limit_ms=60,
        whole_process=True,
    )
    title = "files of a small table as a pyarrow table, whole process"
    return [every, replace(every, title=title, operation="arrow_files")]


def _of_large_checkpoints(files: int) -> list[Case]:
    classic = logs.classic(files)
    paths = Case(
        title=f"paths of {files:,} files",
        operation="paths",
        log=classic,
        min_speedup=15,
        limit="paths",
        max_of_limit=1.3,
    )
    return [
        Case(
            title=f"protocol and metadata, {files:,} files",
            operation="protocol_and_metadata",
            log=classic,
            min_speedup=50,
            limit="protocol_and_metadata",
        ),
        paths,
        Case(
            title=f"files() of {files:,} files",
            operation="files",
            log=classic,
            min_speedup=8,
            limit="files",
        ),
        replace(paths, title=f"{paths.title} in 10 parts", log=logs.multi_part(files)),
        replace(paths, title=f"{paths.title} in 10 sidecars", log=logs.sidecars(files)),
    ]


def _of_statistics(files: int) -> list[Case]:
    return [
        Case(
            title=f"parsed statistics of {files:,} files",
            operation="flat_statistics",
            log=logs.classic(files),
            min_speedup=3,
            limit="statistics_texts",
        ),
        Case(
            title=f"histograms of two columns, statistics as JSON, {files:,} files",
            operation="histograms",
            log=logs.classic(files),
            min_speedup=4.1,
            limit="statistics_texts",
        ),
        Case(
            title=f"histograms of two columns, statistics as structs, {files:,} files",
            operation="histograms",
            log=logs.with_structs(files),
            min_speedup=21,
            limit="statistics_structs",
        ),
    ]


def _of_versions(files: int) -> list[Case]:
    """Versions beside the latest one; to compare two the peer can only open both."""
    classic, checkpoints = logs.classic(files), logs.checkpoints(files)
    diff = f"diff of two versions, {files:,} files"
    return [
        Case(
            title=f"time travel within {files:,} files",
            operation="travel",
            log=classic,
            min_speedup=15,
            limit="paths",
        ),
        Case(
            title=f"refresh after 5 commits on {files:,} files",
            operation="refresh",
            log=classic,
            min_speedup=50,
        ),
        Case(
            title=f"{diff}: through the log, on one checkpoint",
            operation="diff",
            log=classic,
            min_speedup=1000,
        ),
        Case(
            title=f"{diff}: through the log, a checkpoint between them",
            operation="diff_through_log",
            log=checkpoints,
            min_speedup=57,
        ),
        Case(
            title=f"{diff}: on one checkpoint, opening included",
            operation="diff_from_nothing",
            log=classic,
        ),
        Case(
            title=f"{diff}: on independent checkpoints",
            operation="diff_independent",
            log=checkpoints,
            min_speedup=4.2,
        ),
    ]


def _of_deletion_vectors() -> list[Case]:
    return [
        Case(
            title="20 deletion vectors of 1 M rows to masks",
            operation="vectors",
            log=logs.vectors(20, 1_000_000),
            min_speedup=3,
            limit="vectors",
        )
    ]


def _of_commits(actions: int, few: int, many: int) -> list[Case]:
    large = Case(
        title=f"open 100 commits of {actions:,} actions",
        operation="open_table",
        log=logs.large_commits(100, actions),
        min_speedup=2,
        limit="commits",
    )
    return [
        large,
        replace(large, title=f"open {few:,} commits", log=logs.commits(few), min_speedup=10),
        replace(large, title=f"open {many:,} commits", log=logs.commits(many), min_speedup=18),
    ]


def _of_history(commits: int) -> list[Case]:
    newest = Case(
        title=f"history, 50 of {commits:,}",
        operation="history_50",
        log=logs.commits(commits),
        min_speedup=7,
        limit="history_50",
    )
    return [
        replace(
            newest, title=f"{newest.title}, whole process", min_speedup=None, whole_process=True
        ),
        newest,
        replace(
            newest,
            title=f"{newest.title}, of a table that is open",
            operation="history_50_open",
            limit="history_50_open",
        ),
        replace(
            newest,
            title=f"history, all of {commits:,}",
            operation="history_all",
            min_speedup=6,
            limit="history_all",
        ),
    ]
