"""What opening a small local table loads, and what it does not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ["bokeh", "fsspec", "pandas", "panel", "pyspark", "sqlglot", "typer", "yaml"]

OPEN = """
import sys
import explorer
snapshot = explorer.open_table(sys.argv[1]).snapshot()
assert snapshot.version == 1 and snapshot.num_files == 2, (snapshot.version, snapshot.num_files)
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""
LIST_FILES = """
assert snapshot.files(columns=["path"]).num_rows == 2
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


@pytest.fixture
def small_table(tmp_path: Path) -> Path:
    """Two commits with one file each."""
    schema = '{"type":"struct","fields":[{"name":"a","type":"long","nullable":true,"metadata":{}}]}'
    metadata = {
        "id": "b6c1fd66-8a0b-4c02-9b62-1f7cf6a8e1a3",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema,
        "partitionColumns": [],
        "configuration": {},
    }
    first = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"metaData": metadata},
        _add("a.parquet"),
    ]
    log = tmp_path / "orders" / "_delta_log"
    log.mkdir(parents=True)
    for version, actions in enumerate([first, [_add("b.parquet")]]):
        text = "".join(json.dumps(action) + "\n" for action in actions)
        (log / f"{version:020d}.json").write_text(text, encoding="utf-8")
    return log.parent


def _add(path: str) -> dict[str, object]:
    body = {"path": path, "partitionValues": {}, "size": 1, "modificationTime": 1}
    return {"add": {**body, "dataChange": True}}


def _loaded(program: str, table: Path) -> list[set[str]]:
    """The top-level modules that a fresh process had loaded, each time that it printed them."""
    done = subprocess.run(
        [sys.executable, "-c", program, str(table)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [set(line.split()) for line in done.stdout.splitlines()]


def test_opening_and_listing_a_small_local_table_loads_nothing_heavy(small_table: Path) -> None:
    opened, listed = _loaded(OPEN + LIST_FILES, small_table)
    assert opened.isdisjoint(HEAVY), opened.intersection(HEAVY)
    assert listed.isdisjoint(HEAVY), listed.intersection(HEAVY)
    assert "pyarrow" in listed


def test_opening_a_small_local_table_does_without_pyarrow(small_table: Path) -> None:
    """It takes twice as long to import as all the rest; the peer opens without it too."""
    (opened,) = _loaded(OPEN, small_table)
    assert opened.isdisjoint({"numpy", "pyarrow"})
