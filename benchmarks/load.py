"""Many pages at once on one server: medians, memory, and what stays behind.

    python -m benchmarks.load                       20 sessions, each on a table of its own
    python -m benchmarks.load --pause 0             all of them click in the same moment
    python -m benchmarks.load --minutes 60          the same over and over: a soak

Each session is a real page: it asks for the HTML, opens the socket with the token in it, pulls
the document, and goes from view to view as a person does. An answer ends with the last message
before a second of silence. Memory is the proportional set of the server's process
(`Pss` of Linux), which counts what it shares with nobody.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

from benchmarks.load_page import Page
from benchmarks.logs import classic, write_table
from benchmarks.report import render_machine

ROOT = Path(__file__).resolve().parents[1]
VIEWS = ("files", "health", "protocol", "log", "reach", "timeline")
GONE_SECONDS = 50
"""A session is given up 30 s after its browser has gone, and looked for every 15 s."""


@dataclass
class Server:
    """The process that is measured."""

    process: subprocess.Popen[str]
    port: int

    @property
    def mib(self) -> float:
        """Its memory."""
        rollup = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text(encoding="ascii")
        found = re.search(r"^Pss:\s+(\d+) kB", rollup, re.MULTILINE)
        return int(found[1]) / 1024 if found else float("nan")

    @property
    def num_threads(self) -> int:
        """Its threads."""
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    @property
    def num_files(self) -> int:
        """Its open files and sockets."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    @property
    def num_children(self) -> int:
        """Processes that it has started, such as a JVM."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return len(path.read_text(encoding="ascii").split())


@dataclass
class Figures:
    """Seconds by kind of answer."""

    seconds: dict[str, list[float]] = field(default_factory=dict)

    def add(self, kind: str, value: float) -> None:
        """One answer."""
        self.seconds.setdefault(kind, []).append(value)

    @property
    def median(self) -> float:
        """Over all answers."""
        return statistics.median(value for values in self.seconds.values() for value in values)


@contextmanager
def serving(folder: Path, cache: int, more: Sequence[str] = ()) -> Iterator[Server]:
    """The server on all tables of a folder; `more` are tables or options of `serve`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "explorer.cli", "serve", "--no-open", "--port=0",
         "--scan", str(folder), "--cache", str(cache), *more],
        cwd=ROOT,
        env={**os.environ, "XDG_STATE_HOME": str(folder.parent / "state")},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )  # fmt: skip
    assert process.stdout is not None
    found = re.search(r"http://[^:]+:(\d+)", process.stdout.readline())
    assert found, "the server does not start"
    try:
        yield Server(process, int(found[1]))
    finally:
        process.terminate()
        process.wait(120)


def make_tables(folder: Path, count: int, files: int) -> list[Path]:
    """Tables that are alike, each with a checkpoint and some commits."""
    first = write_table(folder / "table-00", classic(files))
    tables = [first]
    for number in range(1, count):
        tables.append(folder / f"table-{number:02}")
        subprocess.run(["cp", "-r", str(first), str(tables[-1])], check=True)
    return tables


async def sit_at(page: Page, table: Path, figures: Figures, pause: float) -> None:
    """What one person does: open a table, then go from view to view, and read in between."""
    # the same at each run, and not all in the same moment
    dice = random.Random(str(table))
    await asyncio.sleep(dice.uniform(0, pause))
    figures.add("opening", await page.open())
    for view in VIEWS:
        await asyncio.sleep(dice.uniform(0, 2 * pause))
        query = urlencode({"table": str(table), "view": view})
        figures.add(view, await page.go(query))


async def sit_at_all(
    server: Server, tables: Sequence[Path], figures: Figures, pause: float
) -> list[Page]:
    """One person on each table, all at the same time."""
    pages = [Page(server.port, urlencode({"table": str(table)})) for table in tables]
    people = zip(pages, tables, strict=True)
    await asyncio.gather(*(sit_at(page, table, figures, pause) for page, table in people))
    return pages


async def measure(server: Server, tables: Sequence[Path], minutes: float, pause: float) -> None:
    """The load once, or again and again for some minutes."""
    await warm_up(server, tables[0])
    before, until = server.mib, time.monotonic() + minutes * 60
    print(f"{'':>10} | opened, all views | MiB, open | MiB a session | closed | threads | files")
    rounds = 0
    while rounds == 0 or time.monotonic() < until:
        rounds += 1
        figures = Figures()
        pages = await sit_at_all(server, tables, figures, pause)
        opened = server.mib
        for page in pages:
            page.close()
        await asyncio.sleep(GONE_SECONDS)
        each = (opened - before) / len(pages)
        print(
            f"round {rounds:>4} | median {figures.median:.2f} s | {opened:.0f} | {each:.1f} "
            f"| {server.mib:.0f} | {server.num_threads} | {server.num_files}",
            flush=True,
        )
        if minutes == 0:
            for kind, values in figures.seconds.items():
                slowest = max(values)
                print(f"| {kind} | {statistics.median(values):.2f} s | {slowest:.2f} s |")
    print(f"processes started by the server: {server.num_children}")


async def warm_up(server: Server, table: Path) -> None:
    """One page that loads what every page needs."""
    figures = Figures()
    pages = await sit_at_all(server, [table], figures, 0)
    pages[0].close()
    await asyncio.sleep(GONE_SECONDS)


def main() -> None:
    """Read the arguments and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--files", type=int, default=20_000, help="live files of each table")
    parser.add_argument("--cache", type=int, default=512, help="MiB, as for `serve`")
    parser.add_argument("--pause", type=float, default=8.0, help="seconds between two clicks")
    parser.add_argument("--minutes", type=float, default=0.0, help="a soak of so many")
    chosen = parser.parse_args()
    print(render_machine())
    with tempfile.TemporaryDirectory() as scratch, suppress(KeyboardInterrupt):
        tables = make_tables(Path(scratch) / "lake", chosen.sessions, chosen.files)
        with serving(Path(scratch) / "lake", chosen.cache) as server:
            asyncio.run(measure(server, tables, chosen.minutes, chosen.pause))


if __name__ == "__main__":
    main()
