"""Real logs, mutated: bytes, lines, types, names, Parquet; and written with escapes.

Each ends in a `DeltaError` that says all it must, or in the right answer, which is
what the row-wise rule makes of the same files; where a checkpoint was hit, what it
made of them before. Never another exception, a hang, a crash of the process, or
memory without bound.

Two things nobody can tell from the file and thus go unjudged: a Parquet footer (it
has no checksum) that still parses, and a line of JSON that still is one: its new
meaning is what counts. A log whose JSON is only written with escapes says what it said.

A run takes a tenth of the seeds; `tests.properties.amounts` says how to run others. One case
alone is run by
`python -m tests.properties.mutation_worker KIND SEED 1`.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from tests.conftest import ROOT
from tests.properties.amounts import ESCAPE_SEEDS, LOG_SEEDS
from tests.properties.mutations import KINDS, Kind

_SECONDS_PER_CASE = 30.0  # a hundred times what the slowest needs on an idle machine
_SECONDS_TO_START = 60.0
_PEAK_BYTES = 2**30
_ENOUGH = 10  # failures, before the rest is not worth waiting for


class _Worker:
    """The process that opens mutated logs, and what it says while it runs."""

    def __init__(self, kind: Kind, first: int, count: int) -> None:
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.properties.mutation_worker"),
                *(kind, str(first), str(count)),
            ],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._said: queue.Queue[str | None] = queue.Queue()
        self._complained: queue.Queue[str | None] = queue.Queue()
        for output, lines in (
            (self._process.stdout, self._said),
            (self._process.stderr, self._complained),
        ):
            threading.Thread(target=_follow, args=(output, lines), daemon=True).start()

    def messages(self) -> Iterator[dict[str, Any]]:
        """Until it ends; raises `queue.Empty` where it is silent for too long."""
        limit = _SECONDS_TO_START
        while (line := self._said.get(timeout=limit)) is not None:
            yield json.loads(line)
            limit = _SECONDS_PER_CASE

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def last_words(self) -> str:
        code = self._process.wait()
        return f"ended with {code}: {''.join(iter(self._complained.get, None))[-1500:]}"


def _follow(output: IO[str], lines: queue.Queue[str | None]) -> None:
    with output:
        for line in output:
            lines.put(line)
    lines.put(None)


def _run(kind: Kind, first: int, end: int) -> tuple[list[str], int]:
    """What went wrong from `first` on, and the seed to go on with."""
    wrong: list[str] = []
    at = first
    worker = _Worker(kind, first, end - first)
    try:
        for told in worker.messages():
            if "end" not in told:
                continue
            if told["wrong"]:
                wrong.append(f"{kind} {at}: {told['wrong']}")
            at += 1
            if told["peak"] > _PEAK_BYTES:
                return [*wrong, f"{kind} {at - 1}: took {told['peak'] / 2**20:.0f} MiB"], at
    except queue.Empty:
        return [*wrong, f"{kind} {at}: no answer"], at + 1
    finally:
        worker.stop()
    if at < end:
        return [*wrong, f"{kind} {at}: the process {worker.last_words()}"], at + 1
    return wrong, at


_CASES = [
    pytest.param(kind, seeds, id=f"{kind}-from {seeds.start}")
    for kind in KINDS
    for seeds in (ESCAPE_SEEDS if kind == "escapes" else LOG_SEEDS)
]


@pytest.mark.parametrize(("kind", "seeds"), _CASES)
def test_mutated_log_ends_in_an_error_or_the_right_answer(
    corpus: Path, kind: Kind, seeds: range
) -> None:
    wrong: list[str] = []
    at = seeds.start
    while at < seeds.stop and len(wrong) < _ENOUGH:
        found, at = _run(kind, at, seeds.stop)
        wrong += found
    assert not wrong, "\n\n".join(wrong[:_ENOUGH])
