"""What opening a small local table loads, and what it does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

import explorer
from explorer.log.checkpoint_writing.checkpoint_writer import write_checkpoint
from explorer.storage.open import open_write_store

ROOT = Path(__file__).resolve().parents[2]

# of the standard library what a look into a small log has no use for
SPARED = [
    "argparse",
    "asyncio",
    "concurrent",
    "ctypes",
    "decimal",
    "email",
    "fractions",
    "hashlib",
    "http",
    "importlib.metadata",
    "ipaddress",
    "logging",
    "multiprocessing",
    "pathlib",
    "pickle",
    "pprint",
    "queue",
    "random",
    "shutil",
    "socket",
    "ssl",
    "statistics",
    "string",
    "struct",
    "subprocess",
    "tempfile",
    "textwrap",
    "traceback",
    "unittest",
    "urllib",
    "zipfile",
    "zoneinfo",
]

HEAVY = ["bokeh", "fsspec", "pandas", "panel", "pyspark", "sqlglot", "typer", "yaml"]

OPEN = """
import sys
import explorer
snapshot = explorer.open_table(sys.argv[1]).snapshot()
assert snapshot.version == 1 and snapshot.num_files == 2, (snapshot.version, snapshot.num_files)
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""
# without what the start of Python brings, which a coverage tool or a site's own hooks may enlarge
BROUGHT = """
import sys
before = {*sys.modules}
import explorer
snapshot = explorer.open_table(sys.argv[1]).snapshot()
assert snapshot.version == 1 and snapshot.num_files == 2, (snapshot.version, snapshot.num_files)
print(*sorted({*sys.modules} - before))
"""
LIST_FILES = """
assert snapshot.files(columns=["path"]).num_rows == 2
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""

INSPECT = """
import contextlib, io, sys
sys.argv[1:] = ["inspect", sys.argv[1]]
from explorer.cli.__main__ import main
told = io.StringIO()
with contextlib.redirect_stdout(told), contextlib.suppress(SystemExit):
    main()
assert "files" in told.getvalue(), told.getvalue()
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
    # as Python knows it: Readline, which pytest loads, puts a width into the one that is inherited
    known = dict(os.environ)
    done = subprocess.run(
        [sys.executable, "-c", program, str(table)],
        capture_output=True,
        text=True,
        check=False,
        env=known,
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


def test_opening_a_small_local_table_loads_little_of_the_standard_library(
    small_table: Path,
) -> None:
    """Every module costs a part of a millisecond, and some bring a dozen others."""
    (brought,) = _loaded(BROUGHT, small_table)
    spared = {name for name in brought if name in SPARED or name.partition(".")[0] in SPARED}
    assert not spared, spared


def test_opening_a_small_local_table_loads_no_more_than_40_of_our_modules_in_13_rooms(
    small_table: Path,
) -> None:
    """With a value class or two in each, they take half of the time until it is open; what it
    does without is imported where it is needed. A room is a docstring, but a file all the same."""
    (brought,) = _loaded(BROUGHT, small_table)
    ours = {name for name in brought if name.partition(".")[0] == "explorer"}
    rooms = {name for name in ours if (ROOT / name.replace(".", "/")).is_dir()}
    assert len(ours - rooms) <= 40, sorted(ours - rooms)
    assert len(rooms) <= 13, sorted(rooms)


def test_describing_a_small_table_into_a_pipe_loads_no_more_than_its_line_needs(
    small_table: Path,
) -> None:
    """Each of these takes a fifth of the time of the whole line, or more."""
    (loaded,) = _loaded(INSPECT, small_table)
    spared = {"asyncio", "hashlib", "numpy", "pyarrow", "pydantic", "rich"}
    assert loaded.isdisjoint(spared | set(HEAVY) - {"typer"}), loaded & (spared | set(HEAVY))


def test_describing_a_small_table_with_a_checkpoint_imports_no_more_of_arrow_than_it_reads_with(
    small_table: Path,
) -> None:
    """`pyarrow.compute` makes hundreds of functions, `pyarrow.parquet` brings the clients of object
    stores and TLS: together a fifth of the time of the whole line."""
    snapshot, store = explorer.open_table(small_table).snapshot(), open_write_store(small_table)
    snapshot.consult(lambda loaded: write_checkpoint(store, loaded, now=datetime.now(UTC)))
    program = INSPECT.replace('name.partition(".")[0] for name in', "name for name in")
    (loaded,) = _loaded(program, small_table)
    assert {"pyarrow", "numpy"} <= loaded
    spared = {"pandas", "pyarrow.compute", "pyarrow.fs", "pyarrow.parquet", "ssl"}
    assert loaded.isdisjoint(spared), loaded & spared
