"""The same contract with a Connect session, and with workers that lack this package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.interop.spark_session import QUICK_JVM

ROOT = Path(__file__).resolve().parents[2]

_SAME = {
    "rows": {"parquet": True, "files": True},
    "counted": 3,
    "reported": True,
    "changes": True,
    "large": True,
    "diff": [0, 1, 0],
    "distinct": 3,
    "gated": [1, 99, [99], "rows_refused"],
    "merged": {
        "ids": [1, 3, 4, 5],
        "drawn": [3, 4, 5],
        "changes": ["delete", "insert", "insert", "update_postimage", "update_preimage"],
        "inserted": 2,
    },
    "unseen": "store_unsupported",
    "blamed": {
        "a misspelt column": "invalid_argument",
        "a division by zero": "invalid_argument",
        "more rows": "data_corrupt",
        "a cut file": "data_corrupt",
        "no file": "data_missing",
    },
}

# a Python that finds everything but this package
_WITHOUT_US = """#!/bin/sh
PYTHONPATH="{folder}:$PYTHONPATH" exec "{python}" "$@"
"""
_FORGET = """
import sys
sys.path = [place for place in sys.path if place not in ({root!r}, "")]
"""


def run(kind: str, folder: Path, **environment: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.pipeline.elsewhere", kind, str(folder)],
        cwd=ROOT,
        env={
            **os.environ,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "JDK_JAVA_OPTIONS": QUICK_JVM,
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.turns(one_in=2)
@pytest.mark.spark
def test_a_connect_session_answers_as_a_classic_one(tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason='pip install "pyspark[connect]"')
    # a port that is free, as Spark's own tests ask for one
    found = run("connect", tmp_path, SPARK_TESTING="1", PYSPARK_PYTHON=sys.executable)
    assert found.pop("module").startswith("pyspark.sql.connect")
    # the explorer of a notebook reads rows through that session
    assert found.pop("page") == {"profile": True, "compare": True, "is_ours": True}
    stopped = found.pop("stopped_within")
    assert stopped.pop("job after them") < 30  # half of what one of them would take
    assert stopped.keys() == {"read", "read_changes", "diff_rows", "profile"}
    assert max(stopped.values()) < 2
    assert found == _SAME


@pytest.mark.turns(one_in=2)
@pytest.mark.spark
def test_workers_get_the_package_by_one_call(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(_WITHOUT_US.format(folder=tmp_path, python=sys.executable))
    python.chmod(0o755)
    (tmp_path / "sitecustomize.py").write_text(_FORGET.format(root=str(ROOT)))
    found = run(
        "cluster", tmp_path, PYSPARK_PYTHON=str(python), PYSPARK_DRIVER_PYTHON=sys.executable
    )
    assert found.pop("before") == "missing_dependency"
    # options of a store reach the workers, and no event tells them
    assert found.pop("by_a_secret") == [1, 3, 4]
    assert found.pop("events") == [True, False]
    # a process that is killed at work: its task is done again, and no row comes twice
    assert found.pop("after_a_loss") == [True, 1, 3, 4]
    assert found.pop("module") == "pyspark.sql.session"
    assert found == _SAME
