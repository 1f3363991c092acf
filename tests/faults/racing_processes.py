"""Processes that commit to one table side by side, and what must hold afterwards."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import orjson

from explorer.protocol.actions import Metadata, Protocol
from explorer.storage.open import open_read_store
from explorer.storage.ports import WriteStore
from explorer.transaction.commit import Committed, commit
from explorer.transaction.read_set import NOTHING
from explorer.transaction.read_version import NO_TABLE
from explorer.transaction.staged import Provenance, StagedCommit

ROOT = Path(__file__).resolve().parents[2]
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


def race(uri: str, processes: int, commits: int, options: Mapping[str, str] | None = None) -> None:
    """Let processes append side by side, then hold the log against what they were told:
    no commit is lost, none is there twice, versions have no gap and times only grow."""
    given = [f"{name}={value}" for name, value in (options or {}).items()]
    command = [sys.executable, "-m", "tests.faults.commit_worker"]
    writers = [
        subprocess.Popen(
            [*command, uri, f"w{at}", str(commits), *given],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for at in range(processes)
    ]
    seconds = 60 + 3 * processes * commits
    try:
        with ThreadPoolExecutor(processes) as pool:
            for writer in writers:
                assert writer.stdout is not None
                assert writer.stdout.readline() == "ready\n"
            told = list(pool.map(lambda one: one.communicate("\n", timeout=seconds)[0], writers))
    finally:
        for writer in writers:
            writer.kill()
    assert [writer.returncode for writer in writers] == [0] * processes
    claimed = [line for text in told for line in text.splitlines()]
    assert len(claimed) == processes * commits
    _hold_log(uri, claimed, options)


def _hold_log(uri: str, claimed: list[str], options: Mapping[str, str] | None) -> None:
    store = open_read_store(uri, options)
    names = sorted(name for name in store.list_names("_delta_log") if name.endswith(".json"))
    assert names == [f"{version:020}.json" for version in range(len(claimed) + 1)]
    infos, paths = [], []
    for data in store.read_many([f"_delta_log/{name}" for name in names]):
        lines = [orjson.loads(line) for line in data.splitlines()]
        infos.append(lines[0]["commitInfo"])
        paths += [line["add"]["path"] for line in lines if "add" in line]
    assert sorted(info["txnId"] for info in infos[1:]) == sorted(claimed)
    assert sorted(paths) == sorted(f"{unique}.parquet" for unique in claimed)
    times = [info["inCommitTimestamp"] for info in infos]
    assert all(earlier < later for earlier, later in pairwise(times))
