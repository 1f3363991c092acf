"""Which session is taken, how a local one is started, and what is said where none can be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from explorer import pipeline
from explorer.errors import CancelledError, InvalidArgumentError
from explorer.pipeline import session
from explorer.progress import Cancel, Watch
from tests.data_tables import DataTable, field, struct

ROOT = Path(__file__).resolve().parents[2]

_REFUSED = """
import json, sys
import explorer
from explorer import pipeline
snapshot = explorer.open_table(sys.argv[1]).snapshot()
try:
    pipeline.read(snapshot)
except explorer.DeltaError as error:
    print(json.dumps(error.as_dict()))
assert explorer.read_rows(snapshot).num_rows == 2
"""

_STARTED = """
import json, os, socket, sys, threading
import explorer
from explorer import pipeline

def answers(address, port):
    with socket.socket() as asking:
        return asking.connect_ex((address, port)) == 0

NAMES = ("LC_ALL", "SPARK_LOCAL_IP", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
before = dict(os.environ)
snapshot = explorer.open_table(sys.argv[1]).snapshot()
pipeline.prepare_session()
found = []
threads = [threading.Thread(target=lambda: found.append(pipeline.choose_session())) for _ in "ab"]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
spark = pipeline.choose_session()
context = spark.sparkContext
ports = [
    int(context.getConf().get("spark.driver.port")),
    context._jsc.sc().env().blockManager().blockManagerId().port(),
]
frame = pipeline.read(snapshot)
found_rows = frame.count()
master, ui = context.master, context.uiWebUrl
zone = spark.conf.get("spark.sql.session.timeZone")
open_ports = [all(answers("127.0.0.1", port) for port in ports)]
# who listens on every interface answers here too
open_ports.append(any(answers("127.0.0.2", port) for port in ports))
spark.stop()

def refusal(work):
    try:
        with pipeline.clear_errors("Counting"):
            work()
    except explorer.DeltaError as error:
        return error.problem + " " + error.reason

print(json.dumps({
    "one": all(item is spark for item in found),
    "rows": found_rows,
    "environment": all(os.environ.get(name) == before.get(name) for name in NAMES),
    "zone": zone,
    "ui": ui,
    "master": master,
    "here and elsewhere": open_ports,
    "counted after stop": refusal(frame.count),
    "given after stop": refusal(lambda: pipeline.read(snapshot, spark)),
}))
"""


@pytest.fixture
def small_table(tmp_path: Path) -> Path:
    table = DataTable(tmp_path / "t", struct(field("id", "long")))
    table.add("a.parquet", pa.table({"id": [1, 2]}))
    return table.write()


def run(program: str, table: Path, **environment: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", program, str(table)],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def fake_java(home: Path, script: str) -> str:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    return str(home)


def test_without_java_the_remedy_is_told_and_few_rows_are_read_all_the_same(
    small_table: Path, tmp_path: Path
) -> None:
    told = run(_REFUSED, small_table, JAVA_HOME=str(tmp_path))
    assert told["kind"] == "missing_dependency"
    assert "was not found" in told["problem"]
    assert "openjdk-17" in told["remedy"]


def test_java_that_is_too_old_is_told_by_its_version(small_table: Path, tmp_path: Path) -> None:
    home = fake_java(tmp_path / "old", "echo 'openjdk version \"1.8.0_402\"' >&2")
    told = run(_REFUSED, small_table, JAVA_HOME=home)
    assert told["problem"] == "Java 8 is too old for Spark."


def test_java_that_fails_is_one_clear_error(small_table: Path, tmp_path: Path) -> None:
    version = '[ "$1" = -version ] && { echo \'openjdk version "17.0.1"\' >&2; exit 0; }; exit 3'
    told = run(_REFUSED, small_table, JAVA_HOME=fake_java(tmp_path / "bad", version))
    assert told["problem"] == "Spark could not be started on this machine."
    assert told["kind"] == "missing_dependency"


@pytest.mark.spark
def test_the_local_session_is_one_for_the_process_and_hears_this_machine_alone(
    small_table: Path,
) -> None:
    told = run(_STARTED, small_table)
    assert told == {
        "here and elsewhere": [True, False],
        "counted after stop": "Counting was not finished. "
        "The Spark session was stopped in between.",
        "given after stop": "The Spark session was stopped. "
        "Nothing can be read with a session after its stop().",
        "one": True,
        "rows": 2,
        "environment": True,
        "zone": "UTC",
        "ui": None,
        "master": "local[*]",
    }


def test_the_active_session_is_taken_where_none_is_given(spark: SparkSession) -> None:
    assert pipeline.choose_session() is spark
    assert pipeline.choose_session(spark) is spark


def test_what_is_no_session_is_refused(spark: SparkSession) -> None:
    with pytest.raises(InvalidArgumentError, match="not a Spark session"):
        pipeline.choose_session("local[2]")


def test_asking_what_the_pipeline_has_loads_no_pyspark() -> None:
    code = (
        "import sys; from explorer import pipeline; "
        "[getattr(pipeline, name) for name in pipeline.__all__]; "
        "assert not any(name.partition('.')[0] == 'pyspark' for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_the_front_door_of_the_engine_loads_no_pyspark(small_table: Path) -> None:
    code = (
        "import sys, explorer; snapshot = explorer.open_table(sys.argv[1]).snapshot(); "
        "explorer.read_rows(snapshot); assert 'pyspark' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(small_table)], cwd=ROOT, check=True)


def test_cancelled_work_starts_no_session_and_waits_for_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    def start(spark: Any = None) -> Any:
        begun.set()
        goes_on.wait(30)
        return spark

    monkeypatch.setattr(session, "choose_session", start)
    monkeypatch.setattr(session, "active_session", lambda: None)
    cancel = Cancel()
    threading.Thread(target=lambda: (begun.wait(30), cancel.cancel())).start()
    try:
        with pytest.raises(CancelledError):
            session.choose_watched(None, Watch(cancel=cancel))
        begun.clear()
        with pytest.raises(CancelledError):
            session.choose_watched(None, Watch(cancel=cancel))
        assert not begun.is_set()
    finally:
        goes_on.set()
