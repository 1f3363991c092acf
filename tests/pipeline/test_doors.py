"""Rows written to S3, Azure and Google by each door, in a classic session and in one of a Connect
server that is another process: what is written, refused, stopped and not known is the same, and
the secrets of the store do not stay anywhere, neither in event logs, plans and checkpoints nor in
errors, results and what is logged. And writers of three kinds at once, beside maintenance."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

import explorer
from explorer import pipeline
from explorer.pipeline.source._write_options import PROFILE
from tests.pipeline.connect_server import Server, connect_server
from tests.pipeline.door_contract import EXPECTED, Contract
from tests.pipeline.event_log import bytes_below, event_log
from tests.pipeline.optimized import Run
from tests.pipeline.racing_writers import COMMITS, WRITERS, raced
from tests.pipeline.written_stores import Doors
from tests.sampling import SEED, sample
from tests.stores import SERVERS, Store, running

pytestmark = pytest.mark.spark

ROOT = Path(__file__).resolve().parents[2]
_VARIABLE = f"{PROFILE}LAKE"
# each day another test, each third one another store, and then other parts
_CLASSIC = sample(EXPECTED, 9, "doors", SEED // 9)
_CONNECT = sample(EXPECTED, 9, "doors of Connect", SEED // 9)


@pytest.fixture(scope="module", params=sample(SERVERS, 3, "stores of doors", SEED // 3))
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    with running(request.param) as found:
        yield found


@pytest.mark.turns(one_in=3)
@pytest.mark.parametrize("part", _CLASSIC)
def test_each_door_of_a_classic_session_keeps_the_contract_and_the_secret(
    spark: SparkSession, store: Store, tmp_path: Path, part: str
) -> None:
    events, scratch = tmp_path / "events", tmp_path / "scratch"
    events.mkdir()
    scratch.mkdir()
    given = {**store.environment, _VARIABLE: json.dumps(store.profile)}
    spark.sparkContext.environment.update(given)
    try:
        pipeline.register(spark)
        doors = Doors(spark=spark, options=store.options, profile="lake", scratch=scratch)
        contract = Contract(doors=doors, proxy=store.proxy, scheme=store.scheme)
        with event_log(spark, events):
            spark.range(1).collect()
            found = contract.parts()[part]()
    finally:
        for name in given:
            del spark.sparkContext.environment[name]
        pipeline.register(spark)
    assert found == EXPECTED[part]
    assert b"SparkListenerTaskEnd" in bytes_below(events)
    _check_unseen(store, tmp_path, contract.texts)


def _check_unseen(store: Store, folder: Path, texts: list[str]) -> None:
    """The secret stands in no file of a folder and in no text."""
    seen = [bytes_below(folder), *(text.encode() for text in texts)]
    assert store.secret.encode() not in b"\n".join(seen)


@dataclass(frozen=True)
class Client:
    """A process with a session of a server in another one, who both have one folder."""

    server: Server
    process: subprocess.Popen[str]
    folder: Path

    def find(self, part: str) -> tuple[Any, list[str]]:
        """What it finds of a part, and the texts of it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{part}\n")
        self.process.stdin.flush()
        found, texts = json.loads(self.process.stdout.readline())
        return found, texts


@pytest.fixture(scope="module")
def client(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    pytest.importorskip("grpc", reason='pip install "pyspark[connect]"')
    folder = tmp_path_factory.mktemp("connect")
    profile = {_VARIABLE: json.dumps(store.profile)}
    with (
        connect_server(folder / "server", **store.environment, **profile) as server,
        (folder / "errors.txt").open("w") as errors,
    ):
        asked: dict[str, Any] = {
            "url": server.url,
            "scheme": store.scheme,
            "options": store.options,
            "proxy": store.proxy.url,
            "profile": "lake",
            "scratch": str(folder),
        }
        with subprocess.Popen(
            [sys.executable, "-m", "tests.pipeline.written_elsewhere", json.dumps(asked)],
            cwd=ROOT,
            env=os.environ | store.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n", (folder / "errors.txt").read_text()
                yield Client(server, process, folder)
            finally:
                process.kill()


@pytest.mark.turns(one_in=3)
@pytest.mark.parametrize("part", _CONNECT)
def test_each_door_of_a_connect_session_keeps_the_contract_and_the_secret(
    store: Store, client: Client, part: str
) -> None:
    found, texts = client.find(part)
    assert found == EXPECTED[part]
    logged = client.server.logged
    assert "INFO" in logged
    assert b"SparkListener" in bytes_below(client.server.events)
    _check_unseen(store, client.folder, [*texts, logged])


@pytest.mark.turns(one_in=3)
def test_writers_of_three_kinds_lose_no_row_beside_optimize_and_vacuum(
    spark: SparkSession, run: Run, tmp_path: Path
) -> None:
    place = tmp_path / "t"
    outcomes = raced(spark, run, place)
    expected = list(range(10 * WRITERS * COMMITS))
    table = explorer.open_table(place)
    found = explorer.read_rows(table.snapshot()).column("id").to_pylist()
    assert sorted(found) == expected
    theirs = DeltaTable(str(place)).to_pyarrow_table().column("id").to_pylist()
    assert sorted(theirs) == expected
    operations = table.history().column("operation").to_pylist()
    assert operations.count("WRITE") == WRITERS * COMMITS
    assert outcomes["optimize completed"], outcomes
    assert outcomes["vacuum completed"], outcomes
    assert outcomes["stray deleted"], outcomes
