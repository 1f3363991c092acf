"""Every case of the benchmarks, on small logs: the entrants agree, and the limit reads."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import logs, with_deltalake, with_explorer, with_limit
from benchmarks.cases import Case, build_cases
from benchmarks.comparing import ROOT
from benchmarks.report import IMPORTS

CASES = build_cases(3_000, 60, 120)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the logs are kept for all cases."""
    return tmp_path_factory.mktemp("logs")


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_both_entrants_count_the_same(case: Case, folder: Path, tmp_path: Path) -> None:
    table = logs.write_table(folder, case.log)
    counts = []
    for module in (with_explorer, with_deltalake):
        copy = shutil.copytree(table, tmp_path / module.__name__)
        counts.append(getattr(module, case.operation)(str(copy))())
    assert counts[0] == counts[1] != 0


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    "case", [case for case in CASES if case.limit], ids=lambda case: case.title
)
def test_limit_reads_something_and_the_same_every_time(case: Case, folder: Path) -> None:
    assert case.limit is not None
    step = getattr(with_limit, case.limit)(str(logs.write_table(folder, case.log)))
    assert step() == step() > 0


@pytest.mark.parametrize(
    ("request_", "rows"),
    [
        (logs.classic(3_000), 3 + 3_000 + 30),
        (logs.multi_part(3_000), 3 + 3_000),
        (logs.sidecars(3_000), 3_000),
    ],
    ids=["classic", "parts", "sidecars"],
)
def test_limit_of_paths_reads_every_row_of_the_checkpoint(
    request_: logs.LogRequest, rows: int, folder: Path
) -> None:
    table = str(logs.write_table(folder, request_))
    assert with_limit.paths(table)() == with_limit.files(table)() == rows


def test_limit_of_commits_reads_all_their_bytes_and_that_of_history_their_heads(
    folder: Path,
) -> None:
    table = logs.write_table(folder, logs.commits(60))
    commits = [*table.glob("_delta_log/*.json")]
    assert with_limit.commits(str(table))() == sum(path.stat().st_size for path in commits)
    assert with_limit.history_all(str(table))() == 60
    assert with_limit.history_50(str(table))() == 50
    assert with_limit.history_50_open(str(table))() == 50


def test_limit_of_deletion_vectors_reads_all_their_bytes(folder: Path) -> None:
    table = logs.write_table(folder, logs.vectors(3, 1_000))
    (vectors,) = table.glob("*.bin")
    assert with_limit.vectors(str(table))() == vectors.stat().st_size


@pytest.mark.parametrize("operation", IMPORTS.values())
def test_bare_import_is_measured_as_a_process_of_its_own(operation: str) -> None:
    command = [sys.executable, "-m", "benchmarks.measure", "whole", "limit", operation, ""]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, timeout=60)
    found = json.loads(done.stdout)
    assert found["count"] == 1
    assert found["peak_mib"] > 20
