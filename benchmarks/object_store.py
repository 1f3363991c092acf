"""Counts and times what work on an object store costs, at 50 ms a request.

    python -m benchmarks.object_store                 logs of 100,000 files, some seconds
    python -m benchmarks.object_store --files 1000000

The store is a fake one in memory, with the requests that fsspec's implementation for S3
makes and without a limit to its bandwidth: what is measured is how many requests there
are, how many wait for each other ("rounds"), and what is left for the processor. deltalake
has stores of its own and cannot read from it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import explorer
from benchmarks import logs
from benchmarks.actions import build_commit_info, build_metadata, build_protocol, render_commit
from benchmarks.comparing import ROOT
from benchmarks.growth import append_commits
from benchmarks.logs import write_table
from benchmarks.report import render_machine
from benchmarks.with_explorer import import_all
from tests.object_store import Bucket

LATENCY = 0.05
DATA_FILES = 32
ROWS = 200_000
COLUMNS = 8

_HEAD = (
    "| Operation | list | head | get | range | MB | rounds | seconds |\n"
    "|---|---|---|---|---|---|---|---|"
)


def main() -> None:
    """Prints one table for all logs."""
    options = _parse_options()
    # before anything is timed: imports are no requests
    import_all()
    print(render_machine(), end="\n\n")
    print(_HEAD)
    files: int = options.files
    for request in (
        logs.commits(1000),
        logs.classic(files),
        logs.multi_part(files),
        logs.sidecars(files),
    ):
        _measure_log(request.name, write_table(options.folder, request))
    with tempfile.TemporaryDirectory() as scratch:
        _measure_rows(Path(scratch))


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.object_store", description="Counts requests of a store."
    )
    parser.add_argument("--files", type=int, default=100_000, help="files in each checkpoint")
    parser.add_argument("--folder", type=Path, default=ROOT / ".cache" / "benchmarks")
    return parser.parse_args()


def _measure_log(name: str, table: Path) -> None:
    bucket = _bucket(table)

    def fresh() -> explorer.Snapshot:
        return explorer.open_table("counted://t", bucket.options).snapshot()

    opened = explorer.open_table("counted://t", bucket.options)
    _row(bucket, f"{name}: open and count the files", lambda: fresh().num_files)
    _row(bucket, f"{name}: protocol and metadata", lambda: (opened.protocol(), opened.metadata()))
    snapshot = fresh()
    _row(bucket, f"{name}: paths, once open", lambda: snapshot.files(columns=["path"]))
    _row(bucket, f"{name}: files(), after that", snapshot.files)
    _row(bucket, f"{name}: history, 50", lambda: opened.history(50))
    opened.snapshot()
    with tempfile.TemporaryDirectory() as scratch:
        grown = Path(scratch) / "t"
        (grown / "_delta_log").mkdir(parents=True)
        append_commits(str(grown), snapshot.version, 5)
        bucket.upload(grown, "t")
    _row(bucket, f"{name}: refresh after 5 commits", opened.snapshot)


def _measure_rows(folder: Path) -> None:
    noise = np.random.default_rng(1)
    actions: list[dict[str, object]] = [{"protocol": build_protocol()}]
    names = [f"c{at}" for at in range(COLUMNS)]
    actions.append(
        {"metaData": build_metadata() | {"schemaString": _schema(names), "partitionColumns": []}}
    )
    for number in range(DATA_FILES):
        place = folder / f"{number}.parquet"
        pq.write_table(pa.table({at: noise.integers(0, 2**60, ROWS) for at in names}), place)
        size = place.stat().st_size
        actions.append({"add": _add(place.name, size)})
    (folder / "_delta_log").mkdir()
    first = render_commit({"commitInfo": build_commit_info(0, DATA_FILES, 0)}, *actions)
    (folder / "_delta_log" / f"{0:020}.json").write_bytes(first)
    bucket = _bucket(folder)
    snapshot = explorer.open_table("counted://t", bucket.options).snapshot()
    title = f"{DATA_FILES} data files of {ROWS:,} rows"
    _row(bucket, f"{title}: two columns", lambda: explorer.read_rows(snapshot, ["c1", "c6"]))
    _row(bucket, f"{title}: all {COLUMNS}", lambda: explorer.read_rows(snapshot))
    _row(bucket, f"{title}: preview", lambda: explorer.preview(snapshot))


def _schema(names: Iterable[str]) -> str:
    fields = ",".join(
        f'{{"name":"{name}","type":"long","nullable":true,"metadata":{{}}}}' for name in names
    )
    return f'{{"type":"struct","fields":[{fields}]}}'


def _add(path: str, size: int) -> dict[str, object]:
    return {
        "path": path,
        "partitionValues": {},
        "size": size,
        "modificationTime": 0,
        "dataChange": True,
    }


def _bucket(table: Path) -> Bucket:
    bucket = Bucket(LATENCY)
    bucket.upload(table, "t")
    return bucket


def _row(bucket: Bucket, title: str, work: Callable[[], object]) -> None:
    bucket.forget()
    started = time.perf_counter()
    work()
    seconds = time.perf_counter() - started
    counts = bucket.counts()
    kinds = " | ".join(str(counts.get(kind, 0)) for kind in ("list", "head", "get", "range"))
    sent = bucket.bytes_sent / 1e6
    print(f"| {title} | {kinds} | {sent:,.1f} | {bucket.rounds} | {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
