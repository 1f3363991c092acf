"""Compares commits and vacuum's plan with `deltalake` and prints the ratios.

    python -m benchmarks.changing --quick     a tenth of the sizes
    python -m benchmarks.changing --full      100 commits, 1 M files on disk (1.5 GB of inodes)

One writer commits one added file a hundred times, without data: what is measured is the
commit. Vacuum's plan stands beside the dry run of the peer; ours takes a second way to the
kept files, which the peer has not, and is timed apart. Every run is a process of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import logs
from benchmarks.actions import build_path, build_uuid
from benchmarks.cases import Case
from benchmarks.comparing import ENTRANTS, ROOT, Sample, compare, environment, parse_options
from benchmarks.logs import LogRequest

COMMITS = 100
_STRAY_SHARE = 100
_OLD_SECONDS = 30 * 86_400
_ADDS_PER_COMMIT = 10_000


def main() -> int:
    """Runs the cases that the command line asks for."""
    options = parse_options("benchmarks.changing", "100 commits, 1 M files on disk")
    cases = build_cases(1_000_000 if options.full else 100_000)
    ended = compare(cases, options, measure)
    if options.only in _RACE:
        print(f"\n{_race()}")
    return ended


def build_cases(files: int) -> list[Case]:
    """What is measured; ratios are required of the full size alone."""
    full = files >= 1_000_000
    title = f"vacuum plan over {files:,} files: "
    return [
        Case(
            title=f"{COMMITS} commits by one writer",
            operation="commits",
            log=logs.small(),
            min_speedup=1 if full else None,
        ),
        Case(
            title=f"{title}first way and listing",
            operation="vacuum",
            log=files_on_disk(files),
            min_speedup=4 if full else None,
        ),
        Case(
            title=f"{title}both ways",
            operation="vacuum_twice",
            log=files_on_disk(files),
        ),
    ]


def files_on_disk(files: int) -> LogRequest:
    """A table whose files are there, empty, and one of a hundred beside them that no version
    knows and that is a month old; all commits, and a checkpoint of the newest."""

    def write(log: Path) -> None:
        from explorer import open_table  # noqa: PLC0415  # not for the parent process
        from explorer.log.checkpoint_writing.checkpoint_writer import write_checkpoint  # noqa: PLC0415  # as above
        from explorer.storage.open import open_write_store  # noqa: PLC0415  # as above

        logs.large_commits(files // _ADDS_PER_COMMIT + 1, _ADDS_PER_COMMIT).write(log)
        root = log.parent
        made: set[Path] = set()
        # the first commit of such a log adds nothing
        for number in range(_ADDS_PER_COMMIT, files + _ADDS_PER_COMMIT):
            path = root / build_path(number).replace("%20", " ")
            if path.parent not in made:
                path.parent.mkdir(parents=True, exist_ok=True)
                made.add(path.parent)
            _touch(path)
            if number % _STRAY_SHARE == 0:
                stray = path.with_name(f"part-00000-{build_uuid(-number)}.c000.snappy.parquet")
                _touch(stray)
                old = log.stat().st_mtime - _OLD_SECONDS
                os.utime(stray, (old, old))
        snapshot, store = open_table(str(root)).snapshot(), open_write_store(str(root))
        snapshot.consult(lambda loaded: write_checkpoint(store, loaded, now=datetime.now(UTC)))

    # in a folder of its own: a vacuum looks whether a table beside it is a clone
    return LogRequest(name=f"vacuum-{files}/table", write=write)


def _touch(path: Path) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY))


def measure(entrant: str, case: Case, table: Path, root: Path = ROOT) -> Sample:
    """One operation of one entrant, by the code of the checkout at `root`; on a copy of the
    table where it grows."""
    if case.operation != "commits":
        return _run(case.operation, entrant, table, root)
    with tempfile.TemporaryDirectory(dir=table.parent) as scratch:
        copy = shutil.copytree(table, Path(scratch) / table.name)
        return _run(case.operation, entrant, copy, root)


def _run(operation: str, entrant: str, table: Path, root: Path = ROOT) -> Sample:
    command = [sys.executable, "-m", "benchmarks.changing_steps", operation, entrant, str(table)]
    done = subprocess.run(command, cwd=root, env=environment(), stdout=subprocess.PIPE, check=True)
    found = json.loads(done.stdout)
    return Sample(whole_ms=found["inner_ms"], **found)


_RACE = "two racing writers"


def _race() -> str:
    """How many commits a second two writers of one table make together, by entrant."""
    said = []
    for entrant in ENTRANTS:
        with tempfile.TemporaryDirectory(dir=ROOT / ".cache") as scratch:
            table = Path(scratch) / "table"
            log = table / "_delta_log"
            log.mkdir(parents=True)
            logs.small().write(log)
            with ThreadPoolExecutor(2) as pool:
                runs = [pool.submit(_run, "commits", entrant, table) for _ in range(2)]
                slowest = max(run.result().inner_ms for run in runs)
        said.append(f"{entrant} {2 * COMMITS / slowest * 1000:.0f}")
    return f"{_RACE}, commits a second of both together: {', '.join(said)}"


if __name__ == "__main__":
    sys.exit(main())
