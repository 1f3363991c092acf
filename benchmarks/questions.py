"""Asks every question of docs/questions.md on the command line, and prints how long it took.

    python -m benchmarks.questions --quick     100,000 files on disk
    python -m benchmarks.questions --full      1,000,000

Whole processes, start of Python included; the median of three counts. Beside the time stand
the seconds of processors, which other work on the machine changes less, and the most memory.
Nothing is compared: no other tool answers these. It exits with 1 where a command fails.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.actions import build_path
from benchmarks.changing import files_on_disk
from benchmarks.comparing import ROOT, environment, parse_options
from benchmarks.logs import write_table
from benchmarks.report import render_machine

_FILE = "FILE"
_ROUNDS = 3

QUESTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("1, 2", ("vacuum",)),
    ("1", ("why", _FILE)),
    ("3, 4, 23", ("reach",)),
    ("3, 8", ("reach", "--files")),
    ("5–8, 21", ("health",)),
    ("9", ("health", "--files")),
    ("10", ("engines",)),
    ("11, 22", ("features",)),
    ("12", ("dv",)),
    ("13, 24", ("layout",)),
    ("14, 25", ("foreign",)),
    ("15", ("conflicts", "--read-version", "50")),
    ("16", ("history",)),
    ("17", ("diff", "50", "100")),
    ("17", ("restore", "--version", "50")),
    ("19", ("schema",)),
    ("19", ("schema", "--files")),
    ("20", ("skip", "order_id > 10 AND region = 'emea'")),
    ("20", ("stats",)),
)
"""The numbers of questions, and the verb that answers them with what follows the table."""


def main() -> int:
    """Times them all."""
    options = parse_options("benchmarks.questions", "1 M files on disk")
    table = write_table(options.folder, files_on_disk(1_000_000 if options.full else 100_000))
    print(
        render_machine(),
        end="\n\n| Questions | Command | Time | Processors | Memory |\n|---|---|---|---|---|\n",
    )
    failed = 0
    with tempfile.TemporaryDirectory() as state:
        for numbers, (verb, *rest) in QUESTIONS:
            given = [build_path(20_001) if text == _FILE else text for text in rest]
            rounds = [ask(verb, table, given, state) for _ in range(_ROUNDS)]
            failed += None in rounds
            told = [found for found in rounds if found is not None]
            shown = _render(told) if told else "failed | |"
            print(f"| {numbers} | `{' '.join([verb, 'URI', *rest])}` | {shown} |", flush=True)
    return 1 if failed else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Of one process: seconds, seconds of processors, and the most memory in bytes."""

    seconds: float
    processors: float
    memory: int


def _render(costs: list[Cost]) -> str:
    seconds, processors, memory = (
        statistics.median(getattr(cost, name) for cost in costs)
        for name in ("seconds", "processors", "memory")
    )
    return f"{seconds:.1f} s | {processors:.1f} s | {memory / 2**20:,.0f} MiB"


def ask(verb: str, table: Path, rest: list[str], state: str) -> Cost | None:
    """One process of the command line; None where it fails. Plans are kept in `state`."""
    command = [sys.executable, "-m", "explorer.cli", verb, str(table), *rest]
    if verb in {"vacuum", "restore"}:
        command += ["--state-dir", state]
    started = time.perf_counter()
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        return None
    return Cost(
        seconds=time.perf_counter() - started,
        processors=used.ru_utime + used.ru_stime,
        memory=used.ru_maxrss * 1024,
    )


if __name__ == "__main__":
    sys.exit(main())
