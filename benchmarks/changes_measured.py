"""Changes in this process, and over very many files: each run is a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.comparing import ROOT, environment
from benchmarks.writes_measured import CHECKPOINTS, Taken, in_turn, print_line

_ROWS = 1_000_000
_PARTS = 10
_LINKS = 50_000
"""Of one file: a file system counts them in few bits."""

_ADDS_PER_COMMIT = 10_000
_MOST_MIB = 1024


def in_this_process(folder: Path, rounds: int) -> None:
    """One row of a million deleted, with the table open on both sides."""

    def once(entrant: str, way: str) -> Taken:
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            found = _step("one-row", f"{entrant}-{way}", Path(scratch) / "table")
        return Taken(found["wall"], found["processors"])

    for way, said in (("vectors", "ours by a vector"), ("rewriting", "both by rewriting")):
        runs = {
            "delta-explorer": partial(once, "explorer", way),
            "deltalake": partial(once, "deltalake", "rewriting"),
        }
        taken = in_turn(rounds, runs)
        print_line(f"delete of one row of {_ROWS:,} in this process, {said}", taken)


def of_many_files(folder: Path, files: int) -> str:
    """Memory and time of a delete that touches a tenth of very many files, by vectors."""
    place = _many_files(folder, files)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        copy = Path(scratch) / "table"
        shutil.copytree(place / "_delta_log", copy / "_delta_log")
        for part in place.glob("part=*"):
            (copy / part.name).symlink_to(part)
        found = _step("many-files", "explorer", copy)
    said = (
        f"| delete of a row in each of {found['touched']:,.0f} of {files:,} files "
        f"| {found['wall']:.0f} s, {found['processors']:.0f} s of processors "
        f"| driver {found['mib']:,.0f} MiB at most, JVM heap {found['heap']:,.0f} MiB |"
    )
    if found["mib"] >= _MOST_MIB:
        said += f" **above {_MOST_MIB:,} MiB**"
    return said


def _step(step: str, entrant: str, place: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.changes_here", step, entrant, str(place)]
    done = subprocess.run(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _many_files(folder: Path, files: int) -> Path:
    """A table of files of ten rows. Those of the first of ten partitions are there; others are
    only in the log."""
    import pyarrow as pa  # noqa: PLC0415  # not for the parent process of other lines
    import pyarrow.parquet as pq  # noqa: PLC0415  # as above

    from explorer import open_table, pipeline  # noqa: PLC0415  # as above
    from explorer.log.checkpoint_writing.checkpoint_writer import write_checkpoint  # noqa: PLC0415  # as above
    from explorer.storage.open import open_write_store  # noqa: PLC0415  # as above

    place = folder / f"many-files-1-{files}"
    if place.exists():
        return place
    made = place.with_name(f"{place.name}.new")
    shutil.rmtree(made, ignore_errors=True)
    properties = {
        "delta.checkpointInterval": CHECKPOINTS,
        "delta.enableDeletionVectors": "true",
    }
    pipeline.create(made, "id BIGINT, part INT", partition_by="part", properties=properties)
    first = made / "part=0"
    first.mkdir()
    sources = []
    for number in range(-(-files // _PARTS // _LINKS)):
        sources.append(first / f"source-{number}.parquet")
        pq.write_table(pa.table({"id": pa.array(range(10), pa.int64())}), sources[-1])
    size = sources[0].stat().st_size
    stats = '{"numRecords":10,"minValues":{"id":0},"maxValues":{"id":9},"nullCount":{"id":0}}'
    for start in range(0, files, _ADDS_PER_COMMIT):
        lines = []
        for number in range(start, min(start + _ADDS_PER_COMMIT, files)):
            part, name = number % _PARTS, f"part-{number:09}-8b1c0f6e.c000.parquet"
            if part == 0:
                os.link(sources[number // _PARTS // _LINKS], first / name)
            add: dict[str, Any] = {
                "path": f"part={part}/{name}",
                "partitionValues": {"part": str(part)},
                "size": size,
                "modificationTime": 0,
                "dataChange": True,
                "stats": stats,
            }
            lines.append(json.dumps({"add": add}))
        version = start // _ADDS_PER_COMMIT + 1
        (made / "_delta_log" / f"{version:020}.json").write_text("\n".join(lines) + "\n")
    snapshot, store = open_table(str(made)).snapshot(), open_write_store(str(made))
    snapshot.consult(lambda loaded: write_checkpoint(store, loaded, now=datetime.now(UTC)))
    made.rename(place)
    return place
