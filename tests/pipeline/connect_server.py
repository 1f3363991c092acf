"""A Connect server in a process of its own, with an environment of its own.

    with connect_server(folder, DELTA_EXPLORER_PROFILE_LAKE="{}") as server:
        SparkSession.builder.remote(server.url)

It logs what it does at the level INFO, and events into `folder / "events"`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

from tests.interop.spark_session import QUICK_JVM
from tests.listening import Listener
from tests.ports import free_port

_HOME = Path(pyspark.__file__).parent
_SETTINGS = {
    # else it hears every interface, without asking who speaks
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.session.timeZone": "UTC",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
}


@dataclass(frozen=True, kw_only=True)
class Server:
    """One that runs: where it is, where its event log lies, and what it logs."""

    url: str
    events: Path
    listener: Listener

    @property
    def logged(self) -> str:
        """All that it has logged so far."""
        return self.listener.said


@contextmanager
def connect_server(folder: Path, **environment: str) -> Iterator[Server]:
    """A server whose working directory is `folder`; it has ended afterwards, with its log."""
    events, port = folder / "events", free_port()
    events.mkdir(parents=True)
    settings = _SETTINGS | {
        "spark.eventLog.dir": events.as_uri(),
        "spark.connect.grpc.binding.port": str(port),
    }
    named = [word for name in settings for word in ("--conf", f"{name}={settings[name]}")]
    process = subprocess.Popen(
        [
            *(str(_HOME / "bin" / "spark-submit"), "--master", "local[2]", *named),
            *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
            "spark-internal",
        ],
        cwd=folder,
        env={
            **os.environ,
            "SPARK_HOME": str(_HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "LC_ALL": "C.UTF-8",
            "JDK_JAVA_OPTIONS": QUICK_JVM,
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            **environment,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        listener = Listener(process, "Spark Connect server started at")
        yield Server(url=f"sc://127.0.0.1:{port}", events=events, listener=listener)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
