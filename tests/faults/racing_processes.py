"""Processes that commit to one table side by side, and what must hold afterwards."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import orjson

import explorer
from explorer.protocol.actions import Metadata, Protocol
from explorer.storage.open import open_read_store
from explorer.storage.ports import WriteStore
from explorer.transaction.commit import Committed, commit
from explorer.transaction.read_set import NOTHING
from explorer.transaction.read_version import NO_TABLE
from explorer.transaction.staged import Provenance, StagedCommit

ROOT = Path(__file__).resolve().parents[2]
_COMMIT = re.compile(r"\d{20}\.json")
SCHEMA = '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}'


def create_table(store: WriteStore) -> None:
    """An empty table with in-commit timestamps."""
    metadata = Metadata(
        id="6a3a5d4e-0000-4000-8000-000000000000",
        schema_string=SCHEMA,
        configuration={"delta.enableInCommitTimestamps": "true"},
    )
    protocol = Protocol(
        min_reader_version=1, min_writer_version=7, writer_features=("inCommitTimestamp",)
    )
    staged = StagedCommit(
        base=NO_TABLE,
        reads=NOTHING,
        provenance=Provenance(
            operation="CREATE TABLE", transaction_id="creation", engine_info="test"
        ),
        actions=(protocol, metadata),
    )
    assert isinstance(commit(store, staged, clock=lambda: 1), Committed)


@dataclass(frozen=True, kw_only=True)
class Upkeep:
    """What a maintainer did beside the writers: how often each operation ended how, and how
    many versions it made."""

    outcomes: Mapping[str, int]
    versions: int


def race(
    uri: str,
    processes: int,
    commits: int,
    options: Mapping[str, str] | None = None,
    *,
    state: Path,
) -> Upkeep:
    """Let processes append side by side while another one maintains the table, then hold the
    log against what they were told: no commit is lost, none is there twice, versions have no
    gap and times only grow."""
    given = [f"{name}={value}" for name, value in (options or {}).items()]
    append, keep = ("tests.faults.commit_worker", "tests.faults.maintenance_worker")
    writers = [_start(append, uri, f"w{at}", str(commits), *given) for at in range(processes)]
    maintainer = _start(keep, uri, str(state), *given)
    seconds = 60 + 3 * processes * commits
    try:
        with ThreadPoolExecutor(processes) as pool:
            for process in (*writers, maintainer):
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n"
            assert maintainer.stdin is not None
            maintainer.stdin.write("\n")
            maintainer.stdin.flush()
            told = list(pool.map(lambda one: one.communicate("\n", timeout=seconds)[0], writers))
        kept = json.loads(maintainer.communicate(timeout=seconds)[0])
    finally:
        for process in (*writers, maintainer):
            process.kill()
    assert [process.returncode for process in (*writers, maintainer)] == [0] * (processes + 1)
    claimed = [line for text in told for line in text.splitlines()]
    assert len(claimed) == processes * commits
    upkeep = Upkeep(outcomes=kept["outcomes"], versions=kept["versions"])
    _hold_log(uri, claimed, upkeep, options)
    return upkeep


def _start(module: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _hold_log(
    uri: str, claimed: list[str], upkeep: Upkeep, options: Mapping[str, str] | None
) -> None:
    store = open_read_store(uri, options)
    names = sorted(name for name in store.list_names("_delta_log") if _COMMIT.fullmatch(name))
    newest = len(claimed) + upkeep.versions
    assert names == [f"{version:020}.json" for version in range(newest + 1)]
    infos, paths = [], []
    for data in store.read_many([f"_delta_log/{name}" for name in names]):
        lines = [orjson.loads(line) for line in data.splitlines()]
        infos.append(lines[0]["commitInfo"])
        paths += [line["add"]["path"] for line in lines if "add" in line]
    written = [info["txnId"] for info in infos if info["operation"] == "WRITE"]
    assert sorted(written) == sorted(claimed)
    assert sorted(paths) == sorted(f"{unique}.parquet" for unique in claimed)
    times = [info["inCommitTimestamp"] for info in infos]
    assert all(earlier < later for earlier, later in pairwise(times))
    # by checkpoints and compactions, as readers open it
    snapshot = explorer.open_table(uri, options).snapshot()
    assert (snapshot.version, not snapshot.problems) == (newest, True)
    assert sorted(snapshot.files(["path"])["path"].to_pylist()) == sorted(paths)
