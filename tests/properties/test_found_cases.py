"""Every case that mutated logs have found, again."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

import explorer
from explorer.errors import DeltaError
from tests.conftest import ROOT
from tests.properties.found_cases import LINES, SEEDS, FoundLines, FoundSeed
from tests.tables import FEATURE_PROTOCOL, LogFolder, add, commit_name, metadata


@pytest.mark.parametrize("case", SEEDS, ids=lambda case: f"{case.kind} {case.seed}")
def test_seed_that_was_found_ends_well(corpus: Path, case: FoundSeed) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.properties.mutation_worker", case.kind, str(case.seed), "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=90,  # far beyond what it needs on a loaded machine; a hang is for ever
        check=False,
    )
    assert done.returncode == 0, done.stderr
    begin, end = map(json.loads, done.stdout.splitlines())
    assert begin == {"begin": case.seed}
    assert (end["end"], end["wrong"]) == (case.seed, None), case.was_wrong


@pytest.mark.parametrize("case", LINES, ids=lambda case: case.name)
def test_lines_that_were_found_end_well(case: FoundLines, tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    state = [FEATURE_PROTOCOL, metadata(), add("first")]
    log.commit(0, state)
    log.commit(1, [add("second")])
    if case.where == "commit":
        log.commit(1, [add("second"), *case.actions])
    else:
        lines = [{"checkpointMetadata": {"version": 0}}, *state, *case.actions]
        log.write(f"{0:020}.checkpoint.{uuid.UUID(int=4)}.json", "\n".join(map(json.dumps, lines)))
    assert (log.log / commit_name(1)).is_file()
    found, shown = _ending(log.root)
    assert found == case.ends, case.was_wrong
    assert len(shown) < 5000, case.was_wrong


def _ending(root: Path) -> tuple[str | None, str]:
    """The kind of the error or the problem, and what is said of it; whoever gets an answer
    gets the right one."""
    try:
        snapshot = explorer.open_table(root).snapshot()
        paths = sorted(snapshot.files(["path"]).column("path").to_pylist())
    except DeltaError as error:
        return error.kind, str(error)
    assert paths == ["first", "second"]
    assert set(snapshot.domains) <= {"d"}
    kinds = [problem.kind for problem in snapshot.problems]
    assert len(kinds) <= 1
    return next(iter(kinds), None), str(snapshot.problems)
