"""Deletion vectors, mutated: files, contents behind a sound checksum, inline text, descriptors.

Each ends in a `DeltaError` that says all it must, or in the vector that it was, or
in another one for which a checksum vouches. Never another exception, a hang, a crash
of the process, or more than 1 GiB.

A run takes a fifth of the seeds; `tests.properties.amounts` says how to run others. One case
alone is run by
`python -m tests.properties.vector_mutation_worker KIND SEED 1`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.properties.amounts import VECTOR_SEEDS
from tests.properties.vector_mutations import KINDS, Kind, sources

_SECONDS_TO_START = 60.0
_SECONDS_PER_CASE = 0.02  # some ten times what a case needs on a loaded machine


@pytest.mark.rule("dv-storage-crc")
@pytest.mark.parametrize("seeds", VECTOR_SEEDS, ids=lambda seeds: f"from {seeds.start}")
@pytest.mark.parametrize("kind", KINDS)
def test_mutated_vector_ends_in_an_error_or_the_right_answer(
    corpus: Path, kind: Kind, seeds: range
) -> None:
    module = "tests.properties.vector_mutation_worker"
    command = [sys.executable, "-m", module, kind, str(seeds.start), str(len(seeds))]
    limit = _SECONDS_TO_START + _SECONDS_PER_CASE * len(seeds)
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=limit
        )
    except subprocess.TimeoutExpired as error:
        said = (error.stdout or b"").decode().splitlines()
        pytest.fail(f"{kind}: no end within {limit:.0f} s, the last case begun was {said[-1:]}")
    said = done.stdout.splitlines()
    wrong = [line for line in said if line.startswith("wrong")]
    assert not wrong, "\n\n".join(wrong[:10])
    assert said[-1:] == ["done"], (
        f"ended with {done.returncode} at {said[-1:]}: {done.stderr[-1500:]}"
    )


def test_there_is_something_of_every_kind_to_mutate(corpus: Path) -> None:
    found = sources(corpus)
    assert sum(source.data is None for source in found) > 5
    assert sum(source.data is not None for source in found) > 50
