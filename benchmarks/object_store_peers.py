"""Questions of a table on an object store, beside `deltalake` on the same server.

    python -m benchmarks.object_store_peers                 a log of 100,000 files, 50 ms a request
    python -m benchmarks.object_store_peers --files 10000 --rounds 3 --latency 0.05

The server is `benchmarks.folder_as_s3`, in a process of its own. Both entrants have opened a small
table before, and take turns. What one of them has no call for is left out in its column.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from shutil import copytree
from typing import Any, TypeAlias

from deltalake import DeltaTable

import explorer
import explorer.inspect as look
from benchmarks.comparing import ROOT
from benchmarks.folder_as_s3 import BUCKET, Served, serving
from benchmarks.growth import append_commits
from benchmarks.logs import classic, commits, write_table
from benchmarks.report import render_machine
from explorer.maintenance import plan_vacuum

_KEYS = ("testing", "testing")
_NEWER = 5
"""Commits that come before a refresh."""

Ask: TypeAlias = Callable[[], object]
_Step: TypeAlias = tuple[str, Ask | None, Ask | None]
"""A question, its work, and what comes before it and is not timed."""


class _Peer:
    """`deltalake`, as a user of it would write the questions."""

    def __init__(self, served: Served, name: str) -> None:
        self._uri = f"s3://{BUCKET}/{name}"
        self._options = {
            "AWS_ENDPOINT_URL": served.address,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": _KEYS[0],
            "AWS_SECRET_ACCESS_KEY": _KEYS[1],
        }

    def steps(self, grow: Ask) -> Iterator[_Step]:
        table = self._open()
        yield "open, and count the files", lambda: self._open().get_add_actions().num_rows, None
        yield "history of 50", lambda: table.history(50), None
        yield "health", None, None  # it has no such call
        yield "plan of a vacuum", lambda: table.vacuum(168, dry_run=True), None  # by the log alone
        yield "plan of a full vacuum", lambda: table.vacuum(168, dry_run=True, full=True), None
        yield "refresh after 5 commits", table.update_incremental, grow

    def _open(self) -> DeltaTable:
        return DeltaTable(self._uri, storage_options=self._options)


class _Ours:
    """The same of this project."""

    def __init__(self, served: Served, name: str) -> None:
        self._uri = f"s3://{BUCKET}/{name}"
        self._options: dict[str, Any] = {
            "endpoint_url": served.address,
            "key": _KEYS[0],
            "secret": _KEYS[1],
        }

    def steps(self, grow: Ask) -> Iterator[_Step]:
        table = self._open()
        table.snapshot()
        yield "open, and count the files", lambda: self._open().snapshot().num_files, None
        yield "history of 50", lambda: table.history(50), None
        yield "health", lambda: look.log_health(self._open()), None
        retention = timedelta(hours=168)
        yield "plan of a vacuum", lambda: plan_vacuum(table, retention), None
        yield "plan of a full vacuum", lambda: plan_vacuum(table, retention), None
        yield "refresh after 5 commits", table.snapshot, grow

    def _open(self) -> explorer.Table:
        return explorer.open_table(self._uri, storage_options=self._options)


def main() -> None:
    """Measures and prints."""
    options = _parse_options()
    print(render_machine(), flush=True)
    print(f"\n{options.latency * 1000:.0f} ms a request, {options.rounds} rounds in turn; seconds, "
          "and requests (list, head, get).\n")  # fmt: skip
    print("| Log, and question | deltalake | ours | faster |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        copytree(write_table(options.folder, commits(5)), folder / "small")
        for request in (classic(options.files), commits(1000)):
            source = write_table(options.folder, request)
            for line in _measure(folder, source, request.name, options):
                print(line, flush=True)


def _measure(folder: Path, source: Path, name: str, options: argparse.Namespace) -> Iterator[str]:
    told: dict[str, dict[str, list[tuple[float, str]]]] = {}
    with serving(folder, options.latency) as served:
        for entrant in (_Peer, _Ours):
            for _, ask, _ in entrant(served, "small").steps(lambda: None):
                if ask is not None:
                    ask()
        for turn in range(options.rounds):
            for entrant in (_Peer, _Ours):
                place = folder / f"{name}-{turn}-{entrant.__name__}"
                copytree(source, place)
                latest = max(int(file.stem) for file in (place / "_delta_log").glob("0*.json"))
                grow = _growing(place, latest)
                for title, ask, before in entrant(served, place.name).steps(grow):
                    if ask is None:
                        continue
                    if before is not None:
                        before()
                    served.counts()
                    begun = time.perf_counter()
                    ask()
                    seconds = time.perf_counter() - begun
                    found = served.counts()
                    asked = " ".join(str(found.get(kind, 0)) for kind in ("list", "head", "get"))
                    entries = told.setdefault(title, {})
                    entries.setdefault(entrant.__name__, []).append((seconds, asked))
    for title, entries in told.items():
        ours, peer = (entries.get(one.__name__, []) for one in (_Ours, _Peer))
        mine, theirs = (
            statistics.median(t for t, _ in one) if one else None for one in (ours, peer)
        )
        faster = "" if mine is None or theirs is None else f"{theirs / mine:.1f} ×"
        yield f"| {name}: {title} | {_cell(peer)} | {_cell(ours)} | {faster} |"


def _growing(place: Path, latest: int) -> Ask:
    return lambda: append_commits(str(place), latest, _NEWER)


def _cell(found: list[tuple[float, str]]) -> str:
    if not found:
        return "–"
    return f"{statistics.median(seconds for seconds, _ in found):.2f} s ({found[-1][1]})"


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.object_store_peers", description="Beside deltalake on a store."
    )
    parser.add_argument("--files", type=int, default=100_000, help="files in the checkpoint")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--latency", type=float, default=0.05, help="seconds a request")
    parser.add_argument("--folder", type=Path, default=ROOT / ".cache" / "benchmarks")
    return parser.parse_args()


if __name__ == "__main__":
    main()
